/*
 * launch.h - start a program as its parent, and stay out of its way.
 *
 * The program keeps our process group, session, terminal, descriptors and
 * working directory.  It waits before its exec until isc_launch_go(), so that
 * the recorder can open perf events on it and make the session ready.
 */
#ifndef ISC_SESSION_LAUNCH_H
#define ISC_SESSION_LAUNCH_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/status.h"

typedef struct isc_launch isc_launch;

typedef struct isc_launch_options {
	char *const *argv;	/* argv[0] is looked up in PATH when it has no slash */
	char *const *env;	/* the whole environment of the program */
} isc_launch_options;

/* Blocks the signals that are passed on and forks; the child waits. */
isc_status isc_launch_start(const isc_launch_options *options, isc_launch **out, isc_error *err);
pid_t isc_launch_pid(const isc_launch *l);

/* Lets the program run.  On failure err says why and *exit_code is 126 or 127. */
isc_status isc_launch_go(isc_launch *l, int *exit_code, isc_error *err);

/* A descriptor to poll for reading; when it is ready call isc_launch_dispatch(),
 * which passes signals on and reaps; false once the program has ended. */
int isc_launch_fd(const isc_launch *l);
bool isc_launch_dispatch(isc_launch *l);

/* As waitpid gives it; valid once dispatch has said false. */
int isc_launch_status(const isc_launch *l);

/* Waits until the program has ended, passing signals on; for after --duration. */
int isc_launch_wait(isc_launch *l);

/* After the end: ^C and the like act on us again (during the report). */
void isc_launch_restore_signals(isc_launch *l);

/* Ends this process as the program ended: its exit code, or its signal. */
_Noreturn void isc_launch_exit_like(int wait_status);

void isc_launch_free(isc_launch *l);

#endif
