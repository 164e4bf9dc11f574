/*
 * totals_lane.h - the inside of totals: lanes, weights and their bytes in the
 * file.  Internal to trace/.
 */
#ifndef ISC_TRACE_TOTALS_TOTALS_LANE_H
#define ISC_TRACE_TOTALS_TOTALS_LANE_H

#include <stdbool.h>

#include "base/buffer.h"
#include "base/distinct.h"
#include "base/hashmap.h"
#include "trace/totals/totals.h"
#include "trace/units/unit_log.h"

/* Weights are what an entry takes in a snapshot at most, before packing. */
enum {
	ISC_WEIGHT_SCOPE = 80,
	ISC_WEIGHT_BUCKET = 5, /* packed it is 2, even where counts are large */
	ISC_WEIGHT_MARK = 24,
	ISC_WEIGHT_COUNTER = 64,
	ISC_WEIGHT_THREAD = 49,
	ISC_WEIGHT_STACK = 48,
	ISC_WEIGHT_WAIT = 72,
	ISC_WEIGHT_SYSCALL = 72,
	ISC_WEIGHT_FUNCTION = 72,
	ISC_WEIGHT_WINDOWED = 88, /* and more, if calls of it were counted in windows */
	ISC_WEIGHT_SAMPLED = 40,  /* and more, if its process was paused */
	ISC_WEIGHT_BRIEF = 24,	  /* instead of all these, if imports alone called it, and briefly */
	ISC_WEIGHT_CALLS = 150,	  /* with its start-up */
	ISC_WEIGHT_LANE = 72,	  /* with its calls */
	ISC_WEIGHT_OPEN = 20,
	ISC_WEIGHT_OPEN_CALL = 24
};
#define ISC_TOTALS_WEIGHT_MAX (64u << 20)  /* also in a file without a limit */
#define ISC_TOTALS_MEMORY_MAX (256u << 20) /* rows of histograms are larger here than there */

/* Rows of each part may take its share (totals_room.c), and what the other parts leave. */
enum isc_totals_part {
	ISC_PART_FUNCTIONS,
	ISC_PART_STACKS,
	ISC_PART_NAMES, /* scopes, marks, counters */
	ISC_PART_WAITS, /* and system calls */
	ISC_PARTS
};

typedef struct isc_totals_open {
	uint64_t ticks;
	uint32_t name;
	uint32_t arg;
} isc_totals_open;

/* An open call.  Its times are of the lane's clock, which stands still while
 * tracing is paused. */
typedef struct isc_totals_call {
	uint64_t ticks;
	uint64_t children; /* what calls that it made took */
	uint32_t id;
	uint32_t function; /* its index */
	uint16_t slot;	   /* in the cache, or ISC_CALL_UNCACHED */
	bool outermost;	   /* of its function on this lane */
	uint8_t how;	   /* enum isc_call_how */
	/* For units, on the clock of events. */
	uint32_t long_call; /* code of the last long call that it made; 0: none */
	uint64_t begin;
	uint64_t until;	 /* and its end */
	uint64_t waited; /* by it and those that it called and that have ended */
	uint64_t told;	 /* the same at `until` */
} isc_totals_call;

enum isc_call_how {
	ISC_CALL_OF_C = 1,
	ISC_CALL_RESUMED = 2, /* a generator or coroutine that went on */
	ISC_CALL_GATED = 4,   /* begun while calls of little code were recorded: who made it is not known */
	ISC_CALL_IMPORT = 8   /* the body of a module, but for that of the program */
};

#define ISC_CALL_GAP UINT32_MAX /* id of a mark in the row of open calls: events were lost here */
#define ISC_CALL_UNCACHED UINT16_MAX

/* From an id to its function, and how often that is open here. */
typedef struct isc_totals_slot {
	uint32_t id;
	uint32_t function; /* index + 1; 0: empty */
	uint32_t active;
} isc_totals_slot;

/* The calls of a lane. */
typedef struct isc_totals_calls {
	isc_totals_slot *cache;
	unsigned bits;		      /* it has 1 << bits slots */
	uint32_t evicted;	      /* since it last grew */
	uint32_t uncached;	      /* open calls without a slot */
	uint32_t importing;	      /* open calls with ISC_CALL_IMPORT */
	size_t gap;		      /* place of the mark + 1; 0: none */
	size_t process;		      /* index in processes */
	struct isc_totals_lane *next; /* another lane of the process */
	uint64_t paused;	      /* how far the clock is behind */
	uint64_t gates;		      /* of its process, up to the last one that it met */
	/* For units. */
	uint64_t task_key;     /* of the task whose step it is in */
	uint32_t task;	       /* its place; 0: none */
	bool unnamed;	       /* no call was made in the step so far */
	uint8_t step_end;      /* enum isc_step_end */
	uint32_t step_code;    /* of the task's coroutine; 0: the step did not begin with it */
	size_t step_depth;     /* and its place */
	uint64_t missed_since; /* its stack is nearly used up; 0: it is not */
	isc_totals_call *open;
	size_t depth, room;
} isc_totals_calls;

/* How the coroutine whose step it is was left last. */
enum isc_step_end { ISC_STEP_UNSEEN, ISC_STEP_YIELDED, ISC_STEP_LEFT };

/* One thread and stream: what is open on it and which number comes next. */
typedef struct isc_totals_lane {
	uint32_t process;
	uint32_t thread;
	uint8_t stream;
	uint64_t next;
	uint64_t events;    /* stored */
	uint64_t last;	    /* ticks of its last event */
	bool lossy;	    /* events of it were lost */
	size_t total;	    /* index of its thread's total */
	uint32_t wait_call; /* of a wait that is open; 0: none */
	uint32_t wait_stack;
	uint64_t wait_ticks;  /* when it began */
	uint64_t outer_ticks; /* when its outermost scope began */
	isc_totals_open *open;
	size_t depth, room;
	isc_totals_calls *calls; /* NULL: none yet */
} isc_totals_lane;

#define ISC_TOTALS_RECENT 256u

enum { ISC_BY_SCOPE, ISC_BY_MARK, ISC_BY_COUNTER, ISC_BY_FUNCTION, ISC_BY_NAMES };

typedef struct isc_totals_recent {
	uint64_t key;	  /* process and name */
	size_t at_plus_1; /* 0: empty */
} isc_totals_recent;

/* A process, and the lanes of it that have calls. */
struct isc_totals_process {
	isc_total_calls calls;
	isc_totals_lane *lane;
	uint32_t *counted; /* functions that the last window had, by index */
	size_t counted_count, counted_room;
};

/* Samples of a process; of what was fed. */
typedef struct isc_total_load {
	uint32_t process;
	uint64_t samples;
	uint64_t sampled_ns, unattributed_ns;
	uint64_t cost_ns; /* that they say they took */
} isc_total_load;

struct isc_totals {
	uint64_t weight, weight_max;
	uint64_t part[ISC_PARTS]; /* of the weight: rows of each */
	uint64_t thread_weight;	  /* and of threads and lanes */
	uint64_t full_until[ISC_PARTS +
			    1]; /* events: till then folding a part is not tried again; last: functions, for imports */
	isc_distinct folded_of[ISC_FOLDED_KINDS];
	size_t held;	     /* index + 1 of a function that is not to be folded now; 0: none */
	bool broken;	     /* there was no memory to fold rows: nothing more is counted */
	isc_totals_kin *kin; /* NULL: not known */
	void *kin_self;
	uint64_t memory; /* rows of all histograms */
	uint64_t events, missed;
	uint64_t unit_first, unit_last; /* ticks when the first unit began and the last one ended; of what was fed */
	isc_totals_recent recent[ISC_TOTALS_RECENT]; /* scopes used lately, by a few bits of their name */
	isc_hashmap by_name[ISC_BY_NAMES];	     /* process and name to index; one for each of the next four */
	isc_hashmap by_stack;			     /* thread and stack */
	isc_hashmap by_wait;			     /* thread and call, stack */
	isc_hashmap by_syscall;			     /* thread, kind and call; key */
	isc_total_scope *scopes;
	isc_total_mark *marks;
	isc_total_counter *counters;
	isc_total_function *functions;
	isc_total_thread *threads;
	uint64_t sample_ns;    /* that samples say they took; of what was fed */
	uint64_t looked_at;    /* pieces of memory that were told of by themselves; of what was fed */
	uint64_t allocations;  /* and all that were taken or given back */
	isc_hashmap by_memory; /* process to how many of them it last said */
	isc_hashmap by_cpu;    /* process to the ns of CPU time that its samples stand for; of what was fed */
	isc_total_load *loads;
	size_t load_count, load_room, load_last; /* the last one used */
	isc_total_stack *stacks;
	isc_total_wait *waits;
	isc_total_syscall *syscalls;
	struct isc_totals_process *processes;
	isc_totals_lane **lanes, *lane_last; /* the last one used */
	size_t scope_count, scope_room, mark_count, mark_room, counter_count, counter_room;
	size_t function_count, function_room, process_count, process_room;
	size_t thread_count, thread_room, lane_count, lane_room, stack_count, stack_room;
	size_t wait_count, wait_room, syscall_count, syscall_room;
	isc_hashmap by_thread, by_lane, by_process;
	bool pauses;		    /* some process was paused */
	struct isc_unit_log *units; /* of a writer; NULL elsewhere */
	uint64_t unit_ticks;	    /* how long a call is that may be a unit; UINT64_MAX: none is */
};

/* A unit of the program's work begins or ends: all that is between the first and the last is its serving. */
static inline void isc_totals_unit_begin(isc_totals *t, uint64_t ticks)
{
	if (t->unit_first == 0 || ticks < t->unit_first)
		t->unit_first = ticks;
}

static inline void isc_totals_unit_end(isc_totals *t, uint64_t ticks)
{
	if (ticks > t->unit_last)
		t->unit_last = ticks;
}

/* What a file of this limit can hold of totals. */
void isc_totals_bound(isc_totals *t, uint64_t weight_max);

/* The lane of a stream; NULL: no memory.  Stays where it is. */
isc_totals_lane *isc_totals_lane_of(isc_totals *t, uint32_t process, uint32_t thread, uint8_t stream);
isc_totals_lane *isc_totals_lane_find(const isc_totals *t, uint32_t process, uint32_t thread, uint8_t stream);
bool isc_totals_lane_feed(isc_totals *t, isc_totals_lane *lane, const isc_record *first, const void *extra,
			  uint32_t extra_len);

/* Adds zeroed entries; NULL: no memory.  For feeding and for loading. */
isc_total_scope *isc_totals_add_scope(isc_totals *t, uint32_t process, uint32_t name);
isc_total_mark *isc_totals_add_mark(isc_totals *t, uint32_t process, uint32_t name);
isc_total_counter *isc_totals_add_counter(isc_totals *t, uint32_t process, uint32_t name);
isc_total_thread *isc_totals_add_thread(isc_totals *t, uint32_t process, uint32_t thread);
isc_total_function *isc_totals_add_function(isc_totals *t, uint32_t process, uint32_t code);
isc_total_stack *isc_totals_add_stack(isc_totals *t, uint32_t thread, uint32_t stack);
struct isc_totals_process *isc_totals_add_process(isc_totals *t, uint32_t process);
bool isc_totals_lane_push(isc_totals_lane *lane, isc_totals_open open);

/* totals_function.c.  What the interpreter uses a function for. */
void isc_totals_function_identify(const isc_totals *t, isc_total_function *f);
/* The function of an id, found or added, or the rest of its file; NULL: no memory. */
isc_total_function *isc_totals_function_of(isc_totals *t, uint32_t process, uint32_t code, bool startup);

/* totals_calls.c.  The calls of a lane; NULL: no memory. */
isc_totals_calls *isc_totals_calls_of(isc_totals *t, isc_totals_lane *lane);
void isc_totals_calls_free(isc_totals_calls *c);
bool isc_totals_calls_feed(isc_totals *t, isc_totals_lane *lane, const isc_record *r, const void *extra,
			   uint32_t extra_len);
/* Puts one on top, as it was written. */
bool isc_totals_calls_push(isc_totals *t, isc_totals_lane *lane, uint32_t id, uint64_t ticks, uint64_t children);
/* How often a function is open on a lane, as far as the cache knows. */
uint32_t isc_totals_calls_active(const isc_totals_calls *c, uint32_t id);
/* Events were lost before the next one; false: no memory. */
bool isc_totals_lane_lose(isc_totals *t, isc_totals_lane *lane);
/* The next chunk of the lane begins with this number. */
static inline bool isc_totals_lane_reach(isc_totals *t, isc_totals_lane *lane, uint64_t number)
{
	return number == lane->next || isc_totals_lane_lose(t, lane);
}
/* All calls that are open on a lane end. */
void isc_totals_lane_close(isc_totals *t, isc_totals_lane *lane, uint64_t ticks);
/* Ends the open calls of an id on a lane: nobody will see them end. */
void isc_totals_calls_abandon(isc_totals *t, isc_totals_lane *lane, uint32_t id);

/* totals_waits.c.  A wait or a collection; false: no memory. */
bool isc_totals_waits_feed(isc_totals *t, isc_totals_lane *lane, const isc_record *r, const void *extra,
			   uint32_t extra_len);
/* The open wait of a lane is over, and nobody told how long it took. */
bool isc_totals_wait_close(isc_totals *t, isc_totals_lane *lane, uint64_t ticks);
isc_total_wait *isc_totals_add_wait(isc_totals *t, uint32_t thread_and_call, uint32_t stack);
isc_total_wait *isc_totals_wait_of(isc_totals *t, uint32_t thread_and_call, uint32_t stack); /* found or added */
#define ISC_WAIT_KEY(thread, call) ((uint32_t)(thread) << 5 | ((call) & 31u))

/* totals_pause.c.  What a process says of its memory, for what that cost. */
void isc_totals_memory_feed(isc_totals *t, const isc_totals_lane *lane, const void *extra, uint32_t extra_len);

/* totals_load.c.  A sample of a process; false: no memory. */
bool isc_totals_load_sample(isc_totals *t, uint32_t process, uint32_t stack, uint32_t steps, const isc_sample *body);

/* totals_syscalls.c.  System calls; false: no memory. */
bool isc_totals_syscalls_feed(isc_totals *t, isc_totals_lane *lane, const isc_record *r, const void *extra,
			      uint32_t extra_len);
/* The same row of other totals; NULL: they have none. */
isc_total_syscall *isc_totals_syscall_find(const isc_totals *t, const isc_total_syscall *like);
isc_total_syscall *isc_totals_add_syscall(isc_totals *t, const isc_total_syscall *like);
uint64_t isc_totals_syscall_key(const isc_total_syscall *s);

/* totals_room.c.  Is there room for something of this weight that is no row? */
bool isc_totals_has_room(const isc_totals *t, unsigned weight);
bool isc_totals_has_room_for_bucket(const isc_totals *t);
bool isc_totals_has_room_for_lane(const isc_totals *t);

/* Room for another row of a part: rows that were used least lately are folded for it.  For imports only
 * rows of imports are.  False: there is none, or no memory. */
bool isc_totals_make_room(isc_totals *t, enum isc_totals_part part, unsigned weight, bool startup);
void isc_totals_weigh(isc_totals *t, enum isc_totals_part part, int64_t weight);
unsigned isc_totals_function_weight(const isc_total_function *f);

/* totals_fold.c.  Folds the rows of a part that were used least lately, about a quarter of them; false: no
 * memory.  Indices of functions change with it, and places of all rows. */
bool isc_totals_fold(isc_totals *t, enum isc_totals_part part, bool startup_only);
/* One that was folded, or never got a row. */
void isc_totals_note_folded(isc_totals *t, enum isc_folded kind, uint32_t process, uint32_t name);
/* What a definition belongs to, as isc_kin_of() says; 0: not known. */
uint32_t isc_totals_kin_of(const isc_totals *t, uint32_t process, uint32_t id);
/* The stack under which samples of one without a row are counted: its caller's, with the deeper frames cut; 0: none. */
uint32_t isc_totals_caller_of(const isc_totals *t, uint32_t process, uint32_t stack);
/* The code under which a function without a row is counted. */
uint32_t isc_totals_rest_of(const isc_totals *t, uint32_t process, uint32_t code);

/* totals_function_store.c */
bool isc_totals_function_is_brief(const isc_total_function *f);
void isc_totals_function_write(const isc_total_function *f, isc_buffer *out);
isc_status isc_totals_function_read(isc_totals *t, const uint8_t **at, const uint8_t *end);
isc_status isc_totals_brief_read(isc_totals *t, const uint8_t **at, const uint8_t *end);

/* A function that imports alone called is called by others now, or takes long; its new index. */
size_t isc_totals_function_grow(isc_totals *t, size_t function);

/* Enters an index under a key; false: no memory. */
bool isc_totals_enter(isc_hashmap *map, uint64_t key, size_t index);

/* totals_pause.c: a GOVERNED record; false: no memory. */
bool isc_totals_govern(isc_totals *t, isc_totals_lane *lane, const isc_record *r);
/* totals_pause.c: a STARTUP record. */
void isc_totals_started(isc_totals *t, const isc_totals_lane *lane, const isc_record *r, const void *extra,
			uint32_t len);
/* The calls of a process and its start-up, as they are stored. */
isc_status isc_totals_process_read(isc_totals *t, const uint8_t **at, const uint8_t *end);
isc_status isc_totals_startup_read(isc_totals *t, const uint8_t **at, const uint8_t *end);
/* A call begins, so the pause is over, even if nobody has said so yet. */
void isc_totals_resume(isc_totals *t, const isc_totals_lane *lane, uint64_t ticks);
/* Were calls of little code recorded at this moment, and no others? */
bool isc_totals_is_gated(const isc_totals *t, const isc_totals_lane *lane, uint64_t ticks);
/* How long the lane's process was paused before this moment. */
uint64_t isc_totals_paused(const isc_totals *t, const isc_totals_lane *lane, uint64_t ticks);

/* The moment on the lane's clock, which stands still in pauses. */
static inline uint64_t isc_totals_clock(const isc_totals *t, isc_totals_lane *lane, uint64_t ticks)
{
	isc_totals_calls *c = lane->calls;

	if (__builtin_expect(t->pauses, 0)) {
		uint64_t paused = isc_totals_paused(t, lane, ticks);

		c->paused = paused > c->paused ? paused : c->paused;
	}
	return ticks > c->paused ? ticks - c->paused : 0;
}

/* totals_window.c: a BURST record; again: what it counted is not to be.  False: no memory. */
bool isc_totals_window(isc_totals *t, isc_totals_lane *lane, const isc_record *r, const void *extra, uint32_t len,
		       bool again);
/* Nothing more comes: those that the last window did not have were not called in it. */
void isc_totals_windows_end(isc_totals *t, struct isc_totals_process *p);
/* A function that the last window had, as it was written; false: no memory. */
bool isc_totals_window_keep(isc_totals *t, size_t function);

/*
 * A snapshot as parts that stand alone.  Every part begins with what the whole
 * covers.  ends gets the end of each part, as size_t, within out.
 */
typedef struct isc_totals_cover {
	uint32_t sequence; /* chunks up to this one are counted */
	uint64_t events;   /* that were in them */
} isc_totals_cover;

void isc_totals_write(const isc_totals *t, const isc_totals_cover *cover, isc_buffer *out, isc_buffer *ends);
bool isc_totals_read_cover(const uint8_t **at, const uint8_t *end, isc_totals_cover *cover);
/* Adds one part.  ISC_ERR_CORRUPT or ISC_ERR_NOMEM: t is of no use any more. */
isc_status isc_totals_read(isc_totals *t, const uint8_t *raw, size_t len);

#endif
