/*
 * analysis.h - what a trace says, as numbers: the model behind every report.
 *
 * Filled once by isc_analysis_new() from a trace; all memory lives in one arena
 * and goes with isc_analysis_free().  Strings are raw: reports escape for their
 * medium.  What was not seen is marked unknown, with a warning that says why.
 * Times are microseconds; moments count from the start of the session.
 */
#ifndef ISC_ANALYZE_ANALYSIS_H
#define ISC_ANALYZE_ANALYSIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "timeline/timeline.h"
#include "trace/reader.h"

struct isc_import;

/* Raw bytes that may hold anything, NULs included. */
typedef struct isc_text {
	const char *at;
	size_t len;
} isc_text;

typedef struct isc_analysis_process {
	uint32_t pid;
	uint32_t ppid;	/* 0: not known */
	isc_text *argv; /* of its last image */
	size_t argc;
	bool argv_cut;
	double start_us;
	double wall_us;
	bool wall_known; /* false: the end was not seen; wall_us is up to the end of the trace */
	bool traced;
	bool failed; /* not traced because its pool could not be opened */
	bool python;
	bool exit_known;
	int exit_code;	 /* -1 when a signal ended it */
	int signal;	 /* 0: none */
	uint32_t images; /* 1, and one more for every exec */
	uint64_t events; /* of all its threads */
} isc_analysis_process;

typedef struct isc_analysis_thread {
	uint32_t tid;
	uint32_t pid;
	isc_text name;
	bool main;
	double start_us;
	double wall_us;	     /* = on_cpu + run_queue + waiting + unwatched, where those are known */
	double on_cpu_us;    /* negative: not known */
	double run_queue_us; /* wanted to run and did not; negative: not known */
	double waiting_us;   /* negative: not known */
	double unwatched_us; /* no switch told what it did; negative: not known */
	bool estimated;	     /* these four: from the scheduler's counts, read now and then */
	uint64_t switches;
	uint64_t events;
} isc_analysis_thread;

typedef struct isc_analysis_bin {
	double from_us, to_us; /* durations from, and below */
	uint64_t count;
} isc_analysis_bin;

/* One name over all processes and threads.  Times are negative when the trace
 * has no clock to tell them. */
typedef struct isc_analysis_scope {
	isc_text name;
	uint64_t count;	    /* entered and left */
	uint64_t open;	    /* never left */
	uint64_t unmatched; /* left, but the entering was lost */
	double total_us, mean_us, p50_us, p90_us, p99_us, max_us;
	isc_analysis_bin *bins; /* by duration, empty ones left out */
	size_t bin_count;
} isc_analysis_scope;

typedef struct isc_analysis_mark {
	isc_text name;
	uint64_t count;
} isc_analysis_mark;

typedef struct isc_analysis_counter {
	isc_text name;
	uint64_t count;
	double min, max, mean, last; /* last: of the process seen last */
} isc_analysis_counter;

/* One function of one process, over all its threads.  Times are negative when the
 * trace has no clock to tell them. */
typedef struct isc_analysis_function {
	isc_text name;
	isc_text file;			  /* empty: a C function, or not known */
	uint32_t line;			  /* its first one; 0: not known */
	uint32_t pid;			  /* 0: not known */
	uint64_t calls;			  /* entered or gone on with */
	uint64_t resumes;		  /* of these: gone on with */
	double self_us;			  /* without the calls it made */
	double total_us;		  /* with them; of recursion only the outermost */
	bool estimated;			  /* some of it was not seen: a call, or what it called */
	bool governed;			  /* it was not watched all the time, to stay inside the budget */
	uint64_t recorded;		  /* calls that were seen */
	uint64_t least_calls, most_calls; /* what calls lies between; most 0: not known */
} isc_analysis_function;

typedef struct isc_analysis_warning {
	const char *id; /* "lost_events": the same in every version */
	char *text;	/* one sentence */
	char *remedy;	/* what to do about it, or NULL */
	bool grave;	/* numbers of this report may be wrong or missing because of it */
} isc_analysis_warning;

typedef struct isc_analysis {
	isc_text *argv; /* of the root */
	size_t argc;
	bool exit_known;
	int exit_code; /* -1 when a signal ended it */
	int signal;
	double wall_us;
	isc_text host;
	isc_text python;      /* version of the interpreter; empty: none or unknown */
	isc_text python_path; /* its program, likewise */
	isc_text *label_keys, *label_values;
	size_t labels;

	double from_us, to_us; /* what the figures below are about */
	const char *why;       /* "the whole run", ... */
	const char *withheld;  /* why no verdict is given */

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
	isc_analysis_function *functions; /* most own time first */
	size_t function_count;
	size_t governed_count; /* of these were not watched all the time */

	double budget_pct; /* negative: off or not known */
	bool budget_known;
	double measured_pct;	 /* negative: not known */
	double recorder_cpu_pct; /* negative: not known */
	double switches_pct;	 /* what watching switches cost; negative: not known */
	uint64_t events;	 /* stored, retired ones included; produced = events + lost */
	uint64_t lost, retired, skipped;
	bool lost_known;	  /* false: the trace breaks off, and lost is what it had told by then */
	const char *clock_source; /* "tsc" or "monotonic" */
	bool switches_seen;

	bool complete; /* the recorder finished the trace */
	bool live;     /* it is still being written */
	bool damaged;  /* a part of it could not be read, or its last chunk is cut */

	isc_analysis_warning *warnings;
	size_t warning_count;

	/* GPUs, and traces of other tools. */
	const isc_timeline_facts *timeline; /* NULL: no GPU was recorded */
	const struct isc_import *import;    /* what was imported; NULL: a trace of ours */
	const char *clock_sync;		    /* "causality", "assumed"; NULL: there is no GPU */
	double clock_error_us;		    /* of times of GPUs against the CPU's; negative: not known */
	uint64_t causality_fixes;

	struct isc_arena *arena;
	struct isc_import *imported; /* import and timeline, to be freed */
	struct isc_timeline *timeline_own;
} isc_analysis;

/* A file that has another name in reports: a cell of a notebook. */
typedef struct isc_analysis_file {
	isc_text file, name;
} isc_analysis_file;

typedef struct isc_analysis_options {
	const char *scope;     /* only this scope and what happened inside it; NULL: all */
	double from_us, to_us; /* of the session; to_us 0: the end */
	bool alone;	       /* calls that began before from_us do not count: nobody was to see them end */
	bool live;	       /* a recorder is still writing it: that it has no end is no damage */
	const isc_analysis_file *files;
	size_t file_count;
	void (*progress)(void *self, uint64_t done, uint64_t total); /* may be NULL */
	void *progress_self;
} isc_analysis_options;

/*
 * options may be NULL.  With a scope or a time everything is counted from the
 * events that are still in the trace; without, from its running totals, which
 * know those too that were dropped to stay under the size limit.
 *
 * ISC_ERR_INVALID: there is no such scope, or nothing in that time.
 */
isc_status isc_analysis_new(isc_trace *trace, const isc_analysis_options *options, isc_analysis **out, isc_error *err);
void isc_analysis_free(isc_analysis *a); /* NULL is fine */

#endif
