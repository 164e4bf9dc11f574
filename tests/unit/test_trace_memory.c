/* trace: every allocation fails once (H8). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "failing_alloc.h"
#include "sample_trace.h"

#define ALLOCATIONS_MAX 200000

/* Runs `what` with the n-th allocation failing, n = 1, 2, ... until none fails any more. */
static unsigned each_allocation(isc_status (*what)(void), bool all)
{
	unsigned long n = 0;

	for (bool hit = true; hit;) {
		isc_status st;

		assert_true(++n < ALLOCATIONS_MAX);
		failing_alloc_set(n, all);
		st = what();
		hit = failing_alloc_hit();
		failing_alloc_set(0, false);
		/* Packing, the index and other comforts may do without; all else says so. */
		if (st != ISC_OK)
			assert_true(st == ISC_ERR_NOMEM || st == ISC_ERR_CORRUPT || st == ISC_ERR_SYSTEM);
		if (!hit)
			assert_int_equal(st, ISC_OK);
	}
	return (unsigned)n;
}

static isc_status write_sample(void)
{
	char path[64];

	return sample_write(sample_file(path), 1 << 20, 100, true);
}

static int sample_fd = -1;
static char sample_path[64];

static isc_status read_sample(void)
{
	isc_trace_switch sw;
	isc_totals *totals;
	isc_event ev;
	isc_trace *tr;
	isc_status st = isc_trace_open(sample_path, &tr, NULL);

	if (st != ISC_OK)
		return st;
	while (isc_trace_next(tr, &ev))
		;
	while (isc_trace_next_switch(tr, &sw))
		;
	/* A chunk that could not be unpacked is no damaged one. */
	assert_int_equal(isc_trace_stats_get(tr)->damaged_chunks, 0);
	if (isc_trace_stats_get(tr)->no_memory)
		st = ISC_ERR_NOMEM;
	if (st == ISC_OK) {
		st = isc_trace_totals(tr, &totals, NULL);
		if (st == ISC_OK)
			isc_totals_free(totals);
	}
	isc_trace_close(tr);
	return st;
}

static isc_status resume_sample(void)
{
	char path[64];
	int fd = sample_file(path);
	char bytes[4096];
	ssize_t n;
	isc_writer *w;
	isc_status st;

	for (off_t at = 0; (n = pread(sample_fd, bytes, sizeof(bytes), at)) > 0; at += n)
		assert_int_equal(pwrite(fd, bytes, (size_t)n, at), n);
	st = isc_writer_resume(fd, &w, NULL);
	if (st == ISC_OK)
		return isc_writer_close(w, &(isc_trace_end){0}, NULL);
	close(fd);
	return st;
}

static void writing_fails_cleanly_at_every_allocation(void **state)
{
	(void)state;
	assert_true(each_allocation(write_sample, false) > 30);
	each_allocation(write_sample, true);
}

static void reading_fails_cleanly_at_every_allocation(void **state)
{
	(void)state;
	sample_fd = sample_file(sample_path);
	assert_int_equal(sample_write(dup(sample_fd), 1 << 20, 100, false), ISC_OK);
	assert_true(each_allocation(read_sample, false) > 20);
	each_allocation(read_sample, true);
}

static void resuming_fails_cleanly_at_every_allocation(void **state)
{
	(void)state;
	assert_true(each_allocation(resume_sample, false) > 20);
	each_allocation(resume_sample, true);
	close(sample_fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writing_fails_cleanly_at_every_allocation),
		cmocka_unit_test(reading_fails_cleanly_at_every_allocation),
		cmocka_unit_test(resuming_fails_cleanly_at_every_allocation),
	};

	return cmocka_run_group_tests_name("trace_memory", tests, NULL, NULL);
}
