/*
 * attribution.h - what a sample says of the CPU time that it stands for: Python, native
 * code, a waiting loop, or nothing, and then why.
 *
 * The newest frame decides.  Time without one is never called Python or native: nobody
 * knows what it was.
 */
#ifndef ISC_ANALYZE_TIME_ATTRIBUTION_H
#define ISC_ANALYZE_TIME_ATTRIBUTION_H

#include "analyze/analysis.h"

struct isc_build;

typedef struct isc_attribution {
	enum isc_state state;	   /* python, native, spin, on_cpu or unattributed */
	enum isc_unattributed why; /* of unattributed */
	bool native;		   /* the newest frame is a native one: of the interpreter too */
} isc_attribution;

/* Of a stack as totals and events have it (trace/sample.h). */
isc_attribution isc_attribution_of(const struct isc_build *b, uint32_t process, uint32_t stack);

#endif
