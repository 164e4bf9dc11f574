/*
 * rule_io.c - time that a thread is blocked in reading and writing.
 */
#include "analyze/rules/rule.h"

static bool measure(const isc_evidence *j, size_t gpu, isc_finding *out)
{
	(void)gpu;
	return isc_evidence_state(j, ISC_STATE_IO_WAIT, out);
}

const isc_metric isc_metric_io = {"io_wait_pct", "%", "blocked in reading, writing, connecting or syncing", false,
				  measure};
