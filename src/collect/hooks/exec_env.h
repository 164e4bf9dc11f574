/*
 * exec_env.h - our variables in the environment of a new program.
 *
 *	LD_PRELOAD		our path, in front of whatever else is there
 *	PYTHONPATH		without the folder that brings us into Python (see inject.h)
 *	INFERSCOPE_SESSION	the session
 *	CUDA_INJECTION64_PATH	what the CUDA driver loads, if that is ours
 *
 * They are noted once, when the library is loaded.  Between vfork and exec
 * nothing may be allocated or left behind, so the caller brings the memory:
 * build once without, to learn how much, and once with.
 */
#ifndef ISC_COLLECT_HOOKS_EXEC_ENV_H
#define ISC_COLLECT_HOOKS_EXEC_ENV_H

#include <stdbool.h>
#include <stddef.h>

typedef struct isc_exec_env {
	char **vector;	/* the caller's; NULL: only count */
	char *text;	/* the caller's */
	size_t entries; /* of the vector, with the NULL at its end */
	size_t text_bytes;
	bool changed; /* false: the environment is already right */
} isc_exec_env;

/* Notes our variables in the environment of this process.  Not signal-safe. */
void isc_exec_env_init(void);

/* Were we preloaded by a session, from a path that a child can use? */
bool isc_exec_env_ready(void);

/* The folder with our sitecustomize, beside the library; "" when it cannot be an
 * entry of PYTHONPATH. */
const char *isc_exec_env_inject(void);

/* Can this process still see the library?  Not after chroot, for one. */
bool isc_exec_env_reachable(void);

/* Does env name a session that is not ours?  Signal-safe. */
bool isc_exec_env_has_other(char *const env[]);

/* The environment env (NULL: empty) with our variables in it, or without them.
 * The entries that stay are env's own strings.  Signal-safe. */
void isc_exec_env_build(isc_exec_env *out, char *const env[], bool with);

/* Takes our variables out of the environment of this process, for good.  A new list takes the place of the old one,
 * which stays for whoever is reading it; nothing is locked. */
void isc_exec_env_leave(void);

#endif
