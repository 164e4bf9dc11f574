/*
 * phase_rows.c - milestones and units of each process, from their rows in the file.
 */
#include <stdlib.h>

#include "analyze/phases/phases.h"
#include "analyze/scopes/median.h"
#include "trace/frame.h"

#define JOBS_MAX 1024u
#define SPANS_MAX 65536u /* of a process, of each kind: a writer of ours writes far fewer */
#define LEADING 64u	 /* units that may be the warm-up */
#define WARM_SLOWER 2.0	 /* than the median */
#define WARM_SHARE 0.2	 /* of all, at most */
#define WARM_IMPORT 0.1	 /* of a unit, in imports: without them it would have been faster */

isc_phase_process *isc_phase_process_of(isc_phases *s, uint32_t process)
{
	const isc_trace_process *known = isc_trace_process_find(s->b->trace, process);
	uint64_t *rank = known != NULL ? isc_hashmap_put(&s->by_process, process, NULL) : NULL;
	isc_phase_process *p;

	if (rank != NULL && *rank != 0)
		return &s->process[*rank - 1];
	p = rank != NULL ? isc_arena_push(s->b->arena, &s->process, &s->count, &s->room, sizeof(*p)) : NULL;
	s->no_memory |= known != NULL && p == NULL;
	if (p == NULL)
		return NULL;
	*rank = s->count;
	*p = (isc_phase_process){.process = process,
				 .pid = known->pid,
				 .forked = known->defs_parent_gen != 0,
				 .start_ns = known->start_ns,
				 .end_ns = known->flags & ISC_PROCESS_ENDED ? known->end_ns : s->b->end_ns};
	p->end_ns = p->end_ns > p->start_ns ? p->end_ns : p->start_ns;
	return p;
}

/* ---- milestones ---- */

/* Text that the program runs as code is no module. */
static bool is_text(const isc_phases *s, const isc_trace_unit *u)
{
	isc_frame frame = {0};

	return isc_trace_code(s->b->trace, u->process, u->name, &frame) && frame.file.len > 0 &&
	       frame.file.at[0] == '<';
}

static void add_span(isc_phases *s, const isc_trace_unit *u, isc_phase_span **spans, size_t *count, size_t *room)
{
	isc_phase_span *at = *count < SPANS_MAX ? isc_arena_push(s->b->arena, spans, count, room, sizeof(*at)) : NULL;

	if (at != NULL)
		*at = (isc_phase_span){u->begin_ns, u->end_ns > u->begin_ns ? u->end_ns : u->begin_ns, u->name};
	s->no_memory |= s->b->arena->failed;
}

static bool take_milestone(void *self, const isc_trace_unit *u)
{
	isc_phases *s = self;
	isc_phase_process *p = isc_phase_process_of(s, u->process);

	if (p == NULL)
		return !s->no_memory;
	if (u->source == ISC_MILESTONE_SHUTDOWN)
		p->shutdown_ns = u->end_ns > p->shutdown_ns ? u->end_ns : p->shutdown_ns;
	else if (u->source == ISC_MILESTONE_LEAVING)
		p->leaving_ns = u->end_ns;
	else if (u->source == ISC_MILESTONE_MODULE)
		add_span(s, u, &p->modules, &p->module_count, &p->module_room);
	else if (u->source == ISC_MILESTONE_IMPORT && !is_text(s, u))
		add_span(s, u, &p->imports, &p->import_count, &p->import_room);
	p->called |= u->source == ISC_MILESTONE_MODULE || u->source == ISC_MILESTONE_IMPORT;
	return !s->no_memory;
}

static int by_begin(const void *x, const void *y)
{
	const isc_phase_span *p = x, *q = y;

	return (p->from_ns > q->from_ns) - (p->from_ns < q->from_ns);
}

/* The program is the module that took longest, and it has ended if its interpreter did, too.  What was loaded before
 * it, such as what site-packages ask for, was imported. */
static void sort_modules(isc_phases *s, isc_phase_process *p)
{
	size_t program = SIZE_MAX;

	for (size_t i = 0; i < p->module_count; i++) {
		if (program == SIZE_MAX || p->modules[i].to_ns - p->modules[i].from_ns >
						   p->modules[program].to_ns - p->modules[program].from_ns)
			program = i;
	}
	for (size_t i = 0; i < p->module_count; i++) {
		const isc_phase_span *m = &p->modules[i];

		if (i != program)
			add_span(s, &(isc_trace_unit){.begin_ns = m->from_ns, .end_ns = m->to_ns, .name = m->code},
				 &p->imports, &p->import_count, &p->import_room);
		else if (m->to_ns > p->shutdown_ns && (p->shutdown_ns != 0 || p->leaving_ns != 0))
			p->shutdown_ns = m->to_ns;
		p->first_ns = p->first_ns == 0 || m->from_ns < p->first_ns ? m->from_ns : p->first_ns;
	}
	if (p->import_count > 1)
		qsort(p->imports, p->import_count, sizeof(*p->imports), by_begin);
	if (p->import_count > 0 && (p->first_ns == 0 || p->imports[0].from_ns < p->first_ns))
		p->first_ns = p->imports[0].from_ns;
}

/* ---- units ---- */

/* SIZE_MAX: no memory, or there are too many kinds. */
static size_t job_of(isc_phases *s, const isc_trace_unit *u)
{
	uint64_t *rank = isc_hashmap_put(&s->named, isc_hashmap_key(u->process, u->name), NULL), *found = NULL;
	isc_phase_job *job;
	uint64_t key;

	if (rank != NULL && *rank == 0)
		*rank = s->named.count;
	key = rank != NULL ? isc_hashmap_key((uint32_t)(*rank << 2) | (u->source & 3), u->parent) : 0;
	if (rank != NULL && s->job_count > 0 && key == s->last_key)
		return s->last_job;
	found = rank != NULL && s->job_count < JOBS_MAX ? isc_hashmap_put(&s->job_of, key, NULL)
		: rank != NULL				? isc_hashmap_find(&s->job_of, key)
							: NULL;
	s->no_memory |= rank == NULL || (found == NULL && s->job_count < JOBS_MAX);
	if (found == NULL)
		return SIZE_MAX;
	if (*found == 0) {
		job = isc_arena_push(s->b->arena, &s->job, &s->job_count, &s->job_room, sizeof(*job));
		s->no_memory |= job == NULL;
		if (job == NULL)
			return SIZE_MAX;
		*job = (isc_phase_job){u->process, u->source, u->name, u->parent, .first_ns = UINT64_MAX};
		*found = s->job_count;
	}
	s->last_key = key;
	return s->last_job = *found - 1;
}

static bool take_unit(void *self, const isc_trace_unit *u)
{
	isc_phases *s = self;
	size_t at = u->end_ns >= u->begin_ns ? job_of(s, u) : SIZE_MAX;
	isc_phase_job *job = at != SIZE_MAX ? &s->job[at] : NULL;
	uint64_t took = u->end_ns - u->begin_ns;

	if (job == NULL)
		return !s->no_memory;
	job->count++;
	job->total_ns += (double)took;
	job->longest_ns = took > job->longest_ns ? took : job->longest_ns;
	job->first_ns = u->begin_ns < job->first_ns ? u->begin_ns : job->first_ns;
	job->last_ns = u->end_ns > job->last_ns ? u->end_ns : job->last_ns;
	return true;
}

bool isc_phase_rows_read(isc_phases *s)
{
	isc_trace *trace = s->b->trace;

	if (isc_trace_milestones_each(trace, take_milestone, s, NULL) != ISC_OK ||
	    isc_trace_units_each(trace, take_unit, s, NULL) != ISC_OK)
		return false;
	/* A process with units and without milestones has phases too. */
	for (size_t i = 0; i < s->job_count; i++)
		(void)isc_phase_process_of(s, s->job[i].process);
	for (size_t i = 0; i < s->count && !s->no_memory; i++)
		sort_modules(s, &s->process[i]);
	return !s->no_memory;
}

/* ---- warm-up ---- */

/* The first units of one serving, and how long the later ones take. */
struct warming {
	const isc_phase_process *p;
	isc_phase_serving *at;
	isc_phase_span leading[LEADING]; /* in their order */
	size_t leading_count;
	uint64_t seen;
	isc_histogram late; /* of the second half */
};

struct warmings {
	isc_phases *s;
	struct warming **of; /* by the job */
	bool failed;
};

/* Rows come by their ends, or nearly so. */
static void put_leading(struct warming *w, const isc_trace_unit *u)
{
	size_t i = w->leading_count;

	if (i == LEADING && u->begin_ns >= w->leading[i - 1].from_ns)
		return;
	i -= i == LEADING;
	for (; i > 0 && w->leading[i - 1].from_ns > u->begin_ns; i--)
		w->leading[i] = w->leading[i - 1];
	w->leading[i] = (isc_phase_span){u->begin_ns, u->end_ns, 0};
	w->leading_count += w->leading_count < LEADING;
}

static bool take_leading(void *self, const isc_trace_unit *u)
{
	struct warmings *all = self;
	size_t job = u->end_ns >= u->begin_ns ? job_of(all->s, u) : SIZE_MAX;
	struct warming *w = job != SIZE_MAX ? all->of[job] : NULL;

	if (w == NULL)
		return true;
	put_leading(w, u);
	if (w->seen++ >= w->at->job->count / 2)
		all->failed |= !isc_histogram_add(&w->late, u->end_ns - u->begin_ns);
	return !all->failed;
}

static bool imports_in(const isc_phase_process *p, const isc_phase_span *unit)
{
	double ns = 0;

	for (size_t i = 0; i < p->import_count && p->imports[i].from_ns < unit->to_ns; i++) {
		const isc_phase_span *m = &p->imports[i];
		uint64_t from = m->from_ns > unit->from_ns ? m->from_ns : unit->from_ns;
		uint64_t to = m->to_ns < unit->to_ns ? m->to_ns : unit->to_ns;

		ns += to > from ? (double)(to - from) : 0;
	}
	return ns > (double)(unit->to_ns - unit->from_ns) * WARM_IMPORT;
}

static void count_warm_ups(const struct warming *w)
{
	double slow_ns = (double)isc_histogram_percentile(&w->late, 0.5) * WARM_SLOWER;
	size_t most = (size_t)((double)w->at->job->count * WARM_SHARE), n = 0;

	for (most = most > 0 ? most : 1; n < w->leading_count && n < most; n++) {
		const isc_phase_span *unit = &w->leading[n];
		bool imports = imports_in(w->p, unit);

		if (!imports && (double)(unit->to_ns - unit->from_ns) <= slow_ns)
			break;
		w->at->import_units += imports;
		w->at->warm_ns = unit->to_ns > w->at->warm_ns ? unit->to_ns : w->at->warm_ns;
	}
	w->at->warm_units = n;
}

static bool add_warming(struct warmings *all, const isc_phase_process *p, isc_phase_serving *at)
{
	struct warming *w;

	/* Where other units come first, its own first ones are no warm-up. */
	if (at->job == NULL || at->at.from_ns != at->job->first_ns)
		return true;
	w = isc_arena_alloc(all->s->b->arena, sizeof(*w));
	if (w == NULL)
		return false;
	w->p = p;
	w->at = at;
	all->of[at->job - all->s->job] = w;
	return true;
}

bool isc_phase_rows_warm_up(isc_phases *s)
{
	struct warmings all = {.s = s, .of = isc_arena_array(s->b->arena, s->job_count + 1, sizeof(*all.of))};
	bool good = all.of != NULL;

	for (size_t i = 0; good && i < s->count; i++) {
		for (size_t k = 0; good && k < s->process[i].servings; k++)
			good = add_warming(&all, &s->process[i], &s->process[i].serving[k]);
	}
	good = good && isc_trace_units_each(s->b->trace, take_leading, &all, NULL) == ISC_OK && !all.failed;
	for (size_t i = 0; all.of != NULL && i < s->job_count; i++) {
		if (all.of[i] == NULL)
			continue;
		if (good)
			count_warm_ups(all.of[i]);
		isc_histogram_fini(&all.of[i]->late);
	}
	return good;
}
