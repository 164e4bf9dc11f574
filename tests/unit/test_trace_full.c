/* trace: a file that cannot grow any more still reads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "sample_trace.h"

static isc_writer *begin(int fd, uint64_t limit)
{
	isc_writer_options options = {.limit_bytes = limit, .clock_source = 0, .start_ticks = 1000, .start_ns = 1000};
	isc_writer *w;
	isc_error err;

	if (isc_writer_open(fd, &options, &w, &err) != ISC_OK)
		fail_msg("%s", err.what);
	return w;
}

static isc_trace *opened(const char *path)
{
	isc_trace *tr;
	isc_error err;

	if (isc_trace_open(path, &tr, &err) != ISC_OK)
		fail_msg("%s", err.what);
	return tr;
}

/* Fills a trace under a file size limit or on a small disk; what could be written reads. */
static void fill_until_full(int fd, const char *path)
{
	isc_writer *w = begin(fd, 0);
	uint64_t next = 0, seen = 0, seed = 1;
	isc_writer_stats stats;
	isc_status st = ISC_OK;
	isc_error err = {0};
	isc_trace *tr;
	isc_event ev;

	for (int i = 0; i < 20000 && st == ISC_OK; i++) {
		isc_record r[256];
		isc_trace_run run = {.process = 1, .thread = 1, .first = next, .events = 256, .slots = 256};

		for (int k = 0; k < 256; k++)
			r[k] = (isc_record){sample_draw(&seed) >> 20, (uint32_t)sample_draw(&seed), ISC_KIND_INSTANT, 1,
					    0};
		st = isc_writer_events(w, &run, r, &err);
		next += 256;
	}
	assert_int_equal(st, ISC_ERR_SYSTEM);
	assert_true(err.sys == EFBIG || err.sys == ENOSPC);
	assert_non_null(strstr(err.what, "cannot write the trace"));
	assert_true(err.hint[0] != 0);
	/* It stays so, and counts. */
	isc_trace_run more = {.process = 1, .thread = 2, .first = 0, .events = 1, .slots = 1};
	assert_int_equal(isc_writer_events(w, &more, &(isc_record){1, 1, 1, 1, 0}, NULL), ISC_ERR_SYSTEM);
	assert_int_equal(isc_writer_flush(w, &err), ISC_ERR_SYSTEM);
	isc_writer_stats_get(w, &stats);
	assert_int_equal(stats.stored_events + stats.refused_events, next + 1);
	assert_int_equal(isc_writer_close(w, &(isc_trace_end){0}, NULL), ISC_ERR_SYSTEM);
	tr = opened(path);
	while (isc_trace_next(tr, &ev))
		assert_int_equal(ev.number, seen++);
	assert_int_equal(seen, stats.stored_events);
	assert_int_equal(isc_trace_stats_get(tr)->damaged_chunks, 0);
	assert_false(isc_trace_stats_get(tr)->complete);
	isc_trace_close(tr);
}

/* S4: 20 sizes at which a file may not grow any more. */
static void a_file_size_limit_leaves_a_trace_that_reads(void **state)
{
	(void)state;
	for (unsigned size = 0; size < 20; size++) {
		int status;
		pid_t pid = fork();

		if (pid == 0) {
			struct rlimit limit = {(8u << 10) + size * 41771u, RLIM_INFINITY};
			char path[] = "/tmp/inferscope-test-XXXXXX";
			int fd = mkstemp(path);

			signal(SIGXFSZ, SIG_IGN);
			setrlimit(RLIMIT_FSIZE, &limit);
			fill_until_full(fd, path);
			unlink(path);
			_exit(0);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
}

/* S4: a disk that is full. */
static void a_full_disk_leaves_a_trace_that_reads(void **state)
{
	char folder[] = "/tmp/inferscope-disk-XXXXXX", path[64], options[32];

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/x.isc", folder);
	for (unsigned i = 0; i < 20; i++) {
		int fd;

		snprintf(options, sizeof(options), "size=%uk", 64 + i * 52);
		if (mount("tmpfs", folder, "tmpfs", 0, options) != 0) {
			print_message("skipped: mounting a small disk needs root\n");
			rmdir(folder);
			skip();
		}
		fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		assert_true(fd >= 0);
		fill_until_full(fd, path);
		assert_int_equal(umount(folder), 0);
	}
	rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_size_limit_leaves_a_trace_that_reads),
		cmocka_unit_test(a_full_disk_leaves_a_trace_that_reads),
	};

	return cmocka_run_group_tests_name("trace_full", tests, NULL, NULL);
}
