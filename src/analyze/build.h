/*
 * build.h - what the parts of one analysis share while it is being made.
 * Each part fills its piece of the model; analysis.c calls them in order.
 */
#ifndef ISC_ANALYZE_BUILD_H
#define ISC_ANALYZE_BUILD_H

#include "analyze/analysis.h"
#include "analyze/coverage.h"
#include "analyze/code/function_table.h"
#include "analyze/time/unseen.h"
#include "base/arena.h"
#include "base/hashmap.h"
#include "base/histogram.h"
#include "timeline/states.h"

/* A run shorter than this says nothing about what the recorder costs beside it. */
#define ISC_BUILD_SHORT_US 100e3

typedef struct isc_facts { /* the session's own words, from the trace's meta */
	bool present;
	bool broken; /* there, but not JSON, or not an object */
	bool perf_known, perf_ok;
	isc_text perf, perf_remedy;
	bool counters_known, counters_ok, counters_stand_in;
	isc_text counters, counters_remedy;
	double wall_us; /* negative: not said; so are all below */
	double recorder_cpu_us, recorder_cpu_pct, measured_pct, switch_cost_pct;
	double own_cpu_us;     /* CPU time that recording took in the program */
	double program_cpu_us; /* CPU time of the program, with that */
	uint64_t roster_lost, attach_failed, switches_lost;
	bool session_on_disk;
	bool faults;		       /* page faults that had to read were watched with the switches */
	bool waits;		       /* the program was asked to tell of its waits */
	isc_text throttle;	       /* why that is not known */
	isc_text kernel_calls_unknown; /* why the kernel did not count system calls; empty: it did, or was not asked */
	bool kernel_calls_pretended;   /* it counted something else, for tests */
	double collected_from_us, collected_to_us; /* by --delay and --duration */
	double throttled_us;			   /* its group had used up its share; negative: not known */
	uint64_t switches;			   /* stored */
	isc_text follow;
	isc_text version;
	bool native_off; /* native frames were not asked for: native code cannot be told from Python */
} isc_facts;

/* A pattern that many names of the program have. */
typedef struct isc_label {
	isc_text text;
	uint64_t count; /* of names, about */
	bool code;	/* of functions */
} isc_label;

typedef struct isc_build {
	isc_trace *trace;
	const isc_analysis_options *options; /* may be NULL */
	const isc_trace_stats *stats;
	const isc_trace_end *end; /* NULL: not there */
	isc_analysis *a;
	isc_arena *arena;
	isc_facts facts;

	bool cut;	    /* a scope or a time was asked for: what is counted comes from the events of that part */
	bool part;	    /* the judged part of an analysis: what is shown of the whole alone is not made */
	bool judged_absent; /* nothing tells the totals of the time that was judged */
	bool limited;	    /* --delay or --duration limited what was recorded, and that is the window */
	isc_text only;	    /* the scope's name; at NULL: none */
	bool only_found;
	uint64_t start_ns;	 /* of the session, CLOCK_MONOTONIC */
	uint64_t end_ns;	 /* last thing known of */
	uint64_t from_ns, to_ns; /* the window */
	uint64_t retained_ns;	 /* from here on all events are in the trace; 0: all are */

	isc_totals *totals; /* of the window, or of everything */
	double us_per_tick; /* of totals; 0: not known */
	double tick_us;	    /* of events, likewise */

	isc_unseen unseen; /* when calls were not recorded */
	isc_coverage_map coverage;
	isc_label *labels; /* by text */
	size_t label_count, label_room;
	uint64_t undefined; /* processes that had no room to define all their functions */
	isc_function_table table;
	isc_hashmap entry_of; /* process index -> rank in a->processes + 1 */
	size_t root;	      /* rank of the program that was started, or SIZE_MAX */
	size_t warning_room;
	uint64_t bare_switches;		   /* of threads that nothing else told of */
	uint64_t gap_ns;		   /* switches not watched */
	uint64_t folded[ISC_FOLDED_KINDS]; /* what the totals had no room for, by kind */
	uint64_t missed; /* open scopes and calls, threads and buckets that they had none for, one by one */
	uint64_t unmatched_calls;
	uint64_t subinterpreters;
	bool too_short;		   /* the recorder's own start and end outweigh the run */
	bool calls_seen;	   /* in the whole run */
	uint64_t accounted;	   /* events that the accounts call stored */
	uint64_t stored;	   /* events in the totals of the whole run */
	uint64_t *cpu_since_ns;	   /* of each CPU: a thread runs on it since; 0: none.  NULL: nobody asks */
	bool fills;		   /* samples tell of page faults, and what one takes is known */
	isc_hashmap gpu_held;	   /* calls that held their thread by what they asked for: see gpu_waits.c */
	bool gpu_calls;		   /* calls of GPUs' libraries are told of, so waits for them are known */
	struct isc_gpu_words *gpu; /* NULL: nothing was told of GPUs; so of the next three */
	struct isc_recorded *recorded;
	struct isc_gpu_wait_list *gpu_waits;
	struct gpu_reading *gpu_reading;  /* while events are read */
	isc_waits waits;		  /* what is known of waits: one table for all parts */
	struct isc_intervals *intervals;  /* NULL: nobody asks across threads; so of the next one */
	struct isc_holders *holders;	  /* nobody waited for a thread that is known */
	struct isc_phases *phases;	  /* NULL: nothing was read yet */
	struct isc_limiter *limiter;	  /* NULL: nothing was read yet; so of the next ones */
	struct isc_focus_search *search;  /* NULL: nothing was read yet; so of the next ones */
	struct isc_memory_gather *memory; /* or no memory was recorded */
	struct isc_observed *observed;
	struct isc_sample_gathering *sampled;
} isc_build;

/* Every part: ISC_OK or ISC_ERR_NOMEM, but for what is said. */
isc_status isc_build_facts(isc_build *b, isc_error *err);
isc_status isc_build_window(isc_build *b, isc_error *err); /* ISC_ERR_INVALID too */
isc_status isc_build_totals(isc_build *b, isc_error *err); /* ISC_ERR_INVALID: no such scope */
isc_status isc_build_labels(isc_build *b, isc_error *err); /* before all that name scopes */
void isc_build_warn_labels(isc_build *b);
isc_status isc_build_processes(isc_build *b, isc_error *err);
void isc_build_settle(isc_build *b); /* calls and waits that are open end */
isc_status isc_build_threads(isc_build *b, isc_error *err);
void isc_build_breakdown(isc_build *b);
isc_status isc_build_scopes(isc_build *b, isc_error *err);
isc_status isc_build_functions(isc_build *b, isc_error *err);
isc_status isc_build_stacks_of_samples(isc_build *b, isc_error *err);	 /* after the functions */
bool isc_samples_join(isc_build *b, isc_states *states, isc_walk *walk); /* false: no memory */
isc_status isc_build_samples(isc_build *b, isc_error *err);		 /* when events were read */
void isc_samples_drop(isc_build *b);					 /* nothing is fine */
void isc_build_sort_functions(isc_build *b);
isc_status isc_build_marks(isc_build *b, isc_error *err);
isc_status isc_build_contention(isc_build *b, isc_error *err);
isc_status isc_build_syscalls(isc_build *b, isc_error *err);
void isc_numa_join(isc_build *b, struct isc_walk *walk);		      /* after the threads */
void isc_build_numa(isc_build *b);					      /* when events were read */
isc_status isc_gpu_join(isc_build *b, struct isc_walk *walk, isc_error *err); /* after the threads */
isc_status isc_build_gpu(isc_build *b, isc_error *err);			      /* when events were read */
void isc_gpu_drop(isc_build *b);					      /* nothing is fine */
isc_status isc_build_memory(isc_build *b, isc_error *err);		      /* likewise */
isc_status isc_build_over_time(isc_build *b, isc_error *err);
void isc_build_accounts(isc_build *b);
isc_status isc_build_verdict(isc_build *b, isc_error *err);	   /* after all others but the warnings */
isc_status isc_build_judged_columns(isc_build *b, isc_error *err); /* after the verdict */
isc_status isc_build_units(isc_build *b, isc_error *err);	   /* likewise */
isc_status isc_build_warnings(isc_build *b, isc_error *err);

/* The bars of a histogram whose numbers are so many microseconds each; false: no memory. */
bool isc_build_bins(isc_arena *arena, const isc_histogram *h, double us, isc_analysis_scope *out);

/* The rank of a process image in a->processes, or SIZE_MAX. */
size_t isc_build_process_rank(const isc_build *b, uint32_t process);

/* Sums that are known of the whole run alone say nothing of what is looked at. */
static inline bool isc_build_is_part(const isc_build *b)
{
	return b->cut || b->limited;
}

/* The text of a scope, mark or counter; of one of many like it their pattern. */
const char *isc_build_label(const isc_build *b, uint32_t process, uint32_t id, uint32_t *len);

/* The text of a name in the totals, or what those that had no room are called together. */
const char *isc_build_name(const isc_build *b, enum isc_folded kind, uint32_t process, uint32_t name, uint32_t *len);

/* When a thread ended, as far as that is known. */
uint64_t isc_build_thread_end_ns(const isc_build *b, uint32_t thread);

/* A moment of CLOCK_MONOTONIC as microseconds of the session; 0 before it. */
double isc_build_us(const isc_build *b, uint64_t ns);

/* How much of the time between two moments lies inside the window. */
double isc_build_inside_us(const isc_build *b, uint64_t from_ns, uint64_t to_ns);

/* Tells how far it is, now and then. */
void isc_build_progress(const isc_build *b, uint64_t done, uint64_t total);

/* numa.c: memory and nodes, from the facts; false: no memory. */
struct yyjson_val;
bool isc_build_usage(isc_build *b, struct yyjson_val *facts);

/* numa.c: a switch tells on which CPU the program ran. */
void isc_build_on_cpu(isc_build *b, const isc_trace_switch *sw);

/* One more warning; the text is the arena's, or NULL when that had no room. */
void isc_build_say(isc_build *b, int grave, const char *id, const char *remedy, const char *text);
void isc_build_warn(isc_build *b, int grave, const char *id, const char *remedy, const char *format, ...)
	__attribute__((format(printf, 5, 6)));
void isc_sample_warnings(isc_build *b); /* sample_warnings.c */

isc_status isc_build_no_memory(isc_error *err);

#endif
