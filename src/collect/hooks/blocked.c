/*
 * blocked.c - waits become records.
 *
 * A wait is told by itself when it was LONG, or longer than BRIEF and the budget allows
 * for it, with the Python stack that led to it.  Otherwise it is added to a sum of its
 * thread and call, which becomes a record every millisecond of waiting: the time in
 * a state stays exact whatever else is left out.
 */
#include "collect/hooks/blocked.h"

#include <errno.h>

#include "collect/sample/sample.h"
#include "collect/hooks/post.h"
#include "collect/hooks/syscall.h"
#include "runtime/budget.h"
#include "runtime/kernel.h"
#include "runtime/runtime.h"

/* In ticks. */
#define BRIEF (10u * isc_image_self.ticks_per_us)
#define LONG (1000u * isc_image_self.ticks_per_us)
#define YIELDS (20u * isc_image_self.ticks_per_us)
#define BRIEF_COST 80	      /* ticks that a summed wait takes */
#define COST_MOST (LONG / 10) /* of a wait that is told; what took longer was interrupted */
#define TAKERS 1024u	      /* places for locks; two that share one hide each other */
#define NEAR 65536u	      /* bytes of frames above ours */
#define TAKER_SHIFT 22u	      /* tids are below that: PID_MAX_LIMIT */

static _Atomic uint64_t takers[TAKERS];

/* The calling thread's producer, if it is this process's. */
static isc_producer *producer(void)
{
	isc_producer *t = isc_producer_self;

	return t != NULL && t->gen == atomic_load_explicit(&isc_wiped_page->gen, memory_order_relaxed) ? t : NULL;
}

static void write_brief(enum isc_wait_call call, uint64_t now, uint64_t ticks, uint64_t count)
{
	struct {
		isc_record head;
		isc_wait_brief body;
	} record = {{.ticks = now, .kind = ISC_KIND_WAIT_BRIEF, .slots = 2, .arg = (uint16_t)call}, {ticks, count}};

	isc_write((const isc_record *)&record, 2);
}

static void spend(uint64_t ticks)
{
	isc_budget_take((int64_t)ticks);
	isc_sample_cost_add(ticks);
}

static void spend_once(uint64_t ticks)
{
	spend(ticks < COST_MOST ? ticks : COST_MOST);
}

static void add_brief(enum isc_wait_call call, uint64_t now, uint64_t ticks)
{
	isc_producer *t = producer();
	isc_wait_brief *sum;

	if (t == NULL) {
		write_brief(call, now, ticks, 1);
		return;
	}
	sum = &t->brief[call];
	sum->ticks += ticks;
	sum->count++;
	if (__builtin_expect(sum->ticks >= LONG, 0)) {
		isc_wait_brief told = *sum;

		*sum = (isc_wait_brief){0, 0};
		spend(told.count * BRIEF_COST);
		write_brief(call, now, told.ticks, told.count);
	}
}

void isc_blocked_flush(void)
{
	isc_producer *t = producer();
	int error = errno;

	if (t == NULL || !isc_blocked_wanted())
		return;
	for (int call = 0; call < ISC_WAIT_CALLS; call++) {
		isc_wait_brief told = t->brief[call];

		t->brief[call] = (isc_wait_brief){0, 0};
		if (told.count > 0)
			write_brief((enum isc_wait_call)call, isc_ticks(), told.ticks, told.count);
	}
	errno = error;
}

/* The thread that ends the program. */
__attribute__((destructor)) static void end(void)
{
	isc_blocked_flush();
	isc_syscall_flush_all();
}

/* May a wait be told by itself?  Its own time pays for nothing: who waits most of the time would be slowed in the rest. */
static bool affordable(void)
{
	const isc_control *control = isc_rt_control();
	int64_t most = atomic_load_explicit(&isc_budget_self.most, memory_order_relaxed);

	return most == 0 || control == NULL || control->budget_pct < 0 || isc_budget_left() > 0;
}

/* Only where the last one was long, so not often: not a question of the budget. */
void isc_blocked_tell(enum isc_wait_call call, uint64_t begin)
{
	int error = errno;
	uint32_t stack = isc_sample_here(0, NULL);

	isc_write1(begin, ISC_RECORD_WORD(stack, ISC_KIND_WAIT_ENTER, call));
	/* It may be the last that is heard of this thread. */
	isc_syscall_flush_due(begin);
	spend_once(isc_ticks() - begin);
	errno = error;
}

/* Long ones cannot be many: they are kept whatever the budget says, for what they waited for
 * shows in the stack. */
bool isc_blocked_worth(uint64_t ticks)
{
	return ticks >= LONG || affordable();
}

void isc_blocked_cost(uint64_t since)
{
	spend_once(isc_ticks() - since);
}

bool isc_blocked_tells(uint64_t begin, uint64_t now)
{
	return (begin & 1) != 0 || now - begin >= BRIEF;
}

/* What is behind the end of a wait; its slots. */
static uint32_t put_waker(isc_waker *waker, const isc_blocked_cause *cause, uint64_t since, uint64_t now)
{
	*waker = (isc_waker){.channel = cause->channel};
	if (cause->posted != NULL)
		isc_post_find(cause->posted, since, now, waker);
	return waker->channel != 0 || waker->poster != 0 ? 3 : 2;
}

bool isc_blocked_ended(enum isc_wait_call call, uint64_t begin, uint64_t now, const isc_blocked_cause *cause,
		       uint32_t *stack)
{
	uint64_t since = begin & ~1ull, ticks = now > since ? now - since : 0;
	isc_producer *t = producer();
	int error = errno;
	bool detail;

	if (t != NULL && ((ISC_BLOCKED_SURE ^ t->unlike) >> call & 1) != (ticks >= LONG))
		t->unlike ^= 1u << call;
	detail = ticks >= BRIEF && isc_blocked_worth(ticks);
	if (!detail && (begin & 1) == 0) {
		add_brief(call, now, ticks);
	} else {
		struct {
			isc_record head;
			isc_wait body;
			isc_waker waker;
		} record = {{.ticks = now, .kind = ISC_KIND_WAIT_EXIT, .arg = (uint16_t)call},
			    {.ticks = ticks, .holder = cause->holder},
			    {0}};

		record.head.slots = (uint8_t)put_waker(&record.waker, cause, since, now);
		if (detail)
			record.head.id = isc_sample_here(cause->gil, &record.body);
		isc_write((const isc_record *)&record, record.head.slots);
		spend_once(isc_ticks() - now);
		*stack = record.head.id;
	}
	errno = error;
	return detail;
}

void isc_blocked_spent(enum isc_wait_call call, uint64_t begin, const isc_blocked_cause *cause)
{
	uint32_t stack;

	isc_blocked_ended(call, begin, isc_ticks(), cause, &stack);
}

void isc_blocked_yield(void)
{
	isc_producer *t = isc_blocked_wanted() ? producer() : NULL;
	uint64_t now;

	if (t == NULL)
		return;
	now = isc_ticks();
	if (now - t->yielded < YIELDS)
		add_brief(ISC_WAIT_YIELD, now, now - t->yielded);
	t->yielded = now;
}

bool isc_blocked_is_gil(const void *object)
{
	const isc_python_layout *l = isc_sample_layout();

	return l != NULL && (uintptr_t)object - l->runtime_from < l->runtime_size;
}

static _Atomic uint64_t *taker_of(const void *object)
{
	return &takers[((uintptr_t)object >> 4) * 0x9e3779b97f4a7c15ull >> 54];
}
_Static_assert(TAKERS == 1u << (64 - 54), "places for locks");

uint32_t isc_blocked_self(void)
{
	const isc_producer *t = producer();

	if (t != NULL)
		return t->tid;
	return isc_sampled_self != NULL ? atomic_load_explicit(ISC_SAMPLED_TID(isc_sampled_self), memory_order_relaxed)
					: 0;
}

void isc_blocked_took(const void *object)
{
	uint64_t tid = isc_blocked_self();

	if (tid != 0)
		atomic_store_explicit(taker_of(object), (uintptr_t)object << TAKER_SHIFT | tid, memory_order_relaxed);
}

static bool is_of(uint64_t entry, const void *object)
{
	return entry >> TAKER_SHIFT == ((uintptr_t)object << TAKER_SHIFT) >> TAKER_SHIFT;
}

uint32_t isc_blocked_taker(const void *object)
{
	_Atomic uint64_t *place = taker_of(object);
	uint64_t entry = atomic_load_explicit(place, memory_order_relaxed);
	uint32_t tid = is_of(entry, object) ? (uint32_t)entry & ((1u << TAKER_SHIFT) - 1) : 0;
	char here;

	/* Never taken, and in a frame of the thread's own: it is there to be woken by, as Python parks threads. */
	if (!is_of(entry, object) && (uintptr_t)object - (uintptr_t)&here < NEAR)
		return isc_blocked_self();
	/* Whoever waits for what it took itself waits to be woken, and so do all that wait with it. */
	if (tid != 0 && tid == isc_blocked_self())
		atomic_store_explicit(place, (uintptr_t)object << TAKER_SHIFT, memory_order_relaxed);
	return tid;
}

uint32_t isc_blocked_waker(const void *object, uint32_t holder)
{
	uint64_t entry = atomic_load_explicit(taker_of(object), memory_order_relaxed);

	return is_of(entry, object) && (entry & ((1u << TAKER_SHIFT) - 1)) == 0 ? isc_blocked_self() : holder;
}
