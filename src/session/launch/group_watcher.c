#include "session/launch/group_watcher.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NAME "isc-group"

/* How often the program is looked at while we are stopped: nobody is told when
 * a process that is not a child goes on. */
#define GUARD_NS 20000000l

/* Orders come as the highest signal with a value: pending signals are handed
 * out lowest first, so an order is read after everything that came before it. */
enum order { ORDER_ASK = 1, ORDER_GUARD = 2 };

static void send_order(const isc_group *g, enum order order, uint32_t argument)
{
	union sigval value = {.sival_ptr = (void *)(uintptr_t)((uint64_t)order << 32 | argument)};

	/* A full queue of signals leaves the question unanswered; the relay has
	 * its own limit for that. */
	if (g->pid > 0)
		sigqueue(g->pid, SIGRTMAX, value);
}

char isc_group_state_of(pid_t pid)
{
	char path[32], text[512], *end;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return 0;
	text[n] = 0;
	/* The name may hold anything, brackets too; the last one ends it. */
	end = strrchr(text, ')');
	return end != NULL && end[1] == ' ' ? end[2] : 0;
}

/* Where the kernel reads our command line from: arguments and environment lie
 * in one row. */
static bool title_area(char **start, size_t *args, size_t *all)
{
	char text[1024], *at;
	unsigned long edge[4];
	ssize_t n;
	int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return false;
	text[n] = 0;
	at = strrchr(text, ')');
	/* proc(5): the state behind the name is field 3, arg_start is field 48. */
	for (int field = 2; at != NULL && field < 48; field++) {
		at = strchr(at, ' ');
		if (at != NULL)
			at++;
	}
	if (at == NULL || sscanf(at, "%lu %lu %lu %lu", &edge[0], &edge[1], &edge[2], &edge[3]) != 4)
		return false;
	if (edge[0] == 0 || edge[1] <= edge[0])
		return false;
	*start = (char *)edge[0];
	*args = edge[1] - edge[0];
	*all = edge[2] == edge[1] && edge[3] > edge[2] ? edge[3] - edge[0] : *args;
	return true;
}

static void set_title(char *const *argv)
{
	char title[4096];
	char *area;
	size_t args, all, len = 0;

	prctl(PR_SET_NAME, NAME);
	if (!title_area(&area, &args, &all))
		return;
	/* Copied first: the program's arguments may lie in the area itself. */
	len = (size_t)snprintf(title, sizeof(title), NAME);
	for (size_t i = 0; argv[i] != NULL && len + 1 < sizeof(title); i++) {
		size_t n = strlen(argv[i]);

		if (n > sizeof(title) - len - 2)
			n = sizeof(title) - len - 2;
		title[len++] = ' ';
		memcpy(title + len, argv[i], n);
		len += n;
	}
	if (len > all - 1)
		len = all - 1;
	/* Longer than the arguments' own room it runs on into the environment's,
	 * which the kernel follows when the byte at the end is not NUL. */
	memcpy(area, title, len);
	memset(area + len, 0, all - len);
}

static void close_all_from(unsigned first)
{
	struct rlimit limit;

#ifdef SYS_close_range
	if (syscall(SYS_close_range, first, ~0u, 0) == 0)
		return;
#endif
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur > 65536)
		limit.rlim_cur = 65536;
	for (unsigned fd = first; fd < limit.rlim_cur; fd++)
		close((int)fd);
}

static void look_after(pid_t program, pid_t recorder)
{
	char state = isc_group_state_of(program);

	if (state != 'T' && state != 't' && isc_group_state_of(recorder) == 'T')
		kill(recorder, SIGCONT);
}

static _Noreturn void watch(int fd, pid_t recorder, char *const *argv)
{
	const struct timespec tick = {0, GUARD_NS};
	pid_t guarded = 0;
	siginfo_t si;
	sigset_t all;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != recorder)
		_exit(0);
	set_title(argv);
	if (fd != 0 && dup2(fd, 0) < 0)
		_exit(0);
	close_all_from(1);
	if (chdir("/") < 0)
		_exit(0); /* never seen, and a folder held busy is worse than no watcher */
	sigfillset(&all);
	for (;;) {
		isc_group_news news = {0};
		int signo = guarded ? sigtimedwait(&all, &si, &tick) : sigwaitinfo(&all, &si);

		if (signo < 0) {
			if (guarded)
				look_after(guarded, recorder);
			continue;
		}
		if (signo == SIGRTMAX && si.si_code == SI_QUEUE && si.si_pid == recorder) {
			uint64_t order = (uint64_t)(uintptr_t)si.si_value.sival_ptr;

			if (order >> 32 == ORDER_GUARD) {
				guarded = (pid_t)(uint32_t)order;
				continue;
			}
			news.question = (uint32_t)order;
		} else {
			news.signo = signo;
			news.from = si.si_pid;
		}
		if (write(0, &news, sizeof(news)) < 0 && errno != EAGAIN)
			_exit(0);
	}
}

isc_status isc_group_start(isc_group *g, char *const *argv, isc_error *err)
{
	pid_t recorder = getpid(), pid;
	sigset_t all, before;
	int ends[2];

	g->pid = 0;
	g->fd = -1;
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
		return isc_fail_errno(err, "cannot make a pipe");
	/* From its first moment the watcher must hold everything back. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	pid = fork();
	if (pid == 0)
		watch(ends[1], recorder, argv);
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(ends[1]);
	if (pid < 0) {
		isc_fail_errno(err, "cannot start the group watcher");
		close(ends[0]);
		return ISC_ERR_SYSTEM;
	}
	g->pid = pid;
	g->fd = ends[0];
	return ISC_OK;
}

void isc_group_stop(isc_group *g)
{
	if (g->fd >= 0)
		close(g->fd);
	g->fd = -1;
	if (g->pid > 0) {
		kill(g->pid, SIGKILL);
		while (waitpid(g->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	g->pid = 0;
}

bool isc_group_read(isc_group *g, isc_group_news *out)
{
	ssize_t n;

	if (g->fd < 0)
		return false;
	do
		n = read(g->fd, out, sizeof(*out));
	while (n < 0 && errno == EINTR);
	if (n == (ssize_t)sizeof(*out))
		return true;
	if (n == 0)
		isc_group_stop(g);
	return false;
}

void isc_group_ask(const isc_group *g, uint32_t question)
{
	send_order(g, ORDER_ASK, question);
}

void isc_group_guard(const isc_group *g, pid_t program)
{
	send_order(g, ORDER_GUARD, (uint32_t)program);
}
