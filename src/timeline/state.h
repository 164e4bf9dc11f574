/*
 * state.h - what the parts of one timeline share.
 *
 *	timeline.c	adding, and the order of the parts
 *	entries.c	names, sources, threads, devices
 *	threads.c	each thread in order: functions, scopes, who called
 *	correlate.c	which call asked for which work
 *	devices.c	each device in order: unions, gaps and their causes
 *	moments.c	marks and counters
 *	stacks.c	samples without a moment; stacks_fold.c when they are too many
 *	tally.c		tables of kernels and copies
 *	rest.c		what is too much to be listed
 */
#ifndef ISC_TIMELINE_STATE_H
#define ISC_TIMELINE_STATE_H

#include "base/arena.h"
#include "base/hashmap.h"
#include "base/ns.h"
#include "timeline/spool.h"
#include "timeline/timeline.h"

/* No moment: a call that is not known. */
#define ISC_NEVER INT64_MIN

/* A span or a call of a thread. */
typedef struct isc_host_item {
	int64_t start_ns, end_ns;
	uint64_t correlation;
	uint32_t domain;
	uint32_t thread;
	uint32_t name;
	uint32_t stack;
	uint32_t kind; /* enum isc_host_kind, or ISC_HOST_CALL */
	uint32_t scope;
} isc_host_item;

/* A call, with where it was made, and what took most of the time since the thread's last call; 0: not known. */
typedef struct isc_call_item {
	int64_t start_ns, end_ns;
	int64_t waited_ns; /* when all it asked for was done, by a wait for the device right after it; ISC_NEVER */
	uint64_t correlation;
	uint32_t domain, thread, name, where, scope, did;
} isc_call_item;

/* A call that holds its thread up. */
typedef struct isc_wait_item {
	int64_t start_ns, end_ns;
	uint32_t thread, name;
	uint32_t call; /* enum isc_gpu_call */
	uint32_t pad;
} isc_wait_item;

/* A mark, or a value of a counter. */
typedef struct isc_moment_item {
	int64_t at_ns;
	double value;
	uint64_t order; /* in which they were added */
	uint32_t thread, name;
	uint32_t counter; /* 0: a mark */
	uint32_t pad;
} isc_moment_item;

/* Work of a device, with the call that asked for it. */
typedef struct isc_work_item {
	int64_t start_ns, end_ns;
	int64_t call_ns, called_ns; /* the call's begin and end; ISC_NEVER: not known */
	uint64_t bytes, stream;
	uint32_t device, name, thread, where, scope, did;
	uint8_t kind, class, memory, pad[5];
} isc_work_item;

typedef struct isc_source_entry {
	uint32_t label, rank;
	int64_t first_ns, last_ns, origin_ns;
	int64_t work_first_ns, work_last_ns; /* of all its devices */
	bool worked;
	int64_t base_ns; /* what all its times are short of */
	uint64_t records, spans;
	bool seen;
} isc_source_entry;

typedef struct isc_device_entry {
	uint32_t source, number, name;
	uint32_t place;		   /* in the facts */
	int64_t first_ns, last_ns; /* of work in the window, of the origin */
	bool seen;
	uint64_t syncs, unstamped, early;
	/* What the times of the host say of the device's: late_ns is the smallest time
	 * from a call to its work, soon_ns the largest from a blocking call's end to its
	 * work's.  The error of the clock lies between them. */
	int64_t late_ns, soon_ns;
	bool late_known, soon_known;
	int64_t shift_ns;
	bool synced; /* its times are the host's already, and off by error_ns at most */
	enum isc_clock_method method;
	int64_t error_ns;
	uint64_t fixed;
} isc_device_entry;

typedef struct isc_array {
	void *at;
	size_t count, room;
} isc_array;

/* The tree of stacks, with names of its own: they go with the places that had them. */
typedef struct isc_stacks {
	isc_facts_stack *node; /* the first is above all, and each comes behind its parent */
	size_t count, room;
	isc_hashmap of; /* parent and name -> place */
	isc_strings names;
	uint64_t folded; /* places that are in the rest of their callers */
} isc_stacks;

struct isc_timeline {
	isc_timeline_options options;
	isc_arena *arena;
	isc_strings strings;
	/* Processes and threads are rows of the facts, with times of their source until the end. */
	isc_array sources, processes, threads, devices;
	isc_hashmap process_of, thread_of, device_of, domain_of; /* key -> place + 1 */
	isc_hashmap mark_of, counter_of;
	isc_array marks, counters;
	isc_stacks stacks;
	uint32_t domains;
	isc_spool *host, *records, *calls, *waits, *work, *moments;
	uint64_t moments_added;
	uint8_t *call_kinds; /* enum isc_gpu_call + 1, by name; 0: not looked at */
	size_t call_kinds_room;
	uint8_t *classes; /* enum isc_gpu_class + 1, likewise */
	size_t classes_room;
	bool overflow; /* an id was asked for past the limit */
	bool starved;  /* one was asked for, and there was no memory */
	uint64_t folded;
	int64_t from_ns, to_ns; /* the window, of the origin */
	bool cut;		/* a time or a scope was asked for */
	isc_timeline_facts facts;
};

#define ISC_SOURCES_MOST 4096u
#define ISC_DEVICES_MOST 4096u
#define ISC_THREADS_MOST (1u << 18)
#define ISC_ROWS_MOST (1u << 20) /* of a table */
/* Places of the tree of stacks, and functions in it: a report of that many takes about 100 MiB.  The deepest stack
 * of the longest names is a quarter of the bytes. */
#define ISC_STACKS_MOST (1u << 17)
#define ISC_STACKS_NAMES_MOST (1u << 15)
#define ISC_STACKS_BYTES_MOST (32u << 20)

static inline isc_source_entry *isc_source_at(const isc_timeline *t, size_t i)
{
	return (isc_source_entry *)t->sources.at + i;
}

static inline isc_facts_process *isc_process_at(const isc_timeline *t, size_t i)
{
	return (isc_facts_process *)t->processes.at + i;
}

static inline isc_facts_thread *isc_thread_at(const isc_timeline *t, size_t i)
{
	return (isc_facts_thread *)t->threads.at + i;
}

static inline isc_device_entry *isc_device_at(const isc_timeline *t, size_t i)
{
	return (isc_device_entry *)t->devices.at + i;
}

isc_status isc_timeline_no_memory(isc_error *err);
isc_status isc_timeline_check_thread(const isc_timeline *t, uint32_t thread, isc_error *err);
/* Differences and sums of two such times never overflow. */
int64_t isc_timeline_bounded(int64_t ns);
/* The time from an origin on, likewise bounded. */
int64_t isc_timeline_since(int64_t ns, int64_t origin_ns);
enum isc_gpu_call isc_timeline_call_kind(isc_timeline *t, uint32_t name);
enum isc_gpu_class isc_timeline_class(isc_timeline *t, uint32_t name);
/* The part of a time in the window, relative to the origin; false: none. */
bool isc_timeline_clip(const isc_timeline *t, uint32_t source, int64_t *start_ns, int64_t *end_ns);

isc_status isc_threads_walk(isc_timeline *t, const char *scope, isc_error *err);
isc_status isc_moments_walk(isc_timeline *t, isc_error *err); /* when the window is known */
int isc_moment_compare(const void *a, const void *b);
isc_status isc_calls_match(isc_timeline *t, isc_error *err);
isc_status isc_devices_walk(isc_timeline *t, isc_error *err);
bool isc_lists_fold(isc_timeline *t); /* false: no memory */

/* ---- stacks ---- */

void isc_stacks_fini(isc_stacks *s);
/* Borrowed until the next; NULL: no memory. */
isc_facts_stack *isc_stacks_child(isc_stacks *s, uint32_t parent, uint32_t name);
void isc_stacks_count(isc_facts_stack *node, uint64_t samples, int64_t ns);
bool isc_stacks_fold(isc_stacks *s); /* false: no memory, and nothing has changed */
/* How much was folded. */
void isc_stacks_rest(const isc_timeline *t, isc_timeline_facts *facts);

/* ---- tables of kernels and copies ---- */

typedef struct isc_tally {
	isc_hashmap kernel_of; /* device and name -> place + 1 */
	isc_array kernels;     /* isc_facts_kernel */
	isc_hashmap from_of;   /* kernel and place -> time */
	isc_hashmap scope_of;  /* kernel and scope -> time */
	isc_facts_copy *copies;
} isc_tally;

bool isc_tally_add(isc_timeline *t, isc_tally *y, size_t gpu, const isc_work_item *w); /* false: no memory */
bool isc_tally_finish(isc_timeline *t, isc_tally *y);
void isc_tally_fini(isc_tally *y);

#endif
