/*
 * output.h - put a file where the user asked, and harm nothing that is there.
 *
 * An output is checked before the program starts and again when it is put in
 * place.  The folder is held open in between, so exchanging a folder on the way
 * leads nowhere else.  The target itself is never followed: a symbolic link,
 * FIFO, device or folder at that path is refused, also with force.  A regular
 * file is replaced when it carries our mark or with force.  Files are 0600.
 */
#ifndef ISC_BASE_OUTPUT_H
#define ISC_BASE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/* Does a file that begins like this carry our mark?  NULL: nothing does. */
typedef bool (*isc_output_is_ours)(const char *head, size_t len);

#define ISC_OUTPUT_HEAD 4096 /* so many bytes of a file are looked at, at most */

typedef struct isc_output isc_output;

/* Checks the path and holds its folder.  Nothing is created yet. */
isc_status isc_output_open(const char *path, bool force, isc_output_is_ours is_ours, isc_output **out, isc_error *err);

/* Appends to a temporary file beside the target. */
isc_status isc_output_write(isc_output *o, const void *data, size_t len, isc_error *err);

/* Checks the target again and renames the temporary file over it. */
isc_status isc_output_commit(isc_output *o, isc_error *err);

/* Removes the temporary file, if it was not committed.  NULL is fine. */
void isc_output_close(isc_output *o);

/* Removes every temporary file that is there, and nothing else: for a handler that
 * ends the process next.  Signal-safe, on the thread that writes outputs. */
void isc_output_drop_all(void);

/* Open and close: could it be written now? */
isc_status isc_output_check(const char *path, bool force, isc_output_is_ours is_ours, isc_error *err);

/* Open, write, commit and close. */
isc_status isc_output_save(const char *path, bool force, isc_output_is_ours is_ours, const void *data, size_t len,
			   isc_error *err);

/*
 * The trace is appended in place, so it has no temporary file: *fd is a new and
 * empty file, open for reading and writing, that holds a lock (flock) while it
 * is open.  An old file that may be replaced is unlinked and never truncated: someone may
 * be reading it.  One that another recorder still writes is refused, also with force.
 */
isc_status isc_output_create_trace(const char *path, bool force, isc_output_is_ours is_ours, int *fd, isc_error *err);

/* A file that was made, wherever its path leads by now: held without being open for
 * reading, so that nothing else gets its number and its lock goes with *fd. */
typedef struct isc_output_made {
	int dir_fd, file_fd; /* -1: none */
	char name[256];
} isc_output_made;

/* The same, and *made is filled; to be released. */
isc_status isc_output_make_trace(const char *path, bool force, isc_output_is_ours is_ours, int *fd,
				 isc_output_made *made, isc_error *err);

/* Lets go of it, and with remove takes it away, if its name still means that file. */
void isc_output_made_release(isc_output_made *made, bool remove);

#endif
