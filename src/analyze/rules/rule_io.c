/*
 * rule_io.c - time that a thread is blocked in reading and writing.
 */
#include "analyze/rules/rule.h"

static bool measure(const isc_evidence *j, size_t gpu, isc_finding *out)
{
	isc_buffer text = {0};

	(void)gpu;
	if (!isc_evidence_state(j, ISC_STATE_IO_WAIT, out))
		return false;
	isc_evidence_share(j, out->share, &text);
	isc_buffer_text(&text, " waits for files or the network");
	isc_evidence_in(out, &text);
	out->what = isc_evidence_keep(j, &text);
	return true;
}

const isc_metric isc_metric_io = {"io_wait_pct", "%", "blocked in reading, writing, connecting or syncing", false,
				  measure};
