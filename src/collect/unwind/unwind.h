/*
 * unwind.h - native frames of a thread, from the instruction it was stopped at.
 *
 *	unwind_module.c	which module an address lies in
 *	unwind_rule.c	what CFI says about an address, kept
 *	unwind_chain.c	runs of frames that were met before
 *	unwind_scan.c	code without CFI
 *	unwind.c	the walk, x86_64
 *	cfi.c		what .eh_frame says
 *
 * Runs in a signal handler on the thread whose frames they are.  Nothing is
 * called, locked or allocated; every loop is bounded.  Loads may fault: call
 * under isc_fault_arm().  Signal-safe, all of it except isc_unwind_begin().
 */
#ifndef ISC_COLLECT_UNWIND_UNWIND_H
#define ISC_COLLECT_UNWIND_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/unwind/cfi.h"

/* Twice what a call of Python through C needs at 60 levels; with chains few of them are used. */
#define ISC_UNWIND_FRAMES 512
/* Of the process, a power of two: a server with torch has loaded some 150. */
#define ISC_UNWIND_MODULES 512

struct link_map;

typedef struct isc_module {
	uintptr_t start, end;
	uintptr_t cfi; /* .eh_frame_hdr; 0: none */
	const struct link_map *map;
	uint64_t tag; /* the same as long as the module is loaded; 0: no module */
} isc_module;

enum isc_native_flag {
	ISC_NATIVE_GUESSED = 1u << 0, /* found by a scan of the stack, not by CFI */
	ISC_NATIVE_CALLER = 1u << 1,  /* ip is a return address */
	ISC_NATIVE_LATE = 1u << 2,    /* the walk began again here, at an anchor: what called it is exact */
	ISC_NATIVE_CHAIN = 1u << 3    /* not one frame but a run of them that was met before: isc_chain_frames() */
};

typedef struct isc_native_frame {
	uintptr_t ip;
	uintptr_t sp, cfa; /* its memory */
	uintptr_t saved;   /* where rbp of who called it lies; 0: still in rbp, 1: not told by this alone */
	uintptr_t bp;	   /* rbp in it, where its rule counts from that; 0: it does not */
	uint64_t key;	   /* of a chain: what tells it from others, 0: nothing in it counts */
	uint32_t flags;
	int32_t module; /* isc_unwind_known(); -1: none; of a chain that of its first frame */
	uint32_t chain; /* of a chain: where it is kept */
	uint32_t count; /* and how many frames it is */
} isc_native_frame;

enum isc_unwind_end {
	ISC_UNWIND_CUT = 0, /* nothing leads on */
	ISC_UNWIND_BOTTOM = 1,
	ISC_UNWIND_FULL = 2 /* there are more frames than fit */
};

struct isc_unwind;

/* What tells a frame from others; 0: it is left out of every stack; ISC_UNWIND_APART: it stands in no chain, except at
 * the end of one. */
typedef uint64_t isc_unwind_key(const struct isc_unwind *u, const isc_native_frame *frame);
#define ISC_UNWIND_APART UINT64_MAX

/* One walk. */
typedef struct isc_unwind {
	uintptr_t low, high; /* the stack; what lies outside is not read */
	/* Addresses, rising, of which each lies in a frame of the interpreter. */
	const uintptr_t *anchors;
	int anchor_count;
	isc_unwind_key *key; /* NULL: no chains, every frame is found by itself */
	volatile int n;	     /* frames, newest first; true at any moment */
	int end;	     /* enum isc_unwind_end */
	uint32_t words;	     /* of the stack that may still be scanned */
	uint32_t chain_epoch;
	uintptr_t newest; /* the newest frame, and what covers it */
	isc_cfi_entry entry;
	isc_native_frame frame[ISC_UNWIND_FRAMES];
} isc_unwind;

/* Registers as far as they are needed. */
typedef struct isc_unwind_start {
	uintptr_t ip, sp, bp, r10;
	uintptr_t kept[6]; /* those that calls keep */
} isc_unwind_start;

/* Can there be walks here?  Looks symbols up: once, outside of handlers. */
bool isc_unwind_begin(void);

/* The registers in a ucontext_t of a signal. */
isc_unwind_start isc_unwind_registers(const void *context);

/* Fills u->frame from here on, all of it or (limit) at most so many. */
void isc_unwind_walk(isc_unwind *u, const isc_unwind_start *start, int limit);

/* Fills u->frame with the newest alone, without a look at the stack. */
void isc_unwind_newest(isc_unwind *u, const isc_unwind_start *start);

/* ---- unwind_module.c ---------------------------------------------------- */

/* The module of an address, as an index; -1: none. */
int isc_unwind_module(uintptr_t ip);
isc_module isc_unwind_known(int index);

/* Are the known modules still loaded?  To be asked ten times a second: a module that is gone voids what was derived
 * from it, and isc_unwind_generation() moves on. */
void isc_unwind_check(void);
uint32_t isc_unwind_generation(void);

/* ---- unwind_rule.c ------------------------------------------------------ */

/* What CFI says about an address; entry: what covers it, NULL: that is not asked for. */
isc_cfi_rule isc_unwind_rule(const isc_module *m, uintptr_t ip, isc_cfi_entry *entry);

/* What the entry of .eh_frame covers around an address; false: there is none. */
bool isc_unwind_function(const isc_unwind *u, uintptr_t ip, uintptr_t *first, uintptr_t *past);

#endif
