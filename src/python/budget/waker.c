#include "python/budget/cpu_clock.h"
#include "python/budget/waker.h"

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define STACK_BYTES (128u << 10) /* with room for the thread-local storage of large programs */

#define SLEEP_NS_LEAST 200000u
#define SLEEP_NS_MOST 100000000u /* beside a program that does nothing */

static pthread_t thread;
static bool running;
static _Atomic uint32_t asks; /* a futex */
static _Atomic bool stopping;
static isc_waker_work *_Atomic work;
static void (*gone)(bool child);
static _Atomic clockid_t cpu_clock; /* of the thread; 0: there is none */
static _Atomic uint64_t ended_ns;   /* CPU time of those that ended */

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t = {0, 0};

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Until somebody asks again, or for so long; 0: for ever. */
static void wait_for(uint32_t seen, uint64_t ns)
{
	struct timespec t = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};

	syscall(SYS_futex, &asks, FUTEX_WAIT_PRIVATE, seen, ns != 0 ? &t : NULL, NULL, 0);
}

/* Until the program has run that long. */
static void sleep_while_running(uint32_t seen, uint64_t want, uint64_t wall)
{
	uint64_t cpu = isc_cpu_clock_ns(), ran = 0;
	uint64_t until = now_ns(CLOCK_MONOTONIC) + wall, least = SLEEP_NS_LEAST;

	while (ran < want && atomic_load(&asks) == seen && (wall == 0 || now_ns(CLOCK_MONOTONIC) < until)) {
		uint64_t step = want - ran > least ? want - ran : least, before = ran;

		wait_for(seen, step < SLEEP_NS_MOST ? step : SLEEP_NS_MOST);
		ran = isc_cpu_clock_ns() - cpu;
		if (ran - before < step / 8 && least < SLEEP_NS_MOST)
			least *= 2;
	}
}

static void *run(void *unused)
{
	clockid_t clock;

	(void)unused;
	prctl(PR_SET_NAME, "inferscope");
	if (pthread_getcpuclockid(pthread_self(), &clock) == 0)
		atomic_store(&cpu_clock, clock);
	while (!atomic_load(&stopping)) {
		uint32_t seen = atomic_load(&asks);
		isc_waker_work *now = atomic_load(&work);
		uint64_t wall = 0, next = now(&wall);

		if (next == 0)
			wait_for(seen, 0);
		else
			sleep_while_running(seen, next, wall);
	}
	atomic_store(&cpu_clock, 0);
	atomic_fetch_add(&ended_ns, now_ns(CLOCK_THREAD_CPUTIME_ID));
	return NULL;
}

static bool start(void)
{
	sigset_t all, before;
	pthread_attr_t attr;

	if (pthread_attr_init(&attr) != 0)
		return false;
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	atomic_store(&stopping, false);
	running = pthread_create(&thread, &attr, run, NULL) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return running;
}

uint64_t isc_waker_cpu_ns(void)
{
	clockid_t clock = atomic_load(&cpu_clock);

	return atomic_load(&ended_ns) + (clock != 0 ? now_ns(clock) : 0);
}

static uint64_t nothing(uint64_t *wall_ns)
{
	(void)wall_ns;
	return 0;
}

bool isc_waker_can(void)
{
	if (atomic_load(&work) == NULL)
		atomic_store(&work, nothing);
	return running || start();
}

void isc_waker_ask(isc_waker_work *asked)
{
	atomic_store(&work, asked);
	atomic_fetch_add(&asks, 1);
	if (running)
		syscall(SYS_futex, &asks, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	else
		start();
}

#if PY_VERSION_HEX >= 0x030c0000

/* It holds no lock and is soon out of what it does. */
static void before_fork(void)
{
	if (!running)
		return;
	atomic_store(&stopping, true);
	atomic_fetch_add(&asks, 1);
	syscall(SYS_futex, &asks, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	pthread_join(thread, NULL);
	running = false;
}

static void in_parent(void)
{
	gone(false);
}

#else
#define before_fork NULL
#define in_parent NULL
#endif

static void in_child(void)
{
	running = false;
	atomic_store(&cpu_clock, 0);
	atomic_store(&ended_ns, 0);
	gone(true);
}

void isc_waker_begin(void (*told)(bool child))
{
	gone = told;
	pthread_atfork(before_fork, in_parent, in_child);
}
