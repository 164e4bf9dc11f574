/*
 * signals.h - hold our signals back and read them, so that the program alone
 * decides what they do.
 *
 * Every signal that can be caught is blocked, but for those that the processor
 * raises; they are read from a descriptor.  The recorder has one handler, for
 * memory that the program takes away under it, and the program gets mask and
 * dispositions as we got them.  What it does about ^Z decides too: we stop when
 * the program has, of the same signal.
 */
#ifndef ISC_SESSION_LAUNCH_SIGNALS_H
#define ISC_SESSION_LAUNCH_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/status.h"
#include "session/launch/signal_relay.h"

typedef struct isc_signals {
	sigset_t before;	       /* the mask as we got it */
	sigset_t taken;		       /* what we read */
	struct sigaction child_before; /* of SIGCHLD; when ignored nobody could wait */
	int fd;
	bool held;
} isc_signals;

/* From here on a closed pipe or a limit of file sizes is an error of the call
 * that met it, and a shared file that is cut short reads as zeros.  Early: files
 * are written before the program starts.  The program gets these signals back as
 * they were. */
void isc_signals_shield(void);

isc_status isc_signals_hold(isc_signals *s, isc_error *err);
/* In the forked child, before exec: everything as it was. */
void isc_signals_give_back(const isc_signals *s);
/* As it was, but for the shield; what came meanwhile is dropped, since the program was to have it. */
void isc_signals_release(isc_signals *s);

bool isc_signals_read(const isc_signals *s, isc_signal *out);

/* Sends it as it was sent to us. */
void isc_signals_send(pid_t to, const isc_signal *signal);

/* Stops this process by that signal's own default action; back when continued. */
void isc_signals_stop(const isc_signals *s, int signo);

#endif
