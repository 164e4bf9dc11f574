#include <string.h>

#include "trace/opened.h"
#include "trace/sample.h"

static void want_kinds(isc_event_cursor *c, isc_kinds kinds)
{
	if (c->kinds == kinds)
		return;
	c->kinds = kinds;
	for (unsigned i = 0; i < sizeof(c->wanted); i++)
		c->wanted[i] = (kinds & ISC_KIND_BIT(i)) != 0;
}

/* Whatever is no event is wanted. */
static bool is_wanted(isc_trace *tr, const isc_chunk_ref *ref)
{
	isc_event_cursor *c = &tr->events;

	if (ref->type != ISC_CHUNK_EVENTS || c->wants == NULL)
		return true;
	want_kinds(c, c->wants(c->wants_self, ref->thread));
	if ((c->kinds & (ref->contents.kinds != 0 ? ref->contents.kinds : ISC_KINDS_ALL)) != 0)
		return true;
	c->passed += ref->events;
	return false;
}

/* The next chunk of a type that can be read; false at the end, or without memory:
 * what cannot be unpacked here may be whole. */
static bool next_chunk(isc_trace *tr, int type, size_t *next, isc_chunk_source *source)
{
	while (*next < tr->table.count && !tr->stats.no_memory) {
		size_t at = (*next)++;
		int result;

		if (tr->table.ref[at].type != type || !is_wanted(tr, &tr->table.ref[at]))
			continue;
		result = isc_chunk_source_read(source, &tr->table.ref[at]);
		if (result == ISC_SOURCE_OK)
			return true;
		if (result == ISC_SOURCE_NOMEM)
			tr->stats.no_memory = true;
		else
			isc_trace_note_bad(tr, at, result);
	}
	return false;
}

/* The chunk before next was read and makes no sense, or takes more than there is. */
static void note_undecoded(isc_trace *tr, int result, size_t next)
{
	if (result == ISC_COLUMNS_NOMEM)
		tr->stats.no_memory = true;
	else
		isc_trace_note_bad(tr, next - 1, ISC_SOURCE_BAD);
}

/* A chunk is looked at as a whole once: what the file says of it is compared, or else is known from now on. */
static void note_opened(isc_trace *tr, size_t chunk)
{
	isc_contents found;

	tr->stats.opened_chunks++;
	if (tr->table.ref[chunk].opened)
		return;
	found = isc_columns_contents(&tr->events.columns, tr->header.tick_shift);
	isc_trace_found(tr, chunk, &found);
}

/* Apart from the path of an event, which is that of all of them. */
static __attribute__((noinline)) bool next_columns(isc_trace *tr)
{
	isc_event_cursor *c = &tr->events;

	tr->stats.readings += c->next == 0;
	c->passed += c->columns.events;
	c->columns.events = 0;
	while (next_chunk(tr, ISC_CHUNK_EVENTS, &c->next, &c->source)) {
		const isc_chunk_header *h = &c->source.header;
		int result = isc_columns_decode(&c->columns, c->source.raw, h->raw_size, h->events, h->slots, h->time,
						tr->header.tick_shift);

		if (result == ISC_COLUMNS_OK) {
			c->at = 0;
			c->extra = 0;
			note_opened(tr, c->next - 1);
			return true;
		}
		c->columns.events = 0;
		note_undecoded(tr, result, c->next);
	}
	c->at = 0;
	return false;
}

/* Its stack, as whoever walks it needs it. */
static void name_stack(isc_event *ev)
{
	isc_sample body;

	if (ev->extra_len < sizeof(body))
		return;
	memcpy(&body, ev->extra, sizeof(body));
	ev->id = isc_trace_sample_stack(ev->id, body.flags);
}

bool isc_trace_next(isc_trace *tr, isc_event *ev)
{
	isc_event_cursor *c = &tr->events;
	const isc_columns *cols = &c->columns;
	const isc_chunk_header *h = &c->source.header;
	uint32_t i;

	do {
		if (c->at >= cols->events && !next_columns(tr))
			return false;
		i = c->at++;
		ev->extra = cols->extra + c->extra;
		ev->extra_len = (cols->slots[i] - 1u) * (uint32_t)sizeof(isc_record);
		c->extra += ev->extra_len;
	} while (!c->wanted[cols->kind[i]]);
	ev->time_ns = isc_timebase_ns(&tr->timebase, cols->ticks[i], &c->time_hint);
	ev->number = h->number + i;
	ev->process = h->process;
	ev->thread = h->thread;
	ev->id = cols->id[i];
	ev->arg = cols->arg[i];
	ev->kind = cols->kind[i];
	ev->stream = h->stream;
	if (ev->kind == ISC_KIND_SAMPLE)
		name_stack(ev);
	return true;
}

bool isc_trace_next_switch(isc_trace *tr, isc_trace_switch *sw)
{
	isc_switch_cursor *c = &tr->switches;

	while (c->at >= c->count) {
		const isc_chunk_header *h = &c->source.header;
		int result;

		if (!next_chunk(tr, ISC_CHUNK_SWITCHES, &c->next, &c->source))
			return false;
		c->at = c->count = 0;
		result = isc_switches_decode(&c->switches, &c->room, c->source.raw, h->raw_size, h->events, h->time);
		if (result == ISC_COLUMNS_OK)
			c->count = h->events;
		else
			note_undecoded(tr, result, c->next);
	}
	*sw = c->switches[c->at++];
	return true;
}

void isc_trace_rewind_for(isc_trace *tr, isc_trace_wants *wants, void *self)
{
	isc_event_cursor *c = &tr->events;

	tr->switches.next = 0;
	tr->switches.at = tr->switches.count = 0;
	c->next = 0;
	c->at = c->columns.events = 0;
	c->passed = 0;
	want_kinds(c, ISC_KINDS_ALL);
	c->wants = wants;
	c->wants_self = self;
}

void isc_trace_rewind(isc_trace *tr)
{
	isc_trace_rewind_for(tr, NULL, NULL);
}

uint64_t isc_trace_passed(const isc_trace *tr)
{
	return tr->events.passed + tr->events.at;
}

bool isc_trace_chunk_at(const isc_trace *tr, size_t i, isc_trace_chunk *out)
{
	const isc_chunk_ref *ref = i < tr->table.count ? &tr->table.ref[i] : NULL;
	unsigned shift = tr->header.tick_shift;

	if (ref == NULL)
		return false;
	*out = (isc_trace_chunk){.process = ref->process,
				 .thread = ref->thread,
				 .stream = ref->stream,
				 .events = ref->type == ISC_CHUNK_EVENTS ? ref->events : 0,
				 .kinds = ref->contents.kinds,
				 .from_ns = isc_trace_ticks_to_ns(tr, ref->contents.first << shift),
				 .to_ns = isc_trace_ticks_to_ns(tr, ref->contents.last << shift)};
	return true;
}
