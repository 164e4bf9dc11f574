#include "timeline/walk.h"

#include <assert.h>
#include <string.h>

#define TELL_EVERY (1u << 16) /* events: some milliseconds */

/* Who wants what of the thread whose chunk is open. */
struct walk_run {
	const isc_walk *walk;
	uint32_t thread;
	isc_kinds kinds;		/* of all parts; 0: nobody has asked yet */
	uint16_t wanted[UINT8_MAX + 1]; /* by kind: a bit for each part */
};

void isc_walk_join_thread(isc_walk *w, uint32_t thread, isc_kinds kinds, isc_walk_fn take, void *self)
{
	assert(w->count < ISC_WALK_PARTS);
	w->part[w->count++] = (struct isc_walk_part){take, self, kinds, thread};
}

void isc_walk_join(isc_walk *w, isc_kinds kinds, isc_walk_fn take, void *self)
{
	isc_walk_join_thread(w, 0, kinds, take, self);
}

static isc_kinds wanted_of_thread(void *self, uint32_t thread)
{
	struct walk_run *r = self;

	_Static_assert(ISC_WALK_PARTS <= 16, "a bit for each part");
	/* Chunks of one thread often follow each other. */
	if (r->thread == thread && r->kinds != 0)
		return r->kinds;
	r->thread = thread;
	r->kinds = 0;
	memset(r->wanted, 0, sizeof(r->wanted));
	for (size_t i = 0; i < r->walk->count; i++) {
		const struct isc_walk_part *part = &r->walk->part[i];

		if (part->thread != 0 && part->thread != thread)
			continue;
		r->kinds |= part->kinds;
		for (unsigned kind = 0; kind <= UINT8_MAX; kind++)
			r->wanted[kind] |= (uint16_t)(((part->kinds & ISC_KIND_BIT(kind)) != 0) << i);
	}
	return r->kinds;
}

static bool give_event(const struct walk_run *r, const isc_event *ev)
{
	for (unsigned parts = r->wanted[ev->kind]; parts != 0; parts &= parts - 1) {
		const struct isc_walk_part *part = &r->walk->part[__builtin_ctz(parts)];

		if (!part->take(part->self, ev))
			return false;
	}
	return true;
}

bool isc_walk_run(const isc_walk *w, isc_trace *trace)
{
	struct walk_run run = {.walk = w};
	uint32_t given = 0;
	isc_event ev;

	if (w->count == 0)
		return true;
	isc_trace_rewind_for(trace, wanted_of_thread, &run);
	do {
		if (given % TELL_EVERY == 0 && w->tell != NULL)
			w->tell(w->tell_self, isc_trace_passed(trace));
		if (!isc_trace_next(trace, &ev))
			return true;
		given++;
	} while (give_event(&run, &ev));
	return false;
}
