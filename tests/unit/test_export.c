/* export: traces written as text, in the formats of others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "export/export.h"
#include "export/gpu_rows.h"
#include "export/json_text.h"
#include "trace_text.h"

#define META "meta {\"argv\": [\"serve\"]}\n"
#define ONE_THREAD \
	"p1 pid=100 root traced end=10ms status=0 argv serve\n" \
	"t1 p1 tid=100 main name=main end=10ms\n"

static isc_export_result result;

static isc_status gather(void *self, const void *data, size_t len, isc_error *err)
{
	(void)err;
	isc_buffer_add(self, data, len);
	return ISC_OK;
}

static isc_status refuse(void *self, const void *data, size_t len, isc_error *err)
{
	(void)self;
	(void)data;
	(void)len;
	return isc_fail(err, ISC_ERR_SYSTEM, "the disk is full");
}

static char *exported(const char *text, const isc_export_options *options)
{
	isc_buffer out = {0};
	isc_trace *trace = NULL;
	isc_error err = {0};

	if (trace_text_open(text, &trace, &err) != ISC_OK ||
	    isc_export_run(trace, options, gather, &out, &result, &err) != ISC_OK)
		fail_msg("%s", err.what);
	isc_trace_close(trace);
	assert_int_equal(result.bytes, out.len);
	return out.data != NULL ? out.data : calloc(1, 1);
}

#define check(text, options_, wanted) \
	do { \
		char *whole = exported(text, &(isc_export_options)options_); \
		const char *from = strstr(whole, "\"ph\":\"X\""); \
		assert_string_equal(from != NULL ? from - 1 : whole, wanted); \
		free(whole); \
	} while (0)
#define OPTIONS(...) {__VA_ARGS__}

#define NESTED \
	META ONE_THREAD "t1 1ms call_enter f a.py 1\n" \
			"t1 2ms call_enter g a.py 9\n" \
			"t1 3ms call_exit g a.py 9 2\n" \
			"t1 5ms call_exit f a.py 1\n" \
			"end 9ms status=0\n"

static void calls_are_complete_events(void **state)
{
	(void)state;
	check(NESTED, OPTIONS(.format = ISC_EXPORT_CHROME),
	      "{\"ph\":\"X\",\"pid\":100,\"tid\":100,\"ts\":2000.000,\"dur\":1000.000,\"name\":\"g\",\"cat\":"
	      "\"python\","
	      "\"args\":{\"file\":\"a.py\",\"line\":9,\"raised\":true}},\n"
	      "{\"ph\":\"X\",\"pid\":100,\"tid\":100,\"ts\":1000.000,\"dur\":4000.000,\"name\":\"f\",\"cat\":"
	      "\"python\","
	      "\"args\":{\"file\":\"a.py\",\"line\":1}}\n]}\n");
	assert_int_equal(result.slices, 2);
	assert_int_equal(result.unfinished, 0);
}

static void a_time_is_cut_out(void **state)
{
	(void)state;
	check(NESTED, OPTIONS(.format = ISC_EXPORT_CHROME, .from_us = 2500, .to_us = 4000),
	      "{\"ph\":\"X\",\"pid\":100,\"tid\":100,\"ts\":2500.000,\"dur\":500.000,\"name\":\"g\",\"cat\":\"python\","
	      "\"args\":{\"file\":\"a.py\",\"line\":9,\"raised\":true,\"cut\":true}},\n"
	      "{\"ph\":\"X\",\"pid\":100,\"tid\":100,\"ts\":2500.000,\"dur\":1500.000,\"name\":\"f\",\"cat\":"
	      "\"python\","
	      "\"args\":{\"file\":\"a.py\",\"line\":1,\"cut\":true}}\n]}\n");
	/* Nothing happens in it, and yet a call goes on. */
	check(NESTED, OPTIONS(.format = ISC_EXPORT_COLLAPSED, .from_us = 3200, .to_us = 3700), "f (a.py:1) 500\n");
}

static void a_scope_is_cut_out(void **state)
{
	const char *text = META ONE_THREAD "t1 1ms call_enter f a.py 1\n"
					   "t1 2ms scope_enter request\n"
					   "t1 3ms scope_enter request\n"
					   "t1 4ms scope_exit request\n"
					   "t1 5ms scope_exit request\n"
					   "t1 6ms call_enter g a.py 9\n"
					   "t1 7ms call_exit g a.py 9\n"
					   "t1 7ms scope_enter request\n"
					   "t1 8ms scope_exit request\n"
					   "t1 9ms call_exit f a.py 1\n"
					   "end 9ms status=0\n";
	isc_export_options options = {.format = ISC_EXPORT_COLLAPSED, .scope = "reqest"};
	isc_trace *trace = NULL;
	isc_buffer out = {0};
	isc_error err = {0};

	(void)state;
	check(text, OPTIONS(.format = ISC_EXPORT_COLLAPSED, .scope = "request"), "f (a.py:1) 4000\n");
	assert_int_equal(trace_text_open(text, &trace, &err), ISC_OK);
	assert_int_equal(isc_export_run(trace, &options, gather, &out, &result, &err), ISC_ERR_INVALID);
	assert_non_null(strstr(err.what, "no scope named \"reqest\""));
	options = (isc_export_options){.format = ISC_EXPORT_COLLAPSED, .from_us = 5, .to_us = 4};
	assert_int_equal(isc_export_run(trace, &options, gather, &out, &result, &err), ISC_ERR_INVALID);
	isc_buffer_fini(&out);
	isc_trace_close(trace);
}

static void what_never_ended_is_said(void **state)
{
	(void)state;
	check(META ONE_THREAD "t1 1ms call_exit lost a.py 1\n"
			      "t1 2ms call_enter f a.py 1\n"
			      "t1 3ms call_enter g a.py 9\n"
			      "t1 4ms call_exit f a.py 1\n"
			      "t1 5ms call_enter h a.py 20\n"
			      "t1 6ms instant mark\n"
			      "end 9ms status=0\n",
	      OPTIONS(.format = ISC_EXPORT_COLLAPSED),
	      "f (a.py:1);g (a.py:9) 1000\nf (a.py:1) 1000\nh (a.py:20) 5000\n");
	assert_int_equal(result.unmatched, 1);
	assert_int_equal(result.unfinished, 2);
	assert_int_equal(result.marks, 1);
}

static void samples_win_over_calls_in_stacks(void **state)
{
	const char *text = META ONE_THREAD "t1 1ms call_enter f a.py 1\n"
					   "t1 2ms sample 2 5ms \"main m.py 1 9\" \"run m.py 12 14\"\n"
					   "t1 3ms sample 1 5ms \"main m.py 1 9\" \"run m.py 12 15\"\n"
					   "t1 4ms sample 1 5ms flags=16\n"
					   "t1 5ms call_exit f a.py 1\n"
					   "end 9ms status=0\n";
	char *got;

	(void)state;
	check(text, OPTIONS(.format = ISC_EXPORT_COLLAPSED), "main (m.py:1);run (m.py:12) 3\n(unattributed) 1\n");
	got = exported(text, &(isc_export_options){.format = ISC_EXPORT_SPEEDSCOPE});
	assert_non_null(strstr(got, "\"samples\":[[2,1],[2,1],[3]],\"weights\":[10000000,5000000,5000000]"));
	assert_non_null(strstr(got, "{\"name\":\"run\",\"file\":\"m.py\",\"line\":12}"));
	assert_non_null(strstr(got, "{\"name\":\"(unattributed)\"}"));
	free(got);
}

/* A scope that moves to another thread: its end stands before its beginning in the file. */
static void scopes_are_told_once(void **state)
{
	char *got = exported(META "p1 pid=100 root traced end=9ms status=0 argv x\n"
				  "t1 p1 tid=100 main name=main end=9ms\n"
				  "t2 p1 tid=101 name=other end=9ms\n"
				  "t2 5ms span_exit decode 7 3ms 1\n"
				  "t1 2ms span_enter decode 7\n"
				  "t1 6ms span_enter open 8\n"
				  "end 9ms status=0\n",
			     &(isc_export_options){.format = ISC_EXPORT_CHROME});

	(void)state;
	assert_int_equal(result.marks, 2);
	assert_int_equal(result.unfinished, 1);
	assert_non_null(strstr(
		got, "{\"ph\":\"b\",\"pid\":100,\"tid\":101,\"ts\":2000.000,\"cat\":\"scope\",\"name\":\"decode\""));
	assert_non_null(strstr(
		got, "{\"ph\":\"e\",\"pid\":100,\"tid\":101,\"ts\":5000.000,\"cat\":\"scope\",\"name\":\"decode\""));
	free(got);
}

static void check_row(isc_gpu_rows *rows, uint64_t from, uint64_t to, uint32_t wanted)
{
	uint32_t nth = UINT32_MAX;
	bool fresh;

	assert_int_not_equal(isc_gpu_rows_place(rows, 0, 7, from, to, &nth, &fresh), SIZE_MAX);
	assert_int_equal(nth, wanted);
}

/* Told in any order; what only touches is behind the other, or has to begin a row of its own. */
static void work_that_overlaps_has_rows_of_its_own(void **state)
{
	isc_gpu_rows rows = {0};
	uint32_t nth;
	bool fresh;

	(void)state;
	check_row(&rows, 10, 20, 0);
	check_row(&rows, 20, 30, 0);
	check_row(&rows, 25, 40, 1);
	check_row(&rows, 12, 15, 0); /* inside */
	check_row(&rows, 5, 31, 0);  /* around all of them */
	check_row(&rows, 3, 5, 1);   /* would end where one begins that was told before */
	check_row(&rows, 10, 14, 1); /* would end inside one of the first row */
	check_row(&rows, 38, 50, 0);
	check_row(&rows, 39, 51, 2);
	assert_int_equal(rows.count, 3);
	isc_gpu_rows_place(&rows, 1, 7, 10, 20, &nth, &fresh);
	assert_true(fresh && nth == 0);
	isc_gpu_rows_place(&rows, 0, 8, 10, 20, &nth, &fresh);
	assert_true(fresh && nth == 0);
	/* Before everything that is remembered: it might cross what is forgotten. */
	for (uint64_t i = 0; i < 200; i++)
		check_row(&rows, 100 + 10 * i, 105 + 10 * i, 0);
	check_row(&rows, 107, 108, 1);
	isc_gpu_rows_fini(&rows);
}

static size_t times(const char *text, const char *what)
{
	size_t n = 0;

	for (; (text = strstr(text, what)) != NULL; text++)
		n++;
	return n;
}

static void an_arrow_of_a_piece_has_both_ends(void **state)
{
	const char *text = META "p1 pid=100 root traced end=90ms status=0 argv serve\n"
				"t1 p1 tid=100 main name=main end=90ms\n"
				"t1 12ms gpu_call launch clEnqueueNDRangeKernel 10ms 10.1ms 7\n"
				"t1 14ms gpu_call copy clEnqueueWriteBuffer 13ms 13.1ms 8\n"
				"t1 40ms gpu_work kernel gemm 0 20ms 23ms 7 stream=0\n"
				"t1 41ms gpu_work h2d write 0 25ms 26ms 8 stream=5 bytes=64\n"
				"end 90ms status=0\n";
	static const struct {
		double from_us, to_us;
		size_t slices, arrows;
	} cases[] = {{0, 0, 4, 2}, {9000, 21000, 3, 1}, {19000, 30000, 2, 0}, {9000, 15000, 2, 0}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *got = exported(text, &(isc_export_options){.format = ISC_EXPORT_CHROME,
								 .from_us = cases[i].from_us,
								 .to_us = cases[i].to_us});

		assert_int_equal(times(got, "\"ph\":\"X\""), cases[i].slices);
		assert_int_equal(times(got, "\"ph\":\"s\""), cases[i].arrows);
		assert_int_equal(times(got, "\"ph\":\"f\""), cases[i].arrows);
		free(got);
	}
}

/* X3: any name comes out as text that a strict parser takes. */
static void names_are_escaped(void **state)
{
	isc_buffer out = {0};

	(void)state;
	isc_json_string(&out, "a\"\\\n\x1b\x7f\xff\xe2\x80\xa8z", 11);
	isc_buffer_text(&out, " ");
	isc_json_value(&out, "{\"n\": 1}", 8);
	isc_json_value(&out, "{broken", 7);
	isc_buffer_text(&out, " ");
	isc_json_real(&out, 1.0 / 0.0);
	isc_json_us(&out, 1234567);
	assert_string_equal(out.data,
			    "\"a\\\"\\\\\\n\\u001b\\u007f\xef\xbf\xbd\\u2028z\" {\"n\":1}\"{broken\" null1234.567");
	isc_buffer_fini(&out);
	check(META ONE_THREAD "t1 1ms call_enter \"a;b\\nc\" \"/x/a;b.py\" 1\n"
			      "t1 2ms call_exit \"a;b\\nc\" \"/x/a;b.py\" 1\n"
			      "end 9ms status=0\n",
	      OPTIONS(.format = ISC_EXPORT_COLLAPSED), "a:b\\nc (a:b.py:1) 1000\n");
}

static void a_full_disk_is_told(void **state)
{
	isc_trace *trace = NULL;
	isc_error err = {0};

	(void)state;
	assert_int_equal(trace_text_open(NESTED, &trace, &err), ISC_OK);
	for (int i = 0; i < ISC_EXPORT_FORMATS; i++) {
		isc_export_options options = {.format = i};

		err = (isc_error){0};
		assert_int_equal(isc_export_run(trace, &options, refuse, NULL, &result, &err), ISC_ERR_SYSTEM);
		assert_string_equal(err.what, "the disk is full");
	}
	isc_trace_close(trace);
}

static void formats_have_names(void **state)
{
	isc_error err = {0};
	int format = -1;

	(void)state;
	for (int i = 0; i < ISC_EXPORT_FORMATS; i++) {
		assert_int_equal(isc_export_choose(isc_export_name(i), &format, &err), ISC_OK);
		assert_int_equal(format, i);
	}
	assert_null(isc_export_name(ISC_EXPORT_FORMATS));
	assert_int_equal(isc_export_choose("perfeto", &format, &err), ISC_ERR_INVALID);
	assert_string_equal(err.hint, "did you mean perfetto?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_are_complete_events),
		cmocka_unit_test(a_time_is_cut_out),
		cmocka_unit_test(a_scope_is_cut_out),
		cmocka_unit_test(what_never_ended_is_said),
		cmocka_unit_test(samples_win_over_calls_in_stacks),
		cmocka_unit_test(scopes_are_told_once),
		cmocka_unit_test(work_that_overlaps_has_rows_of_its_own),
		cmocka_unit_test(an_arrow_of_a_piece_has_both_ends),
		cmocka_unit_test(names_are_escaped),
		cmocka_unit_test(a_full_disk_is_told),
		cmocka_unit_test(formats_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
