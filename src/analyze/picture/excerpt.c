#include "analyze/picture/excerpt.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hashmap.h"
#include "timeline/node_moves.h"
#include "timeline/gpu/recorded.h"
#include "timeline/waits.h"

#define OPEN_MAX 65536u
#define TICKS 1000000000u     /* enough to tell how long one is */
#define MARGIN_NS 1000000     /* of a GPU's clock of which nothing is known */
#define EXTRA_MAX (64u << 20) /* of all marks together; beyond, they have none */

typedef struct excerpt_lane {
	uint64_t expected; /* number of the next event; 0: none was seen */
	uint64_t last_ns;
	uint32_t task;
	uint16_t cpu;
	bool seen;
	bool counted;	/* among the threads */
	uint64_t *open; /* numbers of spans, outermost first */
	size_t depth, room;
} excerpt_lane;

typedef struct excerpt_reading {
	isc_trace *trace;
	isc_waits waits;
	const isc_excerpt_options *options;
	isc_excerpt *out;
	uint64_t from_ns, to_ns;
	double ns_per_tick;
	uint64_t first; /* number of out->span[0] */
	isc_hashmap by_lane;
	excerpt_lane *lanes;
	size_t lane_count, lane_room;
	isc_hashmap wanted; /* process and thread -> 1 no, 2 yes */
	isc_recorded *gpus; /* NULL: there are none, or nobody wants them */
} excerpt_reading;

void isc_excerpt_fini(isc_excerpt *s)
{
	free(s->span);
	isc_buffer_fini(&s->extra);
	*s = (isc_excerpt){0};
}

/* Makes room by letting the older half go. */
static void drop(excerpt_reading *r)
{
	isc_excerpt *s = r->out;
	size_t half = s->count / 2 + 1;

	memmove(s->span, s->span + half, (s->count - half) * sizeof(*s->span));
	s->count -= half;
	s->dropped += half;
	r->first += half;
}

static isc_piece *add(excerpt_reading *r, const isc_event *ev, const excerpt_lane *l)
{
	isc_excerpt *s = r->out;
	isc_piece *span, *bigger;

	if (r->options->most != 0 && s->count >= r->options->most)
		drop(r);
	bigger = isc_grow(s->span, s->count, &s->room, sizeof(*bigger));
	if (bigger == NULL)
		return NULL;
	s->span = bigger;
	span = &s->span[s->count++];
	*span = (isc_piece){.start_ns = ev->time_ns,
			    .end_ns = ev->time_ns,
			    .order = r->first + s->count - 1,
			    .process = ev->process,
			    .thread = ev->thread,
			    .id = ev->id,
			    .task = l->task,
			    .cpu = l->cpu,
			    .kind = ev->kind};
	if (ev->extra_len > 0 && s->extra.len + ev->extra_len <= EXTRA_MAX) {
		span->extra = (uint32_t)s->extra.len;
		span->extra_len = ev->extra_len;
		isc_buffer_add(&s->extra, ev->extra, ev->extra_len);
	}
	return s->extra.failed ? NULL : span;
}

static bool is_wanted(excerpt_reading *r, const isc_event *ev, bool *yes)
{
	uint64_t *known = isc_hashmap_put(&r->wanted, isc_hashmap_key(ev->process, ev->thread), NULL);

	if (known == NULL)
		return false;
	if (*known == 0) {
		const isc_trace_process *p = isc_trace_process_find(r->trace, ev->process);
		const isc_trace_thread *t = isc_trace_thread_find(r->trace, ev->thread);
		bool good = r->options->pid == 0 || (p != NULL && p->pid == r->options->pid);

		good = good && (r->options->tid == 0 || (t != NULL && t->tid == r->options->tid));
		*known = good ? 2 : 1;
	}
	*yes = *known == 2;
	return true;
}

static excerpt_lane *lane_of(excerpt_reading *r, const isc_event *ev)
{
	uint64_t *rank = isc_hashmap_put(&r->by_lane, (uint64_t)ev->thread << 8 | ev->stream, NULL);

	if (rank == NULL)
		return NULL;
	if (*rank == 0) {
		excerpt_lane *bigger = isc_grow(r->lanes, r->lane_count, &r->lane_room, sizeof(*bigger));

		if (bigger == NULL)
			return NULL;
		r->lanes = bigger;
		r->lanes[r->lane_count++] = (excerpt_lane){.cpu = ISC_PIECE_NO_CPU};
		*rank = r->lane_count;
	}
	return &r->lanes[*rank - 1];
}

static bool enter(excerpt_reading *r, excerpt_lane *l, const isc_event *ev)
{
	isc_piece *span = add(r, ev, l);
	uint64_t *bigger;

	if (span == NULL)
		return false;
	span->flags = ISC_PIECE_OPEN;
	if (ev->kind == ISC_KIND_CALL_RESUME)
		span->flags |= ISC_PIECE_RESUMED | (ev->arg == ISC_CALL_THROWN ? ISC_PIECE_THROWN : 0u);
	if (l->depth >= OPEN_MAX)
		return true;
	bigger = isc_grow(l->open, l->depth, &l->room, sizeof(*bigger));
	if (bigger == NULL)
		return false;
	l->open = bigger;
	l->open[l->depth++] = span->order;
	return true;
}

static isc_piece *span_of(const excerpt_reading *r, uint64_t number)
{
	return number >= r->first ? &r->out->span[number - r->first] : NULL;
}

static void leave(excerpt_reading *r, excerpt_lane *l, const isc_event *ev)
{
	size_t i = l->depth;
	isc_piece *span;

	/* Those above it have ended too, unseen; one that is not open began outside. */
	while (i > 0 && ((span = span_of(r, l->open[i - 1])) == NULL || span->id != ev->id))
		i--;
	if (i == 0) {
		r->out->unmatched++;
		return;
	}
	for (size_t above = i; above < l->depth; above++) {
		span = span_of(r, l->open[above]);
		if (span != NULL)
			span->end_ns = ev->time_ns;
	}
	span = span_of(r, l->open[i - 1]);
	l->depth = i - 1;
	span->end_ns = ev->time_ns;
	span->flags &= (uint8_t)~ISC_PIECE_OPEN;
	if (ev->arg == ISC_CALL_YIELDED)
		span->flags |= ISC_PIECE_YIELDED;
	if (ev->arg == ISC_CALL_RAISED)
		span->flags |= ISC_PIECE_RAISED;
}

/* A signal handler wrote it, perhaps in a stream of its own: it says itself which task it is of. */
static bool add_sample(excerpt_reading *r, const excerpt_lane *l, const isc_event *ev)
{
	isc_sample body;
	isc_piece *span;

	if (ev->extra_len < sizeof(body))
		return true;
	span = add(r, ev, l);
	if (span == NULL)
		return false;
	memcpy(&body, ev->extra, sizeof(body));
	span->task = body.task;
	span->arg = ev->arg;
	if (ISC_SAMPLE_CPU(body.flags) < ISC_PIECE_NO_CPU)
		span->cpu = (uint16_t)ISC_SAMPLE_CPU(body.flags);
	return true;
}

static bool add_memory(excerpt_reading *r, const excerpt_lane *l, const isc_event *ev)
{
	isc_piece *span;

	if (ev->extra_len < sizeof(isc_memory))
		return true;
	span = add(r, ev, l);
	if (span != NULL)
		span->arg = ev->arg;
	return span != NULL;
}

/* What is told when it has ended, with the ticks that it took. */
static bool add_past(excerpt_reading *r, const excerpt_lane *l, const isc_event *ev)
{
	uint64_t ticks, ns;
	isc_piece *span;

	if (ev->extra_len < sizeof(ticks))
		return true;
	memcpy(&ticks, ev->extra, sizeof(ticks));
	ns = (double)ticks * r->ns_per_tick < (double)ev->time_ns ? (uint64_t)((double)ticks * r->ns_per_tick + 0.5)
								  : 0;
	if (ev->time_ns - ns < r->from_ns)
		return true;
	span = add(r, ev, l);
	if (span == NULL)
		return false;
	span->start_ns -= ns;
	span->arg = ev->arg;
	return true;
}

/* Of waits, those that are for somebody else to end. */
static bool add_wait(excerpt_reading *r, const excerpt_lane *l, const isc_event *ev)
{
	isc_wait wait;
	isc_total_wait row = {.process = ev->process, .thread = ev->thread, .call = ev->arg, .stack = ev->id};
	enum isc_state state;

	if (ev->extra_len < sizeof(wait))
		return true;
	memcpy(&wait, ev->extra, sizeof(wait));
	row.holder = wait.holder;
	state = isc_waits_of(&r->waits, &row);
	return (state != ISC_STATE_GIL_WAIT && state != ISC_STATE_LOCK_WAIT) || add_past(r, l, ev);
}

/* By its own times: work is told of when it has ended. */
static bool add_gpu(excerpt_reading *r, const excerpt_lane *l, const isc_event *ev)
{
	isc_recorded_item item;
	isc_piece *span;

	if (r->gpus == NULL || (!isc_recorded_call(r->gpus, ev, &item) && !isc_recorded_work(r->gpus, ev, &item)) ||
	    item.end_ns == 0 || item.start_ns < r->from_ns || item.start_ns > r->to_ns)
		return true;
	/* A marker is an order of things, and no event. */
	if (ev->kind == ISC_KIND_GPU_WORK && isc_gpu_event_type(item.job) == ISC_EVENT_NONE)
		return true;
	span = add(r, ev, l);
	if (span == NULL)
		return false;
	span->start_ns = item.start_ns;
	span->end_ns = item.end_ns;
	span->arg = ev->arg;
	span->device = item.device != NULL ? item.device->number : ISC_PIECE_NO_DEVICE;
	span->error_ns = item.error_ns < UINT32_MAX ? (uint32_t)item.error_ns : UINT32_MAX;
	return true;
}

static bool take(excerpt_reading *r, excerpt_lane *l, const isc_event *ev)
{
	switch (ev->kind) {
	case ISC_KIND_CALL_ENTER:
	case ISC_KIND_CALL_RESUME:
	case ISC_KIND_C_ENTER:
		return enter(r, l, ev);
	case ISC_KIND_CALL_EXIT:
	case ISC_KIND_C_EXIT:
		leave(r, l, ev);
		return true;
	case ISC_KIND_INSTANT:
	case ISC_KIND_SCOPE_ENTER:
	case ISC_KIND_SCOPE_EXIT:
	case ISC_KIND_SPAN_ENTER:
	case ISC_KIND_SPAN_EXIT:
	case ISC_KIND_COUNTER:
		return add(r, ev, l) != NULL;
	case ISC_KIND_SAMPLE:
		return add_sample(r, l, ev);
	case ISC_KIND_MEMORY_ALLOC:
	case ISC_KIND_MEMORY_FREE:
		return add_memory(r, l, ev);
	case ISC_KIND_WAIT_EXIT:
		return add_wait(r, l, ev);
	case ISC_KIND_GC:
		return ev->arg == ISC_GC_WATCHED || add_past(r, l, ev);
	case ISC_KIND_SYSCALL:
		return add_past(r, l, ev);
	case ISC_KIND_GOVERNED:
		r->out->skipped += ev->arg == ISC_GOVERNED_OFF || ev->arg == ISC_GOVERNED_COUNTED ||
				   (ev->arg == ISC_GOVERNED_GATED && ev->id == 0);
		return true;
	default:
		return true;
	}
}

static bool feed(excerpt_reading *r, const isc_event *ev)
{
	bool wanted, inside = ev->time_ns >= r->from_ns && ev->time_ns <= r->to_ns;
	excerpt_lane *l;

	if (!is_wanted(r, ev, &wanted))
		return false;
	if (!wanted)
		return true;
	l = lane_of(r, ev);
	if (l == NULL)
		return false;
	if (inside && l->seen && ev->number > l->expected)
		r->out->lost += ev->number - l->expected;
	l->seen = true;
	l->expected = ev->number + 1;
	if (ev->kind == ISC_KIND_GPU_CALL || ev->kind == ISC_KIND_GPU_WORK)
		return add_gpu(r, l, ev);
	if (r->options->gpu && !r->options->cpu)
		return true;
	if (ev->kind == ISC_KIND_CPU)
		l->cpu = ev->arg;
	else if (ev->kind == ISC_KIND_TASK)
		l->task = ev->id;
	if (!inside)
		return true;
	l->last_ns = ev->time_ns;
	if (!l->counted && ev->stream == 0)
		r->out->threads++;
	l->counted = true;
	return take(r, l, ev);
}

/* What the recorder found out from outside, of the process that was started: no thread's. */
static bool add_moves(excerpt_reading *r)
{
	const isc_trace_process *p = isc_node_moves_process(r->trace);
	isc_node_move *move;
	size_t count;
	bool good = true;

	if (p == NULL || (r->options->pid != 0 && p->pid != r->options->pid) || r->options->tid != 0 ||
	    (r->options->gpu && !r->options->cpu))
		return true;
	move = calloc(ISC_NODE_MOVES_MAX, sizeof(*move));
	if (move == NULL)
		return false;
	count = isc_node_moves_read(r->trace, move, ISC_NODE_MOVES_MAX);
	for (size_t i = 0; good && i < count; i++) {
		isc_event ev = {.time_ns = move[i].at_ns,
				.process = p->process,
				.kind = ISC_PIECE_MOVE,
				.extra = &move[i],
				.extra_len = sizeof(move[i])};
		excerpt_lane nobody = {.cpu = ISC_PIECE_NO_CPU};
		isc_piece *piece;

		/* When it moved between the two looks nobody knows. */
		if (move[i].at_ns < r->from_ns || move[i].since_ns > r->to_ns)
			continue;
		piece = add(r, &ev, &nobody);
		good = piece != NULL;
		if (!good)
			continue;
		piece->start_ns = move[i].since_ns > r->from_ns ? move[i].since_ns : r->from_ns;
		piece->end_ns = move[i].at_ns < r->to_ns ? move[i].at_ns : r->to_ns;
	}
	free(move);
	return good;
}

/* Up to the end of the part, or of what is known. */
static void close_open(excerpt_reading *r)
{
	for (size_t i = 0; i < r->lane_count; i++) {
		const excerpt_lane *l = &r->lanes[i];

		for (size_t at = 0; at < l->depth; at++) {
			isc_piece *span = span_of(r, l->open[at]);

			if (span != NULL)
				span->end_ns = r->to_ns != UINT64_MAX ? r->to_ns : l->last_ns;
		}
	}
}

static int by_start(const void *a, const void *b)
{
	const isc_piece *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

isc_status isc_excerpt_read(isc_trace *trace, const isc_excerpt_options *options, isc_excerpt *out, isc_error *err)
{
	excerpt_reading r = {.trace = trace, .options = options, .out = out, .to_ns = UINT64_MAX};
	isc_event ev;
	bool good = true;

	*out = (isc_excerpt){0};
	isc_waits_init(&r.waits, trace);
	r.from_ns = isc_trace_ticks_to_ns(trace, options->from_ticks);
	r.ns_per_tick = (double)(isc_trace_ticks_to_ns(trace, options->from_ticks + TICKS) - r.from_ns) / TICKS;
	if (options->to_ticks != UINT64_MAX)
		r.to_ns = isc_trace_ticks_to_ns(trace, options->to_ticks);
	if (options->gpu && isc_recorded_new(trace, MARGIN_NS, &r.gpus, err) != ISC_OK)
		return ISC_ERR_NOMEM;
	isc_trace_rewind(trace);
	while (good && isc_trace_next(trace, &ev))
		good = feed(&r, &ev);
	good = good && add_moves(&r);
	isc_recorded_free(r.gpus);
	close_open(&r);
	if (out->count > 1)
		qsort(out->span, out->count, sizeof(*out->span), by_start);
	for (size_t i = 0; i < r.lane_count; i++)
		free(r.lanes[i].open);
	free(r.lanes);
	isc_hashmap_fini(&r.by_lane);
	isc_hashmap_fini(&r.wanted);
	isc_waits_fini(&r.waits);
	return good ? ISC_OK : isc_fail(err, ISC_ERR_NOMEM, "no memory for the events of the trace");
}
