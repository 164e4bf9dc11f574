/*
 * Programs that come in crowds, or leave little room: crowd NAME [N].
 *
 * Each prints what it did and nothing that differs from run to run.  Those that
 * write marks print their number as the last word.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <inferscope/mark.h>

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- threads: all of them alive at once, one mark each ---- */

static pthread_barrier_t all_there;

static void *meet(void *arg)
{
	pthread_barrier_wait(&all_there);
	isc_mark("met", NULL);
	pthread_barrier_wait(&all_there);
	return arg;
}

static int threads(int n)
{
	pthread_t *t = calloc((size_t)n, sizeof(*t));
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 << 10);
	pthread_barrier_init(&all_there, NULL, (unsigned)n);
	for (int i = 0; i < n; i++)
		if (pthread_create(&t[i], &attr, meet, NULL) != 0)
			return 1;
	for (int i = 0; i < n; i++)
		pthread_join(t[i], NULL);
	free(t);
	printf("threads %d\n", n);
	return 0;
}

/* ---- forks: children that end at once, one after the other ---- */

static int forks(int n)
{
	int status, sum = 0;

	for (int i = 0; i < n; i++) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(i % 100);
		if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
			return 1;
		sum += WEXITSTATUS(status);
	}
	printf("children %d, sum %d\n", n, sum);
	return 0;
}

/* ---- storm: marks for so many milliseconds; nothing may hold it up ---- */

static int storm(int milliseconds)
{
	uint64_t begin = now_ns(), last = begin, longest = 0, marks = 0;

	printf("ready\n");
	fflush(stdout);
	while (last - begin < (uint64_t)milliseconds * 1000000u) {
		uint64_t now;

		for (int i = 0; i < 64; i++)
			isc_mark("storm", NULL);
		marks += 64;
		now = now_ns();
		if (now - last > longest)
			longest = now - last;
		last = now;
	}
	printf("longest %llu ms\n%llu\n", (unsigned long long)(longest / 1000000u), (unsigned long long)marks);
	return 0;
}

/* ---- descriptors: all closed, as daemons do, and every number used anew ---- */

static void *between(void *arg)
{
	pthread_barrier_wait(&all_there);
	for (int i = 0; i < 100000; i++)
		isc_mark("between", NULL);
	return arg;
}

/* A thread is there before, and ends after: nothing that it had may be closed in the end. */
static int descriptors(int n)
{
	char name[32], text[64];
	pthread_t thread;
	int bad = 0;

	isc_mark("before", NULL);
	pthread_barrier_init(&all_there, NULL, 2);
	if (pthread_create(&thread, NULL, between, NULL) != 0)
		return 1;
	/* It has whatever a thread of ours is given. */
	usleep(20000);
	for (int fd = 3; fd < 4096; fd++)
		close(fd);
	for (int fd = 3; fd < n; fd++) {
		snprintf(name, sizeof(name), "file-%d", fd);
		if (open(name, O_RDWR | O_CREAT | O_EXCL, 0600) != fd)
			return 1;
		snprintf(text, sizeof(text), "content of %d\n", fd);
		if (write(fd, text, strlen(text)) < 0)
			return 1;
	}
	pthread_barrier_wait(&all_there);
	pthread_join(thread, NULL);
	for (int fd = 3; fd < n; fd++) {
		char found[64] = "";
		struct stat sb;

		snprintf(text, sizeof(text), "content of %d\n", fd);
		if (pread(fd, found, sizeof(found), 0) != (ssize_t)strlen(text) || strcmp(found, text) != 0 ||
		    fstat(fd, &sb) != 0 || sb.st_size != (off_t)strlen(text) || close(fd) != 0)
			bad++;
	}
	printf("changed %d\n%d\n", bad, 100001);
	return 0;
}

/* ---- limit: its own limit of file sizes, and who hits it ---- */

static volatile sig_atomic_t over;

static void on_over(int signo)
{
	(void)signo;
	over++;
}

static int limit(int bytes)
{
	struct rlimit small = {(rlim_t)bytes, (rlim_t)bytes};
	int before, fd = open("limited", O_RDWR | O_CREAT | O_TRUNC, 0600);

	signal(SIGXFSZ, on_over);
	if (fd < 0 || setrlimit(RLIMIT_FSIZE, &small) < 0)
		return 1;
	for (int i = 0; i < 200000; i++)
		isc_mark("under a limit", NULL);
	for (int i = 0; i < 3; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			for (int k = 0; k < 1000; k++)
				isc_mark("child under a limit", NULL);
			_exit(over == 0 ? 0 : 1);
		}
		waitpid(pid, &before, 0);
		if (before != 0)
			return 2;
	}
	before = over;
	if (pwrite(fd, "x", 1, bytes) != -1 || errno != EFBIG)
		return 3;
	printf("ours %d, its own %d\n", before, (int)over - before);
	return 0;
}

/* ---- orphans: children whose parent ends first, for an init to reap ---- */

static int zombies_of_init(void)
{
	int found = 0;

	for (int pid = 2; pid < 400; pid++) {
		char path[40], text[512] = "", *state;
		FILE *file;
		int parent = 0;
		char letter = 0;

		snprintf(path, sizeof(path), "/proc/%d/stat", pid);
		file = fopen(path, "re");
		if (file == NULL)
			continue;
		if (fread(text, 1, sizeof(text) - 1, file) > 0 && (state = strrchr(text, ')')) != NULL &&
		    sscanf(state + 1, " %c %d", &letter, &parent) == 2 && parent == 1 && letter == 'Z')
			found++;
		fclose(file);
	}
	return found;
}

static int orphans(int n)
{
	uint64_t until;
	int left;

	for (int i = 0; i < n; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			if (fork() == 0)
				_exit(3);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
	until = now_ns() + 10000000000u;
	while ((left = zombies_of_init()) > 0 && now_ns() < until)
		usleep(10000);
	printf("orphans %d, left %d, parent %d\n", n, left, (int)getppid());
	return 11;
}

/* ---- ids: who it runs as, and whether the loader was told to be careful ---- */

static int ids(int n)
{
	const char *preload = getenv("LD_PRELOAD");

	(void)n;
	isc_mark("privileged", NULL);
	printf("uid %d, euid %d, preload %s\n", (int)getuid(), (int)geteuid(), preload != NULL ? "there" : "none");
	return 4;
}

/* ---- hidden: a process whose /proc nobody but root may read, with a child ---- */

static int hidden(int n)
{
	int status;
	pid_t pid;

	if (prctl(PR_SET_DUMPABLE, 0) < 0)
		return 1;
	for (int i = 0; i < n; i++)
		isc_mark("hidden", NULL);
	pid = fork();
	if (pid == 0)
		_exit(8);
	waitpid(pid, &status, 0);
	printf("child %d\n%d\n", WEXITSTATUS(status), n);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(int);
		int usual;
	} programs[] = {
		{"threads", threads, 1000},
		{"forks", forks, 500},
		{"storm", storm, 1000},
		{"descriptors", descriptors, 200},
		{"limit", limit, 8192},
		{"orphans", orphans, 20},
		{"ids", ids, 0},
		{"hidden", hidden, 1000},
	};

	for (size_t i = 0; argc > 1 && i < sizeof(programs) / sizeof(programs[0]); i++)
		if (strcmp(programs[i].name, argv[1]) == 0)
			return programs[i].run(argc > 2 ? atoi(argv[2]) : programs[i].usual);
	return 2;
}
