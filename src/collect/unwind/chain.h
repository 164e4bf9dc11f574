/*
 * chain.h - runs of native frames that were met before.
 *
 * A chain is the frames from a return address up to and including the
 * interpreter's frame that holds the next anchor, or up to the bottom of the stack.
 * It is known by the return address and the distance from there to the anchor.  To
 * walk it again by CFI means a load that waits for the one before at each frame; to
 * check it means loads whose addresses are all known.  Compared with what was found the
 * first time are every return address and, for frames whose rule counts from
 * rbp, what rbp was: then CFI would lead along the same frames again, whatever else the
 * stack still holds of calls that are over.  A chain in which one differs is a miss.
 *
 * One table for the process.  A handler writes it only if no other one does, and
 * nobody waits; when it is full, or a module is unloaded, everything in it is
 * void.  Signal-safe, all of it.
 */
#ifndef ISC_COLLECT_UNWIND_CHAIN_H
#define ISC_COLLECT_UNWIND_CHAIN_H

#include "collect/unwind/unwind.h"

typedef struct isc_chain {
	uint32_t at, count;
	uint64_t key;  /* of its frames that count; 0: none does */
	uintptr_t cfa; /* where it ends */
	uintptr_t bp;  /* where rbp of who called it lies; 0: still in rbp */
} isc_chain;

/* Begins a walk: void what is not to be believed any more. */
void isc_chain_begin(isc_unwind *u);

/* Is a chain known that begins like this?  Says nothing about the stack. */
bool isc_chain_is_known(const isc_unwind *u, uintptr_t ip, uintptr_t sp, uintptr_t target);

/* A walk will look for these: what is known of them comes nearer meanwhile.  Twice, first where it is, then what. */
void isc_chain_fetch_link(uintptr_t ip, uintptr_t sp, uintptr_t target);
void isc_chain_fetch_frames(uintptr_t ip, uintptr_t sp, uintptr_t target);

/* The chain from the return address ip, whose caller's frame begins at sp, to target: an anchor, or the end of the stack.
 * bp: rbp there.  False: none is known, or the stack differs. */
bool isc_chain_follow(const isc_unwind *u, uintptr_t ip, uintptr_t sp, uintptr_t bp, uintptr_t target, isc_chain *out);

/* Keeps frames of the walk from this one on, which end at target, each under its own beginning. */
void isc_chain_keep(const isc_unwind *u, int first, uintptr_t target);

/* The frames of a chain that count, newest first; how many, -1: it has gone. */
int isc_chain_frames(const isc_unwind *u, const isc_native_frame *chain, uintptr_t *ips, int max);

/* A fork child: nobody writes. */
void isc_chain_forked(void);

#endif
