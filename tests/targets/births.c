/* births.c SECONDS - threads that are born and die in every way, all the time, while others work; counts them. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static atomic_int detached;

static double seconds_of(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void spin(double seconds)
{
	double end = seconds_of(CLOCK_THREAD_CPUTIME_ID) + seconds;

	while (seconds_of(CLOCK_THREAD_CPUTIME_ID) < end) {
	}
}

static void *returns(void *arg)
{
	spin(0.0012);
	return arg;
}

static void *exits(void *arg)
{
	spin(0.0007);
	pthread_exit(arg);
}

static void *never_ends(void *arg)
{
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	for (;;)
		pthread_testcancel();
	return arg;
}

static void *is_detached(void *arg)
{
	spin(0.0005);
	atomic_fetch_sub(&detached, 1);
	return arg;
}

static void *has_children(void *arg)
{
	pthread_t child;
	void *result = NULL;

	spin(0.0003);
	if (pthread_create(&child, NULL, exits, arg) == 0)
		pthread_join(child, &result);
	return result;
}

static void *does_nothing(void *arg)
{
	return arg;
}

static void *works(void *until)
{
	while (seconds_of(CLOCK_MONOTONIC) < *(double *)until)
		spin(0.01);
	return NULL;
}

int main(int argc, char **argv)
{
	static void *(*const ways[])(void *) = {returns, exits, never_ends, has_children, does_nothing};
	double end = seconds_of(CLOCK_MONOTONIC) + (argc > 1 ? atof(argv[1]) : 1);
	pthread_t beside;
	int wrong = 0;
	long born = 0;

	if (pthread_create(&beside, NULL, works, &end) != 0)
		return 1;
	while (seconds_of(CLOCK_MONOTONIC) < end) {
		pthread_t threads[10];

		for (int i = 0; i < 10; i++)
			wrong += pthread_create(&threads[i], NULL, ways[i % 5], &end) != 0;
		for (int i = 0; i < 3; i++) {
			pthread_t own;

			atomic_fetch_add(&detached, 1);
			if (pthread_create(&own, NULL, is_detached, NULL) == 0)
				pthread_detach(own);
			else
				atomic_fetch_sub(&detached, 1);
		}
		spin(0.0004);
		for (int i = 0; i < 10; i++) {
			void *result = NULL;

			if (i % 5 == 2)
				pthread_cancel(threads[i]);
			pthread_join(threads[i], &result);
			wrong += result != (i % 5 == 2 ? PTHREAD_CANCELED : (void *)&end);
		}
		born += 13;
	}
	pthread_join(beside, NULL);
	while (atomic_load(&detached) > 0)
		usleep(1000);
	printf("wrong %d, enough %d\n", wrong, born >= 100);
	return 0;
}
