/*
 * folder.h - the session folder: the shared memory of a session, and its life.
 *
 * /dev/shm/inferscope-UID-RANDOM if there is room, else the same under
 * XDG_RUNTIME_DIR, else beside the trace.  0700, every name made with O_EXCL.
 * A lock held by the recorder marks life.
 *
 * Only files that we made are ever removed, and each shows that it is one (seal.h).
 * Whatever else lies in the folder stays, and the folder with it.
 */
#ifndef ISC_SESSION_FOLDER_FOLDER_H
#define ISC_SESSION_FOLDER_FOLDER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"
#include "base/status.h"
#include "runtime/layout.h"
#include "session/folder/seal.h"

/* Links that session/launch/parts.c makes in the folder for awkward paths. */
#define ISC_PRELOAD_NAME "rt.so"
#define ISC_INJECT_NAME "_inject"

typedef struct isc_folder {
	char path[512];
	int dir; /* the folder itself, whatever its path means by now */
	int lock_fd;
	isc_seal seal;
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
	float startup_pct;	/* likewise */
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

/* Says that we made this FIFO or link (bell, rt.so, _inject), which cannot carry a seal. */
void isc_folder_vouch(isc_folder *f, const char *name);

/* What is in a folder and not ours. */
typedef struct isc_folder_left {
	unsigned count;
	char name[256]; /* of one of them */
} isc_folder_left;

/* Removes every file of ours in it and, if it is empty then, itself; processes that
 * are in the session keep their mappings.  alive: some are, and may yet start programs
 * that look for the preloaded runtime here; then that link stays, and the folder with
 * it.  left (may be NULL): whatever else was there, and still is. */
void isc_folder_remove(isc_folder *f, bool alive, isc_folder_left *left);

enum isc_folder_state {
	ISC_FOLDER_MAKING,   /* a recorder is making it, or died doing so a moment ago; not visited */
	ISC_FOLDER_RECORDED, /* its recorder lives */
	ISC_FOLDER_RUNNING,  /* its recorder is gone, a process that wrote into it still runs */
	ISC_FOLDER_DEAD,
	ISC_FOLDER_FOREIGN /* named like a session, and none of ours */
};

/* Everything named like a session of this user in the usual places and beside this
 * trace (may be NULL).  why: of a foreign one, how that shows. */
typedef void (*isc_folder_visit)(void *self, const char *path, enum isc_folder_state state, const char *why);
void isc_folder_each(const char *trace_path, isc_folder_visit visit, void *self);

/* Takes over a folder whose recorder is gone; control is NULL when the session never
 * began.  ISC_ERR_EXISTS: it is not gone; ISC_ERR_CORRUPT: it is not a session's;
 * ISC_ERR_VERSION: another version made it. */
isc_status isc_folder_adopt(const char *path, isc_folder *out, isc_error *err);

/* Lets go of an adopted folder without removing it. */
void isc_folder_close(isc_folder *f);

#endif
