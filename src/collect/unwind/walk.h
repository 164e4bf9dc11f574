/*
 * walk.h - one step of a walk, for those who take steps.
 */
#ifndef ISC_COLLECT_UNWIND_WALK_H
#define ISC_COLLECT_UNWIND_WALK_H

#include "collect/unwind/chain.h"

#define ISC_UNWIND_WORDS 8192u /* scanned per walk, all guesses together */

/* Where a walk stands. */
typedef struct isc_unwind_place {
	uintptr_t ip, look; /* look: inside the instruction that called */
	uintptr_t sp, bp, r10;
	uint32_t flags;
} isc_unwind_place;

enum isc_step { ISC_STEP_STUCK, ISC_STEP_OUT, ISC_STEP_BOTTOM, ISC_STEP_SIGNAL };

/* One frame out, by CFI.  Pushes the frame that is left. */
enum isc_step isc_unwind_step(isc_unwind *u, isc_unwind_place *p);

/* By a chain, from a return address: pushes it.  target: isc_unwind_target(). */
bool isc_unwind_follow(isc_unwind *u, isc_unwind_place *p, uintptr_t target);

/* In code without CFI, at p: scans the stack from there on; false: nothing leads on. */
bool isc_unwind_guess(isc_unwind *u, isc_unwind_place *p, uintptr_t from);

/* False: there is no room. */
bool isc_unwind_push(isc_unwind *u, const isc_unwind_place *p, uintptr_t cfa, int module);

/* The anchor that a frame of [sp, cfa) holds, or the next one above it; the count: none. */
static inline int isc_unwind_anchor(const isc_unwind *u, uintptr_t sp)
{
	int i = 0;

	while (i < u->anchor_count && u->anchors[i] < sp)
		i++;
	return i;
}

/* What chains from there end at. */
static inline uintptr_t isc_unwind_target(const isc_unwind *u, int anchor)
{
	return anchor < u->anchor_count ? u->anchors[anchor] : u->high;
}

/* From an anchor to the end of its frame; 0: not known yet. */
uint32_t isc_unwind_distance(void);

static inline bool isc_unwind_on_stack(const isc_unwind *u, uintptr_t at)
{
	return at >= u->low && at <= u->high - sizeof(uintptr_t) && (at & 7) == 0;
}

static inline uintptr_t isc_unwind_word(uintptr_t at)
{
	return *(const uintptr_t *)at;
}

/* Of a program, by its size alone. */
static inline bool isc_unwind_is_address(uintptr_t v)
{
	return v >= 0x10000 && v >> 47 == 0;
}

#endif
