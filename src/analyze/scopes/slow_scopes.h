/*
 * slow_scopes.h - which scopes of a name are the slow ones, by how long all of them took.
 *
 * Where the durations have a second hill, the slow ones are those of it, whatever their share.  Else they are the slowest
 * tenth, or a part of it that stands far apart: ordinary ones in that company would water down why the others are slow.
 */
#ifndef ISC_ANALYZE_SCOPES_SLOW_SCOPES_H
#define ISC_ANALYZE_SCOPES_SLOW_SCOPES_H

#include "base/histogram.h"

/* From which number on they are slow; 0: none stand out. */
uint64_t isc_slow_scopes_from(const isc_histogram *h);

/* The share of all that is below a number. */
double isc_slow_scopes_below(const isc_histogram *h, uint64_t from);

#endif
