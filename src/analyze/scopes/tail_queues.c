/*
 * tail_queues.c - when a thread was ready and had no CPU.
 *
 * Whoever is put off in a function did not run in it: a slow scope is slow because of that, and its function is as quick as
 * ever.  So queues are known before events are read, and their time is nobody's.
 */
#include "analyze/scopes/tail_queues.h"

/* Shorter ones are spread evenly enough over what runs. */
#define QUEUE_MIN_NS 20000u
/* 16 MB; later ones are shared by all that runs, as they are without this file. */
#define QUEUES_MAX (1u << 20)

void isc_tail_queues_fini(isc_tail_queues *q)
{
	isc_hashmap_fini(&q->by_tid);
}

static isc_tail_queue *queue_of(isc_tail_queues *q, isc_build *b, uint32_t tid)
{
	uint64_t *known = isc_hashmap_put(&q->by_tid, tid, NULL);

	if (known != NULL && *known == 0)
		*known = (uint64_t)(uintptr_t)isc_arena_alloc(b->arena, sizeof(isc_tail_queue));
	return known != NULL ? (isc_tail_queue *)(uintptr_t)*known : NULL;
}

static bool note_queue(isc_tail_queues *q, isc_build *b, isc_tail_queue *of, uint64_t to_ns)
{
	isc_tail_queued *one;

	if (of->since_ns == 0 || of->since_gaps != q->gaps || to_ns < of->since_ns + QUEUE_MIN_NS ||
	    q->count == QUEUES_MAX)
		return true;
	one = isc_arena_push(b->arena, &of->queued, &of->count, &of->room, sizeof(*one));
	if (one == NULL)
		return false;
	*one = (isc_tail_queued){of->since_ns, to_ns};
	q->count++;
	return true;
}

bool isc_tail_queues_read(isc_tail_queues *q, isc_build *b)
{
	isc_trace_switch sw;

	isc_trace_rewind(b->trace);
	while (isc_trace_next_switch(b->trace, &sw)) {
		isc_tail_queue *of;

		if (sw.kind == ISC_SWITCH_GAP_BEGIN || sw.kind == ISC_SWITCH_GAP_END) {
			q->gaps++;
			continue;
		}
		if (sw.kind == ISC_SWITCH_FAULT || sw.kind > ISC_SWITCH_FAULT || sw.kind < ISC_SWITCH_IN)
			continue;
		of = queue_of(q, b, sw.tid);
		if (of == NULL || (sw.kind == ISC_SWITCH_IN && !note_queue(q, b, of, sw.time_ns)))
			return false;
		of->since_ns = sw.kind == ISC_SWITCH_OUT_PREEMPT ? sw.time_ns : 0;
		of->since_gaps = q->gaps;
	}
	return true;
}

const isc_tail_queue *isc_tail_queues_of(const isc_tail_queues *q, uint32_t tid)
{
	const uint64_t *known = q->count > 0 ? isc_hashmap_find(&q->by_tid, tid) : NULL;

	return known != NULL ? (const isc_tail_queue *)(uintptr_t)*known : NULL;
}

double isc_tail_queue_us(const isc_tail_queue *q, size_t *at, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t ns = 0;

	if (q == NULL || to_ns <= from_ns)
		return 0;
	while (*at < q->count && q->queued[*at].to_ns <= from_ns)
		++*at;
	for (size_t i = *at; i < q->count && q->queued[i].from_ns < to_ns; i++) {
		uint64_t from = q->queued[i].from_ns > from_ns ? q->queued[i].from_ns : from_ns;
		uint64_t to = q->queued[i].to_ns < to_ns ? q->queued[i].to_ns : to_ns;

		ns += to > from ? to - from : 0;
	}
	return (double)ns / 1e3;
}
