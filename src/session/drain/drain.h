/*
 * drain.h - the recorder's side of the transport: read pools and definitions,
 * give them to the trace, account for every number.
 *
 * One isc_drain holds all pools of a session.  docs/transport.md has the
 * protocol; runtime/layout.h the bytes.
 */
#ifndef ISC_SESSION_DRAIN_DRAIN_H
#define ISC_SESSION_DRAIN_DRAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Where drained things go.  The recorder's sink writes to the trace and asks
 * isc_follow; tests have their own.  A false return stops nothing: the drain
 * goes on and counts. */
typedef struct isc_drain_sink {
	void *self;
	/* A new pool: the index of its process, 0 to leave it alone. */
	uint32_t (*pool)(void *self, const void *pool_header);
	/* A thread that wrote: its index. */
	uint32_t (*thread)(void *self, uint32_t process, uint32_t tid, uint64_t serial, uint64_t birth_ticks);
	void (*define)(void *self, uint32_t process, uint32_t id, uint16_t type, const void *data, uint32_t len);
	/* Called after every definition that these slots can name was given. */
	void (*events)(void *self, uint32_t process, uint32_t thread, uint8_t stream, uint64_t first, uint32_t events,
		       const void *slots, uint32_t n);
	/* produced = stored + lost; last word on a stream (stream 2: nested too deep;
	 * thread 0: threads without a slot) or, with final false, its state so far. */
	void (*account)(void *self, uint32_t process, uint32_t thread, uint8_t stream, uint64_t produced,
			uint64_t stored, uint64_t lost, bool final);
	/* Is the image behind this process gone? */
	bool (*gone)(void *self, uint32_t process);
	/* For a replacement of a dead recorder: the next number of a stream, else 0. */
	uint64_t (*resume)(void *self, uint32_t process, uint32_t thread, uint8_t stream);
	/* And how many events below that number were stored; NULL: all of them. */
	uint64_t (*resume_stored)(void *self, uint32_t process, uint32_t thread, uint8_t stream);
} isc_drain_sink;

typedef struct isc_drain isc_drain;

typedef struct isc_drain_options {
	const char *folder;	/* the session's; NULL: dir is that folder */
	int dir;		/* the caller's, open */
	uint8_t session_id[16]; /* files that are not sealed for this session are left alone */
	uint64_t limit_bytes;	/* for all pools together; they grow no further (0: not at all) */
	bool takeover;		/* an earlier recorder died: clear its pins, resume its numbers */
	bool keep_files;	/* do not remove drained pools of the dead (salvage tests) */
} isc_drain_options;

isc_status isc_drain_new(const isc_drain_options *options, const isc_drain_sink *sink, isc_drain **out, isc_error *err);
void isc_drain_free(isc_drain *d);

typedef struct isc_drain_cycle {
	uint64_t events; /* stored this time */
	double fill;	 /* share of the fullest pool that was read, 0..1 */
	unsigned pools;	 /* open now */
} isc_drain_cycle;

/* One pass over all pools: finds new ones, learns deaths, reads, grows, frees. */
isc_status isc_drain_run(isc_drain *d, isc_drain_cycle *cycle, isc_error *err);

/* Tells the program behind each pool with which code its units of work begin; ids as its events have them. */
#define ISC_DRAIN_UNIT_CODES 8u
typedef size_t isc_drain_units(void *self, uint32_t process, uint32_t codes[ISC_DRAIN_UNIT_CODES]);
void isc_drain_tell_units(isc_drain *d, isc_drain_units *units, void *self);

/* What a report should mention; all are 0 in a healthy session. */
typedef struct isc_drain_stats {
	uint64_t pools;		/* opened so far; not a trouble */
	uint64_t refused_pools; /* files that are no pool of ours, or no memory for them */
	uint64_t damaged;	/* blocks and definitions that made no sense; their events count as lost */
	uint64_t grow_failed;	/* times that there was no room to grow */
	uint64_t defs_lost;	/* definitions for which there was no room: their names are "?" */
	uint64_t bytes;		/* shared memory in use; not a trouble */
} isc_drain_stats;
void isc_drain_stats_get(const isc_drain *d, isc_drain_stats *out);

/* How long to sleep after that cycle, in microseconds. */
unsigned isc_drain_sleep_us(const isc_drain *d, const isc_drain_cycle *cycle);

/* The last pass: whatever is committed is read, live threads are accounted for
 * as they stand (more may come, into memory that nobody reads). */
isc_status isc_drain_finish(isc_drain *d, isc_error *err);

#endif
