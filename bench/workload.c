/*
 * workload.c - small programs of one known behaviour, timed from inside.
 *
 *	workload nothing
 *	workload spin MILLION_STEPS		one thread, no system call
 *	workload switch THOUSAND_ROUNDS [STEPS]	two threads on one CPU, a byte to and fro,
 *						with so many steps of work before each
 *	workload malloc MILLION_PAIRS		blocks of many sizes, some kept for a while
 *	workload sleep MILLISECONDS
 *	workload scopes THOUSAND [THREADS]	a scope with a mark inside, as fast as possible
 *	workload storm MILLION_A_SECOND SECONDS THREADS	scopes at a rate, over all threads
 *
 * The one line on stdout is JSON: when main began and the work ended (CLOCK_MONOTONIC),
 * how long the work took, the events it wrote, and what /proc says of this process
 * and of its parent, which is the recorder when there is one.
 */
#include <dirent.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <inferscope/mark.h>

#define THREADS_MAX 64

static uint64_t events;	     /* written by the work */
static double first, second; /* the arguments */
static int threads = 1;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- what /proc knows -------------------------------------------------- */

static long status_kb(const char *pid, const char *field)
{
	char path[64], line[256];
	long kb = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%s/status", pid);
	f = fopen(path, "re");
	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		if (strncmp(line, field, strlen(field)) == 0)
			kb = strtol(line + strlen(field) + 1, NULL, 10);
	}
	if (f != NULL)
		fclose(f);
	return kb;
}

/* Memory that the files of this process in the session folder take: pool and definitions. */
static long pool_kb(void)
{
	const char *folder = getenv("INFERSCOPE_SESSION");
	DIR *d = folder != NULL ? opendir(folder) : NULL;
	struct dirent *e;
	struct stat sb;
	long kb = 0;

	while (d != NULL && (e = readdir(d)) != NULL) {
		if ((e->d_name[0] == 'p' || e->d_name[0] == 'd') && atoi(e->d_name + 1) == getpid() &&
		    fstatat(dirfd(d), e->d_name, &sb, 0) == 0)
			kb += sb.st_blocks / 2;
	}
	if (d != NULL)
		closedir(d);
	return kb;
}

/* Of its first thread, to the nanosecond: the recorder has no other. */
static double cpu_ms(const char *pid)
{
	unsigned long long ns = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%s/schedstat", pid);
	f = fopen(path, "re");
	if (f != NULL && fscanf(f, "%llu", &ns) != 1)
		ns = 0;
	if (f != NULL)
		fclose(f);
	return (double)ns / 1e6;
}

static double own_cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* ---- the work ----------------------------------------------------------- */

static void work_nothing(void)
{
}

static void spin(uint64_t steps)
{
	uint64_t x = 88172645463325252u;

	for (uint64_t i = steps; i > 0; i--) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
	}
	__asm__ volatile("" : : "r"(x));
}

static void work_spin(void)
{
	spin((uint64_t)(first * 1e6));
}

static int there[2], back[2];

static void *answer(void *arg)
{
	char byte;

	while (read(there[0], &byte, 1) == 1) {
		spin((uint64_t)second);
		if (write(back[1], &byte, 1) != 1)
			break;
	}
	return arg;
}

static void work_switch(void)
{
	pthread_t other;
	cpu_set_t one;
	char byte = 0;

	/* On one CPU every byte is a switch; on two the scheduler decides, another way each time. */
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	if (pipe(there) != 0 || pipe(back) != 0 || pthread_create(&other, NULL, answer, NULL) != 0)
		exit(1);
	for (long i = (long)(first * 1e3); i > 0; i--) {
		spin((uint64_t)second);
		if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
			exit(1);
	}
	close(there[1]);
	pthread_join(other, NULL);
}

static void work_malloc(void)
{
	static void *kept[1024];
	uint64_t x = 88172645463325252u;

	for (uint64_t i = (uint64_t)(first * 1e6); i > 0; i--) {
		void **place;

		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		place = &kept[x % 1024];
		free(*place);
		*place = malloc(16 + (x >> 32) % 1000);
	}
	for (size_t i = 0; i < 1024; i++)
		free(kept[i]);
}

static void work_sleep(void)
{
	struct timespec t = {(time_t)(first / 1e3), (long)(first * 1e6) % 1000000000};

	nanosleep(&t, NULL);
}

static void *write_scopes(void *arg)
{
	for (long i = (long)(first * 1e3); i > 0; i--) {
		uint32_t scope = isc_scope_enter("step");

		isc_mark("mark", NULL);
		isc_scope_exit(scope);
	}
	return arg;
}

#define BURST 64u /* scopes between two looks at the clock */

static void *write_at_rate(void *arg)
{
	double per_ns = first / 1e3 / threads; /* records */
	uint64_t begin = now_ns(), wanted = (uint64_t)(second * 1e9 * per_ns), n = 0, unnamed = 0;

	while (n < wanted) {
		for (unsigned i = 0; i < BURST; i++) {
			uint32_t scope = isc_scope_enter("storm");

			unnamed += scope == 0;
			isc_scope_exit(scope);
		}
		n += 2 * BURST;
		while ((double)(now_ns() - begin) * per_ns < (double)n)
			continue;
	}
	/* An enter that found the pool half made is lost, and its exit is never sent. */
	__atomic_fetch_add(&events, n - unnamed, __ATOMIC_RELAXED);
	return arg;
}

static void in_threads(void *(*work)(void *))
{
	pthread_t t[THREADS_MAX];

	for (int i = 0; i < threads; i++) {
		if (pthread_create(&t[i], NULL, work, NULL) != 0)
			exit(1);
	}
	for (int i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
}

static void work_scopes(void)
{
	in_threads(write_scopes);
	events = 3 * (uint64_t)(first * 1e3) * (uint64_t)threads;
}

static void work_storm(void)
{
	in_threads(write_at_rate);
}

static const struct {
	const char *name;
	void (*work)(void);
	int threads_at; /* which argument */
} works[] = {
	{"nothing", work_nothing, 0}, {"spin", work_spin, 0},	{"switch", work_switch, 0},
	{"malloc", work_malloc, 0},   {"sleep", work_sleep, 0}, {"scopes", work_scopes, 3},
	{"storm", work_storm, 4},
};

int main(int argc, char **argv)
{
	uint64_t began = now_ns(), begin;
	double work_ms, work_cpu_ms, cpu_before;
	char parent[32];

	first = argc > 2 ? strtod(argv[2], NULL) : 1;
	second = argc > 3 ? strtod(argv[3], NULL) : 0;
	snprintf(parent, sizeof(parent), "%d", (int)getppid());
	for (size_t i = 0; argc > 1 && i < sizeof(works) / sizeof(works[0]); i++) {
		if (strcmp(argv[1], works[i].name) != 0)
			continue;
		if (works[i].threads_at > 0 && argc > works[i].threads_at)
			threads = atoi(argv[works[i].threads_at]);
		if (threads < 1 || threads > THREADS_MAX)
			break;
		cpu_before = cpu_ms(parent);
		work_cpu_ms = own_cpu_ms();
		begin = now_ns();
		works[i].work();
		work_ms = (double)(now_ns() - begin) / 1e6;
		work_cpu_ms = own_cpu_ms() - work_cpu_ms;
		printf("{\"began_ns\": %" PRIu64 ", \"work_ms\": %.4f, \"work_cpu_ms\": %.4f, \"events\": %" PRIu64
		       ", \"rss_kb\": %ld, "
		       "\"pool_kb\": %ld, \"parent_rss_kb\": %ld, \"parent_cpu_ms\": %.3f, ",
		       began, work_ms, work_cpu_ms, events, status_kb("self", "VmHWM"), pool_kb(),
		       status_kb(parent, "VmHWM"), cpu_ms(parent) - cpu_before);
		printf("\"ended_ns\": %" PRIu64 "}\n", now_ns());
		return 0;
	}
	fprintf(stderr, "usage: workload nothing|spin|switch|malloc|sleep|scopes|storm [ARGUMENTS]\n");
	return 2;
}
