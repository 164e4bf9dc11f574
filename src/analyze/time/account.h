/*
 * account.h - where the time of a thread went: each moment is in one state.
 *
 * What switches tell (on a CPU, in the queue, blocked, not watched) is the whole.
 * What the program told of its waits, and samples of what ran, take their parts of it
 * in the order in which states count.  So the states of a thread always add up to
 * its time, whatever is missing or contradicts itself.
 */
#ifndef ISC_ANALYZE_TIME_ACCOUNT_H
#define ISC_ANALYZE_TIME_ACCOUNT_H

#include "analyze/time/attribution.h"

/* What is known of one thread, in microseconds. */
typedef struct isc_account {
	double wall;
	bool switches;	/* the next four are known; they add up to wall */
	bool estimated; /* and from the scheduler's counts only */
	double on_cpu, queue, blocked, unwatched;
	bool agent;		 /* waits are told */
	bool collections;	 /* and collections of garbage */
	bool gpu;		 /* and waits for GPUs */
	bool faults;		 /* and waits for memory to be read in */
	bool fills;		 /* and how long the kernel took to fill pages that need not be read, */
	double filled;		 /* which is an estimate, of what ran */
	bool throttling;	 /* and time that the group had used up its share */
	double told[ISC_STATES]; /* of waits, collections, throttling, spinning */
	bool sampled;		 /* the thread's program is sampled */
	bool placed;		 /* and its samples say in which native function they are */
	double python, native;	 /* CPU time by samples */
	bool merged;		 /* which of the two is not known: what they have together is on_cpu */
	double spin;		 /* of what waits for others on its CPU, in neither of them */
	double unattributed[ISC_UNATTRIBUTED_REASONS]; /* likewise, of samples without a stack */
	bool traced;				       /* without samples: Python calls are traced on it */
} isc_account;

/* So much CPU time of samples. */
void isc_account_sample(isc_account *account, const isc_attribution *what, double us);

/* Fills state_us and source of a thread, and why it has time without a stack. */
void isc_account_settle(const isc_account *account, isc_analysis_thread *t);

#endif
