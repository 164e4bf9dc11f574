/* base: output files (X4).  Every test works in a fresh folder. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/output.h"
#include "base/temporary.h"

#define OURS "our mark"

static char folder[64];

static bool is_ours(const char *head, size_t len)
{
	return len >= strlen(OURS) && memcmp(head, OURS, strlen(OURS)) == 0;
}

static int make_folder(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/inferscope-test-XXXXXX");
	return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int remove_folder(void **state)
{
	char command[192];

	(void)state;
	snprintf(command, sizeof(command), "chmod -R u+rwX %s && rm -rf %s", folder, folder);
	return chdir("/") == 0 ? system(command) : -1;
}

static void put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static const char *get(const char *path)
{
	static char text[256];
	FILE *f = fopen(path, "r");

	if (f == NULL)
		return NULL;
	text[fread(text, 1, sizeof(text) - 1, f)] = 0;
	fclose(f);
	return text;
}

static unsigned entries(const char *path)
{
	DIR *d = opendir(path);
	unsigned n = 0;

	assert_non_null(d);
	for (struct dirent *e; (e = readdir(d)) != NULL;)
		n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
	closedir(d);
	return n;
}

static isc_status save(const char *path, bool force, isc_error *err)
{
	return isc_output_save(path, force, is_ours, OURS " new", strlen(OURS " new"), err);
}

static void a_new_file_is_whole_and_private(void **state)
{
	struct stat sb;
	isc_error err;

	(void)state;
	umask(0);
	assert_int_equal(save("new.md", false, &err), ISC_OK);
	assert_string_equal(get("new.md"), OURS " new");
	assert_int_equal(stat("new.md", &sb), 0);
	assert_int_equal(sb.st_mode & 07777, 0600);
	assert_int_equal(entries("."), 1);
}

static void our_own_file_is_replaced_and_a_foreign_one_needs_force(void **state)
{
	isc_error err;

	(void)state;
	put("old.md", OURS " old");
	assert_int_equal(save("old.md", false, &err), ISC_OK);
	assert_string_equal(get("old.md"), OURS " new");
	put("thesis.md", "ten years of work");
	assert_int_equal(save("thesis.md", false, &err), ISC_ERR_EXISTS);
	assert_string_equal(err.what, "cannot write thesis.md: a file is there that InferScope did not write");
	assert_non_null(strstr(err.hint, "--force"));
	assert_string_equal(get("thesis.md"), "ten years of work");
	assert_int_equal(save("thesis.md", true, &err), ISC_OK);
	assert_string_equal(get("thesis.md"), OURS " new");
	assert_int_equal(entries("."), 2);
}

/* Not even ours, behind a link, and not even with force. */
static void a_planted_link_is_not_followed(void **state)
{
	isc_error err;
	int fd;

	(void)state;
	put("victim", OURS " victim");
	assert_int_equal(symlink("victim", "report.md"), 0);
	assert_int_equal(symlink("nowhere", "dangling.md"), 0);
	for (int force = 0; force < 2; force++) {
		assert_int_equal(save("report.md", force, &err), ISC_ERR_EXISTS);
		assert_non_null(strstr(err.what, "symbolic link"));
		assert_int_equal(save("dangling.md", force, &err), ISC_ERR_EXISTS);
		assert_int_equal(isc_output_create_trace("report.md", force, is_ours, &fd, &err), ISC_ERR_EXISTS);
		assert_non_null(strstr(err.what, "symbolic link"));
		assert_int_equal(isc_output_create_trace("dangling.md", force, is_ours, &fd, &err), ISC_ERR_EXISTS);
	}
	assert_string_equal(get("victim"), OURS " victim");
	assert_null(get("nowhere"));
	assert_int_equal(entries("."), 3);
}

static void pipes_folders_and_devices_are_refused_at_once(void **state)
{
	isc_error err;
	int fd;

	(void)state;
	assert_int_equal(mkfifo("pipe", 0600), 0);
	assert_int_equal(mkdir("dir", 0700), 0);
	alarm(10); /* opening a pipe the wrong way waits for ever */
	for (int force = 0; force < 2; force++) {
		assert_int_equal(save("pipe", force, &err), ISC_ERR_EXISTS);
		assert_non_null(strstr(err.what, "named pipe"));
		assert_int_equal(isc_output_create_trace("pipe", force, is_ours, &fd, &err), ISC_ERR_EXISTS);
		assert_int_equal(save("dir", force, &err), ISC_ERR_EXISTS);
		assert_string_equal(err.what, "cannot write dir: it is a folder");
		assert_int_equal(isc_output_create_trace("dir", force, is_ours, &fd, &err), ISC_ERR_EXISTS);
		if (access("/dev", W_OK) == 0)
			assert_int_equal(save("/dev/null", force, &err), ISC_ERR_EXISTS);
	}
	alarm(0);
	assert_int_equal(save("dir/", false, &err), ISC_ERR_INVALID);
	assert_int_equal(entries("."), 2);
}

static void an_exchanged_folder_leads_nowhere_else(void **state)
{
	isc_output *o;
	isc_error err;

	(void)state;
	assert_int_equal(mkdir("out", 0700), 0);
	assert_int_equal(mkdir("victims", 0700), 0);
	assert_int_equal(isc_output_open("out/report.md", false, is_ours, &o, &err), ISC_OK);
	assert_int_equal(isc_output_write(o, OURS, strlen(OURS), &err), ISC_OK);
	assert_int_equal(rename("out", "moved"), 0);
	assert_int_equal(symlink("victims", "out"), 0);
	assert_int_equal(isc_output_commit(o, &err), ISC_OK);
	isc_output_close(o);
	assert_int_equal(entries("victims"), 0);
	assert_string_equal(get("moved/report.md"), OURS);
}

/* Checked at the start, and again at the end. */
static void what_appears_in_the_meantime_is_kept(void **state)
{
	isc_output *o;
	isc_error err;

	(void)state;
	put("victim", "mine");
	for (int link = 0; link < 2; link++) {
		assert_int_equal(isc_output_open("late.md", false, is_ours, &o, &err), ISC_OK);
		assert_int_equal(isc_output_write(o, OURS, strlen(OURS), &err), ISC_OK);
		if (link)
			assert_int_equal(symlink("victim", "late.md"), 0);
		else
			put("late.md", "someone else's");
		assert_int_equal(isc_output_commit(o, &err), ISC_ERR_EXISTS);
		isc_output_close(o);
		assert_string_equal(get("late.md"), link ? "mine" : "someone else's");
		assert_int_equal(unlink("late.md"), 0);
	}
	assert_int_equal(entries("."), 1); /* no temporary file stays */
}

static void nothing_is_created_before_the_first_byte(void **state)
{
	isc_output *o;
	isc_error err;

	(void)state;
	assert_int_equal(isc_output_open("a.md", false, is_ours, &o, &err), ISC_OK);
	assert_int_equal(entries("."), 0);
	assert_int_equal(isc_output_write(o, "x", 1, &err), ISC_OK);
	assert_int_equal(entries("."), 1);
	assert_null(get("a.md"));
	isc_output_close(o);
	assert_int_equal(entries("."), 0);
	assert_int_equal(isc_output_check("a.md", false, is_ours, &err), ISC_OK);
	assert_int_equal(entries("."), 0);
}

static void an_old_trace_is_unlinked_and_not_truncated(void **state)
{
	char text[64] = "";
	struct stat sb;
	isc_error err;
	int reader, fd;

	(void)state;
	put("t.isc", OURS " old");
	reader = open("t.isc", O_RDONLY);
	assert_int_equal(isc_output_create_trace("t.isc", false, is_ours, &fd, &err), ISC_OK);
	assert_int_equal(fstat(fd, &sb), 0);
	assert_int_equal(sb.st_size, 0);
	assert_int_equal(sb.st_mode & 07777, 0600);
	assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDWR);
	assert_int_equal(read(reader, text, sizeof(text)), strlen(OURS " old"));
	close(reader);
	close(fd);
}

static void a_trace_of_a_live_recorder_is_refused_even_with_force(void **state)
{
	isc_error err;
	int fd, second;

	(void)state;
	assert_int_equal(isc_output_create_trace("t.isc", false, is_ours, &fd, &err), ISC_OK);
	assert_int_equal(write(fd, OURS, strlen(OURS)), strlen(OURS));
	for (int force = 0; force < 2; force++) {
		assert_int_equal(isc_output_create_trace("t.isc", force, is_ours, &second, &err), ISC_ERR_EXISTS);
		assert_string_equal(err.what, "cannot write t.isc: another inferscope is recording into it");
		assert_int_equal(second, -1);
	}
	assert_string_equal(get("t.isc"), OURS);
	close(fd);
	assert_int_equal(isc_output_create_trace("t.isc", false, is_ours, &fd, &err), ISC_OK);
	close(fd);
}

static int asked;

/* The second look comes with the lock held; just then another recorder's trace takes the name. */
static bool is_ours_and_swapped(const char *head, size_t len)
{
	if (++asked == 2)
		assert_int_equal(rename("live.isc", "t.isc"), 0);
	return is_ours(head, len);
}

static void a_trace_that_took_the_name_meanwhile_is_kept(void **state)
{
	isc_error err;
	int live, fd;

	(void)state;
	put("t.isc", OURS " old");
	assert_int_equal(isc_output_create_trace("live.isc", false, is_ours, &live, &err), ISC_OK);
	assert_int_equal(write(live, OURS " live", strlen(OURS " live")), strlen(OURS " live"));
	asked = 0;
	assert_int_equal(isc_output_create_trace("t.isc", false, is_ours_and_swapped, &fd, &err), ISC_ERR_EXISTS);
	assert_true(asked >= 2);
	assert_string_equal(get("t.isc"), OURS " live");
	close(live);
}

static void a_foreign_file_is_no_trace_to_replace(void **state)
{
	isc_error err;
	int fd;

	(void)state;
	put("t.isc", "not ours");
	assert_int_equal(isc_output_create_trace("t.isc", false, is_ours, &fd, &err), ISC_ERR_EXISTS);
	assert_string_equal(get("t.isc"), "not ours");
	assert_int_equal(isc_output_create_trace("t.isc", true, is_ours, &fd, &err), ISC_OK);
	close(fd);
}

/* Many recorders at once want the same name: the one that gets it keeps it. */
static void of_many_recorders_one_gets_the_name(void **state)
{
	enum { RECORDERS = 8, ROUNDS = 40 };

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		int start[2], end[2], winners = 0;
		char byte = 0;

		if (round % 2)
			put("t.isc", OURS " old");
		assert_int_equal(pipe(start) | pipe(end), 0);
		for (int i = 0; i < RECORDERS; i++) {
			if (fork() == 0) {
				struct stat named, open;
				int fd;

				close(start[1]);
				close(end[1]);
				if (read(start[0], &byte, 1) != 0)
					_exit(9);
				if (isc_output_create_trace("t.isc", false, is_ours, &fd, NULL) != ISC_OK)
					_exit(1);
				if (write(fd, OURS, strlen(OURS)) != (ssize_t)strlen(OURS))
					_exit(9);
				/* The lock is held until all have tried; the name must still be ours then. */
				if (read(end[0], &byte, 1) != 0)
					_exit(9);
				_exit(fstat(fd, &open) == 0 && stat("t.isc", &named) == 0 && named.st_ino == open.st_ino
					      ? 0
					      : 2);
			}
		}
		close(start[0]);
		close(end[0]);
		close(start[1]);
		usleep(3000); /* lets most of them try; the claim holds whenever */
		close(end[1]);
		for (int i = 0; i < RECORDERS; i++) {
			int status;

			assert_true(wait(&status) > 0);
			assert_true(WIFEXITED(status));
			assert_true(WEXITSTATUS(status) < 2);
			winners += WEXITSTATUS(status) == 0;
		}
		assert_true(winners >= 1);
		unlink("t.isc");
	}
}

static void errors_say_what_to_do(void **state)
{
	isc_error err;
	char name[400];

	(void)state;
	assert_int_equal(isc_output_check("no/such/report.md", false, is_ours, &err), ISC_ERR_ABSENT);
	assert_string_equal(err.what, "cannot write no/such/report.md: No such file or directory");
	assert_string_equal(err.hint, "make the folder first");
	put("file", "x");
	isc_output_check("file/report.md", false, is_ours, &err);
	assert_int_equal(err.sys, ENOTDIR);
	isc_output_check("/proc/report.md", false, is_ours, &err);
	assert_int_not_equal(err.status, ISC_OK);
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	isc_output_check(name, false, is_ours, &err);
	assert_int_equal(err.sys, ENAMETOOLONG);
	if (geteuid() == 0)
		return;
	assert_int_equal(mkdir("closed", 0500), 0);
	assert_int_equal(isc_output_check("closed/report.md", false, is_ours, &err), ISC_ERR_DENIED);
	assert_string_equal(err.hint, "choose a folder that you may write to");
}

/* A limit on the size of files stands in for the disk. */
static void a_full_disk_is_an_error_and_leaves_nothing(void **state)
{
	static char block[1 << 16];
	isc_output *o;
	isc_error err;
	isc_status st = ISC_OK;
	pid_t child = fork();
	int status;

	(void)state;
	if (child == 0) {
		struct rlimit limit = {4096, 4096};

		signal(SIGXFSZ, SIG_IGN);
		if (setrlimit(RLIMIT_FSIZE, &limit) != 0 || isc_output_open("a.md", false, is_ours, &o, &err) != ISC_OK)
			_exit(9);
		for (int i = 0; i < 4 && st == ISC_OK; i++)
			st = isc_output_write(o, block, sizeof(block), &err);
		isc_output_close(o);
		_exit(st != ISC_OK && access("a.md", F_OK) < 0 && entries(".") == 0 ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

#define T(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

static void what_is_half_written_can_be_dropped_from_a_handler(void **state)
{
	isc_output *one, *two, *three;
	isc_error err;

	(void)state;
	assert_int_equal(isc_output_open("1.md", false, is_ours, &one, &err), ISC_OK);
	assert_int_equal(isc_output_open("2.md", false, is_ours, &two, &err), ISC_OK);
	assert_int_equal(isc_output_open("3.md", false, is_ours, &three, &err), ISC_OK);
	assert_int_equal(isc_output_write(one, OURS, strlen(OURS), &err), ISC_OK);
	assert_int_equal(isc_output_write(two, OURS, strlen(OURS), &err), ISC_OK);
	assert_int_equal(isc_output_write(three, OURS, strlen(OURS), &err), ISC_OK);
	assert_int_equal(isc_output_commit(two, &err), ISC_OK);
	isc_output_close(one);
	assert_int_equal(entries("."), 2);
	isc_output_drop_all();
	assert_int_equal(entries("."), 1);
	assert_string_equal(get("2.md"), OURS);
	isc_output_close(two);
	isc_output_close(three);
	isc_output_drop_all();
	assert_int_equal(entries("."), 1);
}

static void a_reader_that_looks_at_the_lock_is_waited_for(void **state)
{
	isc_error err;
	int held[2], fd;
	char byte;
	pid_t pid;

	(void)state;
	put("t.isc", OURS " old");
	assert_int_equal(pipe(held), 0);
	pid = fork();
	if (pid == 0) {
		fd = open("t.isc", O_RDONLY);
		if (flock(fd, LOCK_SH) == 0 && write(held[1], "x", 1) == 1)
			usleep(30000);
		_exit(0);
	}
	assert_int_equal(read(held[0], &byte, 1), 1);
	assert_int_equal(isc_output_create_trace("t.isc", false, is_ours, &fd, &err), ISC_OK);
	close(fd);
	close(held[0]);
	close(held[1]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void a_trace_is_removed_only_while_it_is_the_one_that_was_made(void **state)
{
	isc_output_made made;
	isc_error err;
	int fd;

	(void)state;
	/* Another file took the name; it has our mark, too. */
	assert_int_equal(isc_output_make_trace("t.isc", false, is_ours, &fd, &made, &err), ISC_OK);
	close(fd);
	assert_int_equal(unlink("t.isc"), 0);
	put("t.isc", OURS " another");
	isc_output_made_release(&made, true);
	assert_string_equal(get("t.isc"), OURS " another");
	/* Another folder is on the way. */
	assert_int_equal(mkdir("way", 0700), 0);
	assert_int_equal(isc_output_make_trace("way/t.isc", false, is_ours, &fd, &made, &err), ISC_OK);
	assert_int_equal(rename("way", "old"), 0);
	assert_int_equal(mkdir("way", 0700), 0);
	put("way/t.isc", "theirs");
	isc_output_made_release(&made, true);
	assert_string_equal(get("way/t.isc"), "theirs");
	assert_int_equal(access("old/t.isc", F_OK), -1);
	/* It is recorded into for as long as it is open, not for as long as it is held. */
	close(fd);
	assert_int_equal(isc_output_make_trace("u.isc", false, is_ours, &fd, &made, &err), ISC_OK);
	close(fd);
	put("u.isc", OURS);
	assert_int_equal(isc_output_create_trace("u.isc", false, is_ours, &fd, &err), ISC_OK);
	close(fd);
	isc_output_made_release(&made, false);
	isc_output_made_release(&made, true); /* twice is fine */
	assert_int_equal(access("u.isc", F_OK), 0);
}

static void a_temporary_folder_goes_and_nothing_in_its_place(void **state)
{
	static const char *const names[] = {"made", NULL};
	isc_temporary t;
	char path[PATH_MAX], inside[PATH_MAX + 8];
	struct stat sb;
	isc_error err;

	(void)state;
	setenv("TMPDIR", folder, 1);
	for (unsigned swap = 0; swap < 3; swap++) {
		assert_int_equal(isc_temporary_make(&t, "stem", &err), ISC_OK);
		assert_int_equal(stat(t.path, &sb), 0);
		assert_int_equal(sb.st_mode & 07777, 0700);
		close(isc_temporary_create(&t, "made"));
		strcpy(path, t.path);
		snprintf(inside, sizeof(inside), "%s/made", path);
		/* As it is; another folder with that file in its place; an empty one. */
		if (swap != 0) {
			assert_int_equal(rename(path, swap == 1 ? "away1" : "away2"), 0);
			assert_int_equal(mkdir(path, 0700), 0);
		}
		if (swap == 1)
			put(inside, "theirs");
		isc_temporary_remove(&t, names);
		assert_int_equal(access(path, F_OK), swap == 0 ? -1 : 0);
		if (swap == 1)
			assert_string_equal(get(inside), "theirs");
		isc_temporary_remove(&t, names); /* twice is fine */
	}
	unsetenv("TMPDIR");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_new_file_is_whole_and_private),
		T(our_own_file_is_replaced_and_a_foreign_one_needs_force),
		T(a_planted_link_is_not_followed),
		T(pipes_folders_and_devices_are_refused_at_once),
		T(an_exchanged_folder_leads_nowhere_else),
		T(what_appears_in_the_meantime_is_kept),
		T(nothing_is_created_before_the_first_byte),
		T(an_old_trace_is_unlinked_and_not_truncated),
		T(a_trace_of_a_live_recorder_is_refused_even_with_force),
		T(a_trace_that_took_the_name_meanwhile_is_kept),
		T(a_foreign_file_is_no_trace_to_replace),
		T(of_many_recorders_one_gets_the_name),
		T(errors_say_what_to_do),
		T(a_full_disk_is_an_error_and_leaves_nothing),
		T(what_is_half_written_can_be_dropped_from_a_handler),
		T(a_reader_that_looks_at_the_lock_is_waited_for),
		T(a_trace_is_removed_only_while_it_is_the_one_that_was_made),
		T(a_temporary_folder_goes_and_nothing_in_its_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
