/*
 * rule_pcie.c - what goes over the bus is near what it can carry.
 */
#include "analyze/rules/rule.h"
#include "base/units.h"

static bool measure(const isc_evidence *j, size_t gpu, isc_finding *out)
{
	const isc_facts_gpu *g = &j->a->timeline->gpus[gpu];
	isc_buffer text = {0};
	isc_units u;

	if (!isc_evidence_gpu(j, gpu, g->copy_ns, out))
		return false;
	/* Bytes a nanosecond are gigabytes a second. */
	out->value = (double)(g->h2d_bytes + g->d2h_bytes) / (double)(g->last_ns - g->first_ns);
	isc_buffer_format(&text, "%s GB/s go between the host and ", isc_units_number(&u, out->value));
	isc_evidence_device(j, gpu, &text);
	isc_buffer_text(&text, " all the time");
	out->what = isc_evidence_keep(j, &text);
	return true;
}

const isc_metric isc_metric_pcie = {"pcie_gb_per_s", "GB/s",
				    "bytes to and from a GPU over the time from its first to its last work", true,
				    measure};
