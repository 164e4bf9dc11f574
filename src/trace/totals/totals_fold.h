/*
 * totals_fold.h - which rows are used least.  Internal to trace/.
 */
#ifndef ISC_TRACE_TOTALS_TOTALS_FOLD_H
#define ISC_TRACE_TOTALS_TOTALS_FOLD_H

#include "trace/totals/totals_fields.h"
#include "trace/totals/totals_lane.h"

#define ISC_FOLD_STAYS UINT64_MAX /* as a heat: not to be folded */

/* Room for the heats of n rows; NULL: no memory. */
uint64_t *isc_fold_heats(size_t n);

/* How much a row was used lately, of what it was used in all; and notes that for the next time. */
uint64_t isc_fold_heat(uint64_t now, uint64_t *before);

/* The heat up to which rows go, and how many of them; 0 rows: there is nothing to fold.  False: no memory. */
bool isc_fold_coldest(const uint64_t *heat, size_t n, uint64_t *limit, size_t *rows);

/* Is this one of them?  Rows are asked in order, once. */
bool isc_fold_is_cold(uint64_t heat, uint64_t limit, size_t *rows);

/* totals_fold_functions.c */
bool isc_fold_functions(isc_totals *t, bool startup_only);

#endif
