/*
 * totals.h - running totals that outlive the events they were counted from.
 *
 * The writer feeds every event that it stores; a snapshot in the file covers
 * all chunks up to a sequence number, and a reader feeds the rest.  So totals
 * are exact whether or not old events were written over.  Times are in ticks;
 * whoever prints converts.  How calls are counted is said in totals_calls.c.
 *
 * Memory is bounded, because a snapshot has to fit into the file.  Each kind of row
 * has a part of it.  When a part is full, the rows that were used least lately
 * are folded into one that has a name of its own: functions into the rest of
 * their file, stacks into their callers', other names into the rest of their
 * kind.  Sums stay exact; isc_totals_folded says how many different ones were.
 * Further threads are counted under thread 0, durations in the nearest bucket that
 * exists, and scopes and calls that are open past the bound are never matched;
 * isc_totals_missed says how often that happened.
 */
#ifndef ISC_TRACE_TOTALS_TOTALS_H
#define ISC_TRACE_TOTALS_TOTALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/histogram.h"
#include "base/status.h"
#include "trace/model.h"

typedef struct isc_totals isc_totals; /* opaque */

/* In place of a name or code: the rest of them.  With code: of those in the file of that code. */
#define ISC_TOTAL_REST (1u << 31)

/* A scope name, per process: definition ids of one text are one entry only after
 * the caller has merged them by text. */
typedef struct isc_total_scope {
	uint32_t process;
	uint32_t name;	    /* definition id */
	uint64_t count;	    /* left as often as entered */
	uint64_t open;	    /* entered and not left */
	uint64_t unmatched; /* left without an enter: its enter was lost */
	/* A leave belongs to the latest open enter of the same name and argument
	 * on its thread and stream; one of a span says itself how long it took. */
	uint64_t total_ticks;
	uint64_t min_ticks;
	uint64_t max_ticks;
	isc_histogram histogram; /* of durations in ticks */
	uint64_t early;		 /* spans left on another thread whose enter was not fed yet */
	uint64_t before;
} isc_total_scope;

typedef struct isc_total_mark {
	uint32_t process;
	uint32_t name;
	uint64_t count;
	uint64_t before;
} isc_total_mark;

typedef struct isc_total_counter {
	uint32_t process;
	uint32_t name;
	uint64_t count;
	double min, max, sum, last;
	uint64_t before;
} isc_total_counter;

typedef struct isc_total_thread {
	uint32_t process;
	uint32_t thread;
	uint64_t events;
	uint64_t first_ticks;
	uint64_t last_ticks;
	uint32_t name;	      /* definition id of what it called itself last; 0: nothing */
	uint64_t scope_ticks; /* in scopes that were left on it; spans inside others count too */
} isc_total_thread;

/* What counting costs is known about: at least, likely and at most. */
typedef struct isc_total_range {
	double least, likely, most;
} isc_total_range;

/*
 * A function, per process: a code object, or a C function by its name.  What is
 * open at the end counts only after isc_totals_settle().
 */
typedef struct isc_total_function {
	uint32_t process;
	uint32_t code;	      /* definition id, or with ISC_TOTAL_REST those of its file */
	bool module;	      /* it is the body of a module */
	bool shutdown;	      /* it waits for threads before the interpreter ends */
	bool runner;	      /* it runs a module as the program */
	bool startup;	      /* imports alone called it, and briefly; first_ticks is not kept in a file */
	uint64_t calls;	      /* entered or gone on with */
	uint64_t resumes;     /* of these: gone on with */
	uint64_t self_ticks;  /* without the calls it made */
	uint64_t total_ticks; /* with them; of recursion only the outermost */
	uint64_t unmatched;   /* left without having been entered */
	uint64_t first_ticks; /* when it was first entered */
	uint64_t before;      /* its own ticks when rows were last folded, or between that and the time before */
	bool estimated;	      /* events around it were lost, or it was not always watched */
	/* Not watched from some time on, to stay inside the budget. */
	bool governed;
	bool off;     /* it is not watched now */
	bool unseen;  /* and not in windows either */
	bool kept;    /* it was recorded while all others of its process were not */
	bool tallied; /* but each of its calls was counted, in window_calls; between pauses of the process */
	/* In windows its calls were counted; they are not in calls. */
	bool counted;		 /* the last window had some, so the next has its rate */
	uint64_t window_calls;	 /* in all of them */
	uint64_t window;	 /* number of the last that had some, in its process */
	isc_total_range rate;	 /* calls a ns in the last window; negative: none yet */
	isc_total_range between; /* calls between windows, taken to go from one rate to the next */
	double spread;		 /* sum of squares: how much the rates differ, in calls between windows */
	double rate_most;	 /* of all windows */
	uint64_t paused_before;	 /* ticks that its process was paused before its first call */
	/* The figures above when the whole process was first paused: exact up to there. */
	uint64_t exact_calls, exact_resumes, exact_self, exact_total;
} isc_total_function;

/* What concerns all calls of a process. */
typedef struct isc_total_calls {
	uint32_t process;
	uint32_t cost;		    /* of one traced call, in 1/16 ns; 0: not said */
	uint64_t tasks;		    /* changes of task */
	uint64_t missed;	    /* times that a stack was nearly used up */
	uint64_t unmatched;	    /* calls left whose beginning was lost */
	uint64_t first_pause;	    /* ticks when tracing first paused; 0: never */
	uint64_t paused_since;	    /* of the pause that goes on; 0: none */
	uint64_t paused_ticks;	    /* of all that ended */
	bool gated;		    /* the pause that goes on is one in which calls of some code are recorded */
	bool stopped;		    /* some pause was none of that kind: nothing was recorded or counted */
	uint64_t gates;		    /* such pauses; of what was fed */
	uint64_t last_ticks;	    /* when its last call ended; known when settled */
	bool governed;		    /* a function of it was not watched for a while */
	uint64_t startup_end;	    /* ticks when it had started; 0: not known */
	uint64_t startup_cost_ns;   /* what tracing took until then ... */
	uint64_t startup_worked_ns; /* ... of the time that it worked */
	uint64_t spent_ns;	    /* that calls took, as it says; of what was fed */
	/* Windows, in CPU time of the process. */
	uint64_t windows;      /* how many there were */
	uint64_t window_ticks; /* when the last was told of */
	uint64_t window_ns;    /* end of the last */
	uint64_t apart_ns;     /* before the last; 0: all was traced since the one before */
	uint64_t farthest_ns;  /* the most between two */
	uint64_t between_ns;   /* between windows, in sum; what was traced is not in it */
	uint64_t inside_ns;    /* in windows, in sum */
	uint64_t end_ns;       /* of the process; 0: not said */
} isc_total_calls;

/* Samples of one stack on one thread.  What is summed is CPU time: steps differ in length. */
typedef struct isc_total_stack {
	uint32_t process;
	uint32_t thread;
	uint32_t stack; /* definition id, or one of those in trace/sample.h; 0: of all that had no room of their own */
	uint32_t flags; /* enum isc_sample_flag, of any of them */
	uint64_t samples;
	uint64_t steps;
	uint64_t cpu_ns;
	uint64_t counted; /* samples that have the next two */
	uint64_t instructions, cycles;
	uint64_t grown;		   /* bytes of memory, at most */
	uint64_t faults, fault_ns; /* of pages that had not to be read, and CPU time in the kernel for them */
	uint64_t faulting;	   /* samples that have such time */
	uint64_t before;
} isc_total_stack;

/* Waits of one thread in one call from one stack, and its collections of garbage. */
typedef struct isc_total_wait {
	uint32_t process;
	uint32_t thread;
	uint32_t call;	/* enum isc_wait_call */
	uint32_t stack; /* definition id; 0: not known */
	uint64_t count;
	uint64_t ticks;
	uint64_t max_ticks;
	uint64_t brief_ticks;  /* of these: in waits that were told as a sum */
	uint64_t unseen;       /* collections that were not told of */
	uint32_t holder;       /* tid that the longest waited for; 0: not known */
	uint32_t holder_stack; /* 0: not known */
	uint64_t before;
} isc_total_wait;

/* What a row of system calls is about. */
enum isc_total_syscall_kind {
	ISC_SYSCALL_ALL = 0,  /* all calls; key 0 */
	ISC_SYSCALL_SITE = 1, /* slow ones that were told by themselves; key: their stack */
	ISC_SYSCALL_FAIL = 2, /* those that failed; key: errno; count alone */
	ISC_SYSCALL_LIKE =
		3 /* what one of so many others stands for; key: their stack; slow: how many were looked at */
};

/* System calls of one thread. */
typedef struct isc_total_syscall {
	uint32_t process;
	uint32_t thread;
	uint32_t kind; /* enum isc_total_syscall_kind */
	uint32_t call; /* enum isc_syscall */
	uint32_t key;
	uint64_t count;
	uint64_t ticks;
	uint64_t bytes;
	uint64_t errors;
	uint64_t slow;	    /* took longer than ISC_SYSCALL_SLOW_US, told by themselves or not */
	uint64_t max_ticks; /* of those that were told by themselves */
	uint32_t detail;    /* file or address of the longest; 0: not known */
	uint64_t before;
} isc_total_syscall;

isc_status isc_totals_new(isc_totals **out, isc_error *err);
void isc_totals_free(isc_totals *t);

/* Who says what a definition belongs to, as isc_kin_of() does; it has to outlive the totals.  Without it all
 * functions fold into one row, and stacks into the one that is not known. */
typedef uint32_t isc_totals_kin(void *self, uint32_t process, uint32_t id);
void isc_totals_relate(isc_totals *t, isc_totals_kin *kin, void *self);

/* One event, times in ticks; extra as in isc_event. */
isc_status isc_totals_feed(isc_totals *t, uint32_t process, uint32_t thread, uint8_t stream, const isc_record *first,
			   const void *extra, uint32_t extra_len, isc_error *err);

/* Events of this thread and stream were lost here: what is open may have ended. */
isc_status isc_totals_lose(isc_totals *t, uint32_t process, uint32_t thread, uint8_t stream, isc_error *err);

/* A call that began before what is fed, uncounted; and the end of all that are open. */
isc_status isc_totals_open_call(isc_totals *t, uint32_t process, uint32_t thread, uint8_t stream, uint32_t code,
				uint64_t ticks, isc_error *err);
void isc_totals_close_calls(isc_totals *t, uint32_t process, uint32_t thread, uint8_t stream, uint64_t ticks);

/* As feeding, but the event is not one of those that are counted: it happened
 * before, and what it says holds on. */
isc_status isc_totals_recall(isc_totals *t, uint32_t process, uint32_t thread, uint8_t stream, const isc_record *first,
			     const void *extra, uint32_t extra_len, isc_error *err);

/* A wait began before what is fed, and goes on. */
isc_status isc_totals_open_wait(isc_totals *t, uint32_t process, uint32_t thread, uint8_t stream, uint32_t call,
				uint32_t stack, uint64_t ticks, isc_error *err);

/*
 * Nothing more will be fed: calls and waits that are open end now.  When that is, end()
 * says for each thread and stream, which was last heard of at `last`; NULL: then.
 */
typedef uint64_t isc_totals_end(void *self, uint32_t process, uint32_t thread, uint8_t stream, uint64_t last);
void isc_totals_settle(isc_totals *t, isc_totals_end *end, void *self);

/* Leaves what was counted since an earlier moment of the same recording, both settled: sums and counts are exact, least
 * and most stay those of the whole. */
void isc_totals_less(isc_totals *t, const isc_totals *earlier);

/* By rank, NULL past the end; borrowed until the next feed. */
const isc_total_function *isc_totals_function_at(const isc_totals *t, size_t i);
const isc_total_calls *isc_totals_calls_at(const isc_totals *t, size_t i);

/* What tracing and counting calls took in the programs, as far as they say what one costs, and
 * how many events that covers. */
typedef struct isc_totals_cost {
	double ns;
	uint64_t events;
	double sample_ns;     /* what samples and waits took, as they say */
	uint64_t collections; /* of garbage that were told of */
	uint64_t syscalls;    /* that were counted */
	uint64_t allocations; /* and what took memory or gave it back; of them looked at: */
	uint64_t looked_at;
} isc_totals_cost;
isc_totals_cost isc_totals_calls_cost(const isc_totals *t);

/* CPU time of the programs that samples stand for. */
uint64_t isc_totals_cpu_ns(const isc_totals *t);

/* How many processes were at work at once in so much time, by their samples; 1 at least.  Threads of one process that
 * are, do not count: one of them may be what all the others wait for. */
double isc_totals_at_once(const isc_totals *t, uint64_t wall_ns);
const isc_total_scope *isc_totals_scope_at(const isc_totals *t, size_t i);
const isc_total_mark *isc_totals_mark_at(isc_totals *t, size_t i);
const isc_total_counter *isc_totals_counter_at(isc_totals *t, size_t i);
const isc_total_thread *isc_totals_thread_at(isc_totals *t, size_t i);
const isc_total_stack *isc_totals_stack_at(const isc_totals *t, size_t i);
const isc_total_wait *isc_totals_wait_at(const isc_totals *t, size_t i);
const isc_total_syscall *isc_totals_syscall_at(const isc_totals *t, size_t i);

uint64_t isc_totals_events(const isc_totals *t); /* fed in all */
uint64_t isc_totals_missed(const isc_totals *t); /* threads, buckets, open scopes and calls past the bound */

/* What is folded when there is no room for it. */
enum isc_folded {
	ISC_FOLDED_FUNCTIONS,
	ISC_FOLDED_STACKS,
	ISC_FOLDED_SCOPES,
	ISC_FOLDED_MARKS,
	ISC_FOLDED_COUNTERS,
	ISC_FOLDED_WAITS,
	ISC_FOLDED_SYSCALLS,
	ISC_FOLDED_THREADS,
	ISC_FOLDED_KINDS
};
uint64_t isc_totals_folded(const isc_totals *t, enum isc_folded kind); /* how many different ones, about */
const char *isc_totals_rest_text(enum isc_folded kind);		       /* what the row that they went to is called */

#endif
