/* follow: what looking at real processes tells. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "follow_tree.h"
#include "session/follow/proc.h"

static void what_proc_says_is_parsed_with_odd_names(void **state)
{
	isc_proc_stat st;
	const char *line = "42 (a) b (c) S 7 1 1 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 250 100 10\n";

	(void)state;
	assert_true(isc_proc_stat_parse(line, strlen(line), 100, 500000000, &st));
	assert_int_equal(st.state, 'S');
	assert_int_equal(st.ppid, 7);
	assert_int_equal(st.start_ns, 2000000000);
	assert_string_equal(st.comm, "a) b (c");
	for (size_t cut = 0; cut <= strlen(line); cut++)
		isc_proc_stat_parse(line, cut, 100, 0, &st);
	assert_false(isc_proc_stat_parse(line, 30, 100, 0, &st));
	assert_false(isc_proc_stat_parse("42 (x)", 6, 100, 0, &st));
}

/* Polls until the table has so many images and so many alive, or 5 s have passed. */
static bool reaches(tree *t, uint32_t processes, uint32_t alive)
{
	isc_follow_stats stats;

	for (int i = 0; i < 1000; i++) {
		isc_follow_poll(t->follow, isc_clock_mono_ns());
		isc_follow_stats_get(t->follow, &stats);
		if (stats.processes == processes && stats.alive == alive)
			return true;
		usleep(5000);
	}
	print_message("# %u processes, %u alive\n", stats.processes, stats.alive);
	return false;
}

static void without_any_news_proc_shows_children_and_their_ends(void **state)
{
	tree t;
	int go[2];
	char c = 0;

	(void)state;
	assert_int_equal(pipe(go), 0);
	pid_t root = fork();
	if (root == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* a failed test leaves nobody behind */
		char *const args[] = {"sleep", "60", NULL};
		pid_t child;

		if (read(go[0], &c, 1) != 1 || posix_spawnp(&child, "sleep", NULL, NULL, args, environ) != 0)
			_exit(1);
		if (read(go[0], &c, 1) == 1)
			kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		execlp("sleep", "sleep", "60", NULL);
		_exit(1);
	}
	tree_open(&t, ISC_ROSTER_ENTRIES, false, root);
	/* It looks like a child that launch holds back; it is told to be more. */
	announce(&t, (uint32_t)root, (uint32_t)getpid(), ISC_BIRTH_IMAGE, 899, "self");
	assert_true(reaches(&t, 1, 1));
	assert_int_equal(write(go[1], &c, 1), 1);
	assert_true(reaches(&t, 2, 2));
	assert_false(isc_follow_image_gone(t.follow, 2));
	/* Its parent's arguments until somebody looks after the exec. */
	for (int i = 0; i < 500 && strcmp(t.kept->argv[2], "sleep") != 0; i++, usleep(5000))
		isc_follow_poll(t.follow, isc_clock_mono_ns());
	assert_string_equal(t.kept->argv[2], "sleep");
	assert_int_equal(write(go[1], &c, 1), 1);
	assert_true(reaches(&t, 3, 1)); /* the child is gone, and the root runs another program */
	assert_true(isc_follow_image_gone(t.follow, 1));
	assert_true(isc_follow_image_gone(t.follow, 2));
	assert_false(isc_follow_image_gone(t.follow, 3));
	assert_int_equal(t.kept->process[3].flags & ISC_PROCESS_EXEC, ISC_PROCESS_EXEC);
	kill(root, SIGKILL);
	assert_true(reaches(&t, 3, 0));
	int status;
	assert_int_equal(waitpid(root, &status, 0), root);
	isc_follow_root_status(t.follow, status, isc_clock_mono_ns());
	isc_follow_poll(t.follow, isc_clock_mono_ns());
	assert_int_equal(t.kept->process[3].flags & ISC_PROCESS_STATUS, ISC_PROCESS_STATUS);
	assert_int_equal(WTERMSIG(t.kept->process[3].wait_status), SIGKILL);
	tree_close(&t);
	close(go[0]);
	close(go[1]);
}

static void a_process_that_was_told_dead_but_lives_is_not_gone(void **state)
{
	tree t;
	pid_t root = fork();

	(void)state;
	if (root == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	tree_open(&t, ISC_ROSTER_ENTRIES, false, root);
	/* A thread that perf's lost records hid goes on: its memory must stay. */
	isc_follow_exited(t.follow, (uint32_t)root, (uint32_t)root, isc_clock_mono_ns());
	assert_false(isc_follow_image_gone(t.follow, 1));
	kill(root, SIGKILL);
	waitpid(root, NULL, 0);
	assert_true(isc_follow_image_gone(t.follow, 1));
	tree_close(&t);
}

/* A process that is number 1 in a pid namespace of its own, with a thread. */
static void *idle(void *out)
{
	__atomic_store_n((uint32_t *)out, (uint32_t)gettid(), __ATOMIC_RELEASE);
	pause();
	return NULL;
}

static void a_process_in_its_own_pid_namespace_is_found_by_ours(void **state)
{
	tree t;
	int told[2], go[2];
	uint32_t own[2];
	char c = 0;

	(void)state;
	assert_int_equal(pipe(told), 0);
	assert_int_equal(pipe(go), 0);
	pid_t root = fork();
	if (root == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (read(go[0], &c, 1) != 1 || unshare(CLONE_NEWPID) != 0) {
			memset(own, 0xff, sizeof(own));
			_exit(write(told[1], own, sizeof(own)) != sizeof(own));
		}
		pid_t child = fork();
		if (child == 0) {
			pthread_t thread;

			prctl(PR_SET_PDEATHSIG, SIGKILL);
			memset(own, 0, sizeof(own));
			if (pthread_create(&thread, NULL, idle, &own[1]) != 0)
				_exit(1);
			while (__atomic_load_n(&own[1], __ATOMIC_ACQUIRE) == 0)
				usleep(100);
			own[0] = (uint32_t)getpid();
			if (write(told[1], own, sizeof(own)) != sizeof(own))
				_exit(1);
			pause();
			_exit(0);
		}
		pause();
		_exit(0);
	}
	tree_open(&t, ISC_ROSTER_ENTRIES, false, root);
	announce(&t, (uint32_t)root, (uint32_t)getpid(), ISC_BIRTH_IMAGE, 899, "self");
	assert_int_equal(write(go[1], &c, 1), 1);
	assert_int_equal(read(told[0], own, sizeof(own)), sizeof(own));
	if (own[0] == UINT32_MAX) {
		waitpid(root, NULL, 0);
		tree_close(&t);
		print_message("# skipped: no right to make a pid namespace\n");
		skip();
	}
	assert_int_equal(own[0], 1);
	/* Before anybody has looked: the line in the roster says 1, as our own init does. */
	t.zero_ns = isc_clock_mono_ns();
	announce(&t, own[0], 0, ISC_BIRTH_FORK, 0, "");
	isc_follow_poll(t.follow, isc_clock_mono_ns());
	pid_t host = isc_follow_host_pid(t.follow, 2);
	assert_true(host > 1);
	assert_int_equal(t.kept->process[2].pid, host);
	assert_int_equal(t.kept->process[2].ppid, root);
	assert_int_equal(t.kept->process[2].parent, 1);
	assert_true(reaches(&t, 2, 2));
	/* Its threads have two numbers as well; switches know ours. */
	uint32_t thread = isc_follow_thread(t.follow, 2, own[1], 1, isc_clock_mono_ns());
	isc_follow_poll(t.follow, isc_clock_mono_ns());
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/task/%u", (int)host, t.kept->thread[thread].tid);
	assert_int_equal(access(path, F_OK), 0);
	assert_int_not_equal(t.kept->thread[thread].tid, host);
	kill(host, SIGKILL);
	assert_true(reaches(&t, 2, 1));
	kill(root, SIGKILL);
	waitpid(root, NULL, 0);
	tree_close(&t);
	for (int i = 0; i < 2; i++) {
		close(told[i]);
		close(go[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_proc_says_is_parsed_with_odd_names),
		cmocka_unit_test(without_any_news_proc_shows_children_and_their_ends),
		cmocka_unit_test(a_process_that_was_told_dead_but_lives_is_not_gone),
		cmocka_unit_test(a_process_in_its_own_pid_namespace_is_found_by_ours),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
