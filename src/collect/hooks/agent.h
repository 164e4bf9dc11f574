/*
 * agent.h - the hooks as a whole.
 *
 * The hooks work from the first instruction of the program on; isc_agent_init()
 * only makes sure that nothing has to be looked up later, in a vfork child or
 * in a signal handler, where that could not be done.
 */
#ifndef ISC_COLLECT_HOOKS_AGENT_H
#define ISC_COLLECT_HOOKS_AGENT_H

#include <stddef.h>

#include "inferscope/status.h"

enum isc_hook_group {
	ISC_HOOK_GROUP_ALLOC,	    /* memory taken and given back */
	ISC_HOOK_GROUP_LOCK,	    /* waiting for another thread */
	ISC_HOOK_GROUP_TRANSFER,    /* reading and writing */
	ISC_HOOK_GROUP_WAIT,	    /* waiting for an event, a child or time */
	ISC_HOOK_GROUP_SIGNAL,	    /* handlers, masks, signals fetched by hand */
	ISC_HOOK_GROUP_BIRTH,	    /* new processes and threads */
	ISC_HOOK_GROUP_EXEC,	    /* new programs */
	ISC_HOOK_GROUP_ENVIRONMENT, /* how NVTX finds its tool */
	ISC_HOOK_GROUP_RIGHTS	    /* those that a program gives up */
};

typedef struct isc_hook {
	const char *name;
	enum isc_hook_group group;
	void **real; /* where the function it hides is kept */
} isc_hook;

/* Looks all real functions up and notes our variables in the environment.  Runs by
 * itself when the library is loaded; again, it does nothing.  Not signal-safe. */
void isc_agent_init(void);

/* Every hook there is, n of them.  For tests and for `doctor`. */
ISC_API const isc_hook *isc_agent_hooks(size_t *n);

#endif
