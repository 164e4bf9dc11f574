/*
 * sink.h - what a writer of one format is told, in this order: processes and
 * threads; then per thread, in the order of time, slices that open and close,
 * marks and samples; then the end.
 *
 * Slices of one thread nest.  Threads are not merged: a format that wants every
 * thread in one piece collects them in a spill.  A collection of garbage is told
 * of when it has ended, after the calls that were made inside it.
 */
#ifndef ISC_EXPORT_SINK_H
#define ISC_EXPORT_SINK_H

#include "base/buffer.h"
#include "export/export.h"
#include "timeline/gpu/recorded.h"
#include "trace/frame.h"

#define ISC_EXPORT_MARK "inferscope-export-1"
#define ISC_EXPORT_EVENTS_HEAD "[\n{\"event_type\":\"" /* of a file of events, which has no mark */

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
	ISC_SLICE_CUT = 1u << 5		/* it goes on outside of what is exported */
};

typedef struct isc_export_thread {
	uint32_t thread, process; /* indices of the trace */
	uint32_t tid, pid;	  /* never 0 */
	isc_frame_text name;
	bool main;
} isc_export_thread;

typedef struct isc_slice {
	const isc_export_thread *on;
	uint64_t start_ns, end_ns; /* of the session; end_ns once it is closed */
	uint64_t inner_ns;	   /* in slices inside it, once it is closed */
	uint32_t id;		   /* with the process and the kind: always the same name, file and line */
	uint32_t task;		   /* 0: none */
	uint32_t holder;	   /* of a wait: tid of who had the lock; 0: not known */
	uint16_t cpu;		   /* UINT16_MAX: not known */
	uint8_t kind;		   /* enum isc_slice_kind */
	uint8_t flags;		   /* enum isc_slice_flag */
	uint8_t stream;		   /* 1: inside a signal handler */
	isc_frame_text name, file;
	uint32_t line;	     /* 0: not known */
	uint32_t stack;	     /* of a wait or a system call; 0: not known */
	isc_frame_text call; /* the system call that it is; empty: none, or not known */
	uint64_t bytes;	     /* that it moved */
	uint32_t error;	     /* errno; 0: none */
} isc_slice;

enum isc_mark_kind { ISC_MARK_SCOPE, ISC_MARK_INSTANT, ISC_MARK_COUNTER };

/* A scope is told of when it is left. */
typedef struct isc_mark {
	const isc_export_thread *on; /* that entered it, or left it where that is not known */
	uint64_t start_ns, end_ns;   /* the same but for scopes */
	uint64_t instance, inside;   /* of a scope: which one, and the one around it; inside 0: none or not known */
	double value;		     /* of a counter */
	uint32_t id, task;
	uint16_t cpu;
	uint8_t kind;		   /* enum isc_mark_kind */
	uint8_t flags;		   /* ISC_SLICE_UNFINISHED, ISC_SLICE_CUT */
	isc_frame_text name, json; /* json: metadata of an instant, empty: none */
} isc_mark;

typedef struct isc_export_sample {
	const isc_export_thread *on;
	uint64_t time_ns;
	uint64_t cpu_ns; /* that it stands for; of a wait 0 */
	uint64_t wait_ns;
	uint32_t steps;
	uint32_t stack; /* 0: not known */
	uint32_t task;
	uint16_t cpu;
	uint32_t node;	   /* memory node of the CPU; ISC_NODE_UNKNOWN: not known, or there is but one */
	const char *state; /* "running", or the wait's name */
} isc_export_sample;

/* A call of a GPU's library, or work of a device; on the clock of the host. */
typedef struct isc_export_gpu {
	const isc_export_thread *on; /* that made the call, or told of the work */
	uint64_t start_ns, end_ns;   /* of the session */
	const isc_recorded_item *item;
	uint32_t id;			/* definition of the name */
	const isc_export_thread *asked; /* of work: the thread whose call, at asked_ns, asked for it; NULL: its
					   correlation tells */
	uint64_t asked_ns;
	bool alone; /* the other end of its arrow is not exported, or brings the arrow */
	bool call;
	bool cut;	  /* it began before what is exported, or ended after it */
	const char *type; /* event_type of dictionaries; NULL: none */
	isc_frame_text name;
} isc_export_gpu;

/* Memory of a process that went from node to node, found between two looks. */
typedef struct isc_export_move {
	uint32_t pid;
	uint64_t start_ns, end_ns;
	uint32_t from, to;
	uint64_t pages;
} isc_export_move;

/* Memory that was taken or given back: one of many. */
typedef struct isc_export_memory {
	const isc_export_thread *on;
	uint64_t time_ns;
	uint64_t address, bytes;
	double times;	/* allocations that it stands for */
	uint32_t node;	/* ISC_NODE_UNKNOWN: not known */
	uint32_t stack; /* that took it; 0: not known */
	uint32_t task;
	uint16_t cpu;
	bool alloc;
	const char *call; /* "malloc" */
} isc_export_memory;

typedef struct isc_export_out {
	isc_export_write_fn write;
	void *self;
	isc_buffer text; /* goes out when it is large, and at the end */
	uint64_t bytes;
	isc_status status;
	isc_error *err;
	/* Frames of stacks where there is no trace; NULL: none.  A parent is always lower than its child. */
	bool (*frame)(void *self, uint32_t id, isc_frame *out);
	void *frame_self;
} isc_export_out;

typedef struct isc_sink {
	isc_trace *trace;
	isc_export_out *out;
	uint64_t start_ns; /* of the session, CLOCK_MONOTONIC */
	bool failed;	   /* no memory; whoever writes looks at the end */
} isc_sink;

/* Any of them but begin and end may be NULL.  begin makes *self, end also frees it.  trace NULL: it is a timeline of
 * other tools, without tasks and memory, and with samples only for formats that need no moments of them. */
typedef struct isc_sink_class {
	bool timeless; /* samples are sums: it does not matter when they were */
	isc_sink *(*begin)(isc_trace *trace, isc_export_out *out); /* NULL: no memory */
	void (*process)(isc_sink *self, const isc_trace_process *p);
	void (*thread)(isc_sink *self, const isc_export_thread *t);
	void (*open)(isc_sink *self, const isc_slice *s);
	void (*close)(isc_sink *self, const isc_slice *s);
	void (*mark)(isc_sink *self, const isc_mark *m);
	void (*sample)(isc_sink *self, const isc_export_sample *s);
	void (*gpu)(isc_sink *self, const isc_export_gpu *g);
	void (*memory)(isc_sink *self, const isc_export_memory *m);
	void (*move)(isc_sink *self, const isc_export_move *m);
	void (*end)(isc_sink *self, const isc_export_result *result);
} isc_sink_class;

extern const isc_sink_class isc_sink_chrome, isc_sink_perfetto, isc_sink_speedscope, isc_sink_collapsed, isc_sink_pprof,
	isc_sink_events;

/* event_type of a slice in dictionaries: "cpu_call", "gil_wait", ... */
const char *isc_export_type(const isc_slice *s);

/* That of enum isc_export_format. */
const isc_sink_class *isc_export_sink(int format);

/* Sends what has gathered in out->text when it is much, or anyhow. */
void isc_export_send(isc_export_out *out, bool all);

#endif
