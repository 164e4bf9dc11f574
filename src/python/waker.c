#include "python/waker.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <time.h>

#define STACK_BYTES (128u << 10)	/* with room for the thread-local storage of large programs */

static sem_t asked;
static bool running;
static struct timespec until;
static void (*wake_up)(void);

static void *sleep_and_wake(void *unused)
{
	(void)unused;
	prctl(PR_SET_NAME, "inferscope");
	for (;;) {
		while (sem_wait(&asked) != 0)
			;
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
			;
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
	clock_gettime(CLOCK_MONOTONIC, &until);
	after_ns += (uint64_t)until.tv_nsec;
	until.tv_sec += (time_t)(after_ns / 1000000000);
	until.tv_nsec = (long)(after_ns % 1000000000);
	atomic_store(asleep, 1);
	sem_post(&asked);
	return true;
}
