/*
 * stream.h - from the events of a trace to slices, marks and samples.
 */
#ifndef ISC_EXPORT_STREAM_H
#define ISC_EXPORT_STREAM_H

#include "base/arena.h"
#include "export/cut.h"
#include "export/sink.h"

/* Reads the trace once and tells the sink; ISC_ERR_NOMEM, or what writing said.  The threads that
 * the sink was told of live as long as the arena. */
isc_status isc_stream_run(isc_trace *trace, const isc_export_options *options, const isc_cut *cut,
			  const isc_sink_class *sink, isc_sink *self, isc_arena *arena, isc_export_result *result,
			  isc_error *err);

#endif
