/*
 * launch.h - start a program as its parent, and stay out of its way.
 *
 * The program keeps our process group, session, terminal, descriptors, working
 * directory, signal mask and dispositions.  It waits before its exec until
 * isc_launch_go(), so that the recorder can open perf events on it and make the
 * session ready; if the recorder dies meanwhile, the program runs all the same.
 *
 * Start from the main thread and before any other is made: threads inherit the
 * blocked signals from it, and the group watcher ends with the thread that made it.
 */
#ifndef ISC_SESSION_LAUNCH_LAUNCH_H
#define ISC_SESSION_LAUNCH_LAUNCH_H

#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/status.h"

typedef struct isc_launch isc_launch;

typedef struct isc_launch_options {
	char *const *argv; /* argv[0] is looked up in PATH when it has no slash */
	char *const *env;  /* the whole environment of the program */
} isc_launch_options;

/* Fills closed standard descriptors with /dev/null, closed again by exec, so that
 * no file of ours becomes the program's stdin.  First thing in main; idempotent. */
void isc_launch_hold_standard(void);

/* Lets go of stdin and stdout: whoever is at the other end sees the program
 * close them.  After go, by a command that prints to stderr only. */
void isc_launch_release_standard(void);

/* Is the program there, and may it be executed?  Asked before an earlier trace is
 * replaced; go has the last word.  On failure *exit_code is 126 or 127. */
isc_status isc_launch_check(const char *program, int *exit_code, isc_error *err);

/* Blocks the signals that are passed on and forks; the child waits. */
isc_status isc_launch_start(const isc_launch_options *options, isc_launch **out, isc_error *err);
pid_t isc_launch_pid(const isc_launch *l);

/* Lets the program run.  On failure err says why and *exit_code is 126 or 127. */
isc_status isc_launch_go(isc_launch *l, int *exit_code, isc_error *err);

/* A descriptor to poll for reading; when it is ready call isc_launch_dispatch(),
 * which passes signals on and reaps; false once the program has ended.  From then
 * on the descriptor stays ready. */
int isc_launch_fd(const isc_launch *l);
bool isc_launch_dispatch(isc_launch *l);

/* As waitpid gives it; valid once dispatch has said false. */
int isc_launch_status(const isc_launch *l);
const struct rusage *isc_launch_use(const isc_launch *l);

/* Waits until the program has ended, passing signals on; for after --duration. */
int isc_launch_wait(isc_launch *l);

/* After the end: ^C and the like act on us again (during the report), and end us
 * as the program ended. */
void isc_launch_restore_signals(isc_launch *l);

/* Ends this process as the program ended: its exit code, or its signal. */
_Noreturn void isc_launch_exit_like(int wait_status);

/* Before go the waiting child is ended; after it the program is left alone. */
void isc_launch_free(isc_launch *l);

#endif
