/* import: JSON of any form, damage, packed files and numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "base/buffer.h"
#include "import/bytes.h"
#include "import/import.h"
#include "import/number.h"

static isc_import import;
static isc_timeline *timeline;

static int file_of(const void *data, size_t len)
{
	int fd = memfd_create("trace", MFD_CLOEXEC);

	assert_true(fd >= 0 && write(fd, data, len) == (ssize_t)len && lseek(fd, 0, SEEK_SET) == 0);
	return fd;
}

static isc_status read_data(const void *data, size_t len)
{
	int fd = file_of(data, len);
	isc_error err = {0};
	isc_status st;

	assert_int_equal(isc_timeline_new(NULL, &timeline, NULL), ISC_OK);
	st = isc_import_read_fd(&import, fd, "trace", timeline, &err);
	close(fd);
	return st;
}

static const isc_timeline_facts *facts_of(const void *data, size_t len)
{
	const isc_timeline_facts *facts;

	assert_int_equal(read_data(data, len), ISC_OK);
	assert_int_equal(isc_timeline_finish(timeline, NULL, &facts, NULL), ISC_OK);
	return facts;
}

static const isc_timeline_facts *facts_of_text(const char *text)
{
	return facts_of(text, strlen(text));
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

#define KERNEL(ts) \
	"{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"gemm\", \"pid\": 0, \"tid\": 7, \"ts\": " ts \
	", \"dur\": 10.5," \
	" \"args\": {\"device\": 3, \"stream\": 7, \"correlation\": 5, \"grid\": [1, 2, 3]}}"
#define LAUNCH \
	"{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": 9, \"tid\": 9, \"ts\": " \
	"1.5," \
	" \"dur\": 2, \"args\": {\"correlation\": 5}}"

static void every_outer_form_is_read(void **state)
{
	static const char *const forms[] = {
		"[" KERNEL("100") ", " LAUNCH "]",
		"[" KERNEL("100") ", " LAUNCH, /* the closing bracket may be missing */
		"[" KERNEL("100") ", " LAUNCH ",\n",
		"{\"traceEvents\": [" KERNEL("100") ", " LAUNCH "]}",
		"\xef\xbb\xbf \n{\"schemaVersion\": 1, \"deviceProperties\": [{\"id\": 3, \"name\": \"H\\\"100 }]\"}],"
		"\"distributedInfo\": {\"rank\": 2}, \"traceEvents\": [" KERNEL(
			"100") ",\n\n" LAUNCH "], \"traceName\": \"x\", \"n\": null, \"t\": true, "
			       "\"baseTimeNanoseconds\": 1700000000000000000}",
		KERNEL("100") "\n" LAUNCH "\n",
		"{\"a\": [[{}], \"[{\"], \"traceEvents\": [" LAUNCH "," KERNEL("100") "], \"z\": {\"y\": [1.5e3]}}",
	};

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		const isc_timeline_facts *f = facts_of_text(forms[i]);

		assert_int_equal(import.files[0].events, 2);
		if (import.files[0].damaged)
			fail_msg("form %zu: %s", i, import.files[0].lost);
		assert_string_equal(import.files[0].format, "Kineto");
		assert_int_equal(f->gpu_count, 1);
		assert_int_equal(f->gpus[0].number, 3);
		assert_int_equal(f->gpus[0].busy_ns, 10500);
		assert_int_equal(f->gpus[0].unlinked, 0);
		if (i == 4) {
			assert_string_equal(f->gpus[0].name.at, "H\"100 }]");
			assert_int_equal(f->sources[0].rank, 2);
		}
		end(state);
	}
}

static void what_is_no_trace_says_so(void **state)
{
	static const char *const texts[] = {"",		 "hello",    "{}",   "[]",  "{\"a\": 1}",
					    "[1, 2, 3]", "\"text\"", "[[[[", "{{{{"};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		assert_int_equal(read_data(texts[i], strlen(texts[i])), ISC_ERR_CORRUPT);
		end(state);
	}
}

static void odd_events_are_counted_and_the_rest_is_used(void **state)
{
	const isc_timeline_facts *f =
		facts_of_text("[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"ts\":\"late\",\"dur\":1},"
			      "{\"ph\":\"X\",\"name\":5,\"ts\":1,\"dur\":1},"
			      "{\"cat\":\"kernel\"},"
			      "{\"ph\":\"Z\"},"
			      "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":\"x\",\"ts\":1e3,\"dur\":2.5,"
			      "\"args\":{\"device\":-1}},"
			      "{\"ph\":\"B\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1},{\"ph\":\"B\",\"name\":\"b\","
			      "\"pid\":1,\"tid\":1,\"ts\":2},"
			      "{\"ph\":\"E\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":9},{\"ph\":\"E\",\"pid\":1,"
			      "\"tid\":1,\"ts\":9},"
			      "{\"ph\":\"C\",\"name\":\"c\",\"ts\":1,\"args\":{\"x\":4,\"y\":\"no\"}},"
			      "{\"ph\":\"i\",\"name\":\"m\",\"ts\":1},{\"ph\":\"X\",\"cat\":\"user_annotation\","
			      "\"name\":\"ProfilerStep#4\","
			      "\"pid\":1,\"tid\":1,\"ts\":0,\"dur\":20}]");

	(void)state;
	assert_int_equal(import.files[0].malformed, 3);
	assert_int_equal(import.files[0].unused, 1);
	assert_int_equal(import.files[0].unmatched, 2);
	assert_int_equal(f->gpus[0].busy_ns, 2500);
	assert_int_equal(f->function_count, 1);
	assert_int_equal(f->functions[0].total_ns, 8000);
	assert_int_equal(f->counter_count, 1);
	assert_string_equal(f->counters[0].name.at, "c.x");
	assert_int_equal(f->mark_count, 1);
	assert_string_equal(f->scopes[0].name.at, "ProfilerStep");
}

/* n kernels of 10 us, 100 us apart, pretty-printed as Kineto does. */
static isc_buffer trace_of(unsigned n)
{
	isc_buffer text = {0};

	isc_buffer_text(&text, "{\n  \"schemaVersion\": 1,\n  \"traceEvents\": [");
	for (unsigned i = 0; i < n; i++)
		isc_buffer_format(
			&text,
			"%s\n  {\n    \"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\\\"%u{[\", \"pid\": 0, "
			"\"tid\": 7,\n"
			"    \"ts\": %u.250, \"dur\": 10.000,\n    \"args\": {\n      \"device\": 0, \"stream\": 7,\n"
			"      \"correlation\": %u, \"grid\": [1, 1, 1]\n    }\n  }",
			i > 0 ? "," : "", i % 5, i * 100, i + 1);
	isc_buffer_text(&text, "\n  ],\n  \"traceName\": \"x\"\n}\n");
	assert_false(text.failed);
	return text;
}

static void a_cut_trace_gives_everything_before_the_cut(void **state)
{
	isc_buffer text = trace_of(60);
	char *tail = strstr(text.data, "\n  ],");

	for (size_t cut = 200; cut + 3 < text.len; cut += 37) {
		size_t whole = 0;
		const isc_timeline_facts *f;

		/* Events that end before the cut: each ends with two braces on lines of their own. */
		for (const char *p = text.data; (p = strstr(p, "    }\n  }")) != NULL && p + 9 <= text.data + cut; p++)
			whole++;
		if (whole == 0)
			continue;
		f = facts_of(text.data, cut);
		assert_int_equal(f->gpus[0].kernels, whole);
		assert_true(import.files[0].damaged);
		assert_non_null(strstr(import.files[0].lost, "breaks off"));
		end(state);
	}
	assert_non_null(tail);
	isc_buffer_fini(&text);
}

static void damage_inside_costs_only_what_it_hits(void **state)
{
	static const char *const harm[] = {
		"\"", "{", "}", "}}}}", "\\", "\"\"\"", "]", "[", ",", "\n\n", "garbage {\"ph\": ", "\xff\xfe"};
	isc_buffer text = trace_of(60);

	for (size_t h = 0; h < sizeof(harm) / sizeof(harm[0]); h++) {
		size_t len = strlen(harm[h]);

		for (size_t at = 500; at < text.len - 600; at += 311) {
			isc_buffer copy = {0};
			const isc_timeline_facts *f;

			isc_buffer_add(&copy, text.data, text.len);
			memcpy(copy.data + at, harm[h], len);
			f = facts_of(copy.data, copy.len);
			/* One event, or the two that it lies between. */
			if (f->gpus[0].kernels + f->gpus[0].unstamped < 58)
				fail_msg("%s at %zu left %llu events", harm[h], at,
					 (unsigned long long)f->gpus[0].kernels);
			end(state);
			isc_buffer_fini(&copy);
		}
	}
	isc_buffer_fini(&text);
}

static void a_hole_is_stepped_over_and_told(void **state)
{
	isc_buffer text = trace_of(4000);
	const isc_timeline_facts *f;

	memset(text.data + text.len / 2, 0, 50000);
	f = facts_of(text.data, text.len);
	assert_true(f->gpus[0].kernels > 3700 && f->gpus[0].kernels < 3800);
	assert_true(import.files[0].damaged);
	assert_non_null(strstr(import.files[0].lost, "in 1 place"));
	(void)state;
	isc_buffer_fini(&text);
}

/* ---- packed ---- */

static isc_buffer packed(const char *data, size_t len)
{
	z_stream z = {0};
	isc_buffer out = {0};
	char *room = isc_buffer_room(&out, len + 1000);

	assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
	z.next_in = (Bytef *)(uintptr_t)data;
	z.avail_in = (uInt)len;
	z.next_out = (Bytef *)room;
	z.avail_out = (uInt)(len + 1000);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	out.len = z.total_out;
	deflateEnd(&z);
	return out;
}

static void packed_traces_are_read_also_in_pieces(void **state)
{
	isc_buffer text = trace_of(3000), whole = packed(text.data, text.len);
	isc_buffer two = packed(text.data, text.len / 3);
	isc_buffer rest = packed(text.data + text.len / 3, text.len - text.len / 3);

	assert_int_equal(facts_of(whole.data, whole.len)->gpus[0].kernels, 3000);
	assert_false(import.files[0].damaged);
	end(state);
	isc_buffer_add(&two, rest.data, rest.len);
	isc_buffer_add(&two, "\0\0\0\0", 4);
	assert_int_equal(facts_of(two.data, two.len)->gpus[0].kernels, 3000);
	assert_false(import.files[0].damaged);
	end(state);
	/* Cut: what was unpacked before is used. */
	assert_true(facts_of(whole.data, whole.len / 2)->gpus[0].kernels > 1000);
	assert_true(import.files[0].damaged);
	isc_buffer_fini(&text);
	isc_buffer_fini(&whole);
	isc_buffer_fini(&two);
	isc_buffer_fini(&rest);
}

static void after_damage_in_packed_data_the_next_member_is_read(void **state)
{
	isc_buffer text = trace_of(3000), all = packed(text.data, text.len / 3);
	isc_buffer second = packed(text.data + text.len / 3, text.len / 3);
	isc_buffer third = packed(text.data + 2 * (text.len / 3), text.len - 2 * (text.len / 3));
	size_t at = all.len;
	uint64_t kernels;

	isc_buffer_add(&all, second.data, second.len);
	isc_buffer_add(&all, third.data, third.len);
	memset(all.data + at + 200, 0x55, 300);
	kernels = facts_of(all.data, all.len)->gpus[0].kernels;
	assert_true(kernels >= 1990 && kernels < 3000);
	assert_true(import.files[0].damaged);
	assert_non_null(strstr(import.files[0].lost, "packed data is wrong"));
	(void)state;
	isc_buffer_fini(&text);
	isc_buffer_fini(&all);
	isc_buffer_fini(&second);
	isc_buffer_fini(&third);
}

static void a_bomb_is_bounded(void **state)
{
	const size_t size = 400u << 20;
	char *zeros = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	isc_buffer bomb;
	isc_bytes *bytes;
	uint64_t given = 0;
	char part[65536];
	size_t got = 1;
	int fd;

	(void)state;
	assert_true(zeros != MAP_FAILED);
	{
		z_stream z = {0};
		char *room;

		bomb = (isc_buffer){0};
		room = isc_buffer_room(&bomb, 2u << 20);
		assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
		z.next_in = (Bytef *)zeros;
		z.avail_in = (uInt)size;
		z.next_out = (Bytef *)room;
		z.avail_out = 2u << 20;
		assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
		bomb.len = z.total_out;
		deflateEnd(&z);
	}
	munmap(zeros, size);
	fd = file_of(bomb.data, bomb.len);
	assert_int_equal(isc_bytes_open_fd(fd, "bomb", &bytes, NULL), ISC_OK);
	while (got > 0) {
		assert_int_equal(isc_bytes_read(bytes, part, sizeof(part), &got, NULL), ISC_OK);
		given += got;
	}
	assert_true(isc_bytes_stats_get(bytes)->bomb);
	assert_true(given <= ISC_BYTES_RATIO_FREE);
	isc_bytes_close(bytes);
	close(fd);
	isc_buffer_fini(&bomb);
}

#ifdef __SANITIZE_THREAD__
#define SOON_S 50 /* it makes everything ten times slower */
#else
#define SOON_S 5
#endif

/* Small files with huge claims, and texts that make a reader look again and again. */
static void hostile_texts_end_soon_and_small(void **state)
{
	const size_t size = 8u << 20;
	static const char *const repeated[] = {"[",  "{\"ph\":",       "{\"{\"", "\\",
					       "\"", "{\"ph\":\"X\",", "[[{},",	 "{\"ph\":\"X\"}{"};
	struct rusage before, after;
	struct timespec from, to;
	char *text = malloc(size);

	assert_non_null(text);
	getrusage(RUSAGE_SELF, &before);
	for (size_t i = 0; i < sizeof(repeated) / sizeof(repeated[0]); i++) {
		size_t len = strlen(repeated[i]);

		memcpy(text, "[", 1);
		for (size_t at = 1; at + len <= size; at += len)
			memcpy(text + at, repeated[i], len);
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
		read_data(text, size - len);
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
		if (to.tv_sec - from.tv_sec > SOON_S)
			fail_msg("%s took %ld s", repeated[i], (long)(to.tv_sec - from.tv_sec));
		end(state);
	}
	getrusage(RUSAGE_SELF, &after);
	free(text);
	assert_true(after.ru_maxrss - before.ru_maxrss < 96 << 10);
}

/* ---- our dictionaries ---- */

static void event_dictionaries_are_read(void **state)
{
	const isc_timeline_facts *f = facts_of_text(
		"[{\"event_type\":\"gpu_kernel\",\"name\":\"gemm\",\"start_us\":10,\"end_us\":20,\"start_ns\":10001,"
		"\"end_ns\":20003,"
		"\"device_id\":1,\"stream\":4,\"grid_dim\":[1,2,3],\"block_dim\":[4,5,6],\"correlation\":8},"
		"{\"event_type\":\"gpu_api\",\"name\":\"cudaLaunchKernel\",\"start_us\":5,\"end_us\":6,\"thread_id\":7,"
		"\"process_id\":0,"
		"\"correlation\":8},"
		"{\"event_type\":\"h2d_copy\",\"name\":\"c\",\"start_us\":30,\"end_us\":40,\"device_id\":1,\"stream\":"
		"4,\"bytes\":12,"
		"\"pageable\":true},"
		"{\"event_type\":\"cpu_call\",\"name\":\"f\",\"file\":\"a.py\",\"line\":3,\"start_us\":0,\"end_us\":9,"
		"\"thread_id\":7,"
		"\"process_id\":0,\"cpu_id\":null},"
		"{\"event_type\":\"scope_enter\",\"name\":\"s\",\"start_us\":1,\"thread_id\":7},"
		"{\"event_type\":\"scope_exit\",\"name\":\"s\",\"start_us\":8,\"thread_id\":7},"
		"{\"event_type\":\"instant\",\"name\":\"m\",\"start_us\":1,\"thread_id\":7},"
		"{\"event_type\":\"counter\",\"name\":\"q\",\"start_us\":1,\"metadata\":{\"value\":2.5}},"
		"{\"event_type\":\"numa_migration\",\"start_us\":1},"
		"{\"event_type\":\"gpu_kernel\",\"name\":\"no time\"}]");

	(void)state;
	assert_string_equal(import.files[0].format, "event JSON");
	assert_int_equal(import.files[0].malformed, 1);
	assert_int_equal(import.files[0].unused, 1);
	assert_int_equal(f->gpus[0].busy_ns, 10002 + 10000);
	assert_int_equal(f->gpus[0].number, 1);
	assert_int_equal(f->copies[0].pageable, 1);
	assert_int_equal(f->copies[0].bytes, 12);
	assert_string_equal(f->kernels[0].launched_from.at, "f (a.py:3)");
	assert_int_equal(f->scopes[0].total_ns, 7000);
	assert_int_equal(f->counters[0].last == 2.5, 1);
}

static void numbers_are_exact(void **state)
{
	static const struct {
		const char *text;
		int64_t ns; /* INT64_MIN: none */
	} numbers[] = {
		{"0", 0},
		{"1712195495505582.988", 1712195495505582988},
		{"1.5", 1500},
		{"1.0005", 1001},
		{"1.0004999", 1000},
		{"-3.25", -3250},
		{"1.5e3", 1500000},
		{"2E-3", 2},
		{"0.001", 1},
		{"12.", 12000},
		{"", INT64_MIN},
		{"-", INT64_MIN},
		{".", INT64_MIN},
		{"1.x", INT64_MIN},
		{"99999999999999999999", INT64_MIN},
		{"9223372036854775.807", INT64_MIN},
		{"1e400", INT64_MIN},
		{"nan", INT64_MIN},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		int64_t ns = INT64_MIN;
		bool is = isc_number_scaled(numbers[i].text, strlen(numbers[i].text), 3, &ns);

		if ((is ? ns : INT64_MIN) != numbers[i].ns)
			fail_msg("%s gives %lld", numbers[i].text, (long long)ns);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(every_outer_form_is_read, end),
		cmocka_unit_test_teardown(what_is_no_trace_says_so, end),
		cmocka_unit_test_teardown(odd_events_are_counted_and_the_rest_is_used, end),
		cmocka_unit_test_teardown(a_cut_trace_gives_everything_before_the_cut, end),
		cmocka_unit_test_teardown(damage_inside_costs_only_what_it_hits, end),
		cmocka_unit_test_teardown(a_hole_is_stepped_over_and_told, end),
		cmocka_unit_test_teardown(packed_traces_are_read_also_in_pieces, end),
		cmocka_unit_test_teardown(after_damage_in_packed_data_the_next_member_is_read, end),
		cmocka_unit_test_teardown(a_bomb_is_bounded, end),
		cmocka_unit_test_teardown(hostile_texts_end_soon_and_small, end),
		cmocka_unit_test_teardown(event_dictionaries_are_read, end),
		cmocka_unit_test(numbers_are_exact),
	};

	return cmocka_run_group_tests_name("import", tests, NULL, NULL);
}
