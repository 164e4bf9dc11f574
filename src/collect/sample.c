/*
 * sample.c - which threads there are, and their timers.
 *
 * Every thread has a timer of its own on its CPU clock, or above what such timers
 * can do an event of perf, that sends SIGURG to it.  Both are armed for one
 * signal at a time, by the handler of the last one: when the program has put
 * another handler in our place, it sees one stray signal and no more.
 */
#include "collect/hook.h"

#include "collect/profile.h"
#include "collect/sample.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#include "runtime/image.h"
#include "runtime/kernel.h"
#include "runtime/runtime.h"
#include "runtime/write.h"

#define COOKIE 0x15c5a3b1u
#define TIMER_PERIOD_NS 4000000u /* shorter steps than that are perf's */
#define AFTER_LEAST_NS 20000u
#define PERF_DESCRIPTOR 200 /* out of the way of those that programs count on */
#define CPU_CLOCK_OF(tid) ((int)(~(uint32_t)(tid) << 3 | 6u))

__thread isc_sampled *isc_sampled_self __attribute__((tls_model("initial-exec")));

_Atomic uint32_t isc_sampled_tid[ISC_SAMPLED_MAX];

static _Atomic(isc_sampled *) threads[ISC_SAMPLED_MAX];
static _Atomic uint32_t most; /* places ever used */
static _Atomic uint32_t perf_refused;

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

/* ---- places ------------------------------------------------------------ */

/* mprotect() and mmap() of libc may be hooked. */
static isc_sampled *map_place(uint32_t index)
{
	isc_sampled *t = (isc_sampled *)syscall(SYS_mmap, NULL, sizeof(*t), PROT_READ | PROT_WRITE,
						MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0L);
	isc_sampled *none = NULL;

	if ((void *)t == MAP_FAILED)
		return NULL;
	syscall(SYS_mprotect, t->fence, sizeof(t->fence), PROT_NONE);
	t->index = index;
	t->timer = t->perf = t->counter = -1;
	if (atomic_compare_exchange_strong(&threads[index], &none, t))
		return t;
	syscall(SYS_munmap, t, sizeof(*t));
	return none;
}

/* A free place, taken for this thread; NULL: there is none. */
static isc_sampled *take(uint32_t tid)
{
	for (uint32_t i = 0; i < ISC_SAMPLED_MAX; i++) {
		isc_sampled *t;
		uint32_t was = 0, n;

		if (atomic_load_explicit(&isc_sampled_tid[i], memory_order_relaxed) != 0)
			continue;
		t = atomic_load_explicit(&threads[i], memory_order_acquire);
		if (t == NULL)
			t = map_place(i);
		if (t == NULL)
			return NULL;
		if (!atomic_compare_exchange_strong(&isc_sampled_tid[i], &was, tid))
			continue;
		n = atomic_load(&most);
		while (n < i + 1 && !atomic_compare_exchange_weak(&most, &n, i + 1))
			;
		t->timer = t->perf = t->counter = -1;
		t->adopted = t->busy = t->lent = t->holds = t->held = t->paused = false;
		t->child = 0;
		atomic_store_explicit(&t->last_stack, 0, memory_order_relaxed);
		t->stack_low = t->stack_high = 0;
		t->looks = 0;
		t->fault.armed = 0;
		t->random = isc_ticks() * 0x9e3779b97f4a7c15ull | 1;
		return t;
	}
	return NULL;
}

/* The place of a thread among the first n; NULL: it has none. */
static isc_sampled *find(uint32_t tid, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (atomic_load_explicit(&isc_sampled_tid[i], memory_order_relaxed) == tid)
			return atomic_load_explicit(&threads[i], memory_order_acquire);
	}
	return NULL;
}

uint32_t isc_sample_last_stack(uint32_t tid)
{
	const isc_sampled *t = find(tid, atomic_load_explicit(&most, memory_order_acquire));

	return t != NULL ? atomic_load_explicit(&t->last_stack, memory_order_relaxed) : 0;
}

/* ---- timers ------------------------------------------------------------ */

static bool open_timer(isc_sampled *t, uint32_t tid)
{
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGURG};
	int timer;

	event.sigev_value.sival_ptr = (void *)((uintptr_t)COOKIE << 32 | t->index);
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
	t->perf = fd;
	return true;
}

/* A thread that ends and who ends sampling may meet here: each thing is closed once. */
static int take_source(int32_t *source)
{
	return __atomic_exchange_n(source, -1, __ATOMIC_ACQ_REL);
}

static void close_sources(isc_sampled *t)
{
	int timer = take_source(&t->timer), perf = take_source(&t->perf), counter = take_source(&t->counter);

	if (timer >= 0)
		syscall(SYS_timer_delete, timer);
	if (perf >= 0 && isc_sample_perf_id(perf) == t->perf_id)
		isc_kernel_close(perf);
	if (counter >= 0 && isc_sample_perf_id(counter) == t->counter_id)
		isc_kernel_close(counter);
	isc_sample_count_end(t);
}

void isc_sample_arm(isc_sampled *t, uint64_t after_ns, uint64_t now_ns)
{
	uint64_t due = (uint64_t)(t->base_ns + (int64_t)after_ns) | 1;

	t->due_ns = due;
	if (t->paused)
		return;
	if (t->perf >= 0) {
		uint64_t wait = due > now_ns + AFTER_LEAST_NS ? due - now_ns : AFTER_LEAST_NS;

		if (has_perf(t) && syscall(SYS_ioctl, t->perf, PERF_EVENT_IOC_PERIOD, &wait) == 0 &&
		    syscall(SYS_ioctl, t->perf, PERF_EVENT_IOC_REFRESH, 1) == 0)
			return;
		/* The program closed it: by the timer from now on. */
		t->perf = -1;
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
	if (!pause) {
		isc_sample_arm(t, period / 2 + t->random % period, isc_sample_cpu_ns());
	} else {
		if (t->timer >= 0)
			syscall(SYS_timer_settime, t->timer, 0, &never, NULL);
		if (has_perf(t))
			syscall(SYS_ioctl, t->perf, PERF_EVENT_IOC_DISABLE, 0);
	}
	isc_sample_inside(false);
	errno = error;
}

void isc_sample_blocked(uint64_t mask)
{
	if (isc_sampled_self != NULL && (mask >> (SIGURG - 1) & 1) != 0)
		isc_sample_pause(isc_sampled_self, true);
}

/* A thread that gets no timer is not sampled: out of timers, or forbidden. */
static void tell_once(void)
{
	static _Atomic bool told;

	if (isc_sample_for_session() && !atomic_exchange(&told, true))
		isc_write1(isc_ticks(),
			   ISC_RECORD_WORD(isc_sample_period_ns(), ISC_KIND_SAMPLE_RATE, ISC_SAMPLE_RATE_REFUSED));
}

static bool gone(uint32_t tid)
{
	return syscall(SYS_tgkill, isc_kernel_pid(), tid, 0) != 0 && errno == ESRCH;
}

/* Opens what the rate asks for and arms it; from any thread. */
static void begin_thread(isc_sampled *t, uint32_t tid)
{
	uint32_t period = isc_sample_period_ns();
	uint64_t now = ns_of(CPU_CLOCK_OF(tid));

	close_sources(t);
	if (!(period < TIMER_PERIOD_NS && open_perf(t, tid)) && !open_timer(t, tid)) {
		/* One that a search found may have ended meanwhile: nothing was refused to it. */
		if (!gone(tid)) {
			isc_profile_thread(t, tid, true);
			tell_once();
		}
		return;
	}
	isc_profile_thread(t, tid, false);
	isc_sample_count_begin(t, tid);
	/* The first signal then comes anywhere in the first step, and short threads get their share. */
	t->base_ns = (int64_t)now - period / 2;
	t->period_ns = period;
	isc_sample_arm(t, period / 2 + t->random % period, now);
}

isc_sampled *isc_sample_of(const siginfo_t *info)
{
	isc_sampled *t = NULL;

	if (info->si_code == SI_TIMER) {
		uintptr_t value = (uintptr_t)info->si_value.sival_ptr;

		if (value >> 32 == COOKIE && (uint32_t)value < ISC_SAMPLED_MAX)
			t = atomic_load_explicit(&threads[(uint32_t)value], memory_order_acquire);
	} else if (info->si_code == POLL_IN || info->si_code == POLL_HUP) {
		t = isc_sampled_self;
		if (t == NULL) {
			/* A thread that was found and not told: its first signal. */
			uint32_t tid = isc_kernel_tid(), n = atomic_load_explicit(&most, memory_order_acquire);

			t = find(tid, n);
		}
		if (t != NULL && (t->perf < 0 || info->si_fd != t->perf))
			t = NULL;
	}
	return t;
}

/* ---- threads ----------------------------------------------------------- */

static void give_alternate_stack(isc_sampled *t)
{
	stack_t now, mine = {.ss_sp = t->stack, .ss_size = sizeof(t->stack)};

	isc_fault_caught(); /* first: a handler of the program's must not find our stack */
	if (syscall(SYS_sigaltstack, NULL, &now) == 0 && (now.ss_flags & SS_DISABLE) != 0)
		t->lent = syscall(SYS_sigaltstack, &mine, NULL) == 0;
}

static void take_alternate_stack(isc_sampled *t)
{
	stack_t now, none = {.ss_flags = SS_DISABLE};

	if (syscall(SYS_sigaltstack, NULL, &now) == 0 && now.ss_sp == t->stack)
		syscall(SYS_sigaltstack, &none, NULL);
	t->lent = false;
}

isc_sampled *isc_sample_reserve(void *(*start)(void *), void *arg)
{
	isc_sampled *t = isc_sample_on() ? take(UINT32_MAX) : NULL;

	if (t != NULL) {
		t->start = start;
		t->arg = arg;
		t->holds = isc_sampled_self != NULL && isc_sampled_self->holds;
	}
	return t;
}

void isc_sample_cancel(isc_sampled *t)
{
	atomic_store_explicit(ISC_SAMPLED_TID(t), 0, memory_order_release);
}

void isc_sample_enter(isc_sampled *t)
{
	uint32_t tid = isc_kernel_tid();
	isc_guard guard;

	isc_guard_enter(&guard);
	isc_sample_inside(true);
	/* Found by a search meanwhile: that place has its timer, and goes when the thread has gone. */
	if (isc_sampled_self != NULL) {
		isc_sample_cancel(t);
	} else {
		give_alternate_stack(t);
		isc_sampled_self = t;
		atomic_store_explicit(ISC_SAMPLED_TID(t), tid, memory_order_release);
		if (isc_sample_on())
			begin_thread(t, tid);
		isc_sample_blocked(guard.mask);
	}
	isc_sample_inside(false);
	isc_guard_leave(&guard);
}

void isc_sample_drop(isc_sampled *t)
{
	close_sources(t);
	atomic_store_explicit(ISC_SAMPLED_TID(t), 0, memory_order_release);
}

void isc_sample_leave(isc_sampled *t)
{
	isc_guard guard;

	if (isc_sampled_self != t)
		return;
	/* System calls may be forbidden by now, and nobody will need the place. */
	if (!isc_sample_on()) {
		isc_sampled_self = NULL;
		return;
	}
	isc_guard_enter(&guard);
	isc_sample_inside(true);
	isc_sample_end(t);
	close_sources(t);
	isc_sample_inside(false);
	take_alternate_stack(t);
	isc_sampled_self = NULL;
	atomic_store_explicit(ISC_SAMPLED_TID(t), 0, memory_order_release);
	isc_guard_leave(&guard);
}

void isc_sample_begin_self(void)
{
	uint32_t tid = isc_kernel_tid();
	isc_sampled *t = isc_sampled_self;

	if (t == NULL)
		t = take(tid);
	if (t == NULL || t->timer >= 0 || t->perf >= 0)
		return;
	atomic_store_explicit(ISC_SAMPLED_TID(t), tid, memory_order_release);
	t->adopted = true;
	isc_sampled_self = t;
	give_alternate_stack(t);
	begin_thread(t, tid);
}

/* ---- threads that nobody told of --------------------------------------- */

static void meet(uint32_t tid, uint32_t search)
{
	isc_sampled *t = find(tid, atomic_load_explicit(&most, memory_order_acquire));

	if (t == NULL) {
		/* One that is being made takes its own place soon; this one is then let go. */
		t = take(tid);
		if (t == NULL)
			return;
		t->adopted = true;
		begin_thread(t, tid);
	}
	t->seen = search;
}

static void forget_gone(uint32_t search)
{
	uint32_t n = atomic_load_explicit(&most, memory_order_acquire);

	for (uint32_t i = 0; i < n; i++) {
		isc_sampled *t = atomic_load_explicit(&threads[i], memory_order_acquire);
		uint32_t tid = atomic_load_explicit(&isc_sampled_tid[i], memory_order_relaxed);

		if (t == NULL || tid == 0 || tid == UINT32_MAX || t->seen == search || t == isc_sampled_self)
			continue;
		if (!gone(tid))
			continue;
		if (!atomic_compare_exchange_strong(ISC_SAMPLED_TID(t), &tid, UINT32_MAX))
			continue;
		close_sources(t);
		atomic_store_explicit(ISC_SAMPLED_TID(t), 0, memory_order_release);
	}
}

static uint32_t number_in(const char *text)
{
	uint32_t n = 0;

	for (; *text >= '0' && *text <= '9'; text++)
		n = n * 10 + (uint32_t)(*text - '0');
	return *text == '\0' ? n : 0;
}

struct directory_entry { /* of getdents64 */
	uint64_t inode;
	int64_t next;
	uint16_t length;
	uint8_t type;
	char name[];
};

void isc_sample_search(uint64_t every_ns)
{
	static _Atomic uint64_t searched_ns;
	static _Atomic uint32_t searches;
	uint64_t now = ns_of(CLOCK_MONOTONIC), last = atomic_load_explicit(&searched_ns, memory_order_relaxed);
	_Alignas(8) char part[1024];
	uint32_t search;
	long n;
	int fd;

	if ((every_ns != 0 && now - last < every_ns) || !atomic_compare_exchange_strong(&searched_ns, &last, now))
		return;
	fd = isc_kernel_open("/proc/self/task", O_RDONLY | O_DIRECTORY, 0);
	if (fd < 0)
		return;
	search = atomic_fetch_add(&searches, 1) + 1;
	while ((n = syscall(SYS_getdents64, fd, part, sizeof(part))) > 0) {
		for (long at = 0; at < n;) {
			const struct directory_entry *e = (const struct directory_entry *)(const void *)(part + at);
			uint32_t tid = number_in(e->name);

			if (tid != 0)
				meet(tid, search);
			at += e->length;
		}
	}
	isc_kernel_close(fd);
	if (n == 0)
		forget_gone(search);
}

/* ---- all of them --------------------------------------------------------- */

void isc_sample_begin_known(void)
{
	uint32_t n = atomic_load_explicit(&most, memory_order_acquire);

	for (uint32_t i = 0; i < n; i++) {
		isc_sampled *t = atomic_load_explicit(&threads[i], memory_order_acquire);
		uint32_t tid = atomic_load_explicit(&isc_sampled_tid[i], memory_order_acquire);

		if (t == NULL || tid == 0 || tid == UINT32_MAX || t->timer >= 0 || t->perf >= 0)
			continue;
		begin_thread(t, tid);
	}
}

bool isc_sample_end_known(void)
{
	uint32_t n = atomic_load_explicit(&most, memory_order_acquire);
	bool lent = false;

	if (isc_sampled_self != NULL)
		take_alternate_stack(isc_sampled_self);

	for (uint32_t i = 0; i < n; i++) {
		isc_sampled *t = atomic_load_explicit(&threads[i], memory_order_acquire);

		if (t == NULL)
			continue;
		close_sources(t);
		lent = lent || (t->lent && atomic_load_explicit(&isc_sampled_tid[i], memory_order_relaxed) != 0);
	}
	return lent;
}

void isc_sample_places_forked(void)
{
	uint32_t n = atomic_load(&most);

	for (uint32_t i = 0; i < n; i++) {
		isc_sampled *t = atomic_load(&threads[i]);

		if (t == NULL)
			continue;
		t->timer = -1; /* not inherited; descriptors are */
		if (isc_sample_on())
			close_sources(t);
		if (t != isc_sampled_self)
			atomic_store(ISC_SAMPLED_TID(t), 0);
	}
}
