/*
 * rule_gpu_idle.c - the device has nothing to do, because the host does not keep up.
 */
#include "analyze/rules/rule.h"
#include "base/units.h"

/* What most of the idle time is about. */
static enum isc_idle_cause main_cause(const isc_facts_gpu *g)
{
	enum isc_idle_cause most = ISC_IDLE_HOST_WAIT;

	for (int i = 0; i < ISC_IDLE_CAUSES; i++) {
		if (g->idle[i].ns > g->idle[most].ns)
			most = (enum isc_idle_cause)i;
	}
	return most;
}

/* Is its place a call that the host is in, or what comes next on the device? */
static bool inside(enum isc_idle_cause cause)
{
	return cause == ISC_IDLE_SYNC || cause == ISC_IDLE_COPY;
}

static bool is_kernel(enum isc_idle_cause cause)
{
	return cause == ISC_IDLE_KERNEL_WAIT || cause == ISC_IDLE_UNKNOWN;
}

static bool measure(const isc_evidence *j, size_t gpu, isc_finding *out)
{
	static const char *const because[ISC_IDLE_CAUSES] = {"waiting for the host", "although it was asked",
							     "while the host waits for it", "while the host copies",
							     "for reasons that are not known"};
	const isc_facts_gpu *g = &j->a->timeline->gpus[gpu];
	const isc_facts_idle *idle = &g->idle[main_cause(g)];
	isc_buffer text = {0};
	isc_units u;

	if (!isc_evidence_gpu(j, gpu, g->last_ns - g->first_ns - g->busy_ns, out))
		return false;
	out->where = is_kernel(main_cause(g)) ? isc_evidence_kernel(j, idle->where)
					      : (isc_text){idle->where.at, idle->where.len};
	isc_evidence_device(j, gpu, &text);
	isc_buffer_format(&text, " is idle for %s of its time", isc_units_percent(&u, out->share));
	if (idle->ns > 0) {
		isc_buffer_format(&text, ", %s of that %s", isc_units_percent(&u, (double)idle->ns / out->us / 10),
				  because[main_cause(g)]);
		if (out->where.len > 0) {
			isc_buffer_text(&text, inside(main_cause(g)) || idle->during ? ", most of all in "
										     : ", most of all before ");
			isc_evidence_name(&text, out->where);
		}
	}
	out->what = isc_evidence_keep(j, &text);
	return true;
}

const isc_metric isc_metric_gpu_idle = {
	"gpu_idle_pct", "%", "a GPU without work, of the time from its first to its last work", true, measure};
