/*
 * temporary.h - a folder for files of a moment: 0700, by a name that cannot be guessed.
 *
 * It is held open, and files in it are made and removed through that: whoever puts
 * another folder in its place, or on the way to it, loses nothing of that folder.
 */
#ifndef ISC_BASE_TEMPORARY_H
#define ISC_BASE_TEMPORARY_H

#include <limits.h>

#include "base/status.h"

typedef struct isc_temporary {
	char path[PATH_MAX]; /* "" when there is none */
	int dir;
} isc_temporary;

/* stem: the path up to its random end, or a name without a slash, for a folder in TMPDIR or /tmp. */
isc_status isc_temporary_make(isc_temporary *t, const char *stem, isc_error *err);

/* A new file in it, open for reading and writing, or -1. */
int isc_temporary_create(const isc_temporary *t, const char *name);

/* Removes files by these names (the last one is NULL), and the folder if nothing else is in it. */
void isc_temporary_remove(isc_temporary *t, const char *const *names);

/* Removes an empty folder, if its path still means the one that is open as dir. */
void isc_temporary_rmdir(const char *path, int dir);

#endif
