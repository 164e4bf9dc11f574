#include "analyze/phases/phases.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/time/unit_choice.h"
#include "trace/frame.h"

#define JOB_SHARE 0.2	  /* of the time of all jobs: less is a part of another one's work */
#define JOB_OVERLAP 0.05  /* of the shorter of two that come one after the other */
#define COVERED 0.2	  /* of the time or the CPU time after the imports: units that have less are a detail */
#define IMPORT_SHARE 0.5  /* of the start-up, at least */
#define MOST_OF_RUN 0.9	  /* imports that take more are what the program does */
#define IDLE_LEAST_NS 1e8 /* without a unit: a time without work that is worth a word */
#define IDLE_CPU 0.1	  /* of a time without work, in which other threads run at most */

const char *isc_phase_name(enum isc_phase phase)
{
	static const char *const names[] = {[ISC_PHASE_STARTUP] = "startup", [ISC_PHASE_IMPORTS] = "imports",
					    [ISC_PHASE_LOADING] = "loading", [ISC_PHASE_WARM_UP] = "warm_up",
					    [ISC_PHASE_SERVING] = "serving", [ISC_PHASE_SHUTDOWN] = "shutdown"};

	return names[phase];
}

static uint64_t later(uint64_t x, uint64_t y)
{
	return x > y ? x : y;
}

/* ---- which units ---- */

/* Is more of the shorter of two in the other than may be by chance? */
static bool overlap(const isc_phase_job *job, const isc_phase_span *at)
{
	uint64_t from = later(job->first_ns, at->from_ns);
	uint64_t to = job->last_ns < at->to_ns ? job->last_ns : at->to_ns;
	double shorter = fmin((double)(job->last_ns - job->first_ns), (double)(at->to_ns - at->from_ns));

	return to > from && (double)(to - from) > shorter * JOB_OVERLAP;
}

static bool is_apart(const isc_phase_process *p, const isc_phase_job *job)
{
	for (size_t i = 0; i < p->servings; i++) {
		if (overlap(job, &p->serving[i].at))
			return false;
	}
	return true;
}

/* The same work: another request of the same server, or the same loop, of which an iteration may begin with another
 * call at another time. */
static bool goes_with(const isc_phase_job *job, const isc_phase_job *main)
{
	if (job->process != main->process || job->source != main->source)
		return false;
	return (main->source == ISC_UNIT_LOOP && job->parent == main->parent) ||
	       (job->count >= ISC_UNIT_ENOUGH && job->total_ns >= main->total_ns * JOB_SHARE);
}

static void add_serving(const isc_phases *s, isc_phase_process *p, const isc_phase_job *main)
{
	isc_phase_span at = {main->first_ns, main->last_ns, 0}, before;

	do {
		before = at;
		for (size_t i = 0; i < s->job_count; i++) {
			const isc_phase_job *job = &s->job[i];

			if (!goes_with(job, main) || !overlap(job, &at))
				continue;
			at.from_ns = job->first_ns < at.from_ns ? job->first_ns : at.from_ns;
			at.to_ns = later(at.to_ns, job->last_ns);
		}
	} while (at.from_ns != before.from_ns || at.to_ns != before.to_ns);
	p->serving[p->servings++] = (isc_phase_serving){.at = at, .job = main};
}

static double serving_ns(const isc_phase_process *p)
{
	double ns = 0;

	for (size_t i = 0; i < p->servings; i++)
		ns += (double)(p->serving[i].at.to_ns - p->serving[i].at.from_ns);
	return ns;
}

/* The event loop itself goes round from its first callback on, which may load what requests need. */
static bool is_event_loop(const isc_phases *s, const isc_phase_job *job)
{
	isc_frame frame = {0};

	return job->source == ISC_UNIT_LOOP && isc_trace_code(s->b->trace, job->process, job->parent, &frame) &&
	       frame.file.len > 0 && memmem(frame.file.at, frame.file.len, "/asyncio/", strlen("/asyncio/")) != NULL;
}

/* The next largest that lies apart from those that were taken, and is no small matter beside them. */
static const isc_phase_job *next_job(const isc_phases *s, const isc_phase_process *p)
{
	const isc_phase_job *best = NULL;

	for (size_t i = 0; i < s->job_count; i++) {
		const isc_phase_job *job = &s->job[i];
		isc_unit_weight w = {job->source, job->count, job->total_ns, (double)job->longest_ns};
		double ns = (double)(job->last_ns - job->first_ns);

		if (job->process != p->process || (best != NULL && job->total_ns <= best->total_ns) ||
		    !isc_unit_may_count(&w, (double)(p->end_ns - p->start_ns)) || !is_apart(p, job) ||
		    ns < (serving_ns(p) + ns) * JOB_SHARE || is_event_loop(s, job))
			continue;
		best = job;
	}
	return best;
}

static int by_begin(const void *x, const void *y)
{
	const isc_phase_serving *p = x, *q = y;

	return (p->at.from_ns > q->at.from_ns) - (p->at.from_ns < q->at.from_ns);
}

static void choose_jobs(const isc_phases *s, isc_phase_process *p)
{
	const isc_phase_job *job;
	size_t best;

	for (size_t i = 0; i < s->job_count; i++) {
		job = &s->job[i];
		/* Those of others have none. */
		s->weight[i] = (isc_unit_weight){job->source, job->process == p->process ? job->count : 0,
						 job->total_ns, (double)job->longest_ns};
	}
	best = isc_unit_choose(s->weight, s->job_count, (double)(p->end_ns - p->start_ns));
	if (best == SIZE_MAX)
		return;
	add_serving(s, p, &s->job[best]);
	while (p->servings < ISC_PHASE_JOBS && (job = next_job(s, p)) != NULL)
		add_serving(s, p, job);
	qsort(p->serving, p->servings, sizeof(*p->serving), by_begin);
}

/* ---- the edges ---- */

/* Up to where at least half of the time went to imports, and of each piece that is added to it: one that comes later
 * is no start-up. */
static uint64_t start_up_until(const isc_phase_process *p)
{
	uint64_t base = p->first_ns != 0 ? p->first_ns : p->start_ns, until = base;
	double imported = 0;

	for (size_t i = 0; i < p->import_count; i++) {
		const isc_phase_span *m = &p->imports[i];

		if (m->to_ns <= base)
			continue;
		imported += (double)(m->to_ns - later(m->from_ns, later(base, until)));
		if (imported < (double)(m->to_ns - base) * IMPORT_SHARE)
			continue;
		until = base = m->to_ns;
		imported = 0;
	}
	return until;
}

/* The last import that begins before the first unit has ended. */
static uint64_t imports_until(const isc_phase_process *p, uint64_t first_ns)
{
	uint64_t until = 0;

	for (size_t i = 0; i < p->import_count && p->imports[i].from_ns < first_ns; i++)
		until = later(until, p->imports[i].to_ns < first_ns ? p->imports[i].to_ns : first_ns);
	return until != 0 ? until : p->first_ns != 0 ? p->first_ns : p->start_ns;
}

/* Are the units what the program does, or a detail of it? */
static bool covers_work(const isc_phases *s, const isc_phase_process *p, uint64_t from_ns, uint64_t to_ns)
{
	double all_ns = isc_phase_load_cpu_ns(s, p, from_ns, to_ns), ns = 0;

	if (p->serving[0].job->source == ISC_UNIT_SCOPE || serving_ns(p) >= (double)(to_ns - from_ns) * COVERED)
		return true;
	for (size_t i = 0; i < p->servings; i++)
		ns += isc_phase_load_cpu_ns(s, p, p->serving[i].at.from_ns, p->serving[i].at.to_ns);
	return all_ns > 0 && ns >= all_ns * COVERED;
}

static uint64_t last_unit_ns(const isc_phase_process *p)
{
	uint64_t last = 0;

	for (size_t i = 0; i < p->servings; i++)
		last = later(last, p->serving[i].at.to_ns);
	return last;
}

/* Since when its main thread waits for work and nothing else is done; to_ns: something is. */
static uint64_t without_work(const isc_phases *s, const isc_phase_process *p, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t since = isc_phase_load_idle_since(p, from_ns, to_ns);
	double ns = (double)(to_ns - since);

	return ns >= IDLE_LEAST_NS && isc_phase_load_cpu_ns(s, p, since, to_ns) <= ns * IDLE_CPU ? since : to_ns;
}

/* Without units: all that follows the imports, or as samples tell its work apart. */
static void serve_the_rest(const isc_phases *s, isc_phase_process *p)
{
	uint64_t to = p->stopped_ns != 0 ? p->stopped_ns : p->end_ns;
	isc_phase_span at = {p->until_ns, to, 0};

	/* Nothing says what it did when. */
	if (!p->called && p->import_count == 0 && p->stopped_ns == 0)
		return;
	if (to <= p->until_ns || without_work(s, p, p->until_ns, to) < to ||
	    (double)(p->until_ns - p->start_ns) > (double)(to - p->start_ns) * MOST_OF_RUN)
		return;
	if (!p->called && !isc_phase_load_serving(s, p, p->until_ns, to, &at))
		at = (isc_phase_span){p->until_ns, to, 0};
	at.from_ns = later(at.from_ns, p->until_ns);
	at.to_ns = at.to_ns < to ? at.to_ns : to;
	p->serving[p->servings++] = (isc_phase_serving){.at = at};
}

static uint64_t length_of(const isc_phase_serving *v)
{
	return v->at.to_ns - later(v->at.from_ns, v->warm_ns);
}

/* False: no memory. */
static bool find_edges(isc_phases *s, isc_phase_process *p)
{
	uint64_t stopped = p->shutdown_ns != 0 ? p->shutdown_ns : p->leaving_ns;

	if (!p->called && !p->forked && !isc_phase_load_imports(s, p))
		return false;
	choose_jobs(s, p);
	if (p->servings > 0) {
		if (p->first_ns > p->serving[0].at.from_ns)
			p->first_ns = p->serving[0].at.from_ns;
		p->until_ns = imports_until(p, p->serving[0].at.from_ns);
		if (!covers_work(s, p, p->until_ns, stopped != 0 ? stopped : p->end_ns))
			p->servings = 0;
	}
	p->stopped_ns = stopped != 0 ? later(stopped, last_unit_ns(p)) : 0;
	if (p->servings == 0) {
		p->until_ns = start_up_until(p);
		serve_the_rest(s, p);
	}
	return true;
}

static void choose_judged(isc_phase_process *p)
{
	for (size_t i = 0; i < p->servings; i++) {
		const isc_phase_serving *v = &p->serving[i];

		if (p->judged == NULL || length_of(v) > length_of(p->judged))
			p->judged = v;
	}
}

/* ---- for others ---- */

static const isc_phase_process *find_process(const isc_build *b, uint32_t process)
{
	const uint64_t *rank = b->phases != NULL ? isc_hashmap_find(&b->phases->by_process, process) : NULL;

	return rank != NULL ? &b->phases->process[*rank - 1] : NULL;
}

bool isc_phases_judged(const isc_build *b, uint32_t process, isc_phase_span *out, bool *serving)
{
	const isc_phase_process *p = find_process(b, process);

	if (p == NULL || (p->judged == NULL && p->import_count == 0 && p->stopped_ns == 0))
		return false;
	*serving = p->judged != NULL;
	*out = (isc_phase_span){p->until_ns, p->stopped_ns != 0 ? p->stopped_ns : p->end_ns, 0};
	/* Whatever is left is not worth a verdict. */
	if (p->judged == NULL && (double)(out->from_ns - p->start_ns) > (double)(p->end_ns - p->start_ns) * MOST_OF_RUN)
		out->from_ns = p->start_ns;
	if (p->judged != NULL)
		*out = (isc_phase_span){later(p->judged->at.from_ns, p->judged->warm_ns), p->judged->at.to_ns, 0};
	return out->to_ns > out->from_ns;
}

bool isc_phases_join(isc_build *b, isc_walk *walk)
{
	isc_phases *s = isc_arena_alloc(b->arena, sizeof(*s));

	if (s == NULL)
		return false;
	b->phases = s;
	s->b = b;
	if (!isc_phase_rows_read(s))
		return false;
	isc_phase_load_join(s, walk);
	return true;
}

isc_status isc_build_phases(isc_build *b, isc_error *err)
{
	isc_phases *s = b->phases;
	bool good = !s->no_memory;

	s->weight = isc_arena_array(b->arena, s->job_count + 1, sizeof(*s->weight));
	good = good && s->weight != NULL;
	for (size_t i = 0; good && i < s->count; i++)
		good = find_edges(s, &s->process[i]);
	good = good && isc_phase_rows_warm_up(s);
	for (size_t i = 0; good && i < s->count; i++)
		choose_judged(&s->process[i]);
	return good && isc_phase_list(s) && !b->arena->failed ? ISC_OK : isc_build_no_memory(err);
}

void isc_phases_drop(isc_build *b)
{
	isc_phases *s = b->phases;

	if (s == NULL)
		return;
	isc_hashmap_fini(&s->by_process);
	isc_hashmap_fini(&s->named);
	isc_hashmap_fini(&s->job_of);
	isc_hashmap_fini(&s->stack_of);
	b->phases = NULL;
}
