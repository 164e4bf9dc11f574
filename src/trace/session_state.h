/*
 * session_state.h - what is true of a session now: its processes, threads, accounts,
 * clock pairs and facts.  Small, kept whole in memory by the writer and by the
 * reader, and written again at every checkpoint.  Internal to trace/.
 */
#ifndef ISC_TRACE_SESSION_STATE_H
#define ISC_TRACE_SESSION_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/hashmap.h"
#include "base/status.h"
#include "trace/model.h"
#include "trace/over_time.h"

typedef struct isc_session_state {
	isc_trace_process *processes; /* argv is owned */
	isc_trace_thread *threads;
	isc_trace_account *accounts;
	isc_clock_pair *pairs;
	bool *process_dirty, *thread_dirty, *account_dirty; /* not in the file as they are now */
	size_t process_count, process_room, thread_count, thread_room, account_count, account_room;
	size_t pair_count, pair_room, pairs_clean;
	size_t dirty_processes, dirty_threads, dirty_accounts;
	isc_hashmap by_process, by_thread, by_account, by_gen, by_serial;
	isc_over_time over_time;
	isc_buffer meta; /* one JSON object, or empty */
	bool meta_dirty;
	uint64_t weight, weight_max;	   /* bytes in a checkpoint at most, before packing */
	size_t pairs_max;		   /* thinned out beyond; 0: never */
	uint64_t pairs_given, pair_stride; /* every so manieth stays, and always the last */
} isc_session_state;

void isc_session_state_fini(isc_session_state *s);

/* Replace what was there under the same index.  ISC_ERR_LIMIT: no room for a
 * new one; ISC_ERR_NOMEM. */
isc_status isc_session_state_put_process(isc_session_state *s, const isc_trace_process *p);
isc_status isc_session_state_put_thread(isc_session_state *s, const isc_trace_thread *t);
isc_status isc_session_state_put_account(isc_session_state *s, const isc_trace_account *a);
isc_status isc_session_state_put_pair(isc_session_state *s, isc_clock_pair pair);
isc_status isc_session_state_put_meta(isc_session_state *s, const char *json, size_t len);

/* Takes over what a chunk says.  ISC_ERR_CORRUPT, _LIMIT or _NOMEM; what came
 * before the fault is kept. */
isc_status isc_session_state_load(isc_session_state *s, int chunk_type, const uint8_t *raw, size_t len);

/* Everything is in the file now. */
void isc_session_state_clean(isc_session_state *s);
bool isc_session_state_is_dirty(const isc_session_state *s);

/* Sorts everything by index and time, for readers. */
isc_status isc_session_state_sort(isc_session_state *s);

const isc_trace_process *isc_session_state_process(const isc_session_state *s, uint32_t process);
const isc_trace_thread *isc_session_state_thread(const isc_session_state *s, uint32_t thread);
const isc_trace_process *isc_session_state_process_of_gen(const isc_session_state *s, uint64_t gen);
const isc_trace_thread *isc_session_state_thread_of_serial(const isc_session_state *s, uint32_t process,
							   uint64_t serial);

/* Walks what is dirty, or everything, as payloads of at most about 16 KiB:
 * start with a zeroed cursor; false at the end.  out->failed: no memory. */
typedef struct isc_session_state_cursor {
	int step;
	size_t at;
} isc_session_state_cursor;
bool isc_session_state_next_chunk(const isc_session_state *s, isc_session_state_cursor *c, bool all, int *chunk_type,
				  uint32_t *records, isc_buffer *out);

#endif
