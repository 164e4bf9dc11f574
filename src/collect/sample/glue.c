/*
 * glue.c - functions of the interpreter that say nothing about the program.
 *
 * Between a call in Python and the frame that it makes lie several C functions of
 * the interpreter, more with a hook on calls: two thirds of all frames.  Which ones is
 * learned, not listed, for it depends on version and build: _core makes calls of
 * every kind, and what lies between two frames of Python then is glue.  What a program
 * does otherwise (sorted, map, __del__) is not met there and stays.
 */
#include <stdatomic.h>

#include "collect/sample/sample.h"

#define GLUE 256u /* a power of two, a quarter of it used */

static _Atomic uintptr_t glue[GLUE]; /* where functions begin */
static _Atomic uint32_t learned;

static uint32_t home_of(uintptr_t first)
{
	return (uint32_t)((first * 0x9e3779b97f4a7c15ull) >> 40) & (GLUE - 1);
}

static bool is_listed(uintptr_t first)
{
	for (uint32_t k = 0; k < GLUE; k++) {
		uintptr_t at = atomic_load_explicit(&glue[(home_of(first) + k) & (GLUE - 1)], memory_order_relaxed);

		if (at == first || at == 0)
			return at == first;
	}
	return false;
}

static void list(uintptr_t first)
{
	if (is_listed(first) || atomic_load(&learned) >= GLUE / 4)
		return;
	for (uint32_t k = 0; k < GLUE; k++) {
		uintptr_t empty = 0;

		if (atomic_compare_exchange_strong(&glue[(home_of(first) + k) & (GLUE - 1)], &empty, first)) {
			atomic_fetch_add(&learned, 1);
			return;
		}
	}
}

bool isc_sample_is_glue(const isc_unwind *u, const isc_native_frame *f)
{
	uintptr_t first, past;

	return atomic_load_explicit(&learned, memory_order_relaxed) != 0 && isc_sample_in_eval_module(f->ip) &&
	       isc_unwind_function(u, f->ip - 1, &first, &past) && is_listed(first);
}

void isc_sample_glue_learn(const isc_unwind *u, uintptr_t below)
{
	int newer = -1; /* frame of the interpreter */

	for (int i = 0; i < u->n && u->frame[i].sp < below; i++) {
		if (!isc_sample_is_eval(u->frame[i].ip))
			continue;
		for (int k = newer + 1; newer >= 0 && k < i; k++) {
			uintptr_t first, past;

			if (isc_sample_in_eval_module(u->frame[k].ip) &&
			    isc_unwind_function(u, u->frame[k].ip - 1, &first, &past))
				list(first);
		}
		newer = i;
	}
}
