#include "cuda/scopes.h"

#include <stdatomic.h>

#include "cuda/buffers.h"
#include "cuda/calls.h"
#include "runtime/runtime.h"

/* Scopes in each other that are pushed.  Deeper ones are those around them. */
#define DEPTH 64u

#define WHOSE ISC_CUPTI_EXTERNAL_CUSTOM2

/* What this thread has pushed, the innermost last. */
struct pushed_scope {
	uint32_t turn; /* in which it did; 0: never */
	uint32_t depth;
	bool inside; /* a call of CUPTI: a signal handler that has scopes does not come in between */
	uint64_t number[DEPTH];
};
static __thread struct pushed_scope mine;

static const isc_cupti *cupti;
static _Atomic uint32_t turn;	/* times that scopes were begun; odd: they are watched */
static _Atomic bool wanted, on; /* records: there was a scope; they are on */

static uint64_t number_of(uint32_t name, uint64_t instance)
{
	return (uint64_t)name << 32 | (uint32_t)instance;
}

uint32_t isc_scopes_read(uint64_t pushed, uint64_t *instance)
{
	*instance = (uint32_t)pushed;
	return (uint32_t)(pushed >> 32);
}

static void pop(uint32_t down_to)
{
	uint64_t number;

	while (mine.depth > down_to) {
		mine.depth--;
		/* CUPTI would name it for ever. */
		if (cupti->ActivityPopExternalCorrelationId(WHOSE, &number) != ISC_CUPTI_OK)
			isc_scopes_end();
	}
}

static void push(uint64_t number)
{
	if (mine.depth < DEPTH && cupti->ActivityPushExternalCorrelationId(WHOSE, number) == ISC_CUPTI_OK)
		mine.number[mine.depth++] = number;
}

static bool begin(void)
{
	if (mine.inside)
		return false;
	mine.inside = true;
	atomic_signal_fence(memory_order_seq_cst);
	return true;
}

static void done(void)
{
	atomic_signal_fence(memory_order_seq_cst);
	mine.inside = false;
}

static void enter(uint32_t name, uint64_t instance)
{
	uint32_t now = atomic_load_explicit(&turn, memory_order_acquire);

	if (now % 2 == 0 || !begin())
		return;
	/* Of the time before the last end, and never left. */
	if (mine.turn != now)
		pop(0);
	mine.turn = now;
	push(number_of(name, instance));
	done();
	if (!atomic_load_explicit(&wanted, memory_order_relaxed) && !atomic_exchange(&wanted, true))
		isc_buffers_wake();
}

/* The innermost of this number; those inside it stay.  Also behind the end: who comes after us finds no numbers
 * that are not its own. */
static void leave(uint32_t name, uint64_t instance)
{
	uint64_t number = number_of(name, instance), inner[DEPTH];
	uint32_t at, above = 0;

	if (!begin())
		return;
	for (at = mine.depth; at > 0 && mine.number[at - 1] != number; at--)
		inner[above++] = mine.number[at - 1];
	if (at > 0) {
		pop(at - 1);
		while (above > 0)
			push(inner[--above]);
	}
	done();
}

static const isc_scope_watch watch = {enter, leave};

void isc_scopes_begin(const isc_cupti *opened)
{
	if (opened->version < ISC_CUPTI_12_5 || opened->ActivityPushExternalCorrelationId == NULL ||
	    opened->ActivityPopExternalCorrelationId == NULL || opened->ActivityEnableRuntimeApi == NULL ||
	    opened->ActivityEnableDriverApi == NULL || isc_scopes_on())
		return;
	cupti = opened;
	atomic_store(&wanted, false);
	atomic_fetch_add_explicit(&turn, 1, memory_order_release);
	isc_rt_scope_watch(&watch);
}

bool isc_scopes_on(void)
{
	return atomic_load(&turn) % 2 == 1;
}

static void switch_off(void)
{
	if (atomic_exchange(&on, false)) {
		cupti->ActivityDisable(ISC_CUPTI_EXTERNAL);
		isc_calls_records(cupti, false);
	}
}

void isc_scopes_end(void)
{
	if (!isc_scopes_on())
		return;
	atomic_fetch_add(&turn, 1);
	switch_off();
	/* Other threads do when they leave theirs. */
	if (begin()) {
		pop(0);
		done();
	}
}

void isc_scopes_settle(void)
{
	if (!isc_scopes_on() || !atomic_load(&wanted) || atomic_load(&on))
		return;
	/* Calls of which CUPTI has no record have no scope of it either. */
	if (cupti->ActivityEnable(ISC_CUPTI_EXTERNAL) != ISC_CUPTI_OK) {
		isc_scopes_end();
		return;
	}
	atomic_store(&on, true);
	if (isc_calls_records(cupti, true) == 0)
		isc_scopes_end();
	else if (!isc_scopes_on())
		switch_off();
}
