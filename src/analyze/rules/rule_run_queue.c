/*
 * rule_run_queue.c - the program has more threads that want to run than it has CPUs.
 */
#include "analyze/rules/rule.h"
#include "base/units.h"

/* Threads that want a CPU, for each one there is: below, others on the machine took it. */
#define OWN_DEMAND 1.25

static bool measure(const isc_evidence *j, size_t gpu, isc_finding *out)
{
	isc_buffer text = {0};
	isc_units u;

	(void)gpu;
	if (!isc_evidence_state(j, ISC_STATE_RUN_QUEUE, out) || j->cpus == 0)
		return false;
	if (j->demand <= OWN_DEMAND * j->cpus)
		out->value = out->share = out->us = 0;
	isc_evidence_share(j, out->share, &text);
	isc_buffer_format(&text, " waits for a CPU: %s threads of the program want to run at once, on %u %s",
			  isc_units_number(&u, j->demand), j->cpus, j->cpus == 1 ? "CPU" : "CPUs");
	out->what = isc_evidence_keep(j, &text);
	return true;
}

const isc_metric isc_metric_run_queue = {
	"oversubscribed_pct", "%", "ready without a CPU, while the program's own threads want more than there are",
	false, measure};
