/*
 * unwind_cost - what a walk of the C stack takes in a signal handler, at a rate.
 *
 *	unwind_cost [HZ...]	default 200 1000
 *
 * The program sorts and copies between the signals, so that caches are as cold
 * as they are in place.  Prints median and 99th percentile in ns, for all frames
 * and for the newest alone, and for walks that follow each other at once.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "own_stack.h"

#define SAMPLES_MAX 4000
#define ROOM (8u << 20)

static isc_unwind all, newest;
static uint32_t took_all[SAMPLES_MAX], took_newest[SAMPLES_MAX], frames[SAMPLES_MAX];
static volatile int taken, wanted;
static uintptr_t high;
static int *values;

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint32_t walk(isc_unwind *u, const isc_unwind_start *start, int limit)
{
	uint64_t begin = now();

	u->anchor_count = 0;
	u->low = start->sp & ~(uintptr_t)7;
	u->high = high;
	isc_unwind_walk(u, start, limit);
	return (uint32_t)(now() - begin);
}

static void on_signal(int number, siginfo_t *info, void *context)
{
	isc_unwind_start start = isc_unwind_registers(context);
	int i = taken;

	(void)number;
	(void)info;
	if (i >= wanted)
		return;
	/* In turns: each finds the caches as the program left them. */
	if (i % 2 == 0)
		took_all[i / 2] = walk(&all, &start, ISC_UNWIND_FRAMES);
	else
		took_newest[i / 2] = walk(&newest, &start, 1);
	frames[i / 2] = (uint32_t)all.n;
	taken = i + 1;
}

static int by_value(const void *a, const void *b)
{
	return *(const int *)a < *(const int *)b ? -1 : *(const int *)a > *(const int *)b;
}

static __attribute__((noinline)) int work(int depth)
{
	volatile int keep = depth;

	if (depth > 0)
		return work(depth - 1) + keep;
	for (int i = 0; i < 20000; i++)
		values[(i * 7919) % (int)(ROOM / sizeof(int))] = rand();
	qsort(values, 2000, sizeof(int), by_value);
	return values[0];
}

static int by_number(const void *a, const void *b)
{
	return *(const uint32_t *)a < *(const uint32_t *)b ? -1 : *(const uint32_t *)a > *(const uint32_t *)b;
}

static void print(const char *what, uint32_t *ns, int n)
{
	qsort(ns, (size_t)n, sizeof(*ns), by_number);
	printf("  %-12s median %6u ns   p99 %6u ns\n", what, ns[n / 2], ns[n - 1 - n / 100]);
}

static void measure(int hz)
{
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGURG};
	struct itimerspec every = {{0, 1000000000 / hz}, {0, 1000000000 / hz}}, none = {{0, 0}, {0, 0}};
	int sum = 0;
	timer_t timer;

	taken = 0;
	wanted = hz < 500 ? 600 : SAMPLES_MAX;
	if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0)
		return;
	timer_settime(timer, 0, &every, NULL);
	while (taken < wanted)
		sum += work(8);
	timer_settime(timer, 0, &none, NULL);
	timer_delete(timer);
	qsort(frames, (size_t)wanted / 2, sizeof(*frames), by_number);
	printf("at %d Hz, %u frames%s\n", hz, frames[wanted / 4], sum == 42 ? " " : "");
	print("all frames", took_all, wanted / 2);
	print("the newest", took_newest, wanted / 2);
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
	static const int usual[] = {200, 1000};

	high = own_stack_end();
	values = calloc(1, ROOM);
	if (values == NULL || !isc_unwind_begin() || sigaction(SIGURG, &action, NULL) != 0)
		return 1;
	for (int i = 0; i < (argc > 1 ? argc - 1 : 2); i++) {
		int hz = argc > 1 ? atoi(argv[i + 1]) : usual[i];

		if (hz >= 10 && hz <= 10000)
			measure(hz);
	}
	return 0;
}
