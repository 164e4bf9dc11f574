/*
 * unwind.h - native frames of a thread, from the instruction it was stopped at.
 *
 *	unwind_module.c	which module an address lies in
 *	unwind.c	the walk, x86_64
 *	cfi.c		what .eh_frame says
 *
 * Runs in a signal handler on the thread whose frames they are.  Nothing is
 * called, locked or allocated; every loop is bounded.  Loads may fault: call
 * under isc_fault_arm().  Signal-safe, all of it except isc_unwind_begin().
 */
#ifndef ISC_COLLECT_UNWIND_H
#define ISC_COLLECT_UNWIND_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/cfi.h"

#define ISC_UNWIND_FRAMES 256
#define ISC_UNWIND_MODULES 32

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
	ISC_NATIVE_LATE = 1u << 2     /* the walk began again here, at an anchor: what called it is exact */
};

typedef struct isc_native_frame {
	uintptr_t ip;
	uintptr_t sp, cfa; /* its memory */
	uintptr_t bp;	   /* on the way in */
	uintptr_t saved;   /* where rbp of who called it lies; 0: in rbp, 1: not told by this alone */
	uint32_t flags;
	int32_t module; /* in isc_unwind; -1: none */
} isc_native_frame;

enum isc_unwind_end {
	ISC_UNWIND_CUT = 0, /* nothing leads on */
	ISC_UNWIND_BOTTOM = 1,
	ISC_UNWIND_FULL = 2 /* there are more frames than fit */
};

/* One walk. */
typedef struct isc_unwind {
	uintptr_t low, high; /* the stack; what lies outside is not read */
	/* Addresses, rising, of which each lies in a frame of the interpreter. */
	const uintptr_t *anchors;
	int anchor_count;
	int modules;
	uint32_t checked; /* a bit of each module that this walk has asked for: the others may have gone */
	volatile int n;	  /* frames, newest first; true at any moment */
	int end;	  /* enum isc_unwind_end */
	uint32_t words;	  /* of the stack that may still be scanned */
	int before;	  /* frames of the walk before, if it came to the bottom of the same stack */
	int met;	  /* of those: where to go on comparing */
	int whole;	  /* frames of a walk that came to the bottom */
	uintptr_t whole_high;
	uintptr_t newest; /* the newest frame, and what covers it */
	isc_cfi_entry entry;
	isc_native_frame *frame;
	isc_module module[ISC_UNWIND_MODULES];
	isc_native_frame found[ISC_UNWIND_FRAMES];
	isc_native_frame kept[ISC_UNWIND_FRAMES]; /* up to the end: what is as it was stays where it lies */
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

/* Fills u->frame from here on, all of it or (limit) at most so many.  Where the stack is as the walk before has
 * found it, that is taken over. */
void isc_unwind_walk(isc_unwind *u, const isc_unwind_start *start, int limit);

/* Fills u->frame with the newest alone, without a look at the stack. */
void isc_unwind_newest(isc_unwind *u, const isc_unwind_start *start);

/* The module of an address, as an index; -1: none. */
int isc_unwind_module(isc_unwind *u, uintptr_t ip);

/* What the entry of .eh_frame covers around an address; false: there is none. */
bool isc_unwind_function(isc_unwind *u, uintptr_t ip, uintptr_t *first, uintptr_t *past);

#endif
