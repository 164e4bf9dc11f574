/* launch: the program runs as without us, whatever happens to us. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/output.h"
#include "session/launch/exit_status.h"
#include "session/launch/group_watcher.h"
#include "session/launch/launch.h"

#define DEADLINE_MS 20000

typedef void (*before_launch)(void);

/* Looks again until it is true or the deadline has passed. */
#define EVENTUALLY(what) \
	do { \
		bool is_so = what; \
		for (int left = DEADLINE_MS / 5; !is_so && left > 0; left--) { \
			poll(NULL, 0, 5); \
			is_so = what; \
		} \
		assert_true(is_so); \
	} while (0)

/* A recorder of its own around argv; never returns. */
static _Noreturn void record(char *const *argv, before_launch before)
{
	isc_launch_options options = {.argv = argv, .env = environ};
	isc_launch *launch;
	int code, status;

	if (before != NULL)
		before();
	if (isc_launch_start(&options, &launch, NULL) != ISC_OK)
		_exit(125);
	if (isc_launch_go(launch, &code, NULL) != ISC_OK) {
		isc_launch_free(launch);
		_exit(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD ? code : 124);
	}
	status = isc_launch_wait(launch);
	isc_launch_restore_signals(launch);
	isc_launch_free(launch);
	/* Program and watcher are reaped. */
	if (getpid() != 1 && (waitpid(-1, NULL, WNOHANG) >= 0 || errno != ECHILD))
		_exit(124);
	isc_launch_exit_like(status);
}

static pid_t start_recorder(char *const *argv, before_launch before)
{
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		setpgid(0, 0);
		record(argv, before);
	}
	assert_true(pid > 0);
	setpgid(pid, pid);
	return pid;
}

static int wait_for(pid_t pid)
{
	int status = -1, got = 0;

	EVENTUALLY((got = waitpid(pid, &status, WNOHANG)) != 0);
	assert_int_equal(got, pid);
	return status;
}

static int result_of(char *const *argv, before_launch before)
{
	return wait_for(start_recorder(argv, before));
}

static int shell(const char *script, before_launch before)
{
	char *argv[] = {"sh", "-c", (char *)script, NULL};

	return result_of(argv, before);
}

static void the_exit_code_is_the_programs(void **state)
{
	char script[32];

	(void)state;
	for (int code = 0; code < 256; code += 15) {
		snprintf(script, sizeof(script), "exit %d", code);
		int status = shell(script, NULL);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), code);
	}
}

static void death_by_a_signal_is_ours_too(void **state)
{
	static const int signals[] = {SIGHUP,  SIGINT,	SIGQUIT, SIGILL, SIGABRT, SIGFPE, SIGKILL, SIGSEGV, SIGPIPE,
				      SIGALRM, SIGTERM, SIGUSR1, SIGBUS, SIGXCPU, SIGSYS, SIGTRAP, 40};
	char script[32];

	(void)state;
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		snprintf(script, sizeof(script), "kill -%d $$", signals[i]);
		int status = shell(script, NULL);
		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), signals[i]);
		assert_false(WCOREDUMP(status));
	}
}

static void what_cannot_be_started_is_126_or_127(void **state)
{
	char *missing[] = {"/nonexistent/program", NULL}, *nowhere[] = {"no-such-program-on-path", NULL};
	char *folder[] = {"/", NULL}, *data[] = {"/etc/passwd", NULL};
	isc_launch_options options = {.argv = missing, .env = environ};
	isc_launch *launch;
	isc_error err;
	int code;

	(void)state;
	assert_int_equal(WEXITSTATUS(result_of(missing, NULL)), 127);
	assert_int_equal(WEXITSTATUS(result_of(nowhere, NULL)), 127);
	assert_int_equal(WEXITSTATUS(result_of(folder, NULL)), 126);
	assert_int_equal(WEXITSTATUS(result_of(data, NULL)), 126);
	assert_int_equal(isc_launch_start(&options, &launch, &err), ISC_OK);
	assert_int_equal(isc_launch_go(launch, &code, &err), ISC_ERR_ABSENT);
	assert_int_equal(code, 127);
	assert_string_equal(err.what, "cannot start /nonexistent/program: No such file or directory");
	assert_true(err.hint[0] != 0);
	isc_launch_free(launch);
}

static void a_script_without_a_first_line_is_run_by_the_shell(void **state)
{
	char path[] = "/tmp/isc-script-XXXXXX";
	char *argv[] = {path, NULL};
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "exit 9\n", 7), 7);
	fchmod(fd, 0700);
	close(fd);
	assert_int_equal(WEXITSTATUS(result_of(argv, NULL)), 9);
	unlink(path);
}

static void ignore_children(void)
{
	signal(SIGCHLD, SIG_IGN);
}

static void an_ignored_sigchld_stays_ignored_and_we_wait_all_the_same(void **state)
{
	/* The 17th bit of SigIgn from the right. */
	char *argv[] = {"grep", "-q", "^SigIgn:.*[13579bdf]....$", "/proc/self/status", NULL};

	(void)state;
	assert_int_equal(WEXITSTATUS(shell("exit 5", ignore_children)), 5);
	assert_int_equal(WEXITSTATUS(result_of(argv, ignore_children)), 0);
	assert_int_equal(WEXITSTATUS(result_of(argv, NULL)), 1);
}

static void block_and_ignore(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigaddset(&set, 50);
	sigprocmask(SIG_SETMASK, &set, NULL);
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
}

static void mask_and_dispositions_reach_the_program_as_we_got_them(void **state)
{
	char *argv[] = {"grep", "-E", "^Sig(Blk|Ign|Cgt)|^ShdPnd|^NoNewPrivs", "/proc/self/status", NULL};
	char texts[2][512];

	(void)state;
	for (int launched = 0; launched < 2; launched++) {
		int ends[2];
		size_t n = 0;
		ssize_t got;
		pid_t pid;

		assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
		fflush(NULL);
		pid = fork();
		if (pid == 0) {
			dup2(ends[1], 1);
			if (launched)
				record(argv, block_and_ignore);
			block_and_ignore();
			execvp(argv[0], argv);
			_exit(99);
		}
		close(ends[1]);
		while ((got = read(ends[0], texts[launched] + n, sizeof(texts[0]) - 1 - n)) > 0)
			n += (size_t)got;
		texts[launched][n] = 0;
		close(ends[0]);
		assert_int_equal(wait_for(pid), 0);
		assert_true(n > 60);
	}
	assert_string_equal(texts[0], texts[1]);
}

static void close_standard(void)
{
	close(0);
	close(1);
}

static void closed_descriptors_stay_closed_for_the_program(void **state)
{
	(void)state;
	assert_int_equal(WEXITSTATUS(shell("[ -e /proc/self/fd/1 ] && exit 1; [ -e /proc/self/fd/0 ] && exit 2; exit 7",
					   close_standard)),
			 7);
}

static void no_file_of_ours_becomes_a_standard_descriptor(void **state)
{
	pid_t pid;

	(void)state;
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		close_standard();
		isc_launch_hold_standard();
		if (fcntl(0, F_GETFD) != FD_CLOEXEC || fcntl(1, F_GETFD) != FD_CLOEXEC)
			_exit(1);
		_exit(open("/dev/null", O_RDONLY) > 2 ? 0 : 2);
	}
	assert_int_equal(WEXITSTATUS(wait_for(pid)), 0);
}

/* ---- what happens to the recorder -------------------------------------- */

static void a_launch_given_up_ends_the_waiting_child(void **state)
{
	char *argv[] = {"sleep", "100", NULL};
	isc_launch_options options = {.argv = argv, .env = environ};
	isc_launch *launch;
	sigset_t before, after;
	pid_t pid;

	(void)state;
	sigprocmask(SIG_SETMASK, NULL, &before);
	assert_int_equal(isc_launch_start(&options, &launch, NULL), ISC_OK);
	pid = isc_launch_pid(launch);
	assert_int_equal(kill(pid, 0), 0);
	isc_launch_free(launch);
	assert_int_equal(kill(pid, 0), -1);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	sigprocmask(SIG_SETMASK, NULL, &after);
	for (int signo = 1; signo < 65; signo++)
		assert_int_equal(sigismember(&before, signo), sigismember(&after, signo));
}

static void a_program_whose_recorder_dies_before_go_runs_all_the_same(void **state)
{
	char *argv[] = {"sh", "-c", "echo ran", NULL};
	int ends[2];
	char text[16] = "";
	pid_t pid;

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		isc_launch_options options = {.argv = argv, .env = environ};
		isc_launch *launch;

		dup2(ends[1], 1);
		if (isc_launch_start(&options, &launch, NULL) != ISC_OK)
			_exit(1);
		kill(getpid(), SIGKILL);
	}
	close(ends[1]);
	assert_true(WIFSIGNALED(wait_for(pid)));
	assert_int_equal(read(ends[0], text, sizeof(text) - 1), 4);
	assert_string_equal(text, "ran\n");
	close(ends[0]);
}

/* The only child of a process with this name, 0 when there is none. */
static pid_t child_named(pid_t parent, const char *name)
{
	char path[64], text[256], comm[64];
	int pid = 0, at = 0, n = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)parent, (int)parent);
	file = fopen(path, "re");
	if (file == NULL || fgets(text, sizeof(text), file) == NULL)
		text[0] = 0;
	if (file != NULL)
		fclose(file);
	for (; sscanf(text + at, "%d%n", &pid, &n) == 1; at += n) {
		snprintf(path, sizeof(path), "/proc/%d/comm", pid);
		file = fopen(path, "re");
		if (file == NULL)
			continue;
		if (fgets(comm, sizeof(comm), file) == NULL)
			comm[0] = 0;
		fclose(file);
		comm[strcspn(comm, "\n")] = 0;
		if (strcmp(comm, name) == 0)
			return pid;
	}
	return 0;
}

static void without_its_watcher_signals_are_still_passed_on(void **state)
{
	char *argv[] = {"sleep", "100", NULL};
	pid_t recorder = start_recorder(argv, NULL), watcher = 0;
	int status;

	(void)state;
	EVENTUALLY(child_named(recorder, "sleep") != 0);
	EVENTUALLY((watcher = child_named(recorder, "isc-group")) != 0);
	kill(watcher, SIGKILL);
	EVENTUALLY(kill(watcher, 0) < 0); /* reaped */
	kill(recorder, SIGTERM);
	status = wait_for(recorder);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGTERM);
}

/* The end may be met while it is learnt whether exec went well, before anybody polls. */
static void the_descriptor_tells_of_the_end_for_as_long_as_it_is_asked(void **state)
{
	char *argv[] = {"true", NULL};
	isc_launch_options options = {.argv = argv, .env = environ};
	isc_launch *launch;
	pid_t watcher = 0;
	int code;

	(void)state;
	assert_int_equal(isc_launch_start(&options, &launch, NULL), ISC_OK);
	struct pollfd pfd = {.fd = isc_launch_fd(launch), .events = POLLIN};

	/* Its own end would be news as well. */
	EVENTUALLY((watcher = child_named(getpid(), "isc-group")) != 0);
	kill(watcher, SIGKILL);
	EVENTUALLY(isc_launch_dispatch(launch) && kill(watcher, 0) < 0);
	assert_int_equal(isc_launch_go(launch, &code, NULL), ISC_OK);
	EVENTUALLY(!isc_launch_dispatch(launch));
	for (int i = 0; i < 3; i++) {
		assert_int_equal(poll(&pfd, 1, DEADLINE_MS), 1);
		assert_false(isc_launch_dispatch(launch));
	}
	isc_launch_free(launch);
}

static void a_stopped_watcher_holds_nothing_up(void **state)
{
	char *argv[] = {"sleep", "100", NULL};
	pid_t recorder = start_recorder(argv, NULL), watcher = 0;

	(void)state;
	EVENTUALLY(child_named(recorder, "sleep") != 0);
	EVENTUALLY((watcher = child_named(recorder, "isc-group")) != 0);
	kill(watcher, SIGSTOP);
	kill(recorder, SIGTERM);
	assert_int_equal(WTERMSIG(wait_for(recorder)), SIGTERM);
}

static void a_watcher_ends_with_its_recorder(void **state)
{
	char *argv[] = {"sleep", "100", NULL};
	pid_t recorder = start_recorder(argv, NULL), watcher = 0, program = 0;

	(void)state;
	EVENTUALLY((program = child_named(recorder, "sleep")) != 0);
	EVENTUALLY((watcher = child_named(recorder, "isc-group")) != 0);
	kill(recorder, SIGKILL);
	wait_for(recorder);
	/* Whoever adopts it may take its time to reap. */
	EVENTUALLY(isc_group_state_of(watcher) == 0 || isc_group_state_of(watcher) == 'Z');
	/* It may still be on its way to sleep. */
	EVENTUALLY(isc_group_state_of(program) == 'S');
	kill(program, SIGKILL);
}

/* ---- stopping ----------------------------------------------------------- */

static const char *const stops_itself = "kill -STOP $$; exit 3";

static void we_stop_with_the_program_and_go_on_with_it(void **state)
{
	char *argv[] = {"sh", "-c", (char *)stops_itself, NULL};
	pid_t recorder, program = 0;
	int status;

	(void)state;
	for (int which = 0; which < 3; which++) {
		recorder = start_recorder(argv, NULL);
		EVENTUALLY(isc_group_state_of(recorder) == 'T');
		assert_int_equal(waitpid(recorder, &status, WUNTRACED), recorder);
		assert_true(WIFSTOPPED(status));
		assert_int_equal(WSTOPSIG(status), SIGSTOP);
		program = child_named(recorder, "sh");
		assert_int_equal(isc_group_state_of(program), 'T');
		/* Continued as a group, the recorder alone, the program alone. */
		kill(which == 0 ? -recorder : which == 1 ? recorder : program, SIGCONT);
		status = wait_for(recorder);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 3);
	}
}

static void a_program_that_dies_while_stopped_takes_us_along(void **state)
{
	char *argv[] = {"sh", "-c", (char *)stops_itself, NULL};
	pid_t recorder = start_recorder(argv, NULL), program;

	(void)state;
	EVENTUALLY(isc_group_state_of(recorder) == 'T');
	program = child_named(recorder, "sh");
	kill(program, SIGKILL);
	assert_int_equal(WTERMSIG(wait_for(recorder)), SIGKILL);
}

/* ---- as PID 1 ----------------------------------------------------------- */

static void as_pid_1_we_reap_for_all_and_exit_with_128_and_the_signal(void **state)
{
	/* An orphan ends while the program runs; the program sees whether it stays. */
	char *orphan[] = {
		"sh", "-c",
		"(sh -c 'sleep 0.01 & echo $! >&3' &) 3>&1 | { read p; i=0; "
		"while [ -d /proc/$p ] && [ $i -lt 400 ]; do sleep 0.02; i=$((i+1)); done; [ ! -d /proc/$p ]; }",
		NULL};
	char *dies[] = {"sh", "-c", "kill -TERM $$", NULL};
	char **argvs[] = {orphan, dies};
	static const int expected[] = {0, 128 + SIGTERM};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		int status;
		pid_t pid;

		fflush(NULL);
		pid = fork();
		if (pid == 0) {
			pid_t init;

			if (unshare(CLONE_NEWPID | CLONE_NEWNS) < 0)
				_exit(77);
			init = fork();
			if (init == 0) {
				/* A /proc of this space, so that $! means something there. */
				if (system("mount --make-rprivate / && mount -t proc proc /proc") != 0)
					_exit(77);
				record(argvs[i], NULL);
			}
			waitpid(init, &status, 0);
			_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 99);
		}
		status = wait_for(pid);
		assert_true(WIFEXITED(status));
		if (WEXITSTATUS(status) == 77)
			skip(); /* needs the right to make a pid namespace */
		assert_int_equal(WEXITSTATUS(status), expected[i]);
	}
}

static _Noreturn void be_told_to_stop_in_the_middle_of_a_report(int signo)
{
	isc_output *o;

	isc_ending_on_signals(7 << 8);
	if (isc_output_open("report.md", false, NULL, &o, NULL) != ISC_OK ||
	    isc_output_write(o, "half", 4, NULL) != ISC_OK)
		_exit(99);
	raise(signo);
	_exit(98);
}

static void told_to_stop_during_the_report_we_leave_the_programs_code_and_no_file(void **state)
{
	char folder[] = "/tmp/inferscope-test-XXXXXX";
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

	(void)state;
	assert_non_null(mkdtemp(folder));
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		pid_t pid;
		int status;

		fflush(NULL);
		pid = fork();
		if (pid == 0) {
			signal(signals[i], SIG_DFL);
			if (chdir(folder) < 0)
				_exit(97);
			be_told_to_stop_in_the_middle_of_a_report(signals[i]);
		}
		status = wait_for(pid);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 7);
	}
	assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_exit_code_is_the_programs),
		cmocka_unit_test(death_by_a_signal_is_ours_too),
		cmocka_unit_test(what_cannot_be_started_is_126_or_127),
		cmocka_unit_test(a_script_without_a_first_line_is_run_by_the_shell),
		cmocka_unit_test(an_ignored_sigchld_stays_ignored_and_we_wait_all_the_same),
		cmocka_unit_test(mask_and_dispositions_reach_the_program_as_we_got_them),
		cmocka_unit_test(closed_descriptors_stay_closed_for_the_program),
		cmocka_unit_test(no_file_of_ours_becomes_a_standard_descriptor),
		cmocka_unit_test(a_launch_given_up_ends_the_waiting_child),
		cmocka_unit_test(a_program_whose_recorder_dies_before_go_runs_all_the_same),
		cmocka_unit_test(without_its_watcher_signals_are_still_passed_on),
		cmocka_unit_test(the_descriptor_tells_of_the_end_for_as_long_as_it_is_asked),
		cmocka_unit_test(a_stopped_watcher_holds_nothing_up),
		cmocka_unit_test(a_watcher_ends_with_its_recorder),
		cmocka_unit_test(we_stop_with_the_program_and_go_on_with_it),
		cmocka_unit_test(a_program_that_dies_while_stopped_takes_us_along),
		cmocka_unit_test(as_pid_1_we_reap_for_all_and_exit_with_128_and_the_signal),
		cmocka_unit_test(told_to_stop_during_the_report_we_leave_the_programs_code_and_no_file),
	};

	return cmocka_run_group_tests_name("launch", tests, NULL, NULL);
}
