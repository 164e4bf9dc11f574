/*
 * timeline.h - GPUs and threads on one clock, from any source, as facts.
 *
 * A source adds what it has in any order: records of GPUs, spans of threads,
 * names.  isc_timeline_finish() then puts each thread in order, finds the call
 * that asked for each piece of work, and goes through every device once.  What
 * is kept in memory is bounded: records are sorted through temporary files when
 * they are many (spool.h), names and tables have limits that are said when they
 * are reached.
 *
 * Times are nanoseconds; the origin is where the first source begins, or each
 * source its own when they do not overlap.
 */
#ifndef ISC_TIMELINE_TIMELINE_H
#define ISC_TIMELINE_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/histogram.h"
#include "base/status.h"
#include "timeline/gpu/clock_sync.h"
#include "timeline/gpu/record.h"
#include "timeline/strings.h"

#define ISC_TIMELINE_BINS 60u /* of idle_over_time */

typedef struct isc_timeline isc_timeline;

/* What a thread did: nested by time. */
enum isc_host_kind {
	ISC_HOST_OP,	 /* an operator, or any other piece of work */
	ISC_HOST_PYTHON, /* "path/file.py(12): name" */
	ISC_HOST_SCOPE	 /* marked by the program */
};

typedef struct isc_host_span {
	int64_t start_ns, end_ns;
	uint32_t thread; /* isc_timeline_thread() */
	uint32_t name;
	uint32_t stack; /* a Python frame that it was called from, as a name; 0: not known */
	uint8_t kind;	/* enum isc_host_kind */
} isc_host_span;

/* Something was marked, or a counter had a value. */
typedef struct isc_host_moment {
	int64_t at_ns;
	double value;	 /* of a counter */
	uint32_t thread; /* isc_timeline_thread() */
	uint32_t name;
	bool counter;
	bool apart; /* it tells of the recording: the program need not have begun, or may have ended */
} isc_host_moment;

/* What is told of one by one, in order, while facts are made: times are of the origin, and in the window. */
typedef struct isc_timeline_seen {
	int64_t start_ns, end_ns;
	int64_t call_ns;   /* of work: its call began then; INT64_MIN: not known */
	uint32_t thread;   /* that did it, or asked for it; ISC_GPU_UNKNOWN: not known */
	uint32_t name;	   /* isc_timeline_text() */
	unsigned depth;	   /* of a span: inside so many others */
	uint64_t pid, tid; /* of the thread; of work: its tid alone, 0: not known */
	isc_text thread_name;
	uint32_t device, number; /* of work: the device, and its own number */
	isc_text device_name;
	uint64_t stream, bytes;
	uint8_t memory; /* of a copy: enum isc_gpu_memory */
	uint8_t kind;	/* of a span or a moment: enum isc_host_kind, or ISC_HOST_CALL to ISC_HOST_COUNTER; of work:
			   enum isc_gpu_kind */
	uint8_t class;	/* of a kernel: enum isc_gpu_class */
	double value;	/* of a counter */
} isc_timeline_seen;

typedef struct isc_timeline_watch {
	void (*span)(void *self, const isc_timeline_seen *s);	/* thread by thread, by their start */
	void (*moment)(void *self, const isc_timeline_seen *m); /* behind all spans, thread by thread; may be NULL */
	void (*work)(void *self, const isc_timeline_seen *w);	/* device by device, by its start */
	void *self;
} isc_timeline_watch;

typedef struct isc_timeline_options {
	size_t memory_bytes;		 /* for records, while they are sorted; 0: 96 MiB */
	int64_t margin_ns;		 /* error of the GPU's clock when nothing bounds it; 0: 1 ms */
	const isc_timeline_watch *watch; /* may be NULL */
} isc_timeline_options;

isc_status isc_timeline_new(const isc_timeline_options *options, isc_timeline **out, isc_error *err);
void isc_timeline_free(isc_timeline *t); /* NULL is fine; facts go with it */

/* ---- adding: ids are given out as things are met; ISC_GPU_UNKNOWN, or 0 of
 * names: there is no memory, or too many were met, and isc_timeline_add() fails
 * with the reason. ---- */

uint32_t isc_timeline_name(isc_timeline *t, const char *at, size_t len);
isc_text isc_timeline_text(const isc_timeline *t, uint32_t name);

/* A file, or a rank. */
uint32_t isc_timeline_source(isc_timeline *t, const char *label);
/* A process, of which correlations are unique. */
uint32_t isc_timeline_domain(isc_timeline *t, uint32_t source, uint64_t process);
uint32_t isc_timeline_device(isc_timeline *t, uint32_t source, uint32_t number);
uint32_t isc_timeline_thread(isc_timeline *t, uint32_t source, uint64_t pid, uint64_t tid);

void isc_timeline_device_named(isc_timeline *t, uint32_t source, uint32_t number, uint32_t name);
void isc_timeline_process_named(isc_timeline *t, uint32_t source, uint64_t pid, uint32_t name);
void isc_timeline_thread_named(isc_timeline *t, uint32_t thread, uint32_t name);
void isc_timeline_source_ranked(isc_timeline *t, uint32_t source, uint32_t rank);
/* Its times count from this moment of a clock that sources share; at most a quarter of what an int64 holds. */
void isc_timeline_source_based(isc_timeline *t, uint32_t source, int64_t base_ns);

/* It began and ended then, whatever else is known of it. */
void isc_timeline_source_covers(isc_timeline *t, uint32_t source, int64_t first_ns, int64_t last_ns);
/* The times of the device were turned into the host's, and are off by this much at most; if one is before
 * its call all the same, it is moved behind it and counted. */
void isc_timeline_device_synced(isc_timeline *t, uint32_t device, enum isc_clock_method method, int64_t error_ns);

isc_status isc_timeline_add(isc_timeline *t, const isc_gpu_record *r, isc_error *err);
isc_status isc_timeline_span(isc_timeline *t, const isc_host_span *s, isc_error *err);
isc_status isc_timeline_moment(isc_timeline *t, const isc_host_moment *m, isc_error *err);

#define ISC_STACK_DEPTH_MOST 512u /* functions below it are left out and counted; the recorder's stacks are no deeper */

/* Samples of one stack, the outermost function first; they stand for so much time.  No moment is known of them,
 * so a part of the time has none.  Of too many stacks the lightest become "(other stacks)" of their callers. */
isc_status isc_timeline_stack(isc_timeline *t, const isc_text *names, size_t count, uint64_t samples, int64_t ns,
			      isc_error *err);

/* ---- facts ---- */

enum isc_idle_cause {
	ISC_IDLE_HOST_WAIT,   /* nothing was asked of the device yet */
	ISC_IDLE_KERNEL_WAIT, /* work was asked for and did not begin */
	ISC_IDLE_SYNC,	      /* the thread that asked next was waiting for the device */
	ISC_IDLE_COPY,	      /* it was in a copy, or the next work is one */
	ISC_IDLE_UNKNOWN,     /* which call asked for the next work is not known */
	ISC_IDLE_CAUSES
};

const char *isc_idle_cause_name(enum isc_idle_cause cause);

typedef struct isc_facts_idle {
	int64_t ns;
	uint64_t gaps;
	isc_text where; /* that most of it is about; empty: not known */
	int64_t where_ns;
	bool during; /* of host_wait: the host was in it, and not just before it */
} isc_facts_idle;

/* One stream of a device: idle time between its own pieces of work, each gap as a whole. */
typedef struct isc_facts_stream {
	uint64_t stream;
	uint64_t count;
	int64_t idle_ns, host_wait_ns, kernel_wait_ns, other_ns;
} isc_facts_stream;

typedef struct isc_facts_gpu {
	uint32_t source;
	uint32_t number; /* as the source counts devices */
	isc_text name;
	bool seen;		   /* work in the window; if not, the rest is empty */
	int64_t first_ns, last_ns; /* of the origin */
	/* Unions of intervals. */
	int64_t busy_ns, kernel_ns, compute_ns, comm_ns, copy_ns, set_ns;
	uint64_t kernels, copies, sets, syncs;
	uint64_t h2d_bytes, d2h_bytes;
	unsigned most_at_once;
	isc_facts_idle idle[ISC_IDLE_CAUSES];
	double idle_over_time[ISC_TIMELINE_BINS];	     /* share, 0 to 1 */
	double idle_why[ISC_IDLE_CAUSES][ISC_TIMELINE_BINS]; /* and of that, for each cause */
	/* Idle time that would not be without a wait of the host: it began to wait so long before the device had
	 * nothing left that what it did afterwards, up to the next call, would have been done by then. */
	int64_t drained_ns;
	isc_text drained_where; /* by which wait, most of it; empty: not known */
	/* Sums over kernels. */
	int64_t class_ns[ISC_CLASSES];
	uint64_t class_count[ISC_CLASSES];
	/* From the end of the call to the start of the work; empty: no call is known. */
	uint64_t delays;
	int64_t delay_mean_ns, delay_p50_ns, delay_p90_ns, delay_p99_ns, delay_max_ns;
	uint64_t unlinked;  /* work whose call is not known */
	uint64_t unstamped; /* records without a time */
	uint64_t early;	    /* work that begins before its call, by the clocks of the source */
	int64_t shift_ns;   /* added to the times of the device to mend that */
	int64_t error_ns;   /* what the times of the device may be off the host's */
	bool bounded;	    /* error_ns is found from the trace, and not assumed */
	bool direct;	    /* it is found from readings of the device's clock */
	uint64_t fixed;	    /* work that was moved behind its call */
	isc_facts_stream *streams;
	size_t stream_count;
} isc_facts_gpu;

typedef struct isc_facts_kernel {
	size_t gpu; /* place in gpus */
	isc_text name;
	uint8_t class;
	uint64_t count;
	int64_t total_ns, max_ns, min_ns;
	isc_text launched_from; /* most often; empty: not known */
	isc_text scope;		/* that most of its time was asked for in; empty: in none, or not known */
} isc_facts_kernel;

typedef struct isc_facts_copy {
	size_t gpu;
	uint8_t kind;
	uint64_t count;
	int64_t total_ns;
	uint64_t bytes;
	uint64_t pageable, pinned; /* copies whose memory is known */
} isc_facts_copy;

typedef struct isc_facts_scope {
	isc_text name;
	uint64_t count, cut; /* cut: reaching over the edge of the window */
	int64_t total_ns, max_ns;
	isc_histogram ns; /* empty when there were too many names */
} isc_facts_scope;

typedef struct isc_facts_function {
	isc_text name;
	size_t process;
	uint8_t kind; /* enum isc_host_kind, or ISC_HOST_CALL */
	uint64_t calls;
	int64_t self_ns, total_ns;
} isc_facts_function;

#define ISC_HOST_CALL 3 /* a call of the GPU's library */
#define ISC_HOST_MARK 4
#define ISC_HOST_COUNTER 5

typedef struct isc_facts_process {
	uint32_t source;
	uint64_t pid;
	isc_text name;
	int64_t first_ns, last_ns;
	uint64_t events;
} isc_facts_process;

typedef struct isc_facts_thread {
	uint32_t process; /* place in processes */
	uint64_t tid;
	isc_text name;
	int64_t first_ns, last_ns;
	uint64_t events;
	uint64_t asked; /* pieces of work that it asked devices for */
	/* From the first to the last work of the source's devices: in anything that the trace tells of, and of
	 * that in calls that wait for a device or copy. */
	int64_t busy_ns, waited_ns;
} isc_facts_thread;

typedef struct isc_facts_mark {
	isc_text name;
	uint64_t count;
	double min, max, sum, last; /* of counters */
	int64_t last_ns;
} isc_facts_mark;

/* All stacks as one tree: the first is above all, and each comes behind its parent. */
typedef struct isc_facts_stack {
	uint32_t parent;
	uint32_t depth;
	uint32_t id; /* isc_timeline_stack_text() */
	uint64_t samples;
	int64_t ns; /* of these alone */
} isc_facts_stack;

typedef struct isc_facts_source {
	isc_text label;
	uint32_t rank; /* ISC_GPU_UNKNOWN: not said */
	int64_t origin_ns, first_ns, last_ns;
	uint64_t records, spans;
} isc_facts_source;

typedef struct isc_timeline_facts {
	isc_facts_source *sources;
	size_t source_count;
	bool apart; /* sources do not overlap: each begins at 0 */
	int64_t from_ns, to_ns;
	isc_facts_gpu *gpus;
	size_t gpu_count;
	isc_facts_kernel *kernels; /* most time first */
	size_t kernel_count;
	isc_facts_copy *copies;
	size_t copy_count;
	isc_facts_scope *scopes; /* most time first */
	size_t scope_count;
	isc_facts_function *functions; /* most time of their own first */
	size_t function_count;
	isc_facts_process *processes;
	size_t process_count;
	isc_facts_thread *threads;
	size_t thread_count;
	isc_facts_mark *marks;
	size_t mark_count;
	isc_facts_mark *counters;
	size_t counter_count;
	const isc_facts_stack *stacks; /* NULL: there are none */
	size_t stack_count;
	uint64_t records, spans;
	uint64_t backward;			/* spans that end before they begin */
	uint64_t too_deep;			/* spans below the deepest that is followed */
	uint64_t overlapping;			/* spans that end after the one they began in */
	uint64_t folded;			/* names and rows past the limits of tables */
	uint64_t calls;				/* of the GPU's library */
	uint64_t stacks_folded, samples_folded; /* places of stacks past the limit, and their samples */
} isc_timeline_facts;

typedef struct isc_timeline_window {
	int64_t from_ns, to_ns; /* of the origin; to_ns 0: the end */
	const char *scope;	/* from the first entry to the last exit of it; NULL: all */
} isc_timeline_window;

/*
 * Facts are borrowed until isc_timeline_free(); once only.
 * ISC_ERR_INVALID: there is no such scope, or nothing in that time.
 */
isc_status isc_timeline_finish(isc_timeline *t, const isc_timeline_window *window, const isc_timeline_facts **out,
			       isc_error *err);

/* The function of a place in the tree of stacks; borrowed as facts are. */
isc_text isc_timeline_stack_text(const isc_timeline *t, uint32_t id);

#endif
