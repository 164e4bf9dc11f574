#include "cuda/activity.h"

#include <string.h>

/* Least bytes of a record of a kind; 0: it is not read. */
static size_t bytes_of(uint32_t kind)
{
	switch (kind) {
	case ISC_CUPTI_SERIAL_KERNEL:
	case ISC_CUPTI_KERNEL:
		return sizeof(isc_cupti_kernel);
	case ISC_CUPTI_MEMCPY:
		return sizeof(isc_cupti_memcpy);
	case ISC_CUPTI_MEMCPY2:
		return sizeof(isc_cupti_peer);
	case ISC_CUPTI_MEMSET:
		return sizeof(isc_cupti_memset);
	case ISC_CUPTI_SYNC:
		return sizeof(isc_cupti_sync);
	case ISC_CUPTI_GRAPH:
		return sizeof(isc_cupti_graph);
	case ISC_CUPTI_DEVICE:
		return sizeof(isc_cupti_device);
	case ISC_CUPTI_EXTERNAL:
		return sizeof(isc_cupti_external);
	default:
		return 0;
	}
}

static uint16_t copy_job(uint8_t copy)
{
	switch (copy) {
	case ISC_CUPTI_H2D:
	case ISC_CUPTI_H2A:
		return ISC_JOB_H2D;
	case ISC_CUPTI_D2H:
	case ISC_CUPTI_A2H:
		return ISC_JOB_D2H;
	case ISC_CUPTI_D2D:
	case ISC_CUPTI_A2A:
	case ISC_CUPTI_A2D:
	case ISC_CUPTI_D2A:
		return ISC_JOB_D2D;
	case ISC_CUPTI_P2P:
		return ISC_JOB_P2P;
	default:
		return ISC_JOB_COPY;
	}
}

/* Of the host's side of a copy. */
static uint16_t copy_page(uint16_t job, uint8_t from, uint8_t to)
{
	uint8_t host = job == ISC_JOB_H2D ? from : job == ISC_JOB_D2H ? to : 0;

	return host == ISC_CUPTI_PAGEABLE ? ISC_PAGE_PAGEABLE : host == ISC_CUPTI_PINNED ? ISC_PAGE_PINNED : 0;
}

static void take_kernel(isc_activity *out, const isc_cupti_kernel *k, size_t room, uint32_t version)
{
	const isc_cupti_kernel_graph *graph = (const void *)(k + 1);

	out->job = ISC_JOB_KERNEL;
	out->number = k->device;
	out->name = k->name;
	out->work.start = k->start;
	out->work.end = k->end;
	out->work.correlation = k->correlation;
	out->work.stream = k->stream;
	out->work.context = k->context;
	memcpy(out->work.grid, k->grid, sizeof(out->work.grid));
	memcpy(out->work.block, k->block, sizeof(out->work.block));
	if (version >= ISC_CUPTI_11_8 && room >= sizeof(*k) + sizeof(*graph))
		out->work.graph = graph->graph;
}

/* What records of copies and sets have alike, by name and not by place. */
#define TAKE_MOVED(out, m) \
	do { \
		(out)->number = (m)->device; \
		(out)->work.start = (m)->start; \
		(out)->work.end = (m)->end; \
		(out)->work.bytes = (m)->bytes; \
		(out)->work.correlation = (m)->correlation; \
		(out)->work.stream = (m)->stream; \
		(out)->work.context = (m)->context; \
	} while (0)

static void take_memcpy(isc_activity *out, const isc_cupti_memcpy *m)
{
	out->job = copy_job(m->copy);
	out->page = copy_page(out->job, m->from, m->to);
	TAKE_MOVED(out, m);
}

static void take_peer(isc_activity *out, const isc_cupti_peer *m)
{
	out->job = ISC_JOB_P2P;
	TAKE_MOVED(out, m);
}

static void take_memset(isc_activity *out, const isc_cupti_memset *m)
{
	out->job = ISC_JOB_MEMSET;
	TAKE_MOVED(out, m);
}

static void take_sync(isc_activity *out, const isc_cupti_sync *s)
{
	out->job = ISC_JOB_SYNC;
	out->number = ISC_ACTIVITY_NO_DEVICE;
	out->work.start = s->start;
	out->work.end = s->end;
	out->work.correlation = s->correlation;
	out->work.stream = s->stream;
	out->work.context = s->context;
}

static void take_graph(isc_activity *out, const isc_cupti_graph *g)
{
	out->job = ISC_JOB_KERNEL;
	out->number = g->device;
	out->work.start = g->start;
	out->work.end = g->end;
	out->work.correlation = g->correlation;
	out->work.stream = g->stream;
	out->work.context = g->context;
	out->work.graph = g->graph;
}

static void take(isc_activity *out, const void *at, size_t room, uint32_t version)
{
	const isc_cupti_device *device = at;
	const isc_cupti_external *external = at;

	switch (out->kind) {
	case ISC_CUPTI_MEMCPY:
		take_memcpy(out, at);
		break;
	case ISC_CUPTI_MEMCPY2:
		take_peer(out, at);
		break;
	case ISC_CUPTI_MEMSET:
		take_memset(out, at);
		break;
	case ISC_CUPTI_SYNC:
		take_sync(out, at);
		break;
	case ISC_CUPTI_GRAPH:
		take_graph(out, at);
		break;
	case ISC_CUPTI_DEVICE:
		out->number = device->id;
		out->name = device->name;
		break;
	case ISC_CUPTI_EXTERNAL:
		out->number = external->whose;
		out->scope = external->number;
		out->work.correlation = external->correlation;
		break;
	default:
		take_kernel(out, at, room, version);
		break;
	}
}

bool isc_activity_next(isc_activity_reader *r, isc_activity *out)
{
	uintptr_t begin = (uintptr_t)r->buffer;

	while (!r->damaged) {
		uintptr_t before = (uintptr_t)r->last, at;
		isc_cupti_result result = r->next(r->buffer, r->valid, &r->last);
		size_t room, need;

		if (result != ISC_CUPTI_OK) {
			r->failed = result != ISC_CUPTI_AT_END ? result : ISC_CUPTI_OK;
			return false;
		}
		at = (uintptr_t)r->last;
		/* Forward, on a word, and inside. */
		if (at < begin || at % 8 != 0 || (before != 0 && at <= before) || at - begin > r->valid ||
		    r->valid - (at - begin) < sizeof(uint64_t)) {
			r->damaged = true;
			return false;
		}
		room = r->valid - (at - begin);
		need = bytes_of(r->last->kind);
		if (need == 0)
			continue;
		if (need > room) {
			r->damaged = true;
			return false;
		}
		memset(out, 0, sizeof(*out));
		out->kind = r->last->kind;
		take(out, r->last, room, r->version);
		return true;
	}
	return false;
}
