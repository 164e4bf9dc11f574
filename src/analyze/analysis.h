/*
 * analysis.h - what a trace says, as numbers: the model behind every report.
 *
 * Filled once by isc_analysis_new() from a trace; all memory lives in one arena
 * and goes with isc_analysis_free().  Strings are raw: reports escape for their
 * medium.  What was not seen is marked unknown, with a warning that says why.
 */
#ifndef ISC_ANALYZE_ANALYSIS_H
#define ISC_ANALYZE_ANALYSIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "trace/reader.h"

/* Raw bytes that may hold anything, NULs included. */
typedef struct isc_text {
	const char *at;
	size_t len;
} isc_text;

typedef struct isc_analysis_process {
	uint32_t pid;
	uint32_t ppid;		/* 0: not known */
	isc_text *argv;
	size_t argc;
	bool argv_cut;
	double wall_us;
	bool wall_known;	/* false: the end was not seen; wall_us is up to the end of the trace */
	bool traced;
	bool exit_known;
	int exit_code;		/* -1 when a signal ended it */
	int signal;		/* 0: none */
} isc_analysis_process;

typedef struct isc_analysis_thread {
	uint32_t tid;
	uint32_t pid;
	isc_text name;
	double wall_us;
	double on_cpu_us;	/* negative: not known */
	double run_queue_us;	/* wanted to run and did not; negative: not known */
	double waiting_us;	/* negative: not known */
	uint64_t switches;
	uint64_t events;
} isc_analysis_thread;

typedef struct isc_analysis_scope {
	isc_text name;
	uint64_t count;
	uint64_t open;		/* never left */
	uint64_t unmatched;
	double mean_us, p50_us, p90_us, p99_us, max_us;
} isc_analysis_scope;

typedef struct isc_analysis_mark {
	isc_text name;
	uint64_t count;
} isc_analysis_mark;

typedef struct isc_analysis_counter {
	isc_text name;
	uint64_t count;
	double min, max, mean, last;
} isc_analysis_counter;

typedef struct isc_analysis_warning {
	char *text;		/* one sentence */
	char *remedy;		/* what to do about it, or NULL */
} isc_analysis_warning;

typedef struct isc_analysis {
	isc_text *argv;		/* of the root */
	size_t argc;
	bool exit_known;
	int exit_code;		/* -1 when a signal ended it */
	int signal;
	double wall_us;
	isc_text host;
	isc_text python;	/* version of the interpreter; empty: none or unknown */
	isc_text *label_keys, *label_values;
	size_t labels;

	isc_analysis_process *processes;
	size_t process_count;
	isc_analysis_thread *threads;
	size_t thread_count;
	isc_analysis_scope *scopes;
	size_t scope_count;
	isc_analysis_mark *marks;
	size_t mark_count;
	isc_analysis_counter *counters;
	size_t counter_count;

	double budget_pct;	/* negative: off */
	double measured_pct;	/* negative: not known */
	double recorder_cpu_pct;	/* negative: not known */
	uint64_t events, lost, retired, skipped;
	const char *clock_source;	/* "tsc" or "monotonic" */
	bool switches_seen;

	isc_analysis_warning *warnings;
	size_t warning_count;
	struct isc_arena *arena;
} isc_analysis;

typedef struct isc_analysis_options {
	const char *scope;	/* only this scope; NULL: all */
	double from_us, to_us;	/* of the session; to_us 0: the end */
} isc_analysis_options;

isc_status isc_analysis_new(isc_trace *trace, const isc_analysis_options *options, isc_analysis **out, isc_error *err);
void isc_analysis_free(isc_analysis *a);

#endif
