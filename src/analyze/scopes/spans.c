#include "analyze/scopes/spans.h"

#include <stdlib.h>
#include <string.h>

struct isc_span_found {
	uint32_t process;
	bool named;
	uint64_t instance, parent;
};

void isc_spans_fini(isc_spans *s)
{
	isc_hashmap_fini(&s->inside);
	isc_hashmap_fini(&s->moved);
	isc_hashmap_fini(&s->named);
}

static uint64_t key_of(uint32_t process, uint64_t instance)
{
	return (uint64_t)process << 40 ^ instance;
}

static bool is_span(const isc_event *ev, isc_span *span)
{
	if ((ev->kind != ISC_KIND_SPAN_ENTER && ev->kind != ISC_KIND_SPAN_EXIT) || ev->extra_len < sizeof(*span))
		return false;
	memcpy(span, ev->extra, sizeof(*span));
	return true;
}

bool isc_spans_named(isc_spans *s, isc_build *b, const isc_event *ev, bool *yes)
{
	uint64_t key = isc_hashmap_key(ev->process, ev->id), *known;
	struct isc_span_name *recent = &s->recent[(ev->id ^ ev->process * 31u) % ISC_SPANS_NAMES];
	uint32_t len = 0;
	const char *name;

	if (recent->key_plus_1 == key + 1) {
		*yes = recent->named;
		return true;
	}
	known = isc_hashmap_put(&s->named, key, NULL);
	if (known == NULL)
		return false;
	if (*known == 0) {
		name = isc_build_label(b, ev->process, ev->id, &len);
		*known = len == b->only.len && memcmp(name, b->only.at, len) == 0 ? 1 : 2;
	}
	*yes = *known == 1;
	*recent = (struct isc_span_name){key + 1, *yes};
	return true;
}

static int by_instance(const void *x, const void *y)
{
	const struct isc_span_found *f = x, *g = y;

	if (f->process != g->process)
		return f->process < g->process ? -1 : 1;
	return f->instance < g->instance ? -1 : f->instance > g->instance;
}

static bool note_end(isc_spans *s, const isc_event *ev, uint64_t instance)
{
	uint64_t *end = isc_hashmap_put(&s->moved, key_of(ev->process, instance), NULL);

	if (end != NULL)
		*end = ev->time_ns;
	return end != NULL;
}

static bool take_span(void *self, const isc_event *ev)
{
	isc_spans *s = self;
	struct isc_span_found *f;
	isc_span span;

	if (!is_span(ev, &span))
		return true;
	if (ev->kind == ISC_KIND_SPAN_EXIT)
		return ev->arg != ISC_SPAN_MOVED || note_end(s, ev, span.instance);
	f = isc_arena_push(s->b->arena, &s->found, &s->count, &s->room, sizeof(*f));
	if (f == NULL)
		return false;
	*f = (struct isc_span_found){.process = ev->process, .instance = span.instance, .parent = span.more};
	return isc_spans_named(s, s->b, ev, &f->named);
}

void isc_spans_join(isc_spans *s, isc_build *b, isc_walk *walk)
{
	s->b = b;
	isc_walk_join(walk, ISC_KIND_BIT(ISC_KIND_SPAN_ENTER) | ISC_KIND_BIT(ISC_KIND_SPAN_EXIT), take_span, s);
}

bool isc_spans_end(isc_spans *s)
{
	/* Threads are read in runs; by instance, whatever encloses comes first. */
	if (s->count > 1)
		qsort(s->found, s->count, sizeof(*s->found), by_instance);
	for (size_t i = 0; i < s->count; i++) {
		const struct isc_span_found *f = &s->found[i];

		if (!f->named && isc_hashmap_find(&s->inside, key_of(f->process, f->parent)) == NULL)
			continue;
		if (isc_hashmap_put(&s->inside, key_of(f->process, f->instance), NULL) == NULL)
			return false;
	}
	return true;
}

/* One that was left, here or by then elsewhere, is open no more. */
static void forget(isc_crossing_lane *lane, uint64_t instance, uint64_t now_ns)
{
	size_t kept = 0;

	lane->until_ns = UINT64_MAX;
	for (size_t i = 0; i < lane->span_count; i++) {
		isc_crossing_span open = lane->spans[i];

		if (open.instance == instance || open.end_ns < now_ns)
			continue;
		lane->until_ns = open.end_ns < lane->until_ns ? open.end_ns : lane->until_ns;
		lane->spans[kept++] = open;
	}
	lane->span_count = kept;
}

static bool enter(isc_spans *s, isc_arena *arena, isc_crossing_lane *lane, const isc_event *ev, uint64_t instance)
{
	const uint64_t *end = isc_hashmap_find(&s->moved, key_of(ev->process, instance));
	isc_crossing_span *open =
		isc_arena_push(arena, &lane->spans, &lane->span_count, &lane->span_room, sizeof(*open));

	if (open != NULL)
		*open = (isc_crossing_span){instance, end != NULL ? *end : UINT64_MAX, lane->task};
	return open != NULL;
}

bool isc_spans_step(isc_spans *s, isc_arena *arena, isc_crossing_lane *lane, const isc_event *ev, bool *take)
{
	isc_span span = {0, 0};
	bool mine = false;

	if (ev->kind == ISC_KIND_TASK)
		lane->task = ev->id;
	else if (is_span(ev, &span) && isc_hashmap_find(&s->inside, key_of(ev->process, span.instance)) != NULL) {
		*take = true;
		if (ev->kind == ISC_KIND_SPAN_ENTER && !enter(s, arena, lane, ev, span.instance))
			return false;
	} else if (span.instance == 0 && (lane->span_count == 0 || ev->time_ns <= lane->until_ns))
		return true; /* nothing has changed */
	forget(lane, ev->kind == ISC_KIND_SPAN_EXIT ? span.instance : 0, ev->time_ns);
	/* While another task runs on the thread, this one's scopes wait. */
	for (size_t i = 0; i < lane->span_count && !mine; i++)
		mine = lane->spans[i].task == lane->task;
	lane->within = mine;
	return true;
}
