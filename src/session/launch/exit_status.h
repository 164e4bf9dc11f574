/*
 * exit_status.h - end as the program ended.
 *
 * A shell's loop stops at ^C only if its command died of the signal; exit code
 * 130 lets it go on.  So we die of what the program died of.
 */
#ifndef ISC_SESSION_LAUNCH_EXIT_STATUS_H
#define ISC_SESSION_LAUNCH_EXIT_STATUS_H

/* From now on SIGINT, SIGTERM, SIGHUP and SIGQUIT, those that were not ignored,
 * end this process at once as the program ended. */
void isc_ending_on_signals(int wait_status);

/* The same at once.  Signal-safe: buffers are not flushed. */
_Noreturn void isc_ending_now(int wait_status);

#endif
