/*
 * scratch.h - traces that go with their session: made where files of a moment go,
 * and looked for nowhere else.
 */
#ifndef ISC_SESSION_FOLDER_SCRATCH_H
#define ISC_SESSION_FOLDER_SCRATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/output.h"

/* A new trace of our own: its path, *fd and *made as isc_output_make_trace() gives them. */
isc_status isc_scratch_make(char *out, size_t room, int *fd, isc_output_made *made, isc_error *err);

/* Removes the scratch trace of a dead session: only from a folder in which we make such
 * files, by a name that we give them, and with the session's id in it.  false: it is
 * still there, or never was. */
bool isc_scratch_remove(const char *path, const uint8_t session_id[16]);

#endif
