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

/* Kinds 1 to 15 are marks; 16 to 31 calls; 32 to 47 samples; 48 to 63 waits and
 * system calls; 64 to 79 memory; 80 to 95 GPU.  Readers skip kinds they do not know. */
enum isc_kind {
	ISC_KIND_INSTANT = 1,	   /* id: name; behind it: metadata, JSON text with its length, or nothing */
	ISC_KIND_SCOPE_ENTER = 2,  /* id: name */
	ISC_KIND_SCOPE_EXIT = 3,   /* id: name */
	ISC_KIND_COUNTER = 4,	   /* id: name; behind it: double value, 8 bytes of zero */
	ISC_KIND_THREAD_NAME = 5,  /* id: name of the writing thread from now on */
	ISC_KIND_CPU = 6,	   /* arg: the CPU that the thread's next events ran on */
	ISC_KIND_SPAN_ENTER = 7,   /* id: name; behind it: isc_span.  A scope that any thread may leave */
	ISC_KIND_SPAN_EXIT = 8,	   /* id: name; behind it: isc_span; arg: enum isc_span_exit */
	ISC_KIND_CALL_ENTER = 16,  /* id: code; a call begins */
	ISC_KIND_CALL_RESUME = 17, /* id: code; a generator or coroutine goes on; arg: enum isc_call_resume */
	ISC_KIND_CALL_EXIT = 18,   /* id: code; arg: enum isc_call_exit */
	ISC_KIND_C_ENTER = 19,	   /* id: name of a C function */
	ISC_KIND_C_EXIT = 20,	   /* id: the same; arg: ISC_CALL_RETURNED or ISC_CALL_RAISED */
	ISC_KIND_TASK = 21,	   /* id: name of the task that the thread's next events belong to; 0: none */
	ISC_KIND_GOVERNED = 22,	   /* id: code, or 0 for all; arg: enum isc_governed */
	ISC_KIND_MISSED = 23,	   /* the stack is nearly used up; arg 1: calls are missed from now on; 0: no more */
	ISC_KIND_BURST = 24	   /* calls were counted; arg: isc_burst_flag; behind it: isc_burst, isc_burst_calls */
};

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

enum isc_call_resume { ISC_CALL_SENT = 0, ISC_CALL_THROWN = 1 };
enum isc_call_exit { ISC_CALL_RETURNED = 0, ISC_CALL_YIELDED = 1, ISC_CALL_RAISED = 2 };

/* What becomes of the calls of a code object in this process from now on. */
enum isc_governed {
	ISC_GOVERNED_TRACED = 0, /* all are recorded again */
	ISC_GOVERNED_OFF = 1,	 /* none is; calls that are open now may lack their exit */
	ISC_GOVERNED_UNSEEN = 2, /* none is, and none can be counted */
	ISC_GOVERNED_COST = 3	 /* says instead: id is the cost of one traced call, in 1/16 ns */
};

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
	ISC_BURST_SEEN = 1, /* up to here everything was traced, since the last one */
	ISC_BURST_END = 2,  /* the process ends: nothing was counted */
	ISC_BURST_ROUGH = 4 /* calls are right, and say nothing of those between: it is no sample */
};

/* Bytes behind a first slot begin with their length; the rest of the last slot is zero. */
#define ISC_RECORD_TEXT_MAX (254u * 16u - 4u) /* u32 length, then the text */

/* Definition types, in isc_def.type. */
enum isc_def_type {
	ISC_DEF_STRING = 1, /* UTF-8 or whatever the program had; no NUL at the end */
	ISC_DEF_CODE = 2,   /* isc_def_code, then the name and the file */
	/* 3 to 8 are of samples */
	ISC_DEF_PYTHON = 9,	    /* the interpreter of this process: its version, a NUL, the path of its program */
	ISC_DEF_SUBINTERPRETER = 10 /* one more interpreter in this process, whose calls are not traced: its number */
};

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
