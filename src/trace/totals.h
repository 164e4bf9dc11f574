/*
 * totals.h - running totals that outlive the events they were counted from.
 *
 * The writer feeds every event that it stores; a snapshot in the file covers
 * all chunks up to a sequence number, and a reader feeds the rest.  So totals
 * are exact whether or not old events were written over.  Times are in ticks;
 * whoever prints converts.
 *
 * Memory is bounded, because a snapshot has to fit into the file.  Past the bound
 * sums stay exact, but new names are counted under name 0, new threads under
 * thread 0, durations in the nearest bucket that exists, and scopes entered then
 * are never matched; isc_totals_folded says how often that happened.
 */
#ifndef ISC_TRACE_TOTALS_H
#define ISC_TRACE_TOTALS_H

#include <stddef.h>
#include <stdint.h>

#include "base/histogram.h"
#include "base/status.h"
#include "trace/model.h"

typedef struct isc_totals isc_totals;	/* opaque */

/* A scope name, per process: definition ids of one text are one entry only after
 * the caller has merged them by text. */
typedef struct isc_total_scope {
	uint32_t process;
	uint32_t name;		/* definition id */
	uint64_t count;		/* left as often as entered */
	uint64_t open;		/* entered and not left */
	uint64_t unmatched;	/* left without an enter: its enter was lost */
	/* A leave belongs to the latest open enter of the same name and argument
	 * on its thread and stream; scopes of interleaved tasks may cross. */
	uint64_t total_ticks;
	uint64_t min_ticks;
	uint64_t max_ticks;
	const isc_histogram *histogram;	/* of durations in ticks */
} isc_total_scope;

typedef struct isc_total_mark {
	uint32_t process;
	uint32_t name;
	uint64_t count;
} isc_total_mark;

typedef struct isc_total_counter {
	uint32_t process;
	uint32_t name;
	uint64_t count;
	double min, max, sum, last;
} isc_total_counter;

typedef struct isc_total_thread {
	uint32_t process;
	uint32_t thread;
	uint64_t events;
	uint64_t first_ticks;
	uint64_t last_ticks;
	uint32_t name;		/* definition id of what it called itself last; 0: nothing */
} isc_total_thread;

isc_status isc_totals_new(isc_totals **out, isc_error *err);
void isc_totals_free(isc_totals *t);

/* One event, times in ticks; extra as in isc_event. */
isc_status isc_totals_feed(isc_totals *t, uint32_t process, uint32_t thread, uint8_t stream,
			   const isc_record *first, const void *extra, uint32_t extra_len, isc_error *err);

/* By rank, NULL past the end; borrowed until the next feed. */
const isc_total_scope *isc_totals_scope_at(isc_totals *t, size_t i);
const isc_total_mark *isc_totals_mark_at(isc_totals *t, size_t i);
const isc_total_counter *isc_totals_counter_at(isc_totals *t, size_t i);
const isc_total_thread *isc_totals_thread_at(isc_totals *t, size_t i);

uint64_t isc_totals_events(const isc_totals *t);	/* fed in all */
uint64_t isc_totals_folded(const isc_totals *t);	/* names, threads, buckets and scopes past the bound */

#endif
