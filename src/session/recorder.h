/*
 * recorder.h - one session while it lasts: the folder, the trace writer, the
 * table of processes, the switches and the drain, turned by one loop.
 *
 * session.c, watch.c and salvage.c differ in who started the program and how
 * its end is learnt; everything else is here.
 */
#ifndef ISC_SESSION_RECORDER_H
#define ISC_SESSION_RECORDER_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/status.h"
#include "session/folder/folder.h"
#include "session/settings/settings.h"

typedef struct isc_recorder isc_recorder;

/* One sentence for the user while the program runs; only the command prints. */
typedef void (*isc_recorder_say)(void *self, int level, const char *what, const char *hint);

typedef struct isc_recorder_options {
	const isc_settings *settings;
	int trace_fd;		/* taken over */
	const char *trace_path; /* absolute */
	bool agent;		/* the hooks will be preloaded */
	bool scratch;		/* the trace is nobody's, and calls are traced when the program says so */
	isc_recorder_say say;
	void *say_self;
} isc_recorder_options;

/* Makes the session folder and the trace.  trace_fd is closed in any case. */
isc_status isc_recorder_new(const isc_recorder_options *options, isc_recorder **out, isc_error *err);
isc_folder *isc_recorder_folder(isc_recorder *r);

/* Adds session facts: a JSON object. */
void isc_recorder_facts(isc_recorder *r, const char *json, size_t len);

/* The program is known and waits (or runs already): watch it, let it join. */
isc_status isc_recorder_begin(isc_recorder *r, pid_t root, const char *rt_path, bool running, isc_error *err);

/* One turn: waits for the descriptor (-1: none), for switches or for the time that the
 * drain allows, then drains.  True when the descriptor is ready. */
bool isc_recorder_turn(isc_recorder *r, int fd);

/* Has --duration passed? */
bool isc_recorder_over(const isc_recorder *r);

/* Processes of the tree that still run. */
unsigned isc_recorder_alive(const isc_recorder *r);

/* The root ended so, and it and the children that it waited for used so much. */
void isc_recorder_ended(isc_recorder *r, int wait_status, const struct rusage *use);

/* Reads the rest, writes accounts, facts and end, closes the trace and removes
 * the folder.  r is gone. */
isc_status isc_recorder_finish(isc_recorder *r, isc_error *err);

/* Lets go of everything without an end: the program could not be started. */
void isc_recorder_abandon(isc_recorder *r);

#endif
