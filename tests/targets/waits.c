/*
 * waits.c - waits of each kind, measured by the program itself: "TID STATE MICROSECONDS".
 */
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 6
#define HELD_NS 40000000L

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, work_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER;
static int pipes[2], ready;

static double now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static void rest(long ns)
{
	nanosleep(&(struct timespec){0, ns}, NULL);
}

static void say(const char *state, double us)
{
	printf("%ld %s %.0f\n", (long)syscall(SYS_gettid), state, us);
}

static void *locks(void *unused)
{
	double us = 0;

	for (int i = 0; i < ROUNDS; i++) {
		double begin = now_us();

		pthread_mutex_lock(&lock);
		us += now_us() - begin;
		pthread_mutex_unlock(&lock);
		rest(1000000);
	}
	say("lock_wait", us);
	return unused;
}

static void *reads_shared(void *unused)
{
	double us = 0;

	for (int i = 0; i < ROUNDS; i++) {
		double begin = now_us();

		pthread_rwlock_rdlock(&shared);
		us += now_us() - begin;
		pthread_rwlock_unlock(&shared);
		rest(1000000);
	}
	say("lock_wait", us);
	return unused;
}

static void *reads(void *unused)
{
	double us = 0;
	char byte;

	for (int i = 0; i < ROUNDS; i++) {
		double begin = now_us();

		if (read(pipes[0], &byte, 1) != 1)
			return NULL;
		us += now_us() - begin;
	}
	say("io_wait", us);
	return unused;
}

static void *works(void *unused)
{
	double us = 0;

	pthread_mutex_lock(&work_lock);
	while (!ready) {
		double begin = now_us();

		pthread_cond_wait(&work, &work_lock);
		us += now_us() - begin;
	}
	pthread_mutex_unlock(&work_lock);
	say("idle", us);
	return unused;
}

static void *sleeps(void *unused)
{
	double begin = now_us();

	for (int i = 0; i < ROUNDS; i++)
		rest(HELD_NS);
	say("sleep", now_us() - begin);
	return unused;
}

int main(void)
{
	void *(*const begin[])(void *) = {locks, reads_shared, reads, works, sleeps};
	pthread_t thread[5];

	if (pipe(pipes) != 0)
		return 1;
	pthread_mutex_lock(&lock);
	pthread_rwlock_wrlock(&shared);
	for (int i = 0; i < 5; i++)
		pthread_create(&thread[i], NULL, begin[i], NULL);
	for (int i = 0; i < ROUNDS; i++) {
		rest(HELD_NS);
		pthread_mutex_unlock(&lock);
		pthread_rwlock_unlock(&shared);
		if (write(pipes[1], "x", 1) != 1)
			return 1;
		rest(500000);
		pthread_mutex_lock(&lock);
		pthread_rwlock_wrlock(&shared);
	}
	pthread_mutex_unlock(&lock);
	pthread_rwlock_unlock(&shared);
	pthread_mutex_lock(&work_lock);
	ready = 1;
	pthread_cond_broadcast(&work);
	pthread_mutex_unlock(&work_lock);
	for (int i = 0; i < 5; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
