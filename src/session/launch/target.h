/*
 * target.h - from what the user asked to run to the command that is run.
 */
#ifndef ISC_SESSION_LAUNCH_TARGET_H
#define ISC_SESSION_LAUNCH_TARGET_H

#include "base/status.h"

enum isc_target_kind { ISC_TARGET_SCRIPT, ISC_TARGET_MODULE, ISC_TARGET_CODE, ISC_TARGET_COMMAND };

/* kind is enum isc_target_kind; argv the script, module, code or command and its
 * arguments.  Whether a script exists is Python's to say, in its own words and
 * with its own exit code.  One allocation that borrows the strings: free() it. */
isc_status isc_target_argv(int kind, char *const *argv, const char *python, char ***out, isc_error *err);

#endif
