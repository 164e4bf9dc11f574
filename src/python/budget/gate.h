/*
 * gate.h - what part of the time is recorded call by call, where not all of it can be.
 *
 * Leaving out small functions (thinning.h) is not enough for a program whose many calls are none of them small.  There
 * some units of work are recorded whole, and of the others only that they began and ended, with samples and waits as
 * ever.  A gate of the process is closed meanwhile: calls come to the hook, which counts them.
 *
 * Time is cut into slots.  A slot has a random number, which follows from the session and the slot alone, and is recorded
 * by every process whose share lies above that number.  So nothing of what a unit is like decides about it, and what a
 * process with little room records is recorded in all others too, without a word between them.
 *
 * The gate moves only where a unit begins: at an outermost scope, else at a step of an asyncio task, else at a call of
 * code that the recorder has found units to begin with.  Such code is never left out.  A unit that the gate moves in is
 * recorded in part; a slot is long beside a unit, so these are few.
 */
#ifndef ISC_PYTHON_BUDGET_GATE_H
#define ISC_PYTHON_BUDGET_GATE_H

#include "python/code.h"

enum isc_gate_source { ISC_GATE_SCOPE, ISC_GATE_TASK, ISC_GATE_CALL, ISC_GATE_SOURCES };

typedef struct isc_gate {
	bool closed;
	bool met[ISC_GATE_SOURCES]; /* units of this source have begun since the last look */
	uint64_t slot_end;	    /* ticks; the next unit moves the gate.  UINT64_MAX: all is recorded */
} isc_gate;

ISC_OWN extern isc_gate isc_gate_self;

void isc_gate_move(enum isc_gate_source source, uint64_t ticks);

/* A unit begins: before anything of it is written. */
static inline void isc_gate_unit(enum isc_gate_source source)
{
	isc_gate_self.met[source] = true;
	if (ISC_UNLIKELY(isc_gate_self.slot_end != UINT64_MAX))
		isc_gate_move(source, isc_calls_ticks());
}

/* Is a call of this code only counted now? */
static inline bool isc_gate_skips(const isc_code *entry)
{
	return ISC_UNLIKELY(isc_gate_self.closed) && !entry->kept && !entry->unit && !entry->module;
}

/* Tracing is switched on: nothing is known of what it costs. */
void isc_gate_begin(void);

/* With each look at the bucket. */
void isc_gate_look(uint64_t ticks);

/* Does the recorder say that units begin with this code? */
bool isc_gate_is_unit(uint32_t code_id);

/* Can units be left out, before longer functions are? */
bool isc_gate_helps(void);

/* Open, and everything is recorded until the next debt. */
void isc_gate_release(uint64_t ticks);

/* A fork child begins with the gate open. */
void isc_gate_forked(void);

#endif
