/*
 * cut.h - the stretches of a trace that are read, one after the other.
 */
#ifndef ISC_TIMELINE_CUT_H
#define ISC_TIMELINE_CUT_H

#include "trace/reader.h"

typedef struct isc_stretch {
	uint64_t from_ns, to_ns; /* of CLOCK_MONOTONIC, both inside */
} isc_stretch;

typedef struct isc_cut {
	isc_stretch *stretch; /* at least one, in order, apart from each other */
	size_t count;
	bool whole; /* nothing is cut off */
} isc_cut;

typedef struct isc_cut_options {
	const char *scope;     /* only the time in which a scope of this name was open; NULL: all */
	double from_us, to_us; /* of the session; to_us 0: the end */
} isc_cut_options;

/* ISC_ERR_INVALID, ISC_ERR_NOMEM.  Reads the trace when a scope is asked for. */
isc_status isc_cut_make(isc_cut *cut, isc_trace *trace, const isc_cut_options *options, isc_error *err);
void isc_cut_fini(isc_cut *cut);

/* The stretch that a moment lies in or, between two, the one behind it; count: none is.  The first is for who goes
 * on from one that is not behind it. */
size_t isc_cut_at(const isc_cut *cut, uint64_t ns, size_t from);
size_t isc_cut_find(const isc_cut *cut, uint64_t ns);

#endif
