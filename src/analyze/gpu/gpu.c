/*
 * gpu.c - records of GPUs become a timeline, as those of other tools do: the same
 * figures come out, whoever recorded.
 */
#include "analyze/gpu/gpu.h"

#include <string.h>

#include "analyze/picture/lanes_timeline.h"
#include "analyze/time/crossing.h"
#include "import/import.h"
#include "timeline/gpu/recorded.h"
#include "timeline/walk.h"
#include "trace/sample.h"

/* A sample older than this says nothing of where a thread is now. */
#define SAMPLE_NS 20000000u
#define SCOPES_MAX 32u

/* What is known of a thread beside its calls. */
struct gpu_place {
	uint32_t sample; /* stack of its last sample */
	uint64_t sample_ns;
	uint32_t scope[SCOPES_MAX]; /* names of scopes that it is in */
	unsigned depth;
};

struct gpu_reading {
	isc_build *b;
	const isc_recorded *recorded; /* NULL: another tool recorded */
	isc_timeline *t;
	uint32_t source;
	isc_crossing replay;
	isc_lanes_watch watch;
	isc_status st;
	isc_error err;
	isc_gpu_places places;
	isc_hashmap names;    /* process and id -> name + 1 */
	isc_hashmap place_of; /* thread -> place + 1 */
	struct gpu_place *place;
	size_t place_count, place_room;
	isc_gpu_words *words;
};

static struct gpu_place *place_of(struct gpu_reading *r, uint32_t thread)
{
	uint64_t *at = isc_hashmap_put(&r->place_of, thread, NULL);

	if (at == NULL)
		return NULL;
	if (*at == 0) {
		if (isc_arena_push(r->b->arena, &r->place, &r->place_count, &r->place_room, sizeof(*r->place)) == NULL)
			return NULL;
		*at = r->place_count;
	}
	return &r->place[*at - 1];
}

/* Names of definitions as names of the timeline. */
static uint32_t name_of(struct gpu_reading *r, uint32_t process, uint32_t id)
{
	uint64_t *known = isc_hashmap_put(&r->names, isc_hashmap_key(process, id), NULL);
	isc_text text;

	if (known == NULL)
		return 0;
	if (*known == 0) {
		text = isc_trace_name(r->b->trace, process, id);
		*known = isc_timeline_name(r->t, text.at, text.len) + 1ull;
	}
	return (uint32_t)(*known - 1);
}

static int64_t since_start(const struct gpu_reading *r, uint64_t ns)
{
	return (int64_t)(ns - r->b->start_ns);
}

static uint32_t pid_of(const struct gpu_reading *r, uint32_t process)
{
	const isc_trace_process *p = isc_trace_process_find(r->b->trace, process);

	return p != NULL ? p->pid : 0;
}

/* ---- where a call was made ---- */

static void note_scope(struct gpu_place *p, const isc_event *ev)
{
	unsigned i = p->depth;

	if (ev->kind == ISC_KIND_SCOPE_ENTER || ev->kind == ISC_KIND_SPAN_ENTER) {
		if (p->depth < SCOPES_MAX)
			p->scope[p->depth++] = ev->id;
		return;
	}
	while (i > 0 && p->scope[i - 1] != ev->id)
		i--;
	if (i == 0)
		return;
	memmove(&p->scope[i - 1], &p->scope[i], (p->depth - i) * sizeof(p->scope[0]));
	p->depth--;
}

static bool note(struct gpu_reading *r, const isc_event *ev)
{
	struct gpu_place *p;

	switch (ev->kind) {
	case ISC_KIND_SAMPLE:
		p = place_of(r, ev->thread);
		if (p != NULL && ev->id != 0 && !isc_stack_is_none(ev->id)) {
			p->sample = ev->id;
			p->sample_ns = ev->time_ns;
		}
		return p != NULL;
	case ISC_KIND_SCOPE_ENTER:
	case ISC_KIND_SCOPE_EXIT:
	case ISC_KIND_SPAN_ENTER:
	case ISC_KIND_SPAN_EXIT:
		p = place_of(r, ev->thread);
		if (p != NULL)
			note_scope(p, ev);
		return p != NULL;
	default:
		return true;
	}
}

/* What the library says, else what the thread is in. */
static uint32_t scope(struct gpu_reading *r, const isc_event *ev, const isc_recorded_item *item)
{
	const struct gpu_place *p = item->scope == 0 && item->tid == 0 ? place_of(r, ev->thread) : NULL;

	if (item->scope != 0)
		return name_of(r, ev->process, item->scope);
	return p != NULL && p->depth > 0 ? name_of(r, ev->process, p->scope[p->depth - 1]) : 0;
}

/* The stack that came with it, else the innermost call that is traced, else where the thread was a
 * moment ago, else the scope that it is in. */
static uint32_t where(struct gpu_reading *r, const isc_event *ev, const isc_recorded_item *item,
		      const isc_crossing_lane *lane)
{
	const isc_trace *trace = r->b->trace;
	const struct gpu_place *p;
	uint32_t name = 0;

	if (item->stack != 0)
		name = isc_gpu_place_stack(&r->places, trace, r->t, ev->process, item->stack);
	/* What another thread tells of is not on this one. */
	if (name != 0 || item->tid != 0)
		return name;
	if (lane->depth > lane->stale)
		name = isc_gpu_place_code(&r->places, trace, r->t, ev->process, lane->open + lane->stale,
					  lane->depth - lane->stale);
	p = name == 0 ? place_of(r, ev->thread) : NULL;
	if (p != NULL && p->sample != 0 && ev->time_ns - p->sample_ns < SAMPLE_NS)
		name = isc_gpu_place_stack(&r->places, trace, r->t, ev->process, p->sample);
	return name != 0 ? name : scope(r, ev, item);
}

/* ---- records ---- */

static isc_status add_call(struct gpu_reading *r, const isc_event *ev, const isc_recorded_item *item,
			   const isc_crossing_lane *lane, isc_error *err)
{
	const isc_trace_thread *thread = isc_trace_thread_find(r->b->trace, ev->thread);
	uint32_t pid = pid_of(r, ev->process), tid = item->tid != 0 ? item->tid : thread != NULL ? thread->tid : 0;
	isc_gpu_record record = {.start_ns = since_start(r, item->start_ns),
				 .end_ns = since_start(r, item->end_ns),
				 .correlation = item->correlation,
				 .device = ISC_GPU_UNKNOWN,
				 .domain = isc_timeline_domain(r->t, r->source, ev->process),
				 .thread = isc_timeline_thread(r->t, r->source, pid, tid),
				 .name = name_of(r, ev->process, ev->id),
				 .stack = where(r, ev, item, lane),
				 .scope = scope(r, ev, item),
				 .kind = ISC_GPU_API};

	r->words->failed_calls += item->error != 0;
	return isc_timeline_add(r->t, &record, err);
}

static isc_status add_work(struct gpu_reading *r, const isc_event *ev, const isc_recorded_item *item, isc_error *err)
{
	static const uint8_t kinds[ISC_JOBS] = {
		[ISC_JOB_KERNEL] = ISC_GPU_KERNEL, [ISC_JOB_H2D] = ISC_GPU_H2D,	  [ISC_JOB_D2H] = ISC_GPU_D2H,
		[ISC_JOB_D2D] = ISC_GPU_D2D,	   [ISC_JOB_P2P] = ISC_GPU_P2P,	  [ISC_JOB_COPY] = ISC_GPU_COPY,
		[ISC_JOB_MEMSET] = ISC_GPU_MEMSET, [ISC_JOB_SYNC] = ISC_GPU_SYNC, [ISC_JOB_IDLE] = ISC_GPU_SYNC};
	isc_gpu_record record = {.bytes = item->bytes,
				 .correlation = item->correlation,
				 .stream = item->stream,
				 .device = isc_timeline_device(r->t, r->source, item->device->number),
				 .context = item->context,
				 .domain = isc_timeline_domain(r->t, r->source, ev->process),
				 .thread = ISC_GPU_UNKNOWN,
				 .name = name_of(r, ev->process, ev->id),
				 .scope = item->scope != 0 ? name_of(r, ev->process, item->scope) : 0,
				 .kind = kinds[item->job],
				 .memory = item->page};

	memcpy(record.grid, item->grid, sizeof(record.grid));
	memcpy(record.block, item->block, sizeof(record.block));
	if (item->end_ns != 0) {
		record.start_ns = since_start(r, item->start_ns);
		record.end_ns = since_start(r, item->end_ns);
	}
	if (item->mended &&
	    (!isc_build_is_part(r->b) || (item->start_ns < r->b->to_ns && item->end_ns > r->b->from_ns)))
		r->b->a->causality_fixes++;
	return isc_timeline_add(r->t, &record, err);
}

static void add_word(struct gpu_reading *r, const isc_event *ev)
{
	isc_gpu_words *w = r->words;
	isc_text source = {"?", 1};
	isc_gpu_source said;
	isc_gpu_word *word;
	uint32_t len = 0;
	size_t i = 0;

	if (!isc_trace_gpu_source(ev, &said) || ev->arg > ISC_GPU_REDUCED)
		return;
	source.at = isc_trace_define(r->b->trace, ev->process, ev->id, ISC_DEF_GPU_SOURCE, &len);
	source = source.at != NULL ? (isc_text){source.at, len} : (isc_text){"?", 1};
	while (i < w->sources &&
	       (w->word[i][0].source.len != source.len || memcmp(w->word[i][0].source.at, source.at, source.len) != 0))
		i++;
	if (i == ISC_GPU_SOURCES_MAX)
		return;
	if (i == w->sources)
		w->word[w->sources++][0].source = source;
	word = &w->word[i][ev->arg];
	word->source = source;
	word->code = said.code;
	word->times++;
	word->count += said.count;
	word->detail = (isc_text){NULL, 0};
	if (said.detail != 0)
		word->detail = isc_trace_name(r->b->trace, ev->process, said.detail);
}

static bool take_event(void *self, const isc_event *ev)
{
	struct gpu_reading *r = self;
	isc_crossing_lane *lane = isc_crossing_lane_of(&r->replay, r->b->arena, ev);
	isc_recorded_item item;

	if (lane == NULL || !isc_crossing_note(lane, r->b->arena, ev) || !note(r, ev))
		return false;
	if (ev->kind == ISC_KIND_GPU_CALL && isc_recorded_call(r->recorded, ev, &item))
		r->st = add_call(r, ev, &item, lane, &r->err);
	else if (ev->kind == ISC_KIND_GPU_WORK && isc_recorded_work(r->recorded, ev, &item))
		r->st = add_work(r, ev, &item, &r->err);
	else if (ev->kind == ISC_KIND_GPU_SOURCE)
		add_word(r, ev);
	return r->st == ISC_OK;
}

/* What another tool recorded of the same run; the rest of the report does without what cannot be read of it. */
static isc_status read_beside(struct gpu_reading *r, const char *path, isc_error *err)
{
	isc_import import = {0};
	isc_error why = {0};
	isc_status st = isc_import_beside(&import, path, isc_trace_header(r->b->trace)->start_unix_ns, r->t, r->source,
					  &r->words->placed, &why);

	r->words->beside = st == ISC_OK;
	if (st == ISC_ERR_NOMEM && err != NULL)
		*err = why;
	if (st != ISC_OK || import.files[0].damaged) {
		r->b->a->damaged = true;
		r->words->beside_wrong =
			isc_arena_format(r->b->arena, "%s", st != ISC_OK ? why.what : import.files[0].lost);
	}
	isc_import_fini(&import);
	return st == ISC_ERR_NOMEM ? st : ISC_OK;
}

static void add_devices(struct gpu_reading *r)
{
	const isc_recorded_device *d;

	for (size_t i = 0; r->recorded != NULL && (d = isc_recorded_device_at(r->recorded, i)) != NULL; i++) {
		uint32_t device = isc_timeline_device(r->t, r->source, d->number);

		r->words->on_cpu |= (d->traits & ISC_GPU_IS_CPU) != 0;
		isc_timeline_device_named(r->t, r->source, d->number, isc_timeline_name(r->t, d->name.at, d->name.len));
		if (d->sync != NULL) {
			const isc_clock_stats *s = isc_clock_sync_stats(d->sync);

			isc_timeline_device_synced(r->t, device, s->method, s->error_ns);
		} else if (d->told != NULL) {
			isc_timeline_device_synced(r->t, device, ISC_CLOCK_CAUSALITY, d->told_error_ns);
		}
	}
}

/* The worst of all devices that did something. */
static void take_clock(isc_analysis *a)
{
	bool any = false, bounded = true, direct = true;

	for (size_t i = 0; i < a->timeline->gpu_count; i++) {
		const isc_facts_gpu *g = &a->timeline->gpus[i];
		double error = (double)g->error_ns / 1e3;

		if (!g->seen)
			continue;
		any = true;
		bounded &= g->bounded;
		direct &= g->direct;
		a->causality_fixes += g->fixed + (g->shift_ns != 0 ? g->early : 0);
		a->clock_error_us = error > a->clock_error_us ? error : a->clock_error_us;
	}
	a->clock_sync = !any ? NULL : !bounded ? "assumed" : direct ? "direct" : "causality";
}

static isc_status finish(struct gpu_reading *r, isc_error *err)
{
	isc_build *b = r->b;
	isc_timeline_window window = {0};
	isc_status st;

	isc_timeline_source_covers(r->t, r->source, 0, since_start(r, b->end_ns));
	add_devices(r);
	if (isc_build_is_part(b)) {
		window.from_ns = since_start(r, b->from_ns);
		window.to_ns = since_start(r, b->to_ns);
	}
	st = isc_timeline_finish(r->t, &window, &b->a->timeline, err);
	if (st == ISC_OK)
		take_clock(b->a);
	return st;
}

isc_status isc_gpu_join(isc_build *b, isc_walk *walk, isc_error *err)
{
	double margin_us = b->options != NULL && b->options->margin_us > 0 ? b->options->margin_us : 1000;
	isc_timeline_options how = {.margin_ns = (int64_t)(margin_us * 1e3)};
	struct gpu_reading *r;
	isc_status st;

	if (b->recorded == NULL && (b->options == NULL || b->options->gpu_file == NULL))
		return ISC_OK;
	b->gpu_reading = r = isc_arena_alloc(b->arena, sizeof(*r));
	b->gpu = isc_arena_alloc(b->arena, sizeof(*b->gpu));
	if (r == NULL || b->gpu == NULL)
		return isc_build_no_memory(err);
	*r = (struct gpu_reading){.b = b, .recorded = b->recorded, .words = b->gpu, .replay = {.unseen = &b->unseen}};
	if (b->options != NULL && b->options->lanes &&
	    (b->a->lanes = isc_lanes_new(b->arena, ISC_LANES_PIECES)) != NULL) {
		isc_lanes_watch_init(&r->watch, b->a->lanes, true);
		how.watch = &r->watch.watch;
	}
	st = isc_timeline_new(&how, &b->a->timeline_own, err);
	r->t = r->watch.timeline = b->a->timeline_own;
	if (st != ISC_OK)
		return st;
	r->source = isc_timeline_source(r->t, "");
	if (r->recorded != NULL)
		isc_walk_join(walk, ISC_WALK_ALL, take_event, r);
	return ISC_OK;
}

isc_status isc_build_gpu(isc_build *b, isc_error *err)
{
	struct gpu_reading *r = b->gpu_reading;
	isc_status st = ISC_OK;

	if (r == NULL)
		return ISC_OK;
	if (b->options != NULL && b->options->gpu_file != NULL)
		st = read_beside(r, b->options->gpu_file, err);
	return st == ISC_OK ? finish(r, err) : st;
}

void isc_gpu_drop(isc_build *b)
{
	struct gpu_reading *r = b->gpu_reading;

	if (r != NULL) {
		isc_lanes_watch_fini(&r->watch);
		isc_crossing_fini(&r->replay);
		isc_hashmap_fini(&r->places.stacks);
		isc_hashmap_fini(&r->places.codes);
		isc_hashmap_fini(&r->names);
		isc_hashmap_fini(&r->place_of);
	}
	isc_recorded_free(b->recorded);
}
