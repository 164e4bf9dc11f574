/*
 * record.h - the event record, as the program writes it and the trace keeps it.
 *
 * An event is one or more slots of 16 bytes.  The first slot has the time, the
 * kind and an id; larger events carry raw bytes in the slots behind it.
 */
#ifndef ISC_BASE_RECORD_H
#define ISC_BASE_RECORD_H

#include <stdint.h>

typedef struct __attribute__((may_alias)) isc_record {
	uint64_t ticks;
	uint32_t id;   /* a definition, usually the name; 0: "?" */
	uint8_t kind;  /* enum isc_kind */
	uint8_t slots; /* of the whole event, in its first slot; 1 to 255 */
	uint16_t arg;
} isc_record;
_Static_assert(sizeof(isc_record) == 16, "record");

/* The second word of a one-slot record, for isc_write1(). */
#define ISC_RECORD_WORD(id, kind, arg) \
	((uint64_t)(uint32_t)(id) | (uint64_t)(kind) << 32 | 1ull << 40 | (uint64_t)(uint16_t)(arg) << 48)

/* Kinds 1 to 15 are marks; 16 to 31 calls; 32 to 47 samples; 48 to 63 waits;
 * of these 56 and 57 channels; 64 to 71 memory; 72 to 79 system calls; 80 to 95 GPU.  Readers skip kinds they do not know.  With each: its number in
 * traces, and its name in a dump. */
/* clang-format off */
#define ISC_KINDS(KIND) \
	/* id: name; behind it: metadata, JSON text with its length, or nothing */ \
	KIND(INSTANT, 1, "instant") \
	/* id: name */ \
	KIND(SCOPE_ENTER, 2, "scope_enter") \
	/* id: name */ \
	KIND(SCOPE_EXIT, 3, "scope_exit") \
	/* id: name; behind it: double value, 8 bytes of zero */ \
	KIND(COUNTER, 4, "counter") \
	/* id: name of the writing thread from now on */ \
	KIND(THREAD_NAME, 5, "thread_name") \
	/* arg: the CPU that the thread's next events ran on */ \
	KIND(CPU, 6, "cpu") \
	/* id: name; behind it: isc_span.  A scope that any thread may leave */ \
	KIND(SPAN_ENTER, 7, "scope_enter") \
	/* id: name; behind it: isc_span; arg: enum isc_span_exit */ \
	KIND(SPAN_EXIT, 8, "scope_exit") \
	/* id: code; a call begins */ \
	KIND(CALL_ENTER, 16, "call_enter") \
	/* id: code; a generator or coroutine goes on; arg: enum isc_call_resume */ \
	KIND(CALL_RESUME, 17, "call_resume") \
	/* id: code; arg: enum isc_call_exit */ \
	KIND(CALL_EXIT, 18, "call_exit") \
	/* id: name of a C function */ \
	KIND(C_ENTER, 19, "c_enter") \
	/* id: the same; arg: ISC_CALL_RETURNED or ISC_CALL_RAISED */ \
	KIND(C_EXIT, 20, "c_exit") \
	/* id: task that the thread's next events belong to, as ISC_TASK_NUMBERED says; 0: none */ \
	KIND(TASK, 21, "task") \
	/* id: code, or 0 for all; arg: enum isc_governed */ \
	KIND(GOVERNED, 22, "governed") \
	/* the stack is nearly used up; arg 1: calls are missed from now on; 0: no more */ \
	KIND(MISSED, 23, "missed") \
	/* calls were counted; arg: isc_burst_flag; behind it: isc_burst, isc_burst_calls */ \
	KIND(BURST, 24, "burst") \
	/* the process has started; arg: enum isc_startup_end; behind it: isc_startup */ \
	KIND(STARTUP, 25, "startup") \
	/* the interpreter is about to take its modules apart */ \
	KIND(LEAVING, 26, "leaving") \
	/* id: stack; arg: steps it stands for; behind it: isc_sample, and maybe isc_sample_counts */ \
	KIND(SAMPLE, 32, "sample") \
	/* id: ns of a step of the thread from now on; arg: enum isc_sample_rate */ \
	KIND(SAMPLE_RATE, 33, "sample_rate") \
	/* id: stack; arg: enum isc_wait_call; a wait begins that may be long */ \
	KIND(WAIT_ENTER, 48, "wait_enter") \
	/* id: stack; arg: enum isc_wait_call; behind it: isc_wait, and maybe isc_waker */ \
	KIND(WAIT_EXIT, 49, "wait_exit") \
	/* arg: enum isc_wait_call; behind it: isc_wait_brief.  Waits told as a sum */ \
	KIND(WAIT_BRIEF, 50, "wait_brief") \
	/* arg: generation; behind it: isc_gc.  A collection has ended */ \
	KIND(GC, 51, "gc") \
	/* id: ISC_DEF_CHANNEL; arg: ISC_MOVED; maybe behind it: isc_left_out.  Bytes went in */ \
	KIND(SENT, 56, "sent") \
	/* the same of bytes that came out of it */ \
	KIND(GOT, 57, "got") \
	/* id: stack; arg: enum isc_memory_call; behind it: isc_memory.  Memory was taken */ \
	KIND(MEMORY_ALLOC, 64, "memory_alloc") \
	/* id: stack that took it; arg and behind it: likewise.  It was given back */ \
	KIND(MEMORY_FREE, 65, "memory_free") \
	/* arg: enum isc_memory_when; behind it: isc_memory_total, of the process */ \
	KIND(MEMORY_TOTAL, 66, "memory_total") \
	/* id: ISC_DEF_MEMORY; arg: enum isc_memory_source */ \
	KIND(MEMORY_SOURCE, 67, "memory_source") \
	/* arg: enum isc_syscall; behind it: isc_syscall_sum.  Calls told as a sum */ \
	KIND(SYSCALLS, 72, "syscalls") \
	/* id: stack; arg: enum isc_syscall; behind it: isc_syscall_slow.  One has ended */ \
	KIND(SYSCALL, 73, "syscall") \
	/* id: errno; arg: enum isc_syscall; behind it: isc_syscall_errors */ \
	KIND(SYSCALL_ERRORS, 74, "syscall_errors") \
	/* id: stack; arg: enum isc_syscall; behind it: isc_syscall_sample */ \
	KIND(SYSCALL_SAMPLE, 75, "syscall_sample") \
	/* id: name; arg: ISC_GPU_ARG; behind it: isc_gpu_called.  A call has ended */ \
	KIND(GPU_CALL, 80, "gpu_call") \
	/* id: name; arg: ISC_GPU_ARG; behind it: isc_gpu_work.  Work has ended */ \
	KIND(GPU_WORK, 81, "gpu_work") \
	/* id: device; behind it: isc_gpu_reading.  Its clock was read */ \
	KIND(GPU_CLOCK, 82, "gpu_clock") \
	/* id: ISC_DEF_GPU_SOURCE; arg: enum isc_gpu_news; behind it: isc_gpu_source */ \
	KIND(GPU_SOURCE, 83, "gpu_source") \
	/* id: name of a scope; behind it: isc_gpu_scope.  A call was made in it */ \
	KIND(GPU_SCOPE, 84, "gpu_scope")
/* clang-format on */

#define ISC_KIND_ID_(id, number, name) ISC_KIND_##id = number,
enum isc_kind { ISC_KINDS(ISC_KIND_ID_) };

/* A set of kinds, a bit each; the last one stands for 127 and all above, which are not in use. */
typedef unsigned __int128 isc_kinds;
#define ISC_KINDS_LAST 127u
#define ISC_KIND_BIT(kind) ((isc_kinds)1 << ((kind) < ISC_KINDS_LAST ? (kind) : ISC_KINDS_LAST))
#define ISC_KINDS_FROM(first, last) (2 * ISC_KIND_BIT(last) - ISC_KIND_BIT(first))
#define ISC_KINDS_ALL (~(isc_kinds)0)

/*
 * A scope that belongs to a context (a task, a request) and not to a thread.  The
 * exit says how long it took, so nobody has to look for its partner.
 */
typedef struct isc_span {
	uint64_t instance; /* not 0; in its process later ones are higher */
	uint64_t more;	   /* enter: the instance around it, or 0; exit: ticks since the enter */
} isc_span;
_Static_assert(sizeof(isc_span) == 16, "span");

enum isc_span_exit { ISC_SPAN_STAYED = 0, ISC_SPAN_MOVED = 1 /* left on another thread than entered */ };
#define ISC_SPAN_UNKNOWN UINT64_MAX /* as its ticks: when it was entered is not known */

/* With a task: asyncio numbered it, as "Task-" and the rest of the bits.  Else it is the definition of its name. */
#define ISC_TASK_NUMBERED (1u << 31)

enum isc_call_resume { ISC_CALL_SENT = 0, ISC_CALL_THROWN = 1 };
enum isc_call_exit { ISC_CALL_RETURNED = 0, ISC_CALL_YIELDED = 1, ISC_CALL_RAISED = 2 };

/* What becomes of the calls of a code object in this process from now on. */
enum isc_governed {
	ISC_GOVERNED_TRACED = 0,  /* all are recorded again */
	ISC_GOVERNED_OFF = 1,	  /* none is; calls that are open now may lack their exit */
	ISC_GOVERNED_UNSEEN = 2,  /* none is, and none can be counted */
	ISC_GOVERNED_COST = 3,	  /* says instead: id is the cost of one traced call, in 1/16 ns */
	ISC_GOVERNED_COUNTED = 4, /* none is recorded, and each is counted: ISC_BURST_EXACT */
	ISC_GOVERNED_SPENT = 5,	  /* says instead: id is what calls cost since the last such record, in ns */
	ISC_GOVERNED_GATED = 6 /* with id 0: none is but of code that units begin with; open ones may lack their exit */
};

/* Why a process is not starting any more. */
enum isc_startup_end {
	ISC_STARTUP_SCOPE = 1, /* the first scope */
	ISC_STARTUP_TASK = 2,  /* the first asyncio task */
	ISC_STARTUP_QUIET = 3, /* nothing was imported for a second */
	ISC_STARTUP_EXIT = 4   /* it ends */
};

/* Behind the end of start-up: since calls were first traced in the process. */
typedef struct isc_startup {
	uint64_t cost_ns;   /* what tracing took */
	uint64_t worked_ns; /* of the time that the process worked */
} isc_startup;
_Static_assert(sizeof(isc_startup) == 16, "start-up");

/*
 * For a moment calls were counted that were not traced, and nothing else.  Times are
 * CPU time of the process since it began.  Behind it stands how often each
 * function was called; one that is not there was not.  An id of 0 only fills a slot.
 */
typedef struct isc_burst {
	uint64_t begin_ns, end_ns;
	uint32_t cost;	  /* of counting one call, in 1/16 ns */
	uint32_t least;	  /* what a call takes at least, in 1/16 ns */
	uint32_t calls;	  /* counted, of all functions, also those that are not listed */
	uint32_t resumes; /* of these: a generator or coroutine was entered, which costs less */
} isc_burst;
typedef struct isc_burst_calls {
	uint32_t id; /* code */
	uint32_t calls;
} isc_burst_calls;
_Static_assert(sizeof(isc_burst) == 32 && sizeof(isc_burst_calls) == 8, "burst");

enum isc_burst_flag {
	ISC_BURST_SEEN = 1,  /* up to here everything was traced, since the last one */
	ISC_BURST_END = 2,   /* the process ends: nothing was counted */
	ISC_BURST_ROUGH = 4, /* calls are right, and say nothing of those between: it is no sample */
	ISC_BURST_EXACT = 8  /* all calls of these functions since the last such record; its times say nothing */
};

/* Behind a sample. */
typedef struct isc_sample {
	uint32_t period_ns; /* CPU time of one step */
	uint32_t flags;	    /* enum isc_sample_flag */
	uint32_t task;	    /* the asyncio task, as ISC_TASK_NUMBERED says; 0: none, or not known */
	uint32_t cost_ns;   /* CPU time of the process that samples took since the last that said so */
} isc_sample;
_Static_assert(sizeof(isc_sample) == 16, "sample");

/* Behind that, where there is something to tell. */
typedef struct isc_sample_counts {
	uint64_t instructions; /* of the thread, since its last sample; ISC_COUNT_UNKNOWN: not counted */
	uint64_t cycles;       /* likewise */
	uint64_t grown;	       /* bytes by which the most memory of the process grew, since its last sample */
	uint32_t faults;       /* of pages that had not to be read, of the thread, since its last sample */
	uint32_t kernel_us;    /* that the thread had in the kernel, since its last sample; 0 where faults is */
} isc_sample_counts;
_Static_assert(sizeof(isc_sample_counts) == 32, "counts of a sample");
#define ISC_COUNT_UNKNOWN UINT64_MAX

enum isc_sample_flag {
	ISC_SAMPLE_CUT = 1u << 0,	  /* the root side is missing */
	ISC_SAMPLE_EDGE = 1u << 1,	  /* the newest frame was being made or left, and is left out */
	ISC_SAMPLE_FAULT = 1u << 2,	  /* the walk met memory that it could not read */
	ISC_SAMPLE_NO_PYTHON = 1u << 3,	  /* the thread has no Python on it */
	ISC_SAMPLE_OTHER = 1u << 4,	  /* no room for another stack */
	ISC_SAMPLE_PASSED = 1u << 5,	  /* frames that are no code objects were passed over */
	ISC_SAMPLE_BLIND = 1u << 6,	  /* Python frames cannot be read in this process */
	ISC_SAMPLE_GONE = 1u << 7,	  /* the thread ended before the signal came */
	ISC_SAMPLE_NATIVE_CUT = 1u << 8,  /* native frames on the root side are missing */
	ISC_SAMPLE_GUESSED = 1u << 9,	  /* some native frames were found by a scan of the stack */
	ISC_SAMPLE_UNPLACED = 1u << 10,	  /* Python frames on the root side, with no native ones between them */
	ISC_SAMPLE_SWITCHED = 1u << 11,	  /* the C stack goes on in another greenlet: left out */
	ISC_SAMPLE_SYSCALL = 1u << 12,	  /* behind a system call; told only of samples that have faults */
	ISC_SAMPLE_LEAF_CUT = 1u << 13,	  /* no room for the whole stack: the id is its longest known root side */
	ISC_SAMPLE_LEAF_NATIVE = 1u << 14 /* with leaf_cut: the innermost frame was native, otherwise Python */
};

/* The upper half of the flags says on which CPU it ran, and which memory node that belongs to; where nodes have
 * higher numbers, or there is but one, the CPU alone. */
#define ISC_SAMPLE_FLAGS 0xffffu
#define ISC_SAMPLE_NODES 15u
#define ISC_SAMPLE_CPUS 4095u
#define ISC_SAMPLE_RAN_ON(cpu, node) \
	(((cpu) < ISC_SAMPLE_CPUS ? (cpu) + 1u : 0u) << 20 | ((node) < ISC_SAMPLE_NODES ? (node) + 1u : 0u) << 16)
#define ISC_SAMPLE_CPU(flags) ((flags) >> 20 != 0 ? ((flags) >> 20) - 1u : UINT32_MAX)
#define ISC_SAMPLE_NODE(flags) (((flags) >> 16 & 15u) != 0 ? ((flags) >> 16 & 15u) - 1u : ISC_NODE_UNKNOWN)
#define ISC_NODE_UNKNOWN UINT32_MAX

enum isc_sample_rate {
	ISC_SAMPLE_RATE_ASKED = 0,
	ISC_SAMPLE_RATE_GOVERNED = 1, /* longer steps, to stay inside the budget */
	ISC_SAMPLE_RATE_ENDED = 2,    /* the program needs the signal */
	ISC_SAMPLE_RATE_REFUSED = 3   /* some threads cannot be sampled: they get no timer */
};

/* What a thread was in when it waited: number in traces, and name.  What that means is for the analysis to say. */
/* clang-format off */
#define ISC_WAITS(CALL) \
	CALL(GIL, 1, "gil") \
	CALL(MUTEX, 2, "mutex") \
	CALL(RWLOCK, 3, "rwlock") \
	CALL(SEM, 4, "sem") \
	CALL(COND, 5, "cond") \
	CALL(BARRIER, 6, "barrier") \
	CALL(JOIN, 7, "join") \
	CALL(READ, 8, "read") \
	CALL(WRITE, 9, "write") \
	CALL(RECV, 10, "recv") \
	CALL(SEND, 11, "send") \
	CALL(CONNECT, 12, "connect") \
	CALL(ACCEPT, 13, "accept") \
	CALL(SYNC, 14, "sync") /* fsync */ \
	CALL(POLL, 15, "poll") \
	CALL(SELECT, 16, "select") \
	CALL(EPOLL, 17, "epoll") \
	CALL(SLEEP, 18, "sleep") \
	CALL(SIGNAL, 19, "signal") /* pause, sigwait */ \
	CALL(CHILD, 20, "child") \
	CALL(YIELD, 21, "yield") /* the time between yields that follow each other */
/* clang-format on */

#define ISC_WAIT_ID_(id, number, name) ISC_WAIT_##id = number,
enum isc_wait_call {
	ISC_WAITS(ISC_WAIT_ID_) ISC_WAIT_CALLS,
	ISC_WAIT_GC = ISC_WAIT_CALLS /* in totals only */
};

/* Behind the end of a wait; it needs no record of its begin. */
typedef struct isc_wait {
	uint64_t ticks;	       /* how long it took */
	uint32_t holder;       /* tid of the thread that had what was waited for; 0: not known */
	uint32_t holder_stack; /* where that was when it was last seen; 0: not known */
} isc_wait;
_Static_assert(sizeof(isc_wait) == 16, "wait");

/* Behind that, where it is known what ended the wait. */
typedef struct isc_waker {
	uint32_t channel; /* that was waited on; 0: none */
	uint32_t poster; /* tid of the thread that last posted the semaphore or signalled the condition; 0: not known */
	uint64_t posted_ticks; /* how long before the end that was */
} isc_waker;
_Static_assert(sizeof(isc_waker) == 16, "waker");

/*
 * What a call moved over a channel, in 16 bits: the length in bits of the number of bytes, and how long before the
 * record the call began, in ticks.  Those are rounded up, by a sixteenth at most: whoever was woken by these bytes was
 * woken behind that moment.
 */
#define ISC_MOVED_LENGTH_BITS 6u
#define ISC_MOVED_LENGTH(arg) ((uint32_t)(arg) & ((1u << ISC_MOVED_LENGTH_BITS) - 1)) /* 0: nothing was moved */

static inline uint16_t isc_moved(uint64_t bytes, uint64_t ticks)
{
	uint32_t length = bytes != 0 ? 64u - (uint32_t)__builtin_clzll(bytes) : 0;
	uint32_t shift = ticks >= 16 ? 59u - (uint32_t)__builtin_clzll(ticks) : 0;
	/* Sixteen steps in each power of two; one more than 31 of them is the next power. */
	uint32_t steps = (uint32_t)(ticks >> shift) + ((ticks & ((1ull << shift) - 1)) != 0);

	length = length < 63 ? length : 63;
	return (uint16_t)(length | (steps + 16 * shift) << ISC_MOVED_LENGTH_BITS);
}

static inline uint64_t isc_moved_ticks(uint16_t arg)
{
	uint32_t code = (uint32_t)arg >> ISC_MOVED_LENGTH_BITS;

	if (code >= 32 + 16 * 59) /* nothing takes as long */
		return UINT64_MAX;
	return code < 32 ? code : (uint64_t)(code % 16 + 16) << (code / 16 - 1);
}

/* Behind it, if calls on this channel and in this direction were left out since the last such record. */
typedef struct isc_left_out {
	uint64_t calls;
	uint64_t zero;
} isc_left_out;
_Static_assert(sizeof(isc_left_out) == 16, "calls left out");

/* Waits since the last such record of the thread and call: too short to be told each, or
 * while the budget was used up. */
typedef struct isc_wait_brief {
	uint64_t ticks;
	uint64_t count;
} isc_wait_brief;
_Static_assert(sizeof(isc_wait_brief) == 16, "brief waits");

/* Behind a collection. */
typedef struct isc_gc {
	uint64_t ticks;	    /* how long it took */
	uint32_t collected; /* objects */
	uint32_t unseen;    /* collections since the last one that were not told of */
} isc_gc;
_Static_assert(sizeof(isc_gc) == 16, "collection");
#define ISC_GC_WATCHED UINT16_MAX /* as the generation: none has ended, they are told of from now on */

/* How memory was taken. */
enum isc_memory_call {
	ISC_MEMORY_MALLOC = 1,
	ISC_MEMORY_CALLOC = 2,
	ISC_MEMORY_REALLOC = 3,
	ISC_MEMORY_ALIGNED = 4, /* posix_memalign, aligned_alloc and their like */
	ISC_MEMORY_MMAP = 5,	/* anonymous, to be written */
	ISC_MEMORY_MREMAP = 6,
	ISC_MEMORY_CALLS = 7
};

/* Behind memory that was taken or given back: one of many, recorded with the probability
 * 1 - exp(-bytes / mean).  What it stands for is its bytes over that. */
typedef struct isc_memory {
	uint64_t address;
	uint64_t bytes;
	uint32_t mean;	/* bytes; 0: all are recorded */
	uint32_t node;	/* of memory that the thread was near to; ISC_NODE_UNKNOWN: not known, or there is but one */
	uint32_t flags; /* enum isc_memory_flag */
	uint32_t zero;
} isc_memory;
_Static_assert(sizeof(isc_memory) == 32, "memory");

enum isc_memory_flag {
	ISC_MEMORY_UNFOLLOWED = 1u << 0, /* there was no room to notice when it is given back */
	ISC_MEMORY_STALE = 1u << 1	 /* given back unseen, some time before: its address was given out again */
};

/* Since the process began, of all its threads. */
typedef struct isc_memory_total {
	uint64_t calls, bytes; /* of malloc() and its like */
	uint64_t frees;
	uint64_t maps, mapped_bytes; /* of anonymous memory */
	uint64_t mean;		     /* now */
	uint64_t unfollowed;	     /* that were taken and not followed */
	uint64_t zero;
} isc_memory_total;
_Static_assert(sizeof(isc_memory_total) == 64, "memory in total");

enum isc_memory_when {
	ISC_MEMORY_NOW = 0,
	ISC_MEMORY_LEAVING = 1, /* the interpreter is about to clean up: what is freed later was in use to the end */
	ISC_MEMORY_END = 2
};

enum isc_memory_source {
	ISC_MEMORY_BYPASSED = 1u << 0,	   /* the program has an allocator in front of us: nothing is seen */
	ISC_MEMORY_NEW_BYPASSED = 1u << 1, /* that of this name answers C++'s new and delete itself */
	ISC_MEMORY_PYTHON = 1u << 2	   /* Python's own allocators tell, and nobody else does */
};

/* What work of a GPU is. */
enum isc_gpu_job {
	ISC_JOB_KERNEL = 0,
	ISC_JOB_H2D = 1,
	ISC_JOB_D2H = 2,
	ISC_JOB_D2D = 3,
	ISC_JOB_P2P = 4,
	ISC_JOB_COPY = 5, /* between places that are not known */
	ISC_JOB_MEMSET = 6,
	ISC_JOB_SYNC = 7, /* a wait as the device's side tells of it: no work */
	ISC_JOB_IDLE = 8, /* a marker, a barrier: an order of things, no work */
	ISC_JOBS = 9
};

/* What a call does to the thread that makes it. */
enum isc_gpu_role { ISC_ROLE_OTHER = 0, ISC_ROLE_LAUNCH = 1, ISC_ROLE_COPY = 2, ISC_ROLE_SYNC = 3 };

/* What times in a record are of. */
enum isc_gpu_time {
	ISC_GPU_TIME_DEVICE = 0,    /* ns of the device's own clock, to be turned into the host's by its readings */
	ISC_GPU_TIME_MONOTONIC = 1, /* ns of CLOCK_MONOTONIC, made so by the source */
	ISC_GPU_TIME_TICKS = 2	    /* ticks of the session */
};

enum isc_gpu_page { ISC_PAGE_UNKNOWN = 0, ISC_PAGE_PINNED = 1, ISC_PAGE_PAGEABLE = 2 };

/* arg of work and of calls.  what: enum isc_gpu_job, of calls enum isc_gpu_role; page: of copies; holds: of
 * calls, 1 when it returned only after all that it asked for was done. */
#define ISC_GPU_ARG(what, time, page, holds) ((uint16_t)((what) | (time) << 8 | (page) << 10 | (holds) << 12))
#define ISC_GPU_ARG_WHAT(arg) ((arg) & 0xffu)
#define ISC_GPU_ARG_TIME(arg) ((arg) >> 8 & 3u)
#define ISC_GPU_ARG_PAGE(arg) ((arg) >> 10 & 3u)
#define ISC_GPU_ARG_HOLDS(arg) ((arg) >> 12 & 1u)

/* Behind a call of the GPU's library. */
typedef struct isc_gpu_called {
	uint64_t start, end;
	uint64_t correlation; /* the same for the work it asked for, in this process; 0: none */
	uint32_t tid;	      /* thread that made it; 0: the one that wrote the record */
	uint32_t stack;	      /* where; 0: not known */
	uint32_t device;      /* isc_def_gpu; 0: not known */
	uint32_t error;	      /* what it returned; 0: it was done */
	uint64_t zero;
} isc_gpu_called;
_Static_assert(sizeof(isc_gpu_called) == 48, "call of a GPU's library");

/* Behind work of a GPU.  start = end = 0: the device had no time stamp. */
typedef struct isc_gpu_work {
	uint64_t start, end;
	uint64_t correlation; /* 0: not known */
	uint64_t bytes;	      /* copied or set */
	uint64_t stream;      /* of its context: a number that tells streams apart */
	uint32_t device;      /* isc_def_gpu */
	uint32_t context;
	uint32_t grid[3], block[3]; /* of kernels; all 0: not known */
	uint32_t error;		    /* what it ended with; 0: well */
	uint32_t graph;		    /* the graph that it is a part of, as the library counts them; 0: none */
} isc_gpu_work;
_Static_assert(sizeof(isc_gpu_work) == 80, "work of a GPU");

/* Behind a reading of a device's clock between two of the host's. */
typedef struct isc_gpu_reading {
	uint64_t before; /* ticks */
	uint64_t device_ns;
	uint64_t after; /* ticks */
	uint64_t zero;
} isc_gpu_reading;
_Static_assert(sizeof(isc_gpu_reading) == 32, "reading of a GPU's clock");

/* What a source of GPU records has to say of itself. */
enum isc_gpu_news {
	ISC_GPU_STARTED = 1, /* code: its version */
	ISC_GPU_ENDED = 2,
	ISC_GPU_ABSENT = 3,   /* its library or driver is not there, or refuses: code, detail the call */
	ISC_GPU_BUSY = 4,     /* another profiler has it */
	ISC_GPU_FAILED = 5,   /* a call of it failed: code, detail the call */
	ISC_GPU_DROPPED = 6,  /* count: records that the device's side could not keep */
	ISC_GPU_NO_CLOCK = 7, /* the clock of the device cannot be read: code */
	ISC_GPU_REDUCED = 8   /* less is told, to stay inside the budget: graphs instead of their parts */
};

typedef struct isc_gpu_source {
	uint64_t count;
	uint32_t code;	 /* of the library; 0: none */
	uint32_t detail; /* a name: the call or reason; 0: none */
} isc_gpu_source;
_Static_assert(sizeof(isc_gpu_source) == 16, "source of GPU records");

/* A call of the GPU's library, and with it all work that it asked for, belongs to this scope: the
 * library itself says so, whatever thread tells of it and when. */
typedef struct isc_gpu_scope {
	uint64_t correlation;
	uint64_t instance; /* the lower half of isc_span's; 0: the scope has none */
} isc_gpu_scope;
_Static_assert(sizeof(isc_gpu_scope) == 16, "scope of a call");

#define ISC_STACK_FRAMES_MAX 512u /* deeper ones are cut */

/* Bytes behind a first slot begin with their length; the rest of the last slot is zero. */
#define ISC_RECORD_TEXT_MAX (254u * 16u - 4u) /* u32 length, then the text */

/* Definition types, in isc_def.type. */
enum isc_def_type {
	ISC_DEF_STRING = 1, /* UTF-8 or whatever the program had; no NUL at the end */
	ISC_DEF_CODE = 2,   /* isc_def_code, then the name and the file */
	ISC_DEF_STACK = 3,  /* isc_def_stack */
	ISC_DEF_LINES = 4,  /* isc_def_lines, then the table */
	ISC_DEF_NATIVE = 5, /* isc_def_native: what a stack has instead of code in a native frame */
	ISC_DEF_MODULE = 6, /* isc_def_module, then the build id and the path */
	ISC_DEF_RUN = 7,    /* isc_def_run, then places: native frames of a stack at once.  Not in a file */
	/* up to 8 are of samples */
	ISC_DEF_PYTHON = 9,	     /* the interpreter of this process: its version, a NUL, the path of its program */
	ISC_DEF_SUBINTERPRETER = 10, /* one more interpreter in this process, whose calls are not traced: its number */
	ISC_DEF_CHANNEL = 12,	     /* isc_def_channel, then the two addresses */
	ISC_DEF_MEMORY = 24,	     /* whose malloc() this process has: the name of a file */
	ISC_DEF_FOLDED = 11,	     /* isc_def_folded: names that are counted as one, for there are many */
	ISC_DEF_GPU = 16,	     /* isc_def_gpu, then the name of the device */
	ISC_DEF_GPU_SOURCE = 17,     /* who tells of GPUs in this process: "CUPTI", "OpenCL" */
	ISC_DEF_KERNEL = 18	     /* a kernel as its compiler named it; in a file a string, as it was written */
};

enum isc_gpu_api { ISC_GPU_CUDA = 1, ISC_GPU_OPENCL = 2, ISC_GPU_TOLD = 3 /* by the program: tests */ };
enum isc_gpu_trait {
	ISC_GPU_IS_CPU = 1u << 0, /* it takes the time of the program's own processors */
	ISC_GPU_SHARED = 1u << 1  /* its memory is the host's */
};

/* A device, as one interface counts them. */
typedef struct isc_def_gpu {
	uint32_t number;
	uint32_t api;	 /* enum isc_gpu_api */
	uint32_t traits; /* enum isc_gpu_trait */
	uint32_t name_len;
} isc_def_gpu;
_Static_assert(sizeof(isc_def_gpu) == 16, "device");

enum isc_channel_kind {
	ISC_CHANNEL_PIPE = 1, /* FIFOs included */
	ISC_CHANNEL_UNIX = 2,
	ISC_CHANNEL_TCP = 3,
	ISC_CHANNEL_UDP = 4,
	ISC_CHANNEL_EVENTFD = 5,
	ISC_CHANNEL_SOCKET = 6 /* of another family */
};

/*
 * What a process reads from and writes to: a pipe, one end of a socket, or an eventfd.  Both ends of a pipe have its
 * inode.  An end of TCP or UDP has the addresses of the other one, exchanged.  Ends of a unix socket have an inode
 * each; that of the other one is known of a pair, otherwise its process and the address that it was connected to.
 */
typedef struct isc_def_channel {
	uint32_t kind;	 /* enum isc_channel_kind */
	uint32_t folded; /* 1: it stands for all of which no more is known, as there are many */
	uint64_t device;
	uint64_t inode;		      /* of an eventfd, which has none: the number of the descriptor */
	uint64_t peer_inode;	      /* of the other end of a pair; 0: not known */
	uint32_t peer_pid;	      /* of whoever made the other end of a unix socket; 0: not known */
	uint16_t local_len, peer_len; /* of the addresses, as text */
} isc_def_channel;
_Static_assert(sizeof(isc_def_channel) == 40, "channel");

/* A Python frame and, through its parents, those that called it. */
typedef struct isc_def_stack {
	uint32_t parent; /* 0: this is the root */
	uint32_t code;	 /* 0: "?"; of a native frame an isc_def_native */
	uint32_t offset; /* of its instruction, in bytes; ISC_STACK_NOT_BEGUN: before the first; native: 0 */
	uint32_t lines;	 /* 0: not known */
} isc_def_stack;
#define ISC_STACK_NOT_BEGUN UINT32_MAX

/*
 * Native frames that follow each other, as one definition in the program.  Behind it stand the ids of
 * their isc_def_native, root side first.  It takes as many places as it has frames, so that the recorder
 * can write each as an isc_def_stack: frame i has the id of the definition and i.
 */
typedef struct isc_def_run {
	uint32_t parent; /* 0: the root is in it */
	uint32_t count;	 /* 1 to ISC_STACK_FRAMES_MAX */
} isc_def_run;
_Static_assert(sizeof(isc_def_run) == 8, "run of frames");

/* A place in native code.  Its name is what the recorder defines under ISC_DEF_NAMED of its id. */
typedef struct isc_def_native {
	uint32_t module; /* 0: in none, and the offset is an address, without its lowest 12 bits */
	uint32_t flags;	 /* enum isc_native_place */
	uint64_t offset; /* in the module as it lies in its file: an address less the load bias */
} isc_def_native;
_Static_assert(sizeof(isc_def_native) == 16, "native");

enum isc_native_place {
	ISC_PLACE_GUESSED = 1u << 0, /* found by a scan of the stack */
	ISC_PLACE_CALLER = 1u << 1,  /* behind an instruction that calls; else the beginning of a function */
	ISC_PLACE_INSIDE = 1u << 2   /* where it was met, as the beginning is not known */
};

/* A definition of the recorder: the name of a place, as an isc_def_code with ISC_CODE_NATIVE in its flags. */
#define ISC_DEF_NAMED (1u << 31)
#define ISC_CODE_NATIVE (1u << 31)

/* A file that is mapped as code. */
typedef struct isc_def_module {
	uint64_t bias, start, end;
	uint32_t build_len; /* 0: it has no build id */
	uint32_t path_len;
} isc_def_module;
_Static_assert(sizeof(isc_def_module) == 32, "module");

/* The line table of a code object, cut where ISC_DEF_MAX ends. */
typedef struct isc_def_lines {
	uint32_t code;
	uint32_t version;    /* of the interpreter: 0x030b */
	uint32_t first_line; /* which the table counts from */
	uint32_t length;     /* of the table */
} isc_def_lines;

/* So many different names, about, have this one together; a later one of the same name counts instead. */
typedef struct isc_def_folded {
	uint32_t name; /* a string or code, with # in place of what differs */
	uint32_t count;
} isc_def_folded;

/* A Python code object, as far as it fits into ISC_DEF_MAX. */
typedef struct isc_def_code {
	uint32_t line;	   /* its first one */
	uint32_t flags;	   /* co_flags */
	uint32_t name_len; /* qualified name; before Python 3.11 the plain one */
	uint32_t file_len;
} isc_def_code;

/*
 * One definition, 16-byte aligned: this head, then len bytes.  State COMMITTED
 * is release-stored last; an id is used only after that.
 */
enum isc_def_state { ISC_DEF_HOLE = 0, ISC_DEF_RESERVED = 1, ISC_DEF_COMMITTED = 2 };
#define ISC_DEF_HEAD(len, type, state) ((uint64_t)(len) << 32 | (uint64_t)(type) << 16 | (uint64_t)(state))
#define ISC_DEF_LEN(head) ((uint32_t)((head) >> 32))
#define ISC_DEF_TYPE(head) ((uint16_t)((head) >> 16))
#define ISC_DEF_STATE(head) ((uint16_t)(head))
#define ISC_DEF_MAX 65536u /* longer ones are cut by the caller */

#endif
