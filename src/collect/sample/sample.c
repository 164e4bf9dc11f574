/* sample.c - which threads there are: those that begin, those that are found, and those that have gone. */
#include "collect/hooks/hook.h"

#include "collect/profile/profile.h"
#include "collect/sample/sample.h"

#include <fcntl.h>
#include <sys/mman.h>

#include "runtime/image.h"
#include "runtime/kernel.h"
#include "runtime/runtime.h"
#include "runtime/write.h"

#define SEARCH_US 1000000u    /* between two searches for threads */
#define SEARCH_SOON_US 50000u /* where hooks do not see all that are made */

__thread isc_sampled *isc_sampled_self __attribute__((tls_model("initial-exec")));

_Atomic uint32_t isc_sampled_tid[ISC_SAMPLED_MAX];

static _Atomic(isc_sampled *) threads[ISC_SAMPLED_MAX];
static _Atomic uint32_t most; /* places ever used */

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

bool isc_sample_at(uint32_t place, const isc_sampled **t)
{
	if (place >= atomic_load_explicit(&most, memory_order_relaxed))
		return false;
	*t = atomic_load_explicit(&isc_sampled_tid[place], memory_order_relaxed) != 0
		     ? atomic_load_explicit(&threads[place], memory_order_acquire)
		     : NULL;
	return true;
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
		t->unasked = 0;
		t->faults = UINT64_MAX;
		t->fault.armed = 0;
		t->timing.to = NULL;
		t->clock_ticks = t->arm_ticks = 0;
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

/* ---- their timers ------------------------------------------------------- */

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
	uint64_t now = isc_sample_cpu_ns_of(tid), end_ns;

	isc_sample_timer_close(t);
	if (!isc_sample_timer_open(t, tid)) {
		/* One that a search found may have ended meanwhile: nothing was refused to it. */
		if (!gone(tid)) {
			isc_profile_thread(t, tid, true);
			tell_once();
		}
		return;
	}
	isc_profile_thread(t, tid, false);
	isc_sample_count_begin(t, tid);
	/* Half a step is behind it: the first signal then comes anywhere in the first step, and short threads get their
	 * share. */
	t->base_ns = (int64_t)now - period / 2;
	t->period_ns = period;
	atomic_store_explicit(&t->lately_ns, 0, memory_order_relaxed);
	t->perf_wait_ns = 0;
	t->clock_ticks = 0;
	/* One that has lived for longer is no short thread, and begins with what we do in it. */
	isc_sample_arm(t,
		       now < period ? isc_sample_first_ns(t, t->random, &end_ns)
				    : isc_sample_next_ns(t, t->random, &end_ns),
		       now);
	if (t->perf < 0)
		t->end_ns = end_ns;
}

isc_sampled *isc_sample_of(const siginfo_t *info)
{
	isc_sampled *t = NULL;

	if (info->si_code == SI_TIMER) {
		uintptr_t value = (uintptr_t)info->si_value.sival_ptr;

		if (value >> 32 == ISC_SAMPLE_COOKIE && (uint32_t)value < ISC_SAMPLED_MAX)
			t = atomic_load_explicit(&threads[(uint32_t)value], memory_order_acquire);
	} else if (info->si_code == POLL_IN || info->si_code == POLL_HUP) {
		t = isc_sampled_self;
		if (t == NULL) {
			/* A thread that was found and not told: its first signal. */
			uint32_t tid = isc_kernel_tid(), n = atomic_load_explicit(&most, memory_order_acquire);

			t = find(tid, n);
		}
		if (t == NULL || t->perf < 0 || info->si_fd != t->perf)
			return NULL;
		if (info->si_code == POLL_HUP)
			t->perf_least = t->perf_most = 1; /* this one was the last */
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
	isc_sample_timer_close(t);
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
	isc_sample_timer_close(t);
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
		isc_sample_timer_close(t);
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

void isc_sample_search(bool at_once)
{
	static _Atomic uint64_t searched_ticks;
	static _Atomic uint32_t searches;
	uint64_t last = atomic_load_explicit(&searched_ticks, memory_order_relaxed), now = isc_ticks(), every;
	uint64_t per_us = isc_image_self.ticks_per_us != 0 ? isc_image_self.ticks_per_us : 1000;
	_Alignas(8) char part[1024];
	uint32_t search;
	long n;
	int fd;

	/* Asked at every sample: the clock of libc, its code and its page, is far away then. */
	every = (isc_sample_is_hooked() ? SEARCH_US : SEARCH_SOON_US) * per_us;
	/* Signed: another thread may have searched in between. */
	if ((!at_once && (int64_t)(now - last) < (int64_t)every) ||
	    !atomic_compare_exchange_strong(&searched_ticks, &last, now))
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
		isc_sample_timer_close(t);
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
			isc_sample_timer_close(t);
		if (t != isc_sampled_self)
			atomic_store(ISC_SAMPLED_TID(t), 0);
	}
}
