/*
 * profiled - a program that profiles itself. 
 *
 *	profiled shares SECONDS FOLDER	two functions, 70 to 30, in two threads
 *	profiled cycles N		start and stop; memory and descriptors before and after
 *	profiled hostile FOLDER		wrong calls
 *	profiled fork FOLDER		a child while it runs
 *	profiled urgent			a handler for SIGURG, timers for SIGPROF
 *	profiled dying FOLDER		threads that live for a moment
 *	profiled deep FOLDER		recursion
 *	profiled many FOLDER		more stacks than there is room for
 *	profiled counter FOLDER		perf's clock in the place of instructions
 *	profiled memory FOLDER		a function that takes memory
 *	profiled race N FOLDER		starts, stops and writes while threads come and go and children are made
 */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "inferscope/profiler.h"

#define NOINLINE __attribute__((noinline, noclone))

static volatile uint64_t sink;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* By the thread's own clock: the truth does not depend on how fast the machine is. */
static NOINLINE void spin(uint64_t ns)
{
	uint64_t end = cpu_ns() + ns;

	while (cpu_ns() < end) {
		for (int i = 0; i < 2000; i++)
			sink += (uint64_t)i;
	}
}

static NOINLINE void seventy(long unit)
{
	spin(7 * unit);
	sink++;
}

static NOINLINE void thirty(long unit)
{
	spin(3 * unit);
	sink++;
}

static void *work(void *seconds)
{
	/* A hundredth of a second on average and never twice the same: with the kernel's ticks in step
	 * the same function would be met every time. */
	for (long i = 0; i < *(long *)seconds * 100; i++) {
		long unit = 500000 + i * 7919 % 1001 * 1000;

		seventy(unit);
		thirty(unit);
	}
	return NULL;
}

static void write_to(const char *folder)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/profile.json", folder);
	if (profiler_write_json(path) != 0)
		die("json");
	snprintf(path, sizeof(path), "%s/profile.txt", folder);
	if (profiler_write_summary(path) != 0)
		die("summary");
}

static void tell(void)
{
	const profiler_state *s = profiler_get_state();

	printf("{\"running\":%d,\"samples\":%lu,\"signals\":%lu,\"stacks\":%u,\"other\":%lu,\"unknown\":%lu,"
	       "\"interval_us\":%u,\"elapsed_us\":%lu,\"spent_us\":%lu,\"refused\":%u,\"shared\":%d,\"note\":\"%s\","
	       "\"instructions\":\"%s\",\"memory\":\"%s\"}\n",
	       s->running, s->samples, s->signals, s->stacks, s->other, s->unknown, s->interval_us, s->elapsed_us,
	       s->spent_us, s->refused_threads, s->shared, s->note != NULL ? s->note : "",
	       s->instructions != NULL ? s->instructions : "", s->memory != NULL ? s->memory : "");
}

static void start(void)
{
	if (profiler_start() != 0)
		die("start");
}

static void stop(void)
{
	if (profiler_stop() != 0)
		die("stop");
}

/* One thread waits for the other: nobody but the new one itself could tell of it. */
static void shares(long seconds, const char *folder)
{
	pthread_t thread;

	start();
	pthread_create(&thread, NULL, work, &seconds);
	pthread_join(thread, NULL);
	work(&seconds);
	stop();
	write_to(folder);
	tell();
}

static long resident(void)
{
	long pages = 0, all;
	FILE *f = fopen("/proc/self/statm", "re");

	if (f == NULL || fscanf(f, "%ld %ld", &all, &pages) != 2)
		die("statm");
	fclose(f);
	return pages * sysconf(_SC_PAGESIZE);
}

static int entries(const char *folder)
{
	DIR *d = opendir(folder);
	int n = 0;

	while (readdir(d) != NULL)
		n++;
	closedir(d);
	return n;
}

static void *idle(void *pipe)
{
	char c;

	while (read(((int *)pipe)[0], &c, 1) < 0)
		;
	return NULL;
}

static void cycles(int n)
{
	long before = 0, after;
	int fds = 0, tasks = 0, ends[2];
	struct sigaction urgent, fault;
	pthread_t thread;

	if (pipe(ends) != 0)
		die("pipe");
	pthread_create(&thread, NULL, idle, ends);
	for (int i = 0; i < n; i++) {
		if (i == n / 10) {
			before = resident();
			fds = entries("/proc/self/fd");
			tasks = entries("/proc/self/task");
		}
		start();
		spin(200000);
		stop();
		stop();
	}
	after = resident();
	sigaction(SIGURG, NULL, &urgent);
	sigaction(SIGSEGV, NULL, &fault);
	printf("{\"growth\":%ld,\"fds\":%d,\"tasks\":%d,\"handlers\":%d}\n", after - before,
	       entries("/proc/self/fd") - fds, entries("/proc/self/task") - tasks,
	       urgent.sa_handler != SIG_DFL || fault.sa_handler != SIG_DFL);
	close(ends[1]);
	pthread_join(thread, NULL);
}

static void say(const char *what, int result)
{
	printf("%s %d %d\n", what, result, result == 0 ? 0 : errno);
}

static void hostile(const char *folder)
{
	profiler_options o = {.size = sizeof(o), .interval_us = 1};
	char path[4096], pipe_path[4096];

	say("stop", profiler_stop());
	say("write before", profiler_write_json("x.json"));
	printf("note %s\n", profiler_get_state()->note);
	say("interval", profiler_start_opts(&o));
	o = (profiler_options){.size = 1};
	say("size", profiler_start_opts(&o));
	o = (profiler_options){.size = sizeof(o), .native = 9};
	say("native", profiler_start_opts(&o));
	o = (profiler_options){.size = sizeof(o), .max_frames = 129};
	say("frames", profiler_start_opts(&o));
	say("start", profiler_start());
	say("again", profiler_start());
	spin(20000000);
	say("while running", profiler_write_summary("/dev/null/x"));
	say("stop", profiler_stop());
	say("again", profiler_stop());
	say("no folder", profiler_write_json("/nonexistent/x.json"));
	say("null", profiler_write_json(NULL));
	say("empty", profiler_write_json(""));
	say("folder", profiler_write_json(folder));
	snprintf(pipe_path, sizeof(pipe_path), "%s/link", folder);
	if (symlink("/etc/passwd", pipe_path) != 0)
		die("symlink");
	say("link", profiler_write_json(pipe_path));
	snprintf(path, sizeof(path), "%s/profile.json", folder);
	say("json", profiler_write_json(path));
	say("json again", profiler_write_json(path));
	printf("samples %d\n", profiler_get_state()->samples >= 18);
}

static void forks(const char *folder)
{
	int status = 0;
	pid_t child;

	start();
	spin(50000000);
	child = fork();
	if (child == 0) {
		uint64_t samples = profiler_get_state()->samples;

		spin(100000000);
		if (profiler_get_state()->running || profiler_get_state()->samples != samples)
			_exit(10);
		if (profiler_stop() != 0)
			_exit(11);
		start();
		spin(100000000);
		stop();
		/* Its own, and nothing of its parent's. */
		samples = profiler_get_state()->samples;
		_exit(samples < 90 || samples > 130 ? 12 : 0);
	}
	waitpid(child, &status, 0);
	spin(50000000);
	stop();
	write_to(folder);
	printf("{\"status\":%d,\"samples\":%lu}\n", status, profiler_get_state()->samples);
}

static volatile sig_atomic_t urgents, profs;

static void on_urgent(int number)
{
	(void)number;
	urgents++;
}

static void on_prof(int number)
{
	(void)number;
	profs++;
}

static void urgent(void)
{
	struct itimerval often = {{0, 10000}, {0, 10000}}, never = {{0, 0}, {0, 0}};
	struct sigaction action = {.sa_handler = on_urgent}, now;
	int during, sent = 0;

	sigaction(SIGURG, &action, NULL);
	action.sa_handler = on_prof;
	sigaction(SIGPROF, &action, NULL);
	setitimer(ITIMER_PROF, &often, NULL);
	for (int i = 0; i < 20; i++) {
		start();
		spin(10000000);
		raise(SIGURG);
		sent++;
		stop();
		raise(SIGURG);
		sent++;
	}
	setitimer(ITIMER_PROF, &never, NULL);
	during = (int)profiler_get_state()->samples;
	/* A handler of the program's in the place of ours: one signal more, and no sample. */
	start();
	action.sa_handler = on_urgent;
	sigaction(SIGURG, &action, NULL);
	spin(100000000);
	stop();
	sigaction(SIGURG, NULL, &now);
	printf("{\"sent\":%d,\"urgent\":%d,\"prof\":%d,\"samples\":%d,\"kept\":%d,\"note\":\"%s\"}\n", sent, urgents,
	       profs > 5, during, now.sa_handler == on_urgent, profiler_get_state()->note);
}

static void *moment(void *unused)
{
	(void)unused;
	spin(2000000);
	return NULL;
}

static void dying(const char *folder)
{
	pthread_t thread[8];

	start();
	for (int i = 0; i < 100; i++) {
		for (int k = 0; k < 8; k++) {
			if (pthread_create(&thread[k], NULL, moment, NULL) != 0)
				die("thread");
		}
		for (int k = 0; k < 8; k++)
			pthread_join(thread[k], NULL);
	}
	stop();
	write_to(folder);
	tell();
}

static NOINLINE uint64_t recurse(int depth)
{
	if (depth == 0)
		spin(100000000);
	return depth == 0 ? sink : recurse(depth - 1) + sink;
}

static void deep(const char *folder)
{
	start();
	recurse(300);
	stop();
	write_to(folder);
	tell();
}

/* Every path of left and right turns is a stack of its own: 2^14 of them. */
static NOINLINE void turn(int depth, unsigned way);

static NOINLINE void left(int depth, unsigned way)
{
	turn(depth, way);
	sink++;
}

static NOINLINE void right(int depth, unsigned way)
{
	turn(depth, way);
	sink += 2;
}

static NOINLINE void turn(int depth, unsigned way)
{
	if (depth == 0) {
		spin(130000);
		return;
	}
	if (way & 1)
		left(depth - 1, way >> 1);
	else
		right(depth - 1, way >> 1);
	sink++;
}

static void many(const char *folder)
{
	profiler_options o = {.size = sizeof(o), .interval_us = 100};

	if (profiler_start_opts(&o) != 0)
		die("start");
	for (unsigned i = 0; i < 1u << 14; i++)
		turn(14, i);
	stop();
	write_to(folder);
	tell();
}

static void counter(const char *folder)
{
	profiler_options o = {.size = sizeof(o), .counter = PROFILER_COUNT_TASK_CLOCK};
	long seconds = 1;

	if (profiler_start_opts(&o) != 0)
		die("start");
	work(&seconds);
	stop();
	write_to(folder);
	tell();
}

static NOINLINE void take_memory(void)
{
	char *memory = malloc(64 << 20);

	for (size_t i = 0; memory != NULL && i < 64 << 20; i += 512) {
		memory[i] = 1;
		sink += (uint64_t)memory[i];
	}
	sink += (uint64_t)(uintptr_t)memory;
	/* The next sample says what was taken. */
	spin(5000000);
}

static void memory(const char *folder)
{
	start();
	for (int i = 0; i < 4; i++)
		take_memory();
	stop();
	write_to(folder);
	tell();
}

static volatile int racing = 1;

static void *short_spin(void *unused)
{
	(void)unused;
	spin(300000);
	return NULL;
}

static void *make_threads(void *unused)
{
	pthread_t thread[4];

	while (racing) {
		for (int i = 0; i < 4; i++) {
			if (pthread_create(&thread[i], NULL, short_spin, NULL) != 0)
				die("thread");
		}
		for (int i = 0; i < 4; i++)
			pthread_join(thread[i], NULL);
	}
	return unused;
}

static void *make_children(void *failed)
{
	while (racing) {
		int status = 0;
		pid_t child = fork();

		if (child == 0) {
			if (profiler_get_state()->running)
				_exit(1);
			spin(200000);
			_exit(profiler_start() != 0 || profiler_stop() != 0 ? 2 : 0);
		}
		waitpid(child, &status, 0);
		*(int *)failed += status != 0;
	}
	return NULL;
}

static void race(int n, const char *folder)
{
	pthread_t threads, children;
	int failed = 0;

	pthread_create(&threads, NULL, make_threads, NULL);
	pthread_create(&children, NULL, make_children, &failed);
	for (int i = 0; i < n; i++) {
		start();
		spin(500000);
		if (i % 20 == 0)
			write_to(folder);
		stop();
	}
	racing = 0;
	pthread_join(threads, NULL);
	pthread_join(children, NULL);
	start();
	spin(50000000);
	stop();
	write_to(folder);
	printf("{\"failed\":%d,\"samples\":%lu}\n", failed, profiler_get_state()->samples);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "", *folder = argc > 2 ? argv[2] : ".";

	if (strcmp(what, "shares") == 0)
		shares(atol(argv[2]), argv[3]);
	else if (strcmp(what, "cycles") == 0)
		cycles(atoi(argv[2]));
	else if (strcmp(what, "hostile") == 0)
		hostile(folder);
	else if (strcmp(what, "fork") == 0)
		forks(folder);
	else if (strcmp(what, "urgent") == 0)
		urgent();
	else if (strcmp(what, "dying") == 0)
		dying(folder);
	else if (strcmp(what, "deep") == 0)
		deep(folder);
	else if (strcmp(what, "many") == 0)
		many(folder);
	else if (strcmp(what, "counter") == 0)
		counter(folder);
	else if (strcmp(what, "memory") == 0)
		memory(folder);
	else if (strcmp(what, "race") == 0)
		race(atoi(argv[2]), argv[3]);
	else
		return 2;
	return 0;
}
