/* export: waits, system calls and collections, whole and in pieces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <yyjson.h>

#include "base/buffer.h"
#include "export/export.h"
#include "trace_text.h"

#define ONE_THREAD \
	"meta {\"argv\": [\"serve\"]}\n" \
	"p1 pid=100 root traced end=9ms status=0 argv serve\n" \
	"t1 p1 tid=100 main name=main end=9ms\n"

static isc_status gather(void *self, const void *data, size_t len, isc_error *err)
{
	(void)err;
	isc_buffer_add(self, data, len);
	return ISC_OK;
}

static yyjson_doc *exported(const char *text, isc_export_options options)
{
	isc_export_result result;
	isc_trace *trace = NULL;
	isc_buffer out = {0};
	isc_error err = {0};
	yyjson_doc *doc;

	if (trace_text_open(text, &trace, &err) != ISC_OK ||
	    isc_export_run(trace, &options, gather, &out, &result, &err) != ISC_OK)
		fail_msg("%s", err.what);
	doc = yyjson_read(out.data, out.len, 0);
	assert_non_null(doc);
	isc_buffer_fini(&out);
	isc_trace_close(trace);
	return doc;
}

static const char *text_of(yyjson_val *object, const char *key)
{
	const char *text = yyjson_get_str(yyjson_obj_get(object, key));

	return text != NULL ? text : "";
}

/* "name from..to" in microseconds, then what is said about it: a line for every slice. */
static void check_slices(const char *text, isc_export_options options, const char *wanted)
{
	static const char *const notes[] = {"cut", "unfinished"};
	isc_buffer got = {0};
	yyjson_val *event;
	yyjson_arr_iter at;
	yyjson_doc *doc;

	options.format = ISC_EXPORT_CHROME;
	doc = exported(text, options);
	at = yyjson_arr_iter_with(yyjson_obj_get(yyjson_doc_get_root(doc), "traceEvents"));
	while ((event = yyjson_arr_iter_next(&at)) != NULL) {
		yyjson_val *args = yyjson_obj_get(event, "args");
		double ts = yyjson_get_num(yyjson_obj_get(event, "ts"));

		if (strcmp(text_of(event, "ph"), "X") != 0)
			continue;
		isc_buffer_format(&got, "%s %s %.0f..%.0f", text_of(event, "cat"), text_of(event, "name"), ts,
				  ts + yyjson_get_num(yyjson_obj_get(event, "dur")));
		if (yyjson_obj_get(args, "call") != NULL)
			isc_buffer_format(&got, " %s %llu", text_of(args, "call"),
					  (unsigned long long)yyjson_get_uint(yyjson_obj_get(args, "bytes")));
		if (yyjson_obj_get(args, "errno") != NULL)
			isc_buffer_format(&got, " errno=%d", yyjson_get_int(yyjson_obj_get(args, "errno")));
		for (size_t i = 0; i < sizeof(notes) / sizeof(notes[0]); i++)
			if (yyjson_is_true(yyjson_obj_get(args, notes[i])))
				isc_buffer_format(&got, " %s", notes[i]);
		isc_buffer_text(&got, "\n");
	}
	assert_string_equal(got.data != NULL ? got.data : "", wanted);
	isc_buffer_fini(&got);
	yyjson_doc_free(doc);
}

#define SLEEPS \
	ONE_THREAD "t1 1ms call_enter f a.py 1\n" \
		   "t1 2ms wait_enter sleep \"f a.py 1 3\"\n" \
		   "t1 8ms wait_exit sleep 6ms 0 \"f a.py 1 3\"\n" \
		   "t1 9ms call_exit f a.py 1\n" \
		   "end 9ms status=0\n"

static void a_wait_is_cut_by_its_own_times(void **state)
{
	(void)state;
	check_slices(SLEEPS, (isc_export_options){0}, "wait sleep 2000..8000\npython f 1000..9000\n");
	/* It began before and ends after. */
	check_slices(SLEEPS, (isc_export_options){.from_us = 3000, .to_us = 5000},
		     "wait sleep 3000..5000 cut\npython f 3000..5000 cut\n");
	check_slices(SLEEPS, (isc_export_options){.from_us = 500, .to_us = 5000},
		     "wait sleep 2000..5000 cut\npython f 1000..5000 cut\n");
	check_slices(SLEEPS, (isc_export_options){.from_us = 3000, .to_us = 9500},
		     "wait sleep 3000..8000 cut\npython f 3000..9000 cut\n");
	/* It only touches the edge. */
	check_slices(SLEEPS, (isc_export_options){.from_us = 8000, .to_us = 9500}, "python f 8000..9000 cut\n");
}

static void a_collection_is_cut_by_its_own_times(void **state)
{
	const char *text = ONE_THREAD "t1 1ms call_enter f a.py 1\n"
				      "t1 3ms call_enter finalize a.py 9\n"
				      "t1 4ms call_exit finalize a.py 9\n"
				      "t1 8ms gc 2 6ms 0\n"
				      "t1 9ms call_exit f a.py 1\n"
				      "end 9ms status=0\n";

	(void)state;
	check_slices(text, (isc_export_options){.from_us = 5000, .to_us = 6000},
		     "gc garbage collection 5000..6000 cut\npython f 5000..6000 cut\n");
	/* From there on they are told of: it is none. */
	check_slices(ONE_THREAD "t1 3ms gc 65535 0ms 0\nend 9ms status=0\n", (isc_export_options){0}, "");
}

/* Of every stretch its piece, inside the calls of it: speedscope wants all of them in order. */
static void pieces_of_a_wait_stand_among_the_calls_around_it(void **state)
{
	const char *text = ONE_THREAD "t2 p1 tid=101 name=other end=9ms\n"
				      "t1 1ms call_enter f a.py 1\n"
				      "t1 8ms wait_exit sem 6ms 0\n"
				      "t1 9ms call_exit f a.py 1\n"
				      "t2 3ms scope_enter request\n"
				      "t2 4ms scope_exit request\n"
				      "t2 5ms scope_enter request\n"
				      "t2 6ms scope_exit request\n"
				      "end 9ms status=0\n";
	yyjson_doc *doc;
	yyjson_val *root, *event;
	yyjson_arr_iter at;
	isc_buffer got = {0};

	(void)state;
	check_slices(text, (isc_export_options){.scope = "request"},
		     "wait sem 3000..4000 cut\npython f 3000..4000 cut\n"
		     "wait sem 5000..6000 cut\npython f 5000..6000 cut\n");
	doc = exported(text, (isc_export_options){.format = ISC_EXPORT_SPEEDSCOPE, .scope = "request"});
	root = yyjson_doc_get_root(doc);
	at = yyjson_arr_iter_with(yyjson_obj_get(yyjson_arr_get_first(yyjson_obj_get(root, "profiles")), "events"));
	while ((event = yyjson_arr_iter_next(&at)) != NULL) {
		yyjson_val *frame = yyjson_arr_get(yyjson_obj_get(yyjson_obj_get(root, "shared"), "frames"),
						   yyjson_get_uint(yyjson_obj_get(event, "frame")));

		isc_buffer_format(&got, "%s %s %llu\n", text_of(event, "type"), text_of(frame, "name"),
				  (unsigned long long)yyjson_get_uint(yyjson_obj_get(event, "at")) / 1000);
	}
	assert_string_equal(got.data, "O f 3000\nO sem 3000\nC sem 4000\nC f 4000\n"
				      "O f 5000\nO sem 5000\nC sem 6000\nC f 6000\n");
	isc_buffer_fini(&got);
	yyjson_doc_free(doc);
}

static void a_wait_that_never_ends_lasts_as_long_as_its_thread(void **state)
{
	const char *hangs = ONE_THREAD "t1 1ms call_enter f a.py 1\n"
				       "t1 2ms wait_enter sleep \"f a.py 1 3\"\n"
				       "end 9ms signal=9\n";
	/* The program jumps out of the first, the second ends: it is told once. */
	const char *jumps = ONE_THREAD "t1 1ms call_enter f a.py 1\n"
				       "t1 2ms wait_enter read\n"
				       "t1 3ms call_enter g a.py 9\n"
				       "t1 4ms wait_enter sem\n"
				       "t1 5ms wait_exit sem 1ms 0\n"
				       "t1 6ms call_exit g a.py 9\n"
				       "t1 7ms call_exit f a.py 1\n"
				       "end 9ms status=0\n";

	(void)state;
	check_slices(hangs, (isc_export_options){0},
		     "wait sleep 2000..9000 unfinished\npython f 1000..9000 unfinished\n");
	check_slices(hangs, (isc_export_options){.from_us = 4000, .to_us = 5000},
		     "wait sleep 4000..5000 cut unfinished\npython f 4000..5000 cut\n");
	check_slices(
		jumps, (isc_export_options){0},
		"wait read 2000..3000 unfinished\nwait sem 4000..5000\npython g 3000..6000\npython f 1000..7000\n");
	/* Nothing says when the thread ended, or the trace: the last that is known. */
	check_slices("meta {\"argv\": [\"x\"]}\n"
		     "p1 pid=100 root traced argv x\n"
		     "t1 p1 tid=100 main name=main\n"
		     "t2 p1 tid=101 name=other\n"
		     "t1 2ms wait_enter sleep\n"
		     "t2 5ms instant mark\n",
		     (isc_export_options){0}, "wait sleep 2000..5000 unfinished\n");
}

/* The program tells of a wait and then, with sums between them, of the call that it was. */
static void a_system_call_that_waits_is_told_once(void **state)
{
	const char *text = ONE_THREAD "t1 1ms call_enter f a.py 1\n"
				      "t1 3ms wait_exit read 1ms 0 \"f a.py 1 3\"\n"
				      "t1 3ms syscalls read 1ms 1 4096\n"
				      "t1 3ms syscall read 1ms 4096 0 \"f a.py 1 3\"\n"
				      "t1 4ms syscall mmap 500us 0 12 \"f a.py 1 4\"\n"
				      "t1 6ms wait_exit recv 1ms 0\n"
				      "t1 8ms syscall recvfrom 1ms 7 0\n"
				      "t1 9ms call_exit f a.py 1\n"
				      "end 9ms status=0\n";
	yyjson_doc *doc = exported(text, (isc_export_options){.format = ISC_EXPORT_EVENTS});
	isc_buffer got = {0};
	yyjson_val *event;
	yyjson_arr_iter at = yyjson_arr_iter_with(yyjson_doc_get_root(doc));

	(void)state;
	check_slices(text, (isc_export_options){0},
		     "wait read 2000..3000 read 4096\nsyscall mmap 3500..4000 mmap 0 errno=12\n"
		     "wait recv 5000..6000\nsyscall recvfrom 7000..8000 recvfrom 7\npython f 1000..9000\n");
	check_slices(text, (isc_export_options){.from_us = 3800, .to_us = 3900},
		     "syscall mmap 3800..3900 mmap 0 errno=12 cut\npython f 3800..3900 cut\n");
	while ((event = yyjson_arr_iter_next(&at)) != NULL) {
		yyjson_val *bytes = yyjson_obj_get(event, "bytes"), *error = yyjson_obj_get(event, "errno");

		if (strcmp(text_of(event, "event_type"), "cpu_syscall") != 0)
			continue;
		isc_buffer_format(&got, "%s line %d, %d bytes, errno %d, %zu frames\n", text_of(event, "name"),
				  yyjson_get_int(yyjson_obj_get(event, "line")),
				  yyjson_is_null(bytes) ? -1 : yyjson_get_int(bytes),
				  yyjson_is_null(error) ? -1 : yyjson_get_int(error),
				  yyjson_arr_size(yyjson_obj_get(event, "stack")));
	}
	assert_string_equal(got.data, "read line 3, 4096 bytes, errno -1, 1 frames\n"
				      "mmap line 4, 0 bytes, errno 12, 1 frames\n"
				      "recv line 0, -1 bytes, errno -1, 0 frames\n"
				      "recvfrom line 0, 7 bytes, errno -1, 0 frames\n");
	isc_buffer_fini(&got);
	yyjson_doc_free(doc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wait_is_cut_by_its_own_times),
		cmocka_unit_test(a_collection_is_cut_by_its_own_times),
		cmocka_unit_test(pieces_of_a_wait_stand_among_the_calls_around_it),
		cmocka_unit_test(a_wait_that_never_ends_lasts_as_long_as_its_thread),
		cmocka_unit_test(a_system_call_that_waits_is_told_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
