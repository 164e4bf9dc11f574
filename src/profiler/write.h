/*
 * write.h - a profile as JSON for programs and as text for people.
 */
#ifndef ISC_PROFILER_WRITE_H
#define ISC_PROFILER_WRITE_H

#include "base/buffer.h"
#include "profiler/model.h"

/* buffer.failed: no memory. */
void isc_profile_json(isc_buffer *out, const isc_profile_model *m);
void isc_profile_summary(isc_buffer *out, const isc_profile_model *m);

/* Why something is not known, in words that end a sentence; NULL: it is. */
const char *isc_profile_why_no_count(int error);
const char *isc_profile_why_no_memory(int error);

#endif
