/*
 * sample_signal.h - what the hooks on signals ask the sampler.
 */
#ifndef ISC_COLLECT_SAMPLE_SIGNAL_H
#define ISC_COLLECT_SAMPLE_SIGNAL_H

#include <signal.h>
#include <stdbool.h>

/* sigaction() for SIGURG while it is ours; false: not our business. */
bool isc_sample_signal_action(int number, const struct sigaction *action, struct sigaction *old, int *result);

typedef int isc_sample_mask(int how, const sigset_t *set, sigset_t *old);

/* sigprocmask() or pthread_sigmask(), with the real one. */
int isc_sample_signal_mask(isc_sample_mask *real, int how, const sigset_t *set, sigset_t *old);

/* A set of signals to be fetched by hand: should another be used instead?  One that
 * names SIGURG on purpose ends sampling. */
bool isc_sample_signal_fetch(const sigset_t *set, sigset_t *without);

#endif
