/*
 * signal.h - what the hooks on signals ask the sampler.
 */
#ifndef ISC_COLLECT_SAMPLE_SIGNAL_H
#define ISC_COLLECT_SAMPLE_SIGNAL_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* sigaction() for SIGURG while it is ours; false: not our business. */
bool isc_sample_signal_action(int number, const struct sigaction *action, struct sigaction *old, int *result);

typedef int isc_sample_mask(int how, const sigset_t *set, sigset_t *old);

/* sigprocmask() or pthread_sigmask(), with the real one. */
int isc_sample_signal_mask(isc_sample_mask *real, int how, const sigset_t *set, sigset_t *old);

/* Around a call that waits with a mask of its own: a SIGURG that was kept back comes if that lets it
 * through.  false: there is nothing to take back. */
bool isc_sample_signal_lend(const sigset_t *mask);
void isc_sample_signal_take_back(void);

#define ISC_MASKED(mask, call) \
	({ \
		bool lent_ = isc_sample_signal_lend(mask); \
		int masked_ = (call); \
		if (lent_) \
			isc_sample_signal_take_back(); \
		masked_; \
	})

/* Before a call that starts another program, which inherits what is blocked and what is ignored: makes the
 * program's own of both true.  Nothing in memory changes: a vfork child has its parent's. */
typedef struct isc_sample_handed {
	bool blocked, ignored;
	uint32_t faults; /* ignored ones */
} isc_sample_handed;

isc_sample_handed isc_sample_signal_hand_over(bool in_place); /* false: a child starts it */
void isc_sample_signal_handed_back(isc_sample_handed handed); /* it has failed, or a child has started it */

/*
 * Around a call by which the program fetches signals by hand.  A set of nearly all signals gets the program's own
 * SIGURG and none of ours; one that names it on purpose ends sampling.  A thread that is cancelled in between leaves
 * nothing that others would miss.
 */
typedef struct isc_sample_fetching {
	bool on, paused, blocked;
	uint32_t seat; /* + 1 */
} isc_sample_fetching;

isc_sample_fetching isc_sample_fetch_begin(const sigset_t *set);
void isc_sample_fetch_end(const isc_sample_fetching *f);

#define ISC_FETCHED(set, call) \
	({ \
		isc_sample_fetching fetching_ = isc_sample_fetch_begin(set); \
		int fetched_ = (call); \
		isc_sample_fetch_end(&fetching_); \
		fetched_; \
	})

/* Is one pending that the program would find so? */
bool isc_sample_is_kept(void);

/* Signals are fetched through a descriptor, by anybody at any time: if SIGURG is among them sampling ends. */
void isc_sample_fetch_by_descriptor(const sigset_t *set);

#endif
