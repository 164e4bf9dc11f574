/*
 * thinning.h - which functions are not traced, to stay inside the budget.
 *
 * A look at the bucket falls on an event by lot, so a function is drawn as often as it costs.  One that is drawn three
 * times while the bucket is empty, and whose calls take less than what 40 events cost, is governed: its calls
 * are not traced any more.  The deeper the debt, the longer calls may take.  When the bucket has been more than half full
 * for a second the dearest calls are traced again, one function at first and twice as many each time that goes well.
 *
 * Before 3.12 every call of a governed function still comes to the hook, which counts it: that is
 * exact.  From 3.12 on it costs nothing, and windows count some (window.h).
 */
#ifndef ISC_PYTHON_BUDGET_THINNING_H
#define ISC_PYTHON_BUDGET_THINNING_H

#include "python/code.h"

/* A call of this entry was drawn and took so long.  The code may have died meanwhile: id is what it had. */
void isc_thinning_drawn(isc_code *entry, uint32_t id, uint64_t took, uint64_t ticks);

/* A call of this one is left out because of the gate. */
void isc_thinning_pass(isc_code *entry);

/* A governed function is traced again. */
void isc_thinning_return(isc_code *entry);

/* With each look at the bucket. */
void isc_thinning_look(uint64_t ticks);

/* How often functions were called that are governed or behind the gate, since it was last told. */
void isc_thinning_tell(uint64_t ticks);

/* All are traced again; or those that start-up was too dear for. */
void isc_thinning_release(uint64_t ticks);
void isc_thinning_release_startup(uint64_t ticks);

/* The code of this entry dies, or is to be looked at again. */
void isc_thinning_forget(isc_code *entry);

/* In a fork child: what was counted is the parent's to tell. */
void isc_thinning_forked(void);

#endif
