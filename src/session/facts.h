/*
 * facts.h - what a session says of itself in the trace, as JSON objects.
 *
 * docs/trace-format.md lists the keys.  The environment is never among them,
 * and arguments are there without the values of secrets.
 */
#ifndef ISC_SESSION_FACTS_H
#define ISC_SESSION_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/status.h"
#include "session/machine/kernel_calls.h"
#include "session/settings/settings.h"
#include "session/machine/switches.h"
#include "session/machine/throttle.h"
#include "trace/writer.h"

/* At the start: what runs, where, with which settings. */
void isc_facts_first(isc_buffer *out, const isc_settings *settings, char *const *argv);

/* Context switches are seen (NULL), or why not. */
void isc_facts_perf(isc_buffer *out, const isc_error *why_not);

/* Collection lasts from a moment to another, in microseconds of the session; to_us negative: it goes on. */
void isc_facts_window(isc_buffer *out, double from_us, double to_us);

/* Instructions are counted (NULL), or why not.  stand_in: other events than those, for tests. */
void isc_facts_counters(isc_buffer *out, const isc_error *why_not, bool stand_in);

/* What else could not be used; what each error says comes into the report. */
void isc_facts_missing(isc_buffer *out, const isc_error *why_not, size_t count);

typedef struct isc_facts_end {
	uint64_t wall_ns;  /* of the program */
	uint64_t produced; /* events, stored or lost */
	uint64_t roster_lost;
	uint64_t attach_failed;
	uint32_t clock_source;
	uint64_t start_cost_ns; /* CPU time of our own start, in all processes */
	/* CPU time of the recorder's own thread beside the program; its others take what nobody else wants. */
	uint64_t collecting_ns;
	double at_once; /* processes that were at work, 1 at least: what they lose, they lose side by side */
	bool on_disk;
	bool faults_known; /* of the program and its children */
	uint64_t minor_faults, major_faults;
	uint64_t user_us, system_us;	       /* CPU time in the program and in the kernel, of the same */
	const isc_throttle *throttle;	       /* NULL: not known, and */
	const isc_error *throttle_unknown;     /* why */
	const isc_kernel_calls *kernel_calls;  /* NULL: not asked for */
	const isc_error *kernel_calls_unknown; /* why not, if they are not counted */
	isc_switches_stats switches;
	isc_writer_stats writer;
} isc_facts_end;

/* At the end: what recording cost and what it missed. */
/* What recording took so far beside what calls and samples say. */
double isc_facts_apart_ns(const isc_facts_end *end);

void isc_facts_last(isc_buffer *out, const isc_facts_end *end);

#endif
