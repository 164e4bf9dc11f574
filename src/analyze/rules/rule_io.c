/*
 * rule_io.c - time that a thread is blocked in reading and writing files; what it waits for the other end of a connection
 * is that end's time, and a limit.
 */
#include <math.h>

#include "analyze/rules/rule.h"

static bool measure_files(const isc_evidence *j, size_t gpu, isc_finding *out)
{
	(void)gpu;
	if (!isc_evidence_state(j, ISC_STATE_IO_WAIT, out))
		return false;
	isc_evidence_takes(j, fmax(j->state_us[ISC_STATE_IO_WAIT] - j->net.us, 0), out);
	return true;
}

static bool measure_connections(const isc_evidence *j, size_t gpu, isc_finding *out)
{
	(void)gpu;
	if (isc_evidence_pct(j, ISC_STATE_IO_WAIT) < 0 || !isc_evidence_place(j, &j->net, out))
		return false;
	out->solid = isc_evidence_solid(j, ISC_STATE_IO_WAIT);
	return true;
}

const isc_metric isc_metric_io = {"io_wait_pct", "%", "blocked in reading, writing or syncing files and pipes", false,
				  measure_files};
const isc_metric isc_metric_downstream = {"downstream_pct", "%",
					  "waiting for the other end of a connection: connecting, sending, receiving",
					  false, measure_connections};
