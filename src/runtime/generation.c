/*
 * generation.c - which process image this is, and whether it is traced.
 *
 * The wiped page is zero in a fork child before the child runs a single
 * instruction.  A child that the fork hook sees arrives there; any other, made
 * by a raw clone, arrives at its first event.
 */
#include <stddef.h>
#include <sys/mman.h>

#include "runtime/image.h"
#include "runtime/kernel.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

isc_image isc_image_self;

static isc_wiped nowhere; /* until there is a session */
isc_wiped *isc_wiped_page = &nowhere;

/* Of the main program or of a library it is linked with; absent elsewhere. */
extern int Py_BytesMain(int argc, char **argv) __attribute__((weak, visibility("default")));

bool isc_wiped_make(void)
{
	void *page;

	if (isc_wiped_page != &nowhere)
		return true;
	page = isc_kernel_map(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	if (page == MAP_FAILED)
		return false;
	if (madvise(page, 4096, MADV_WIPEONFORK) != 0) {
		isc_kernel_unmap(page, 4096);
		return false;
	}
	isc_wiped_page = page;
	return true;
}

static bool wanted(const isc_control *control, uint16_t birth)
{
	/* exec keeps the pid: whatever the root becomes is the root. */
	if (control->flags & ISC_CONTROL_FOLLOW_ALL)
		return true;
	if (birth == ISC_BIRTH_IMAGE && isc_image_self.pid == control->root_pid)
		return true;
	if ((control->flags & ISC_CONTROL_FOLLOW_PYTHON) == 0)
		return false;
	return Py_BytesMain != NULL || atomic_load_explicit(&isc_image_self.python, memory_order_relaxed);
}

uint32_t isc_image_arrive(uint16_t birth)
{
	isc_control *control = atomic_load_explicit(&isc_image_self.control, memory_order_acquire);
	isc_wiped *w = isc_wiped_page;
	isc_guard guard;
	uint32_t none = 0;
	bool traced;

	if (control == NULL)
		return ISC_FOLLOWING_NO;
	/* First: a handler that came between the two would find its own thread at it. */
	isc_guard_enter(&guard);
	/* Another thread is at it: not traced until it has finished. */
	if (!atomic_compare_exchange_strong(&w->arriving, &none, 1)) {
		isc_guard_leave(&guard);
		return atomic_load_explicit(&w->following, memory_order_acquire);
	}
	isc_image_self.pid = isc_kernel_pid();
	isc_image_self.mask = guard.mask;
	if (birth == ISC_BIRTH_FORK)
		isc_pool_leave();
	traced = wanted(control, birth);
	isc_roster_add(control, birth, traced);
	none = traced ? ISC_FOLLOWING_YES : ISC_FOLLOWING_NO;
	atomic_store_explicit(&w->following, none, memory_order_release);
	if (isc_image_arrived != NULL)
		isc_image_arrived(birth);
	isc_guard_leave(&guard);
	return none;
}

/* Events that found the pool half made are events without a slot. */
static void settle_early(isc_wiped *w)
{
	uint64_t early = atomic_exchange(&w->early, 0);

	if (early != 0)
		atomic_fetch_add_explicit(&isc_image_self.pool->noslot, early, memory_order_relaxed);
}

/* Whoever is later, the opener or this one, finds the count. */
static void miss(isc_wiped *w, uint32_t events)
{
	if (events == 0)
		return;
	atomic_fetch_add(&w->early, events);
	if (atomic_load(&w->gen) != 0)
		settle_early(w);
}

void isc_image_miss(void)
{
	isc_wiped *w = isc_wiped_page;

	if (atomic_load(&w->gen) != 0 ||
	    (isc_image_following() != ISC_FOLLOWING_NO && atomic_load(&w->opening) != ISC_OPENING_FAILED))
		miss(w, 1);
}

static bool open_for(uint32_t events)
{
	isc_control *control = atomic_load_explicit(&isc_image_self.control, memory_order_acquire);
	isc_wiped *w = isc_wiped_page;
	isc_guard guard;
	uint32_t not_yet = ISC_OPENING_NOT;
	uint32_t following;
	bool open;

	if (atomic_load_explicit(&w->gen, memory_order_acquire) != 0)
		return true;
	if (control == NULL)
		return false;
	following = isc_image_following();
	if (following == ISC_FOLLOWING_NO ||
	    atomic_load_explicit(&control->phase, memory_order_relaxed) != ISC_PHASE_COLLECTING)
		return false;
	/* First: the events of a handler that came between the two would be dropped. */
	isc_guard_enter(&guard);
	if (following == ISC_FOLLOWING_UNKNOWN ||
	    !atomic_compare_exchange_strong(&w->opening, &not_yet, ISC_OPENING_NOW)) {
		/* By a handler that came before the guard, or another thread just now. */
		open = atomic_load(&w->gen) != 0;
		/* Somebody is at it, and nobody waits: the event is dropped. */
		if (!open && not_yet != ISC_OPENING_FAILED)
			miss(w, events);
		isc_guard_leave(&guard);
		return open;
	}
	open = isc_pool_open();
	if (open) {
		atomic_store(&w->gen, isc_image_self.gen);
		settle_early(w);
	} else {
		/* For good: a process that tries again and again would pay each time. */
		atomic_store(&w->opening, ISC_OPENING_FAILED);
		atomic_store(&w->following, ISC_FOLLOWING_NO);
		atomic_fetch_add_explicit(&control->attach_failed, 1, memory_order_relaxed);
		isc_roster_add(control, ISC_BIRTH_BARREN, false);
	}
	isc_guard_leave(&guard);
	return open;
}

bool isc_image_open(void)
{
	return open_for(0);
}

bool isc_image_open_for_event(void)
{
	return open_for(1);
}
