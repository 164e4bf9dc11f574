#include "analyze/verdict/evidence.h"

#include <math.h>
#include <string.h>

#include "analyze/names.h"
#include "analyze/verdict/whatif.h"
#include "base/buffer.h"

double isc_evidence_pct(const isc_evidence *j, enum isc_state state)
{
	if (!j->known || j->window_us <= 0 || j->state_us[state] < 0)
		return -1;
	return j->state_us[state] / j->window_us * 100;
}

double isc_evidence_ran(const isc_evidence *j)
{
	return fmax(j->state_us[ISC_STATE_PYTHON], 0) + fmax(j->state_us[ISC_STATE_NATIVE], 0) +
	       fmax(j->state_us[ISC_STATE_ON_CPU], 0);
}

/* Threads that want a CPU, for each one there is: below, others on the machine took it. */
#define OWN_DEMAND 1.25

bool isc_evidence_own_queue(const isc_evidence *j)
{
	return j->cpus > 0 && j->demand > OWN_DEMAND * j->cpus;
}

double isc_evidence_solid(const isc_evidence *j, enum isc_state state)
{
	switch (j->source[state]) {
	case ISC_SOURCE_AGENT:
	case ISC_SOURCE_SWITCHES:
		return 1;
	case ISC_SOURCE_SAMPLED:
		/* 50 samples tell half from a third; 200 are enough for shares. */
		return (double)j->samples / ((double)j->samples + 20);
	default:
		return 0.7;
	}
}

void isc_evidence_sampled(const isc_evidence *j, isc_finding *out)
{
	double part = fmin(out->us / j->window_us, 1), n = j->samples > 0 ? (double)j->samples : 1;

	/* One more than was seen: none of a few does not mean never. */
	out->us = fmin(out->us + 2 * sqrt((part * (1 - part) + 1 / n) / n) * j->window_us, j->window_us);
}

void isc_evidence_at_least(const isc_evidence *j, double us, isc_finding *out)
{
	double mean = isc_whatif_mean(j->a, &j->scope);

	/* Scopes may lie beside each other in the window: what one of them saves of itself is saved of all. */
	if (mean > 0 && us > 0)
		out->us = fmin(fmax(out->us, us / mean * j->window_us), j->window_us);
}

void isc_evidence_and_kernel(const isc_evidence *j, isc_finding *out)
{
	double kernel = j->a->wall_us > 0 ? fmax(j->a->system_us, 0) / j->a->wall_us : 0;

	out->us = fmin(out->us + kernel * j->window_us, j->window_us);
}

isc_finding isc_evidence_finding(const isc_evidence *j, double solid)
{
	return (isc_finding){.solid = solid, .claim.subject = isc_evidence_subject(j)};
}

void isc_evidence_takes(const isc_evidence *j, double us, isc_finding *out)
{
	out->us = us;
	out->value = out->claim.share = us / j->window_us * 100;
}

bool isc_evidence_state(const isc_evidence *j, enum isc_state state, isc_finding *out)
{
	if (isc_evidence_pct(j, state) < 0)
		return false;
	*out = isc_evidence_finding(j, isc_evidence_solid(j, state));
	isc_evidence_takes(j, j->state_us[state], out);
	out->claim.place = isc_evidence_at(&j->at[state]);
	if (j->source[state] == ISC_SOURCE_SAMPLED)
		isc_evidence_sampled(j, out);
	isc_evidence_at_least(j, isc_whatif_bound(j->a, &j->scope, state, NULL), out);
	return true;
}

bool isc_evidence_place(const isc_evidence *j, const isc_place *place, isc_finding *out)
{
	if (!j->known || j->window_us <= 0)
		return false;
	*out = isc_evidence_finding(j, 1);
	isc_evidence_takes(j, place->us, out);
	out->claim.place = isc_evidence_at(place);
	return true;
}

/* Work whose call is not known explains no gap; a clock that is only assumed may shift them. */
static double solid_of(const isc_facts_gpu *g)
{
	double work = (double)(g->kernels + g->copies + g->sets);
	double linked = work > 0 ? 1 - 0.5 * (double)g->unlinked / work : 0;

	return linked * work / (work + 5) * (g->bounded ? 1 : 0.9);
}

/* The rank or file says which GPU of that number it is. */
static isc_claim_subject gpu_subject(const isc_timeline_facts *f, const isc_facts_gpu *g)
{
	isc_claim_subject subject = {.kind = ISC_CLAIM_OF_GPU, .device = g->number, .rank = -1};
	uint32_t rank = f->sources[g->source].rank;

	if (f->source_count > 1 && rank != ISC_GPU_UNKNOWN)
		subject.rank = rank;
	else if (f->source_count > 1)
		subject.file = g->source + 1;
	return subject;
}

bool isc_evidence_gpu(const isc_evidence *j, size_t gpu, int64_t ns, isc_finding *out)
{
	const isc_facts_gpu *g = &j->a->timeline->gpus[gpu];
	int64_t span = g->last_ns - g->first_ns;

	if (!g->seen || span <= 0)
		return false;
	*out = (isc_finding){.value = (double)ns / (double)span * 100,
			     .us = (double)ns / 1e3,
			     .solid = solid_of(g),
			     .claim.subject = gpu_subject(j->a->timeline, g)};
	out->claim.share = out->value;
	return true;
}

/* Tasks that take turns on the thread: a scope is longer than its part of the thread's time. */
#define BESIDE 1.5

double isc_evidence_whole(const isc_evidence *j)
{
	double part = j->scopes > 1 ? j->window_us / (double)j->scopes : j->window_us;
	double mean = j->scopes > 1 ? isc_whatif_mean(j->a, &j->scope) : -1;

	return mean > part * BESIDE ? mean : part;
}

isc_claim_subject isc_evidence_each(const isc_evidence *j)
{
	return (isc_claim_subject){.kind = j->scope.len == 0 ? ISC_CLAIM_OF_TIME
					   : j->scopes > 1   ? ISC_CLAIM_OF_SCOPES
							     : ISC_CLAIM_OF_SCOPE,
				   .name = j->scope,
				   .rank = -1};
}

isc_claim_subject isc_evidence_subject(const isc_evidence *j)
{
	isc_claim_subject subject = isc_evidence_each(j);

	if (j->scopes > 1 && isc_evidence_whole(j) > j->window_us / (double)j->scopes * BESIDE)
		subject.kind = ISC_CLAIM_OF_THREAD;
	return subject;
}

void isc_evidence_holder(const isc_evidence *j, enum isc_state state, isc_finding *out)
{
	out->claim.holder = isc_evidence_at(&j->holder[state]);
	out->claim.holder.thread = j->holder_thread[state];
}

isc_claim_place isc_evidence_at(const isc_place *place)
{
	return place->name.len > 0
		       ? (isc_claim_place){.function = place->name, .file = place->file, .line = place->line}
		       : (isc_claim_place){0};
}

isc_claim_place isc_evidence_at_frame(const isc_analysis_frame *frame)
{
	return isc_evidence_at(&(isc_place){.name = frame->name, .file = frame->file, .line = frame->line});
}

isc_claim_place isc_evidence_at_text(isc_text name)
{
	return (isc_claim_place){.function = {name.at, name.len}};
}

isc_claim_place isc_evidence_at_kernel(const isc_evidence *j, isc_text name)
{
	isc_buffer short_name = {0};
	isc_claim_place place = {0};

	isc_names_kernel(&short_name, name.at, name.len);
	if (short_name.failed)
		j->arena->failed = true;
	else if (short_name.len > 0)
		place.function.at = isc_arena_copy(j->arena, short_name.data, short_name.len);
	place.function.len = place.function.at != NULL ? short_name.len : 0;
	isc_buffer_fini(&short_name);
	return place;
}
