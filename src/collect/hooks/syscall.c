/*
 * syscall.c - system calls become sums and, the slow ones, records.
 */
#include "collect/hooks/syscall.h"

#include <errno.h>

#include "collect/sample/sample.h"
#include "collect/hooks/channel.h"
#include "collect/hooks/syscall_about.h"
#include "runtime/budget.h"
#include "runtime/kernel.h"
#include "runtime/runtime.h"

#define US isc_image_self.ticks_per_us
#define SLOW (ISC_SYSCALL_SLOW_US * US)
#define TOLD_EVERY (10000u * US) /* a program that is killed loses the sums of so long at most */
#define COST 40			 /* ticks that counting takes, and again telling what was moved over a channel */
#define VAIN_TICKS US		 /* a call that failed took less: it did nothing at all */

#define ONE_OF 1024u		/* calls on average one is looked at, with its stack: 1% of the time of the cheapest */
#define LOOK_EVERY (2000u * US) /* one in so long is always affordable: 0.2% of the time */

__thread uint8_t isc_syscall_vain[ISC_SYSCALL_COUNT] __attribute__((tls_model("initial-exec")));

/*
 * One instruction, so that a handler on this thread that adds too loses nothing; no other
 * thread adds here, so it needs not be locked.
 */
static inline void add64(uint64_t *at, uint64_t n)
{
#ifdef __x86_64__
	__asm__ volatile("addq %1, %0" : "+m"(*at) : "r"(n) : "cc");
#else
	__atomic_fetch_add(at, n, __ATOMIC_RELAXED);
#endif
}

static inline void add32(uint32_t *at, uint32_t n)
{
#ifdef __x86_64__
	__asm__ volatile("addl %1, %0" : "+m"(*at) : "r"(n) : "cc");
#else
	__atomic_fetch_add(at, n, __ATOMIC_RELAXED);
#endif
}

/* The calling thread's producer, if it is this process's. */
static isc_producer *producer(void)
{
	isc_producer *t = isc_producer_self;

	return t != NULL && t->gen == atomic_load_explicit(&isc_wiped_page->gen, memory_order_relaxed) ? t : NULL;
}

static void tell_sum(enum isc_syscall call, uint64_t now, const isc_syscall_sum *sum)
{
	struct {
		isc_record head;
		isc_syscall_sum body;
	} record = {{.ticks = now, .kind = ISC_KIND_SYSCALLS, .slots = 3, .arg = (uint16_t)call}, *sum};

	isc_write((const isc_record *)&record, 3);
}

static void tell_errors(uint32_t key, uint64_t now, uint64_t count)
{
	struct {
		isc_record head;
		isc_syscall_errors body;
	} record = {{.ticks = now,
		     .id = key & UINT16_MAX,
		     .kind = ISC_KIND_SYSCALL_ERRORS,
		     .slots = 2,
		     .arg = (uint16_t)(key >> 16)},
		    {count, 0}};

	isc_write((const isc_record *)&record, 2);
}

/* What is there is taken before it is told: a handler may come in between, and make calls. */
static void tell(isc_producer *t, uint64_t now)
{
	uint64_t told = 0;

	__atomic_store_n(&t->summed, now, __ATOMIC_RELAXED);
	for (int call = 1; call < ISC_SYSCALL_COUNT; call++) {
		isc_syscall_sum *sum = &t->calls[call], out;

		if (sum->count == 0 && sum->errors == 0)
			continue;
		out.count = __atomic_exchange_n(&sum->count, 0, __ATOMIC_RELAXED);
		out.ticks = __atomic_exchange_n(&sum->ticks, 0, __ATOMIC_RELAXED);
		out.bytes = __atomic_exchange_n(&sum->bytes, 0, __ATOMIC_RELAXED);
		out.errors = __atomic_exchange_n(&sum->errors, 0, __ATOMIC_RELAXED);
		out.slow = __atomic_exchange_n(&sum->slow, 0, __ATOMIC_RELAXED);
		told += out.count;
		tell_sum((enum isc_syscall)call, now, &out);
	}
	for (uint32_t i = 0; i < ISC_SYSCALL_FAILED; i++) {
		uint32_t key = t->failed[i].key;
		uint32_t count = __atomic_exchange_n(&t->failed[i].count, 0, __ATOMIC_RELAXED);

		if (count > 0)
			tell_errors(key, now, count);
	}
	told += __atomic_exchange_n(&t->moved, 0, __ATOMIC_RELAXED);
	isc_budget_take((int64_t)(told * COST));
	isc_sample_cost_add(told * COST);
}

/* A kind keeps its place: what comes when all are taken is told at once. */
static void add_error(isc_producer *t, enum isc_syscall call, int error, uint64_t now)
{
	uint32_t key = (uint32_t)call << 16 | ((uint32_t)error & UINT16_MAX);

	for (uint32_t i = 0; i < ISC_SYSCALL_FAILED; i++) {
		uint32_t none = 0;

		if (t->failed[i].key == 0)
			__atomic_compare_exchange_n(&t->failed[i].key, &none, key, false, __ATOMIC_RELAXED,
						    __ATOMIC_RELAXED);
		if (t->failed[i].key == key) {
			add32(&t->failed[i].count, 1);
			return;
		}
	}
	tell_errors(key, now, 1);
}

static void add(enum isc_syscall call, uint64_t now, const isc_syscall_sum *one, int error)
{
	isc_producer *t = producer();
	isc_syscall_sum *sum;

	if (__builtin_expect(t == NULL, 0)) {
		/* A child that shares our memory until it becomes another program has no place to write to. */
		if (isc_kernel_pid() != isc_image_self.pid)
			return;
		/* This gives the thread a producer. */
		tell_sum(call, now, one);
		if (error != 0)
			tell_errors((uint32_t)call << 16 | ((uint32_t)error & UINT16_MAX), now, 1);
		return;
	}
	sum = &t->calls[call];
	add64(&sum->count, one->count);
	add64(&sum->ticks, one->ticks);
	add64(&t->in_calls, one->ticks);
	if (one->bytes != 0)
		add64(&sum->bytes, one->bytes);
	if (__builtin_expect(one->slow != 0, 0))
		add32(&sum->slow, one->slow);
	if (__builtin_expect(error != 0, 0)) {
		add32(&sum->errors, one->errors);
		add_error(t, call, error, now);
	}
	if (__builtin_expect(now - t->summed > TOLD_EVERY, 0))
		tell(t, now);
}

/* Is this the one of so many?  The distance varies, or a program with a rhythm would be seen from one side only. */
static inline bool is_looked_at(isc_producer *t)
{
	bool first = t->passed == 0;

	if (__builtin_expect(t->passed > 1, 1)) {
		t->passed--;
		return false;
	}
	t->passed = 2 + (uint32_t)(isc_ticks() * 0x9e3779b97f4a7c15ull >> 32) % (2 * ONE_OF - 3);
	return !first;
}

/* One that cannot be afforded is owed: the next that can be stands for both.  Counting alone uses the budget up where
 * calls are many, which is when one wants to know whose they are: a few are looked at whatever it says. */
static void look_at(isc_producer *t, enum isc_syscall call, uint64_t now, uint32_t stack, isc_syscall_sample sample)
{
	struct {
		isc_record head;
		isc_syscall_sample body;
	} record = {{.ticks = now, .kind = ISC_KIND_SYSCALL_SAMPLE, .slots = 3, .arg = (uint16_t)call}, sample};

	if (now - t->looked < LOOK_EVERY && !isc_blocked_worth(sample.ticks)) {
		t->owed++;
		return;
	}
	t->looked = now;
	record.head.id = stack != 0 ? stack : isc_sample_here(0, NULL);
	record.body.count = (1ull + t->owed) * ONE_OF;
	t->owed = 0;
	isc_write((const isc_record *)&record, 3);
	isc_blocked_cost(now);
}

/* How many calls one that was timed stands for. */
static uint32_t stands_for(enum isc_syscall call, int error, uint64_t ticks)
{
	uint8_t was = isc_syscall_vain[call];
	bool skipped = was >= ISC_SYSCALL_VAIN;

	if (error == 0 || ticks >= VAIN_TICKS) {
		isc_syscall_vain[call] = 0;
		return 1;
	}
	isc_syscall_vain[call] = (uint8_t)(skipped ? ISC_SYSCALL_VAIN : was + 1u);
	return skipped && was >= ISC_SYSCALL_VAIN + ISC_SYSCALL_ONE_OF - 1 ? ISC_SYSCALL_ONE_OF : 1;
}

void isc_syscall_counted(enum isc_syscall call, int error, uint64_t bytes)
{
	isc_producer *t = producer();
	isc_syscall_sum *sum;

	if (error == 0)
		isc_syscall_vain[call] = 0;
	/* A fork child goes on where its parent was, and has nowhere to add to yet. */
	if (__builtin_expect(t == NULL, 0)) {
		isc_syscall_sum one = {.count = 1, .bytes = bytes, .errors = error != 0};
		int saved = errno;

		isc_syscall_vain[call] = 0;
		add(call, isc_ticks(), &one, error);
		errno = saved;
		return;
	}
	sum = &t->calls[call];
	add64(&sum->count, 1);
	if (bytes != 0)
		add64(&sum->bytes, bytes);
	if (error != 0) {
		int saved = errno;

		add32(&sum->errors, 1);
		add_error(t, call, error, t->summed);
		errno = saved;
	}
	if (__builtin_expect(is_looked_at(t), 0)) {
		int saved = errno;

		look_at(t, call, isc_ticks(), 0, (isc_syscall_sample){.bytes = bytes});
		errno = saved;
	}
}

static void tell_slow(enum isc_syscall call, uint64_t now, uint32_t stack, const isc_syscall_slow *slow)
{
	struct {
		isc_record head;
		isc_syscall_slow body;
	} record = {{.ticks = now, .id = stack, .kind = ISC_KIND_SYSCALL, .slots = 3, .arg = (uint16_t)call}, *slow};

	isc_write((const isc_record *)&record, 3);
}

/* Of calls that move bytes over a channel; splice() has two of them. */
static const uint8_t ways[ISC_SYSCALL_COUNT] = {
#define SENDS(call) [ISC_SYSCALL_##call] = 1 + ISC_CHANNEL_SENT
#define GETS(call) [ISC_SYSCALL_##call] = 1 + ISC_CHANNEL_GOT
	SENDS(write), SENDS(writev), SENDS(sendfile), SENDS(sendto),  SENDS(sendmsg), SENDS(sendmmsg),
	GETS(read),   GETS(readv),   GETS(splice),    GETS(recvfrom), GETS(recvmsg),  GETS(recvmmsg)};

#define ON_CHANNELS \
	(1u << ISC_WAIT_READ | 1u << ISC_WAIT_WRITE | 1u << ISC_WAIT_RECV | 1u << ISC_WAIT_SEND | \
	 1u << ISC_WAIT_CONNECT | 1u << ISC_WAIT_ACCEPT)

static isc_blocked_cause cause_of(enum isc_wait_call wait, uint64_t begin, uint64_t now, int fd)
{
	bool asked = (ON_CHANNELS >> wait & 1) != 0 && isc_blocked_tells(begin, now);

	return (isc_blocked_cause){.channel = asked ? isc_channel_of(fd) : 0};
}

void isc_syscall_ended(enum isc_syscall call, enum isc_wait_call wait, uint64_t begin, int error, uint64_t bytes,
		       isc_syscall_about about)
{
	uint64_t now = isc_ticks(), since = begin & ~1ull, ticks = now > since ? now - since : 0;
	isc_syscall_sum one = {.count = 1, .ticks = ticks, .bytes = bytes, .errors = error != 0, .slow = ticks > SLOW};
	isc_blocked_cause cause;
	int saved = errno;
	uint32_t stack = 0;
	isc_producer *t;
	bool told;

	if (wait != ISC_SYSCALL_NO_WAIT) {
		cause = cause_of(wait, begin, now, about.fd);
		told = isc_blocked_ended(wait, begin, now, &cause, &stack);
	} else {
		told = one.slow != 0 && isc_blocked_worth(ticks);
		if (told)
			stack = isc_sample_here(0, NULL);
		one.ticks *= stands_for(call, error, ticks);
	}
	add(call, now, &one, error);
	if (told && one.slow != 0) {
		isc_syscall_slow slow = {.ticks = ticks, .bytes = bytes, .error = (uint32_t)error};

		if ((isc_image_self.flags & ISC_CONTROL_SYSCALL_ARGS) != 0 && error != EFAULT)
			slow.detail = isc_syscall_about_name(about);
		tell_slow(call, now, stack, &slow);
		if (wait == ISC_SYSCALL_NO_WAIT)
			isc_blocked_cost(now);
	} else {
		t = producer();
		if (t != NULL && __builtin_expect(is_looked_at(t), 0))
			look_at(t, call, now, stack, (isc_syscall_sample){.ticks = ticks, .bytes = bytes});
	}
	/* Behind all that is told of the wait. */
	if (bytes != 0 && ways[call] != 0)
		isc_channel_moved(about.fd, (enum isc_channel_way)(ways[call] - 1), since, now, bytes);
	errno = saved;
}

void isc_syscall_departs(enum isc_syscall call)
{
	isc_syscall_sum one = {.count = 1};
	int saved = errno;

	if (!isc_blocked_wanted())
		return;
	add(call, isc_ticks(), &one, 0);
	isc_blocked_flush();
	isc_syscall_flush();
	isc_channel_flush();
	errno = saved;
}

void isc_syscall_returned(enum isc_syscall call, int error)
{
	isc_syscall_sum one = {.errors = 1};
	int saved = errno;

	if (isc_blocked_wanted() && error != 0)
		add(call, isc_ticks(), &one, error);
	errno = saved;
}

void isc_syscall_flush(void)
{
	isc_producer *t = producer();
	int saved = errno;

	if (t != NULL && isc_blocked_wanted())
		tell(t, isc_ticks());
	errno = saved;
}

void isc_syscall_flush_due(uint64_t now)
{
	isc_producer *t = producer();

	if (t != NULL && now - t->summed > TOLD_EVERY / 10)
		tell(t, now);
}

/* Others may be at work; what they add from now on is not told any more. */
void isc_syscall_flush_all(void)
{
	isc_producer *self = producer();
	uint64_t threads, now;
	int saved = errno;

	if (self == NULL || !isc_blocked_wanted())
		return;
	now = isc_ticks();
	/* Slots are given in order; a fork child leaves out the one that its parent's thread had. */
	threads = atomic_load_explicit(&self->pool->serial, memory_order_relaxed) + 1;
	for (uint32_t i = 0; i < self->pool->max_slots && i < threads; i++) {
		isc_producer *t = isc_producer_at(i);

		if (t != NULL && t->gen == self->gen)
			tell(t, now);
	}
	isc_channel_flush();
	errno = saved;
}
