/*
 * report_memory: whichever allocation fails, an analysis and its reports give a
 * clean status and leak nothing (TRUST H8).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "failing_alloc.h"
#include "report/report.h"
#include "trace_text.h"

/* Twenty scopes are enough to tell slow ones from the others. */
#define REQUEST(from, to, id) \
	"t4 " from "ms task T" id "\nt4 " from "ms span_enter step " id "\nt4 " from "ms call_enter f m.py 4\n" \
	"t4 " to "ms wait_exit sleep 5us 0 \"f m.py 4 5\"\nt4 " to "ms call_exit f m.py 4 1\nt4 " to "ms task none\n" \
	"t4 " to "ms task T" id "\nt4 " to "ms span_exit step " id " " to "us\nt4 " to "ms task none\n"
#define REQUESTS(at) \
	REQUEST(at ".1", at ".12", at "1") \
	REQUEST(at ".2", at ".22", at "2") \
	REQUEST(at ".3", at ".32", at "3") REQUEST(at ".4", at ".42", at "4") REQUEST(at ".5", at ".52", at "5")

/* Memory that is held to the end from all parts of the time: it grows. */
#define TAKE(at, address) "t2 " at "ms memory_alloc malloc " address " 2000000 0 \"keep m.py 8 9\"\n"
#define MEMORY \
	"t2 1.1ms memory_source libc.so.6 0\n" TAKE("1.2", "1") TAKE("1.9", "2") TAKE("2.6", "3") TAKE("3.3", "4") \
		TAKE("4.0", "5") TAKE("4.7", "6") TAKE("5.4", "7") TAKE("6.1", "8") TAKE("6.8", "9") TAKE("7.5", "10") \
			TAKE("8.2", "11") "t2 8.3ms memory_alloc mmap 12 700 0 \"main m.py 1 2\"\n" \
					  "t3 8.4ms memory_free mmap 12 700 0 \"main m.py 1 2\"\n" \
					  "t2 8.5ms memory_total 2 120 22000700 1 1 700\n"
#define SYSCALLS \
	"t2 8.5ms syscalls read 2ms 4000 64000 7 1\nt2 8.6ms syscall read 400us 4096 0 about=/x \"f m.py 4 5\"\n" \
	"t2 8.6ms syscall_errors read 11 7\nt2 8.7ms syscall_sample read 400ns 16 1024 \"f m.py 4 6\"\n" \
	"t3 8.7ms syscall_sample read 400ns 16 2048 \"main m.py 1 2\"\n"

static const char trace_as_text[] =
	"meta {\"argv\": [\"serve\", \"x\"], \"host\": \"h\", \"python\": \"3\", \"labels\": {\"a\": \"b\"}, \"perf\": "
	"\"ok\","
	" \"warnings\": [{\"text\": \"t\", \"remedy\": \"r\"}], \"follow\": \"all\", \"version\": \"0\","
	" \"minor_faults\": 5000, \"major_faults\": 3, \"usage\": {\"peak_rss_bytes\": 3000, \"at_us\": [1000, 2000],"
	" \"rss_bytes\": [1000, 2000], \"minor_faults\": [10, 20], \"major_faults\": [1, 2], \"swap_bytes\": [0, 1],"
	" \"group_bytes\": 5000, \"refused\": 4, \"killed\": 0, \"limit_bytes\": 6000, \"some_us\": 15, \"full_us\": "
	"3},"
	" \"numa\": {\"nodes\": [{\"node\": 0, \"memory_bytes\": 8192, \"cpus\": \"0-3\"}, {\"node\": 1,"
	" \"memory_bytes\": 8192, \"cpus\": \"4-7\"}], \"looks\": 2, \"first_bytes\": [1024, 0], \"last_bytes\": [768, "
	"256],"
	" \"moved\": [[0, 1, 256]]}}\n"
	"p1 pid=100 root traced end=2ms argv sh\n"
	"p2 pid=100 parent=p1 exec traced start=2ms end=9ms status=0 argv python x.py\n"
	"p3 pid=101 parent=p2 argv ls -l\n"
	"t1 p1 tid=100 main name=sh\nt2 p2 tid=100 main name=python\nt3 p2 tid=102 name=worker\nt4 p2 tid=103 "
	"name=loop\n"
	"t2 1ms scope_enter request\nt2 2ms scope_enter step\nt2 3ms scope_exit step\nt2 4ms scope_exit request\n"
	"t3 1ms scope_enter request\nt3 7ms scope_exit request\n"
	"t3 2ms instant tokens {\"n\": 1}\nt3 3ms counter queue 2\n"
	"t2 2ms sample 150 1us \"main m.py 1 2\" \"f m.py 4 5\"\nt3 2ms sample 1 1us flags=8\n"
	"t2 3ms sample 100 1us \"main m.py 1 3\" ?\nt2 3ms call_enter f m.py 4\nt2 3ms governed f m.py 4 "
	"1\n" MEMORY SYSCALLS "t2 1ms out\ngap_begin 2ms\ngap_end 3ms\nt2 4ms in\nt3 5ms in\n" REQUESTS("1")
		REQUESTS("2") REQUESTS("3") REQUESTS("4") REQUESTS("5") "end 9ms status=0\n";

/* All reports, one behind the other, into out. */
static isc_status everything(isc_trace *trace, const isc_analysis_options *options, isc_buffer *out, bool *damaged)
{
	isc_analysis *a = NULL;
	isc_error err = {0};
	isc_status st = isc_analysis_new(trace, options, &a, &err);

	if (st == ISC_OK)
		st = isc_report_write(a, ISC_REPORT_MARKDOWN, out, &err);
	if (st == ISC_OK)
		st = isc_report_write(a, ISC_REPORT_JSON, out, &err);
	if (st == ISC_OK)
		st = isc_report_write(a, ISC_REPORT_HTML, out, &err);
	if (st == ISC_OK)
		st = isc_report_summary(a, "report.md", "x.isc", out, &err);
	*damaged = a != NULL && a->damaged;
	isc_analysis_free(a);
	assert_true(st == ISC_OK || err.what[0] != 0);
	return st;
}

/* The reader may do without some memory: then the reports are the very same.  Nothing
 * is called damaged for want of it. */
static void fail_each(const isc_analysis_options *options, bool all)
{
	isc_buffer whole = {0}, out = {0};
	isc_trace *trace = NULL;
	unsigned long n;
	isc_status st;
	bool hit = true, damaged;

	assert_int_equal(trace_text_open(trace_as_text, &trace, NULL), ISC_OK);
	assert_int_equal(everything(trace, options, &whole, &damaged), ISC_OK);
	assert_false(damaged);
	/* The parts that are to be tried are there. */
	if (options->scope == NULL) {
		isc_buffer_text(&whole, "");
		assert_non_null(strstr(whole.data, "keep (m.py:9)"));
		assert_non_null(strstr(whole.data, "\"fast_count\": 2666"));
		assert_non_null(strstr(whole.data, "\"limit_bytes\": 6000"));
		assert_non_null(strstr(whole.data, "\"nodes\""));
	}
	for (n = 1; hit && n < 100000; n++) {
		isc_buffer_fini(&out);
		isc_trace_close(trace);
		assert_int_equal(trace_text_open(trace_as_text, &trace, NULL), ISC_OK);
		failing_alloc_set(n, all);
		st = everything(trace, options, &out, &damaged);
		hit = failing_alloc_hit();
		failing_alloc_set(0, false);
		assert_false(damaged);
		if (st == ISC_OK && (out.len != whole.len || memcmp(out.data, whole.data, out.len) != 0))
			fail_msg("allocation %lu failed, and the report is another one:\n%s", n, out.data);
		assert_true(st == ISC_OK || st == ISC_ERR_NOMEM);
		assert_true(hit || st == ISC_OK);
	}
	assert_true(n > 50);
	isc_buffer_fini(&whole);
	isc_buffer_fini(&out);
	isc_trace_close(trace);
}

static void one_failed_allocation_is_a_clean_status(void **state)
{
	(void)state;
	fail_each(&(isc_analysis_options){.lanes = true}, false);
}

static void no_memory_at_all_is_a_clean_status(void **state)
{
	(void)state;
	fail_each(&(isc_analysis_options){.lanes = true}, true);
}

static void so_it_is_for_a_part_of_the_run(void **state)
{
	(void)state;
	fail_each(&(isc_analysis_options){.scope = "request", .from_us = 10}, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_failed_allocation_is_a_clean_status),
		cmocka_unit_test(no_memory_at_all_is_a_clean_status),
		cmocka_unit_test(so_it_is_for_a_part_of_the_run),
	};

	return cmocka_run_group_tests_name("report_memory", tests, NULL, NULL);
}
