/* Small C programs, each with one behaviour that a profiler could spoil: harmless NAME. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_key_t key;
static atomic_int destroyed;

static void destroy(void *value)
{
	(void)value;
	destroyed++;
}

static void *use_key(void *arg)
{
	pthread_setspecific(key, arg);
	return arg;
}

static int threads(void)
{
	pthread_t t[50];

	pthread_key_create(&key, destroy);
	for (int i = 0; i < 50; i++)
		pthread_create(&t[i], NULL, use_key, &t[i]);
	for (int i = 0; i < 50; i++)
		pthread_join(t[i], NULL);
	printf("%d\n", destroyed);
	return 0;
}

static void *stack_user(void *arg)
{
	char local[512];

	memset(local, 1, sizeof(local));
	return local[511] ? arg : NULL;
}

static int tiny_stacks(void)
{
	pthread_attr_t attr;
	pthread_t t;

	pthread_attr_init(&attr);
	printf("%d\n", pthread_attr_setstacksize(&attr, 16384));
	for (int i = 0; i < 100; i++) {
		if (pthread_create(&t, &attr, stack_user, NULL) != 0)
			return 1;
		pthread_join(t, NULL);
	}
	return 0;
}

static int vfork_exec(void)
{
	int status;

	for (int i = 0; i < 20; i++) {
		pid_t pid = vfork();

		if (pid == 0) {
			execl("/bin/sh", "sh", "-c", "exit 11", (char *)NULL);
			_exit(99);
		}
		waitpid(pid, &status, 0);
		printf("%d ", WEXITSTATUS(status));
	}
	printf("\n");
	return 0;
}

static int raw_clone(void)
{
	int status;
	long pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

	if (pid == 0)
		_exit(12);
	waitpid((pid_t)pid, &status, 0);
	printf("%d\n", WEXITSTATUS(status));
	return 0;
}

static int spawn(void)
{
	extern char **environ;
	char *argv[] = {"sh", "-c", "echo spawned; exit 13", NULL};
	int status;
	pid_t pid;

	fflush(stdout);
	if (posix_spawnp(&pid, "sh", NULL, NULL, argv, environ) != 0)
		return 1;
	waitpid(pid, &status, 0);
	printf("%d %d\n", WEXITSTATUS(status), posix_spawn(&pid, "/no/such", NULL, NULL, argv, environ));
	return 0;
}

static int exec_errors(void)
{
	char *argv[] = {"x", NULL};

	execv("/no/such/file", argv);
	printf("%d ", errno);
	execv("/etc/passwd", argv);
	printf("%d ", errno);
	execvp("no-such-command-anywhere", argv);
	printf("%d\n", errno);
	return 0;
}

static int daemonise(void)
{
	int p[2];
	char c = 0;

	if (pipe(p) < 0)
		return 1;
	if (fork() == 0) {
		if (daemon(0, 1) < 0 || write(p[1], "d", 1) != 1)
			_exit(1);
		_exit(0);
	}
	close(p[1]);
	wait(NULL);
	printf("%zd %c\n", read(p[0], &c, 1), c);
	return 0;
}

static int libraries(void)
{
	for (int i = 0; i < 20; i++) {
		void *lib = dlopen("libz.so.1", RTLD_NOW);

		if (lib == NULL || dlsym(lib, "zlibVersion") == NULL || dlclose(lib) != 0)
			return 1;
	}
	printf("%d\n", dlopen("/no/such.so", RTLD_NOW) == NULL);
	return 0;
}

static sigjmp_buf back;
static volatile int faults;

static void on_fault(int sig)
{
	faults++;
	siglongjmp(back, sig);
}

static int recovers(void)
{
	static char stack[65536];
	stack_t alternate = {.ss_sp = stack, .ss_size = sizeof(stack)};
	struct sigaction sa = {.sa_handler = on_fault, .sa_flags = SA_ONSTACK};

	sigaltstack(&alternate, NULL);
	sigaction(SIGSEGV, &sa, NULL);
	sigaction(SIGBUS, &sa, NULL);
	for (volatile int i = 0; i < 100; i++)
		if (sigsetjmp(back, 1) == 0)
			*(volatile int *)8 = 1;
	printf("%d\n", faults);
	return 0;
}

static volatile sig_atomic_t ticks;

static void on_tick(int sig)
{
	(void)sig;
	ticks++;
}

static int queued_signals(void)
{
	union sigval value = {.sival_int = 42};
	struct signalfd_siginfo si;
	sigset_t set;
	int fd;

	signal(SIGPROF, on_tick);
	for (int i = 0; i < 50; i++)
		raise(SIGPROF);
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, 0);
	for (int i = 0; i < 5; i++)
		sigqueue(getpid(), SIGRTMIN + 1, value);
	for (int i = 0; i < 5; i++)
		if (read(fd, &si, sizeof(si)) != sizeof(si) || si.ssi_int != 42)
			return 1;
	printf("%d\n", (int)ticks);
	return 0;
}

static int aborts(void)
{
	setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
	signal(SIGABRT, on_tick);
	fprintf(stderr, "about to abort\n");
	abort();
}

static int stops_trapping(void)
{
	setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
	__builtin_trap();
}

static int allocations(void)
{
	size_t sum = 0;

	for (size_t i = 1; i < 3000; i++) {
		char *p = malloc(i), *q = calloc(i, 3), *r = NULL;

		if (p == NULL || q == NULL || q[i] != 0)
			return 1;
		p = realloc(p, i * 2);
		if (posix_memalign((void **)&r, 4096, i) != 0 || (size_t)r % 4096 != 0)
			return 1;
		sum += p != NULL;
		free(p);
		free(q);
		free(r);
	}
	errno = 0;
	volatile size_t huge = (size_t)1 << 62;
	void *none = malloc(huge);
	printf("%zu %d %d\n", sum, none == NULL, errno == ENOMEM);
	return 0;
}

static int high_exit(void)
{
	return 255;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(void);
	} programs[] = {
		{"threads", threads},
		{"tiny_stacks", tiny_stacks},
		{"vfork_exec", vfork_exec},
		{"raw_clone", raw_clone},
		{"spawn", spawn},
		{"exec_errors", exec_errors},
		{"daemonise", daemonise},
		{"libraries", libraries},
		{"recovers", recovers},
		{"queued_signals", queued_signals},
		{"aborts", aborts},
		{"stops_trapping", stops_trapping},
		{"allocations", allocations},
		{"high_exit", high_exit},
	};

	for (size_t i = 0; argc > 1 && i < sizeof(programs) / sizeof(programs[0]); i++)
		if (strcmp(programs[i].name, argv[1]) == 0)
			return programs[i].run();
	return 2;
}
