/*
 * sample.h - where threads stand, at even steps of their CPU time.
 *
 *	sample.c		which threads there are
 *	sample_timer.c		what sends them signals
 *	sample_use.c		who wants samples: a session, the profiler of this process, or both
 *	sample_handler.c	what happens at a step
 *	sample_native.c		what native code is whose
 *	sample_glue.c		and what of the interpreter's says nothing
 *	sample_merge.c		native frames and Python's as one stack
 *	sample_count.c		what the processor counts between samples
 *	sample_rate.c, pace.c	what samples cost and how long steps are, inside the budget
 *	sample_signal.c		the signal, shared with the program
 *	sample_stack.c		stacks and code objects, found again by a hash
 *	sample_room.c		who may define how many of them
 *	fault.c, pywalk.c	reading the interpreter's memory
 *	unwind.c, cfi.c		and the C stack
 *
 * There is no thread of ours: os.fork() warns of threads.  A handler arms its own
 * next signal, finds threads that nobody told of, and shortens or lengthens the step.
 */
#ifndef ISC_COLLECT_SAMPLE_SAMPLE_H
#define ISC_COLLECT_SAMPLE_SAMPLE_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/record.h"
#include "collect/fault.h"
#include "collect/sample/pywalk.h"
#include "collect/sample/part.h"
#include "collect/unwind/unwind.h"
#include "runtime/python.h"

#define ISC_SAMPLE_COOKIE 0x15c5a3b1u  /* tells our timers from the program's */
#define ISC_SAMPLED_MAX 4096u	       /* threads, as many as can write */
#define ISC_SAMPLE_STACK (32u << 10)   /* alternate stack of a thread that has none */
#define ISC_SAMPLE_SCRATCH (32u << 10) /* a definition in the making */

/* A part of a whole stack: a frame, or native frames that follow each other. */
typedef struct isc_merged {
	uint64_t key;	 /* tells what it is from others that had its address */
	uintptr_t code;	 /* code object, or the address of a native place; of a run its first frame in the walk */
	uint32_t offset; /* of the instruction in a code object; enum isc_native_place */
	int16_t module;	 /* of a native place, as the walk knows it; or one of these: */
	uint16_t count;	 /* of a run: frames of the walk */
} isc_merged;
enum { ISC_MERGED_PYTHON = -1, ISC_MERGED_NOWHERE = -2 /* a native place in no module */, ISC_MERGED_RUN = -3 };

/* Who a stack is for: each has its part of the room for definitions. */
enum isc_stack_use { ISC_STACK_SAMPLED, ISC_STACK_ASIDE /* of memory, a wait, a system call */ };
enum isc_stack_room { ISC_ROOM_SERVING, ISC_ROOM_IMPORTS, ISC_ROOM_ASIDE, ISC_ROOMS };

/* One thread.  Mapped when it is first needed and used again, never given back. */
typedef struct isc_sampled {
	uint32_t index;
	int32_t timer;		       /* of the kernel; -1: none */
	int32_t perf;		       /* descriptor; -1: none */
	uint64_t perf_id;	       /* by which it is known again */
	int32_t perf_least, perf_most; /* how many signals it sends unasked, at least and at most */
	uint64_t perf_wait_ns;	       /* between two of them */
	uint64_t perf_seen_ns;	       /* CPU time at the last one, or when they were asked for */
	int32_t counter;	       /* of a profile: descriptor; -1: none */
	uint64_t counter_id;
	uint64_t counted;	       /* what it had at the last sample */
	uint64_t faults;	       /* of a profile: pages it had met when memory was last looked at */
	uint64_t unlooked_ns;	       /* and its CPU time since then */
	uint64_t due_ns;	       /* CPU time at which the next signal is due */
	uint64_t end_ns;	       /* from this on the step counts for a thread that ends, which no tick delays */
	uint64_t clock_ns;	       /* CPU time when it was last read, which was ... */
	uint64_t clock_ticks;	       /* ... then; 0: it is to be read */
	uint64_t arm_ticks;	       /* what asking for the next signal took, last time */
	uint64_t least_ns;	       /* CPU time that it had at its last signal, at least */
	int64_t base_ns;	       /* CPU time up to here is accounted for; half a step before it began, at first */
	uint32_t period_ns;	       /* of the step that is under way */
	uint32_t unasked;	       /* samples since the kernel was last asked for faults */
	_Atomic uint64_t lately_ns;    /* CPU time of the last seconds, up to ... */
	_Atomic uint64_t lately_ticks; /* ... here */
	uint32_t seen;		       /* in which search of threads */
	_Atomic uint32_t last_stack;   /* of the last sample that had one */
	uint64_t random;
	bool adopted; /* not begun through pthread_create(): nobody will say that it ends */
	bool busy;
	bool lent;   /* its alternate stack is ours */
	bool paused; /* the program blocks SIGURG itself: no signal of ours is to stay pending */
	bool holds;  /* the program believes that SIGURG is blocked */
	bool whole;  /* native frames are wanted where there are none of Python, however they are told elsewhere */
	bool held;   /* and one has come meanwhile: */
	siginfo_t held_info;
	uint32_t child; /* thread id of a child that is not sampled, whose mask is what the program believes */
	uint32_t name;	/* that the thread begins with; 0: none */
	void *(*start)(void *);
	void *arg;
	isc_fault fault;
	isc_sample_timing timing;
	uint64_t path[ISC_STACK_FRAMES_MAX]; /* the stack, root first: what leads to each frame */
	isc_python_frame frames[ISC_STACK_FRAMES_MAX];
	uint64_t key[ISC_STACK_FRAMES_MAX];
	isc_activations activations;
	uintptr_t anchors[ISC_STACK_FRAMES_MAX];
	uintptr_t places[ISC_STACK_FRAMES_MAX]; /* native frames of a run, root side first */
	uintptr_t stack_low, stack_high;	/* the mapping that it was last seen on */
	uint32_t looks;
	isc_unwind unwind;
	isc_merged merged[ISC_STACK_FRAMES_MAX]; /* newest first */
	char scratch[ISC_SAMPLE_SCRATCH];
	uint64_t run[2 * ISC_STACK_FRAMES_MAX]; /* the definition of one */
	_Alignas(4096) char fence[4096];	/* below the stack, not to be touched */
	char stack[ISC_SAMPLE_STACK];
} isc_sampled;

/* Which thread has a place; 0: it is free, UINT32_MAX: it is taken, and the thread not known yet. */
extern _Atomic uint32_t isc_sampled_tid[ISC_SAMPLED_MAX];
#define ISC_SAMPLED_TID(t) (&isc_sampled_tid[(t)->index])

extern __thread isc_sampled *isc_sampled_self __attribute__((tls_model("initial-exec")));

/* ---- sample_use.c ------------------------------------------------------ */

/* Is the signal ours in this process? */
bool isc_sample_on(void);

/* Are samples for a session? */
bool isc_sample_for_session(void);

/* For good, in this process: the program needs the signal. */
void isc_sample_give_way(void);

/* Handlers, and what must not meet the end of sampling.  Nests. */
void isc_sample_inside(bool inside);

/* Waits until nobody is inside, and not for ever. */
bool isc_sample_quiet(void);

/* Samples for the profile; 0 or an errno.  *shared_ns: the steps are a session's, and so long. */
struct isc_profile_options;
int isc_sample_profile_begin(const struct isc_profile_options *options, uint32_t *shared_ns);

/* True: the program has taken the signal meanwhile. */
bool isc_sample_profile_end(void);
void isc_sample_profile_forked(void);

/* ---- sample.c ---------------------------------------------------------- */

/* A thread that is about to be made: a place for it, or NULL.  Its maker begins it,
 * the thread itself enters and leaves. */
isc_sampled *isc_sample_reserve(void *(*start)(void *), void *arg);
void isc_sample_cancel(isc_sampled *t);
void isc_sample_enter(isc_sampled *t);
void isc_sample_leave(isc_sampled *t);

/* The thread that a signal of a timer or of perf is for; NULL: it is not ours. */
isc_sampled *isc_sample_of(const siginfo_t *info);

/* The thread at a place, NULL: there is none; false: past the last place. */
bool isc_sample_at(uint32_t place, const isc_sampled **t);

/* The last stack of another thread of this process; 0: not known. */
uint32_t isc_sample_last_stack(uint32_t tid);

/* Threads that nobody told of, and those of them that have gone.  Now and then, or at once. */
void isc_sample_search(bool at_once);

/* The calling thread, which nobody made. */
void isc_sample_begin_self(void);

/* All threads that are known: they get timers, or lose them.  True: some still have an alternate
 * stack of ours, which only they could give back. */
void isc_sample_begin_known(void);
bool isc_sample_end_known(void);

/* In a fork child: it has one thread and no timers. */
void isc_sample_places_forked(void);

/* A second place of the calling thread, found by a search while it began. */
void isc_sample_drop(isc_sampled *t);

/* ---- sample_timer.c ------------------------------------------------------ */

/* What the program does with handlers and threads comes through our hooks, or does not. */
void isc_sample_hooked(bool hooked);
bool isc_sample_is_hooked(void);

/* CPU time of the calling thread, or of another one. */
uint64_t isc_sample_cpu_ns(void);
uint64_t isc_sample_cpu_ns_of(uint32_t tid);

/* That of this thread, kept with when it was read. */
uint64_t isc_sample_clock(isc_sampled *t, uint64_t ticks);

/* Where its clock may stand at a signal, from the last reading on: no less, as signals do not come early, and no more.
 * 0 and UINT64_MAX: that is not known. */
uint64_t isc_sample_least_ns(const isc_sampled *t);
uint64_t isc_sample_most_ns(const isc_sampled *t, uint64_t ticks);

/* What the rate asks for, by any thread; false: refused, with errno. */
bool isc_sample_timer_open(isc_sampled *t, uint32_t tid);
void isc_sample_timer_close(isc_sampled *t);

/* A signal that is for no thread: was it sent by an event that is gone by now?  Then it is not the program's. */
bool isc_sample_late(const siginfo_t *info);

/* What a perf event is known by; 0: it is none.  A program may close all descriptors, and then the number of
 * one of ours is one of its own: to be asked before it is read or closed. */
uint64_t isc_sample_perf_id(int fd);

/* Arms the next signal, so many ns of CPU time after base_ns; now: CPU time now. */
void isc_sample_arm(isc_sampled *t, uint64_t after_ns, uint64_t now_ns);
/* When the next signal is due, behind the end of the last step; end_ns: as in isc_sampled. */
uint64_t isc_sample_next_ns(const isc_sampled *t, uint64_t random, uint64_t *end_ns);
/* The same of the first, where half a step is behind base_ns. */
uint64_t isc_sample_first_ns(const isc_sampled *t, uint64_t random, uint64_t *end_ns);

/* No more signals for this thread, or again; by the thread itself. */
void isc_sample_pause(isc_sampled *t, bool pause);

/* This thread began with that mask: where SIGURG is in it none of ours is to stay pending. */
void isc_sample_blocked(uint64_t mask);

/* A signal came, at this CPU time of the thread. */
void isc_sample_came(isc_sampled *t, uint64_t now_ns);

/* ---- sample_handler.c --------------------------------------------------- */

/* The thread ends: what is due is accounted for, without a stack. */
void isc_sample_end(isc_sampled *t);

void isc_sample_handle(int number, siginfo_t *info, void *context);

/* The Python stack of the calling thread, outside of the handler; 0: not known.  With
 * the condition variable of the global lock, also who has that.  Changes errno. */
uint32_t isc_sample_here(uintptr_t gil_cond, isc_wait *wait);

/* The whole stack of the calling thread, as a sample would have it; caller: where the hook that asks returns to,
 * which is the newest frame that counts.  0: not known. */
uint32_t isc_sample_now(uintptr_t caller);
const isc_python_layout *isc_sample_layout(void);

/* ---- sample_count.c ----------------------------------------------------- */

/* What perf counts on a thread, if the session wants that; from any thread. */
void isc_sample_count_begin(const isc_sampled *t, uint32_t tid);
void isc_sample_count_end(const isc_sampled *t);

/* Since the last time; false: there is nothing to tell.  sure: not to be put off. */
bool isc_sample_count(isc_sampled *t, bool sure, isc_sample_counts *out);

/* ---- sample_rate.c ------------------------------------------------------ */

void isc_sample_rate_begin(uint32_t step_ns, double budget_pct);
uint32_t isc_sample_asked_ns(void);

/* The step that a thread begins with, and the one that it goes on with. */
uint32_t isc_sample_period_ns(void);
uint32_t isc_sample_step_ns(const isc_sampled *t);

/* A sample of this thread, which ran for so long since the last one, began then and ends now. */
void isc_sample_spent(isc_sampled *t, uint64_t now, uint64_t begun, uint64_t ran_ns);

/* What is spent, and told of with the next sample. */
void isc_sample_cost_add(uint64_t ticks);
uint32_t isc_sample_cost_take(void); /* in ns */

/* ---- sample_signal.c ---------------------------------------------------- */

/* Takes the signal; false: the program has a handler, and we would not see what it does with it. */
bool isc_sample_signal_begin(bool hooked);

/* What the program had, if it had no handler and ours is still there; else ours stays and passes
 * signals on.  False: the program has put another in its place. */
bool isc_sample_signal_end(void);
void isc_sample_signal_forked(void);	      /* nobody holds the lock, and nothing is pending */
bool isc_sample_is_full(const sigset_t *set); /* so many signals that it was not made for SIGURG */
bool isc_sample_is_own(const isc_sampled *t); /* of this thread, and not of the one whose memory a child shares */

/* ---- sample_fetch.c ---------------------------------------------------- */

/* One for the program has come where it believes SIGURG to be blocked: it stays pending.  False: it does not, so
 * its handler is to be called.  Signal-safe, as are the next. */
bool isc_sample_kept_back(siginfo_t *info, void *context);
/* Sends what is kept for this thread to it, and all: also what is kept for the process. */
void isc_sample_kept_give(isc_sampled *t, bool all);
void isc_sample_kept_drop(void);
/* Where sampling has ended and the program believes SIGURG to be blocked, it is from here on. */
void isc_sample_come_true(void);
void isc_sample_fetch_forked(void);
/* Sampling has ended, and from now on no system call of ours may be made: the last that sets things right are. */
void isc_sample_confine(void);

/* A SIGURG that is not ours: the program's. */
void isc_sample_signal_pass(int number, siginfo_t *info, void *context);

/* ---- sample_stack.c ----------------------------------------------------- */

/* A definition into t->scratch, under the guard; its length, 0 when it cannot be read. */
typedef size_t isc_sample_reader(const isc_python_layout *l, isc_reach *r, uintptr_t code, char *to, size_t room);
size_t isc_sample_read(isc_sampled *t, const isc_python_layout *l, uintptr_t code, bool careful,
		       isc_sample_reader *read);

/* What tells the stack of n frames in t->merged from others; 0: there are none.  Fills t->path. */
uint64_t isc_sample_path(isc_sampled *t, int n);

/* The id of a stack of n parts in t->merged.  Without room for all of it the longest root side that is known, with
 * ISC_SAMPLE_LEAF_CUT in flags; 0: nothing of it is.  careful as in isc_reach. */
uint32_t isc_sample_stack(isc_sampled *t, const isc_python_layout *l, int n, enum isc_stack_use use, bool careful,
			  uint32_t *flags);

/* ---- sample_room.c ------------------------------------------------------ */

/* Takes so many bytes of what is for such stacks; false: there is no room. */
bool isc_sample_room(enum isc_stack_room room, uint64_t bytes);
bool isc_sample_room_is_short(enum isc_stack_room room);

/* ---- sample_native.c ---------------------------------------------------- */

/* Which native frames are wanted: flags of the session.  Not signal-safe. */
void isc_sample_native_begin(uint32_t flags);
void isc_sample_native_python(const isc_python_layout *l);
void isc_sample_native_forked(void);

/* Is the C stack walked, or only its newest frame told? */
bool isc_sample_native_all(void);
uint32_t isc_sample_native_mode(void); /* ISC_CONTROL_NATIVE, _LEAF or 0 */

/* Does an address lie in the function that evaluates Python, in its module, or in a module of ours? */
bool isc_sample_is_eval(uintptr_t ip);
bool isc_sample_in_eval_module(uintptr_t ip);
bool isc_sample_in_own_module(uintptr_t ip);

/* Is the end of the stack around sp known, as t->stack_high? */
bool isc_sample_know_stack(isc_sampled *t, uintptr_t sp);

/* ---- sample_glue.c ------------------------------------------------------ */

/* A function of the interpreter that only stands between a call in Python and its frame. */
bool isc_sample_is_glue(const isc_unwind *u, const isc_native_frame *f);

/* What lies between frames of the interpreter in this walk is glue, below this address. */
void isc_sample_glue_learn(const isc_unwind *u, uintptr_t below);

/* ---- sample_merge.c ----------------------------------------------------- */

/* Fills t->merged from the Python frames in t->frames and t->activations and from the C
 * stack; how many frames it has.  Without a context: the Python frames alone. */
int isc_sample_merge(isc_sampled *t, const void *context, int python, bool careful, uint32_t *flags);

/* The native frames of a run, as addresses in t->places, root side first; how many, 0: they are not known any more. */
int isc_sample_run(isc_sampled *t, const isc_merged *run);

/* One of them. */
isc_merged isc_sample_run_frame(const isc_merged *run, uintptr_t ip);

/* ---- sample_native.c, definitions ------------------------------------------ */

/* What is known of a module, into t->scratch; its length, 0 when it cannot be read. */
size_t isc_sample_describe(isc_sampled *t, const isc_module *m, bool careful);

/* The definition of a native place; 0: there is no room. */
uint32_t isc_sample_place(isc_sampled *t, const isc_merged *frame, bool careful);

#endif
