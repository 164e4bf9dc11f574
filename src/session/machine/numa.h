/*
 * numa.h - on which nodes of the machine the memory of the program lies.
 *
 * The nodes come from the kernel's folder of them, pages from numa_maps of the process that was
 * started: at the start, then every two seconds and whenever a part of a trace is asked for, so the last
 * look is close to the end.  With one node, or none that is told of, nothing is looked at.
 */
#ifndef ISC_SESSION_MACHINE_NUMA_H
#define ISC_SESSION_MACHINE_NUMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

#define ISC_NUMA_NODES 16u	/* more are not looked at */
#define ISC_NUMA_MAPPINGS 4096u /* of which moves are followed */
#define ISC_NUMA_MOVES 256u	/* that are told one by one; later ones are in the sums alone */
#define ISC_NUMA_FOLDER "/sys/devices/system/node"

typedef struct isc_numa_node {
	uint32_t number;
	uint64_t memory_bytes;
	char cpus[256]; /* "0-3,8" */
} isc_numa_node;

typedef struct isc_numa_mapping {
	uint64_t at; /* its address */
	uint32_t pages[ISC_NUMA_NODES];
} isc_numa_mapping;

/* Found between two looks. */
typedef struct isc_numa_move {
	uint64_t since_ns, at_ns; /* CLOCK_MONOTONIC, of the two */
	uint32_t from, to;	  /* numbers of nodes */
	uint64_t pages;
} isc_numa_move;

typedef struct isc_numa {
	bool pretended; /* tests asked for another machine; set by who opens it */
	char maps[512]; /* the file of pages; empty: not looked at */
	isc_numa_node node[ISC_NUMA_NODES];
	uint32_t nodes;
	uint64_t looked_ns, took_ns;
	uint64_t looks;
	uint64_t first[ISC_NUMA_NODES], last[ISC_NUMA_NODES]; /* bytes on each node, by its place */
	uint64_t moved[ISC_NUMA_NODES][ISC_NUMA_NODES];	      /* bytes, from and to, between looks */
	isc_numa_move move[ISC_NUMA_MOVES];
	uint32_t moves;
	isc_numa_mapping *known; /* at the last look, by address */
	size_t known_count;
} isc_numa;

/* folder: of the nodes; proc: of the process. */
void isc_numa_open(isc_numa *n, const char *folder, const char *proc);

/* Of each CPU the number of its node + 1, if there are two nodes or more; else nothing. */
void isc_numa_cpus(const char *folder, uint8_t *node_of_cpu, size_t cpus);

/* When it is time, or now. */
void isc_numa_look(isc_numa *n, uint64_t now_ns, bool now);

void isc_numa_close(isc_numa *n);

/* The members of a JSON object, for the facts of the session: "numa": {...}. */
void isc_numa_facts(const isc_numa *n, isc_buffer *out);

#endif
