/*
 * parts.h - where our own parts are.  interpreter.h finds the Python to run,
 * environment.h makes the program's environment.
 */
#ifndef ISC_SESSION_LAUNCH_PARTS_H
#define ISC_SESSION_LAUNCH_PARTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

typedef struct isc_parts {
	char folder[1024];  /* has libinferscope_rt.so; "" when not found */
	char runtime[1100]; /* path of libinferscope_rt.so, "" when not found */
	char inject[1100];  /* folder with our sitecustomize, "" when not there */
} isc_parts;

/* From /proc/self/exe, by the list in docs/install-layout.md. */
isc_status isc_parts_find(isc_parts *out, isc_error *err);
/* From the path of a command, links resolved. */
isc_status isc_parts_find_from(const char *command, isc_parts *out, isc_error *err);

/* The runtime's path as LD_PRELOAD can hold it: its own or, when that has a
 * blank or a colon, a symlink rt.so that is made in the session folder, with
 * one to the folder of our sitecustomize beside it. */
isc_status isc_parts_preload_path(const isc_parts *parts, const char *session_folder, char *out, size_t room,
				  isc_error *err);

/* The folder of our sitecustomize as PYTHONPATH can hold it, by a link when its
 * own path has a colon; "" when there is none.  For a session without the agent. */
void isc_parts_inject_path(const isc_parts *parts, const char *session_folder, char *out, size_t room);

#include "session/launch/environment.h"
#include "session/launch/interpreter.h"

#endif
