/*
 * confined.c - gives up system calls, as sandboxes do, and then works on: confined strict|filter.
 *
 * A call that is not allowed ends it.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static volatile uint64_t turns;
static pthread_barrier_t both;

static void turn(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		turns += i;
}

/* How many turns are about a quarter of a second; 60 ms to find out, of which samples are taken. */
static uint64_t quarter(void)
{
	struct timespec a, b;
	int64_t ns = 0;
	uint64_t n = 0;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
	while (ns < 60000000) {
		turn(1000000);
		n += 1000000;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
		ns = (b.tv_sec - a.tv_sec) * 1000000000 + b.tv_nsec - a.tv_nsec;
	}
	return (uint64_t)((double)n * (250e6 / (double)ns));
}

#define KILLED(call) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)

static int filter(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		KILLED(timer_create),
		KILLED(timer_settime),
		KILLED(timer_delete),
		KILLED(perf_event_open),
		KILLED(sigaltstack),
		KILLED(gettid),
		KILLED(getpid),
		KILLED(ioctl),
		KILLED(getdents64),
		KILLED(process_vm_readv),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return 1;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
}

static void *beside(void *n)
{
	turn(1000);
	pthread_barrier_wait(&both);
	pthread_barrier_wait(&both);
	turn(*(uint64_t *)n);
	return NULL;
}

int main(int argc, char **argv)
{
	bool strict = argc > 1 && strcmp(argv[1], "strict") == 0;
	uint64_t n = quarter();
	char byte = 0;
	pthread_t thread;
	int ends[2];

	if (pipe(ends) != 0 || pthread_barrier_init(&both, NULL, 2) != 0)
		return 1;
	printf("confined by %s\n", strict ? "strict mode" : "a filter");
	fflush(stdout);
	if (strict) {
		if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0)
			return 1;
		turn(n);
	} else {
		if (pthread_create(&thread, NULL, beside, &n) != 0)
			return 1;
		pthread_barrier_wait(&both);
		if (filter() != 0)
			return 1;
		pthread_barrier_wait(&both);
		turn(n);
		pthread_join(thread, NULL);
		usleep(2000);
	}
	for (int i = 0; i < 100; i++)
		if (write(ends[1], "x", 1) != 1 || read(ends[0], &byte, 1) != 1)
			return 1;
	if (write(1, "worked on\n", 10) != 10)
		return 1;
	syscall(strict ? SYS_exit : SYS_exit_group, 3);
	return 1;
}
