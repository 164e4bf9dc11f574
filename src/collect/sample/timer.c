/*
 * timer.c - what sends the signals.
 *
 * Every thread has a timer of its own on its CPU clock, or above what such timers
 * can do an event of perf, that sends SIGURG to it.  Both are armed for one
 * signal at a time, by the handler of the last one: when the program has put
 * another handler in our place, it sees one stray signal and no more.  Where its
 * calls to libc come to our hooks, only one that goes past libc can do that, and
 * perf is asked for some at once: asking takes longer than a whole sample.
 */
#include "collect/sample/sample.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <time.h>

#include "runtime/image.h"
#include "runtime/kernel.h"

#define TIMER_PERIOD_NS 4000000u /* shorter steps than that are perf's */
#define AFTER_LEAST_NS 20000u
#define SET_BY_NS 50000u    /* of CPU time, in which a timer is made and set */
#define PERF_DESCRIPTOR 200 /* out of the way of those that programs count on */
#define PERF_ASKED 16	    /* signals of perf at once */
#define PERF_FEW 4	    /* with so few to come, more are asked for */
#define PERF_LATE 16	    /* part of a step that a signal may be late by */
#define PERF_STRAY 64	    /* no more are ever to come: then the event is made anew */
#define NUMBERS 8192u	    /* descriptors that are remembered */
#define CPU_CLOCK_OF(tid) ((int)(~(uint32_t)(tid) << 3 | 6u))

static _Atomic uint32_t perf_refused;
static _Atomic uint32_t tick_ns; /* the kernel looks at timers of CPU clocks so often; 0: not asked yet */
static _Atomic bool hooked;

/* A bit of each descriptor that an event of perf ever had. */
static _Atomic uint64_t numbers[NUMBERS / 64];

void isc_sample_hooked(bool is_hooked)
{
	atomic_store_explicit(&hooked, is_hooked, memory_order_relaxed);
}

bool isc_sample_is_hooked(void)
{
	return atomic_load_explicit(&hooked, memory_order_relaxed);
}

static uint64_t ns_of(int clock)
{
	struct timespec t;

	if (syscall(SYS_clock_gettime, clock, &t) != 0)
		return 0;
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t isc_sample_cpu_ns(void)
{
	return ns_of(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t isc_sample_cpu_ns_of(uint32_t tid)
{
	return ns_of(CPU_CLOCK_OF(tid));
}

uint64_t isc_sample_clock(isc_sampled *t, uint64_t ticks)
{
	t->clock_ns = t->least_ns = isc_sample_cpu_ns();
	t->clock_ticks = t->clock_ns != 0 ? ticks : 0;
	return t->clock_ns;
}

/* The length of a tick is known to within a thousandth. */
uint64_t isc_sample_most_ns(const isc_sampled *t, uint64_t ticks)
{
	uint64_t per_us = isc_image_self.ticks_per_us, since = ticks - t->clock_ticks, ns;

	if (t->clock_ticks == 0 || per_us == 0 || since > UINT32_MAX * (uint64_t)16)
		return UINT64_MAX;
	ns = since * 1000 / per_us;
	return t->clock_ns + ns + ns / 512;
}

/* A timer of the kernel has looked at this very clock.  perf counts by another one, and where the signal arrived late
 * the next one seems early. */
uint64_t isc_sample_least_ns(const isc_sampled *t)
{
	if (t->clock_ticks == 0)
		return 0;
	if (t->perf < 0)
		return t->due_ns;
	return t->perf_wait_ns != 0 ? t->least_ns + t->perf_wait_ns - t->perf_wait_ns / PERF_LATE : 0;
}

static bool open_timer(isc_sampled *t, uint32_t tid)
{
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGURG};
	int timer;

	event.sigev_value.sival_ptr = (void *)((uintptr_t)ISC_SAMPLE_COOKIE << 32 | t->index);
	event._sigev_un._tid = (int)tid;
	if (syscall(SYS_timer_create, CPU_CLOCK_OF(tid), &event, &timer) != 0)
		return false;
	t->timer = timer;
	return true;
}

/* Only while the thread runs its own code: a signal that is made inside a system call that is about to
 * wait breaks it off.  Time in the kernel adds to the next sample. */
static int open_event(uint32_t tid, uint32_t period_ns)
{
	struct perf_event_attr attr = {.size = sizeof(attr),
				       .type = PERF_TYPE_SOFTWARE,
				       .config = PERF_COUNT_SW_TASK_CLOCK,
				       .sample_period = period_ns,
				       .wakeup_events = 1,
				       .disabled = 1,
				       .exclude_kernel = 1,
				       .exclude_hv = 1};

	return (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1, (unsigned long)PERF_FLAG_FD_CLOEXEC);
}

uint64_t isc_sample_perf_id(int fd)
{
	uint64_t id = 0;

	return syscall(SYS_ioctl, fd, PERF_EVENT_IOC_ID, &id) == 0 ? id : 0;
}

static bool has_perf(const isc_sampled *t)
{
	return t->perf >= 0 && isc_sample_perf_id(t->perf) == t->perf_id;
}

/* A thread that ends and who ends sampling may meet here: each thing is closed once. */
static int take_source(int32_t *source)
{
	return __atomic_exchange_n(source, -1, __ATOMIC_ACQ_REL);
}

static void close_perf(isc_sampled *t)
{
	int fd = take_source(&t->perf);

	if (fd >= 0 && isc_sample_perf_id(fd) == t->perf_id)
		isc_kernel_close(fd);
}

static bool open_perf(isc_sampled *t, uint32_t tid)
{
	struct f_owner_ex owner = {F_OWNER_TID, (int)tid};
	int fd, high;

	if (atomic_load_explicit(&perf_refused, memory_order_relaxed))
		return false;
	fd = open_event(tid, isc_sample_period_ns());
	if (fd < 0) {
		if (errno != ESRCH && errno != EMFILE)
			atomic_store(&perf_refused, 1);
		return false;
	}
	high = (int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, PERF_DESCRIPTOR);
	if (high >= 0) {
		isc_kernel_close(fd);
		fd = high;
	}
	if (syscall(SYS_fcntl, fd, F_SETFL, O_ASYNC | O_NONBLOCK) != 0 ||
	    syscall(SYS_fcntl, fd, F_SETSIG, SIGURG) != 0 || syscall(SYS_fcntl, fd, F_SETOWN_EX, &owner) != 0 ||
	    (t->perf_id = isc_sample_perf_id(fd)) == 0) {
		isc_kernel_close(fd);
		return false;
	}
	if ((uint32_t)fd < NUMBERS)
		atomic_fetch_or_explicit(&numbers[fd / 64], 1ull << fd % 64, memory_order_relaxed);
	t->perf_least = t->perf_most = 0;
	t->perf = fd;
	return true;
}

bool isc_sample_late(const siginfo_t *info)
{
	uint32_t fd = (uint32_t)info->si_fd;

	return (info->si_code == POLL_IN || info->si_code == POLL_HUP) && fd < NUMBERS &&
	       (atomic_load_explicit(&numbers[fd / 64], memory_order_relaxed) >> fd % 64 & 1) != 0;
}

/* Of a program that is busy in the kernel perf sends fewer signals than its steps, and of signals that come while
 * ours is blocked one arrives: what is still to come lies between two counts. */
void isc_sample_came(isc_sampled *t, uint64_t now_ns)
{
	uint64_t since = now_ns > t->perf_seen_ns ? now_ns - t->perf_seen_ns : 0, sent = 1;

	if (t->perf < 0)
		return;
	if (t->perf_wait_ns != 0)
		sent = (since + t->perf_wait_ns / 2) / t->perf_wait_ns;
	t->perf_seen_ns = now_ns;
	t->perf_least -= (int32_t)(sent < 1 ? 1 : sent < PERF_STRAY ? sent : PERF_STRAY);
	t->perf_most--;
}

static bool ask_perf(isc_sampled *t, uint64_t wait_ns, uint64_t now_ns, int32_t signals)
{
	if (t->perf_most > PERF_STRAY - signals) {
		close_perf(t);
		if (!open_perf(t, atomic_load_explicit(ISC_SAMPLED_TID(t), memory_order_relaxed)))
			return false;
	}
	if (!has_perf(t) || syscall(SYS_ioctl, t->perf, PERF_EVENT_IOC_PERIOD, &wait_ns) != 0 ||
	    syscall(SYS_ioctl, t->perf, PERF_EVENT_IOC_REFRESH, signals) != 0)
		return false;
	t->perf_wait_ns = wait_ns;
	t->perf_seen_ns = now_ns;
	t->perf_least = (t->perf_least > 0 ? t->perf_least : 0) + signals;
	t->perf_most = (t->perf_most > 0 ? t->perf_most : 0) + signals;
	return true;
}

/* The next signal, from perf; false: there will be none. */
static bool arm_perf(isc_sampled *t, uint64_t wait_ns, uint64_t now_ns)
{
	uint64_t period = t->period_ns, least = period - period / 8;
	bool even = wait_ns < 2 * period && isc_sample_is_hooked();

	/* The first one, too, which may come at any time: short threads have their share. */
	if (!even || t->perf_wait_ns == 0)
		return ask_perf(t, wait_ns, now_ns, 1);
	/* Another length each time: a program that does the same at even steps must not always be met at the same place. */
	if ((t->perf_least <= PERF_FEW || t->perf_wait_ns - least > period / 4) &&
	    !ask_perf(t, least + wait_ns % (period / 4), now_ns, PERF_ASKED))
		return false;
	t->due_ns = t->end_ns = (now_ns + t->perf_wait_ns) | 1;
	return true;
}

/* The coarse clock goes on with each tick. */
static uint32_t ask_tick(void)
{
	struct timespec t;

	if (syscall(SYS_clock_getres, CLOCK_MONOTONIC_COARSE, &t) != 0 || t.tv_sec != 0)
		return 1;
	return (uint32_t)t.tv_nsec | 1;
}

/*
 * A timer is late by half a tick on average, and by a whole one at most.  One that may come at any moment of
 * a step of 5 ms is then late for every third step where a tick is 4 ms: it is armed that much earlier, and
 * varies only as far as two in a row still meet different ticks.
 */
uint64_t isc_sample_next_ns(const isc_sampled *t, uint64_t random, uint64_t *end_ns)
{
	uint64_t period = t->period_ns, late = 0, width, after;

	if (t->perf < 0)
		late = atomic_load_explicit(&tick_ns, memory_order_relaxed) / 2;
	late = late < period / 2 ? late : period / 2;
	width = period - 2 * late > period / 8 ? period - 2 * late : period / 8;
	/* Not before the middle of the step that was counted last. */
	late = late < (period - width) / 2 ? late : (period - width) / 2;
	after = period - late - width / 2 + (uint32_t)random % width;
	/* A thread that ran without a pause has met a tick by then.  One that ends before it was not met by chance, and
	 * others that were stand for it. */
	*end_ns = (uint64_t)(t->base_ns + (int64_t)(after + 2 * late));
	return after;
}

/*
 * The first step of a thread ends at any moment of one, and a timer meets the thread up to a tick after it is due.  So one
 * that should come within the first tick is due at once: a thread that lives for less than a tick is met as
 * often as it should be, at any moment of its life.
 */
uint64_t isc_sample_first_ns(const isc_sampled *t, uint64_t random, uint64_t *end_ns)
{
	uint64_t period = t->period_ns, tick = 0, at = (uint32_t)random % period, after = period / 2;

	if (t->perf < 0)
		tick = atomic_load_explicit(&tick_ns, memory_order_relaxed);
	tick = tick < period ? tick : period;
	/* A timer that is due when it is set sends its signal at once, where the thread has not begun its work. */
	after += at > tick + SET_BY_NS ? at - tick : SET_BY_NS;
	*end_ns = (uint64_t)(t->base_ns + (int64_t)(after + tick));
	return after;
}

bool isc_sample_timer_open(isc_sampled *t, uint32_t tid)
{
	if (atomic_load_explicit(&tick_ns, memory_order_relaxed) == 0)
		atomic_store_explicit(&tick_ns, ask_tick(), memory_order_relaxed);
	return (isc_sample_period_ns() < TIMER_PERIOD_NS && open_perf(t, tid)) || open_timer(t, tid);
}

void isc_sample_timer_close(isc_sampled *t)
{
	int timer = take_source(&t->timer), counter = take_source(&t->counter);

	if (timer >= 0)
		syscall(SYS_timer_delete, timer);
	close_perf(t);
	if (counter >= 0 && isc_sample_perf_id(counter) == t->counter_id)
		isc_kernel_close(counter);
	isc_sample_count_end(t);
}

void isc_sample_arm(isc_sampled *t, uint64_t after_ns, uint64_t now_ns)
{
	uint64_t due = (uint64_t)(t->base_ns + (int64_t)after_ns) | 1;

	t->due_ns = t->end_ns = due;
	if (t->paused)
		return;
	if (t->perf >= 0) {
		uint64_t wait = due > now_ns + AFTER_LEAST_NS ? due - now_ns : AFTER_LEAST_NS;

		if (arm_perf(t, wait, now_ns))
			return;
		/* The program closed it: by the timer from now on. */
		close_perf(t);
		if (t->timer < 0 && !open_timer(t, atomic_load_explicit(ISC_SAMPLED_TID(t), memory_order_relaxed)))
			return;
	}
	if (t->timer >= 0) {
		struct itimerspec when = {.it_value = {(time_t)(due / 1000000000u), (long)(due % 1000000000u)}};

		syscall(SYS_timer_settime, t->timer, TIMER_ABSTIME, &when, NULL);
	}
}

void isc_sample_pause(isc_sampled *t, bool pause)
{
	struct itimerspec never = {.it_value = {0, 0}};
	uint32_t period = isc_sample_period_ns();
	int error = errno;

	if (pause == t->paused)
		return;
	isc_sample_inside(true);
	t->paused = pause;
	atomic_signal_fence(memory_order_seq_cst);
	t->clock_ticks = 0; /* a signal may still come of what was asked for before */
	if (!pause) {
		isc_sample_arm(t, period / 2 + t->random % period, isc_sample_cpu_ns());
	} else {
		if (t->timer >= 0)
			syscall(SYS_timer_settime, t->timer, 0, &never, NULL);
		if (has_perf(t))
			syscall(SYS_ioctl, t->perf, PERF_EVENT_IOC_DISABLE, 0);
		t->perf_wait_ns = 0;
	}
	isc_sample_inside(false);
	errno = error;
}

void isc_sample_blocked(uint64_t mask)
{
	if (isc_sampled_self != NULL && (mask >> (SIGURG - 1) & 1) != 0)
		isc_sample_pause(isc_sampled_self, true);
}
