/*
 * functions.c - calls and times of each function, as tracing saw them.
 *
 * What the governor left out is estimated.  A function that was not watched is
 * taken to have been called as often as in the bursts in which its exits were
 * counted, or else before; what those calls took is their caller's, so that times still add up.
 * In a process that was paused everything is taken to have gone on as between
 * the pauses.  Bursts happen while the process runs, and calls come only then.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/build.h"
#include "analyze/names.h"

/* Tracing cannot have taken more of a burst than this. */
#define COST_SHARE_MAX 0.75

struct process {
	const isc_total_calls *calls;
	uint64_t sampled; /* calls since it was first paused */
	double ran;	  /* share of its time in which a thread of it had a CPU */
};

struct gathering {
	struct process *process;
	isc_hashmap rank_of; /* process -> rank of its calls in the totals + 1 */
};

/* What a function's numbers are taken to be. */
struct estimate {
	double calls, resumes, self_ticks, total_ticks;
	double least, most; /* calls; most negative: not known */
	bool governed;
};

/* ---- what was not seen ---- */

/* Calls a tick without what counting them cost. */
static double untraced_rate(double rate, double exit_ticks)
{
	double cost = rate * exit_ticks;

	return rate / (1 - (cost < COST_SHARE_MAX ? cost : COST_SHARE_MAX));
}

static void estimate_unwatched(const isc_build *b, const isc_total_function *f, const struct process *p,
			       struct estimate *e)
{
	double exit_ticks = b->us_per_tick > 0 && p != NULL ? p->calls->cost / 16.0 / 2e3 / b->us_per_tick : 0;
	double seen = (double)f->calls + (double)f->burst_calls;
	double off = (double)f->off_ticks, ran = p != NULL ? p->ran : 1;

	e->governed = true;
	e->calls = e->least = seen;
	e->most = -1;
	if (f->bursts > 0) {
		e->calls += off * ran * untraced_rate(f->burst_rates / (double)f->bursts, exit_ticks);
		e->least += off * ran * f->burst_least;
		e->most = seen + off * untraced_rate(f->burst_most, exit_ticks);
	} else if (f->watched_ticks > 0) {
		/* There was no budget for a burst: as often as before. */
		e->calls += off * ran * untraced_rate((double)f->calls / (double)f->watched_ticks, 2 * exit_ticks);
	}
	if (f->calls > 0)
		e->resumes *= e->calls / (double)f->calls;
}

static double scaled(uint64_t all, uint64_t exact, double scale)
{
	return all > exact ? (double)exact + (double)(all - exact) * scale : (double)all;
}

static void estimate_paused(const isc_build *b, const isc_total_function *f, const struct process *p,
			    struct estimate *e)
{
	double off = (double)p->calls->paused_ticks;
	double all = p->calls->last_ticks > p->calls->first_pause
			     ? (double)(p->calls->last_ticks - p->calls->first_pause)
			     : 0;
	double on = all > off ? all - off : 0;
	double scale = on > 0 ? all / on : 1, calls_scale = scale;
	/* Calls come faster while nobody looks. */
	double cost = b->us_per_tick > 0 ? p->calls->cost / 16e3 / b->us_per_tick * (double)p->sampled : 0;

	if (on > 0)
		calls_scale = 1 + off * p->ran / (on - (cost < on * COST_SHARE_MAX ? cost : on * COST_SHARE_MAX));

	if (f->calls == f->exact_calls && f->self_ticks <= f->exact_self)
		return;
	e->governed = true;
	e->calls = scaled(f->calls, f->exact_calls, calls_scale);
	e->resumes = scaled(f->resumes, f->exact_resumes, calls_scale);
	e->self_ticks = scaled(f->self_ticks, f->exact_self, scale);
	e->total_ticks = scaled(f->total_ticks, f->exact_total, scale);
	e->most = -1;
}

static struct estimate estimate_of(const isc_build *b, const isc_total_function *f, const struct process *p)
{
	struct estimate e = {.calls = (double)f->calls,
			     .resumes = (double)f->resumes,
			     .self_ticks = (double)f->self_ticks,
			     .total_ticks = (double)f->total_ticks,
			     .least = (double)f->calls,
			     .most = (double)f->calls};

	if (f->governed)
		estimate_unwatched(b, f, p, &e);
	else if (p != NULL && p->calls->first_pause != 0)
		estimate_paused(b, f, p, &e);
	return e;
}

/* ---- by function ---- */

static uint64_t whole(double n)
{
	/* A file may hold rates that are no numbers. */
	if (!(n > 0))
		return 0;
	return n < 9e18 ? (uint64_t)(n + 0.5) : (uint64_t)9e18;
}

static struct process *process_of(const struct gathering *g, uint32_t process)
{
	const uint64_t *rank = isc_hashmap_find(&g->rank_of, process);

	return rank != NULL ? &g->process[*rank - 1] : NULL;
}

static bool take(isc_build *b, struct gathering *g, const isc_total_function *f)
{
	const struct process *p = process_of(g, f->process);
	struct estimate e = estimate_of(b, f, p);
	isc_analysis_function *out;
	isc_function_side *side;
	bool bounded;
	size_t n;

	/* Only left: it was entered before tracing began, or where events were lost. */
	if (e.calls <= 0 && e.self_ticks <= 0 && e.total_ticks <= 0)
		return true;
	n = isc_function_table_code(b, f->process, f->code);
	if (n == SIZE_MAX)
		return false;
	out = &b->a->functions[n];
	side = &b->table.side[n];
	out->traced = true;
	bounded = e.most >= 0 && (out->recorded == 0 || out->most_calls > 0);
	out->calls += whole(e.calls);
	out->resumes += whole(e.resumes);
	out->recorded += f->calls + f->burst_calls;
	out->least_calls += whole(e.least);
	out->most_calls = bounded ? out->most_calls + whole(e.most) : 0;
	out->self_us += e.self_ticks * b->us_per_tick;
	out->total_us += e.total_ticks * b->us_per_tick;
	out->governed |= e.governed;
	side->seen_self_us += (double)f->self_ticks * b->us_per_tick;
	side->seen_total_us += (double)f->total_ticks * b->us_per_tick;
	side->unwatched |= f->governed;
	side->paused |= e.governed && !f->governed;
	side->ran = p != NULL ? p->ran : 1;
	/* Where one was not watched, its time seems to be its caller's. */
	out->estimated |= f->estimated || e.governed || (p != NULL && p->calls->governed);
	return true;
}

/* Of a Python process one thread runs at a time. */
static double share_run(const isc_build *b, uint32_t process)
{
	size_t rank = isc_build_process_rank(b, process);
	double on_cpu = 0, wall = 0;

	for (size_t i = 0; rank != SIZE_MAX && i < b->a->thread_count; i++) {
		const isc_analysis_thread *t = &b->a->threads[i];

		if (t->pid != b->a->processes[rank].pid || t->on_cpu_us < 0)
			continue;
		on_cpu += t->on_cpu_us;
		wall = t->wall_us > wall ? t->wall_us : wall;
	}
	return wall > 0 && on_cpu < wall ? on_cpu / wall : 1;
}

static bool gather(isc_build *b, struct gathering *g)
{
	const isc_total_function *f;
	const isc_total_calls *p;
	size_t n = 0;

	while (isc_totals_calls_at(b->totals, n) != NULL)
		n++;
	g->process = isc_arena_array(b->arena, n, sizeof(*g->process));
	if (g->process == NULL)
		return false;
	for (size_t i = 0; (p = isc_totals_calls_at(b->totals, i)) != NULL; i++) {
		uint64_t *rank = isc_hashmap_put(&g->rank_of, p->process, NULL);

		if (rank == NULL)
			return false;
		*rank = i + 1;
		g->process[i].calls = p;
		g->process[i].ran = p->governed || p->first_pause != 0 ? share_run(b, p->process) : 1;
		b->a->skipped += p->missed;
		b->unmatched_calls += p->unmatched;
	}
	for (size_t i = 0; (f = isc_totals_function_at(b->totals, i)) != NULL; i++) {
		struct process *of = process_of(g, f->process);

		if (of != NULL)
			of->sampled += f->calls - f->exact_calls;
	}
	for (size_t i = 0; (f = isc_totals_function_at(b->totals, i)) != NULL; i++) {
		if (!take(b, g, f))
			return false;
	}
	return true;
}

/* ---- all of them ---- */

/* What was open when the trace ended lasted as long as its thread. */
static uint64_t end_of_lane(void *self, uint32_t process, uint32_t thread, uint8_t stream, uint64_t last)
{
	const isc_build *b = self;
	uint64_t end_ns = isc_build_thread_end_ns(b, thread);
	uint64_t last_ns = b->cut ? last : isc_trace_ticks_to_ns(b->trace, last);

	(void)process;
	end_ns = end_ns < b->to_ns ? end_ns : b->to_ns;
	if (stream != 0 || end_ns <= last_ns || b->us_per_tick <= 0)
		return last;
	return last + (uint64_t)((double)(end_ns - last_ns) / 1e3 / b->us_per_tick);
}

void isc_build_settle(isc_build *b)
{
	isc_totals_settle(b->totals, end_of_lane, b);
}

/* What the functions of a build are sorted by at the very end. */
static int by_self(const void *x, const void *y)
{
	const isc_analysis_function *f = x, *g = y;
	int order;

	if (f->self_us != g->self_us)
		return f->self_us < g->self_us ? 1 : -1;
	if (f->calls != g->calls)
		return f->calls < g->calls ? 1 : -1;
	if (f->pid != g->pid)
		return f->pid > g->pid ? 1 : -1;
	order = isc_names_compare(&f->name, &g->name);
	if (order == 0)
		order = isc_names_compare(&f->file, &g->file);
	return order != 0 ? order : (f->line > g->line) - (f->line < g->line);
}

isc_status isc_build_functions(isc_build *b, isc_error *err)
{
	struct gathering g = {0};
	isc_analysis *a = b->a;
	bool ok;

	ok = gather(b, &g);
	for (size_t i = 0; ok && i < a->function_count; i++) {
		isc_analysis_function *f = &a->functions[i];

		a->governed_count += f->governed;
		if (b->us_per_tick <= 0)
			f->self_us = f->total_us = -1;
	}
	isc_hashmap_fini(&g.rank_of);
	return ok ? ISC_OK : isc_build_no_memory(err);
}

void isc_build_sort_functions(isc_build *b)
{
	if (b->a->function_count > 0)
		qsort(b->a->functions, b->a->function_count, sizeof(*b->a->functions), by_self);
}
