/*
 * runtime.h - what the parts inside the program share: libinferscope_rt.so.
 *
 * Preloaded, the library attaches itself to the session named in the
 * environment; loaded later (by the Python package) it is attached by hand.
 * Without a session everything here does nothing, cheaply.
 *
 * Nothing here prints, exits, allocates or takes a lock.  Every function is
 * signal-safe and may run between fork or vfork and exec, unless it says not.
 */
#ifndef ISC_RUNTIME_RUNTIME_H
#define ISC_RUNTIME_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/record.h"
#include "inferscope/status.h"
#include "runtime/layout.h"

/* ISC_RT_ABI of this library.  Exists since version 1 and never changes its
 * form: a part of another install asks this first and stays inert when it differs. */
ISC_API uint32_t isc_rt_abi(void);

/* Joins the session in this folder; 0, or -1 with errno.  Again: 0, and nothing
 * happens.  Not signal-safe.  The preloaded library calls it from its constructor. */
ISC_API int isc_rt_attach(const char *session_folder);

/* The session of this process, or NULL.  Valid until the process ends. */
ISC_API const isc_control *isc_rt_control(void);

/* Are events wanted from this process now?  One or two loads. */
ISC_API bool isc_rt_active(void);

/* Says that this process runs Python, so that --follow python traces it. */
ISC_API void isc_rt_is_python(void);

/* Who makes a thread is asked for its name, as isc_rt_name() gives it, before it begins; 0: none.  NULL: nobody is asked. */
typedef uint32_t isc_birth_namer(void);
ISC_API void isc_rt_birth_namer(isc_birth_namer *ask);

/* The CPU time of this thread; and: it was `since` when something of ours began that no event will tell of. */
ISC_API uint64_t isc_rt_cpu_ns(void);
ISC_API void isc_rt_started(uint64_t since);

/* Adds a definition; its id, or 0 when there is no room ("?", counted).  data
 * is cut at ISC_DEF_MAX. */
ISC_API uint32_t isc_rt_define(uint16_t type, const void *data, size_t len);

/* The id of a definition, the same one for the same bytes as long as the cache holds. */
ISC_API uint32_t isc_rt_intern(uint16_t type, const void *data, size_t len);

/* The id of a string, the same one for the same text as long as the cache holds. */
ISC_API uint32_t isc_rt_name(const char *text, size_t len);

/* The id of a name that the program makes up while it runs: a scope, a mark, a task, a thread, a file.  When
 * there are many like it the id of their pattern ("request-#"), without room that of all the rest. */
ISC_API uint32_t isc_rt_label(const char *text, size_t len);
ISC_API uint32_t isc_rt_thread_label(const char *text, size_t len); /* of a thread: more of them keep to themselves */

/* The id of an isc_def_code with its texts; of code without a file likewise that of its pattern.  0: no room. */
ISC_API uint32_t isc_rt_code(const void *data, size_t len);

/* What stands for code, names and kernels that there is no room for; 0: for others, or there is none for this. */
ISC_API uint32_t isc_rt_rest(uint16_t type);
ISC_API bool isc_rt_is_rest(uint32_t id);

/* Python frames can be read like this from now on, in samples of all threads.  Not
 * signal-safe; NULL: they cannot, and samples say so. */
struct isc_python_layout;
ISC_API void isc_rt_python(const struct isc_python_layout *layout);

/* The calling thread's Python frames, newest first, read as samples read them; how
 * many, or -1 when they cannot be read. */
struct isc_python_frame;
ISC_API int isc_rt_python_walk(const struct isc_python_layout *layout, struct isc_python_frame *frames, int max);

/* Functions of the interpreter between frames of Python on the calling thread, below this address of its stack, say
 * nothing about a program: samples leave them out from now on.  With the interpreter's lock. */
ISC_API void isc_rt_python_glue(const void *below);

/* The qualified name of a code object, read as samples do; its length, or -1. */
ISC_API int isc_rt_python_name(const struct isc_python_layout *layout, const void *code, char *to, int room);

/* What a sample consists of, in the order in which it happens. */
enum isc_sample_part {
	ISC_SAMPLE_PART_ENTRY,	/* whose signal it is */
	ISC_SAMPLE_PART_CLOCK,	/* the thread's CPU time */
	ISC_SAMPLE_PART_GUARD,	/* is the handler for faults still there? */
	ISC_SAMPLE_PART_PYTHON, /* its frames, and what tells code objects apart */
	ISC_SAMPLE_PART_NATIVE, /* the C stack */
	ISC_SAMPLE_PART_MERGE,	/* both as one stack */
	ISC_SAMPLE_PART_COUNT,	/* faults and counters */
	ISC_SAMPLE_PART_STACK,	/* the stack's id */
	ISC_SAMPLE_PART_REST,	/* the record, threads nobody told of, the budget */
	ISC_SAMPLE_PART_ARM,	/* asking for the next signal */
	ISC_SAMPLE_PARTS
};

/* For the bench: samples of the calling thread write what each of their parts took, in ticks, ISC_SAMPLE_PARTS numbers
 * each, for as many samples as there is room for; NULL: no more.  How many there are since the last call. */
ISC_API uint32_t isc_rt_sample_parts(uint32_t *ticks, uint32_t samples);

/* The interpreter is about to clean up: memory that is freed from now on was in use to the end. */
ISC_API void isc_rt_memory_leaving(void);

/* An allocator of Python, laid out as PyMemAllocatorEx is. */
typedef struct isc_rt_allocator {
	void *ctx;
	void *(*malloc)(void *ctx, size_t size);
	void *(*calloc)(void *ctx, size_t n, size_t size);
	void *(*realloc)(void *ctx, void *p, size_t size);
	void (*free)(void *ctx, void *p);
} isc_rt_allocator;

#define ISC_RT_DOMAINS 3u

/* *ours counts and then does what *real does; any thread may call a mixture of the two at any time.  False: this
 * was asked too often, and *ours does what an earlier one did.  Not for two threads at once. */
ISC_API bool isc_rt_memory_python(unsigned domain, const isc_rt_allocator *real, isc_rt_allocator *ours);

/* They tell of memory from now on, or no more.  False: nobody wants that here, or all of malloc() is seen. */
ISC_API bool isc_rt_memory_python_on(bool on);

/* Time now, in the session's ticks. */
ISC_API uint64_t isc_rt_ticks(void);

/* One event: record[0].slots == n.  runtime/write.h has the inlined forms for
 * collectors; these are for everyone else. */
ISC_API void isc_rt_write(const isc_record *record, uint32_t n);
ISC_API void isc_rt_write1(uint64_t ticks, uint64_t word);

/* Somebody more (or less) looks at a part of this process: until he has read it,
 * nothing is forgotten. */
ISC_API void isc_rt_window(bool open);

/* Asks the recorder for everything that was written so far; the number to wait
 * for.  forget: a scratch trace may drop all of it, when nobody looks.  Then waits until it is in the trace, and at most so long; false: it is
 * not, and nobody knows when.  Not signal-safe: this one does block. */
ISC_API uint32_t isc_rt_flush_ask(bool forget);
ISC_API bool isc_rt_flush_wait(uint32_t asked, uint32_t patience_ms);

/* A scope of a context, on its way; the caller's memory. */
typedef struct isc_rt_span {
	uint64_t instance; /* what scopes inside it name as the one around them */
	uint64_t ticks;
	uint64_t gen;	  /* of the process image that entered it */
	uintptr_t thread; /* and the thread */
	uint32_t name;
} isc_rt_span;

/* Enters a scope; around: instance of the one that it is in, or 0.  False: nothing
 * records, and there is nothing to leave.  Left by any thread; in a fork child that
 * inherited it nothing is written. */
ISC_API bool isc_rt_span_enter(isc_rt_span *span, uint32_t name, uint64_t around);
ISC_API void isc_rt_span_exit(const isc_rt_span *span);

/* The same for a range that belongs to no thread: who watches scopes is not told of it. */
ISC_API bool isc_rt_span_start(isc_rt_span *span, uint32_t name, uint64_t around);

/*
 * Who is told of every scope that a thread enters and leaves, on that thread.  Left may be others than the
 * innermost, and some whose enter was never told.  The time it takes comes out of the budget.  Static memory;
 * NULL: nobody any more.  A fork child begins without.
 */
typedef struct isc_scope_watch {
	void (*enter)(uint32_t name, uint64_t instance); /* instance 0: the scope has none */
	void (*leave)(uint32_t name, uint64_t instance);
} isc_scope_watch;
ISC_API void isc_rt_scope_watch(const isc_scope_watch *watch);

/* The functions of inferscope/mark.h, which finds this by name; NULL when the
 * version asked for is newer than ours. */
struct isc_mark_api;
ISC_API const struct isc_mark_api *isc_rt_mark_api(uint32_t version);

#endif
