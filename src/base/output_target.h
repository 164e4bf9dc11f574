/*
 * output_target.h - what lies at an output path, seen through its folder's
 * descriptor.  For output.c and output_trace.c.
 */
#ifndef ISC_BASE_OUTPUT_TARGET_H
#define ISC_BASE_OUTPUT_TARGET_H

#include <limits.h>
#include <stdbool.h>

#include "base/output.h"

typedef struct isc_output_target {
	char *path; /* as given, for messages */
	char name[NAME_MAX + 1];
	int dir_fd;
	bool force;
	isc_output_is_ours is_ours;
} isc_output_target;

/* Opens the folder; it must be one that we can write to. */
isc_status isc_output_target_open(isc_output_target *t, const char *path, bool force, isc_output_is_ours is_ours,
				  isc_error *err);
void isc_output_target_close(isc_output_target *t);

/* May the name be used?  exists (may be NULL): a file is there that may be replaced. */
isc_status isc_output_target_check(const isc_output_target *t, bool *exists, isc_error *err);

/* The same for one file that is open; fd -1 when it cannot be read. */
isc_status isc_output_target_check_fd(const isc_output_target *t, int fd, isc_error *err);

/* "cannot write PATH: errno; what to do". */
isc_status isc_output_target_fail(const isc_output_target *t, const char *verb, isc_error *err);

#endif
