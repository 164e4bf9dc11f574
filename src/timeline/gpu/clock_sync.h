/*
 * clock_sync.h - times of a device's clock as times of the host's, with a bound.
 *
 * Three ways, the best that there is for a device:
 *
 *	direct		the device's clock was read between two readings of the
 *			host's, many times.  Of every window of readings the one with
 *			the smallest round trip counts; between windows the clocks are
 *			taken to run straight.  Where no straight line fits, the clock
 *			has jumped, and the line begins anew.
 *	causality	no work begins before the call that asked for it, and none
 *			ends after the call that waited for it: a line between both.
 *	assumed		the times are taken as they are, with the margin as the bound.
 *
 * The bound holds for every time that is mapped: half the round trip that
 * counted, and how far the clock bends between windows.
 */
#ifndef ISC_TIMELINE_GPU_CLOCK_SYNC_H
#define ISC_TIMELINE_GPU_CLOCK_SYNC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define ISC_CLOCK_WINDOW 8u	     /* readings of which one counts */
#define ISC_CLOCK_SLOPE_MOST 1000e-6 /* what clocks may run apart: crystals are 50 ppm off at worst */

typedef struct isc_clock_triple {
	int64_t before_ns; /* of the host */
	int64_t device_ns;
	int64_t after_ns; /* of the host */
} isc_clock_triple;

enum isc_clock_method { ISC_CLOCK_DIRECT, ISC_CLOCK_CAUSALITY, ISC_CLOCK_ASSUMED };

typedef struct isc_clock_stats {
	enum isc_clock_method method;
	size_t windows, segments; /* segments: one more than jumps */
	int64_t error_ns;	  /* the worst bound inside what was read */
	uint64_t fixes;		  /* pieces of work that were moved behind their call */
	uint64_t dropped;	  /* readings that go backwards on the host */
} isc_clock_stats;

typedef struct isc_clock_sync isc_clock_sync;

isc_status isc_clock_sync_new(isc_clock_sync **out, isc_error *err);
void isc_clock_sync_free(isc_clock_sync *s); /* NULL is fine */

/* In the order in which they were read.  False: no memory. */
bool isc_clock_sync_read(isc_clock_sync *s, const isc_clock_triple *triple);
/* Work that began at device_ns was asked for at host_ns, or later. */
bool isc_clock_sync_asked(isc_clock_sync *s, int64_t host_ns, int64_t device_ns);
/* Work that ended at device_ns was waited for until host_ns. */
bool isc_clock_sync_waited(isc_clock_sync *s, int64_t host_ns, int64_t device_ns);

/* Once, when all is added.  False: no memory. */
bool isc_clock_sync_fit(isc_clock_sync *s, int64_t margin_ns);

/* Between which times of the host something was, as far as that is known. */
typedef struct isc_clock_range {
	int64_t not_before_ns, not_after_ns;
} isc_clock_range;

#define ISC_CLOCK_ANY ((isc_clock_range){INT64_MIN, INT64_MAX})

/*
 * A time of the host, and by how much it may be off.  Around a step one time of
 * the device may stand for two of the host: what is known of it may rule one out,
 * and else the bound covers both.
 */
int64_t isc_clock_sync_map(const isc_clock_sync *s, int64_t device_ns, isc_clock_range known, int64_t *error_ns);

/* The same for work from *start_ns to *end_ns that was asked for at known.not_before_ns: it is moved
 * behind that when it would begin before it, and counted. */
void isc_clock_sync_place(isc_clock_sync *s, isc_clock_range known, int64_t *start_ns, int64_t *end_ns,
			  int64_t *error_ns);

const isc_clock_stats *isc_clock_sync_stats(const isc_clock_sync *s);
const char *isc_clock_method_name(enum isc_clock_method method); /* "direct", ... */

/* ---- the line between bounds, of which the readings and causality both are made ---- */

typedef struct isc_clock_bound {
	double x;	  /* of the device */
	double low, high; /* the host's time lies between; -INFINITY, INFINITY: not bounded */
} isc_clock_bound;

typedef struct isc_clock_line {
	double slope, at; /* host = at + slope * x */
	double gap;	  /* how far the line may move up and down in all; negative: none fits */
} isc_clock_line;

/* The line with the most room to all bounds, slope within 1 +- ISC_CLOCK_SLOPE_MOST. */
isc_clock_line isc_clock_line_fit(const isc_clock_bound *bounds, size_t count);

#endif
