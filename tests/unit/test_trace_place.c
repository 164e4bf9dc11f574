/* trace_place, scratch: the trace that a dead session names is believed to be its own only if it is (A4). */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "session/folder/scratch.h"
#include "session/folder/trace_place.h"
#include "trace/format.h"

#define ID "session-of-tests"
#define OTHER_ID "another--session"

static char base[64], trace[80];

static int make_base(void **state)
{
	(void)state;
	strcpy(base, "/tmp/isc-test-XXXXXX");
	if (mkdtemp(base) == NULL)
		return 1;
	snprintf(trace, sizeof(trace), "%s/t.isc", base);
	return 0;
}

static int remove_base(void **state)
{
	char command[100];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", base);
	return system(command);
}

static void write_trace(const char *path, const char *id)
{
	isc_file_header h = {.magic = ISC_FILE_MAGIC};
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	memcpy(h.session_id, id, sizeof(h.session_id));
	assert_int_equal(write(fd, &h, sizeof(h)), sizeof(h));
	close(fd);
}

static void a_scratch_trace_goes_only_from_where_we_make_them(void **state)
{
	const uint8_t *id = (const uint8_t *)ID;
	char good[200], other[200];

	(void)state;
	setenv("TMPDIR", base, 1);
	snprintf(good, sizeof(good), "%s/inferscope-%u-0123456789abcdef.isc", base, (unsigned)geteuid());
	/* By another name, of another session, a link, in another folder. */
	snprintf(other, sizeof(other), "%s/results.isc", base);
	write_trace(other, ID);
	assert_false(isc_scratch_remove(other, id));
	assert_int_equal(access(other, F_OK), 0);
	write_trace(good, OTHER_ID);
	assert_false(isc_scratch_remove(good, id));
	assert_int_equal(rename(good, other), 0);
	assert_int_equal(symlink(other, good), 0);
	assert_false(isc_scratch_remove(good, (const uint8_t *)OTHER_ID));
	assert_int_equal(unlink(good), 0);
	write_trace(good, ID);
	setenv("TMPDIR", "/tmp", 1);
	assert_false(isc_scratch_remove(good, id));
	setenv("TMPDIR", base, 1);
	assert_true(isc_scratch_remove(good, id));
	assert_int_equal(access(good, F_OK), -1);
	assert_int_equal(access(other, F_OK), 0);
	unsetenv("TMPDIR");
}

static void a_trace_is_only_that_of_its_session_and_user(void **state)
{
	const uint8_t *id = (const uint8_t *)ID;
	char other[200];
	int dir, fd;

	(void)state;
	write_trace(trace, ID);
	snprintf(other, sizeof(other), "%s/link.isc", base);
	assert_int_equal(symlink(trace, other), 0);
	assert_int_equal(isc_trace_place_folder(trace, &dir), ISC_TRACE_THERE);
	assert_int_equal(isc_trace_place_file(dir, trace, id, O_RDWR, &fd), ISC_TRACE_THERE);
	close(fd);
	assert_int_equal(isc_trace_place_file(dir, trace, (const uint8_t *)OTHER_ID, O_RDWR, &fd), ISC_TRACE_GONE);
	assert_int_equal(isc_trace_place_file(dir, other, id, O_RDWR, &fd), ISC_TRACE_GONE);
	assert_int_equal(isc_trace_place_file(dir, "absent", id, O_RDWR, &fd), ISC_TRACE_GONE);
	if (geteuid() == 0) {
		assert_int_equal(chown(trace, 65534, 65534), 0);
		assert_int_equal(isc_trace_place_file(dir, trace, id, O_RDWR, &fd), ISC_TRACE_UNKNOWN);
	}
	/* The id stands where it would, in a file that begins otherwise. */
	fd = open(other, O_RDWR | O_CLOEXEC);
	assert_int_equal(pwrite(fd, "X", 1, 0), 1);
	close(fd);
	assert_int_equal(isc_trace_place_file(dir, trace, id, O_RDWR, &fd), ISC_TRACE_GONE);
	assert_int_equal(fd, -1);
	close(dir);
}

/* To open a device can do something, and somebody may wait at the other end of a pipe. */
static void what_is_not_a_file_is_not_even_opened(void **state)
{
	int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC), dir, fd;
	char events[4096];

	(void)state;
	assert_int_equal(mkfifo(trace, 0600), 0);
	assert_true(inotify_add_watch(watch, trace, IN_OPEN) >= 0);
	assert_int_equal(isc_trace_place_folder(trace, &dir), ISC_TRACE_THERE);
	assert_int_equal(isc_trace_place_file(dir, trace, (const uint8_t *)ID, O_RDWR, &fd), ISC_TRACE_GONE);
	assert_int_equal(fd, -1);
	assert_int_equal(read(watch, events, sizeof(events)), -1);
	close(watch);
	close(dir);
}

#define HERE(test) cmocka_unit_test_setup_teardown(test, make_base, remove_base)

int main(void)
{
	const struct CMUnitTest tests[] = {
		HERE(a_scratch_trace_goes_only_from_where_we_make_them),
		HERE(a_trace_is_only_that_of_its_session_and_user),
		HERE(what_is_not_a_file_is_not_even_opened),
	};

	return cmocka_run_group_tests_name("trace_place", tests, NULL, NULL);
}
