#include "timeline/own.h"

#include <stdlib.h>
#include <string.h>

#include "timeline/replay.h"
#include "timeline/node_moves.h"
#include "timeline/walk.h"
#include "trace/kinds.h"
#include "trace/memory.h"

#define PROGRESS_EVERY 65536u
#define MARGIN_NS 1000000 /* of a GPU's clock of which nothing is known */

/* ---- samples ---------------------------------------------------------------- */

static void sampled(isc_replay *s, isc_replay_lane *l, const isc_event *ev)
{
	isc_listener_sample sample = {.on = l->on,
				      .time_ns = isc_replay_since_start(s, ev->time_ns),
				      .steps = ev->arg,
				      .stack = ev->id,
				      .cpu = l->cpu,
				      .state = "running"};
	isc_sample body;

	if (ev->extra_len < sizeof(body))
		return;
	memcpy(&body, ev->extra, sizeof(body));
	sample.cpu_ns = (uint64_t)ev->arg * body.period_ns;
	sample.task = body.task;
	sample.node = ISC_SAMPLE_NODE(body.flags);
	if (ISC_SAMPLE_CPU(body.flags) < UINT16_MAX)
		sample.cpu = (uint16_t)ISC_SAMPLE_CPU(body.flags);
	s->counts->samples++;
	if (s->class->sample != NULL)
		s->class->sample(s->self, &sample);
}

static void of_memory(isc_replay *s, isc_replay_lane *l, const isc_event *ev)
{
	isc_listener_memory m = {.on = l->on,
				 .time_ns = isc_replay_since_start(s, ev->time_ns),
				 .stack = ev->id,
				 .task = l->task,
				 .cpu = l->cpu,
				 .alloc = ev->kind == ISC_KIND_MEMORY_ALLOC,
				 .call = isc_memory_name(ev->arg)};
	isc_memory body;

	if (ev->extra_len < sizeof(body) || m.call == NULL || s->class->memory == NULL)
		return;
	memcpy(&body, ev->extra, sizeof(body));
	m.address = body.address;
	m.bytes = body.bytes;
	m.node = body.node;
	m.times = isc_trace_memory_times(&body);
	s->counts->samples++;
	s->class->memory(s->self, &m);
}

/* ---- GPUs --------------------------------------------------------------- */

/* What of it lies in stretches that are read, by its own times: work is told of long after it.  False: nothing. */
static bool cut_by_times(const isc_replay *s, uint64_t *start_ns, uint64_t *end_ns)
{
	uint64_t from = UINT64_MAX, to = 0;

	if (s->cut->whole)
		return true;
	for (size_t i = isc_cut_find(s->cut, *start_ns); i < s->cut->count; i++) {
		const isc_stretch *part = &s->cut->stretch[i];

		if (*end_ns < part->from_ns)
			break;
		from = part->from_ns < from ? part->from_ns : from;
		to = part->to_ns > to ? part->to_ns : to;
	}
	*start_ns = *start_ns > from ? *start_ns : from;
	*end_ns = *end_ns < to ? *end_ns : to;
	return to > 0;
}

/* A call or work that is read, if only a part of it. */
static bool gpu_of(const isc_replay *s, const isc_event *ev, isc_recorded_item *item, uint64_t *start_ns,
		   uint64_t *end_ns)
{
	bool call = ev->kind == ISC_KIND_GPU_CALL;

	if (s->gpus == NULL || !(call ? isc_recorded_call(s->gpus, ev, item) : isc_recorded_work(s->gpus, ev, item)) ||
	    item->end_ns == 0)
		return false;
	*start_ns = item->start_ns;
	*end_ns = item->end_ns;
	return cut_by_times(s, start_ns, end_ns);
}

static uint64_t link_of(const isc_event *ev, const isc_recorded_item *item)
{
	return (uint64_t)ev->process << 40 ^ item->correlation;
}

static bool note_end(void *self, const isc_event *ev)
{
	isc_replay *s = self;
	isc_recorded_item item;
	uint64_t start, end, *known;

	if (!gpu_of(s, ev, &item, &start, &end) || item.correlation == 0)
		return true;
	known = isc_hashmap_put(&s->ends, link_of(ev, &item), NULL);
	if (known != NULL)
		*known |= ev->kind == ISC_KIND_GPU_CALL ? 1u : 2u;
	return known != NULL;
}

/* Of a piece: which ends of arrows are in it. */
static void find_ends(isc_replay *s)
{
	isc_walk walk = {0};

	isc_walk_join(&walk, ISC_KIND_BIT(ISC_KIND_GPU_CALL) | ISC_KIND_BIT(ISC_KIND_GPU_WORK), note_end, s);
	s->failed |= !isc_walk_run(&walk, s->trace);
}

static void of_gpu(isc_replay *s, isc_replay_lane *l, const isc_event *ev)
{
	isc_recorded_item item;
	isc_listener_gpu g = {.on = l->on, .item = &item, .id = ev->id, .call = ev->kind == ISC_KIND_GPU_CALL};
	uint64_t start, end;

	if (!gpu_of(s, ev, &item, &start, &end))
		return;
	if (!s->cut->whole && item.correlation != 0) {
		const uint64_t *known = isc_hashmap_find(&s->ends, link_of(ev, &item));

		g.alone = known == NULL || *known != 3;
	}
	g.start_ns = isc_replay_since_start(s, start);
	g.end_ns = isc_replay_since_start(s, end);
	g.cut = start != item.start_ns || end != item.end_ns;
	g.type = !g.call		      ? isc_gpu_event_type(item.job)
		 : item.role == ISC_ROLE_SYNC ? ISC_EVENT_GPU_SYNC
					      : ISC_EVENT_GPU_API;
	g.name = isc_trace_name(s->trace, ev->process, ev->id);
	s->counts->slices++;
	s->class->gpu(s->self, &g);
}

/* ---- marks --------------------------------------------------------------- */

static void tell_mark(isc_replay *s, isc_mark *m)
{
	if (s->class->texts)
		m->name = isc_trace_name(s->trace, m->on->process, m->id);
	s->counts->marks++;
	s->counts->unfinished += m->kind == ISC_MARK_SCOPE && (m->flags & ISC_SLICE_UNFINISHED) != 0;
	if (s->class->mark != NULL)
		s->class->mark(s->self, m);
}

/* What of it lies inside, stretch by stretch. */
static void tell_scope(void *self, const isc_mark *whole_scope)
{
	isc_replay *s = self;

	for (size_t i = isc_cut_find(s->cut, whole_scope->start_ns); i < s->cut->count; i++) {
		const isc_stretch *part = &s->cut->stretch[i];
		isc_mark m = *whole_scope;

		if (part->from_ns > m.end_ns)
			break;
		if (part->from_ns > m.start_ns || part->to_ns < m.end_ns)
			m.flags |= ISC_SLICE_CUT;
		m.start_ns = isc_replay_since_start(s, part->from_ns > m.start_ns ? part->from_ns : m.start_ns);
		m.end_ns = isc_replay_since_start(s, part->to_ns < m.end_ns ? part->to_ns : m.end_ns);
		tell_mark(s, &m);
	}
}

/* Its end decides what of it is read; its beginning is for who draws rows. */
static void tell_entered(void *self, const isc_mark *scope)
{
	isc_replay *s = self;
	isc_mark m = *scope;

	m.start_ns = m.end_ns = isc_replay_since_start(s, m.start_ns);
	if (s->class->texts)
		m.name = isc_trace_name(s->trace, m.on->process, m.id);
	s->class->scope(s->self, &m);
}

static void marked(isc_replay *s, isc_replay_lane *l, const isc_event *ev)
{
	uint64_t now = isc_replay_since_start(s, ev->time_ns);
	isc_mark m = {.on = l->on, .start_ns = now, .end_ns = now, .id = ev->id, .task = l->task, .cpu = l->cpu};
	uint32_t len;

	if (ev->kind == ISC_KIND_COUNTER) {
		if (ev->extra_len < sizeof(m.value))
			return;
		m.kind = ISC_MARK_COUNTER;
		memcpy(&m.value, ev->extra, sizeof(m.value));
	} else {
		m.kind = ISC_MARK_INSTANT;
		if (ev->extra_len >= sizeof(len)) {
			memcpy(&len, ev->extra, sizeof(len));
			if (len <= ev->extra_len - sizeof(len))
				m.json = (isc_text){(const char *)ev->extra + sizeof(len), len};
		}
	}
	tell_mark(s, &m);
}

/* ---- events --------------------------------------------------------------- */

static const isc_listener_thread *thread_of(isc_replay *s, const isc_event *ev)
{
	uint64_t *known = isc_hashmap_find(&s->by_thread, ev->thread);

	return known != NULL ? (const isc_listener_thread *)(uintptr_t)*known : NULL;
}

/* A lane with nothing open gives its row of open calls to the next that has none: most threads are short, or have
 * nothing open when others come. */
static void pass_row(isc_replay_lane *from, isc_replay_lane *to)
{
	if (from->depth > 0 || to->room > 0)
		return;
	to->open = from->open;
	to->room = from->room;
	from->open = NULL;
	from->room = 0;
}

static isc_replay_lane *lane_of(isc_replay *s, const isc_event *ev)
{
	isc_replay_lane *l = s->last;
	size_t before = l != NULL ? (size_t)(l - s->lanes) : SIZE_MAX;
	uint64_t *rank;

	/* Events come in runs of one thread. */
	if (l != NULL && s->last_thread == ev->thread && l->stream == ev->stream)
		return l;
	rank = isc_hashmap_put(&s->by_lane, (uint64_t)ev->thread << 8 | ev->stream, NULL);
	if (rank == NULL)
		return NULL;
	if (*rank == 0) {
		l = isc_arena_push(s->arena, &s->lanes, &s->lane_count, &s->lane_room, sizeof(*l));
		if (l == NULL)
			return NULL;
		*l = (isc_replay_lane){.on = thread_of(s, ev), .cpu = UINT16_MAX, .stream = ev->stream};
		*rank = s->lane_count;
	}
	s->last_thread = ev->thread;
	s->last = &s->lanes[*rank - 1];
	if (before != SIZE_MAX)
		pass_row(&s->lanes[before], s->last);
	return s->last;
}

static void feed(isc_replay *s, const isc_event *ev)
{
	isc_replay_lane *l = lane_of(s, ev);
	bool inside;

	if (l == NULL) {
		s->failed = true;
		return;
	}
	if (l->on == NULL)
		return; /* a thread that the trace says nothing of */
	l->last_ns = ev->time_ns;
	s->last_ns = ev->time_ns > s->last_ns ? ev->time_ns : s->last_ns;
	if (isc_replay_pause(s, l, ev))
		return;
	inside = isc_replay_advance(s, l, ev->time_ns);
	switch (ev->kind) {
	case ISC_KIND_CPU:
		l->cpu = ev->arg;
		break;
	case ISC_KIND_TASK:
		l->task = ev->id;
		break;
	case ISC_KIND_CALL_ENTER:
	case ISC_KIND_CALL_RESUME:
	case ISC_KIND_C_ENTER:
		isc_replay_enter(s, l, ev, inside);
		break;
	case ISC_KIND_CALL_EXIT:
	case ISC_KIND_C_EXIT:
		isc_replay_leave(s, l, ev);
		break;
	case ISC_KIND_SCOPE_ENTER:
	case ISC_KIND_SCOPE_EXIT:
	case ISC_KIND_SPAN_ENTER:
	case ISC_KIND_SPAN_EXIT:
		if (!isc_replay_scopes_note(&s->scopes, l->on, ev, l->task, l->cpu))
			s->failed = true;
		break;
	case ISC_KIND_INSTANT:
	case ISC_KIND_COUNTER:
		if (inside)
			marked(s, l, ev);
		break;
	case ISC_KIND_SAMPLE:
		if (inside)
			sampled(s, l, ev);
		break;
	case ISC_KIND_MEMORY_ALLOC:
	case ISC_KIND_MEMORY_FREE:
		if (inside)
			of_memory(s, l, ev);
		break;
	case ISC_KIND_GPU_CALL:
	case ISC_KIND_GPU_WORK:
		of_gpu(s, l, ev);
		break;
	default:
		break;
	}
}

static void tell_moves(isc_replay *s)
{
	isc_node_move *move =
		s->class->move != NULL ? isc_arena_array(s->arena, ISC_NODE_MOVES_MAX, sizeof(*move)) : NULL;
	const isc_trace_process *p = isc_node_moves_process(s->trace);
	size_t count = move != NULL && p != NULL ? isc_node_moves_read(s->trace, move, ISC_NODE_MOVES_MAX) : 0;

	s->failed |= s->class->move != NULL && move == NULL;
	for (size_t i = 0; i < count; i++) {
		uint64_t start = move[i].since_ns, end = move[i].at_ns;

		if (!cut_by_times(s, &start, &end))
			continue;
		s->counts->marks++;
		s->class->move(s->self, &(isc_listener_move){p->pid, isc_replay_since_start(s, start),
							     isc_replay_since_start(s, end), move[i].from, move[i].to,
							     move[i].pages});
	}
}

/* What is open when the trace ends lasts as long as its thread. */
static uint64_t end_of_lane(const isc_replay *s, const isc_replay_lane *l)
{
	const isc_trace_end *end = isc_trace_end_get(s->trace);
	uint64_t ns = end != NULL ? end->end_ns : s->last_ns;

	if (l->on != NULL)
		ns = isc_trace_thread_end_ns(s->trace, l->on->thread, ns);
	/* A handler ends sooner, but when is not known. */
	return l->stream == 0 && ns > l->last_ns ? ns : l->last_ns;
}

static void finish(isc_replay *s)
{
	for (size_t i = 0; i < s->lane_count; i++) {
		isc_replay_lane *l = &s->lanes[i];
		uint64_t ns = end_of_lane(s, l);

		isc_replay_end_pauses(s, l, ns);
		isc_replay_end(s, l, ns);
	}
	isc_replay_scopes_finish(&s->scopes);
	tell_moves(s);
}

static isc_status introduce(isc_replay *s, isc_error *err)
{
	const isc_trace_process *p;
	const isc_trace_thread *t;

	for (size_t i = 0; (p = isc_trace_process_at(s->trace, i)) != NULL; i++)
		if (s->class->process != NULL)
			s->class->process(s->self, p);
	for (size_t i = 0; (t = isc_trace_thread_at(s->trace, i)) != NULL; i++) {
		isc_listener_thread *known = isc_arena_alloc(s->arena, sizeof(*known));
		uint64_t *place = isc_hashmap_put(&s->by_thread, t->thread, NULL);

		if (known == NULL || place == NULL)
			return isc_fail(err, ISC_ERR_NOMEM, "no memory for the threads of the trace");
		p = isc_trace_process_find(s->trace, t->process);
		*known = (isc_listener_thread){.thread = t->thread,
					       .process = t->process,
					       .tid = t->tid != 0 ? t->tid : UINT32_MAX,
					       .pid = p != NULL && p->pid != 0 ? p->pid : UINT32_MAX,
					       .name = {t->name, (uint32_t)strnlen(t->name, sizeof(t->name))},
					       .main = (t->flags & ISC_THREAD_MAIN) != 0};
		*place = (uint64_t)(uintptr_t)known;
		if (s->class->thread != NULL)
			s->class->thread(s->self, known);
	}
	return ISC_OK;
}

static uint64_t count_events(const isc_trace *trace)
{
	const isc_trace_account *a;
	uint64_t n = 0;

	for (size_t i = 0; (a = isc_trace_account_at(trace, i)) != NULL; i++)
		n += a->stored;
	return n;
}

isc_status isc_own_run(isc_trace *trace, const isc_own_options *options, const isc_listener_class *class,
		       isc_listener *self, isc_arena *arena, isc_listener_counts *counts, isc_error *err)
{
	const isc_file_header *head = isc_trace_header(trace);
	isc_replay s = {.trace = trace,
			.cut = options->cut,
			.class = class,
			.self = self,
			.counts = counts,
			.arena = arena,
			.start_ns = head->start_ns};
	uint64_t done = 0, total = count_events(trace);
	isc_status st = ISC_OK;
	double ns_per_tick;
	isc_waits waits;
	isc_event ev;

	isc_waits_init(&waits, trace);
	ns_per_tick = (double)(isc_trace_ticks_to_ns(trace, head->start_ticks + (1ull << 31)) - head->start_ns) /
		      (double)(1ull << 31);
	isc_states_init(&s.states, options->waits != NULL ? options->waits : &waits, ns_per_tick);
	isc_states_listen(&s.states, isc_replay_interval, &s);
	isc_replay_scopes_init(&s.scopes, s.arena, ns_per_tick, tell_scope, class->scope != NULL ? tell_entered : NULL,
			       &s);
	st = introduce(&s, err);
	if (st == ISC_OK && class->gpu != NULL)
		st = isc_recorded_new(trace, MARGIN_NS, &s.gpus, err);
	if (st == ISC_OK && s.gpus != NULL && !s.cut->whole)
		find_ends(&s);
	isc_trace_rewind(trace);
	while (st == ISC_OK && !s.failed && !self->failed && isc_trace_next(trace, &ev)) {
		feed(&s, &ev);
		if (class->after != NULL)
			st = class->after(self);
		if (++done % PROGRESS_EVERY == 0 && options->progress != NULL)
			options->progress(options->progress_self, done, total > done ? total : done);
	}
	if (st == ISC_OK && !s.failed)
		finish(&s);
	isc_recorded_free(s.gpus);
	isc_replay_scopes_fini(&s.scopes);
	isc_states_fini(&s.states);
	isc_waits_fini(&waits);
	isc_hashmap_fini(&s.by_lane);
	isc_hashmap_fini(&s.ends);
	isc_hashmap_fini(&s.by_thread);
	if (st == ISC_OK && (s.failed || self->failed))
		st = isc_fail(err, ISC_ERR_NOMEM, "no memory for the events of the trace");
	return st;
}
