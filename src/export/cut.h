/*
 * cut.h - the stretches of time that are exported, one after the other.
 */
#ifndef ISC_EXPORT_CUT_H
#define ISC_EXPORT_CUT_H

#include "export/export.h"

typedef struct isc_stretch {
	uint64_t from_ns, to_ns; /* of CLOCK_MONOTONIC, both inside */
} isc_stretch;

typedef struct isc_cut {
	isc_stretch *stretch; /* at least one, in order, apart from each other */
	size_t count;
	bool whole; /* nothing is cut off */
} isc_cut;

/* ISC_ERR_INVALID, ISC_ERR_NOMEM.  Reads the trace when a scope is asked for. */
isc_status isc_cut_make(isc_cut *cut, isc_trace *trace, const isc_export_options *options, isc_error *err);
void isc_cut_fini(isc_cut *cut);

/* The stretch that a moment lies in or, between two, the one behind it; count: none is.  The first is for who goes
 * on from one that is not behind it. */
size_t isc_cut_at(const isc_cut *cut, uint64_t ns, size_t from);
size_t isc_cut_find(const isc_cut *cut, uint64_t ns);

#endif
