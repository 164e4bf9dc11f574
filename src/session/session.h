/*
 * session.h - record one program from start to end: started by us, already
 * running, or already dead.
 */
#ifndef ISC_SESSION_SESSION_H
#define ISC_SESSION_SESSION_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/status.h"
#include "session/launch/launch.h"
#include "session/recorder.h"
#include "session/settings/settings.h"

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

enum isc_remains_state {
	ISC_REMAINS_SALVAGED,  /* the rest is in the trace */
	ISC_REMAINS_EMPTY,     /* removed: there was nothing to keep */
	ISC_REMAINS_HOMELESS,  /* removed: the trace is not there any more */
	ISC_REMAINS_RUNNING,   /* left: the program runs on without a recorder */
	ISC_REMAINS_ELSEWHERE, /* left: the trace lies in another folder than this call may write to */
	ISC_REMAINS_FAILED,    /* left: see status */
	ISC_REMAINS_FOREIGN    /* left: it only has the name of a session */
};

/* What was found in one folder, and what became of it.  Borrowed for the visit. */
typedef struct isc_remains {
	const char *folder;
	enum isc_remains_state state;
	isc_status status; /* why it failed */
	const char *why;   /* why it is foreign */
	char trace[2048];  /* that the session names, or "" */
	unsigned left;	   /* files in a removed session that are not ours: they and the folder stay */
	char left_name[256];
} isc_remains;

/* Reads what dead sessions of this user left into their traces and removes them; only
 * traces beside trace_path (may be NULL) and in the working folder are written to.
 * Returns how many it removed; visit (may be NULL) is called for each, and for all that stay. */
typedef void (*isc_session_visit)(void *self, const isc_remains *remains);
unsigned isc_session_salvage(const char *trace_path, isc_session_visit visit, void *self);

#endif
