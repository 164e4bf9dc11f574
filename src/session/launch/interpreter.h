/*
 * interpreter.h - which Python runs the script, and whether it has our package.
 *
 * Looks at the file system only; runs nothing.
 */
#ifndef ISC_SESSION_LAUNCH_INTERPRETER_H
#define ISC_SESSION_LAUNCH_INTERPRETER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "session/launch/parts.h"

/* asked (may be NULL); else the python beside the path the command was called by,
 * if that has a slash; VIRTUAL_ENV; CONDA_PREFIX; beside the PATH entry the
 * command was found in; python3 on PATH.  called_as is the command's own argv[0],
 * not resolved: a tool installer links the command out of an environment that
 * has none of the user's packages. */
isc_status isc_parts_python(const char *asked, const char *called_as, char *out, size_t room, isc_error *err);

/* Will that Python load our package by itself?  parts is not needed and may be NULL. */
bool isc_parts_python_has_package(const char *python, const isc_parts *parts);

/* Can it be brought to load the package that lies with the command: is there a
 * _core for its version?  True also when its version cannot be told. */
bool isc_parts_python_has_core(const char *python, const isc_parts *parts);

#endif
