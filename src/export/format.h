/*
 * format.h - a writer of one format: a listener (timeline/listener.h) that turns what it hears into text.
 *
 * A format that wants every thread in one piece collects them in a spill.
 */
#ifndef ISC_EXPORT_FORMAT_H
#define ISC_EXPORT_FORMAT_H

#include "base/buffer.h"
#include "export/export.h"
#include "timeline/listener.h"

#define ISC_EXPORT_MARK "inferscope-export-1"
#define ISC_EXPORT_EVENTS_HEAD "[\n{\"event_type\":\"" /* of a file of events, which has no mark */

typedef struct isc_export_out {
	isc_export_write_fn write;
	void *self;
	isc_buffer text; /* goes out when it is large, and at the end */
	uint64_t bytes;
	isc_status status;
	isc_error *err;
	/* Frames of stacks where there is no trace; NULL: none.  A parent is always lower than its child. */
	bool (*frame)(void *self, uint32_t id, isc_frame *out);
	void *frame_self;
} isc_export_out;

typedef struct isc_sink {
	isc_listener listener; /* first: that is what its functions get */
	isc_export_out *out;
} isc_sink;

/* begin makes the sink, end also frees it.  trace NULL: it is a timeline of other tools, with samples only for
 * formats that need no moments of them. */
typedef struct isc_sink_class {
	bool timeless; /* samples are sums: it does not matter when they were */
	isc_sink *(*begin)(isc_trace *trace, isc_export_out *out); /* NULL: no memory */
	isc_listener_class hears;
	void (*end)(isc_sink *self, const isc_export_result *result);
} isc_sink_class;

extern const isc_sink_class isc_sink_chrome, isc_sink_perfetto, isc_sink_speedscope, isc_sink_collapsed, isc_sink_pprof,
	isc_sink_events;

/* What dictionaries call a slice. */
enum isc_event_type isc_export_type(const isc_slice *s);

/* That of enum isc_export_format. */
const isc_sink_class *isc_export_sink(int format);

/* Sends what has gathered in out->text when it is much, or anyhow. */
void isc_export_send(isc_export_out *out, bool all);

/* After each event: what has gathered goes out. */
isc_status isc_export_after(isc_listener *self);

#endif
