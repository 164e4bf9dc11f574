/*
 * model.h - the things a trace speaks of: processes, threads, runs of events,
 * switches, losses and the end.  Written by writer.h, given back by reader.h.
 */
#ifndef ISC_TRACE_MODEL_H
#define ISC_TRACE_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/record.h"

enum isc_process_flag {
	ISC_PROCESS_ROOT = 1u << 0,   /* the program that was started */
	ISC_PROCESS_TRACED = 1u << 1, /* the runtime is in it and its events are recorded */
	ISC_PROCESS_EXEC = 1u << 2,   /* came by exec from process `parent`, same pid */
	ISC_PROCESS_PYTHON = 1u << 3,
	ISC_PROCESS_ENDED = 1u << 4,  /* end_ns is known */
	ISC_PROCESS_STATUS = 1u << 5, /* wait_status is known */
	ISC_PROCESS_FAILED = 1u << 6  /* has the runtime, but could not open its pool: untraced */
};

/* One process image.  An exec makes a new one with the same pid. */
typedef struct isc_trace_process {
	uint32_t process; /* index, from 1 */
	uint32_t parent;  /* index, 0: not known */
	uint32_t pid;
	uint32_t ppid;
	uint32_t flags;	     /* enum isc_process_flag */
	int32_t wait_status; /* as waitpid gives it */
	uint64_t start_ns;   /* CLOCK_MONOTONIC */
	uint64_t end_ns;
	uint64_t gen;		  /* of its pool, 0: it has none */
	uint64_t defs_parent_gen; /* definitions with ids below defs_base are that image's */
	uint64_t defs_base_id;
	const char *argv; /* arguments with their NULs, secrets taken out */
	uint32_t argv_len;
	uint32_t argv_cut; /* 1: not all of it */
} isc_trace_process;

enum isc_thread_flag {
	ISC_THREAD_MAIN = 1u << 0,
	ISC_THREAD_ENDED = 1u << 1,   /* end_ns is known */
	ISC_THREAD_COUNTED = 1u << 2, /* what the scheduler counted was read now and then */
};

typedef struct isc_trace_thread {
	uint32_t thread; /* index, from 1; over all processes */
	uint32_t process;
	uint32_t tid;
	uint32_t flags;	 /* enum isc_thread_flag */
	uint64_t serial; /* in the pool, 0: wrote nothing yet */
	uint64_t start_ns;
	uint64_t end_ns;
	char name[32]; /* the kernel's, or what the program called it */
	/* Of ISC_THREAD_COUNTED, at the last reading: */
	uint64_t counted_ns; /* when that was */
	uint64_t on_cpu_ns;
	uint64_t run_queue_ns;
} isc_trace_thread;

/* A run of events of one thread and stream, in order, without a gap inside. */
typedef struct isc_trace_run {
	uint32_t process;
	uint32_t thread;
	uint8_t stream;
	uint64_t first; /* number of the first event */
	uint32_t events;
	uint32_t slots;
} isc_trace_run;

enum isc_switch_kind {
	ISC_SWITCH_IN = 1,
	ISC_SWITCH_OUT = 2,	    /* went to wait */
	ISC_SWITCH_OUT_PREEMPT = 3, /* still wanted to run */
	ISC_SWITCH_GAP_BEGIN = 4,   /* switches were not watched from here ... */
	ISC_SWITCH_GAP_END = 5,	    /* ... to here, to stay inside the budget; tid 0 */
	ISC_SWITCH_FAULT = 6	    /* memory had to be read in: what it waited for before it came back */
};

typedef struct isc_trace_switch {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint32_t pid;
	uint32_t tid;
	uint16_t cpu;
	uint8_t kind; /* enum isc_switch_kind */
} isc_trace_switch;

/* Moments whose running totals outlive the events: the boundary of a snapshot. */
enum isc_boundary {
	ISC_BOUNDARY_WINDOW_BEGIN = 1, /* --delay had passed */
	ISC_BOUNDARY_WINDOW_END = 2,   /* --duration had */
	ISC_BOUNDARY_FIRST_UNIT = 3,   /* the first unit began */
	ISC_BOUNDARY_LAST_UNIT = 4,    /* the last one ended */
	ISC_BOUNDARY_RETAINED = 5,     /* from here on all events are in the file */
	ISC_BOUNDARY_PHASE = 16	       /* this and above: phases, in their order */
};

/* What became of the events of one stream: produced = stored + lost, always. */
typedef struct isc_trace_account {
	uint32_t process;
	uint32_t thread; /* 0: events of threads that never got a slot */
	uint8_t stream;	 /* 0, 1; 2: nested deeper than two */
	uint64_t produced;
	uint64_t stored;
	uint64_t lost;
} isc_trace_account;

/* What recording saw, missed and cost in one process from a moment to another.  Of all rows together: events are those
 * stored, lost those of the accounts. */
typedef struct isc_trace_period {
	uint32_t process;	  /* index; 0: several */
	uint64_t from_ns, to_ns;  /* CLOCK_MONOTONIC */
	uint64_t samples;	  /* recorded */
	uint64_t sampled_ns;	  /* CPU time that they stand for */
	uint64_t unattributed_ns; /* of it, of samples without a known stack */
	uint64_t events;	  /* stored, samples included */
	uint64_t lost;
	uint64_t thinned; /* calls that were not recorded to stay inside the budget, as estimated */
	uint64_t cost_ns; /* that calls and samples took in the process, as far as it says */
	uint64_t units;	  /* that ended, those without a row included; 0 in traces of older versions */
} isc_trace_period;

/* What a unit of the program's work is. */
enum isc_unit_source {
	ISC_UNIT_SCOPE = 1, /* an outermost scope; its name is a string */
	ISC_UNIT_TASK = 2,  /* an asyncio task; its name is the code of its coroutine */
	ISC_UNIT_LOOP = 3 /* one iteration of a function's loop; its name is the code that the iteration calls first */
};

/* One unit.  Its row outlives the events. */
typedef struct isc_trace_unit {
	uint32_t process;
	uint32_t thread;	   /* that it began on */
	uint32_t source;	   /* enum isc_unit_source */
	uint32_t name;		   /* a definition of the process; 0: not known */
	uint32_t parent;	   /* of a loop: the code that loops; else 0 */
	uint64_t begin_ns, end_ns; /* CLOCK_MONOTONIC */
} isc_trace_unit;

/* What else of a process outlives the events: its phases follow from it.  Sources of rows like those of units. */
enum isc_milestone {
	ISC_MILESTONE_IMPORT = 16, /* the body of a module that another imports; its name is that code */
	ISC_MILESTONE_MODULE = 17, /* a module that no Python code imports: the program, and what is loaded before it */
	ISC_MILESTONE_SHUTDOWN = 18, /* the interpreter waits for threads before it ends */
	ISC_MILESTONE_LEAVING = 19   /* it is about to take its modules apart; begin and end are one moment */
};

/* Why some calls of a process are not in the trace. */
enum isc_gap_kind {
	ISC_GAP_THINNED = 1, /* calls of some functions were left out to stay inside the budget */
	ISC_GAP_GATED = 2,   /* all were but those that units begin with, likewise */
	ISC_GAP_PAUSED = 3,  /* all were */
	ISC_GAP_LOST = 4     /* events of a thread were lost, or its stack had no room for hooks */
};

/* A time in which not every call of a process was recorded.  It outlives the events too. */
typedef struct isc_trace_gap {
	uint32_t process;
	uint32_t kind;		 /* enum isc_gap_kind */
	uint64_t from_ns, to_ns; /* CLOCK_MONOTONIC; UINT64_MAX: up to the end */
} isc_trace_gap;

typedef struct isc_trace_end {
	uint64_t end_ns;
	int32_t wait_status; /* of the root process */
	uint32_t known;	     /* 1: wait_status is true */
} isc_trace_end;

typedef struct isc_event {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint64_t number;  /* within thread and stream */
	uint32_t process;
	uint32_t thread;
	uint32_t id;
	uint16_t arg;
	uint8_t kind; /* enum isc_kind */
	uint8_t stream;
	uint32_t extra_len; /* bytes behind the first slot */
	const void *extra;  /* borrowed until the next event */
} isc_event;

#endif
