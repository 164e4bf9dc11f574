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
#include "base/text.h"
#include "timeline/thread_state.h"
#include "timeline/timeline.h"
#include "trace/reader.h"

struct isc_import;
struct isc_lanes;
struct isc_rules;

/* How it was seen. */
enum isc_source {
	ISC_SOURCE_NONE, /* not at all */
	ISC_SOURCE_AGENT,
	ISC_SOURCE_SWITCHES,
	ISC_SOURCE_SAMPLED,
	ISC_SOURCE_ESTIMATED
};

/* Why time on a CPU has no stack. */
enum isc_unattributed {
	ISC_UNATTRIBUTED_UNKNOWN,    /* the trace does not say */
	ISC_UNATTRIBUTED_TABLE,	     /* the table of stacks was full */
	ISC_UNATTRIBUTED_UNREADABLE, /* the stack lay in memory that could not be read, or had no native frames */
	ISC_UNATTRIBUTED_PYTHON,     /* Python's frames cannot be read in this process */
	ISC_UNATTRIBUTED_ENDED,	     /* the thread ended before its sample was taken */
	ISC_UNATTRIBUTED_DROPPED,    /* the trace had no room for the stack */
	ISC_UNATTRIBUTED_UNSAMPLED,  /* no sample was taken of it */
	ISC_UNATTRIBUTED_REASONS
};

const char *isc_unattributed_name(enum isc_unattributed why);	/* "stack_table_full" */
const char *isc_unattributed_words(enum isc_unattributed why);	/* half a sentence: "the table of stacks was full" */
const char *isc_unattributed_remedy(enum isc_unattributed why); /* what to do about it */
const char *isc_source_name(enum isc_source source);		/* NULL: ISC_SOURCE_NONE */

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

/* What of it lies in the time that was judged. */
typedef struct isc_analysis_judged {
	bool known;
	double us; /* of functions and lines their own time, of stacks and threads CPU time */
	uint64_t samples;
	uint64_t calls; /* of functions */
} isc_analysis_judged;

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
	/* Adds up to wall_us; negative: not known, and part of ISC_STATE_OTHER. */
	double state_us[ISC_STATES];
	uint8_t source[ISC_STATES]; /* enum isc_source */
	uint8_t unattributed;	    /* enum isc_unattributed: most of that state, if there is any */
	double scope_us;	    /* in scopes; inner ones may count twice */
	uint64_t launches;	    /* calls that asked a GPU for work */
	uint64_t switches;
	uint64_t events;
	uint64_t samples;
	double sampled_us;	  /* CPU time that they stand for */
	double sampled_python_us; /* of it, in the interpreter or code that it runs */
	double sampled_native_us; /* in native code; the rest is not known */
	isc_analysis_judged judged;
} isc_analysis_thread;

/* Where the time of one thread went: the one that the program is judged by. */
typedef struct isc_analysis_breakdown {
	bool known;
	uint32_t tid, pid;
	isc_text name;
	double pct[ISC_STATES];	    /* negative: not known */
	uint8_t source[ISC_STATES]; /* enum isc_source */
	uint8_t unattributed;	    /* enum isc_unattributed: most of that state, if there is any */
} isc_analysis_breakdown;

typedef struct isc_analysis_bin {
	double from_us, to_us; /* durations from, and below */
	uint64_t count;
} isc_analysis_bin;

/* Where a thread stood: a function, and where in it. */
typedef struct isc_analysis_frame {
	bool python, native; /* neither: not known */
	isc_text name;
	isc_text file;	 /* empty: not known */
	isc_text module; /* of native code; empty: not known */
	uint32_t line;	 /* 0: not known */
} isc_analysis_frame;

/* Scopes of a name that are alike.  Times are of one of them, on average. */
typedef struct isc_analysis_scope_group {
	uint64_t count; /* whose events are in the trace; 0: nothing is known */
	double mean_us;
	double unseen_us;	     /* of it, without waits: calls were not recorded */
	double state_us[ISC_STATES]; /* add up to mean_us; negative: not known */
	uint8_t source[ISC_STATES];  /* enum isc_source */
	uint8_t unattributed;	     /* enum isc_unattributed: most of that state, if there is any */
} isc_analysis_scope_group;

/* What slow scopes spend more time on than median ones. */
typedef struct isc_analysis_cause {
	enum isc_state state;
	bool event_loop;	   /* instead: a task did not run while others had its event loop */
	bool not_seen;		   /* instead: calls were not recorded, and too few samples say who ran */
	isc_analysis_frame where;  /* name empty: not known */
	isc_analysis_frame holder; /* likewise: where the thread was that had what was waited for */
	uint32_t holder_tid;	   /* 0: not known, or several */
	double extra_us;
} isc_analysis_cause;

const char *isc_cause_name(const isc_analysis_cause *cause);

/* What a scope would be without something, at best. */
typedef struct isc_analysis_what_if {
	isc_analysis_cause cause; /* extra_us is not used */
	double saves_at_most_us;  /* of one scope, on average */
	double total_us;	  /* of all that are in the trace */
} isc_analysis_what_if;

/* Scopes that were entered directly inside others. */
typedef struct isc_analysis_nested {
	isc_text name;
	uint64_t count;
	double total_us;
	double us_median, us_slow; /* in one of those groups, on average; negative: there are none */
} isc_analysis_nested;

typedef struct isc_analysis_slowest {
	double start_us, dur_us;
	uint32_t tid, pid; /* 0: not known */
} isc_analysis_slowest;

/* One name over all processes and threads.  Times are negative when the trace
 * has no clock to tell them. */
typedef struct isc_analysis_scope {
	isc_text name;
	uint64_t count;	    /* entered and left */
	uint64_t open;	    /* never left */
	uint64_t unmatched; /* left, but the entering was lost */
	double total_us, mean_us, p50_us, p90_us, p99_us, max_us;
	double p40_us, p60_us;	/* the scopes between them are the median ones */
	double slow_from_us;	/* and those that take so long are slow; negative: none stand out */
	isc_analysis_bin *bins; /* by duration, empty ones left out */
	size_t bin_count;
	isc_analysis_scope_group all, median, slow;
	isc_analysis_cause *causes; /* why the slow ones are slow, most time first */
	size_t cause_count;
	isc_analysis_what_if *what_if; /* most first */
	size_t what_if_count;
	double path_us[ISC_STATES];  /* of one, on average: what its path has of each state; what ran is python */
	double path_loop_us;	     /* and while others had its event loop */
	isc_analysis_nested *nested; /* most time first */
	size_t nested_count;
	isc_analysis_slowest *slowest; /* longest first, ten at most */
	size_t slowest_count;
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
	isc_text module;		  /* of native code: the program or library; empty: none, or not known */
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
	bool traced;			  /* calls of it were; if not, calls are not known */
	bool native;			  /* native code, as samples saw it */
	/* From samples; zero where there are none. */
	uint64_t samples;    /* in which it was the newest, or the newest of Python above native code */
	double cpu_self_us;  /* CPU time that they stand for */
	double cpu_total_us; /* with the functions it called; of recursion only the outermost */
	double native_us;    /* of cpu_self_us: in native code that Python code called */
	double cpu_error_us; /* cpu_self_us is off by more once in twenty times */
	bool by_samples;     /* self_us and total_us are CPU time by samples */
	isc_analysis_judged judged;
} isc_analysis_function;

typedef struct isc_analysis_line {
	isc_analysis_frame at;
	uint32_t pid; /* 0: not known */
	uint64_t samples;
	double self_us;	  /* CPU time on it, native code that it called included */
	double native_us; /* of it, in that native code */
	isc_analysis_judged judged;
} isc_analysis_line;

typedef struct isc_analysis_stack {
	isc_analysis_frame *frames; /* root first; none: all the other stacks together */
	size_t frame_count;
	uint32_t pid; /* 0: not known */
	uint64_t samples;
	double us;		   /* CPU time */
	double us_median, us_slow; /* in a scope of the middle, and in a slow one, on average; negative: not known */
	bool counted;		   /* the next two are known, of all its samples or nearly all */
	double instructions, cycles;
	double memory_bytes; /* by which the most memory of the process grew in it */
	isc_analysis_judged judged;
} isc_analysis_stack;

/* A place in the tree of who called whom, functions that only lead to one other folded
 * into it.  In the order of a reader: callers first, most time first. */
typedef struct isc_analysis_path {
	isc_analysis_frame *frames; /* caller first; none: a process */
	size_t frame_count;
	unsigned depth;
	uint32_t pid;
	uint64_t samples;
	double us; /* CPU time in it and what it called */
} isc_analysis_path;

/* All stacks as one tree, callers before what they called: what a flame graph is drawn from. */
typedef struct isc_analysis_node {
	uint32_t parent; /* its place in the list; of the first, which is above all: 0 */
	uint32_t frame;	 /* place in frames + 1; 0: a process, or stacks too small to be told apart */
	uint32_t pid;	 /* of a process; else 0 */
	uint64_t samples;
	double us;		   /* CPU time in it alone */
	double median_us, slow_us; /* of it, in a scope of the middle, and in a slow one, on average */
} isc_analysis_node;

typedef struct isc_analysis_samples {
	uint64_t count;
	uint64_t steps;	    /* that were due and are accounted for */
	double us;	    /* CPU time that they stand for */
	double covered_pct; /* of the CPU time of the processes that have samples; negative: not known */
	double unknown_us;  /* whose stack is not known, and of that by reason: */
	double unattributed_us[ISC_UNATTRIBUTED_REASONS];
	double cut_us;	/* of which only the root side is known */
	size_t stacks;	/* different ones */
	size_t lines;	/* different ones */
	isc_text scope; /* whose median and slow ones are told apart; empty: none */
	uint64_t median_scopes, slow_scopes;
	uint64_t counted; /* that have counts of the processor */
	uint64_t ended;	  /* processes that were sampled no more before their end */
	uint64_t refused; /* processes with threads that cannot be sampled */
	double rate_hz;	  /* that was asked for; negative: not known */
	double least_hz;  /* to which the budget lowered it at times; negative: never */
	uint64_t other_line_samples;
	double other_lines_us; /* of lines that are not listed */
} isc_analysis_samples;

/* Waits of one place for a lock, or for Python's own, while one other had it. */
typedef struct isc_analysis_wait {
	int state;		    /* enum isc_state: ISC_STATE_LOCK_WAIT or ISC_STATE_GIL_WAIT */
	isc_analysis_frame where;   /* name empty: not known */
	isc_analysis_frame held_by; /* the same */
	uint64_t count;
	double us;
	isc_analysis_judged judged; /* calls: how many waits */
} isc_analysis_wait;

/* Calls from one place: slow ones as far as they were told by themselves, and of the others what samples say. */
typedef struct isc_analysis_syscall_site {
	isc_analysis_frame where; /* name empty: not known */
	uint32_t place;		  /* its number, for who puts them together */
	uint64_t count;
	double total_us, max_us;
	uint64_t bytes, errors;
	isc_text about; /* file or address of the longest; empty: not known */
	uint64_t samples;
	double fast_count, fast_us; /* estimates: those that were not told by themselves */
} isc_analysis_syscall_site;

typedef struct isc_analysis_syscall_fail {
	uint32_t error; /* errno */
	uint64_t count;
} isc_analysis_syscall_fail;

/* A system call, over all processes. */
typedef struct isc_analysis_syscall {
	const char *name;
	uint32_t call; /* enum isc_syscall */
	uint64_t count;
	double total_us;
	double max_us; /* of those that were told by themselves; negative: none was */
	uint64_t bytes, errors;
	uint64_t slow;			  /* took longer than ISC_SYSCALL_SLOW_US */
	uint64_t slow_told;		  /* of these: told by themselves */
	uint64_t samples;		  /* of the others: looked at, each for many */
	isc_analysis_syscall_fail *fails; /* most first */
	size_t fail_count;
	isc_analysis_syscall_site *sites; /* most time first, twenty at most */
	size_t site_count;
} isc_analysis_syscall;

/* With fewer samples no share is worth printing: 200 tell 50% from 43%. */
#define ISC_SAMPLES_ENOUGH 200u

/* Memory over time, of the process that was started, and what its control group says. */
typedef struct isc_analysis_usage {
	bool known;
	bool pretended;	       /* it is of no process, as tests asked for */
	double peak_rss_bytes; /* negative: not known, as all below */
	size_t points;
	double *at_us;
	double *rss_bytes, *minor_faults, *major_faults, *swap_bytes; /* faults: since the process began */
	bool group_known;
	double limit_bytes;	 /* negative: there is none, or not known */
	double group_bytes;	 /* in use by all of the group, at most */
	double some_us, full_us; /* some, all tasks of the group waited for memory */
	double refused, killed;	 /* times that the limit was met, and processes that it cost */
	double fault_us;	 /* CPU time of a page fault that has nothing to read */
	bool fault_sampled;	 /* as samples of the run tell; else as the recorder measured it at the start */
} isc_analysis_usage;

#include "analyze/analysis_memory.h"

#include "analyze/analysis_recording.h"

/* What was judged: the time of one thread, or of the devices. */
typedef struct isc_analysis_window {
	double from_us, to_us;
	const char *why;
	double judged_us; /* of the thread, inside; 0: nothing was judged by threads */
	double each_us;	  /* of it or of one scope: what the headline and savings are parts of; 0 likewise */
	isc_text scope;	  /* it is inside of; empty: none */
	uint64_t scopes;
	double start_up_us; /* before it */
	double warm_up_us;  /* of first scopes that are left out, far slower than the others */
	uint64_t warm_ups;
} isc_analysis_window;

#include "analyze/analysis_phases.h"
#include "analyze/analysis_verdict.h"

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
	isc_text cpu;	      /* its processor; empty: not known */
	uint32_t cpus;	      /* that the program could use; 0: not known */
	isc_text python;      /* version of the interpreter; empty: none or unknown */
	isc_text python_path; /* its program, likewise */
	isc_text *label_keys, *label_values;
	size_t labels;

	double from_us, to_us; /* what the figures below are about */
	const char *why;       /* "the whole run", ... */
	isc_analysis_window window;
	isc_analysis_verdict verdict;
	isc_analysis_suggestion *suggestions; /* best first */
	size_t suggestion_count;
	const char **gpu_bottleneck; /* of each GPU of the timeline; NULL: there is none */

	isc_analysis_process *processes;
	size_t process_count;
	isc_analysis_thread *threads;
	size_t thread_count;
	isc_analysis_breakdown breakdown;
	bool waits_seen;    /* the program tells of its waits */
	uint64_t gc_unseen; /* collections of garbage that were not told of */
	isc_analysis_scope *scopes;
	size_t scope_count;
	isc_analysis_units units;
	isc_analysis_phase *phases; /* by process, then time */
	size_t phase_count;
	isc_analysis_startup startup;
	isc_analysis_mark *marks;
	size_t mark_count;
	isc_analysis_counter *counters;
	size_t counter_count;
	isc_analysis_function *functions; /* most own time first */
	size_t function_count;
	size_t governed_count; /* of these were not watched all the time */
	isc_analysis_samples samples;
	isc_analysis_line *lines; /* most time first; not all, see samples.lines */
	size_t line_count;
	isc_analysis_stack *stacks; /* most time first, the others together behind them */
	size_t stack_count;
	isc_analysis_path *paths;
	size_t path_count;
	isc_analysis_node *tree; /* none: there are no samples */
	size_t tree_count;
	isc_analysis_frame *tree_frames;
	size_t tree_frame_count;

	isc_analysis_memory memory;
	isc_analysis_wait *waits; /* for locks and the interpreter, most time first */
	size_t wait_count;
	isc_analysis_syscall *syscalls; /* most time first */
	size_t syscall_count;

	isc_analysis_usage usage;
	isc_analysis_numa numa;
	double *cpu_us; /* on each CPU; NULL: not known */

	double user_us, system_us;	   /* CPU time of the same in itself and in the kernel; negative: not known */
	double kernel_calls;		   /* system calls as the kernel counts them; negative: not known */
	double minor_faults, major_faults; /* of the program and the children it waited for; negative: not known */

	double budget_pct; /* negative: off or not known */
	bool budget_known;
	double measured_pct;	 /* of wall time; negative: not known */
	double measured_cpu_pct; /* of the CPU time of the program; negative: not known */
	bool cost_known;
	double cost_us[ISC_COST_PARTS]; /* CPU time in the program, as isc_cost_part; negative: not known */
	double startup_pct;		/* what start-up paid, of its own time; negative: not known */
	const char *startup_unknown;	/* why; NULL: it is known */
	bool calls_measured;		/* whole and unrecorded units say what recording calls costs: */
	double calls_measured_pct;	/* by how much longer the whole ones take; negative: they are shorter */
	double recorder_cpu_pct;	/* negative: not known */
	double switches_pct;		/* what watching switches cost; negative: not known */
	uint64_t events;		/* stored, retired ones included; produced = events + lost */
	uint64_t lost, retired, skipped;
	isc_analysis_period *over_time; /* by time, then process */
	size_t over_time_count;
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
	const char *clock_sync;		    /* "direct", "causality", "assumed"; NULL: there is no GPU */
	double clock_error_us;		    /* of times of GPUs against the CPU's; negative: not known */
	uint64_t causality_fixes;

	struct isc_lanes *lanes; /* NULL: nobody asked for them */

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
	bool lanes;	       /* make them too, for a timeline: takes another look at all events */
	double margin_us;      /* error of a GPU's clock when nothing bounds it; 0: 1,000 */
	const char *gpu_file;  /* Nsight Systems' file of the same run, with what GPUs did; NULL: there is none */
	const isc_analysis_file *files;
	size_t file_count;
	const struct isc_rules *rules;				     /* NULL: the built-in ones */
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
