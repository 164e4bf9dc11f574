/*
 * files.h - what lies in a session's folder, for the folder*.c files.
 *
 * Regular files carry the seal of the session.  A FIFO and links cannot: the lock
 * file has their inode numbers, written by the recorder that made them.
 */
#ifndef ISC_SESSION_FOLDER_FILES_H
#define ISC_SESSION_FOLDER_FILES_H

#include "session/folder/folder.h"

#define ISC_LOCK_NAME "lock"

enum { ISC_VOUCHED_BELL, ISC_VOUCHED_PRELOAD, ISC_VOUCHED_INJECT, ISC_VOUCHED };

/* The lock file.  The recorder holds it (flock) for as long as it lives; its seal says whose
 * session this is, and is what a folder is known by when there is nothing else in it yet. */
typedef struct isc_lock_file {
	isc_seal seal;
	uint64_t ino[ISC_VOUCHED]; /* 0: there is none */
} isc_lock_file;
_Static_assert(sizeof(isc_lock_file) == 48, "lock file");

/* Where session folders are made, best first; false past the end. */
bool isc_folder_place(unsigned i, const char *trace_path, char *out, size_t room);

static inline size_t isc_folder_control_size(void)
{
	return sizeof(isc_control) + (size_t)ISC_ROSTER_ENTRIES * sizeof(isc_roster_entry);
}

#endif
