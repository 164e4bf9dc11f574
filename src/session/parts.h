/*
 * parts.h - where things are: our own parts, and the Python to run.
 */
#ifndef ISC_SESSION_PARTS_H
#define ISC_SESSION_PARTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

typedef struct isc_parts {
	char folder[1024];	/* has libinferscope_rt.so; "" when not found */
	char runtime[1100];	/* path of libinferscope_rt.so, "" when not found */
	char inject[1100];	/* folder with our sitecustomize, "" when not there */
} isc_parts;

/* From /proc/self/exe, by the list in docs/install-layout.md. */
isc_status isc_parts_find(isc_parts *out, isc_error *err);

/* The interpreter: asked (may be NULL), else by the order of the design.
 * called_as is the command's own argv[0]. */
isc_status isc_parts_python(const char *asked, const char *called_as, char *out, size_t room, isc_error *err);

/* Does that Python have the package?  Looks at the file system only; runs nothing. */
bool isc_parts_python_has_package(const char *python, const isc_parts *parts);

/*
 * The environment for the program: ours of now, with the session's variables.
 * preload "" leaves the agent out; inject "" leaves PYTHONPATH alone.  One
 * allocation: free() it.
 */
char **isc_parts_environment(const char *session_folder, const char *preload, const char *inject);

#endif
