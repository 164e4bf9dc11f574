/*
 * over_time.h - what recording saw, missed and cost, period by period and
 * process by process.  Internal to trace/.
 *
 * Rows are written when their period is over and outlive the events.  There is
 * room for a number of them; when that is used up, every two neighbours of a
 * process become one, so old rows are long and sums stay exact.
 */
#ifndef ISC_TRACE_OVER_TIME_H
#define ISC_TRACE_OVER_TIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/status.h"
#include "trace/model.h"
#include "trace/records.h"
#include "trace/totals/totals_lane.h"

#define ISC_PERIOD_WEIGHT 64u /* bytes of a row in a checkpoint, at most in practice */

typedef struct isc_over_time {
	isc_trace_period *row; /* by time, then process */
	size_t count, room;
	size_t clean; /* rows before this are in the file as they are */
	size_t max;   /* and one more for processes without a row; 0: as many as a reader takes */
} isc_over_time;

/* As many as take an eighth of the room for what is known of a session: 4,096 at most, eleven hours of a process. */
static inline size_t isc_over_time_rows(uint64_t state_weight)
{
	uint64_t rows = state_weight / 8 / ISC_PERIOD_WEIGHT;

	return rows < 64 ? 64 : rows < 4096 ? (size_t)rows : 4096;
}

void isc_over_time_fini(isc_over_time *o);

/* Adds a row behind the others.  ISC_ERR_LIMIT, only of a reader; ISC_ERR_NOMEM. */
isc_status isc_over_time_put(isc_over_time *o, const isc_trace_period *row);

/* After loading: rows that are part of a longer one of the same process go. */
void isc_over_time_sort(isc_over_time *o);

void isc_record_put_period(isc_buffer *b, const isc_trace_period *p);
/* older: as versions wrote it that knew of no units. */
bool isc_record_get_period(isc_byte_range *b, bool older, isc_trace_period *p);

/* The sums of every process so far: rows without times. */
typedef struct isc_period_sums {
	isc_trace_period *of;
	size_t count, room;
	isc_hashmap by_process;
} isc_period_sums;
void isc_period_sums_fini(isc_period_sums *s);
bool isc_period_sums_take(isc_period_sums *s, const isc_totals *t, const isc_trace_account *accounts, size_t n);

/* What rows say already: a recorder that goes on with a file begins behind them. */
bool isc_period_sums_add(isc_period_sums *s, const isc_over_time *o);

/* What was added since: a row, or false when nothing was. */
bool isc_period_since(const isc_trace_period *now, const isc_period_sums *before, isc_trace_period *row);

#endif
