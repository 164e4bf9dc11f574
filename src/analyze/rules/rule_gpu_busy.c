/*
 * rule_gpu_busy.c - the device works much longer than the thread that feeds it: the host is
 * not what limits.
 */
#include "analyze/rules/rule.h"

#define RATIO_MOST 5

/* The thread that asked for most, of the device's source. */
static const isc_facts_thread *feeder(const isc_timeline_facts *f, const isc_facts_gpu *g)
{
	const isc_facts_thread *most = NULL;

	for (size_t i = 0; i < f->thread_count; i++) {
		const isc_facts_thread *t = &f->threads[i];

		if (f->processes[t->process].source == g->source && t->asked > 0 &&
		    (most == NULL || t->asked > most->asked))
			most = t;
	}
	return most;
}

/* Of the device's span. */
static bool host_us(const isc_evidence *j, const isc_facts_gpu *g, double *us)
{
	static const int waits[] = {ISC_STATE_GPU_WAIT, ISC_STATE_IDLE, ISC_STATE_SLEEP};
	const isc_facts_thread *t = feeder(j->a->timeline, g);

	/* A trace of ours knows all that the thread did, and not only its calls for the device. */
	if (j->known && j->window_us > 0) {
		*us = j->window_us;
		for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++)
			*us -= j->state_us[waits[i]] > 0 ? j->state_us[waits[i]] : 0;
		*us *= (double)(g->last_ns - g->first_ns) / 1e3 / j->window_us;
		return true;
	}
	if (t == NULL || t->busy_ns <= 0)
		return false;
	*us = (double)(t->busy_ns > t->waited_ns ? t->busy_ns - t->waited_ns : 0) / 1e3;
	return true;
}

static isc_text top_kernel(const isc_timeline_facts *f, size_t gpu)
{
	for (size_t i = 0; i < f->kernel_count; i++) {
		if (f->kernels[i].gpu == gpu)
			return f->kernels[i].name;
	}
	return (isc_text){0};
}

static bool measure(const isc_evidence *j, size_t gpu, isc_finding *out)
{
	const isc_facts_gpu *g = &j->a->timeline->gpus[gpu];
	double host, busy = (double)g->busy_ns / 1e3;

	/* One that has nothing to do for most of its time limits nobody, however little the host does. */
	if (g->busy_ns < (g->last_ns - g->first_ns) / 2)
		return false;
	if (!host_us(j, g, &host) || !isc_evidence_gpu(j, gpu, g->busy_ns, out))
		return false;
	/* How much less than a fifth the host does says no more of the device: a host that only waits is not a
	 * better reason than what the device's time goes to. */
	out->value = busy / (host > busy / RATIO_MOST ? host : busy / RATIO_MOST);
	out->claim.place = isc_evidence_at_kernel(j, top_kernel(j->a->timeline, gpu));
	isc_claim_number(&out->claim, ISC_DETAIL_HOST_US, host);
	return true;
}

const isc_metric isc_metric_gpu_ratio = {
	"gpu_cpu_ratio", "x", "busy time of a GPU over the working time of the thread that feeds it, 5 at most", true,
	measure};
