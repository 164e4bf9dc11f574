/*
 * rule.h - rules are data: a metric, a threshold, a weight, and what to do about it.
 *
 * A rule fires when its metric is above its threshold.  Of those that fire the
 * fault that saves most wins, else the largest limit (verdict.c); weight x (value - threshold) / threshold
 * settles ties.  Metrics are code, one file for each cause; a file of rules can change, add and switch
 * off rules over the metrics that there are.
 */
#ifndef ISC_ANALYZE_RULES_RULE_H
#define ISC_ANALYZE_RULES_RULE_H

#include "analyze/verdict/evidence.h"

#define ISC_RULE_ID_MAX 48u
#define ISC_RULES_MAX 128u

enum isc_bound { ISC_BOUND_UNKNOWN, ISC_BOUND_BALANCED, ISC_BOUND_CPU, ISC_BOUND_GPU, ISC_BOUND_MEMORY };

const char *isc_bound_name(enum isc_bound bound); /* "cpu_bound" */

typedef struct isc_metric {
	const char *name; /* "gil_wait_pct" */
	const char *unit; /* "%", "x", "GB/s", "/s" */
	const char *about;
	bool device; /* of each GPU */
	/* false: not known here.  gpu: place in the timeline's list. */
	bool (*measure)(const isc_evidence *j, size_t gpu, isc_finding *out);
} isc_metric;

typedef struct isc_rule {
	const char *id;
	const isc_metric *metric;
	double threshold, weight;
	enum isc_bound bound;
	enum isc_claim_kind kind;
	enum isc_fix fix;
	bool off;
	bool general; /* it says who takes the time and not why: special causes explain it */
	/* Words of a file of rules, instead of those of the fix; NULL: it has none. */
	const char *own_title; /* of the suggestion */
	const char *own_fix;   /* "running it in another process": what would save the time */
	const char *own_check; /* how to find out */
} isc_rule;

typedef struct isc_rules { /* of isc_analysis_options */
	isc_rule rule[ISC_RULES_MAX];
	size_t count;
	isc_arena *arena; /* texts of a file; NULL: none were read */
} isc_rules;

/* The built-in ones. */
void isc_rules_init(isc_rules *rules);
void isc_rules_fini(isc_rules *rules);

isc_rule *isc_rules_find(isc_rules *rules, const char *id); /* NULL: there is none */

/* By rank, NULL past the end; and by name, NULL: there is none. */
const isc_metric *isc_metric_at(size_t i);
const isc_metric *isc_metric_named(const char *name);

/* One for each cause: rule_<cause>.c. */
extern const isc_metric isc_metric_gil, isc_metric_lock, isc_metric_io, isc_metric_sleep, isc_metric_gc,
	isc_metric_syscall, isc_metric_spin, isc_metric_page_fault, isc_metric_throttled, isc_metric_run_queue,
	isc_metric_hot, isc_metric_path, isc_metric_stage, isc_metric_logging, isc_metric_loop, isc_metric_pool,
	isc_metric_memory, isc_metric_pressure, isc_metric_downstream, isc_metric_native, isc_metric_limit,
	isc_metric_remote, isc_metric_swap;
extern const isc_metric isc_metric_gpu_idle, isc_metric_gpu_sync, isc_metric_gpu_launch, isc_metric_gpu_ratio,
	isc_metric_copy, isc_metric_pcie;

#endif
