#include "python/budget/cpu_clock.h"

#include <pthread.h>
#include <time.h>

#include "python/budget/waker.h"

/* Threads that are asked: more of them do not run at once with one GIL between them, and
 * each costs a quarter of a microsecond. */
#define CALLERS 8
#define MARKS 4 /* so that a reader on another thread has time to be done */

typedef struct mark {
	uint64_t process_ns, wall_ns, ns;
} mark;

const void *isc_cpu_clock_caller;

static _Atomic clockid_t callers[CALLERS]; /* 0: none; the newest replaces the oldest */
static uint32_t next_caller;		   /* with the GIL */
static mark marks[MARKS];
static _Atomic uint32_t last_mark, marks_begun;

static bool read_ns(clockid_t clock, uint64_t *ns)
{
	struct timespec t;

	if (clock_gettime(clock, &t) != 0)
		return false;
	*ns = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
	return true;
}

static mark now(void)
{
	mark last = marks[atomic_load(&last_mark) % MARKS], m = last;
	uint64_t ignored, helper_ns, ran, passed;

	for (uint32_t i = 0; i < CALLERS; i++) {
		clockid_t clock = atomic_load_explicit(&callers[i], memory_order_relaxed);

		/* It ended: if it is seen again, that is another thread. */
		if (clock != 0 && !read_ns(clock, &ignored))
			atomic_compare_exchange_strong(&callers[i], &clock, 0);
	}
	/* Before that of the process, which is then up to date with this one as well. */
	helper_ns = isc_waker_cpu_ns();
	read_ns(CLOCK_PROCESS_CPUTIME_ID, &m.process_ns);
	read_ns(CLOCK_MONOTONIC, &m.wall_ns);
	m.process_ns -= helper_ns;
	ran = m.process_ns > last.process_ns ? m.process_ns - last.process_ns : 0;
	passed = m.wall_ns > last.wall_ns ? m.wall_ns - last.wall_ns : 0;
	m.ns = last.ns + (ran < passed ? ran : passed);
	return m;
}

uint64_t isc_cpu_clock_ns(void)
{
	return now().ns;
}

uint64_t isc_cpu_clock_mark(void)
{
	mark m = now();
	uint32_t n = atomic_fetch_add(&marks_begun, 1) + 1;

	marks[n % MARKS] = m;
	atomic_store(&last_mark, n);
	return m.ns;
}

void isc_cpu_clock_forked(void)
{
	for (uint32_t i = 0; i < CALLERS; i++)
		atomic_store(&callers[i], 0);
	for (uint32_t i = 0; i < MARKS; i++)
		marks[i] = (mark){0};
	isc_cpu_clock_caller = NULL;
}

__attribute__((noinline, cold)) void isc_cpu_clock_change_caller(void)
{
	clockid_t clock;

	isc_cpu_clock_caller = &isc_producer_self;
	if (pthread_getcpuclockid(pthread_self(), &clock) != 0)
		return;
	for (uint32_t i = 0; i < CALLERS; i++)
		if (atomic_load_explicit(&callers[i], memory_order_relaxed) == clock)
			return;
	atomic_store(&callers[next_caller++ % CALLERS], clock);
}
