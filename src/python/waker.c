#include "python/waker.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <time.h>

#define STACK_BYTES (128u << 10) /* with room for the thread-local storage of large programs */

#define SLEEP_NS_LEAST 200000u
#define PATIENCE 4u /* times the time asked for, by the clock on the wall */

static sem_t asked;
static bool running;
static uint64_t wanted_ns;
static void (*wake_up)(void);

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void sleep_ns(uint64_t ns)
{
	struct timespec t = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};

	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &t, &t) == EINTR)
		;
}

/* Until the program has run that long; when it waits, at last. */
static void sleep_while_running(void)
{
	uint64_t want = wanted_ns, ran, began = now_ns(CLOCK_MONOTONIC), cpu = now_ns(CLOCK_PROCESS_CPUTIME_ID);

	do {
		ran = now_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu;
		if (ran >= want)
			break;
		sleep_ns(want - ran > SLEEP_NS_LEAST ? want - ran : SLEEP_NS_LEAST);
	} while (now_ns(CLOCK_MONOTONIC) - began < want * PATIENCE);
}

static void *sleep_and_wake(void *unused)
{
	(void)unused;
	prctl(PR_SET_NAME, "inferscope");
	for (;;) {
		while (sem_wait(&asked) != 0)
			;
		sleep_while_running();
		wake_up();
	}
	return NULL;
}

static bool start(void)
{
	sigset_t all, before;
	pthread_attr_t attr;
	pthread_t thread;

	if (sem_init(&asked, 0, 0) != 0 || pthread_attr_init(&attr) != 0)
		return false;
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	running = pthread_create(&thread, &attr, sleep_and_wake, NULL) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return running;
}

/* In a fork child, whose waker is gone. */
static void forked(void)
{
	running = false;
	if (wake_up != NULL)
		wake_up();
}

void isc_waker_begin(void)
{
	pthread_atfork(NULL, NULL, forked);
}

bool isc_waker_ask(uint64_t after_ns, void (*wake)(void), _Atomic uint32_t *asleep)
{
	if (!running && !start())
		return false;
	wake_up = wake;
	wanted_ns = after_ns;
	atomic_store(asleep, 1);
	sem_post(&asked);
	return true;
}
