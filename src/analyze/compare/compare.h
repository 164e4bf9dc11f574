/*
 * compare.h - two sets of runs: what changed between them, and whether that is more
 * than runs of one set differ.
 *
 * Each set has one run or more.  With two or more the noise is measured: what the
 * difference of two means may be off by, with 95% confidence.  Of single runs it is
 * assumed, and said to be.
 */
#ifndef ISC_ANALYZE_COMPARE_COMPARE_H
#define ISC_ANALYZE_COMPARE_COMPARE_H

#include "analyze/compare/figure.h"
#include "base/arena.h"

/* What one run may be off by when nothing measures it: of its value, and of shares in points. */
#define ISC_COMPARE_ASSUMED 0.05
#define ISC_COMPARE_ASSUMED_POINTS 3.0

typedef struct isc_run_set {
	isc_analysis *const *runs;
	size_t count;
} isc_run_set;

typedef struct isc_change {
	isc_figure metric;
	isc_text subject;
	const isc_analysis_function *function; /* one of that name; NULL: it is of none */
	double base, fresh;		       /* means; NAN: not known */
	double noise;			       /* NAN: one of them is not known */
	bool measured;			       /* noise is */
} isc_change;

/* What a scope spends its time on, in the base and now: per state, of one scope on average. */
typedef struct isc_scope_change {
	isc_text name;
	isc_change p50, p90, p99, mean, count;
	double base_us[ISC_STATES], fresh_us[ISC_STATES]; /* NAN: not known */
	const isc_analysis_cause *slow_because;		  /* of a new run; NULL: none */
} isc_scope_change;

typedef struct isc_comparison {
	isc_run_set base, fresh;
	isc_change wall;
	isc_scope_change *scopes; /* largest change of the mean first */
	size_t scope_count;
	isc_text per;	       /* functions and kernels are told per scope of this name; empty: per run */
	isc_change *functions; /* that changed beyond noise, most first; some at most */
	size_t function_count;
	isc_change *kernels;
	size_t kernel_count;
	isc_change states[ISC_STATES]; /* shares of the focus thread */
} isc_comparison;

isc_change isc_compare_figure(const isc_run_set *base, const isc_run_set *fresh, const isc_figure *metric,
			      const isc_text *subject);

/* More than noise: 1 it went up, -1 down, 0 neither, or it is not known. */
int isc_change_direction(const isc_change *c);

/* ISC_ERR_INVALID says in what two machines differ. */
isc_status isc_compare_machines(const isc_run_set *base, const isc_run_set *fresh, isc_error *err);

/* Everything in *out is the arena's or the runs'. */
isc_status isc_compare(const isc_run_set *base, const isc_run_set *fresh, isc_arena *arena, isc_comparison *out,
		       isc_error *err);

#endif
