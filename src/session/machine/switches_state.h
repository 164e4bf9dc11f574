/*
 * switches_state.h - what switches.c and switches_open.c share.
 *
 * Two events per CPU: one for forks, names and exits, which is always on, and
 * one for switches, which is paused when it would cost too much.  The second
 * event adds 0.04 us to a switch (1.76 to 1.81 us of CPU time, minima of five
 * runs), and children stay visible while switches are paused.
 */
#ifndef ISC_SESSION_MACHINE_SWITCHES_STATE_H
#define ISC_SESSION_MACHINE_SWITCHES_STATE_H

#include <stdbool.h>

#include "session/machine/perf_ring.h"
#include "session/machine/switches.h"

struct perf_event_mmap_page;

enum isc_perf_use { ISC_PERF_TASKS, ISC_PERF_SWITCHES };

typedef struct isc_switches_ring {
	int fd;	 /* has the mapping */
	int use; /* enum isc_perf_use */
	struct perf_event_mmap_page *page;
	size_t size;		/* of the data */
	bool over;		/* everything it watched has ended */
	uint64_t in_ns;		/* when the thread that its CPU runs went in; 0: none that is known */
	isc_perf_record *queue; /* sorted by time */
	size_t from, to, room;
} isc_switches_ring;

struct isc_switches {
	isc_switches_ring *ring;
	size_t rings, rings_room;
	int *extra; /* further descriptors that write into the rings */
	uint8_t *extra_use;
	size_t extras, extras_room;
	bool reads_lost; /* the kernel knows PERF_FORMAT_LOST */
	size_t switch_pages, task_pages;

	double budget_share; /* of one CPU; negative: no limit */
	double tokens_ns;    /* cost that may still be caused */
	uint64_t tokens_at_ns;
	uint64_t begin_ns;
	bool paused;
	uint64_t paused_ns; /* pauses that are over */
	uint64_t counted;   /* switch records seen, in and out */
	uint64_t gap[2];    /* of the last pause: records inside are dropped */
	uint64_t ran_ns;    /* of threads, between going in and out */
	struct {
		uint64_t at_ns, ran_ns, counted;
	} weighed;    /* when share was last computed */
	double share; /* of the time that threads ran, what watching them cost lately */

	isc_trace_switch *batch;
	size_t batched;
	uint64_t stored;
	uint64_t lost_told[2]; /* by LOST records, per enum isc_perf_use */
	uint64_t lost_read[2]; /* by read(): exact, and complete before the next record fits */
	uint64_t tasks_lost;   /* as follow was told */
	isc_perf_ring_stats seen;
	uint64_t nomem; /* records dropped for want of memory */
};

/* Opens, maps and, when running, enables.  On failure nothing is left open. */
isc_status isc_switches_open_all(isc_switches *s, pid_t target, bool running, isc_error *err);

/* Turns the switch events of all CPUs on or off. */
void isc_switches_enable(isc_switches *s, bool on);

/* Reads the exact counts of lost records. */
void isc_switches_read_lost(isc_switches *s);

#endif
