/*
 * phase_list.c - the phases of all processes as the report has them.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/phases/phases.h"
#include "base/units.h"
#include "trace/frame.h"

#define LISTED_MAX 1000u
#define INSIDE_MAX 100u /* imports inside units, of a process */
#define NAME_MAX_LEN 60

static bool put_phase(isc_phases *s, const isc_phase_process *p, enum isc_phase phase, uint64_t from_ns, uint64_t to_ns,
		      const char *why)
{
	isc_analysis *a = s->b->a;

	if (to_ns <= from_ns || a->phase_count >= LISTED_MAX)
		return true;
	a->phases[a->phase_count++] = (isc_analysis_phase){.phase = phase,
							   .pid = p->pid,
							   .from_us = isc_build_us(s->b, from_ns),
							   .to_us = isc_build_us(s->b, to_ns),
							   .why = {why, why != NULL ? strlen(why) : 0}};
	return why != NULL;
}

/* ---- before the first unit ---- */

static const char *why_imports(isc_phases *s, size_t modules)
{
	isc_units u;

	return modules == 0 ? "samples are inside imports"
			    : isc_arena_format(s->b->arena, "%s import%s", isc_units_count(&u, modules),
					       modules == 1 ? "" : "s");
}

static const char *why_loading(const isc_phase_process *p, bool waits)
{
	if (waits)
		return "until it only waits, for work or for children";
	return p->servings > 0 && p->serving[0].job != NULL ? "no import, and before the first unit"
							    : "before the work that takes most CPU time";
}

/* Where the last piece of loading ends: with the first unit, or before it when there is nothing to do. */
static uint64_t loaded_ns(const isc_phase_process *p, bool *waits)
{
	uint64_t to = p->servings > 0 ? p->serving[0].at.from_ns : p->stopped_ns != 0 ? p->stopped_ns : p->end_ns;
	uint64_t since = to > p->until_ns ? isc_phase_load_idle_since(p, p->until_ns, to) : to;

	*waits = since < to;
	return p->servings > 0 || *waits ? since : p->until_ns;
}

static bool put_start(isc_phases *s, const isc_phase_process *p)
{
	uint64_t at = p->first_ns != 0 && !p->forked ? p->first_ns : p->start_ns, end;
	bool waits, good = p->forked || put_phase(s, p, ISC_PHASE_STARTUP, p->start_ns, at,
						  p->called ? "before its first call" : "before Python is seen to run");

	end = loaded_ns(p, &waits);
	for (size_t i = 0; good && i < p->import_count && p->imports[i].from_ns < p->until_ns;) {
		isc_phase_span joined = p->imports[i];
		size_t first = i;

		for (i++; i < p->import_count && p->imports[i].from_ns < p->until_ns &&
			  p->imports[i].from_ns <= joined.to_ns + ISC_PHASE_JOIN_NS;
		     i++)
			joined.to_ns = p->imports[i].to_ns > joined.to_ns ? p->imports[i].to_ns : joined.to_ns;
		joined.to_ns = joined.to_ns < p->until_ns ? joined.to_ns : p->until_ns;
		if (joined.from_ns > at + ISC_PHASE_JOIN_NS)
			good = put_phase(s, p, ISC_PHASE_LOADING, at, joined.from_ns, why_loading(p, false));
		good = good && put_phase(s, p, ISC_PHASE_IMPORTS, joined.from_ns, joined.to_ns,
					 why_imports(s, p->called ? i - first : 0));
		at = joined.to_ns > at ? joined.to_ns : at;
	}
	return good && put_phase(s, p, ISC_PHASE_LOADING, at, end, why_loading(p, waits));
}

/* ---- units ---- */

static const char *name_of(isc_phases *s, const isc_phase_job *job, int *len)
{
	isc_frame frame = {.name = {"?", 1}};
	uint32_t n = 0;
	const char *at;

	if (job->source == ISC_UNIT_SCOPE) {
		at = isc_build_label(s->b, job->process, job->name, &n);
	} else {
		isc_trace_code(s->b->trace, job->process, job->name, &frame);
		at = frame.name.at;
		n = frame.name.len;
	}
	*len = n < NAME_MAX_LEN ? (int)n : NAME_MAX_LEN;
	return at;
}

static const char *why_serving(isc_phases *s, const isc_phase_process *p, const isc_phase_serving *v)
{
	static const char *const kinds[] = {
		[ISC_UNIT_SCOPE] = "scopes", [ISC_UNIT_TASK] = "tasks", [ISC_UNIT_LOOP] = "iterations"};
	isc_units u;
	const char *name;
	int len;

	if (v->job == NULL)
		return p->called ? "no unit of work was found: all that follows the imports"
				 : "no calls were recorded: the work that takes most CPU time after the imports";
	name = name_of(s, v->job, &len);
	return isc_arena_format(s->b->arena, "from the first to the last of %s %s, %.*s",
				isc_units_count(&u, v->job->count), kinds[v->job->source], len, name);
}

static const char *why_warm(isc_phases *s, const isc_phase_serving *v)
{
	isc_units u;
	const char *count = isc_units_count(&u, v->warm_units);

	if (v->import_units == v->warm_units)
		return isc_arena_format(s->b->arena, "first %s unit%s: imports inside", count,
					v->warm_units == 1 ? "" : "s");
	return isc_arena_format(s->b->arena, "first %s unit%s: over twice the median", count,
				v->warm_units == 1 ? "" : "s");
}

static const char *why_inside(isc_phases *s, const isc_phase_process *p, const isc_phase_span *m)
{
	isc_frame frame = {0};

	if (m->code == 0 || !isc_trace_code(s->b->trace, p->process, m->code, &frame))
		return "an import inside a unit";
	return isc_arena_format(s->b->arena, "an import inside a unit: %.*s",
				(int)(frame.file.len < 200 ? frame.file.len : 200), frame.file.at);
}

static bool put_inside(isc_phases *s, const isc_phase_process *p, const isc_phase_serving *v)
{
	bool good = true;
	size_t n = 0;

	for (size_t i = 0; good && v->job != NULL && i < p->import_count && n < INSIDE_MAX; i++) {
		const isc_phase_span *m = &p->imports[i];

		if (m->from_ns < v->at.from_ns || m->to_ns > v->at.to_ns)
			continue;
		good = put_phase(s, p, ISC_PHASE_IMPORTS, m->from_ns, m->to_ns, why_inside(s, p, m));
		n++;
	}
	return good;
}

static bool put_serving(isc_phases *s, const isc_phase_process *p, const isc_phase_serving *v)
{
	uint64_t from = v->warm_ns > v->at.from_ns ? v->warm_ns : v->at.from_ns;

	if (v->warm_units > 0 && !put_phase(s, p, ISC_PHASE_WARM_UP, v->at.from_ns, from, why_warm(s, v)))
		return false;
	return put_phase(s, p, ISC_PHASE_SERVING, from, v->at.to_ns, why_serving(s, p, v)) && put_inside(s, p, v);
}

/* ---- the list ---- */

static const char *why_shutdown(const isc_phase_process *p)
{
	return p->shutdown_ns == 0 ? "the interpreter takes its modules apart"
				   : "the program has ended, and no thread is waited for";
}

static bool is_told_of(const isc_phase_process *p)
{
	return p->called || p->servings > 0 || p->import_count > 0 || p->stopped_ns != 0;
}

static int by_time(const void *x, const void *y)
{
	const isc_analysis_phase *p = x, *q = y;

	if (p->from_us != q->from_us)
		return p->from_us > q->from_us ? 1 : -1;
	return (p->to_us < q->to_us) - (p->to_us > q->to_us);
}

static bool put_process(isc_phases *s, const isc_phase_process *p)
{
	isc_analysis *a = s->b->a;
	size_t first = a->phase_count;
	bool good = !is_told_of(p) || put_start(s, p);

	for (size_t i = 0; good && i < p->servings; i++)
		good = put_serving(s, p, &p->serving[i]);
	if (good && p->stopped_ns != 0)
		good = put_phase(s, p, ISC_PHASE_SHUTDOWN, p->stopped_ns, p->end_ns, why_shutdown(p));
	if (a->phase_count - first > 1)
		qsort(a->phases + first, a->phase_count - first, sizeof(*a->phases), by_time);
	return good;
}

static int by_process(const void *x, const void *y)
{
	const isc_phase_process *p = *(const isc_phase_process *const *)x, *q = *(const isc_phase_process *const *)y;

	if (p->start_ns != q->start_ns)
		return p->start_ns > q->start_ns ? 1 : -1;
	return (p->process > q->process) - (p->process < q->process);
}

bool isc_phase_list(isc_phases *s)
{
	const isc_phase_process **order = isc_arena_array(s->b->arena, s->count + 1, sizeof(*order));
	isc_analysis *a = s->b->a;
	bool good;

	a->phases = isc_arena_array(s->b->arena, LISTED_MAX, sizeof(*a->phases));
	good = order != NULL && a->phases != NULL;
	for (size_t i = 0; good && i < s->count; i++)
		order[i] = &s->process[i];
	if (good && s->count > 1)
		qsort(order, s->count, sizeof(*order), by_process);
	for (size_t i = 0; good && i < s->count; i++)
		good = put_process(s, order[i]);
	return good;
}
