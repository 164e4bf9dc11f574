/*
 * trace_place.h - the trace that a dead session names, if it is still that one.
 *
 * The path comes from a control file and is data: it is opened without following a
 * link, and the file must be a regular one of this user that begins as our traces do
 * and has the session's id.
 */
#ifndef ISC_SESSION_FOLDER_TRACE_PLACE_H
#define ISC_SESSION_FOLDER_TRACE_PLACE_H

#include <stdbool.h>
#include <stdint.h>

enum isc_trace_place {
	ISC_TRACE_GONE,	   /* nothing is there, or something else */
	ISC_TRACE_UNKNOWN, /* it cannot be looked at, or belongs to another user */
	ISC_TRACE_THERE
};

/* The folder of that path, to be closed by the caller, when THERE; else *dir is -1. */
enum isc_trace_place isc_trace_place_folder(const char *path, int *dir);

/* The trace itself in that folder, opened with mode (O_RDONLY or O_RDWR), when THERE; else *fd is -1. */
enum isc_trace_place isc_trace_place_file(int dir, const char *path, const uint8_t session_id[16], int mode, int *fd);

/* Is this open folder the one of that path, however it is spelt? */
bool isc_trace_place_is(int dir, const char *folder);

#endif
