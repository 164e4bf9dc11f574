/*
 * totals_lane.h - the inside of totals: lanes, weights and their bytes in the
 * file.  Internal to trace/.
 */
#ifndef ISC_TRACE_TOTALS_LANE_H
#define ISC_TRACE_TOTALS_LANE_H

#include <stdbool.h>

#include "base/buffer.h"
#include "base/hashmap.h"
#include "trace/totals.h"

/* Weights are what an entry takes in a snapshot at most, before packing. */
enum {
	ISC_WEIGHT_SCOPE = 80,
	ISC_WEIGHT_BUCKET = 5,		/* packed it is 2, even where counts are large */
	ISC_WEIGHT_MARK = 24,
	ISC_WEIGHT_COUNTER = 64,
	ISC_WEIGHT_THREAD = 49,
	ISC_WEIGHT_LANE = 42,
	ISC_WEIGHT_OPEN = 20
};
#define ISC_TOTALS_WEIGHT_MAX (64u << 20)	/* also in a file without a limit */
#define ISC_TOTALS_MEMORY_MAX (256u << 20)	/* rows of histograms are larger here than there */

typedef struct isc_totals_open {
	uint64_t ticks;
	uint32_t name;
	uint32_t arg;
} isc_totals_open;

/* One thread and stream: what is open on it and which number comes next. */
typedef struct isc_totals_lane {
	uint32_t process;
	uint32_t thread;
	uint8_t stream;
	uint64_t next;
	uint64_t events;	/* stored */
	size_t total;		/* index of its thread's total */
	isc_totals_open *open;
	size_t depth, room;
} isc_totals_lane;

struct isc_totals_scope_entry {
	isc_total_scope scope;
	isc_histogram histogram;
};

struct isc_totals {
	uint64_t weight, weight_max;
	uint64_t memory;		/* rows of all histograms */
	uint64_t events, folded;
	isc_hashmap by_name[3];		/* process and name to index; one for each of the next three */
	struct isc_totals_scope_entry *scopes;
	isc_total_mark *marks;
	isc_total_counter *counters;
	isc_total_thread *threads;
	isc_totals_lane **lanes;
	size_t scope_count, scope_room, mark_count, mark_room, counter_count, counter_room;
	size_t thread_count, thread_room, lane_count, lane_room;
	isc_hashmap by_thread, by_lane;
};

/* What a file of this limit can hold of totals. */
void isc_totals_bound(isc_totals *t, uint64_t weight_max);

/* The lane of a stream; NULL: no memory.  Stays where it is. */
isc_totals_lane *isc_totals_lane_of(isc_totals *t, uint32_t process, uint32_t thread, uint8_t stream);
isc_totals_lane *isc_totals_lane_find(const isc_totals *t, uint32_t process, uint32_t thread, uint8_t stream);
bool isc_totals_lane_feed(isc_totals *t, isc_totals_lane *lane, const isc_record *first, const void *extra, uint32_t extra_len);

/* Adds zeroed entries; NULL: no memory.  For feeding and for loading. */
struct isc_totals_scope_entry *isc_totals_add_scope(isc_totals *t, uint32_t process, uint32_t name);
isc_total_mark *isc_totals_add_mark(isc_totals *t, uint32_t process, uint32_t name);
isc_total_counter *isc_totals_add_counter(isc_totals *t, uint32_t process, uint32_t name);
isc_total_thread *isc_totals_add_thread(isc_totals *t, uint32_t process, uint32_t thread);
bool isc_totals_lane_push(isc_totals_lane *lane, isc_totals_open open);

/*
 * A snapshot as parts that stand alone.  Every part begins with what the whole
 * covers.  ends gets the end of each part, as size_t, within out.
 */
typedef struct isc_totals_cover {
	uint32_t sequence;	/* chunks up to this one are counted */
	uint64_t events;	/* that were in them */
} isc_totals_cover;

void isc_totals_write(const isc_totals *t, const isc_totals_cover *cover, isc_buffer *out, isc_buffer *ends);
bool isc_totals_read_cover(const uint8_t **at, const uint8_t *end, isc_totals_cover *cover);
/* Adds one part.  ISC_ERR_CORRUPT or ISC_ERR_NOMEM: t is of no use any more. */
isc_status isc_totals_read(isc_totals *t, const uint8_t *raw, size_t len);

#endif
