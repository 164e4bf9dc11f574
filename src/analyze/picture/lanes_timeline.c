/*
 * lanes_timeline.c - the lanes of GPUs and of threads that another tool recorded, as the
 * timeline goes through them.
 */
#include "analyze/picture/lanes_timeline.h"

#include "timeline/gpu/record.h"

#define THREADS (1ull << 40) /* keys: threads of a timeline, streams of devices */
#define STREAMS (2ull << 40)

/* In a trace of ours threads are known by their tid, and have calls of their own. */
static uint64_t key_of(const isc_lanes_watch *w, const isc_timeline_seen *s)
{
	return w->own ? ISC_LANES_TID | (s->tid & UINT32_MAX) : THREADS | s->thread;
}

static uint32_t name_of(isc_lanes_watch *w, uint32_t name, unsigned class)
{
	uint64_t *known = isc_hashmap_put(&w->names, name, NULL);
	isc_text text;

	if (known == NULL) {
		w->lanes->failed = true;
		return 0;
	}
	if (*known == 0) {
		text = isc_timeline_text(w->timeline, name);
		*known = 1 + (uint64_t)isc_lanes_name(
				     w->lanes, &(isc_piece_name){.name = {text.at, text.len}, .class = (uint8_t)class});
	}
	return (uint32_t)(*known - 1);
}

static isc_lane_piece piece_of(isc_lanes_watch *w, const isc_timeline_seen *s, unsigned class)
{
	/* Moments before the origin are not of this run. */
	return (isc_lane_piece){.start_ns = s->start_ns > 0 ? (uint64_t)s->start_ns : 0,
				.end_ns = s->end_ns > 0 ? (uint64_t)s->end_ns : 0,
				.launch_ns = UINT64_MAX,
				.name = name_of(w, s->name, class)};
}

static void take_span(void *self, const isc_timeline_seen *s)
{
	isc_lanes_watch *w = self;
	isc_lane as = {.kind = ISC_LANE_THREAD,
		       .pid = s->pid,
		       .number = s->tid,
		       .name = {s->thread_name.at, s->thread_name.len}};
	isc_lane *lane = isc_lanes_lane(w->lanes, key_of(w, s), &as);
	isc_lane_piece p = piece_of(w, s, 0);

	/* Of our own only calls of the GPU's library come this way: they have the last row to themselves. */
	if (w->own)
		isc_lanes_add(w->lanes, lane, ISC_ROW_CALL, ISC_LANES_DEEPEST - 1, &p);
	else
		isc_lanes_add(w->lanes, lane, s->kind == ISC_HOST_SCOPE ? ISC_ROW_SCOPE : ISC_ROW_CALL,
			      (uint16_t)(s->depth < UINT16_MAX ? s->depth : UINT16_MAX), &p);
}

/* Work of one stream may overlap when the source joins several: what begins before the last ended goes
 * a row down. */
static uint16_t row_for(const isc_lane *lane, uint64_t start_ns)
{
	for (size_t i = 0; lane != NULL && i < lane->row_count; i++) {
		const isc_lane_row *row = &lane->rows[i];

		if (row->count == 0 || row->piece[row->count - 1].end_ns <= start_ns)
			return row->depth;
	}
	return lane != NULL ? (uint16_t)lane->row_count : 0;
}

static void take_work(void *self, const isc_timeline_seen *s)
{
	isc_lanes_watch *w = self;
	isc_lane as = {.kind = ISC_LANE_STREAM, .number = s->stream, .device = s->number};
	uint64_t key = STREAMS ^ ((uint64_t)s->device << 24) ^ (s->stream * 0x9e3779b97f4a7c15ull >> 40);
	isc_lane *lane = isc_lanes_lane(w->lanes, key, &as);
	isc_lane_piece p = piece_of(w, s,
				    s->kind == ISC_GPU_KERNEL ? s->class + 1u
				    : s->kind <= ISC_GPU_COPY ? ISC_CLASS_COPY + 1u
							      : ISC_CLASS_OTHER + 1u);
	uint64_t *from = isc_hashmap_find(&w->lanes->lane_of, key_of(w, s));

	if (s->call_ns >= 0 && s->call_ns <= s->start_ns && from != NULL) {
		p.launch_ns = (uint64_t)(s->start_ns - s->call_ns);
		p.launch_lane = (uint32_t)(*from - 1);
	}
	isc_lanes_add(w->lanes, lane, ISC_ROW_WORK, row_for(lane, p.start_ns), &p);
}

void isc_lanes_watch_init(isc_lanes_watch *w, isc_lanes *lanes, bool own)
{
	*w = (isc_lanes_watch){.lanes = lanes, .own = own, .watch = {.span = take_span, .work = take_work}};
	w->watch.self = w;
}

void isc_lanes_watch_fini(isc_lanes_watch *w)
{
	isc_hashmap_fini(&w->names);
}
