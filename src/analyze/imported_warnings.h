/* imported_warnings.h - what to doubt in an analysis of imported traces. */
#ifndef ISC_ANALYZE_IMPORTED_WARNINGS_H
#define ISC_ANALYZE_IMPORTED_WARNINGS_H

#include "analyze/analysis.h"
#include "base/arena.h"

/* Grave ones first; the arena remembers when there is no memory. */
void isc_imported_warn(isc_analysis *a, isc_arena *arena);

#endif
