/*
 * renamer.h - names for native places of a trace, from files that lie elsewhere.
 *
 * The recorder names places by the files that the program loaded.  Where those have no
 * symbols, or the debug files are on another machine, a folder can be looked through
 * later.  Only files with the build id of what was loaded are believed.
 */
#ifndef ISC_SESSION_RENAMER_H
#define ISC_SESSION_RENAMER_H

#include "trace/reader.h"

/* *modules: how many of the trace's program files and libraries have a file in the folder. */
isc_status isc_renamer_run(isc_trace *trace, const char *folder, size_t *modules, isc_error *err);

#endif
