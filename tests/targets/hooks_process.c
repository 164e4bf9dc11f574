/* hooks_process.c - the hooked functions of sleep, signals, children and programs; see hooks.h.
 * flags: -fno-builtin -Wno-deprecated-declarations -Wno-nonnull */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <wordexp.h>

#include "hooks.h"

typedef void (*handler)(int);
handler bsd_signal(int, handler);

static volatile sig_atomic_t handled;

static void on_signal(int number)
{
	handled += number;
}

/* A signal in 3 ms, for the calls that wait for one. */
static void alarm_soon(void)
{
	struct itimerval soon = {.it_value = {0, 3000}};

	signal(SIGALRM, on_signal);
	setitimer(ITIMER_REAL, &soon, NULL);
}

static void c_sleep(void)
{
	struct timespec brief = {0, 1000000}, left = {0, 0}, bad = {0, -1};

	TRY(nanosleep(&brief, &left));
	TRY(nanosleep(&bad, &left));
	TRY(clock_nanosleep(CLOCK_MONOTONIC, 0, &brief, &left));
	TRY(clock_nanosleep(CLOCK_MONOTONIC, 0, &bad, &left));
	TRY(usleep(1000));
	TRY(sleep(0));
	alarm_soon();
	TRY(sleep(1) <= 1);
	TRY(sched_yield());
}

static void c_pause(void)
{
	alarm_soon();
	TRY(pause());
}

/* ---- children ----------------------------------------------------------- */

static pid_t child(int code)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(code);
	return pid;
}

static void c_wait(void)
{
	siginfo_t info;
	int status;
	pid_t pid = child(3);

	say(" %d", wait(&status) == pid && WEXITSTATUS(status) == 3);
	pid = child(4);
	say(" %d", waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 4);
	pid = child(5);
	say(" %d", wait4(pid, &status, 0, NULL) == pid && WEXITSTATUS(status) == 5);
	pid = child(6);
	TRY(waitid(P_PID, (id_t)pid, &info, WEXITED));
	say(" %d", info.si_status);
	TRY(wait(NULL));
	TRY(waitpid(-1, &status, WNOHANG));
	TRY(wait4(-1, &status, 0, NULL));
	TRY(waitid(P_ALL, 0, &info, WEXITED));
}

static void c_exit(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_Exit(6);
	waitpid(pid, &status, 0);
	say(" %d", WEXITSTATUS(status));
}

static void c_daemon(void)
{
	int ends[2], status;
	char byte = 0;
	pid_t pid;

	if (pipe(ends) != 0)
		exit(1);
	pid = fork();
	if (pid == 0) {
		/* daemon() ends this process and goes on in another. */
		if (daemon(1, 1) == 0 && write(ends[1], "d", 1) == 1)
			_exit(0);
		_exit(1);
	}
	waitpid(pid, &status, 0);
	if (read(ends[0], &byte, 1) != 1)
		byte = '?';
	say(" %d %c", WEXITSTATUS(status), byte);
	close(ends[0]);
	close(ends[1]);
}

static void *body(void *arg)
{
	return arg;
}

static void c_pthread_create(void)
{
	pthread_attr_t attr;
	pthread_t thread;
	void *result;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 16384);
	TRY(pthread_create(&thread, &attr, body, (void *)7));
	pthread_join(thread, &result);
	say(" %ld", (long)result);
}

/* ---- signals ------------------------------------------------------------ */

/* Each way to install a handler, and how often it then runs. */
#define INSTALLS(call) \
	do { \
		handler old_; \
		signal(SIGUSR1, SIG_DFL); \
		old_ = (call); \
		handled = 0; \
		raise(SIGUSR1); \
		say(" %d %d", old_ == SIG_DFL, (int)handled); \
		TRY((call) == SIG_ERR); \
	} while (0)

static void c_signal(void)
{
	INSTALLS(signal(SIGUSR1, on_signal));
	INSTALLS(ssignal(SIGUSR1, on_signal));
	INSTALLS(bsd_signal(SIGUSR1, on_signal));
	INSTALLS(sysv_signal(SIGUSR1, on_signal));
	INSTALLS(__sysv_signal(SIGUSR1, on_signal));
	INSTALLS(sigset(SIGUSR1, on_signal));
	TRY((long)signal(SIGKILL, on_signal));
	signal(SIGUSR1, SIG_DFL);
}

static void c_sigaction(void)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESETHAND}, old;

	TRY(sigaction(SIGUSR2, &action, NULL));
	TRY(sigaction(SIGUSR2, NULL, &old));
	say(" %d", old.sa_handler == on_signal);
	handled = 0;
	raise(SIGUSR2);
	sigaction(SIGUSR2, NULL, &old);
	say(" %d %d", (int)handled, old.sa_handler == SIG_DFL);
	TRY(sigaction(SIGKILL, &action, NULL));
}

static void c_sigmask(void)
{
	sigset_t set, old;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGURG);
	TRY(sigprocmask(SIG_BLOCK, &set, NULL));
	TRY(pthread_sigmask(SIG_UNBLOCK, &set, &old));
	say(" %d %d", sigismember(&old, SIGUSR1), sigismember(&old, SIGUSR2));
	TRY(sigprocmask(99, &set, NULL));
	TRY(pthread_sigmask(99, &set, NULL));
}

static void c_old_masks(void)
{
	sigset_t now;

	say(" %x", (unsigned)sigsetmask(1 << (SIGUSR1 - 1)));
	say(" %x", (unsigned)sigblock(1 << (SIGUSR2 - 1) | 1 << (SIGURG - 1)));
	TRY(sighold(SIGURG));
	TRY(sighold(SIGIO));
	TRY(sighold(0));
	TRY(sigrelse(SIGURG));
	TRY(sigrelse(SIGUSR1));
	TRY(sigrelse(-1));
	sigprocmask(SIG_BLOCK, NULL, &now);
	say(" %d %d %d %d", sigismember(&now, SIGUSR1), sigismember(&now, SIGUSR2), sigismember(&now, SIGURG),
	    sigismember(&now, SIGIO));
	say(" %x", (unsigned)sigsetmask(-1));
	say(" %x", (unsigned)sigblock(0));
	say(" %x", (unsigned)sigsetmask(0));
	sigprocmask(SIG_BLOCK, NULL, &now);
	say(" %d", sigismember(&now, SIGURG));
}

static void c_sigwait(void)
{
	struct timespec brief = {0, 1000000};
	siginfo_t info;
	sigset_t set, old, pending;
	int number = 0;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, &old);
	raise(SIGUSR1);
	TRY(sigpending(&pending));
	say(" %d%d", sigismember(&pending, SIGUSR1), sigismember(&pending, SIGURG));
	TRY(sigwait(&set, &number));
	say(" %d", number);
	raise(SIGUSR1);
	TRY(sigwaitinfo(&set, &info));
	raise(SIGUSR1);
	TRY(sigtimedwait(&set, &info, NULL));
	TRY(sigtimedwait(&set, &info, &brief));
	sigprocmask(SIG_SETMASK, &old, NULL);
	alarm_soon();
	TRY(sigsuspend(&old));
}

static void c_signalfd(void)
{
	struct signalfd_siginfo info;
	sigset_t set, old;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, &old);
	fd = signalfd(-1, &set, SFD_NONBLOCK);
	raise(SIGUSR1);
	TRY(read(fd, &info, sizeof(info)));
	say(" %u", info.ssi_signo);
	TRY(read(fd, &info, sizeof(info)));
	TRY(signalfd(1, &set, 0));
	close(fd);
	sigprocmask(SIG_SETMASK, &old, NULL);
}

/* ---- programs ----------------------------------------------------------- */

static char *const with_name[] = {(char *)"sh", (char *)"-c", (char *)"test \"$0-$HOOK\" = 'second-set' && exit 7",
				  (char *)"second", NULL};
static char *const variables[] = {(char *)"HOOK=set", NULL};

/* Shows how the program ended that the call starts. */
#define STARTS(call) \
	do { \
		int status_; \
		pid_t pid_ = fork(); \
		if (pid_ == 0) { \
			(void)(call); \
			_exit(100 + errno); \
		} \
		waitpid(pid_, &status_, 0); \
		say(" %d", WEXITSTATUS(status_)); \
	} while (0)

static void c_execve(void)
{
	STARTS(execve("/bin/sh", with_name, variables));
	STARTS(execve("/bin/sh", with_name, NULL));
}

static void c_execv(void)
{
	setenv("HOOK", "set", 1);
	STARTS(execv("/bin/sh", with_name));
	unsetenv("HOOK");
}

static void c_execvp(void)
{
	setenv("HOOK", "set", 1);
	STARTS(execvp("sh", with_name));
	unsetenv("HOOK");
}

static void c_execvpe(void)
{
	STARTS(execvpe("sh", with_name, variables));
	STARTS(execvpe("/bin/sh", with_name, variables));
}

static void c_execl(void)
{
	STARTS(execl("/bin/sh", "sh", "-c", "exit $1", "0", "7", NULL));
}

static void c_execlp(void)
{
	STARTS(execlp("sh", "sh", "-c", "exit $2", "0", "1", "7", NULL));
}

static void c_execle(void)
{
	STARTS(execle("/bin/sh", "sh", "-c", "test $HOOK = set && exit 7", NULL, variables));
}

static void c_execveat(void)
{
	int sh = open("/bin/sh", O_PATH | O_CLOEXEC), bin = open("/bin", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	STARTS(execveat(AT_FDCWD, "/bin/sh", with_name, variables, 0));
	STARTS(execveat(bin, "sh", with_name, variables, 0));
	STARTS(execveat(sh, "", with_name, variables, AT_EMPTY_PATH));
	close(sh);
	close(bin);
}

static void c_fexecve(void)
{
	int sh = open("/bin/sh", O_RDONLY | O_CLOEXEC);

	STARTS(fexecve(sh, with_name, variables));
	close(sh);
}

/* Errors of files that cannot be started, and of the search for one. */
static void c_exec_errors(void)
{
	char folder[] = "/tmp/hooks-XXXXXX", plain[64], text[64], broken[64], old_path[1024], path[1200];
	static char *const two[] = {(char *)"name", (char *)"one", NULL};
	int fd;

	if (mkdtemp(folder) == NULL)
		exit(1);
	snprintf(plain, sizeof(plain), "%s/plain", folder);    /* not executable */
	snprintf(text, sizeof(text), "%s/text", folder);       /* for the shell, without #! */
	snprintf(broken, sizeof(broken), "%s/broken", folder); /* its interpreter is not there */
	close(open(plain, O_CREAT | O_WRONLY, 0600));
	fd = open(text, O_CREAT | O_WRONLY, 0700);
	if (write(fd, "test $1 = one && exit 9\n", 24) != 24)
		exit(1);
	close(fd);
	fd = open(broken, O_CREAT | O_WRONLY, 0700);
	if (write(fd, "#!/nowhere/sh\n", 14) != 14)
		exit(1);
	close(fd);

	TRY(execve("/nowhere/at/all", two, variables));
	TRY(execve("/", two, variables));
	TRY(execve(plain, two, variables));
	TRY(execve(text, two, variables));
	TRY(execve(broken, two, variables));
	TRY(execve((const char *)1, two, variables));
	TRY(execv("/bin/sh/x", two));
	TRY(execl("/nowhere", "x", NULL));
	TRY(execle("/nowhere", "x", NULL, variables));
	TRY(execvp("", two));
	TRY(execvp("no-such-program", two));
	TRY(execlp("no-such-program", "x", NULL));
	TRY(execveat(-1, "x", two, variables, 0));
	TRY(execveat(-1, "", two, variables, AT_EMPTY_PATH));
	TRY(execveat(AT_FDCWD, "/bin/sh", two, variables, 1 << 30));
	TRY(fexecve(-1, two, variables));

	snprintf(old_path, sizeof(old_path), "%s", getenv("PATH"));
	snprintf(path, sizeof(path), "/nowhere:%s:%s", folder, old_path);
	setenv("PATH", path, 1);
	TRY(execvp("plain", two)); /* found, but not to be run */
	TRY(execvpe("broken", two, variables));
	STARTS(execvp("text", two)); /* the shell runs it */
	STARTS(execlp("text", "text", "one", NULL));
	STARTS(execvpe(text, two, variables));
	unsetenv("PATH");
	STARTS(execvp("sh", with_name));
	setenv("PATH", ":/bin", 1); /* empty: the working directory */
	if (chdir(folder) != 0)
		exit(1);
	STARTS(execvp("text", two));
	if (chdir("/") != 0)
		exit(1);
	setenv("PATH", old_path, 1);
	unlink(plain);
	unlink(text);
	unlink(broken);
	rmdir(folder);
}

static void show_spawn(int code, const pid_t *pid)
{
	int status = 0;

	say(" %d", code);
	if (code == 0) {
		waitpid(*pid, &status, 0);
		say(":%d", WEXITSTATUS(status));
	}
}

static void c_spawn(void)
{
	pid_t pid = 0;

	show_spawn(posix_spawn(&pid, "/bin/sh", NULL, NULL, with_name, variables), &pid);
	show_spawn(posix_spawnp(&pid, "sh", NULL, NULL, with_name, variables), &pid);
	show_spawn(posix_spawn(&pid, "/nowhere", NULL, NULL, with_name, variables), &pid);
	show_spawn(posix_spawnp(&pid, "no-such-program", NULL, NULL, with_name, variables), &pid);
	show_spawn(posix_spawn(&pid, "/bin", NULL, NULL, with_name, variables), &pid);
}

static void c_shell(void)
{
	char line[32] = "";
	wordexp_t words;
	FILE *pipe;

	fflush(stdout);
	say(" %d", WEXITSTATUS(system("exit 7")));
	say(" %d", system(NULL) != 0);
	pipe = popen("echo of popen", "r");
	say(" %s", pipe != NULL && fgets(line, sizeof(line), pipe) != NULL ? strtok(line, "\n") : "-");
	say(" %d", pipe != NULL ? WEXITSTATUS(pclose(pipe)) : -1);
	TRY(popen("true", "neither") == NULL ? -1 : 0);
	say(" %d", wordexp("$(echo a b) c", &words, 0));
	say(":%zu", words.we_wordc);
	wordfree(&words);
	say(" %d", wordexp("$(", &words, 0));
}

static void c_getenv(void)
{
	const char *home;

	setenv("TARGETS_HOOKS", "set", 1);
	home = getenv("TARGETS_HOOKS");
	say(" %s", home != NULL ? home : "-");
	unsetenv("TARGETS_HOOKS");
	say(" %d %d", getenv("TARGETS_HOOKS") == NULL, getenv("") == NULL);
	/* The one that has an answer in a session: who set it himself gets his. */
	setenv("NVTX_INJECTION64_PATH", "/mine.so", 1);
	say(" %s", getenv("NVTX_INJECTION64_PATH"));
	unsetenv("NVTX_INJECTION64_PATH");
	say(" %d", getenv("NVTX_INJECTION64_PAT") == NULL);
}

static void c_secure_getenv(void)
{
	setenv("TARGETS_HOOKS", "a value", 1);
	say(" %s", secure_getenv("TARGETS_HOOKS"));
	unsetenv("TARGETS_HOOKS");
	say(" %d %d", secure_getenv("TARGETS_HOOKS") == NULL, secure_getenv("") == NULL);
}

static void c_prctl(void)
{
	char name[16] = "";

	TRY(prctl(PR_SET_NAME, "renamed"));
	TRY(prctl(PR_GET_NAME, name));
	say(" %s", name);
	TRY(prctl(PR_GET_DUMPABLE));
	TRY(prctl(PR_SET_NO_NEW_PRIVS, 2, 0, 0, 0));
	TRY(prctl(-1, 0, 0, 0, 0));
	TRY(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
}

int main(int argc, char **argv)
{
	static const hook_case cases[] = {
		{"nanosleep", c_sleep, NULL},
		{"clock_nanosleep", c_sleep, NULL},
		{"usleep", c_sleep, NULL},
		{"sleep", c_sleep, NULL},
		{"sched_yield", c_sleep, NULL},
		{"pause", c_pause, NULL},
		{"wait", c_wait, NULL},
		{"waitpid", c_wait, NULL},
		{"wait4", c_wait, NULL},
		{"waitid", c_wait, NULL},
		{"fork", c_wait, NULL},
		{"_exit", c_wait, NULL},
		{"_Exit", c_exit, NULL},
		{"daemon", c_daemon, NULL},
		{"pthread_create", c_pthread_create, NULL},
		{"signal", c_signal, NULL},
		{"ssignal", c_signal, NULL},
		{"bsd_signal", c_signal, NULL},
		{"sysv_signal", c_signal, NULL},
		{"__sysv_signal", c_signal, NULL},
		{"sigset", c_signal, NULL},
		{"sigaction", c_sigaction, NULL},
		{"sigprocmask", c_sigmask, NULL},
		{"pthread_sigmask", c_sigmask, NULL},
		{"sigsetmask", c_old_masks, NULL},
		{"sigblock", c_old_masks, NULL},
		{"sighold", c_old_masks, NULL},
		{"sigrelse", c_old_masks, NULL},
		{"sigpending", c_sigwait, NULL},
		{"sigwait", c_sigwait, NULL},
		{"sigwaitinfo", c_sigwait, NULL},
		{"sigtimedwait", c_sigwait, NULL},
		{"sigsuspend", c_sigwait, NULL},
		{"signalfd", c_signalfd, NULL},
		{"execve", c_execve, NULL},
		{"execve", c_exec_errors, NULL},
		{"execv", c_execv, "execve"},
		{"execvp", c_execvp, "execvpe"},
		{"execvpe", c_execvpe, NULL},
		{"execl", c_execl, "execve"},
		{"execlp", c_execlp, "execvpe"},
		{"execle", c_execle, "execve"},
		{"execveat", c_execveat, NULL},
		{"fexecve", c_fexecve, NULL},
		{"posix_spawn", c_spawn, NULL},
		{"posix_spawnp", c_spawn, NULL},
		{"getenv", c_getenv, NULL},
		{"secure_getenv", c_secure_getenv, NULL},
		{"system", c_shell, NULL},
		{"popen", c_shell, NULL},
		{"wordexp", c_shell, NULL},
		{"prctl", c_prctl, NULL},
	};

	return hook_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
