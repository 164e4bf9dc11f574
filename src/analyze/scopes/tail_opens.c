#include <stdlib.h>

#include "analyze/scopes/tail_walk.h"

static uint64_t span_key(uint32_t process, uint64_t id)
{
	return (uint64_t)process << 40 ^ id;
}

static void *pointer_in(const uint64_t *value)
{
	return value != NULL ? (void *)(uintptr_t)*value : NULL;
}

void isc_tail_opens_fini(isc_tail_opens *o)
{
	for (size_t i = 0; i < o->all_count; i++) {
		isc_tail_sums_fini(&o->all[i]->own);
		isc_tail_sums_fini(&o->all[i]->elsewhere);
		isc_cells_fini(&o->all[i]->nested);
		isc_cells_fini(&o->all[i]->more);
	}
	isc_hashmap_fini(&o->piles);
	isc_hashmap_fini(&o->by_span);
	isc_hashmap_fini(&o->orphans);
}

isc_tail_pile *isc_tail_pile_find(const isc_tail_opens *o, uint32_t thread, uint32_t task)
{
	isc_tail_pile *pile = pointer_in(isc_hashmap_find(&o->piles, isc_hashmap_key(thread, task)));

	return pile != NULL && pile->top != NULL ? pile : NULL;
}

static isc_tail_pile *pile_of(isc_tail_opens *o, uint32_t thread, uint32_t task)
{
	isc_tail_pile *pile = o->last;
	uint64_t *known;

	if (task == 0 && pile != NULL && pile->thread == thread)
		return pile;
	known = isc_hashmap_put(&o->piles, isc_hashmap_key(thread, task), NULL);
	if (known == NULL)
		return NULL;
	if (*known != 0) {
		pile = pointer_in(known);
		o->last = task == 0 ? pile : o->last;
		return pile;
	}
	pile = o->free_piles;
	if (pile != NULL)
		o->free_piles = pile->next_free;
	else
		pile = isc_arena_alloc(o->t->b->arena, sizeof(*pile));
	if (pile == NULL)
		return NULL;
	*pile = (isc_tail_pile){.thread = thread, .task = task};
	*known = (uint64_t)(uintptr_t)pile;
	return pile;
}

/* As it was when it was new, but for the room of its tables. */
static void renew(isc_tail_open *s)
{
	isc_tail_sums_clear(&s->own);
	isc_tail_sums_clear(&s->elsewhere);
	isc_cells_clear(&s->nested);
	isc_cells_clear(&s->more);
	s->elsewhere_us = 0;
	s->to_ns = 0;
	s->left = s->waits = false;
}

static isc_tail_open *take_open(isc_tail_opens *o)
{
	isc_tail_open *s = o->free_opens, **place;

	if (s != NULL) {
		o->free_opens = s->below;
		renew(s);
	} else {
		s = isc_arena_alloc(o->t->b->arena, sizeof(*s));
		place = s != NULL ? isc_arena_push(o->t->b->arena, &o->all, &o->all_count, &o->all_room, sizeof(*place))
				  : NULL;
		if (place == NULL)
			return NULL;
		*place = s;
	}
	o->taken++;
	return s;
}

static void give_back(isc_tail_opens *o, isc_tail_open *s)
{
	if (s->id != 0 && pointer_in(isc_hashmap_find(&o->by_span, span_key(s->process, s->id))) == s)
		isc_hashmap_remove(&o->by_span, span_key(s->process, s->id));
	s->below = o->free_opens;
	o->free_opens = s;
	o->taken--;
}

bool isc_tail_opens_enter(isc_tail_opens *o, const isc_event *ev, uint32_t task, size_t tail, uint64_t id,
			  uint64_t parent)
{
	isc_tail_pile *pile;
	isc_tail_open *s;
	uint64_t *of_span;

	if (o->taken >= ISC_TAIL_OPEN_MAX)
		return true;
	pile = pile_of(o, ev->thread, task);
	s = pile != NULL ? take_open(o) : NULL;
	if (s == NULL)
		return false;
	s->process = ev->process;
	s->thread = ev->thread;
	s->tail = (uint32_t)tail;
	s->id = id;
	s->parent = parent;
	s->from_ns = ev->time_ns;
	s->pile = pile;
	s->task = task != 0;
	o->changes += pile->top == NULL;
	o->open++;
	s->below = pile->top;
	pile->top = s;
	if (id == 0)
		return true;
	of_span = isc_hashmap_put(&o->by_span, span_key(ev->process, id), NULL);
	if (of_span != NULL)
		*of_span = (uint64_t)(uintptr_t)s;
	return of_span != NULL;
}

isc_tail_open *isc_tail_opens_find(const isc_tail_opens *o, const isc_event *ev, size_t tail, uint64_t id)
{
	const isc_tail_pile *pile;
	isc_tail_open *s;

	if (id != 0) {
		s = pointer_in(isc_hashmap_find(&o->by_span, span_key(ev->process, id)));
		return s != NULL && !s->left ? s : NULL;
	}
	pile = o->last != NULL && o->last->thread == ev->thread ? o->last : isc_tail_pile_find(o, ev->thread, 0);
	s = pile != NULL ? pile->top : NULL;
	while (s != NULL && (s->tail != tail || s->id != 0))
		s = s->below;
	return s;
}

static void unlink_open(isc_tail_opens *o, isc_tail_open *s)
{
	isc_tail_pile *pile = s->pile;
	isc_tail_open **place = &pile->top;

	while (*place != NULL && *place != s)
		place = &(*place)->below;
	if (*place == s)
		*place = s->below;
	o->open--;
	s->left = true;
	s->pile = NULL;
	o->changes += pile->top == NULL;
	/* That of a thread is used again. */
	if (pile->top == NULL && pile->task != 0) {
		isc_hashmap_remove(&o->piles, isc_hashmap_key(pile->thread, pile->task));
		pile->next_free = o->free_piles;
		o->free_piles = pile;
	}
}

/* Those inside may have run beside each other, and share the time that was waited for them.  Without
 * something that one of them does, up to all of it could be saved: the others may take no longer. */
static bool note_more(const isc_tails *t, isc_tail_open *s, double waited, double factor)
{
	const isc_cell *cell;
	size_t at = 0;

	while ((cell = isc_cells_next(&s->elsewhere.cells, &at)) != NULL) {
		double most = cell->us < waited ? cell->us : waited;

		if ((cell->key & ISC_TAIL_NODE) == 0 && t->key[cell->key - 1].kind < ISC_TAIL_HOLE &&
		    most > cell->us * factor && !isc_cells_add(&s->more, cell->key, 0, most - cell->us * factor))
			return false;
	}
	return true;
}

/* Part of the waiting of a scope was for those inside it: theirs takes its place. */
static bool explain_waiting(isc_tails *t, isc_tail_open *s)
{
	double waited = s->own.told[ISC_STATE_IDLE] + s->own.loop_us, part;
	size_t at = 0;
	const isc_cell *cell;

	if (s->elsewhere_us <= 0 || waited <= 0)
		return true;
	part = s->elsewhere_us < waited ? s->elsewhere_us / waited : 1;
	s->own.told[ISC_STATE_IDLE] *= 1 - part;
	while ((cell = isc_cells_next(&s->own.cells, &at)) != NULL) {
		uint8_t kind = cell->key & ISC_TAIL_NODE ? ISC_TAIL_RUN : t->key[cell->key - 1].kind;

		/* The same key: nothing moves. */
		if (kind == ISC_TAIL_AWAIT || kind == ISC_TAIL_LOOP || kind == ISC_STATE_IDLE)
			isc_cells_add(&s->own.cells, cell->key, 0, -cell->us * part);
	}
	s->own.loop_us *= 1 - part;
	return note_more(t, s, waited, waited * part / s->elsewhere_us) &&
	       isc_tail_sums_merge(&s->own, &s->elsewhere, waited * part / s->elsewhere_us);
}

static bool count(isc_tail_opens *o, isc_tail_open *s)
{
	return explain_waiting(o->t, s) && isc_tails_count(o->t, s->tail, &s->own, &s->nested, &s->more, s->task,
							   s->process, s->thread, s->from_ns, s->to_ns);
}

/* One inside it ran elsewhere. */
static bool adopt(isc_tail_open *parent, const isc_tail_open *s)
{
	parent->elsewhere_us += (double)(s->to_ns - s->from_ns) / 1e3;
	return isc_tail_sums_merge(&parent->elsewhere, &s->own, 1) && isc_cells_merge(&parent->more, &s->more, 1) &&
	       isc_cells_add(&parent->nested, s->tail + 1, 1, (double)(s->to_ns - s->from_ns) / 1e3);
}

static bool adopt_orphans(isc_tail_opens *o, isc_tail_open *parent)
{
	isc_tail_open *s;
	bool good = true;

	if (parent->id == 0 || o->orphans.count == 0)
		return true;
	s = pointer_in(isc_hashmap_find(&o->orphans, span_key(parent->process, parent->id)));
	for (; s != NULL; s = s->below) {
		good &= adopt(parent, s);
		s->parent = 0;
	}
	isc_hashmap_remove(&o->orphans, span_key(parent->process, parent->id));
	return good;
}

/* The oldest of those that are kept counts now, and makes room. */
static bool release(isc_tail_opens *o, size_t at)
{
	isc_tail_open *s = o->kept[at], **place;
	uint64_t *first = NULL;
	bool good;

	if (s == NULL)
		return true;
	o->kept[at] = NULL;
	if (s->parent != 0)
		first = isc_hashmap_find(&o->orphans, span_key(s->process, s->parent));
	if (first != NULL) {
		isc_tail_open *head = pointer_in(first);

		for (place = &head; *place != NULL && *place != s;)
			place = &(*place)->below;
		if (*place == s)
			*place = s->below;
		if (head != NULL)
			*first = (uint64_t)(uintptr_t)head;
		else
			isc_hashmap_remove(&o->orphans, span_key(s->process, s->parent));
	}
	good = count(o, s);
	give_back(o, s);
	return good;
}

static bool keep(isc_tail_opens *o, isc_tail_open *s, bool orphan)
{
	uint64_t *first;

	if (!release(o, o->kept_at))
		return false;
	o->kept[o->kept_at] = s;
	o->kept_at = (o->kept_at + 1) % ISC_TAIL_KEPT;
	s->below = NULL;
	if (!orphan) {
		s->parent = 0;
		return true;
	}
	first = isc_hashmap_put(&o->orphans, span_key(s->process, s->parent), NULL);
	if (first == NULL)
		return false;
	s->below = pointer_in(first);
	*first = (uint64_t)(uintptr_t)s;
	return true;
}

bool isc_tail_opens_leave(isc_tail_opens *o, isc_tail_open *s, uint64_t from_ns, uint64_t to_ns, bool counted)
{
	isc_tail_open *below = s->below, *parent = below;
	isc_tail_pile *pile = s->pile;
	bool orphan = false, good = true, same;

	s->from_ns = from_ns;
	s->to_ns = to_ns;
	if (s->parent != 0) {
		parent = pointer_in(isc_hashmap_find(&o->by_span, span_key(s->process, s->parent)));
		orphan = parent == NULL;
	}
	same = parent != NULL && parent->pile == pile;
	unlink_open(o, s);
	/* Only in a file that is not ours does one end before it begins. */
	if (!counted || to_ns < from_ns) {
		give_back(o, s);
		return true;
	}
	if (same)
		good = isc_tail_sums_merge(&parent->own, &s->own, 1) && isc_cells_merge(&parent->more, &s->more, 1) &&
		       isc_cells_add(&parent->nested, s->tail + 1, 1, (double)(to_ns - from_ns) / 1e3);
	/* A scope of the thread has seen what its tasks did. */
	else if (parent != NULL && parent->pile != NULL && parent->pile->task == 0 && parent->thread == s->thread)
		good = isc_cells_add(&parent->nested, s->tail + 1, 1, (double)(to_ns - from_ns) / 1e3);
	else if (parent != NULL)
		good = adopt(parent, s);
	good = good && adopt_orphans(o, s);
	s->waits = s->id != 0 && s->own.told[ISC_STATE_IDLE] + s->own.loop_us > 0;
	if (good && (orphan || s->waits))
		return keep(o, s, orphan);
	good = good && count(o, s);
	give_back(o, s);
	return good;
}

void isc_tail_opens_drop(isc_tail_opens *o, uint32_t thread, uint32_t task)
{
	isc_tail_pile *pile;

	while ((pile = isc_tail_pile_find(o, thread, task)) != NULL && pile->top != NULL) {
		isc_tail_open *s = pile->top;

		unlink_open(o, s);
		give_back(o, s);
	}
}

bool isc_tail_opens_end(isc_tail_opens *o)
{
	bool good = true;

	for (size_t i = 0; i < ISC_TAIL_KEPT && good; i++)
		good = release(o, (o->kept_at + i) % ISC_TAIL_KEPT);
	return good;
}
