/*
 * listener.h - what a trace says, as its threads lived it: the one model of events behind the file.
 *
 * A listener hears of processes and threads first; then, thread by thread and in the order of time, of
 * slices that open and close, scopes, marks and samples; then of the end.  It hears
 * only of what it has a function for.  own.h feeds listeners from a trace of ours,
 * imported.h from the files of other tools.
 *
 * Slices of one thread nest.  Threads are not merged: in the order of the file two may be 250 ms
 * apart.  Waits, system calls and collections of garbage come when they have ended,
 * after the calls that were made inside them.
 */
#ifndef ISC_TIMELINE_LISTENER_H
#define ISC_TIMELINE_LISTENER_H

#include "timeline/gpu/recorded.h"
#include "trace/frame.h"
#include "trace/kinds.h"
#include "trace/reader.h"

enum isc_slice_kind {
	ISC_SLICE_CALL,
	ISC_SLICE_C_CALL,
	ISC_SLICE_WAIT,
	ISC_SLICE_GC,
	ISC_SLICE_SYSCALL,
	ISC_SLICE_KINDS
};

enum isc_slice_flag {
	ISC_SLICE_RESUMED = 1u << 0, /* a generator or coroutine went on */
	ISC_SLICE_THROWN = 1u << 1,
	ISC_SLICE_YIELDED = 1u << 2,
	ISC_SLICE_RAISED = 1u << 3,
	ISC_SLICE_UNFINISHED = 1u << 4, /* its end was not seen */
	ISC_SLICE_CUT = 1u << 5		/* it goes on outside the part that is read */
};

typedef struct isc_listener_thread {
	uint32_t thread, process; /* indices of the trace */
	uint32_t tid, pid;	  /* never 0 */
	isc_text name;
	bool main;
} isc_listener_thread;

typedef struct isc_slice {
	const isc_listener_thread *on;
	uint64_t start_ns, end_ns; /* of the session; end_ns once it is closed */
	uint64_t inner_ns;	   /* in slices inside it, once it is closed */
	uint32_t id;		   /* with the process and the kind: always the same name, file and line */
	uint32_t task;		   /* 0: none */
	uint32_t holder;	   /* of a wait: tid of who had the lock; 0: not known */
	uint16_t cpu;		   /* UINT16_MAX: not known */
	uint8_t kind;		   /* enum isc_slice_kind */
	uint8_t state;		   /* of a wait or a collection: enum isc_state */
	uint8_t flags;		   /* enum isc_slice_flag */
	uint8_t stream;		   /* 1: inside a signal handler */
	uint16_t depth;		   /* slices around it */
	isc_text name, file;
	uint32_t line;	/* 0: not known */
	uint32_t stack; /* of a wait or a system call; 0: not known */
	isc_text call;	/* the system call that it is; empty: none, or not known */
	uint64_t bytes; /* that it moved */
	uint32_t error; /* errno; 0: none */
} isc_slice;

enum isc_mark_kind { ISC_MARK_SCOPE, ISC_MARK_INSTANT, ISC_MARK_COUNTER };

/* A scope comes twice if the listener wants its beginning: when it is entered (end_ns is start_ns), and when it is left. */
typedef struct isc_mark {
	const isc_listener_thread *on; /* that entered it, or left it where that is not known */
	uint64_t start_ns, end_ns;     /* the same but for scopes */
	uint64_t instance, inside;     /* of a scope: which one, and the one around it; inside 0: none or not known */
	double value;		       /* of a counter */
	uint32_t id, task;
	uint16_t cpu;
	uint8_t kind;	     /* enum isc_mark_kind */
	uint8_t flags;	     /* ISC_SLICE_UNFINISHED, ISC_SLICE_CUT */
	isc_text name, json; /* json: metadata of an instant, empty: none */
} isc_mark;

typedef struct isc_listener_sample {
	const isc_listener_thread *on;
	uint64_t time_ns;
	uint64_t cpu_ns; /* that it stands for; of a wait 0 */
	uint64_t wait_ns;
	uint32_t steps;
	uint32_t stack; /* 0: not known */
	uint32_t task;
	uint16_t cpu;
	uint32_t node;	   /* memory node of the CPU; ISC_NODE_UNKNOWN: not known, or there is but one */
	const char *state; /* "running", or the wait's name */
} isc_listener_sample;

/* A call of a GPU's library, or work of a device; on the clock of the host. */
typedef struct isc_listener_gpu {
	const isc_listener_thread *on; /* that made the call, or told of the work */
	uint64_t start_ns, end_ns;     /* of the session */
	const isc_recorded_item *item;
	uint32_t id;			  /* definition of the name */
	const isc_listener_thread *asked; /* of work: the thread whose call, at asked_ns, asked for it; NULL: its
					   correlation tells */
	uint64_t asked_ns;
	bool alone; /* the other end of its arrow is not exported, or brings the arrow */
	bool call;
	bool cut;		  /* it began before what is exported, or ended after it */
	enum isc_event_type type; /* in dictionaries; ISC_EVENT_NONE: it is in none */
	isc_text name;
} isc_listener_gpu;

/* Memory of a process that went from node to node, found between two looks. */
typedef struct isc_listener_move {
	uint32_t pid;
	uint64_t start_ns, end_ns;
	uint32_t from, to;
	uint64_t pages;
} isc_listener_move;

/* Memory that was taken or given back: one of many. */
typedef struct isc_listener_memory {
	const isc_listener_thread *on;
	uint64_t time_ns;
	uint64_t address, bytes;
	double times;	/* allocations that it stands for */
	uint32_t node;	/* ISC_NODE_UNKNOWN: not known */
	uint32_t stack; /* that took it; 0: not known */
	uint32_t task;
	uint16_t cpu;
	bool alloc;
	const char *call; /* "malloc" */
} isc_listener_memory;

/* What every listener begins with. */
typedef struct isc_listener {
	isc_trace *trace;  /* NULL: it hears of the files of other tools */
	uint64_t start_ns; /* of the session, CLOCK_MONOTONIC */
	bool failed;	   /* no memory; whoever feeds it looks after each event */
} isc_listener;

/* What was heard, and of how much the other end is missing. */
typedef struct isc_listener_counts {
	uint64_t slices, marks, samples;
	uint64_t unmatched;  /* ends whose beginning is not in the trace */
	uint64_t unfinished; /* slices that end where the trace, or what is known of it, does */
} isc_listener_counts;

/* Any of them may be NULL.  Without a trace there are no tasks and no memory. */
typedef struct isc_listener_class {
	bool texts; /* names, files and lines are looked up; else ids are all it gets */
	void (*process)(isc_listener *self, const isc_trace_process *p);
	void (*thread)(isc_listener *self, const isc_listener_thread *t);
	void (*open)(isc_listener *self, const isc_slice *s);
	void (*close)(isc_listener *self, const isc_slice *s);
	void (*scope)(isc_listener *self, const isc_mark *m); /* entered */
	void (*mark)(isc_listener *self, const isc_mark *m);
	void (*sample)(isc_listener *self, const isc_listener_sample *s);
	void (*gpu)(isc_listener *self, const isc_listener_gpu *g);
	void (*memory)(isc_listener *self, const isc_listener_memory *m);
	void (*move)(isc_listener *self, const isc_listener_move *m);
	isc_status (*after)(isc_listener *self); /* each event; anything but ISC_OK ends the reading */
} isc_listener_class;

#endif
