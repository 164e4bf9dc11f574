/*
 * folder.h - the session folder: shared memory of a session, and its life.
 *
 * /dev/shm/inferscope-UID-RANDOM if it has room, else the same under
 * XDG_RUNTIME_DIR, else beside the trace.  0700, names made with O_EXCL.  A
 * lock held by the recorder marks life.
 */
#ifndef ISC_SESSION_FOLDER_H
#define ISC_SESSION_FOLDER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/status.h"
#include "runtime/layout.h"

typedef struct isc_folder {
	char path[512];
	int lock_fd;
	isc_control *control;	/* mapped */
	size_t control_size;
	bool on_disk;		/* not in memory: slower, said in a warning */
} isc_folder;

typedef struct isc_folder_options {
	const char *trace_path;		/* absolute; kept for salvage */
	const char *rt_path;		/* the runtime to preload; empty: none */
	uint32_t flags;			/* enum isc_control_flag */
	uint32_t clock_source;
	uint64_t start_ns;
	uint64_t memory_bytes;		/* what pools may take in all */
} isc_folder_options;

/* Makes folder, control file and a spare pool. */
isc_status isc_folder_make(const isc_folder_options *options, isc_folder *out, isc_error *err);

/* Removes everything in it and itself; live processes keep their mappings. */
void isc_folder_remove(isc_folder *f);
/* Lets go without removing. */
void isc_folder_close(isc_folder *f);

/* Every folder of this user under the usual places.  dead: nobody holds its
 * lock and no process of its pools lives. */
typedef void (*isc_folder_visit)(void *self, const char *path, bool recorder_alive, bool program_alive);
void isc_folder_each(isc_folder_visit visit, void *self);

/* Takes over a folder whose recorder is gone; ISC_ERR_EXISTS when it is not. */
isc_status isc_folder_adopt(const char *path, isc_folder *out, isc_error *err);

#endif
