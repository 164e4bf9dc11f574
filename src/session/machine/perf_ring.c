#include "session/machine/perf_ring.h"

#include <linux/perf_event.h>
#include <stdbool.h>
#include <string.h>

/* The kinds asked for are far smaller; a name has at most 16 bytes. */
#define RECORD_MAX 128u
#define TRAILER 24u /* pid, tid, time, cpu, reserved */

static uint32_t u32(const unsigned char *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static uint64_t u64(const unsigned char *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* Bytes before the trailer that the kind needs; 0: nobody asked for it. */
static size_t body_of(uint32_t type)
{
	switch (type) {
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SAMPLE:
		return sizeof(struct perf_event_header);
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		return sizeof(struct perf_event_header) + 24;
	case PERF_RECORD_COMM:
		return sizeof(struct perf_event_header) + 8 + 8; /* pid, tid, at least one word of name */
	case PERF_RECORD_LOST:
		return sizeof(struct perf_event_header) + 16;
	default:
		return 0;
	}
}

static void decode(const unsigned char *bytes, const struct perf_event_header *h, isc_perf_record *out)
{
	const unsigned char *body = bytes + sizeof(*h), *id = bytes + h->size - TRAILER;
	size_t name;

	*out = (isc_perf_record){
		.pid = u32(id), .tid = u32(id + 4), .time_ns = u64(id + 8), .cpu = (uint16_t)u32(id + 16)};
	switch (h->type) {
	case PERF_RECORD_SWITCH:
		out->kind = !(h->misc & PERF_RECORD_MISC_SWITCH_OUT)	    ? ISC_PERF_SWITCH_IN
			    : h->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT ? ISC_PERF_SWITCH_PREEMPT
									    : ISC_PERF_SWITCH_OUT;
		break;
	case PERF_RECORD_SAMPLE:
		out->kind = ISC_PERF_FAULT;
		break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		out->kind = h->type == PERF_RECORD_FORK ? ISC_PERF_FORK : ISC_PERF_EXIT;
		out->pid = u32(body);
		out->other = u32(body + 4);
		out->tid = u32(body + 8);
		break;
	case PERF_RECORD_COMM:
		out->kind = h->misc & PERF_RECORD_MISC_COMM_EXEC ? ISC_PERF_EXEC : ISC_PERF_COMM;
		out->pid = u32(body);
		out->tid = u32(body + 4);
		name = (size_t)(id - (body + 8));
		memcpy(out->name, body + 8, name < sizeof(out->name) - 1 ? name : sizeof(out->name) - 1);
		break;
	default:
		out->kind = ISC_PERF_LOST;
		out->count = u64(body + 8);
	}
}

uint64_t isc_perf_ring_read(const void *data, size_t size, uint64_t tail, uint64_t head, isc_perf_visit visit,
			    void *self, isc_perf_ring_stats *stats)
{
	const unsigned char *ring = data;
	unsigned char bytes[RECORD_MAX];
	struct perf_event_header h;
	isc_perf_record record;

	if (head - tail > size || tail % 8 != 0) {
		stats->damaged++;
		return head;
	}
	while (tail < head) {
		size_t at = (size_t)(tail & (size - 1)), first;

		/* Records are multiples of 8, so a header never wraps. */
		if (head - tail < sizeof(h) || size - at < sizeof(h)) {
			stats->damaged++;
			return head;
		}
		memcpy(&h, ring + at, sizeof(h));
		size_t body = body_of(h.type);
		if (h.size < sizeof(h) || h.size % 8 != 0 || h.size > head - tail ||
		    (body != 0 && (h.size < body + TRAILER || h.size > sizeof(bytes)))) {
			stats->damaged++;
			return head;
		}
		tail += h.size;
		if (body == 0) {
			stats->unknown++;
			continue;
		}
		first = h.size < size - at ? h.size : size - at;
		memcpy(bytes, ring + at, first);
		memcpy(bytes + first, ring, h.size - first);
		decode(bytes, &h, &record);
		stats->records++;
		visit(self, &record);
	}
	return tail;
}
