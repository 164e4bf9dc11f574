/*
 * folder: only what we made is ever removed (A4).  Folders and files with the names of ours
 * are planted in every form; each one survives, byte for byte.
 */
#include <dirent.h>
#include <errno.h>
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

#include "session/folder/files.h"

#define ID "session-of-tests"
#define OTHER_ID "another--session"
#define LONG "a file of somebody's, as long as a lock file or longer"

static char base[64], trace[80]; /* a folder of the test's, in which sessions lie beside their trace */

static int make_base(void **state)
{
	(void)state;
	unsetenv("XDG_RUNTIME_DIR");
	strcpy(base, "/dev/shm/isc-test-XXXXXX");
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

/* ---- sessions --------------------------------------------------------- */

static isc_folder make_session(void)
{
	isc_folder_options options = {.trace_path = trace, .memory_bytes = 1u << 20};
	isc_folder f;

	memcpy(options.session_id, ID, sizeof(options.session_id));
	assert_int_equal(isc_folder_make(&options, &f, NULL), ISC_OK);
	return f;
}

static void move_to(isc_folder *f, const char *path)
{
	assert_int_equal(rename(f->path, path), 0);
	snprintf(f->path, sizeof(f->path), "%s", path);
}

/* Beside the trace, where no other command on this machine looks. */
static isc_folder make_session_here(void)
{
	isc_folder f = make_session();
	char path[200];

	snprintf(path, sizeof(path), "%s/%s", base, strrchr(f.path, '/') + 1);
	move_to(&f, path);
	return f;
}

static void put(const isc_folder *f, const char *name, const char *text)
{
	int fd = openat(f->dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static bool holds(const isc_folder *f, const char *name, const char *text)
{
	char found[64] = "";
	int fd = openat(f->dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	ssize_t n = fd >= 0 ? read(fd, found, sizeof(found) - 1) : -1;

	if (fd >= 0)
		close(fd);
	return n == (ssize_t)strlen(text) && strcmp(found, text) == 0;
}

/* A folder outlives its isc_folder: the test looks into it by a descriptor of its own. */
static isc_folder view(const char *path)
{
	isc_folder f = {.dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), .lock_fd = -1};

	assert_true(f.dir >= 0);
	snprintf(f.path, sizeof(f.path), "%s", path);
	return f;
}

static unsigned entries(const char *path)
{
	DIR *d = opendir(path);
	unsigned n = 0;

	while (d != NULL && readdir(d) != NULL)
		n++;
	if (d != NULL)
		closedir(d);
	return d != NULL ? n - 2 : UINT32_MAX;
}

/* Older than any that is still being made. */
static void age(const char *path)
{
	const struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};

	assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
}

typedef struct visited {
	const char *path;
	unsigned count;
	enum isc_folder_state state;
	const char *why;
} visited;

static void visit(void *self, const char *path, enum isc_folder_state state, const char *why)
{
	visited *v = self;

	if (strcmp(path, v->path) != 0)
		return;
	v->count++;
	v->state = state;
	v->why = why;
}

static visited look(const char *path)
{
	visited v = {.path = path, .state = ISC_FOLDER_MAKING};

	isc_folder_each(trace, visit, &v);
	return v;
}

static void expect_foreign(const char *path, const char *why)
{
	visited v = look(path);
	isc_folder f;
	isc_error err;

	assert_int_equal(v.count, 1);
	assert_int_equal(v.state, ISC_FOLDER_FOREIGN);
	assert_string_equal(v.why, why);
	assert_int_equal(isc_folder_adopt(path, &f, &err), ISC_ERR_CORRUPT);
	assert_true(f.dir < 0 && f.lock_fd < 0 && f.control == NULL);
}

/* ---- what we made ----------------------------------------------------- */

static void everything_of_ours_goes_and_the_folder_with_it(void **state)
{
	isc_folder f = make_session_here();
	isc_folder_left left;
	char path[512];

	(void)state;
	strcpy(path, f.path);
	assert_int_equal(mkfifoat(f.dir, ISC_BELL_NAME, 0600), 0);
	assert_int_equal(symlinkat("/nowhere/rt.so", f.dir, ISC_PRELOAD_NAME), 0);
	assert_int_equal(symlinkat("/nowhere/inject", f.dir, ISC_INJECT_NAME), 0);
	isc_folder_vouch(&f, ISC_BELL_NAME);
	isc_folder_vouch(&f, ISC_PRELOAD_NAME);
	isc_folder_vouch(&f, ISC_INJECT_NAME);
	close(isc_seal_make(f.dir, "p12.ab", 8192, offsetof(isc_pool, seal), &f.seal));
	close(isc_seal_make(f.dir, "d12.ab", 8192, offsetof(isc_defs, seal), &f.seal));
	isc_folder_publish(&f, "", 1);
	isc_folder_remove(&f, false, &left);
	assert_int_equal(left.count, 0);
	assert_int_equal(access(path, F_OK), -1);
}

static void the_preloaded_runtime_stays_for_programs_that_run_on(void **state)
{
	isc_folder f = make_session_here();
	isc_folder_left left;
	char path[512];

	(void)state;
	strcpy(path, f.path);
	assert_int_equal(symlinkat("/nowhere/rt.so", f.dir, ISC_PRELOAD_NAME), 0);
	isc_folder_vouch(&f, ISC_PRELOAD_NAME);
	isc_folder_remove(&f, true, &left);
	assert_int_equal(left.count, 0);
	assert_int_equal(entries(path), 2); /* with the lock, by which it is known later */
	age(path);
	assert_int_equal(look(path).state, ISC_FOLDER_DEAD);
	assert_int_equal(isc_folder_adopt(path, &f, NULL), ISC_OK);
	assert_null(f.control);
	isc_folder_remove(&f, false, &left);
	assert_int_equal(access(path, F_OK), -1);
}

/* Killed at each step of making: sealed from the first moment on, it is known as ours. */
static void a_session_that_was_only_begun_is_cleared(void **state)
{
	(void)state;
	for (unsigned step = 0; step < 3; step++) {
		isc_folder f = make_session_here();
		char path[512];

		strcpy(path, f.path);
		if (step < 2)
			assert_int_equal(unlinkat(f.dir, ISC_SPARE_NAME, 0), 0);
		if (step < 1)
			assert_int_equal(unlinkat(f.dir, ISC_CONTROL_NAME, 0), 0);
		isc_folder_close(&f);
		assert_int_equal(look(path).count, 0); /* perhaps it is being made */
		age(path);
		assert_int_equal(look(path).state, ISC_FOLDER_DEAD);
		assert_int_equal(isc_folder_adopt(path, &f, NULL), ISC_OK);
		assert_null(f.control);
		isc_folder_remove(&f, false, NULL);
		assert_int_equal(access(path, F_OK), -1);
	}
}

static void a_session_of_another_version_stays(void **state)
{
	isc_folder f = make_session_here(), other;
	char path[512];

	(void)state;
	strcpy(path, f.path);
	isc_folder_publish(&f, "", 1);
	f.control->abi++;
	isc_folder_close(&f);
	age(path);
	assert_int_equal(isc_folder_adopt(path, &other, NULL), ISC_ERR_VERSION);
	assert_int_equal(entries(path), 3);
}

static void a_session_that_is_recorded_is_left_alone(void **state)
{
	isc_folder f = make_session_here(), other;

	(void)state;
	isc_folder_publish(&f, "", 1);
	age(f.path);
	assert_int_equal(look(f.path).state, ISC_FOLDER_RECORDED);
	assert_int_equal(isc_folder_adopt(f.path, &other, NULL), ISC_ERR_EXISTS);
	assert_int_equal(entries(f.path), 3);
	isc_folder_remove(&f, false, NULL);
}

/* ---- what we did not make --------------------------------------------- */

static void replace(const isc_folder *f, const char *name, const char *text)
{
	unlinkat(f->dir, name, 0);
	put(f, name, text);
}

static void files_with_our_names_and_without_our_seal_survive(void **state)
{
	static const char *const names[] = {"notes.txt", ISC_CONTROL_NAME, ISC_SPARE_NAME,   "p12.ab",
					    "d12.ab",	 "p012.ab",	   "p12.AB",	     "x12.ab",
					    "lock2",	 ISC_BELL_NAME,	   ISC_PRELOAD_NAME, ISC_INJECT_NAME};
	const unsigned count = sizeof(names) / sizeof(names[0]);
	isc_folder f = make_session_here(), after;
	isc_folder_left left;
	char path[512];

	(void)state;
	strcpy(path, f.path);
	for (unsigned i = 0; i < count; i++)
		replace(&f, names[i], names[i]);
	isc_folder_remove(&f, false, &left);
	assert_int_equal(left.count, count);
	assert_true(strlen(left.name) > 0);
	after = view(path);
	for (unsigned i = 0; i < count; i++)
		assert_true(holds(&after, names[i], names[i]));
	assert_int_equal(entries(path), count + 1); /* and the lock, which says whose folder this is */
	isc_folder_close(&after);
}

static void files_of_another_session_survive(void **state)
{
	isc_folder f = make_session_here();
	isc_seal other = isc_seal_of((const uint8_t *)OTHER_ID);
	isc_folder_left left;
	char path[512];

	(void)state;
	strcpy(path, f.path);
	close(isc_seal_make(f.dir, "p12.ab", 8192, offsetof(isc_pool, seal), &other));
	close(isc_seal_make(f.dir, "d12.ab", 8192, offsetof(isc_defs, seal), &other));
	isc_folder_remove(&f, false, &left);
	assert_int_equal(left.count, 2);
	assert_int_equal(entries(path), 3);
}

/* Somebody wanted to keep it. */
static void a_copy_of_ours_by_another_name_survives(void **state)
{
	static const char *const names[] = {"p12.ab.bak", "p12.", "p012.ab", "d12.AB", "x12.ab", "p99999999999.a"};
	const unsigned count = sizeof(names) / sizeof(names[0]);
	isc_folder f = make_session_here();
	isc_folder_left left;
	char path[512];

	(void)state;
	strcpy(path, f.path);
	for (unsigned i = 0; i < count; i++)
		close(isc_seal_make(f.dir, names[i], 8192, offsetof(isc_pool, seal), &f.seal));
	isc_folder_remove(&f, false, &left);
	assert_int_equal(left.count, count);
	assert_int_equal(entries(path), count + 1);
}

static void links_pipes_folders_and_second_names_survive(void **state)
{
	isc_folder f = make_session_here(), after;
	isc_folder_left left;
	char path[512], inside[600], victim[120];
	struct stat sb;
	int fd;

	(void)state;
	strcpy(path, f.path);
	snprintf(victim, sizeof(victim), "%s/victim", base);
	fd = open(victim, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, "mine", 4), 4);
	close(fd);
	assert_int_equal(symlinkat(victim, f.dir, "p1.1"), 0);
	assert_int_equal(mkfifoat(f.dir, "p2.1", 0600), 0);
	assert_int_equal(mkdirat(f.dir, "p3.1", 0700), 0);
	snprintf(inside, sizeof(inside), "%s/p3.1/kept", path);
	assert_int_equal(mkdir(inside, 0700), 0);
	assert_int_equal(linkat(AT_FDCWD, victim, f.dir, "p4.1", 0), 0);
	/* Sealed, and by another name somebody else's as well. */
	close(isc_seal_make(f.dir, "p5.1", 8192, offsetof(isc_pool, seal), &f.seal));
	assert_int_equal(linkat(f.dir, "p5.1", AT_FDCWD, strcat(strcpy(inside, base), "/second"), 0), 0);
	/* A pipe and links of somebody's where ours could be. */
	assert_int_equal(mkfifoat(f.dir, ISC_BELL_NAME, 0600), 0);
	assert_int_equal(symlinkat(victim, f.dir, ISC_PRELOAD_NAME), 0);
	assert_int_equal(symlinkat(base, f.dir, ISC_INJECT_NAME), 0);
	isc_folder_remove(&f, false, &left);
	assert_int_equal(left.count, 8);
	after = view(path);
	assert_int_equal(entries(path), 9);
	snprintf(inside, sizeof(inside), "%s/p3.1", path);
	assert_int_equal(entries(inside), 1);
	assert_true(holds(&after, "p4.1", "mine"));
	assert_int_equal(fstatat(after.dir, "p5.1", &sb, 0), 0);
	assert_int_equal(sb.st_nlink, 2);
	isc_folder_close(&after);
	after = view(base);
	assert_true(holds(&after, "victim", "mine"));
	isc_folder_close(&after);
}

/* Ours was taken away and another one has its name: vouched for was the first. */
static void a_pipe_in_the_place_of_ours_survives(void **state)
{
	isc_folder f = make_session_here();
	isc_folder_left left;
	char path[512];

	(void)state;
	strcpy(path, f.path);
	assert_int_equal(mkfifoat(f.dir, ISC_BELL_NAME, 0600), 0);
	isc_folder_vouch(&f, ISC_BELL_NAME);
	assert_int_equal(renameat(f.dir, ISC_BELL_NAME, f.dir, "mine"), 0);
	assert_int_equal(mkfifoat(f.dir, ISC_BELL_NAME, 0600), 0);
	isc_folder_remove(&f, false, &left);
	assert_int_equal(left.count, 2);
	assert_int_equal(entries(path), 3);
}

static void files_of_another_user_survive(void **state)
{
	isc_folder f = make_session_here();
	isc_folder_left left;

	(void)state;
	if (geteuid() != 0)
		skip();
	close(isc_seal_make(f.dir, "p12.ab", 8192, offsetof(isc_pool, seal), &f.seal));
	assert_int_equal(fchownat(f.dir, "p12.ab", 65534, 65534, 0), 0);
	isc_folder_remove(&f, false, &left);
	assert_int_equal(left.count, 1);
	assert_string_equal(left.name, "p12.ab");
}

static void a_folder_in_the_place_of_ours_survives(void **state)
{
	isc_folder f = make_session_here(), other;
	char path[512], away[200];

	(void)state;
	/* Once with something in it, once empty, as rmdir() alone would not spare it. */
	for (unsigned empty = 0; empty < 2; empty++) {
		strcpy(path, f.path);
		snprintf(away, sizeof(away), "%s/away%u", base, empty);
		assert_int_equal(rename(path, away), 0);
		assert_int_equal(mkdir(path, 0700), 0);
		other = view(path);
		if (!empty) {
			put(&other, ISC_LOCK_NAME, "theirs");
			put(&other, ISC_CONTROL_NAME, "theirs");
		}
		isc_folder_remove(&f, false, NULL);
		assert_int_equal(entries(path), empty ? 0 : 2);
		if (!empty) {
			assert_true(holds(&other, ISC_LOCK_NAME, "theirs"));
			assert_true(holds(&other, ISC_CONTROL_NAME, "theirs"));
		}
		assert_int_equal(entries(away), 0); /* ours, wherever it is now, is emptied */
		isc_folder_close(&other);
		f = make_session_here();
	}
	isc_folder_remove(&f, false, NULL);
}

/* ---- folders that are only named like sessions ------------------------ */

static const char *plant(const char *digits)
{
	static char path[200];

	snprintf(path, sizeof(path), "%s/inferscope-%u-%s", base, (unsigned)geteuid(), digits);
	assert_int_equal(mkdir(path, 0700), 0);
	return path;
}

static void a_folder_without_our_lock_is_not_a_session(void **state)
{
	const char *path = plant("0123456789abcdef");
	isc_folder f = view(path);

	(void)state;
	age(path);
	expect_foreign(path, "it has no lock file of InferScope's");
	put(&f, "notes.txt", "mine");
	put(&f, ISC_LOCK_NAME, LONG);
	age(path);
	expect_foreign(path, "it has no lock file of InferScope's");
	put(&f, ISC_CONTROL_NAME, LONG);
	age(path);
	expect_foreign(path, "it has no lock file of InferScope's");
	assert_true(holds(&f, ISC_LOCK_NAME, LONG) && holds(&f, ISC_CONTROL_NAME, LONG));
	isc_folder_close(&f);
}

static void a_folder_with_the_control_file_of_another_session_is_not_a_session(void **state)
{
	const isc_seal other = isc_seal_of((const uint8_t *)OTHER_ID);
	isc_folder f = make_session_here();
	char path[512];

	(void)state;
	strcpy(path, f.path);
	isc_folder_publish(&f, "", 1);
	f.control->seal = other;
	isc_folder_close(&f);
	age(path);
	expect_foreign(path, "its control file is not InferScope's");
	assert_int_equal(entries(path), 3);
}

/* The attack: who owns the parent gives the name of a session to a folder of ours, or gives ours to others. */
static void a_folder_that_others_can_enter_is_not_a_session(void **state)
{
	static const mode_t modes[] = {0701, 0710, 0770, 0707, 0755};
	isc_folder f = make_session_here();
	char path[512];

	(void)state;
	strcpy(path, f.path);
	isc_folder_publish(&f, "", 1);
	isc_folder_close(&f);
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		assert_int_equal(chmod(path, modes[i]), 0);
		expect_foreign(path, "others have access to it");
	}
	assert_int_equal(chmod(path, 0700), 0);
	assert_int_equal(look(path).state, ISC_FOLDER_DEAD);
}

static void a_folder_of_another_user_is_not_a_session(void **state)
{
	isc_folder f = make_session_here();
	char path[512];

	(void)state;
	if (geteuid() != 0)
		skip();
	strcpy(path, f.path);
	isc_folder_publish(&f, "", 1);
	isc_folder_close(&f);
	assert_int_equal(chown(path, 65534, 65534), 0);
	expect_foreign(path, "it belongs to another user");
	assert_int_equal(entries(path), 3);
}

static void a_link_or_a_file_by_that_name_is_not_a_session(void **state)
{
	isc_folder f = make_session_here();
	char path[512], link[200];
	int fd;

	(void)state;
	strcpy(path, f.path);
	isc_folder_publish(&f, "", 1);
	isc_folder_close(&f);
	snprintf(link, sizeof(link), "%s/inferscope-%u-00000000000000aa", base, (unsigned)geteuid());
	assert_int_equal(symlink(path, link), 0);
	expect_foreign(link, "it is not a folder");
	assert_int_equal(unlink(link), 0);
	fd = open(link, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	close(fd);
	expect_foreign(link, "it is not a folder");
}

static void other_names_are_not_looked_at(void **state)
{
	static const char *const digits[] = {"0123456789abcde", "0123456789abcdef0", "0123456789abcdeF",
					     "0123456789abcdef.isc", "selftest"};

	(void)state;
	for (size_t i = 0; i < sizeof(digits) / sizeof(digits[0]); i++) {
		const char *path = plant(digits[i]);

		age(path);
		assert_int_equal(look(path).count, 0);
	}
}

/* To open a device can do something, and somebody may wait at the other end of a pipe. */
static void what_is_not_a_file_is_not_even_opened(void **state)
{
	char events[4096];
	int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	isc_folder f = make_session_here();

	(void)state;
	assert_int_equal(mkfifoat(f.dir, "p12.ab", 0600), 0);
	snprintf(events, sizeof(events), "%s/p12.ab", f.path);
	assert_true(inotify_add_watch(watch, events, IN_OPEN) >= 0);
	isc_folder_remove(&f, false, NULL);
	assert_int_equal(read(watch, events, sizeof(events)), -1);
	close(watch);
}

#define HERE(test) cmocka_unit_test_setup_teardown(test, make_base, remove_base)

int main(void)
{
	const struct CMUnitTest tests[] = {
		HERE(everything_of_ours_goes_and_the_folder_with_it),
		HERE(the_preloaded_runtime_stays_for_programs_that_run_on),
		HERE(a_session_that_was_only_begun_is_cleared),
		HERE(a_session_of_another_version_stays),
		HERE(a_session_that_is_recorded_is_left_alone),
		HERE(files_with_our_names_and_without_our_seal_survive),
		HERE(files_of_another_session_survive),
		HERE(a_copy_of_ours_by_another_name_survives),
		HERE(links_pipes_folders_and_second_names_survive),
		HERE(a_pipe_in_the_place_of_ours_survives),
		HERE(files_of_another_user_survive),
		HERE(a_folder_in_the_place_of_ours_survives),
		HERE(a_folder_without_our_lock_is_not_a_session),
		HERE(a_folder_with_the_control_file_of_another_session_is_not_a_session),
		HERE(a_folder_that_others_can_enter_is_not_a_session),
		HERE(a_folder_of_another_user_is_not_a_session),
		HERE(a_link_or_a_file_by_that_name_is_not_a_session),
		HERE(other_names_are_not_looked_at),
		HERE(what_is_not_a_file_is_not_even_opened),
	};

	return cmocka_run_group_tests_name("folder", tests, NULL, NULL);
}
