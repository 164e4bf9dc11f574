/*
 * code.h - what is known of a code object, found through its co_extra.
 *
 * An entry is made when the code is first seen and given back when it dies; no
 * reference is held.  Its memory is used again but never released, so a stale
 * pointer to one reads and counts nonsense at worst.
 */
#ifndef ISC_PYTHON_CODE_H
#define ISC_PYTHON_CODE_H

#include "python/calls.h"

enum isc_code_state {
	ISC_CODE_TRACED = 1,
	ISC_CODE_SKIPPED = 2, /* left out, for good */
	ISC_CODE_GOVERNED = 3 /* not traced, to stay inside the budget */
};

/* Code of the module threading that has to do with names of threads. */
enum isc_code_naming {
	ISC_CODE_NAMES_NONE,
	ISC_CODE_NAMES_NEW,  /* Thread._bootstrap: a thread begins */
	ISC_CODE_NAMES_AGAIN /* the setter of Thread.name */
};

typedef struct isc_code {
	PyCodeObject *code;	       /* borrowed; NULL: the entry is free */
	uint32_t id;		       /* of its definition; 0: there was no room yet */
	uint32_t ticket;	       /* isc_calls_self.ticket: traced, defined, and nothing else to look at */
	uint8_t state;		       /* enum isc_code_state */
	uint8_t naming;		       /* enum isc_code_naming */
	uint16_t tries;		       /* to define it */
	bool kept;		       /* never governed */
	bool unit;		       /* the recorder has found units of work to begin with it */
	bool module;		       /* its name is that of a module's code, and it has not run yet or is imported */
	bool importing;		       /* and it runs now */
	bool returned;		       /* it was governed once */
	bool startup;		       /* it was governed while the process started */
	uint32_t calls;		       /* in this window */
	uint32_t skipped;	       /* calls that were not traced and are not told of yet */
	bool passed;		       /* some of them because of the gate: it is in the list of those */
	uint32_t draws;		       /* calls of it that were drawn while the bucket was empty ... */
	uint64_t drawn_ticks;	       /* ... and what they took */
	uint32_t round;		       /* of tracing in which it was looked at last */
	struct isc_code *next;	       /* in the list of free or of governed entries */
	struct isc_code *next_touched; /* in that of those that were called in this window */
	struct isc_code *next_passed;  /* and of those that the gate left out */
} isc_code;

bool isc_code_begin(PyObject *module); /* false: no memory, no index */

/* A new entry for code; NULL: no memory.  Keeps a pending exception. */
isc_code *isc_code_see(PyCodeObject *code);

/* Looks at an entry of an earlier round again: what is left out may have changed. */
void isc_code_review(isc_code *entry);

/* The recorder has said anew with which code units of work begin: that is never left out. */
void isc_code_mark_units(void);

/* Tries to define it, now that there may be room; its id, or that of all that have none. */
uint32_t isc_code_define(isc_code *entry);

/* Where the interpreter keeps it: {count, values...}, unchanged from 3.6 on. */
struct isc_code_extra {
	Py_ssize_t count;
	void *value[];
};

/* The entry of code, NULL when it was not seen yet. */
static inline isc_code *isc_code_get(const PyCodeObject *code)
{
	const struct isc_code_extra *extra = code->co_extra;

	if (ISC_UNLIKELY(extra == NULL) || ISC_UNLIKELY(extra->count <= isc_calls_self.extra))
		return NULL;
	return extra->value[isc_calls_self.extra];
}

/* Extension modules may report calls of their own, of code that is no code object (3.13). */
static inline isc_code *isc_code_seen(PyObject *code)
{
	return ISC_LIKELY(PyCode_Check(code)) ? isc_code_get((const PyCodeObject *)code) : NULL;
}

static inline isc_code *isc_code_of(PyCodeObject *code)
{
	isc_code *entry = isc_code_get(code);

	return ISC_LIKELY(entry != NULL) ? entry : isc_code_see(code);
}

/* Is it to be traced now?  False for one that this round of tracing has not looked at. */
static inline bool isc_code_is_traced(const isc_code *entry)
{
	return entry->state == ISC_CODE_TRACED && entry->round == isc_calls_self.round;
}

/* Left out in this round, to stay inside the budget? */
static inline bool isc_code_is_governed(const isc_code *entry)
{
	return entry->state == ISC_CODE_GOVERNED && entry->round == isc_calls_self.round;
}

static inline void isc_code_set_state(isc_code *entry, enum isc_code_state state)
{
	entry->state = (uint8_t)state;
	entry->ticket = 0;
}

/* Its calls may go the short way, if tracing it is as simple as that. */
static inline void isc_code_give_ticket(isc_code *entry, int unusual_flags)
{
	if (isc_code_is_traced(entry) && entry->id != 0 && (entry->code->co_flags & unusual_flags) == 0 &&
	    entry->naming == ISC_CODE_NAMES_NONE && !entry->module && !entry->unit)
		entry->ticket = isc_calls_self.round;
}

static inline bool isc_code_has_ticket(const isc_code *entry)
{
	return ISC_LIKELY(entry != NULL) && ISC_LIKELY(entry->ticket == isc_calls_self.ticket);
}

static inline uint32_t isc_code_id(isc_code *entry)
{
	return ISC_LIKELY(entry->id != 0) ? entry->id : isc_code_define(entry);
}

#endif
