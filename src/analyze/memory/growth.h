/*
 * growth.h - memory that grew to the end, as suggestions: it costs no time yet, so no verdict is about it.
 */
#ifndef ISC_ANALYZE_MEMORY_GROWTH_H
#define ISC_ANALYZE_MEMORY_GROWTH_H

#include "analyze/verdict/evidence.h"

#define ISC_GROWTH_RULE "memory_growth" /* no rule of the table: it has no share of the time */

/* Behind the suggestions that there are; false: no memory. */
bool isc_growth_suggest(const isc_evidence *j, isc_analysis *a);

#endif
