/*
 * under_nsys.h - a run whose GPUs are watched by Nsight Systems, since there is no CUPTI
 * for us: nsys runs this command once more, which records the program as ever, and
 * the report is made of what both have found.
 */
#ifndef ISC_CLI_UNDER_NSYS_H
#define ISC_CLI_UNDER_NSYS_H

#include <stdbool.h>
#include <stddef.h>

#include "session/settings/settings.h"

/* Is that the way to see the GPUs of this program?  python: that runs it; "": none.  nsys: where it is. */
bool isc_nsys_wanted(const isc_settings *settings, const char *python, char *nsys, size_t room);

/* Are we the command inside?  Says so once: the program is not to know. */
bool isc_nsys_inside(void);

/* The whole of `run`; arguments are those of the command.  Returns only on failure, with the exit code. */
int isc_nsys_run(const isc_settings *settings, const char *nsys, const char *trace, int argc, char **argv);

#endif
