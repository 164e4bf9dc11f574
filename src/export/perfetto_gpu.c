/*
 * perfetto_gpu.c - calls of a GPU's library and work of devices, in Perfetto's protocol buffers.
 */
#include <stdio.h>

#include "export/perfetto.h"

/* A track for every row of a stream. */
static uint64_t gpu_track(isc_perfetto *p, const isc_listener_gpu *g)
{
	const isc_recorded_item *i = g->item;
	isc_buffer text = {0};
	isc_buffer body = {0};
	uint64_t track;
	uint32_t nth;
	bool fresh;
	size_t row = isc_gpu_rows_place(&p->rows, i->device->number, i->stream, g->start_ns, g->end_ns, &nth, &fresh);

	if (row == SIZE_MAX) {
		p->sink.listener.failed = true;
		return 0;
	}
	track = 5ull << 60 | row;
	if (!fresh)
		return track;
	isc_buffer_format(&text, "GPU %u stream %llu", i->device->number, (unsigned long long)i->stream);
	if (nth > 0)
		isc_buffer_format(&text, " (%u)", nth + 1);
	isc_buffer_text(&text, ": ");
	isc_buffer_add(&text, i->device->name.at, i->device->name.len);
	isc_wire_number(&body, TRACK_UUID, track);
	isc_perfetto_clean(p, &body, TRACK_NAME, &(isc_text){text.data, (uint32_t)text.len});
	isc_perfetto_send(p, 0, PACKET_TRACK, &body);
	p->sink.listener.failed |= text.failed || body.failed;
	isc_buffer_fini(&text);
	isc_buffer_fini(&body);
	return track;
}

/* Calls are told of by whoever hears of them; their track is that of the thread that made them. */
static uint64_t caller_track(isc_perfetto *p, const isc_listener_gpu *g)
{
	isc_listener_thread on = *g->on;
	uint64_t *known;

	if (g->item->tid == 0 || g->item->tid == on.tid)
		return isc_perfetto_track(&on);
	known = isc_hashmap_put(&p->threads, isc_hashmap_key(on.pid, g->item->tid), NULL);
	if (known == NULL) {
		p->sink.listener.failed = true;
		return isc_perfetto_track(&on);
	}
	if (*known == 0) {
		/* One that the trace does not list. */
		on.tid = g->item->tid;
		on.name.len = 0;
		*known = 6ull << 60 | isc_hashmap_key(on.pid, on.tid);
		isc_perfetto_thread(p, &on, *known);
	}
	return *known;
}

static void add_sides(isc_perfetto *p, const char *key, const uint32_t sides[3])
{
	char text[48];
	int len = snprintf(text, sizeof(text), "[%u,%u,%u]", sides[0], sides[1], sides[2]);

	isc_perfetto_note(p, key, NOTE_JSON, &(isc_text){text, (uint32_t)len}, 0);
}

static void add_work(isc_perfetto *p, const isc_recorded_item *i)
{
	isc_perfetto_note(p, "device", NOTE_UINT, NULL, i->device->number);
	isc_perfetto_note(p, "stream", NOTE_UINT, NULL, i->stream);
	isc_perfetto_note(p, "clock_error_ns", NOTE_INT, NULL, (uint64_t)i->error_ns);
	if (i->bytes != 0)
		isc_perfetto_note(p, "bytes", NOTE_UINT, NULL, i->bytes);
	if (i->page == ISC_PAGE_PAGEABLE || i->page == ISC_PAGE_PINNED)
		isc_perfetto_note(p, "pageable", NOTE_BOOL, NULL, i->page == ISC_PAGE_PAGEABLE);
	if (i->grid[0] != 0) {
		add_sides(p, "grid", i->grid);
		add_sides(p, "block", i->block);
	}
}

void isc_perfetto_gpu(isc_listener *self, const isc_listener_gpu *g)
{
	isc_perfetto *p = (isc_perfetto *)self;
	const isc_recorded_item *i = g->item;
	uint64_t track = g->call ? caller_track(p, g) : gpu_track(p, g);

	isc_perfetto_start(p, TYPE_BEGIN, track);
	isc_wire_number(&p->event, EVENT_CATEGORY, isc_perfetto_category(p, ISC_SLICE_KINDS + 2));
	isc_wire_number(&p->event, EVENT_NAME,
			isc_perfetto_name(p, 6ull << 60 ^ (uint64_t)g->on->process << 32 ^ g->id, &g->name));
	isc_perfetto_note(p, "correlation", NOTE_UINT, NULL, i->correlation);
	if (!g->call)
		add_work(p, i);
	if (g->cut)
		isc_perfetto_note(p, "cut", NOTE_BOOL, NULL, 1);
	/* No end of it: a graph is many works of one call, and the arrow goes on to the next of them. */
	if (i->correlation != 0 && !(g->call && i->role == ISC_ROLE_OTHER))
		isc_wire_fixed(&p->event, EVENT_FLOW, i->correlation ^ (uint64_t)g->on->process << 40);
	isc_perfetto_send(p, g->start_ns, PACKET_TRACK_EVENT, &p->event);
	isc_perfetto_start(p, TYPE_END, track);
	isc_perfetto_send(p, g->end_ns, PACKET_TRACK_EVENT, &p->event);
}
