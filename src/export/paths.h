/*
 * paths.h - who called whom, with what it cost: a tree of frames, and rows of
 * values at its places.  From samples where there are any, else from the own
 * time of traced calls.
 */
#ifndef ISC_EXPORT_PATHS_H
#define ISC_EXPORT_PATHS_H

#include "export/frames.h"

typedef struct isc_path_node {
	size_t parent; /* node + 1; 0: a root */
	size_t frame;
} isc_path_node;

typedef struct isc_path_row {
	size_t node; /* + 1; 0: the stack is not known */
	const isc_listener_thread *on;
	const char *state;
	uint64_t samples, cpu_ns, wall_ns; /* from samples and waits */
	uint64_t self_ns;		   /* from calls */
	uint64_t calls;
	double allocations, allocated; /* from memory that was taken: how many, and bytes */
	size_t next;		       /* at the same place: row + 1 */
} isc_path_row;

typedef struct isc_paths {
	isc_frames frames;
	isc_path_node *node;
	size_t node_count, node_room;
	isc_hashmap by_step; /* parent and frame -> node + 1 */
	isc_path_row *row;
	size_t row_count, row_room;
	isc_hashmap by_place; /* node -> row + 1 */
	isc_hashmap by_lane;  /* thread and stream -> open node + 1 */
	bool apart;	      /* threads and states are */
	bool sampled;	      /* there is at least one sample */
	bool memory;	      /* some memory was taken */
	bool failed;
} isc_paths;

/* A zeroed struct with frames that are empty is empty. */
void isc_paths_fini(isc_paths *p);

void isc_paths_open(isc_paths *p, const isc_slice *s);
void isc_paths_close(isc_paths *p, const isc_slice *s);
void isc_paths_sample(isc_paths *p, const isc_listener_sample *s);
void isc_paths_memory(isc_paths *p, const isc_listener_memory *m);

/* Frames of a node, newest first; how many. */
size_t isc_paths_frames(const isc_paths *p, size_t node, size_t *frames, size_t most);

#endif
