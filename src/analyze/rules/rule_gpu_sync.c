/*
 * rule_gpu_sync.c - the device is idle because the thread that feeds it waits for it: while it does,
 * or because it had nothing to do when the wait was over, though the host could have asked by then.
 */
#include "analyze/rules/rule.h"
#include "base/units.h"

static bool measure(const isc_evidence *j, size_t gpu, isc_finding *out)
{
	const isc_facts_gpu *g = &j->a->timeline->gpus[gpu];
	const isc_facts_idle *idle = &g->idle[ISC_IDLE_SYNC];
	/* A gap of which part was in the wait may be in both. */
	bool drained = g->drained_ns > idle->ns;
	isc_buffer text = {0};
	isc_units u, v;

	if (!isc_evidence_gpu(j, gpu, drained ? g->drained_ns : idle->ns, out))
		return false;
	out->where = drained ? (isc_text){g->drained_where.at, g->drained_where.len}
			     : (isc_text){idle->where.at, idle->where.len};
	isc_evidence_device(j, gpu, &text);
	isc_buffer_format(&text, " is idle for %s of its time because the host waits for it",
			  isc_units_percent(&u, out->share));
	/* Not every source tells of them one by one. */
	if (g->syncs > 0)
		isc_buffer_format(&text, " (%s waits)", isc_units_count(&v, g->syncs));
	if (out->where.len > 0) {
		isc_buffer_text(&text, ", most of all in ");
		isc_evidence_name(&text, out->where);
	}
	out->what = isc_evidence_keep(j, &text);
	return true;
}

const isc_metric isc_metric_gpu_sync = {
	"gpu_sync_idle_pct", "%",
	"a GPU without work that it would have had, if the thread that feeds it had not waited for it", true, measure};
