/*
 * folder.h - the session folder: the shared memory of a session, and its life.
 *
 * /dev/shm/inferscope-UID-RANDOM if there is room, else the same under
 * XDG_RUNTIME_DIR, else beside the trace.  0700, every name made with O_EXCL.
 * A lock held by the recorder marks life.
 */
#ifndef ISC_SESSION_FOLDER_H
#define ISC_SESSION_FOLDER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"
#include "base/status.h"
#include "runtime/layout.h"

typedef struct isc_folder {
	char path[512];
	int lock_fd;
	isc_control *control; /* mapped */
	size_t control_size;
	bool on_disk;	       /* not in memory: slower, said in a warning */
	uint64_t memory_bytes; /* what pools may take in all; less than asked when room is short */
	isc_clock_pair made;   /* when it was */
} isc_folder;

typedef struct isc_folder_options {
	const char *trace_path; /* absolute; kept for salvage */
	uint32_t flags;		/* enum isc_control_flag */
	float budget_pct;	/* as in isc_control */
	uint32_t rate_hz;
	uint32_t memory_mean;		       /* bytes between allocations that are looked at */
	uint8_t node_of_cpu[ISC_CONTROL_CPUS]; /* memory node + 1 */
	uint32_t count_type;
	uint64_t count_config[2];
	uint32_t clock_source;
	uint64_t start_ns;
	uint64_t memory_bytes; /* what pools should take in all, at most */
	uint8_t session_id[16];
} isc_folder_options;

/* Makes the folder, its control file (not yet published) and a spare pool. */
isc_status isc_folder_make(const isc_folder_options *options, isc_folder *out, isc_error *err);

/* From now on programs can join.  rt_path: the runtime as it is preloaded, or
 * empty; root_pid: the program that was started. */
void isc_folder_publish(isc_folder *f, const char *rt_path, pid_t root_pid);

/* Removes everything in it and itself; processes that are in the session keep
 * their mappings.  alive: some are, and may yet start programs that look for
 * the preloaded runtime here; then that link stays, and the folder with it. */
void isc_folder_remove(isc_folder *f, bool alive);

/* Every folder of this user in the usual places and beside this trace (may be
 * NULL).  program_alive: a process that wrote into it still runs. */
typedef void (*isc_folder_visit)(void *self, const char *path, bool recorder_alive, bool program_alive);
void isc_folder_each(const char *trace_path, isc_folder_visit visit, void *self);

/* Takes over a folder whose recorder is gone.  ISC_ERR_EXISTS: it is not gone;
 * ISC_ERR_CORRUPT: it is not a session's. */
isc_status isc_folder_adopt(const char *path, isc_folder *out, isc_error *err);

/* Lets go of an adopted folder without removing it. */
void isc_folder_close(isc_folder *f);

#endif
