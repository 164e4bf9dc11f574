/*
 * node_moves.h - memory that went from one node of the machine to another, as the recorder found it between two
 * looks: from the facts of a trace, which are anybody's.
 */
#ifndef ISC_TIMELINE_NODE_MOVES_H
#define ISC_TIMELINE_NODE_MOVES_H

#include "trace/reader.h"

#define ISC_NODE_MOVES_MAX 4096u

typedef struct isc_node_move {
	uint64_t since_ns, at_ns; /* CLOCK_MONOTONIC: the two looks */
	uint32_t from, to;	  /* nodes */
	uint64_t pages;		  /* of 4 KiB */
} isc_node_move;

/* Fills at most that many and says how many; what is not as it should be is left out. */
size_t isc_node_moves_read(const isc_trace *trace, isc_node_move *out, size_t most);

/* The process that they are of; NULL: it is not known. */
const isc_trace_process *isc_node_moves_process(const isc_trace *trace);

#endif
