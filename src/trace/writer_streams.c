/*
 * writer_streams.c - the streams of events that a writer has heard of, and which number of each comes next.
 */
#include <stdlib.h>

#include "trace/records.h"
#include "trace/writing.h"

uint64_t isc_writer_next_number(const isc_writer *w, uint32_t process, uint32_t thread, uint8_t stream)
{
	const uint64_t *at = isc_hashmap_find(&w->by_stream, isc_stream_key(process, thread, stream));
	const isc_totals_lane *lane;

	if (at != NULL)
		return w->streams[*at].next;
	lane = isc_totals_lane_find(w->totals, process, thread, stream);
	return lane != NULL ? lane->next : 0;
}

isc_writer_stream *isc_writer_stream_of(isc_writer *w, uint32_t process, uint32_t thread, uint8_t stream)
{
	uint64_t key = isc_stream_key(process, thread, stream), *at = isc_hashmap_find(&w->by_stream, key), next;
	const isc_totals_lane *lane;
	isc_writer_stream *bigger;

	if (at != NULL)
		return &w->streams[*at];
	next = isc_writer_next_number(w, process, thread, stream);
	lane = isc_totals_lane_find(w->totals, process, thread, stream);
	if (w->stream_count == w->stream_room) {
		size_t room = w->stream_room ? w->stream_room * 2 : 16;

		bigger = realloc(w->streams, room * sizeof(*bigger));
		if (bigger == NULL)
			return NULL;
		w->streams = bigger;
		w->stream_room = room;
	}
	at = isc_hashmap_put(&w->by_stream, key, NULL);
	if (at == NULL)
		return NULL;
	*at = w->stream_count;
	w->streams[w->stream_count] = (isc_writer_stream){.process = process,
							  .thread = thread,
							  .stream = stream,
							  .next = next,
							  .last = lane != NULL ? lane->last : 0};
	return &w->streams[w->stream_count++];
}
