/*
 * host_times.h - work whose library has turned its times into the host's, and does not say
 * how well: compared with the calls that asked for it and those that waited.
 *
 * A wait is a call of its own and a record of the device's side that says for which
 * stream.  All work of that stream whose call had returned before the wait began has
 * ended when it ends.
 */
#ifndef ISC_TIMELINE_GPU_HOST_TIMES_H
#define ISC_TIMELINE_GPU_HOST_TIMES_H

#include "timeline/gpu/causality.h"
#include "trace/reader.h"

typedef struct isc_host_times isc_host_times;

/* What is known of a device of a process; NULL: it is not one of these. */
typedef isc_causality *isc_host_times_device(void *self, uint32_t process, uint32_t id);

isc_status isc_host_times_new(isc_trace *trace, isc_host_times **out, isc_error *err);

/* The next event of the trace; false: no memory. */
bool isc_host_times_note(isc_host_times *t, const isc_event *ev);

/* Behind the last event: compares work with its calls.  Goes through the events: rewinds the trace. */
void isc_host_times_compare(isc_host_times *t, isc_host_times_device *device, void *self);
void isc_host_times_free(isc_host_times *t); /* NULL is fine */

/* When the work with this correlation was asked for; false: not known. */
bool isc_host_times_called(const isc_host_times *t, uint32_t process, uint64_t correlation, int64_t *ns);

#endif
