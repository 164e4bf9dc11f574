/*
 * import_memory: whichever allocation fails, an import, its analysis and its
 * reports give a clean status and leak nothing (TRUST H8).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/imported.h"
#include "failing_alloc.h"
#include "report/report.h"
#include "timeline/gpu/clock_sync.h"

static const char kineto[] =
	"{\"deviceProperties\":[{\"id\":0,\"name\":\"G\"}],\"distributedInfo\":{\"rank\":1},\"traceEvents\":["
	"{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm\",\"pid\":0,\"tid\":7,\"ts\":10,\"dur\":5,\"args\":{"
	"\"device\":0,"
	"\"stream\":7,\"correlation\":1}},"
	"{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"nccl\",\"pid\":0,\"tid\":8,\"ts\":30,\"dur\":5,\"args\":{"
	"\"device\":0,"
	"\"stream\":8,\"correlation\":2}},"
	"{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"Memcpy "
	"DtoH\",\"pid\":0,\"tid\":8,\"ts\":40,\"dur\":5,\"args\":{"
	"\"device\":0,\"stream\":8,\"correlation\":3,\"bytes\":8}},"
	"{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":9,\"tid\":9,\"ts\":5,\"dur\":1,"
	"\"args\":{"
	"\"correlation\":1}},"
	"{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaStreamSynchronize\",\"pid\":9,\"tid\":9,\"ts\":12,"
	"\"dur\":6},"
	"{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":9,\"tid\":9,\"ts\":25,\"dur\":1,"
	"\"args\":{"
	"\"correlation\":2}},"
	"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":9,\"tid\":9,\"ts\":2,\"dur\":30},"
	"{\"ph\":\"X\",\"cat\":\"python_function\",\"name\":\"m.py(3): f\",\"pid\":9,\"tid\":9,\"ts\":1,\"dur\":40},"
	"{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"step\",\"pid\":9,\"tid\":9,\"ts\":0,\"dur\":50},"
	"{\"ph\":\"B\",\"name\":\"b\",\"pid\":9,\"tid\":9,\"ts\":60},{\"ph\":\"E\",\"pid\":9,\"tid\":9,\"ts\":70},"
	"{\"ph\":\"C\",\"name\":\"c\",\"ts\":1,\"args\":{\"v\":1}},{\"ph\":\"i\",\"name\":\"i\",\"ts\":1},"
	"{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":9,\"tid\":9,\"args\":{\"name\":\"main\"}}]}";

static char path[] = "/tmp/import-memory-XXXXXX";

static isc_status everything(isc_buffer *out)
{
	/* So little that everything goes through files. */
	const isc_imported_options options = {.memory_bytes = 1};
	char *paths[] = {path};
	isc_analysis *a = NULL;
	isc_error err = {0};
	bool read;
	isc_status st = isc_imported_new(paths, 1, &options, &a, &read, &err);

	if (st == ISC_OK)
		st = isc_report_write(a, ISC_REPORT_MARKDOWN, out, &err);
	if (st == ISC_OK)
		st = isc_report_write(a, ISC_REPORT_JSON, out, &err);
	if (st == ISC_OK)
		st = isc_report_summary(a, "report.md", NULL, out, &err);
	isc_analysis_free(a);
	assert_true(st == ISC_OK || err.what[0] != 0);
	return st;
}

static void fail_each(bool all)
{
	isc_buffer whole = {0};
	unsigned long n;

	assert_int_equal(everything(&whole), ISC_OK);
	assert_non_null(strstr(whole.data, "aten::mm"));
	for (n = 1;; n++) {
		isc_buffer out = {0};
		isc_status st;
		bool hit;

		failing_alloc_set(n, all);
		st = everything(&out);
		hit = failing_alloc_hit();
		failing_alloc_set(0, false);
		if (hit && st == ISC_OK)
			assert_string_equal(out.data, whole.data); /* somebody could do without */
		else if (hit)
			assert_int_equal(st, ISC_ERR_NOMEM);
		isc_buffer_fini(&out);
		if (!hit) {
			assert_int_equal(st, ISC_OK);
			break;
		}
	}
	assert_true(n > 50);
	isc_buffer_fini(&whole);
}

static void each_allocation_alone_may_fail(void **state)
{
	(void)state;
	fail_each(false);
}

static void all_from_one_on_may_fail(void **state)
{
	(void)state;
	fail_each(true);
}

static bool compare_clocks(void)
{
	isc_clock_sync *s = NULL;
	bool good = isc_clock_sync_new(&s, NULL) == ISC_OK;

	for (int64_t i = 0; good && i < 600; i++) {
		isc_clock_triple triple = {i * 1000, i * 1000 + 5, i * 1000 + 10};

		good = isc_clock_sync_read(s, &triple) && isc_clock_sync_asked(s, i, i + 1) &&
		       isc_clock_sync_waited(s, i + 9, i + 2);
	}
	good = good && isc_clock_sync_fit(s, 1000);
	isc_clock_sync_free(s);
	return good;
}

static void comparing_clocks_may_fail_anywhere(void **state)
{
	bool hit = true;

	(void)state;
	for (unsigned long n = 1; hit; n++) {
		failing_alloc_set(n, false);
		bool good = compare_clocks();

		hit = failing_alloc_hit();
		failing_alloc_set(0, false);
		assert_true(good == !hit);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_allocation_alone_may_fail),
		cmocka_unit_test(all_from_one_on_may_fail),
		cmocka_unit_test(comparing_clocks_may_fail_anywhere),
	};
	int fd = mkstemp(path), failed;

	if (fd < 0 || write(fd, kineto, sizeof(kineto) - 1) != (ssize_t)(sizeof(kineto) - 1))
		return 1;
	close(fd);
	failed = cmocka_run_group_tests_name("import_memory", tests, NULL, NULL);
	unlink(path);
	return failed;
}
