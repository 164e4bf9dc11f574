/*
 * layout.h - what the program and the recorder share: three kinds of files in
 * the session folder, byte for byte.  Each carries our seal.
 *
 *	control			one per session, made by the recorder
 *	pPID.GEN		one pool of event blocks per process image
 *	dPID.GEN		its definitions
 *
 * Every field has one writer, named in its comment.  Atomic fields say with
 * which order they are stored.  The recorder trusts nothing it reads here: the
 * program may be broken, or may have written over us.
 */
#ifndef ISC_RUNTIME_LAYOUT_H
#define ISC_RUNTIME_LAYOUT_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/record.h"

/* Raised with every change of this file, of record.h or of an exported
 * function: parts of two installs that meet in one program stay inert. */
#define ISC_RT_ABI 25u

#define ISC_SESSION_VARIABLE "INFERSCOPE_SESSION" /* the session folder's path */

/* What the CUDA driver loads when it is initialised, and what we let it load. */
#define ISC_CUDA_VARIABLE "CUDA_INJECTION64_PATH"
#define ISC_CUPTI_VARIABLE "INFERSCOPE_CUPTI" /* the CUPTI to use; "none": as if there were none */
#define ISC_OPENCL_VARIABLE "OPENCL_LAYERS"
#define ISC_OPENCL_LIBRARY "libinferscope_opencl.so"
#define ISC_CUDA_LIBRARY "libinferscope_cuda.so"

/* ---- our seal --------------------------------------------------------- */

#define ISC_SEAL_MAGIC 0x314c414553435349ull

/*
 * Every file that we make in a session's folder says so and names the session.
 * The seal is written before anything else, so a maker that dies at any later
 * moment leaves a file that is known as ours.  Whatever has no seal, or that of
 * another session, is somebody else's and is never written to or removed.
 */
typedef struct isc_seal {
	uint64_t magic; /* ISC_SEAL_MAGIC */
	uint8_t session_id[16];
} isc_seal;
_Static_assert(sizeof(isc_seal) == 24, "seal");

/* ---- control ---------------------------------------------------------- */

#define ISC_CONTROL_NAME "control"
#define ISC_CONTROL_MAGIC 0x314c544353494e49ull
#define ISC_CONTROL_CPUS 768u	 /* whose memory node is told */
#define ISC_ROSTER_ENTRIES 4096u /* 1 MiB: a fork storm of 20 ms at 200 k/s */
#define ISC_ROSTER_ARGV 200u

enum isc_control_phase {
	ISC_PHASE_WAITING = 0, /* --delay has not passed */
	ISC_PHASE_COLLECTING = 1,
	ISC_PHASE_DONE = 2 /* --duration has passed, or the recorder is gone */
};

enum isc_control_flag {
	ISC_CONTROL_AGENT = 1u << 0,	     /* the hooks are wanted */
	ISC_CONTROL_FOLLOW_PYTHON = 1u << 1, /* Python children are traced */
	ISC_CONTROL_FOLLOW_ALL = 1u << 2,    /* all children are; neither: the root process alone */
	ISC_CONTROL_CALLS = 1u << 3,	     /* Python calls are traced */
	ISC_CONTROL_ALL_FRAMES = 1u << 4,    /* also those that are left out otherwise */
	ISC_CONTROL_C_CALLS = 1u << 5,	     /* and calls of C functions */
	ISC_CONTROL_SCRATCH = 1u << 6,	     /* the trace is nobody's: it goes with the session */
	ISC_CONTROL_SAMPLE = 1u << 7,	     /* stacks are sampled */
	ISC_CONTROL_WAITS = 1u << 8,	     /* the hooks tell how long calls wait */
	ISC_CONTROL_COUNTS = 1u << 9,	     /* with samples, what the two events below have counted */
	ISC_CONTROL_NATIVE = 1u << 12,	     /* with all their native frames */
	ISC_CONTROL_NATIVE_LEAF = 1u << 13,  /* with the newest frame alone, where that is a native one */
	ISC_CONTROL_GPU = 1u << 14,	     /* work of GPUs and the calls that ask for it */
	ISC_CONTROL_SYSCALL_ARGS = 1u << 15, /* with slow system calls, which file or address they were about */
	ISC_CONTROL_MEMORY = 1u << 16	     /* who takes memory */
};

enum isc_clock_source {
	ISC_CLOCK_MONOTONIC = 0, /* ticks are nanoseconds of CLOCK_MONOTONIC */
	ISC_CLOCK_TSC = 1	 /* ticks are the time-stamp counter */
};

/* How a process image came to be, in the roster. */
enum isc_birth {
	ISC_BIRTH_IMAGE = 1, /* a program was loaded: first start or exec */
	ISC_BIRTH_FORK = 2,  /* a fork child, seen by the fork hook or at its first event */
	ISC_BIRTH_BARREN = 3 /* no birth: an image told of before could not open its pool */
};

/*
 * One line of the roster: every process image that has the runtime says here
 * that it exists, before it does anything else, so that no child goes missing
 * however short it lives.  The taker fills the entry and release-stores seq last.
 */
typedef struct isc_roster_entry {
	_Atomic uint64_t seq; /* number of this entry + 1 */
	uint64_t ticks;
	uint32_t pid; /* as the process sees itself */
	uint32_t ppid;
	uint16_t birth;	   /* enum isc_birth */
	uint16_t argv_len; /* bytes used below: arguments with their NULs */
	uint16_t argv_cut; /* 1: more arguments than fit */
	uint16_t traced;   /* 1: events of this image may follow */
	uint8_t pad[24];
	char argv[ISC_ROSTER_ARGV];
} isc_roster_entry;
_Static_assert(sizeof(isc_roster_entry) == 256, "roster entry");

typedef struct isc_control {
	_Atomic uint64_t magic; /* recorder, release, last */
	uint32_t abi;		/* ISC_RT_ABI of the recorder */
	uint32_t flags;		/* enum isc_control_flag */
	uint8_t session_id[16];
	uint32_t clock_source;	   /* enum isc_clock_source */
	uint32_t root_pid;	   /* the program that `run` started; recorder, before its exec */
	uint32_t first_blocks;	   /* blocks of a new pool */
	uint32_t max_blocks;	   /* and its limit */
	uint32_t max_slots;	   /* threads that can write at once */
	uint32_t first_defs_bytes; /* backed bytes of a new definitions file */
	uint32_t max_defs_bytes;   /* and its limit */
	uint32_t roster_entries;   /* ISC_ROSTER_ENTRIES */
	uint64_t start_ns;	   /* CLOCK_MONOTONIC at the start of the session */
	_Atomic uint32_t phase;	   /* enum isc_control_phase; recorder */
	float budget_pct;	   /* slowdown that may be caused inside; negative: any; recorder, before publishing */
	_Atomic uint32_t flush_asked; /* 80: times that everything written so far was asked for; processes, fetch_add */
	_Atomic uint32_t flush_done;  /* so many of them are answered: it is in the trace; recorder, release, a futex */
	_Atomic uint32_t windows;     /* 88: parts of processes that are being looked at now; processes, fetch_add */
	_Atomic uint32_t forget;      /* 1: with the next flush old events may go, if there is no window; processes */
	_Atomic uint32_t forgotten;   /* times that they went; recorder, before flush_done */
	uint32_t rate_hz;	      /* 100: samples per second of CPU time; recorder, before publishing */
	uint32_t count_type;	  /* of perf: what stands for instructions and cycles; recorder, before publishing */
	uint32_t memory_mean;	  /* bytes, on average, between those that are looked at; recorder, before publishing */
	uint64_t count_config[2]; /* 112 */
	/* A line of its own: every new process adds to it. */
	_Atomic uint64_t roster_tail;	/* 128: entries taken; processes, fetch_add */
	_Atomic uint64_t attach_failed; /* 136: images that could not open a pool; processes */
	_Atomic uint64_t start_cost_ns; /* 144: CPU time that our own start took in them; processes, fetch_add */
	uint32_t ticks_per_us;		/* 152: of the clock; recorder, before publishing */
	_Atomic uint32_t
		outside_ppm;	  /* 156: of the program's CPU time, what watching it from outside costs; recorder */
	isc_seal seal;		  /* 160: recorder, first of all */
	float startup_pct;	  /* 184: budget_pct while a process starts; recorder, before publishing */
	_Atomic uint32_t slot_us; /* 188: of time, in which all units are recorded call by call or none; recorder */
	uint8_t pad2[64];
	char trace_path[2048]; /* 256: where the trace goes, for salvage; recorder */
	char rt_path[1024];    /* the runtime as it is preloaded; recorder */
	uint8_t node_of_cpu
		[ISC_CONTROL_CPUS]; /* memory node + 1; 0: not known, or there is but one; recorder, before publishing */
	isc_roster_entry roster[];  /* 4096: entry n lies at n % roster_entries */
} isc_control;
_Static_assert(offsetof(isc_control, roster_tail) == 128, "control: roster_tail");
_Static_assert(offsetof(isc_control, seal) == 160, "control: seal");
_Static_assert(offsetof(isc_control, trace_path) == 256, "control: trace_path");
_Static_assert(sizeof(isc_control) == 4096, "control");

/* A FIFO that the recorder reads: a byte in it wakes it up. */
#define ISC_BELL_NAME "bell"

/* A file of zeros, sealed as a pool and backed in full, that the first process to write claims by
 * rename, so that the root process starts with room while children start small.
 * Its size says how many blocks it has: isc_pool_backed_bytes(). */
#define ISC_SPARE_NAME "spare"

/* ---- pool ------------------------------------------------------------- */

#define ISC_POOL_MAGIC 0x314c4f4f5053494eull
#ifndef ISC_BLOCK_SIZE /* tests shrink it to widen races */
#define ISC_BLOCK_SIZE 8192u
#endif
#define ISC_BLOCK_HEADER 64u
#define ISC_BLOCK_SLOTS ((ISC_BLOCK_SIZE - ISC_BLOCK_HEADER) / 16u)
#define ISC_STREAMS 2u /* 0 ordinary, 1 nested in a signal handler */
#define ISC_MAX_SLOTS 4096u
#define ISC_UNIT_CODES 8u

/* Block state: seq:44 | slot:16 | stream:1 | pin:1 | phase:2.  FREE is the word 0. */
enum { ISC_BLOCK_FREE = 0, ISC_BLOCK_INIT = 1, ISC_BLOCK_WRITING = 2, ISC_BLOCK_FULL = 3, ISC_BLOCK_PHASE = 3 };
#define ISC_STATE_PIN 4ull
#define ISC_STATE_STREAM 8ull
#define ISC_STATE_SLOT(slot) ((uint64_t)(slot) << 4)
#define ISC_STATE_OWNER (0xffffull << 4 | ISC_STATE_STREAM)
#define ISC_STATE_SEQ(word) ((word) >> 20)
#define ISC_STATE_SLOT_OF(word) ((uint32_t)((word) >> 4 & 0xffff))
#define ISC_STATE(seq, slot, stream, phase) \
	((uint64_t)(seq) << 20 | ISC_STATE_SLOT(slot) | ((stream) ? ISC_STATE_STREAM : 0) | (uint64_t)(phase))

typedef struct isc_block {
	_Atomic uint64_t committed; /*  0 events:32 | slots:32; owner, release */
	uint64_t first;		    /*  8 number of the event in slot 0; owner, in INIT only */
	uint64_t seq;		    /* 16 take number; owner, in INIT only */
	uint64_t serial;	    /* 24 thread serial; owner, in INIT only */
	uint32_t tid;		    /* 32 */
	uint32_t stream;	    /* 36 */
	uint64_t pad[3];
	isc_record record[ISC_BLOCK_SLOTS];
} isc_block;
_Static_assert(sizeof(isc_block) == ISC_BLOCK_SIZE, "block");

enum isc_slot_phase { ISC_SLOT_FREE = 0, ISC_SLOT_INIT = 1, ISC_SLOT_LIVE = 2 };

typedef struct isc_slot {		    /* one per thread that writes */
	_Atomic uint32_t phase;		    /*  0 taker: CAS FREE -> INIT, release LIVE; recorder: FREE */
	_Atomic uint32_t tid;		    /*  4 taker */
	uint64_t serial;		    /*  8 taker; never 0, never used twice in a pool */
	uint64_t birth_ticks;		    /* 16 taker */
	_Atomic uint64_t upto[ISC_STREAMS]; /* 24 events numbered so far, at close and at drop; owner, release */
	_Atomic uint64_t deep;		    /* 40 events lost below the second nesting level; owner */
	uint64_t pad[2];
} isc_slot;
_Static_assert(sizeof(isc_slot) == 64, "slot");

typedef struct isc_pool {
	_Atomic uint64_t magic;		    /*  0 creator, release, last */
	uint32_t abi;			    /*  8 */
	uint32_t block_size;		    /* 12 */
	uint32_t max_blocks;		    /* 16 */
	uint32_t max_slots;		    /* 20 */
	uint32_t pid;			    /* 24 as the process sees itself */
	uint32_t ppid;			    /* 28 */
	uint64_t gen;			    /* 32 names this image; odd, never 0 */
	uint64_t parent_gen;		    /* 40 the nearest image with a pool that this one was forked from, or 0 */
	uint64_t defs_base;		    /* 48 ids below this resolve in the definitions of parent_gen */
	uint64_t off_state;		    /* 56 */
	uint64_t off_slot;		    /* 64 */
	uint64_t off_block;		    /* 72 */
	uint64_t size;			    /* 80 of the mapping, backed or not */
	isc_seal seal;			    /* 88 creator, first of all */
	_Alignas(128) _Atomic uint64_t seq; /* 128 next take number, from 1; threads, fetch_add */
	_Atomic uint64_t serial;	    /* 136 thread serials given; threads, fetch_add */
	_Atomic uint64_t noslot;	    /* 144 events lost for want of a slot; threads, fetch_add */
	_Alignas(128) _Atomic uint32_t nblocks; /* 256 backed blocks; creator, then the recorder, release */
	_Atomic uint32_t hint;			/* 260 lowest block worth trying, may be wrong; all, relaxed */
	/* 264 code that units of work begin with: definitions, then zeros; recorder, release */
	_Atomic uint32_t unit_code[ISC_UNIT_CODES];
	_Alignas(4096) char end[];
} isc_pool;
_Static_assert(sizeof(isc_pool) == 4096, "pool header");
_Static_assert(offsetof(isc_pool, seal) == 88, "pool: seal");
_Static_assert(offsetof(isc_pool, seq) == 128, "pool: seq");

/* Where things lie in a pool: header, states, slots, blocks. */
static inline uint64_t isc_pool_off_slot(uint32_t max_blocks)
{
	return (sizeof(isc_pool) + (uint64_t)max_blocks * 8 + 4095) & ~4095ull;
}

static inline uint64_t isc_pool_off_block(uint32_t max_blocks, uint32_t max_slots)
{
	uint64_t end = isc_pool_off_slot(max_blocks) + (uint64_t)max_slots * sizeof(isc_slot);

	return (end + 8191) & ~8191ull;
}

/* Bytes of a pool file whose first `blocks` blocks may be touched. */
static inline uint64_t isc_pool_backed_bytes(uint32_t max_blocks, uint32_t max_slots, uint32_t blocks)
{
	return isc_pool_off_block(max_blocks, max_slots) + (uint64_t)blocks * ISC_BLOCK_SIZE;
}

#define ISC_POOL_STATES(pool) ((_Atomic uint64_t *)((char *)(pool) + (pool)->off_state))
#define ISC_POOL_SLOTS(pool) ((isc_slot *)((char *)(pool) + (pool)->off_slot))
#define ISC_POOL_BLOCK(pool, i) ((isc_block *)((char *)(pool) + (pool)->off_block + (size_t)(i) * ISC_BLOCK_SIZE))

/* ---- definitions ------------------------------------------------------ */

#define ISC_DEFS_MAGIC 0x3153464544435349ull

/*
 * Append-only.  A definition's id is its place: (base + offset) / 16, where
 * base lets a fork child go on counting where its parent stood, so that ids
 * the program already holds stay true in the child.
 *
 * The head of a definition is its reservation: the taker sets it from 0 by CAS
 * at the place where tail stands, and then anybody may move tail past it.  So
 * every head below tail tells a length, and an unfinished definition stops
 * neither other writers nor the reader.
 */
typedef struct isc_defs {
	_Atomic uint64_t magic;	 /*  0 creator, release, last */
	uint64_t gen;		 /*  8 as in the pool */
	uint64_t base;		 /* 16 bytes before the first definition of this file, a multiple of 16 */
	_Atomic uint64_t tail;	 /* 24 bytes taken from the start of the file; threads, CAS */
	_Atomic uint64_t backed; /* 32 bytes that may be touched; creator, then the recorder, release */
	_Atomic uint64_t lost;	 /* 40 definitions for which there was no room; threads */
	uint64_t size;		 /* 48 of the mapping */
	uint64_t pad[4];
	isc_seal seal; /* 88 creator, first of all */
	uint64_t pad2[2];
} isc_defs;
_Static_assert(sizeof(isc_defs) == 128, "definitions header");
_Static_assert(offsetof(isc_defs, seal) == offsetof(isc_pool, seal), "one place for both");

typedef struct isc_def {       /* at a multiple of 16 */
	_Atomic uint64_t head; /* ISC_DEF_HEAD; taker: CAS 0 -> RESERVED, release COMMITTED */
	char data[];
} isc_def;

/* What a definition of len bytes takes. */
static inline uint64_t isc_def_bytes(uint32_t len)
{
	return (sizeof(isc_def) + (uint64_t)len + 15) & ~15ull;
}

#endif
