/*
 * switches.h - context switches, forks, exits and names of the whole tree from
 * perf, seen by the recorder; nothing is opened in the program.
 *
 * Two dummy events per CPU are opened on the waiting child; what it starts
 * inherits them.  Where perf is refused the session goes on without, and says why.
 */
#ifndef ISC_SESSION_MACHINE_SWITCHES_H
#define ISC_SESSION_MACHINE_SWITCHES_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/status.h"
#include "session/follow/follow.h"
#include "trace/writer.h"

typedef struct isc_switches isc_switches;

/* Where switches go: the trace writer, or a test. */
typedef struct isc_switches_sink {
	void *self;
	isc_status (*switches)(void *self, const isc_trace_switch *switches, size_t n, isc_error *err);
} isc_switches_sink;

typedef struct isc_switches_options {
	double budget_pct; /* share of a CPU that watching may cost; negative: no limit */
	bool running;	   /* the target runs already: enable now, not at exec */
} isc_switches_options;

/* Can it run here?  What doctor prints. */
isc_status isc_switches_probe(isc_error *why_not);

isc_status isc_switches_open(pid_t target, const isc_switches_options *options, isc_switches **out, isc_error *err);
void isc_switches_close(isc_switches *s);

/* Descriptors to poll; returns how many were written to fds. */
size_t isc_switches_pollfds(const isc_switches *s, struct pollfd *fds, size_t room);

/* Reads all rings, sorts by time over the CPUs, gives switches to the writer
 * and task records to follow.  final: hold nothing back. */
isc_status isc_switches_drain(isc_switches *s, isc_writer *writer, isc_follow *follow, bool final, isc_error *err);

/* The same with another sink; follow may be NULL. */
isc_status isc_switches_drain_to(isc_switches *s, const isc_switches_sink *sink, isc_follow *follow, bool final,
				 isc_error *err);

/* Of the CPU time of the threads, what watching them cost in the last second; 0 to 1. */
double isc_switches_share(const isc_switches *s);

typedef struct isc_switches_stats {
	uint64_t switches;   /* stored */
	uint64_t lost;	     /* switches, by the kernel; exact where it tells */
	uint64_t tasks_lost; /* forks, names and ends */
	uint64_t paused_ns;  /* not watched, to stay inside the budget */
	double cost_pct;     /* estimated, of one CPU */
} isc_switches_stats;
void isc_switches_stats_get(const isc_switches *s, isc_switches_stats *out);

#endif
