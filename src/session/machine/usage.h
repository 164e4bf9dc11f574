/*
 * usage.h - how much memory the program has, over time, and whether there is enough of it.
 *
 * The recorder looks at the files of the kernel from outside, ten times a second; the program
 * does nothing for it.  Memory and faults are of the process that was started, limit and
 * pressure of its control group: other programs in it count too.
 */
#ifndef ISC_SESSION_MACHINE_USAGE_H
#define ISC_SESSION_MACHINE_USAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"

#define ISC_USAGE_POINTS 256u /* when there are so many, every second goes */
#define ISC_USAGE_EVERY_NS 100000000ull

typedef struct isc_usage_point {
	uint64_t ns;
	uint64_t rss_bytes;
	uint64_t minor_faults, major_faults; /* since the process began */
	uint64_t swap_bytes;
} isc_usage_point;

/* What the group says: since the first look, where it is a count. */
typedef struct isc_usage_group {
	bool known;
	uint64_t limit_bytes; /* the lowest of the group and those around it; 0: none */
	uint64_t most_bytes;  /* in use at a look, at most */
	bool stalls_known;
	uint64_t some_us, full_us; /* tasks, all tasks of the group waited for memory */
	uint64_t refused;	   /* times that the limit was met */
	uint64_t killed;	   /* processes, for want of memory */
} isc_usage_group;

typedef struct isc_usage {
	char proc[256]; /* folder of the process */
	isc_usage_point point[ISC_USAGE_POINTS];
	uint32_t count;
	uint64_t begin_ns, looked_ns, every_ns;
	bool pretended;	     /* the folder is none of a process */
	uint64_t fault_ns;   /* what a page fault takes; 0: not known */
	uint64_t peak_bytes; /* as the kernel kept it, up to the last look */
	isc_usage_group group;
	int current, pressure, events, failures; /* files of the group; -1: none */
	uint64_t first_some_us, first_full_us, first_refused, first_killed;
} isc_usage;

/* proc: the folder of the process under /proc; begin_ns: of the session.  What cannot be read stays unknown. */
void isc_usage_open(isc_usage *u, const char *proc, uint64_t begin_ns);

/* As often as one likes; it does something when it is time to. */
void isc_usage_look(isc_usage *u, uint64_t now_ns);

void isc_usage_close(isc_usage *u);

/* The members of a JSON object, for the facts of the session: "usage": {...}. */
void isc_usage_facts(const isc_usage *u, isc_buffer *out);

#endif
