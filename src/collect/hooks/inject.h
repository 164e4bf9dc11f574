/*
 * inject.h - bring a Python that lacks the package to load us.
 *
 * Which programs hold a Python is known only inside them: a name says little,
 * and the way there may lead through shells, launchers and scripts.  So the
 * agent looks when it is loaded, before the interpreter starts, and puts the
 * folder of our sitecustomize in front of PYTHONPATH; the sitecustomize takes it
 * out again.  No other program, and no Python code, ever sees it there.
 */
#ifndef ISC_COLLECT_HOOKS_INJECT_H
#define ISC_COLLECT_HOOKS_INJECT_H

#include <stdbool.h>
#include <stddef.h>

/* What the program's own PYTHONPATH was, while ours is in front of it: "=" and its
 * value, or nothing when there was none. */
#define ISC_INJECT_VARIABLE "INFERSCOPE_PYTHONPATH"

/* Will the Python started with these arguments run a sitecustomize from
 * PYTHONPATH?  Not with -E, -I or -S.  argv may be NULL: not known, so yes. */
bool isc_inject_is_welcome(char *const argv[]);

/* Makes of the environment env one with folder in front of PYTHONPATH, in room
 * bytes at memory, aligned for pointers; NULL when that is not enough, and *needs
 * says how much is.  The other entries are env's own strings. */
char **isc_inject_environment(char *const env[], const char *folder, void *memory, size_t room, size_t *needs);

#endif
