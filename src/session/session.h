/*
 * session.h - record one program from start to end: started by us, already
 * running, or already dead.
 */
#ifndef ISC_SESSION_SESSION_H
#define ISC_SESSION_SESSION_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/status.h"
#include "session/launch.h"
#include "session/recorder.h"
#include "session/settings.h"

typedef struct isc_session_options {
	const isc_settings *settings;
	int trace_fd;		/* taken over */
	const char *trace_path; /* absolute */
	bool scratch;		/* as in isc_recorder_options */
	bool lacks_package;	/* the program is a Python that does not load us by itself */
	bool cuda_elsewhere;	/* somebody else watches CUDA, and we know */
	isc_recorder_say say;
	void *say_self;
} isc_session_options;

typedef struct isc_session_result {
	int exit_code;	    /* on failure: what `run` exits with */
	int wait_status;    /* of the program, as waitpid gives it */
	bool running;	    /* after --duration: the program goes on */
	isc_launch *launch; /* the caller's: signals are still held back by it */
} isc_session_result;

/* Runs argv, a whole command line, with recording.  Python is brought to load us
 * by the agent inside it; without the agent by PYTHONPATH. */
isc_status isc_session_run(const isc_session_options *options, char *const *argv, isc_session_result *result,
			   isc_error *err);

/* Records a process that already runs and waits to join: tells the session's
 * folder and the runtime to preload through ready, then stays until the process
 * and its children have ended. */
typedef void (*isc_session_ready)(void *self, const char *folder, const char *runtime);
isc_status isc_session_watch(const isc_session_options *options, pid_t pid, isc_session_ready ready, void *self,
			     isc_error *err);

/* Reads what dead sessions of this user left into their traces and removes them.
 * Returns how many; visit (may be NULL) is told of each, and of sessions whose
 * program runs on without a recorder (ISC_ERR_EXISTS). */
typedef void (*isc_session_visit)(void *self, const char *folder, const char *trace, isc_status status);
unsigned isc_session_salvage(const char *trace_path, isc_session_visit visit, void *self);

#endif
