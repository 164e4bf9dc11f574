/*
 * functions.c - calls and times of each function, as tracing saw them.
 *
 * What the governor left out is estimated, calls from the windows in which they
 * were counted (totals_window.c).  What calls of a function took that was not watched is
 * their caller's, so that times still add up; in a process that was paused times are
 * taken to have gone on as between the pauses.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/build.h"
#include "analyze/names.h"

#define DEVIATIONS 3.0	  /* of the sum of all that lies between windows */
#define WINDOW_MISSED 7.0 /* a call in so many windows' time is seen in all but one of a thousand cases */
/* How far calls in windows may be slower or quicker than those between: with both cores busy with
 * others a function that went on evenly was found 20 % too rare. */
#define DISTURBED 0.2

struct function_gathering {
	isc_hashmap rank_of; /* process -> rank of its calls in the totals */
};

/* What a function's numbers are taken to be. */
struct estimate {
	double calls, resumes, self_ticks, total_ticks;
	double least, most; /* calls; most negative: not known */
	bool governed;
};

/* ---- what was not seen ---- */

/* CPU time from the last window to the end; negative: not known. */
static double since_last_window(const isc_build *b, const isc_total_calls *p)
{
	double since;

	if (p->end_ns != 0)
		return p->end_ns > p->window_ns ? (double)(p->end_ns - p->window_ns) : 0;
	if (b->us_per_tick <= 0)
		return -1;
	since = p->last_ticks > p->window_ticks ? (double)(p->last_ticks - p->window_ticks) : 0;
	return since * b->us_per_tick * 1e3;
}

/*
 * The calls between windows.  The bound holds what three standard deviations of
 * the rates allow, and a phase that was as busy as the busiest window and hid
 * where two windows were farthest apart.  Where no call was counted there may
 * still have been some: WINDOW_MISSED of the windows would have seen one.  And a
 * window is itself a disturbance: its calls find colder caches than those between.
 */
static void estimate_between(const isc_build *b, const isc_total_function *f, const isc_total_calls *p,
			     struct estimate *e)
{
	/* What is traced again needs no guess from its last window on. */
	double rest = f->governed && !f->off && p->first_pause == 0 ? 0 : since_last_window(b, p), error, one;
	isc_total_range r = f->rate;

	e->governed = true;
	e->calls = e->least = (double)f->calls + (double)f->window_calls;
	e->most = -1;
	/* Each call was traced or counted, unless all of the process was paused as well; a gate is no such pause. */
	if (!p->stopped && (f->tallied || !f->governed)) {
		e->governed = f->governed;
		e->most = e->calls;
		return;
	}
	if (f->unseen || p->windows == 0 || p->inside_ns == 0 || rest < 0)
		return;
	if (!(r.likely >= 0))
		r = (isc_total_range){0, 0, 0};
	one = ((double)p->between_ns + rest) / (double)p->inside_ns;
	error = DEVIATIONS * sqrt((f->spread + rest * rest * f->rate_most * f->rate_most) / 2) +
		(double)p->farthest_ns * f->rate_most + WINDOW_MISSED * one + DISTURBED * f->between.likely;
	e->most = e->calls + f->between.most + rest * r.most + error;
	if (f->between.least + rest * r.least > error)
		e->least += f->between.least + rest * r.least - error;
	e->calls += f->between.likely + rest * r.likely;
	if (f->calls > 0)
		e->resumes *= e->calls / (double)f->calls;
}

static double scaled(uint64_t all, uint64_t exact, double scale)
{
	return all > exact ? (double)exact + (double)(all - exact) * scale : (double)all;
}

/*
 * Times of a process that was paused: as between the pauses.  Pauses from before a function was
 * first called are not its own: what it took is never said to be more than there was time since.
 */
static void estimate_paused(const isc_total_function *f, const isc_total_calls *p, struct estimate *e)
{
	bool late = f->paused_before != 0 && f->first_ticks > p->first_pause;
	uint64_t from = late ? f->first_ticks : p->first_pause;
	uint64_t before = late ? f->paused_before : 0;
	double off = p->paused_ticks > before ? (double)(p->paused_ticks - before) : 0;
	double all = p->last_ticks > from ? (double)(p->last_ticks - from) : 0;
	double scale = all > off ? all / (all - off) : 1;

	e->self_ticks = scaled(f->self_ticks, f->exact_self, scale);
	e->total_ticks = scaled(f->total_ticks, f->exact_total, scale);
}

static struct estimate estimate_of(const isc_build *b, const isc_total_function *f, const isc_total_calls *p)
{
	struct estimate e = {.calls = (double)f->calls,
			     .resumes = (double)f->resumes,
			     .self_ticks = (double)f->self_ticks,
			     .total_ticks = (double)f->total_ticks,
			     .least = (double)f->calls,
			     .most = (double)f->calls};

	if (p == NULL)
		return e;
	if (f->governed || f->window_calls > 0 || (p->first_pause != 0 && f->calls > f->exact_calls))
		estimate_between(b, f, p, &e);
	if (p->first_pause != 0 && f->self_ticks > f->exact_self)
		estimate_paused(f, p, &e);
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

static const isc_total_calls *process_of(const isc_build *b, const struct function_gathering *g, uint32_t process)
{
	const uint64_t *rank = isc_hashmap_find(&g->rank_of, process);

	return rank != NULL ? isc_totals_calls_at(b->totals, *rank) : NULL;
}

static bool take(isc_build *b, struct function_gathering *g, const isc_total_function *f)
{
	const isc_total_calls *p = process_of(b, g, f->process);
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
	out->recorded += f->calls + f->window_calls;
	out->least_calls += whole(e.least);
	out->most_calls = bounded ? out->most_calls + whole(e.most) : 0;
	out->self_us += e.self_ticks * b->us_per_tick;
	out->total_us += e.total_ticks * b->us_per_tick;
	out->governed |= e.governed;
	side->seen_self_us += (double)f->self_ticks * b->us_per_tick;
	side->seen_total_us += (double)f->total_ticks * b->us_per_tick;
	side->unwatched |= f->governed;
	side->paused |= !f->governed && p != NULL && p->first_pause != 0 && f->calls + f->window_calls > f->exact_calls;
	/* Where one was not watched, its time seems to be its caller's. */
	out->estimated |= f->estimated || e.governed || (p != NULL && (p->governed || p->first_pause != 0));
	return true;
}

static bool gather(isc_build *b, struct function_gathering *g)
{
	const isc_total_function *f;
	const isc_total_calls *p;

	for (size_t i = 0; (p = isc_totals_calls_at(b->totals, i)) != NULL; i++) {
		uint64_t *rank = isc_hashmap_put(&g->rank_of, p->process, NULL);

		if (rank == NULL)
			return false;
		*rank = i;
		b->a->skipped += p->missed;
		b->unmatched_calls += p->unmatched;
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

	if (f->judged.known && g->judged.known && f->judged.us != g->judged.us)
		return f->judged.us < g->judged.us ? 1 : -1;
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
	struct function_gathering g = {0};
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
