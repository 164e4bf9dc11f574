/*
 * session.h - record one program from start to end.  The orchestrator: folder,
 * launch, follow, switches, drain and trace writer meet here and nowhere else.
 */
#ifndef ISC_SESSION_SESSION_H
#define ISC_SESSION_SESSION_H

#include <stdint.h>
#include <sys/types.h>

#include "base/status.h"
#include "session/launch.h"
#include "session/settings.h"

typedef struct isc_session_result {
	int wait_status;	/* of the program, as waitpid gives it */
	bool ended;		/* false: it still runs, after --duration */
	isc_launch *launch;	/* when it still runs: the caller waits and frees */
} isc_session_result;

/* What to run.  kind tells how argv[0] was given. */
enum isc_target_kind { ISC_TARGET_SCRIPT, ISC_TARGET_MODULE, ISC_TARGET_CODE, ISC_TARGET_COMMAND };
typedef struct isc_target {
	int kind;		/* enum isc_target_kind */
	char *const *argv;	/* script, module or code first, then its arguments; NULL at the end */
} isc_target;

/* Runs the target with recording.  On failure *exit_code is what `run` exits
 * with: 125, 126 or 127. */
isc_status isc_session_run(const isc_settings *settings, const isc_target *target, const char *called_as,
			   isc_session_result *result, int *exit_code, isc_error *err);

/* Records a process that is already running and has joined (INFERSCOPE_ENABLED):
 * makes the session, writes the folder's path and a newline to ready_fd, closes
 * it, and stays until the process and its children have ended. */
isc_status isc_session_watch(const isc_settings *settings, pid_t pid, int ready_fd, isc_error *err);

/* Reads what dead sessions of this user left into their traces and removes them.
 * Returns how many; visit (may be NULL) is told about each. */
typedef void (*isc_session_salvaged)(void *self, const char *folder, const char *trace, isc_status status);
unsigned isc_session_salvage(isc_session_salvaged visit, void *self);

#endif
