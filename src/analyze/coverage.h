/*
 * coverage.h - whether the calls between two moments of a process were recorded.
 *
 * The recorder keeps the gaps of a process: times in which it lacks calls of some functions, of all but those
 * that units begin with, of all, or of one thread.  They outlive the events.  A stretch without a gap is whole: its calls
 * may serve as evidence.  One that a gap covers has no calls at all, and every other one has some of them.
 */
#ifndef ISC_ANALYZE_COVERAGE_H
#define ISC_ANALYZE_COVERAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hashmap.h"

struct isc_build;

enum isc_coverage {
	ISC_COVERAGE_WHOLE,
	ISC_COVERAGE_THINNED, /* calls of some functions were left out, and nothing else is missing */
	ISC_COVERAGE_PARTIAL,
	ISC_COVERAGE_NONE
};

/* Gaps of one sort: by process and time, apart from each other. */
typedef struct isc_coverage_gaps {
	struct isc_coverage_gap {
		uint32_t process;
		uint64_t from_ns, to_ns;
	} *at;
	size_t count, room;
} isc_coverage_gaps;

typedef struct isc_coverage_map {
	isc_coverage_gaps thinned, blind, lost; /* blind: gated or paused */
	isc_coverage_gaps paused;		/* of blind */
	isc_hashmap called;			/* process images whose calls were traced */
} isc_coverage_map;

/* Reads the gaps of the trace, and from the totals of the whole run who was traced; false: no memory. */
bool isc_coverage_read(isc_coverage_map *m, struct isc_build *b);
void isc_coverage_fini(isc_coverage_map *m);

/* from_ns to to_ns in nanoseconds of CLOCK_MONOTONIC, both in it. */
enum isc_coverage isc_coverage_of(const isc_coverage_map *m, uint32_t process, uint64_t from_ns, uint64_t to_ns);

/* Do gaps that are more than functions left out alone take more than a tenth of it?  Its calls are then no evidence: what
 * is seen of it is what the gaps happened to leave. */
bool isc_coverage_is_cut(const isc_coverage_map *m, uint32_t process, uint64_t from_ns, uint64_t to_ns);

/* Does a pause touch it?  One comes when calls are dense; a gate closes by chance. */
bool isc_coverage_is_paused(const isc_coverage_map *m, uint32_t process, uint64_t from_ns, uint64_t to_ns);

#endif
