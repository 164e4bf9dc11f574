/*
 * told.h - work whose library has turned its times into the host's, and does not say
 * how well: compared with the calls that asked for it and those that waited.
 *
 * A wait is a call of its own and a record of the device's side that says for which
 * stream.  All work of that stream whose call had returned before the wait began has
 * ended when it ends.
 */
#ifndef ISC_TIMELINE_TOLD_H
#define ISC_TIMELINE_TOLD_H

#include "timeline/causality.h"
#include "trace/reader.h"

typedef struct isc_told isc_told;

/* What is known of a device of a process; NULL: it is not one of these. */
typedef isc_causality *isc_told_device(void *self, uint32_t process, uint32_t id);

/* Goes through the events: rewinds the trace. */
isc_status isc_told_new(isc_trace *trace, isc_told_device *device, void *self, isc_told **out, isc_error *err);
void isc_told_free(isc_told *t); /* NULL is fine */

/* When the work with this correlation was asked for; false: not known. */
bool isc_told_called(const isc_told *t, uint32_t process, uint64_t correlation, int64_t *ns);

#endif
