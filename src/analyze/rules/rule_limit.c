/*
 * rule_limit.c - the program's own memory comes near the limit of its control group: the kernel takes
 * pages away that are needed again, and a little more ends it.
 *
 * Of all that is counted against the limit only the program's own is looked at: the rest is mostly
 * files that were read, which fill every limit in time and are given up when there is need.
 */
#include "analyze/rules/rule.h"
#include "base/units.h"

#define MIB 1048576

static bool measure(const isc_evidence *j, size_t gpu, isc_finding *out)
{
	const isc_analysis_usage *u = &j->a->usage;
	isc_buffer text = {0};
	isc_units n, m, p;

	(void)gpu;
	if (!j->known || !u->known || u->limit_bytes <= 0 || u->peak_rss_bytes < 0)
		return false;
	/* What it costs is told by the other rules about memory. */
	*out = (isc_finding){.value = u->peak_rss_bytes / u->limit_bytes * 100,
			     .share = -1,
			     .us = -1,
			     .solid = 0.7,
			     .device_id = -1};
	isc_buffer_format(&text, "the program has %s of its memory limit in use at once: %s of %s MiB",
			  isc_units_percent(&p, out->value), isc_units_number(&n, u->peak_rss_bytes / MIB),
			  isc_units_number(&m, u->limit_bytes / MIB));
	if (u->refused > 0)
		isc_buffer_format(&text, ", which it met %s times", isc_units_number(&n, u->refused));
	out->what = isc_evidence_keep(j, &text);
	return true;
}

const isc_metric isc_metric_limit = {"memory_limit_pct", "%",
				     "the most memory of the program, of the lowest limit of its control groups", false,
				     measure};
