/*
 * dump_chunks.c - what the file says of its chunks of events.
 */
#include "trace/dump/dump_text.h"

/* By number: names of kinds stand in lines of events alone. */
static void add_kinds(struct dump *d, isc_kinds kinds)
{
	const char *before = " kinds ";

	for (unsigned i = 0; i <= ISC_KINDS_LAST; i++) {
		if ((kinds & ISC_KIND_BIT(i)) == 0)
			continue;
		isc_buffer_format(&d->line, "%s%u", before, i);
		before = ",";
	}
}

void isc_dump_chunks(struct dump *d)
{
	isc_trace_chunk chunk;

	for (size_t i = 0; isc_trace_chunk_at(d->trace, i, &chunk); i++) {
		if (chunk.kinds == 0)
			continue;
		isc_buffer_format(&d->line, "chunk p%u t%u s%u events %u from ", chunk.process, chunk.thread,
				  chunk.stream, chunk.events);
		isc_dump_time(d, chunk.from_ns);
		isc_buffer_text(&d->line, " to ");
		isc_dump_time(d, chunk.to_ns);
		add_kinds(d, chunk.kinds);
		isc_dump_finish(d);
	}
}
