/*
 * rule_gpu_sync.c - the device is idle because the thread that feeds it waits for it.
 */
#include "analyze/rule.h"
#include "base/units.h"

static bool measure(const isc_judge *j, size_t gpu, isc_finding *out)
{
	const isc_facts_gpu *g = &j->a->timeline->gpus[gpu];
	const isc_facts_idle *idle = &g->idle[ISC_IDLE_SYNC];
	isc_buffer text = {0};
	isc_units u, v;

	if (!isc_judge_gpu(j, gpu, idle->ns, out))
		return false;
	out->where = (isc_text){idle->where.at, idle->where.len};
	isc_judge_device(j, gpu, &text);
	isc_buffer_format(&text, " is idle for %s of its time because the host waits for it (%s waits)",
			  isc_units_percent(&u, out->share), isc_units_count(&v, g->syncs));
	if (out->where.len > 0) {
		isc_buffer_text(&text, ", most of all in ");
		isc_judge_name(&text, out->where);
	}
	out->what = isc_judge_keep(j, &text);
	return true;
}

const isc_metric isc_metric_gpu_sync = {
	"gpu_sync_idle_pct", "%", "a GPU without work while the thread that feeds it waits for it", true, measure};
