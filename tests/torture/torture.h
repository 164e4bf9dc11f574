/*
 * torture.h - produced = stored + lost, to the event, whatever happens.
 *
 * Three kinds of processes: the harness, which says what is tried; producers,
 * which write numbered events and say in shared memory how many; the recorder,
 * which drains with the real isc_drain into a sink that checks every byte.
 */
#ifndef ISC_TESTS_TORTURE_H
#define ISC_TESTS_TORTURE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define ORACLES 60000u
#define ORIGINS 3u /* who wrote: plain code, and two handlers that nest */

/* One per thread of a process image; survives exec. */
typedef struct oracle {
	uint64_t gen, serial;		 /* gen 0: the thread got no slot */
	_Atomic uint64_t begun[ORIGINS]; /* events that were going to be written */
	_Atomic uint64_t done[ORIGINS];	 /* events whose write has returned */
	uint64_t slack;			 /* either may be wrong by so much */
} oracle;

/* What a case asks for. */
typedef struct task {
	unsigned threads, blocks, max_blocks, slots, rounds, seed;
	uint64_t per_thread;
	bool multi;  /* events of several slots among them */
	bool noise;  /* signals, two handlers that nest */
	bool jump;   /* handlers that leave by siglongjmp */
	bool forks;  /* handlers that fork */
	bool define; /* records name definitions */
	/* recorder */
	unsigned period_us;
	bool absent; /* it comes when all is over */
	bool grow;
	char folder[256];
} task;

typedef struct stage {
	_Atomic uint32_t oracles, stop_recorder, stop_noise;
	_Atomic uint64_t defined, resolved;
	task task;
	oracle oracle[ORACLES];
} stage;

extern stage *the_stage;
extern int failures;

#define FAIL(...) \
	do { \
		if (++failures <= 10) { \
			printf("# "); \
			printf(__VA_ARGS__); \
			printf("\n"); \
			fflush(stdout); \
		} \
	} while (0)

static inline uint64_t random_next(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s;
}

/* What slot k of event `number` carries as its id, when it names nothing. */
static inline uint32_t payload(uint64_t number, uint32_t k)
{
	return (uint32_t)(number * 2654435761u + k);
}

/* What a recorder leaves behind. */
typedef struct log_entry { /* events stored */
	uint64_t gen, serial, stream, first, events, last[ORIGINS];
} log_entry;

typedef struct end_entry { /* a stream accounted for; stream 3: events without a slot */
	uint64_t gen, serial, stream, produced, stored, lost;
} end_entry;

/* producer.c: these run in a process of their own. */
void produce_with_threads(void);
void produce_with_churn(void);
void produce_with_tree(void);
void produce_after_exec(int depth);

/* recorder.c: exit status; RECORD_LEFT when a process has not ended in time. */
#define RECORD_LEFT 3
#define RECORD_PATIENCE_S 60
int record(bool takeover);

#endif
