/*
 * kin.h - what a definition belongs to: a stack to the one of its caller, code to its
 * file.  Totals fold rows that they have no room for into these.  Internal to trace/.
 */
#ifndef ISC_TRACE_KIN_H
#define ISC_TRACE_KIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hashmap.h"
#include "trace/session_state.h"

typedef struct isc_kin {
	isc_hashmap by_page; /* process and high bits of an id to its page */
	uint32_t (*page)[64];
	size_t count, room;
	isc_hashmap by_file; /* hash of a process and a file to the code that first named it */
} isc_kin;

/* With the kin of code: it is the body of a module; */
#define ISC_KIN_MODULE (1u << 31)
/* threading._shutdown(), in which the interpreter waits for threads before it ends; */
#define ISC_KIN_SHUTDOWN (1u << 30)
/* runpy's function that runs a module as the program. */
#define ISC_KIN_RUNNER (1u << 29)
#define ISC_KIN_ROLES (ISC_KIN_MODULE | ISC_KIN_SHUTDOWN | ISC_KIN_RUNNER)
/* With the kin of a stack: its newest frame is native. */
#define ISC_KIN_NATIVE (1u << 31)

/* A zeroed struct knows nothing. */
void isc_kin_fini(isc_kin *k);

/* Notes a definition, if it is one that belongs to another; false: no memory. */
bool isc_kin_note(isc_kin *k, uint32_t process, uint32_t id, uint16_t type, const void *data, uint32_t len);

/* Of a stack its parent, 0 of a root; of code the code that stands for its file and what it is.  0: not known.
 * Definitions of a process that this one was forked from are found through the state. */
uint32_t isc_kin_of(const isc_kin *k, const isc_session_state *state, uint32_t process, uint32_t id);

#endif
