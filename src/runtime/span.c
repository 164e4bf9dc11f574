/*
 * span.c - scopes that may be left on another thread than they were entered on:
 * those of Python, which belong to a context, and ranges with a handle; and who
 * watches scopes.
 */
#include "runtime/budget.h"
#include "runtime/runtime.h"
#include "runtime/write.h"

/* Of one scope; what took longer was interrupted. */
#define COST_MOST 250000

/* A fork child goes on counting, so that scopes it inherited stay apart from its own. */
static _Atomic uint64_t last_instance;

/* ---- who watches ---- */

void isc_rt_scope_watch(const isc_scope_watch *watch)
{
	atomic_store_explicit(&isc_wiped_page->watch, watch, memory_order_release);
}

__attribute__((noinline)) void isc_scope_tell(const isc_scope_watch *watch, bool entered, uint32_t name,
					      uint64_t instance)
{
	uint64_t begin = isc_ticks();
	int64_t cost;

	if (entered)
		watch->enter(name, instance);
	else
		watch->leave(name, instance);
	cost = (int64_t)(isc_ticks() - begin);
	isc_budget_take(cost < COST_MOST ? cost : COST_MOST);
}

/* ---- spans ---- */

bool isc_rt_span_start(isc_rt_span *span, uint32_t name, uint64_t around)
{
	isc_record record[2] = {{.id = name, .kind = ISC_KIND_SPAN_ENTER, .slots = 2}};
	isc_span more = {0, around};

	if (!isc_rt_active())
		return false;
	more.instance = atomic_fetch_add_explicit(&last_instance, 1, memory_order_relaxed) + 1;
	memcpy(&record[1], &more, sizeof(more));
	span->name = name;
	span->instance = more.instance;
	span->thread = (uintptr_t)&isc_producer_self;
	span->ticks = record[0].ticks = isc_ticks();
	isc_write(record, 2);
	/* The write has opened the pool: from now on only a fork changes this. */
	span->gen = atomic_load_explicit(&isc_wiped_page->gen, memory_order_relaxed);
	return true;
}

bool isc_rt_span_enter(isc_rt_span *span, uint32_t name, uint64_t around)
{
	if (!isc_rt_span_start(span, name, around))
		return false;
	isc_scope_told(true, name, span->instance);
	return true;
}

void isc_rt_span_exit(const isc_rt_span *span)
{
	isc_record record[2] = {{.id = span->name, .kind = ISC_KIND_SPAN_EXIT, .slots = 2}};
	isc_span more = {span->instance, 0};

	if (!isc_rt_active())
		return;
	/* Entered before a fork, it is the parent's to leave. */
	if (span->gen != atomic_load_explicit(&isc_wiped_page->gen, memory_order_relaxed))
		return;
	isc_scope_told(false, span->name, span->instance);
	record[0].ticks = isc_ticks();
	record[0].arg = span->thread == (uintptr_t)&isc_producer_self ? ISC_SPAN_STAYED : ISC_SPAN_MOVED;
	/* CPUs whose clocks differ a little make no scope of centuries. */
	more.more = record[0].ticks > span->ticks ? record[0].ticks - span->ticks : 0;
	memcpy(&record[1], &more, sizeof(more));
	isc_write(record, 2);
}
