/*
 * excerpt.h - the events of a part of a trace, one by one, in the order in which
 * they began: calls, collections of garbage and waits for locks with their end, marks,
 * samples and memory at their moment; calls and work of GPUs on the clock of the host.
 *
 * Calls that began before the part are left out.  One that was still going on
 * at its end, or whose end was lost, is there up to where it was last known of,
 * and marked.
 */
#ifndef ISC_ANALYZE_PICTURE_EXCERPT_H
#define ISC_ANALYZE_PICTURE_EXCERPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/status.h"
#include "trace/reader.h"

#define ISC_PIECE_NO_CPU UINT16_MAX

/* As a kind, which no record has: memory went from node to node, as isc_node_move says it. */
#define ISC_PIECE_MOVE UINT8_MAX

enum isc_piece_flag {
	ISC_PIECE_RESUMED = 1u << 0, /* a generator or coroutine went on */
	ISC_PIECE_THROWN = 1u << 1,  /* with an exception */
	ISC_PIECE_YIELDED = 1u << 2, /* it will go on */
	ISC_PIECE_RAISED = 1u << 3,
	ISC_PIECE_OPEN = 1u << 4 /* its end was not seen */
};

typedef struct isc_piece {
	uint64_t start_ns; /* CLOCK_MONOTONIC */
	uint64_t end_ns;
	uint64_t order; /* among those that began at the same time */
	uint32_t process, thread;
	uint32_t id;
	uint32_t task;	/* name of the asyncio task, 0: none */
	uint32_t extra; /* place of its bytes in isc_excerpt.extra */
	uint16_t cpu;	/* ISC_PIECE_NO_CPU: not known */
	uint8_t kind;	/* enum isc_kind, of the event that began it */
	uint8_t flags;	/* enum isc_piece_flag */
	uint16_t
		arg; /* of a sample: the steps that it stands for; of a wait or memory: the call; of a collection: the generation */
	uint32_t extra_len;
	uint32_t device;   /* of a GPU's: its number; ISC_PIECE_NO_DEVICE: not known */
	uint32_t error_ns; /* of work: what the clock of its device may be off */
} isc_piece;
#define ISC_PIECE_NO_DEVICE UINT32_MAX

typedef struct isc_excerpt_options {
	uint64_t from_ticks, to_ticks; /* of the session's clock, both inside */
	uint32_t pid;		       /* 0: all processes */
	uint32_t tid;		       /* 0: all threads */
	size_t most;		       /* keep so many, the newest; 0: all */
	bool cpu, gpu;		       /* what of; neither: of the CPU alone */
} isc_excerpt_options;

typedef struct isc_excerpt {
	isc_piece *span;
	size_t count, room;
	isc_buffer extra;
	uint64_t dropped;   /* more than were to be kept */
	uint64_t lost;	    /* events that the recorder did not get */
	uint64_t unmatched; /* ends of calls that began outside */
	uint64_t skipped;   /* times that the budget took calls of something out */
	uint32_t threads;
} isc_excerpt;

/* ISC_ERR_NOMEM; whatever the outcome, to be released. */
isc_status isc_excerpt_read(isc_trace *trace, const isc_excerpt_options *options, isc_excerpt *out, isc_error *err);
void isc_excerpt_fini(isc_excerpt *s);

#endif
