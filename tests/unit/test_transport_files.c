/* transport: the files that a process makes for itself, the spare that it claims, and our seal on them. */
#include "transport_process.h"

static void write_one(void)
{
	join();
	event();
}

static void make_spare(uint32_t blocks)
{
	isc_seal seal;
	char path[300];
	int fd;

	snprintf(path, sizeof(path), "%s/" ISC_SPARE_NAME, session.folder);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(posix_fallocate(fd, 0, (off_t)isc_pool_backed_bytes(256, 32, blocks)), 0);
	transport_seal(&seal, session.control);
	assert_int_equal(pwrite(fd, &seal, sizeof(seal), offsetof(isc_pool, seal)), sizeof(seal));
	close(fd);
}

static void the_spare_is_claimed_once(void **state)
{
	uint32_t first, second;

	(void)state;
	make_spare(100);
	assert_int_equal(in_child(write_one), 0);
	assert_int_equal(in_child(write_one), 0);
	assert_int_equal(transport_session_files(&session, 's'), 0);
	transport_sink_drain(sink, session.folder, NULL);
	assert_int_equal(sink->pools, 2);
	first = atomic_load(&sink->header[0].nblocks);
	second = atomic_load(&sink->header[1].nblocks);
	assert_int_equal(first, 100);
	assert_int_equal(second, 16);
	assert_int_equal(sink->events, 2);
}

static void a_spare_too_small_is_not_used(void **state)
{
	(void)state;
	make_spare(1);
	assert_int_equal(in_child(write_one), 0);
	transport_sink_drain(sink, session.folder, NULL);
	assert_int_equal(atomic_load(&sink->header[0].nblocks), 16);
	assert_int_equal(sink->events, 1);
}

/* A file of the program's own by that name is neither moved nor written to. */
static void a_spare_without_our_seal_is_left_alone(void **state)
{
	const size_t size = isc_pool_backed_bytes(256, 32, 100);
	char path[300], *was = malloc(size), *now = malloc(size);
	int fd;

	(void)state;
	memset(was, 'x', size);
	snprintf(path, sizeof(path), "%s/" ISC_SPARE_NAME, session.folder);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, was, size), size);
	assert_int_equal(in_child(write_one), 0);
	assert_int_equal(pread(fd, now, size, 0), size);
	assert_memory_equal(now, was, size);
	assert_int_equal(access(path, F_OK), 0);
	close(fd);
	transport_sink_drain(sink, session.folder, NULL);
	assert_int_equal(atomic_load(&sink->header[0].nblocks), 16);
	assert_int_equal(sink->events, 1);
	free(was);
	free(now);
}

/* What a killed process leaves of a file that it had only begun is still known as ours. */
static void every_file_is_sealed(void **state)
{
	DIR *dir;
	struct dirent *e;
	unsigned sealed = 0;
	isc_seal want;

	(void)state;
	transport_seal(&want, session.control);
	assert_int_equal(in_child(write_one), 0);
	dir = opendir(session.folder);
	while ((e = readdir(dir)) != NULL) {
		isc_seal found = {0};
		int fd;

		if (e->d_name[0] != 'p' && e->d_name[0] != 'd')
			continue;
		fd = openat(dirfd(dir), e->d_name, O_RDONLY | O_CLOEXEC);
		assert_int_equal(pread(fd, &found, sizeof(found), offsetof(isc_pool, seal)), sizeof(found));
		close(fd);
		assert_memory_equal(&found, &want, sizeof(want));
		sealed++;
	}
	closedir(dir);
	assert_int_equal(sealed, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		JOINED(the_spare_is_claimed_once),
		JOINED(a_spare_too_small_is_not_used),
		JOINED(a_spare_without_our_seal_is_left_alone),
		JOINED(every_file_is_sealed),
	};

	return cmocka_run_group_tests_name("transport_files", tests, NULL, NULL);
}
