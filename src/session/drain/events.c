/*
 * events.c - the events of one pool: pin, copy, let go; then give them away.
 *
 * A block is pinned only while it is copied.  Definitions are read after the
 * copy and given before it, so every id in it is known to the sink.
 */
#include "session/drain/pool.h"

#include <stdlib.h>
#include <string.h>

/* No stream gets here; a larger number was not written by us. */
#define NUMBER_MAX (1ull << 62)

static int by_seq(const void *a, const void *b)
{
	uint64_t x = ISC_STATE_SEQ(((const isc_drain_item *)a)->word);
	uint64_t y = ISC_STATE_SEQ(((const isc_drain_item *)b)->word);

	return x < y ? -1 : x > y;
}

static void give(isc_drain *d, isc_drain_pool *p)
{
	isc_drain_defs_read(d, p);
	for (size_t i = 0; i < d->n_runs; i++) {
		const isc_drain_run_ *r = &d->runs[i];

		d->sink.events(d->sink.self, p->process, r->thread, r->stream, r->first, r->events, d->copy + r->at,
			       r->slots);
	}
	d->n_runs = 0;
	d->copy_slots = 0;
}

static bool room_for(isc_drain *d, uint32_t n)
{
	if (d->room_items < n) {
		isc_drain_item *grown = realloc(d->items, n * sizeof(*grown));

		if (grown == NULL)
			return false;
		d->items = grown;
		d->room_items = n;
	}
	return true;
}

static isc_drain_stream *stream_of(isc_drain_pool *p, uint64_t word)
{
	return &p->threads[ISC_STATE_SLOT_OF(word)].stream[word & ISC_STATE_STREAM ? 1 : 0];
}

/*
 * A stream takes a block only after it has let go of the one before.  So an
 * older one that is still open was left by siglongjmp out of a handler, in the
 * middle of a refill, and nobody will ever write to it.
 */
static bool abandoned(isc_drain_pool *p, uint64_t word)
{
	return ISC_STATE_SEQ(word) < stream_of(p, word)->newest;
}

/*
 * Blocks to look at, oldest first.  Those taken after the scan began are left
 * for the next one: an older block of the same stream may have been passed
 * before it was taken, and its events would be declared lost.
 */
static uint32_t scan(isc_drain *d, isc_drain_pool *p)
{
	uint64_t limit = atomic_load_explicit(&p->map->seq, memory_order_acquire);
	uint32_t n = 0, free_blocks = 0;

	if (!room_for(d, p->nblocks))
		return 0;
	for (uint32_t i = 0; i < p->nblocks; i++) {
		uint64_t word = atomic_load_explicit(&p->states[i], memory_order_acquire);
		uint32_t phase = word & ISC_BLOCK_PHASE;
		uint32_t slot = ISC_STATE_SLOT_OF(word);

		ISC_DRAIN_WINDOW(7);
		if (word == ISC_BLOCK_FREE) {
			free_blocks++;
			continue;
		}
		if (slot >= p->max_slots) {
			d->stats.damaged++;
			atomic_store_explicit(&p->states[i], ISC_BLOCK_FREE, memory_order_release);
			continue;
		}
		if (phase == ISC_BLOCK_INIT && (p->threads[slot].dead || abandoned(p, word))) {
			atomic_store_explicit(&p->states[i], ISC_BLOCK_FREE, memory_order_release);
			continue;
		}
		if (phase >= ISC_BLOCK_WRITING && ISC_STATE_SEQ(word) < limit)
			d->items[n++] = (isc_drain_item){word, i};
	}
	p->free_blocks = free_blocks;
	if (n > 1)
		qsort(d->items, n, sizeof(*d->items), by_seq);
	return n;
}

/* The word as pinned, or 0 when the block was retaken: then its loss shows as a
 * gap.  A pin that a dead recorder left becomes ours. */
static uint64_t pin(_Atomic uint64_t *state, uint64_t word)
{
	uint64_t now = word;

	while (!atomic_compare_exchange_strong_explicit(state, &now, now | ISC_STATE_PIN, memory_order_acquire,
							memory_order_relaxed))
		if (now >> 2 != word >> 2 || (now & ISC_BLOCK_PHASE) < ISC_BLOCK_WRITING)
			return 0;
	return now;
}

static void let_go(isc_drain_pool *p, uint32_t index, bool free_it)
{
	uint32_t hint;

	if (!free_it) {
		atomic_fetch_and_explicit(&p->states[index], ~ISC_STATE_PIN, memory_order_release);
		return;
	}
	atomic_store_explicit(&p->states[index], ISC_BLOCK_FREE, memory_order_release);
	hint = atomic_load_explicit(&p->map->hint, memory_order_relaxed);
	while (index < hint && !atomic_compare_exchange_weak_explicit(&p->map->hint, &hint, index, memory_order_relaxed,
								      memory_order_relaxed))
		;
}

/* Walks whole events in the copy: at most `events`, within n slots; how many there are. */
static uint32_t walk(const isc_record *copy, uint32_t n, uint32_t events, uint32_t *slots)
{
	uint32_t at = 0, seen = 0;

	while (seen < events && at < n && copy[at].slots != 0 && at + copy[at].slots <= n) {
		at += copy[at].slots;
		seen++;
	}
	*slots = at;
	return seen;
}

/* A dead thread cannot close its block any more; do it in its place, so that
 * the slot still tells the end of the stream if we die before it is accounted for. */
static void close_for_the_dead(isc_drain_pool *p, const isc_drain_item *item, uint64_t next)
{
	_Atomic uint64_t *upto = &p->slots[ISC_STATE_SLOT_OF(item->word)].upto[item->word & ISC_STATE_STREAM ? 1 : 0];

	if (atomic_load_explicit(upto, memory_order_relaxed) < next)
		atomic_store_explicit(upto, next, memory_order_release);
}

/* Copies what is new in a pinned block and says what the sink will get. */
static uint64_t copy_block(isc_drain *d, isc_drain_pool *p, const isc_drain_item *item)
{
	isc_block *b = (isc_block *)(p->blocks + (size_t)item->index * ISC_BLOCK_SIZE);
	uint64_t committed = atomic_load_explicit(&b->committed, memory_order_acquire);
	uint32_t slots = (uint32_t)committed < ISC_BLOCK_SLOTS ? (uint32_t)committed : ISC_BLOCK_SLOTS;
	uint32_t events = committed >> 32 < slots ? (uint32_t)(committed >> 32) : slots;
	uint32_t which = item->word & ISC_STATE_STREAM ? 1 : 0;
	uint64_t first = isc_drain_once64(&b->first), number = first, serial = isc_drain_once64(&b->serial);
	uint32_t from = 0, skipped, good, left;
	isc_record *copy = d->copy + d->copy_slots;
	isc_drain_thread *t;
	isc_drain_stream *s;

	if (isc_drain_once64(&b->seq) != ISC_STATE_SEQ(item->word) || isc_drain_once32(&b->stream) != which ||
	    serial == 0 || first > NUMBER_MAX) {
		d->stats.damaged++;
		return 0;
	}
	t = isc_drain_thread_of(d, p, ISC_STATE_SLOT_OF(item->word), serial, isc_drain_once32(&b->tid));
	s = &t->stream[which];
	if (s->newest < ISC_STATE_SEQ(item->word))
		s->newest = ISC_STATE_SEQ(item->word);
	if (t->dead)
		close_for_the_dead(p, item, first + events);
	if (s->block_seq == ISC_STATE_SEQ(item->word) && s->block_slots <= slots && s->block_next - first <= events) {
		from = s->block_slots;
		number = s->block_next;
	}
	if (from == slots)
		return 0;
	memcpy(copy, &b->record[from], (size_t)(slots - from) * sizeof(*copy));
	left = events - (uint32_t)(number - first);
	/* What an earlier recorder, or an earlier look, has stored. */
	if (number < s->expected) {
		uint64_t seen = s->expected - number;
		uint32_t n = walk(copy, slots - from, seen < left ? (uint32_t)seen : left, &skipped);

		number += n;
		left -= n;
		copy += skipped;
		from += skipped;
	}
	good = walk(copy, slots - from, left, &skipped);
	s->block_seq = ISC_STATE_SEQ(item->word);
	s->block_slots = slots;
	s->block_next = first + events;
	if (good != left || from + skipped != slots)
		d->stats.damaged++;
	if (number < s->expected)
		return 0; /* nothing in it is new */
	if (t->index == 0)
		good = 0; /* the sink has no room for the thread */
	s->lost += number - s->expected + (left - good);
	s->expected = number + left;
	s->stored += good;
	if (good != 0) {
		d->runs[d->n_runs++] = (isc_drain_run_){.thread = t->index,
							.stream = (uint8_t)which,
							.first = number,
							.events = good,
							.slots = skipped,
							.at = (size_t)(copy - d->copy)};
		d->copy_slots = (size_t)(copy - d->copy) + skipped;
	}
	return good;
}

/* An idle thread's open block: nothing new, so no need to pin it. */
static bool unmoved(isc_drain_pool *p, const isc_drain_item *item)
{
	const isc_drain_thread *t = &p->threads[ISC_STATE_SLOT_OF(item->word)];
	const isc_drain_stream *s = stream_of(p, item->word);
	isc_block *b = (isc_block *)(p->blocks + (size_t)item->index * ISC_BLOCK_SIZE);

	return (item->word & ISC_BLOCK_PHASE) == ISC_BLOCK_WRITING && !t->dead && !abandoned(p, item->word) &&
	       s->block_seq == ISC_STATE_SEQ(item->word) &&
	       (uint32_t)atomic_load_explicit(&b->committed, memory_order_relaxed) == s->block_slots &&
	       atomic_load_explicit(&p->states[item->index], memory_order_relaxed) == item->word;
}

uint64_t isc_drain_pool_read(isc_drain *d, isc_drain_pool *p)
{
	uint32_t n = scan(d, p);
	uint64_t events = 0;

	p->slots_read = 0;
	for (uint32_t i = 0; i < n; i++) {
		const isc_drain_item *item = &d->items[i];
		uint64_t word;

		if (unmoved(p, item))
			continue;
		word = pin(&p->states[item->index], item->word);
		if (word == 0)
			continue;
		ISC_DRAIN_WINDOW(3);
		events += copy_block(d, p, item);
		/* FULL when it was pinned: one that was closed since may hold more. */
		let_go(p, item->index,
		       (word & ISC_BLOCK_PHASE) == ISC_BLOCK_FULL || p->threads[ISC_STATE_SLOT_OF(word)].dead ||
			       abandoned(p, word));
		if (d->n_runs == ISC_DRAIN_BATCH) {
			p->slots_read += d->copy_slots;
			give(d, p);
		}
	}
	p->slots_read += d->copy_slots;
	give(d, p);
	return events;
}
