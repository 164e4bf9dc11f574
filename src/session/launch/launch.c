#include "session/launch/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "session/launch/exit_status.h"
#include "session/launch/group_watcher.h"
#include "session/launch/signal_relay.h"
#include "session/launch/signals.h"

struct isc_launch {
	pid_t child;
	char *name; /* argv[0], for messages */
	int status;
	struct rusage use;	/* of it and of the children that it waited for */
	bool gone, ended, init; /* init: we are PID 1 and reap for all */
	int go_fd, error_fd;	/* to and from the waiting child; -1 */
	int poll_fd, timer_fd;
	uint64_t timer_ns; /* what the timer is set to */
	isc_signals signals;
	isc_group group;
	isc_relay relay;
};

void isc_launch_hold_standard(void)
{
	int fd;

	/* open() gives the lowest free one, so this ends with the first above 2. */
	do
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	while (fd >= 0 && fd <= 2);
	if (fd > 2)
		close(fd);
}

void isc_launch_release_standard(void)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return;
	dup3(fd, 0, O_CLOEXEC);
	dup3(fd, 1, O_CLOEXEC);
	close(fd);
}

/* In the forked child.  Everything it opened is closed by exec. */
static _Noreturn void be_the_program(const isc_launch_options *options, const isc_signals *signals, int go_fd,
				     int error_fd)
{
	sigset_t pipe_signal;
	char word;
	ssize_t n;
	int failed;

	isc_signals_give_back(signals);
	/* End of file means that the recorder is gone.  Then the program runs all
	 * the same: it is not ours to keep. */
	do
		n = read(go_fd, &word, 1);
	while (n < 0 && errno == EINTR);
	execvpe(options->argv[0], options->argv, options->env);
	failed = errno;
	/* With the recorder gone there is no reader; the exit code still counts. */
	sigemptyset(&pipe_signal);
	sigaddset(&pipe_signal, SIGPIPE);
	sigprocmask(SIG_BLOCK, &pipe_signal, NULL);
	n = write(error_fd, &failed, sizeof(failed));
	_exit(failed == ENOENT ? 127 : 126);
}

static bool is_running(pid_t pid)
{
	return isc_group_state_of(pid) == 'R';
}

static isc_status watch_fds(isc_launch *l, isc_error *err)
{
	const int fds[] = {l->signals.fd, l->timer_fd, l->group.fd};

	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
		struct epoll_event event = {.events = EPOLLIN};

		if (fds[i] >= 0 && epoll_ctl(l->poll_fd, EPOLL_CTL_ADD, fds[i], &event) < 0)
			return isc_fail_errno(err, "cannot watch for signals");
	}
	return ISC_OK;
}

static isc_status fork_program(isc_launch *l, const isc_launch_options *options, isc_error *err)
{
	int go[2], error[2];

	if (pipe2(go, O_CLOEXEC) < 0)
		return isc_fail_errno(err, "cannot make a pipe");
	if (pipe2(error, O_CLOEXEC) < 0) {
		isc_fail_errno(err, "cannot make a pipe");
		close(go[0]);
		close(go[1]);
		return ISC_ERR_SYSTEM;
	}
	l->child = fork();
	if (l->child == 0) {
		close(go[1]);
		close(error[0]);
		be_the_program(options, &l->signals, go[0], error[1]);
	}
	if (l->child < 0)
		isc_fail_errno(err, "cannot start a process for %s", options->argv[0]);
	close(go[0]);
	close(error[1]);
	l->go_fd = go[1];
	l->error_fd = error[0];
	return l->child < 0 ? ISC_ERR_SYSTEM : ISC_OK;
}

isc_status isc_launch_start(const isc_launch_options *options, isc_launch **out, isc_error *err)
{
	isc_launch *l = calloc(1, sizeof(*l));
	isc_status st;

	*out = NULL;
	if (l != NULL)
		l->name = strdup(options->argv[0]);
	if (l == NULL || l->name == NULL) {
		free(l);
		return isc_fail(err, ISC_ERR_NOMEM, "no memory to start %s", options->argv[0]);
	}
	isc_launch_hold_standard();
	l->go_fd = l->error_fd = l->poll_fd = l->timer_fd = l->group.fd = l->signals.fd = -1;
	l->timer_ns = UINT64_MAX;
	l->init = getpid() == 1;
	st = isc_signals_hold(&l->signals, err);
	if (st != ISC_OK)
		goto out;
	l->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	l->poll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (l->timer_fd < 0 || l->poll_fd < 0) {
		st = isc_fail_errno(err, "cannot watch for signals");
		goto out;
	}
	/* Without a watcher a group's signal may arrive twice: no reason to fail. */
	isc_group_start(&l->group, options->argv, NULL);
	isc_relay_init(&l->relay, getpid(), l->group.pid, getsid(0) == getpid());
	l->relay.busy = is_running;
	st = watch_fds(l, err);
	if (st == ISC_OK)
		st = fork_program(l, options, err);
	l->relay.program = l->child;
out:
	if (st != ISC_OK) {
		if (err != NULL && err->sys == EMFILE)
			isc_hint(err, "raise the limit of open files (ulimit -n)");
		isc_launch_free(l);
		l = NULL;
	}
	*out = l;
	return st;
}

pid_t isc_launch_pid(const isc_launch *l)
{
	return l->child;
}

int isc_launch_fd(const isc_launch *l)
{
	return l->poll_fd;
}

int isc_launch_status(const isc_launch *l)
{
	return l->status;
}

const struct rusage *isc_launch_use(const isc_launch *l)
{
	return &l->use;
}

static void end(isc_launch *l, int status, const struct rusage *use)
{
	const struct itimerspec now = {.it_value.tv_nsec = 1};

	/* From now on the descriptor is ready: whoever polls it next may not have
	 * seen this, and nothing else will come. */
	timerfd_settime(l->timer_fd, 0, &now, NULL);
	l->status = status;
	l->use = *use;
	l->ended = true;
	isc_group_stop(&l->group);
}

/* The shell must see the job stop when the program does, and only then. */
static void stop_too(isc_launch *l, int signo)
{
	/* PID 1 cannot stop; without the watcher nobody would wake us when someone
	 * lets the program alone go on. */
	if (l->init || l->group.pid == 0 || isc_group_state_of(l->child) == 0)
		return;
	isc_group_guard(&l->group, l->child);
	isc_signals_stop(&l->signals, signo);
	isc_group_guard(&l->group, 0);
}

static void reap(isc_launch *l)
{
	struct rusage use;
	int status;
	pid_t pid;

	while (!l->ended && (pid = wait4(l->init ? -1 : l->child, &status, WNOHANG | WUNTRACED, &use)) > 0) {
		if (pid == l->child && WIFSTOPPED(status))
			stop_too(l, WSTOPSIG(status));
		else if (pid == l->child)
			end(l, status, &use);
		else if (pid == l->group.pid && !WIFSTOPPED(status))
			l->group.pid = 0; /* its pipe says so too */
	}
	if (!l->init || !l->ended)
		return;
	while (waitpid(-1, &status, WNOHANG) > 0)
		;
}

static void set_timer(isc_launch *l)
{
	uint64_t due = isc_relay_due_ns(&l->relay);
	struct itimerspec spec = {0};

	if (due == l->timer_ns)
		return;
	l->timer_ns = due;
	if (due != UINT64_MAX) {
		spec.it_value.tv_sec = (time_t)(due / 1000000000u);
		spec.it_value.tv_nsec = (long)(due % 1000000000u);
	}
	timerfd_settime(l->timer_fd, TFD_TIMER_ABSTIME, &spec, NULL);
}

static void pass_on(isc_launch *l, uint64_t now_ns)
{
	isc_signal signal;

	while (isc_relay_take(&l->relay, now_ns, &signal))
		isc_signals_send(l->child, &signal);
}

static void hear_the_watcher(isc_launch *l, uint64_t now_ns)
{
	isc_group_news news;

	while (isc_group_read(&l->group, &news)) {
		if (news.question != 0)
			isc_relay_answered(&l->relay, news.question);
		else
			isc_relay_seen(&l->relay, news.signo, news.from, now_ns);
	}
	if (l->group.fd < 0 && l->relay.watcher != 0)
		isc_relay_alone(&l->relay);
}

bool isc_launch_dispatch(isc_launch *l)
{
	uint64_t now_ns = isc_clock_mono_ns(), expirations;
	isc_signal signal;
	uint32_t question;
	bool child_news = false;

	if (l->ended)
		return false;
	if (read(l->timer_fd, &expirations, sizeof(expirations)) > 0)
		l->timer_ns = UINT64_MAX;
	while (isc_signals_read(&l->signals, &signal)) {
		if (signal.signo == SIGCHLD)
			child_news = true;
		else if (!isc_relay_got(&l->relay, &signal, now_ns)) {
			pass_on(l, now_ns);
			isc_relay_got(&l->relay, &signal, now_ns);
		}
	}
	hear_the_watcher(l, now_ns);
	if (isc_relay_ask(&l->relay, now_ns, &question))
		isc_group_ask(&l->group, question);
	pass_on(l, now_ns);
	set_timer(l);
	if (child_news)
		reap(l);
	return !l->ended;
}

int isc_launch_wait(isc_launch *l)
{
	struct pollfd pfd = {.fd = l->poll_fd, .events = POLLIN};

	while (isc_launch_dispatch(l))
		poll(&pfd, 1, -1);
	return l->status;
}

/* Reads what the child says about its exec; 0 when it went well. */
static int exec_result(isc_launch *l)
{
	struct pollfd pfds[2] = {{.fd = l->error_fd, .events = POLLIN}, {.fd = l->poll_fd, .events = POLLIN}};
	int failed = 0;
	ssize_t n;

	/* ^Z may stop it even here, so signals are served meanwhile. */
	for (;;) {
		if (poll(pfds, 2, -1) < 0)
			continue;
		if (pfds[1].revents & POLLIN && !isc_launch_dispatch(l))
			pfds[1].fd = -1;
		if (pfds[0].revents & (POLLIN | POLLHUP))
			break;
	}
	do
		n = read(l->error_fd, &failed, sizeof(failed));
	while (n < 0 && errno == EINTR);
	close(l->error_fd);
	l->error_fd = -1;
	return n == (ssize_t)sizeof(failed) ? failed : 0;
}

static isc_status cannot_start(const char *name, int failed, int *exit_code, isc_error *err)
{
	*exit_code = failed == ENOENT ? 127 : 126;
	errno = failed;
	isc_fail_errno(err, "cannot start %s", name);
	isc_hint(err, "%s",
		 failed == ENOENT ? "check the name, or the interpreter in its first line"
				  : "check the name and its permissions");
	return failed == ENOENT ? ISC_ERR_ABSENT : ISC_ERR_DENIED;
}

/* 0, or why exec would refuse this file. */
static int why_not(const char *path)
{
	struct stat sb;

	if (stat(path, &sb) < 0)
		return errno;
	return S_ISREG(sb.st_mode) && faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0 ? 0 : EACCES;
}

isc_status isc_launch_check(const char *program, int *exit_code, isc_error *err)
{
	const char *path = getenv("PATH");
	char full[PATH_MAX];
	int failed = ENOENT;

	if (strchr(program, '/') != NULL) {
		failed = why_not(program);
		return failed == 0 ? ISC_OK : cannot_start(program, failed, exit_code, err);
	}
	for (path = path != NULL ? path : "/bin:/usr/bin";; path++) {
		size_t len = strcspn(path, ":");
		int n = snprintf(full, sizeof(full), "%.*s%s%s", (int)len, path, len > 0 ? "/" : "", program);
		int why = program[0] != 0 && n > 0 && (size_t)n < sizeof(full) ? why_not(full) : ENOENT;

		if (why == 0)
			return ISC_OK;
		if (why == EACCES)
			failed = EACCES;
		path += len;
		if (*path == 0)
			return cannot_start(program, failed, exit_code, err);
	}
}

isc_status isc_launch_go(isc_launch *l, int *exit_code, isc_error *err)
{
	const char word = 0;
	int failed;

	*exit_code = 0;
	while (write(l->go_fd, &word, 1) < 0 && errno == EINTR)
		;
	close(l->go_fd);
	l->go_fd = -1;
	l->gone = true;
	failed = exec_result(l);
	if (failed == 0)
		return ISC_OK;
	isc_launch_wait(l);
	return cannot_start(l->name, failed, exit_code, err);
}

void isc_launch_restore_signals(isc_launch *l)
{
	if (l->ended)
		isc_ending_on_signals(l->status);
	isc_signals_release(&l->signals);
}

void isc_launch_free(isc_launch *l)
{
	if (l == NULL)
		return;
	if (l->child > 0 && !l->gone) {
		kill(l->child, SIGKILL);
		while (waitpid(l->child, NULL, 0) < 0 && errno == EINTR)
			;
	}
	isc_group_stop(&l->group);
	isc_signals_release(&l->signals);
	if (l->go_fd >= 0)
		close(l->go_fd);
	if (l->error_fd >= 0)
		close(l->error_fd);
	if (l->timer_fd >= 0)
		close(l->timer_fd);
	if (l->poll_fd >= 0)
		close(l->poll_fd);
	free(l->name);
	free(l);
}
