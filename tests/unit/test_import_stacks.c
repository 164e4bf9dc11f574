/* import: stacks of other tools, spans with an id, arrows, and our own Chrome JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buffer.h"
#include "import/import.h"

static isc_import import;
static isc_timeline *timeline;
static isc_error err;

static isc_status read_text(const char *text, size_t len)
{
	int fd = memfd_create("trace", MFD_CLOEXEC);
	isc_status st;

	assert_true(fd >= 0 && write(fd, text, len) == (ssize_t)len && lseek(fd, 0, SEEK_SET) == 0);
	assert_int_equal(isc_timeline_new(NULL, &timeline, NULL), ISC_OK);
	st = isc_import_read_fd(&import, fd, "trace", timeline, &err);
	close(fd);
	return st;
}

static const isc_timeline_facts *facts_of(const char *text)
{
	const isc_timeline_facts *facts;

	if (read_text(text, strlen(text)) != ISC_OK || isc_timeline_finish(timeline, NULL, &facts, &err) != ISC_OK)
		fail_msg("%s", err.what);
	return facts;
}

static int end(void **state)
{
	(void)state;
	isc_import_fini(&import);
	import = (isc_import){0};
	isc_timeline_free(timeline);
	timeline = NULL;
	return 0;
}

/* Every place of the tree: how deep, its name, samples, nanoseconds. */
static void check_stacks(const isc_timeline_facts *f, const char *wanted)
{
	isc_buffer out = {0};

	for (size_t i = 1; i < f->stack_count; i++)
		isc_buffer_format(&out, "%*s%s %llu %lld\n", (int)f->stacks[i].depth - 1, "",
				  isc_timeline_stack_text(timeline, f->stacks[i].id).at,
				  (unsigned long long)f->stacks[i].samples, (long long)f->stacks[i].ns);
	isc_buffer_add(&out, "", 1);
	assert_string_equal(out.data, wanted);
	isc_buffer_fini(&out);
}

static void collapsed_stacks_become_a_tree(void **state)
{
	const isc_timeline_facts *f = facts_of("# made by hand\n"
					       "main (app.py:3);f 3\n"
					       "\n"
					       "main (app.py:3);f;g h 2\r\n"
					       "main (app.py:3);f 4\n"
					       "no count\n"
					       "other 1.6");

	(void)state;
	check_stacks(f, "app.py(3): main 0 0\n f 7 7000\n  g h 2 2000\nother 2 2000\n");
	assert_string_equal(import.files[0].format, "collapsed stacks");
	assert_int_equal(import.files[0].events, 5);
	assert_int_equal(import.files[0].malformed, 1);
	assert_true(import.files[0].no_unit);
	assert_int_equal(f->to_ns, 11000);
}

static void text_that_is_no_stack_is_refused(void **state)
{
	(void)state;
	assert_int_equal(read_text("hello world\nfoo 1\n", 18), ISC_ERR_CORRUPT);
	end(NULL);
	assert_int_equal(read_text("a;b 1\0;c 2\n", 11), ISC_ERR_CORRUPT);
	end(NULL);
	assert_int_equal(read_text("", 0), ISC_ERR_CORRUPT);
}

static void a_stack_without_end_is_cut(void **state)
{
	isc_buffer text = {0};
	const isc_timeline_facts *f;

	(void)state;
	for (int i = 0; i < 5000; i++)
		isc_buffer_text(&text, "f;");
	isc_buffer_text(&text, "g 1\nx 9223372036854775808\nx 9223372036854775808\n");
	isc_buffer_add(&text, "", 1);
	f = facts_of(text.data);
	assert_int_equal(f->stack_count, 1 + 512 + 1);
	assert_int_equal(f->too_deep, 1);
	assert_true(f->stacks[513].samples == UINT64_MAX);
	isc_buffer_fini(&text);
}

/* The whole line is never in memory twice. */
static void a_line_too_long_is_stepped_over(void **state)
{
	size_t len = 9u << 20;
	char *text = malloc(len + 16);
	const isc_timeline_facts *f;

	(void)state;
	memcpy(text, "a;b 1\n", 6);
	memset(text + 6, 'x', len);
	strcpy(text + 6 + len, " 5\nc 2\n");
	f = facts_of(text);
	check_stacks(f, "a 0 0\n b 1 1000\nc 2 2000\n");
	assert_int_equal(import.files[0].malformed, 1);
	free(text);
}

#define SPEEDSCOPE(frames, profiles) \
	"{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"shared\":{\"frames\":[" frames \
	"]},\"profiles\":[" profiles "]}"

static void speedscope_calls_and_samples_are_read(void **state)
{
	const isc_timeline_facts *f = facts_of(SPEEDSCOPE(
		"{\"name\":\"main\",\"file\":\"a.py\",\"line\":3},{\"name\":\"f\"}",
		"{\"type\":\"evented\",\"name\":\"T\",\"unit\":\"microseconds\",\"startValue\":0,\"endValue\":9,"
		"\"events\":[{\"type\":\"O\",\"frame\":0,\"at\":1},{\"type\":\"O\",\"frame\":1,\"at\":2.5},"
		"{\"type\":\"C\",\"frame\":1,\"at\":4},{\"type\":\"C\",\"frame\":0,\"at\":9}]},"
		"{\"type\":\"sampled\",\"name\":\"S\",\"unit\":\"milliseconds\",\"startValue\":0,\"endValue\":9,"
		"\"samples\":[[0,1],[0],[]],\"weights\":[5,2,1]}"));

	(void)state;
	assert_int_equal(f->function_count, 2);
	assert_string_equal(f->functions[0].name.at, "a.py(3): main");
	assert_int_equal(f->functions[0].self_ns, 6500);
	assert_int_equal(f->functions[0].total_ns, 8000);
	assert_int_equal(f->functions[1].total_ns, 1500);
	assert_string_equal(f->threads[0].name.at, "T");
	check_stacks(f, "a.py(3): main 1 2000000\n f 1 5000000\n");
	assert_int_equal(f->stacks[0].samples, 1);
	assert_false(import.files[0].no_unit);
}

static void speedscope_that_misleads_is_counted(void **state)
{
	const isc_timeline_facts *f = facts_of(
		SPEEDSCOPE("{\"name\":\"f\"},{\"file\":7},3",
			   "{\"type\":\"evented\",\"unit\":\"none\",\"events\":[{\"type\":\"O\",\"frame\":9,\"at\":1},"
			   "{\"type\":\"C\",\"frame\":0,\"at\":2},{\"type\":\"Q\",\"frame\":0,\"at\":2},{\"type\":"
			   "\"O\",\"frame\":-1},4]},"
			   "{\"type\":\"sampled\",\"unit\":\"none\",\"samples\":[[0,99999999999],7,[0]],\"weights\":[-"
			   "5]},{\"type\":1},8"));

	(void)state;
	check_stacks(f, "f 2 0\n");
	assert_true(import.files[0].malformed >= 9);
	assert_int_equal(import.files[0].unmatched, 1);
	end(NULL);
	assert_int_equal(read_text(SPEEDSCOPE("", "") + 1, 40), ISC_ERR_CORRUPT);
	end(NULL);
	assert_int_equal(read_text(SPEEDSCOPE("{", ""), strlen(SPEEDSCOPE("{", ""))), ISC_ERR_CORRUPT);
}

#define EVENT(phase, pid, tid, ts, rest) \
	"{\"ph\":\"" phase "\",\"pid\":" #pid ",\"tid\":" #tid ",\"ts\":" #ts "," rest "}"

static void spans_with_an_id_are_scopes(void **state)
{
	/* clang-format off */
	const isc_timeline_facts *f = facts_of("["
		EVENT("b", 1, 1, 1, "\"cat\":\"scope\",\"name\":\"request\",\"id\":\"a\"") ","
		EVENT("b", 1, 2, 2, "\"cat\":\"scope\",\"name\":\"request\",\"id\":\"b\"") ","
		EVENT("e", 1, 3, 4.5, "\"cat\":\"scope\",\"name\":\"request\",\"id\":\"a\"") ","
		EVENT("n", 1, 3, 5, "\"cat\":\"scope\",\"name\":\"mark\",\"id\":\"b\"") ","
		EVENT("e", 1, 1, 9, "\"cat\":\"scope\",\"name\":\"request\",\"id\":\"b\"") ","
		EVENT("e", 2, 1, 9, "\"cat\":\"scope\",\"name\":\"request\",\"id\":\"b\"") ","
		EVENT("b", 1, 1, 1, "\"cat\":\"scope\",\"name\":\"open\",\"id\":\"c\"") "]");
	/* clang-format on */

	(void)state;
	assert_int_equal(f->scope_count, 1);
	assert_int_equal(f->scopes[0].count, 2);
	assert_int_equal(f->scopes[0].total_ns, 3500 + 7000);
	assert_int_equal(f->mark_count, 1);
	assert_int_equal(import.files[0].unmatched, 2);
}

static void arrows_have_two_ends(void **state)
{
	/* clang-format off */
	facts_of("["
		EVENT("X", 1, 1, 1, "\"name\":\"f\",\"dur\":1") ","
		EVENT("f", 1, 2, 3, "\"cat\":\"x\",\"name\":\"n\",\"id\":1,\"bp\":\"e\"") ","
		EVENT("s", 1, 1, 1, "\"cat\":\"x\",\"name\":\"n\",\"id\":1") ","
		EVENT("t", 1, 1, 2, "\"cat\":\"x\",\"name\":\"n\",\"id\":1") ","
		EVENT("s", 1, 1, 1, "\"cat\":\"x\",\"name\":\"n\",\"id\":2") ","
		EVENT("f", 2, 1, 1, "\"cat\":\"x\",\"name\":\"n\",\"id\":2") ","
		EVENT("s", 1, 1, 1, "\"cat\":\"y\",\"name\":\"n\",\"id\":3") ","
		EVENT("s", 1, 1, 1, "\"cat\":\"y\",\"name\":\"n\"") "]");
	/* clang-format on */
	(void)state;
	assert_int_equal(import.files[0].arrows, 2);
	assert_int_equal(import.files[0].loose, 1);
	assert_int_equal(import.files[0].malformed, 1);
}

/* Ids are names, also those that look like a number with a fraction. */
static void ids_of_arrows_are_texts(void **state)
{
	facts_of("[{\"ph\":\"s\",\"pid\":1,\"tid\":1,\"ts\":1,\"cat\":\"x\",\"name\":\"n\",\"id\":\"1.25\"},"
		 "{\"ph\":\"f\",\"pid\":1,\"tid\":1,\"ts\":2,\"cat\":\"x\",\"name\":\"n\",\"id\":\"1.26\"}]");
	(void)state;
	assert_int_equal(import.files[0].arrows, 0);
	assert_int_equal(import.files[0].loose, 2);
}

/* What our own Chrome JSON says of GPUs comes back as it was. */
static void our_own_gpu_work_is_known(void **state)
{
	/* clang-format off */
	const isc_timeline_facts *f = facts_of("["
		EVENT("X", 7, 7, 1, "\"cat\":\"gpu_api\",\"name\":\"cuLaunchKernel\",\"dur\":2,\"args\":{\"correlation\":5,\"process\":1}") ","
		EVENT("X", 8, 8, 1, "\"cat\":\"gpu_api\",\"name\":\"other\",\"dur\":1,\"args\":{\"correlation\":5,\"process\":2}") ","
		EVENT("X", 16777216, 1, 4, "\"cat\":\"gpu_kernel\",\"name\":\"gemm\",\"dur\":3.25,\"args\":{\"correlation\":5,\"process\":1,\"device\":0,\"stream\":0}") ","
		EVENT("X", 16777216, 1, 9, "\"cat\":\"h2d_copy\",\"name\":\"clEnqueueWriteBuffer\",\"dur\":1,\"args\":{\"correlation\":6,\"process\":1,\"device\":0,\"stream\":0,\"bytes\":64,\"pageable\":true}") "]");
	/* clang-format on */

	(void)state;
	assert_int_equal(f->gpu_count, 1);
	assert_int_equal(f->gpus[0].number, 0);
	assert_int_equal(f->kernel_count, 1);
	assert_int_equal(f->kernels[0].total_ns, 3250);
	assert_int_equal(f->gpus[0].unlinked, 1);
	assert_int_equal(f->copy_count, 1);
	assert_int_equal(f->copies[0].kind, ISC_GPU_H2D);
	assert_int_equal(f->copies[0].bytes, 64);
	assert_int_equal(f->copies[0].pageable, 1);
}

static void functions_keep_their_place(void **state)
{
	/* clang-format off */
	const isc_timeline_facts *f = facts_of("["
		EVENT("X", 1, 1, 1, "\"cat\":\"python\",\"name\":\"f\",\"dur\":4,\"args\":{\"file\":\"a.py\",\"line\":3}") ","
		EVENT("X", 1, 1, 6, "\"cat\":\"FEE\",\"name\":\"g (b.py:12)\",\"dur\":3") ","
		EVENT("X", 1, 1, 10, "\"cat\":\"FEE\",\"name\":\"odd (b.py:x)\",\"dur\":2") ","
		EVENT("i", 1, 1, 2, "\"cat\":\"sample\",\"name\":\"f\",\"s\":\"t\",\"args\":{\"cpu_ns\":5000,\"steps\":2,\"stack\":[\"f (a.py:3)\",\"native\"]}") ","
		EVENT("C", 1, 1, 2, "\"name\":\"queue\",\"args\":{\"value\":1.5}") ","
		EVENT("C", 1, 1, 2, "\"name\":\"memory\",\"args\":{\"value\":1,\"free\":2}") "]");
	/* clang-format on */

	(void)state;
	assert_string_equal(f->functions[0].name.at, "a.py(3): f");
	assert_string_equal(f->functions[1].name.at, "b.py(12): g");
	assert_string_equal(f->functions[2].name.at, "odd (b.py:x)");
	check_stacks(f, "a.py(3): f 0 0\n native 1 5000\n");
	assert_int_equal(f->counter_count, 3);
	assert_string_equal(f->counters[0].name.at, "queue");
	assert_string_equal(f->counters[1].name.at, "memory.value");
}

/* Begun with its place and ended without it, or ended with another name's end lost in between. */
static void functions_entered_and_left_keep_their_place(void **state)
{
	/* clang-format off */
	const isc_timeline_facts *f = facts_of("["
		EVENT("B", 1, 1, 1, "\"cat\":\"python\",\"name\":\"f\",\"args\":{\"file\":\"a.py\",\"line\":3}") ","
		EVENT("B", 1, 1, 2, "\"cat\":\"FEE\",\"name\":\"g (b.py:12)\"") ","
		EVENT("E", 1, 1, 4, "\"cat\":\"FEE\",\"name\":\"g (b.py:12)\"") ","
		EVENT("E", 1, 1, 9, "\"cat\":\"python\",\"name\":\"f\"") "]");
	/* clang-format on */

	(void)state;
	assert_int_equal(import.files[0].unmatched, 0);
	assert_int_equal(f->function_count, 2);
	assert_string_equal(f->functions[0].name.at, "a.py(3): f");
	assert_int_equal(f->functions[0].total_ns, 8000);
	assert_string_equal(f->functions[1].name.at, "b.py(12): g");
	assert_int_equal(f->functions[1].total_ns, 2000);
}

static void samples_of_dictionaries_are_read(void **state)
{
	/* clang-format off */
	const isc_timeline_facts *f = facts_of("["
		"{\"event_type\":\"cpu_call\",\"name\":\"f\",\"file\":\"a.py\",\"line\":3,\"start_us\":0,\"end_us\":9},"
		"{\"event_type\":\"cpu_sample\",\"name\":\"native\",\"start_us\":1,\"end_us\":1,\"stack\":["
		"{\"kind\":\"python\",\"name\":\"f\",\"file\":\"a.py\",\"line\":7,\"first_line\":3,\"module\":null},"
		"{\"kind\":\"native\",\"name\":\"native\",\"file\":\"a.c\",\"line\":1,\"module\":\"lib.so\"}],"
		"\"metadata\":{\"steps\":2,\"cpu_ns\":5000}},"
		"{\"event_type\":\"cpu_sample\",\"name\":\"f\",\"start_us\":2,\"end_us\":2,\"stack\":["
		"{\"kind\":\"python\",\"name\":\"f\",\"file\":\"a.py\",\"line\":8,\"first_line\":3}],"
		"\"metadata\":{\"cpu_ns\":1000}},"
		"{\"event_type\":\"cpu_sample\",\"name\":\"?\",\"start_us\":3,\"stack\":[{\"kind\":null},7],\"metadata\":{}},"
		"{\"event_type\":\"memory_alloc\",\"name\":\"malloc\",\"start_us\":3,\"bytes\":7}]");
	/* clang-format on */

	(void)state;
	check_stacks(f, "a.py(3): f 1 1000\n native 1 5000\n? 0 0\n ? 1 0\n");
	assert_string_equal(f->functions[0].name.at, "a.py(3): f");
	assert_int_equal(import.files[0].unused, 1);
	assert_true(import.files[0].no_unit);
}

/* Long ones, with a NUL and with letters of two bytes, that differ only in their end. */
static void names_come_as_they_are(void **state)
{
	static const char *const between[] = {
		"{\"event_type\":\"cpu_call\",\"start_us\":0,\"end_us\":9,\"line\":3,\"file\":\"",
		"{\"ph\":\"C\",\"pid\":1,\"tid\":1,\"ts\":1,\"args\":{\"one\":1,\"two\":2},\"name\":\"",
		"{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":2,\"cat\":\"python\",\"args\":{\"file\":\"a.py\","
		"\"line\":1},"
		"\"name\":\""};
	const isc_timeline_facts *f;
	isc_buffer text = {0}, name = {0};

	(void)state;
	isc_buffer_text(&name, "a");
	for (int i = 0; i < 3000; i++)
		isc_buffer_text(&name, "\xc3\xa9");
	for (size_t k = 0; k < 3; k++) {
		isc_buffer_clear(&text);
		for (int i = 0; i < 2; i++)
			isc_buffer_format(&text, "%s%s%s\\u0000%d\"%s}", i == 0 ? "[" : ",", between[k], name.data, i,
					  k == 0 ? ",\"name\":\"f\"" : "");
		isc_buffer_add(&text, "]", 2);
		f = facts_of(text.data);
		assert_int_equal(k == 1 ? f->counter_count : f->function_count, k == 1 ? 4 : 2);
		for (size_t i = 0; k != 1 && i < 2; i++) {
			isc_text got = f->functions[i].name;
			size_t extra = strlen(k == 0 ? "(3): f" : "a.py(1): ");

			assert_int_equal(got.len, name.len + 2 + extra);
			assert_memory_equal(got.at + (k == 0 ? 0 : extra), name.data, name.len);
		}
		if (k == 1)
			assert_memory_equal(f->counters[0].name.at + name.len,
					    "\0"
					    "0.one",
					    6);
		end(NULL);
	}
	isc_buffer_fini(&name);
	isc_buffer_fini(&text);
}

static uint64_t samples_at(const isc_timeline_facts *f, const char *name)
{
	uint64_t samples = 0;

	for (size_t i = 1; i < f->stack_count; i++) {
		if (strcmp(isc_timeline_stack_text(timeline, f->stacks[i].id).at, name) == 0)
			samples += f->stacks[i].samples;
	}
	return samples;
}

/* 300,000 functions that were seen once, and three that were seen often: first, in the middle, last. */
static void of_too_many_stacks_the_lightest_become_one(void **state)
{
	const isc_timeline_facts *f;
	isc_buffer text = {0};
	uint64_t all = 0;
	int64_t ns = 0;

	(void)state;
	isc_buffer_text(&text, "main;first 1000\n");
	for (int i = 0; i < 300000; i++) {
		isc_buffer_format(&text, "main;f%d;g%d 1\n", i % 100, i);
		if (i % 1000 == 0)
			isc_buffer_text(&text, "main;often 3\n");
	}
	isc_buffer_text(&text, "main;last 500");
	isc_buffer_add(&text, "\n", 2);
	f = facts_of(text.data);
	isc_buffer_fini(&text);
	assert_true(f->stack_count <= 1u << 17);
	for (size_t i = 1; i < f->stack_count; i++) {
		assert_true(f->stacks[i].parent < i);
		all += f->stacks[i].samples;
		ns += f->stacks[i].ns;
	}
	assert_int_equal(all, 1000 + 300000 + 900 + 500);
	assert_int_equal(ns, (int64_t)all * 1000);
	assert_int_equal(samples_at(f, "first"), 1000);
	assert_int_equal(samples_at(f, "often"), 900);
	assert_int_equal(samples_at(f, "last"), 500);
	assert_true(f->stacks_folded > 0);
	assert_int_equal(f->samples_folded, samples_at(f, "(other stacks)"));
	assert_true(f->samples_folded > 200000);
}

/* Names as long as they may be: their bytes are a limit of their own. */
static void of_too_long_names_the_lightest_go(void **state)
{
	const isc_timeline_facts *f;
	isc_buffer text = {0};
	char name[10001];

	(void)state;
	isc_buffer_text(&text, "main;f 1\n");
	for (int i = 0; i < 5000; i++) {
		snprintf(name, sizeof(name), "%09990d", i);
		isc_buffer_format(&text, "%s %d\n", name, i == 17 ? 9 : 1);
	}
	isc_buffer_add(&text, "", 1);
	f = facts_of(text.data);
	isc_buffer_fini(&text);
	snprintf(name, sizeof(name), "%09990d", 17);
	assert_int_equal(samples_at(f, name), 9);
	assert_int_equal(f->samples_folded, samples_at(f, "(other stacks)"));
	assert_true(f->samples_folded > 1000 && f->stack_count < 5000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(collapsed_stacks_become_a_tree, end),
		cmocka_unit_test_teardown(text_that_is_no_stack_is_refused, end),
		cmocka_unit_test_teardown(a_stack_without_end_is_cut, end),
		cmocka_unit_test_teardown(a_line_too_long_is_stepped_over, end),
		cmocka_unit_test_teardown(speedscope_calls_and_samples_are_read, end),
		cmocka_unit_test_teardown(speedscope_that_misleads_is_counted, end),
		cmocka_unit_test_teardown(spans_with_an_id_are_scopes, end),
		cmocka_unit_test_teardown(arrows_have_two_ends, end),
		cmocka_unit_test_teardown(ids_of_arrows_are_texts, end),
		cmocka_unit_test_teardown(our_own_gpu_work_is_known, end),
		cmocka_unit_test_teardown(functions_keep_their_place, end),
		cmocka_unit_test_teardown(functions_entered_and_left_keep_their_place, end),
		cmocka_unit_test_teardown(samples_of_dictionaries_are_read, end),
		cmocka_unit_test_teardown(names_come_as_they_are, end),
		cmocka_unit_test_teardown(of_too_many_stacks_the_lightest_become_one, end),
		cmocka_unit_test_teardown(of_too_long_names_the_lightest_go, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
