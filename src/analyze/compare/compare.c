#include "analyze/compare/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/names.h"
#include "base/hashmap.h"

#define LISTED_MAX 20u
/* Fewer scopes beyond a percentile make it twice as unsure. */
#define BEYOND_ENOUGH 10.0
/* Where sets differ by more in how often the main scope was entered, times are told per scope. */
#define COUNT_DIFFERS 0.02
/* A function's change below this share of the wall time is nobody's business. */
#define SHARE_MIN 0.002

struct spread {
	size_t n;
	double mean, deviation; /* of one run */
};

static struct spread spread_of(const isc_run_set *set, const isc_figure *m, const isc_text *subject)
{
	struct spread s = {0, NAN, 0};
	double sum = 0, squares = 0, value;

	for (size_t i = 0; i < set->count; i++) {
		value = isc_figure_value(m, set->runs[i], subject);
		if (isnan(value))
			continue;
		s.n++;
		sum += value;
		squares += value * value;
	}
	if (s.n > 0)
		s.mean = sum / (double)s.n;
	if (s.n > 1)
		s.deviation = sqrt(fmax(squares - sum * s.mean, 0) / (double)(s.n - 1));
	return s;
}

/* Student's t, two-sided 95%. */
static double student(size_t freedom)
{
	static const double t[] = {0, 12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23};

	return freedom < sizeof(t) / sizeof(t[0]) ? t[freedom] : 2.0 + 2.3 / (double)freedom;
}

static const isc_analysis_scope *scope_of(const isc_analysis *a, const isc_text *name)
{
	for (size_t i = 0; i < a->scope_count; i++) {
		if (isc_names_compare(&a->scopes[i].name, name) == 0)
			return &a->scopes[i];
	}
	return NULL;
}

/* Of single runs. */
static double assumed(const isc_run_set *set, const isc_figure *m, const isc_text *subject, double value)
{
	const isc_analysis_scope *s;
	double share = ISC_COMPARE_ASSUMED, beyond;

	if (m->unit == ISC_UNIT_COUNT)
		return 0;
	if (m->unit == ISC_UNIT_PERCENT)
		return ISC_COMPARE_ASSUMED_POINTS;
	if (m->subject == ISC_SUBJECT_SCOPE && m->name[0] == 'p' && (s = scope_of(set->runs[0], subject)) != NULL) {
		beyond = (double)s->count * (100 - atof(m->name + 1)) / 100;
		share *= beyond < BEYOND_ENOUGH ? 2 : 1;
	}
	return value * share;
}

isc_change isc_compare_figure(const isc_run_set *base, const isc_run_set *fresh, const isc_figure *metric,
			      const isc_text *subject)
{
	isc_change c = {.metric = *metric, .subject = *subject, .noise = NAN};
	struct spread x = spread_of(base, metric, subject), y = spread_of(fresh, metric, subject);
	double pooled;

	c.base = x.mean;
	c.fresh = y.mean;
	if (x.n == 0 || y.n == 0)
		return c;
	c.measured = x.n + y.n > 2;
	if (c.measured) {
		/* One spread for both: a set of one run has none of its own. */
		pooled = ((double)(x.n - 1) * x.deviation * x.deviation +
			  (double)(y.n - 1) * y.deviation * y.deviation) /
			 (double)(x.n + y.n - 2);
		c.noise = student(x.n + y.n - 2) * sqrt(pooled * (1 / (double)x.n + 1 / (double)y.n));
	} else {
		c.noise = fmax(assumed(base, metric, subject, c.base), assumed(fresh, metric, subject, c.fresh));
	}
	return c;
}

int isc_change_direction(const isc_change *c)
{
	double change = c->fresh - c->base;

	if (isnan(change) || isnan(c->noise) || fabs(change) <= c->noise)
		return 0;
	return change > 0 ? 1 : -1;
}

/* ---- machines ---- */

static isc_status differ(isc_error *err, const char *what, const isc_text *x, const isc_text *y)
{
	isc_fail(err, ISC_ERR_INVALID, "the traces are of different machines: %s %.*s and %.*s", what,
		 (int)(x->len < 40 ? x->len : 40), x->len > 0 ? x->at : "", (int)(y->len < 40 ? y->len : 40),
		 y->len > 0 ? y->at : "");
	isc_hint(err, "record both on one; --any-machine compares them all the same");
	return ISC_ERR_INVALID;
}

static isc_status same_devices(const isc_analysis *x, const isc_analysis *y, isc_error *err)
{
	size_t n = x->timeline != NULL ? x->timeline->gpu_count : 0,
	       m = y->timeline != NULL ? y->timeline->gpu_count : 0;

	for (size_t i = 0; i < n && i < m; i++) {
		const isc_facts_gpu *g = &x->timeline->gpus[i], *h = &y->timeline->gpus[i];

		if (g->name.len != h->name.len || memcmp(g->name.at, h->name.at, g->name.len) != 0)
			return differ(err, "GPUs", &g->name, &h->name);
	}
	return ISC_OK;
}

/* Containers have another name every time, so the processor counts where it is known. */
static isc_status same_machine(const isc_analysis *x, const isc_analysis *y, isc_error *err)
{
	if (x->cpu.len > 0 && y->cpu.len > 0) {
		if (isc_names_compare(&x->cpu, &y->cpu) != 0)
			return differ(err, "processors", &x->cpu, &y->cpu);
		if (x->cpus != y->cpus) {
			isc_fail(err, ISC_ERR_INVALID, "the traces are of different machines: %u and %u CPUs", x->cpus,
				 y->cpus);
			isc_hint(err, "record both on one; --any-machine compares them all the same");
			return ISC_ERR_INVALID;
		}
	} else if (x->host.len > 0 && y->host.len > 0 && isc_names_compare(&x->host, &y->host) != 0) {
		return differ(err, "hosts", &x->host, &y->host);
	}
	return same_devices(x, y, err);
}

isc_status isc_compare_machines(const isc_run_set *base, const isc_run_set *fresh, isc_error *err)
{
	isc_status st = ISC_OK;

	for (size_t i = 1; st == ISC_OK && i < base->count; i++)
		st = same_machine(base->runs[0], base->runs[i], err);
	for (size_t i = 0; st == ISC_OK && i < fresh->count; i++)
		st = same_machine(base->runs[0], fresh->runs[i], err);
	return st;
}

/* ---- all that changed ---- */

struct compare {
	isc_comparison *out;
	isc_arena *arena;
	double per_base, per_fresh; /* scopes of a run, to divide by */
};

static isc_change change_named(const struct compare *c, const char *metric, const isc_text *subject)
{
	isc_figure m;

	isc_figure_find(metric, strlen(metric), &m);
	return isc_compare_figure(&c->out->base, &c->out->fresh, &m, subject);
}

static double mean_state(const isc_run_set *set, const isc_text *scope, int state)
{
	double sum = 0, n = 0;

	for (size_t i = 0; i < set->count; i++) {
		const isc_analysis_scope *s = scope_of(set->runs[i], scope);

		if (s == NULL || s->all.count == 0 || s->all.state_us[state] < 0)
			continue;
		sum += s->all.state_us[state];
		n++;
	}
	return n > 0 ? sum / n : NAN;
}

static int by_mean(const void *x, const void *y)
{
	const isc_scope_change *s = x, *u = y;
	double a = fabs(s->mean.fresh - s->mean.base), b = fabs(u->mean.fresh - u->mean.base);

	/* What is in one set only comes last. */
	a = isnan(a) ? -1 : a;
	b = isnan(b) ? -1 : b;
	if (a < b || a > b)
		return a < b ? 1 : -1;
	return isc_names_compare(&s->name, &u->name);
}

static bool names_of(isc_names *names, isc_arena *arena, const isc_run_set *set, bool functions)
{
	for (size_t i = 0; i < set->count; i++) {
		const isc_analysis *a = set->runs[i];
		size_t n = functions ? a->function_count : a->scope_count;

		for (size_t k = 0; k < n; k++) {
			const isc_text *name = functions ? &a->functions[k].name : &a->scopes[k].name;

			if (isc_names_put(names, arena, name->at, name->len) == SIZE_MAX)
				return false;
		}
	}
	return true;
}

static bool compare_scopes(struct compare *c)
{
	isc_comparison *out = c->out;
	isc_names names = {0};
	bool good = names_of(&names, c->arena, &out->base, false) && names_of(&names, c->arena, &out->fresh, false);

	out->scopes = good ? isc_arena_array(c->arena, names.count, sizeof(*out->scopes)) : NULL;
	good = good && (out->scopes != NULL || names.count == 0);
	for (size_t i = 0; good && i < names.count; i++) {
		isc_scope_change *s = &out->scopes[out->scope_count++];
		const isc_analysis_scope *fresh = scope_of(out->fresh.runs[0], &names.text[i]);

		s->name = names.text[i];
		s->p50 = change_named(c, "p50_us", &s->name);
		s->p90 = change_named(c, "p90_us", &s->name);
		s->p99 = change_named(c, "p99_us", &s->name);
		s->mean = change_named(c, "mean_us", &s->name);
		s->count = change_named(c, "count", &s->name);
		s->slow_because = fresh != NULL && fresh->cause_count > 0 ? &fresh->causes[0] : NULL;
		for (int state = 0; state < ISC_STATES; state++) {
			s->base_us[state] = mean_state(&out->base, &s->name, state);
			s->fresh_us[state] = mean_state(&out->fresh, &s->name, state);
		}
	}
	if (good && out->scope_count > 0)
		qsort(out->scopes, out->scope_count, sizeof(*out->scopes), by_mean);
	isc_names_fini(&names);
	return good;
}

/* The scope with the most time, when one set has entered it more often. */
static void choose_unit(struct compare *c)
{
	const isc_analysis *a = c->out->base.runs[0];
	isc_change count;

	c->per_base = c->per_fresh = 1;
	if (a->scope_count == 0)
		return;
	count = change_named(c, "count", &a->scopes[0].name);
	if (!(count.base > 0) || !(count.fresh > 0) || fabs(count.fresh / count.base - 1) <= COUNT_DIFFERS)
		return;
	c->out->per = a->scopes[0].name;
	c->per_base = count.base;
	c->per_fresh = count.fresh;
}

static void rescale(const struct compare *c, isc_change *change)
{
	change->base /= c->per_base;
	change->fresh /= c->per_fresh;
	change->noise /= fmin(c->per_base, c->per_fresh);
}

static int by_change(const void *x, const void *y)
{
	const isc_change *c = x, *d = y;
	double a = fabs(c->fresh - c->base), b = fabs(d->fresh - d->base);

	if (a < b || a > b)
		return a < b ? 1 : -1;
	return isc_names_compare(&c->subject, &d->subject);
}

/* A function that only one set has took no time in the other. */
static void fill_missing(isc_change *c)
{
	if (isnan(c->base) == isnan(c->fresh))
		return;
	c->base = isnan(c->base) ? 0 : c->base;
	c->fresh = isnan(c->fresh) ? 0 : c->fresh;
	c->noise = fmax(c->base, c->fresh) * ISC_COMPARE_ASSUMED;
	c->measured = false;
}

static const isc_analysis_function *function_of(const isc_run_set *set, const isc_text *name)
{
	const isc_analysis_function *found = NULL;

	for (size_t i = 0; i < set->count; i++) {
		for (size_t k = 0; k < set->runs[i]->function_count && found == NULL; k++) {
			if (isc_names_compare(&set->runs[i]->functions[k].name, name) == 0)
				found = &set->runs[i]->functions[k];
		}
	}
	return found;
}

/* Functions of one name, over all runs, from one walk through each: there are thousands. */
static bool add_functions(isc_names *names, isc_arena *arena, const isc_run_set *set, double *sum, double *squares,
			  double *error, size_t room)
{
	double *run = isc_arena_array(arena, room, sizeof(*run));

	if (run == NULL)
		return false;
	for (size_t i = 0; i < set->count; i++) {
		const isc_analysis *a = set->runs[i];

		memset(run, 0, room * sizeof(*run));
		for (size_t k = 0; k < a->function_count; k++) {
			size_t n = isc_names_put(names, arena, a->functions[k].name.at, a->functions[k].name.len);

			if (n >= room)
				return false;
			run[n] += fmax(a->functions[k].self_us, 0);
			if (a->functions[k].by_samples)
				error[n] = fmax(error[n], a->functions[k].cpu_error_us);
		}
		for (size_t n = 0; n < room; n++) {
			sum[n] += run[n];
			squares[n] += run[n] * run[n];
		}
	}
	return true;
}

static isc_change function_change(const isc_comparison *out, const isc_text *name, const double *sums)
{
	double n = (double)out->base.count, m = (double)out->fresh.count, pooled;
	isc_change c = {.subject = *name, .base = sums[0] / n, .fresh = sums[1] / m, .measured = n + m > 2};

	isc_figure_find("self_us", strlen("self_us"), &c.metric);
	pooled = c.measured ? (fmax(sums[2] - sums[0] * c.base, 0) + fmax(sums[3] - sums[1] * c.fresh, 0)) / (n + m - 2)
			    : 0;
	/* What samples may be off by is there in any case: a function that was met once says little. */
	c.noise = c.measured ? student((size_t)(n + m) - 2) * sqrt(pooled * (1 / n + 1 / m))
			     : fmax(c.base, c.fresh) * ISC_COMPARE_ASSUMED;
	c.noise = fmax(c.noise, sums[4] * sqrt(1 / n + 1 / m));
	return c;
}

static bool compare_functions(struct compare *c)
{
	isc_comparison *out = c->out;
	double least = fmax(out->wall.base, 0) / c->per_base * SHARE_MIN, *table[5];
	size_t room = 0, n;
	isc_names names = {0};
	bool good = names_of(&names, c->arena, &out->base, true) && names_of(&names, c->arena, &out->fresh, true);

	n = names.count;
	for (int i = 0; i < 5 && good; i++) {
		table[i] = isc_arena_array(c->arena, n, sizeof(double));
		good = table[i] != NULL || n == 0;
	}
	good = good && (n == 0 || (add_functions(&names, c->arena, &out->base, table[0], table[2], table[4], n) &&
				   add_functions(&names, c->arena, &out->fresh, table[1], table[3], table[4], n)));
	for (size_t i = 0; good && i < n; i++) {
		isc_change change = function_change(
				   out, &names.text[i],
				   (double[]){table[0][i], table[1][i], table[2][i], table[3][i], table[4][i]}),
			   *place;

		rescale(c, &change);
		if (isc_change_direction(&change) == 0 || fabs(change.fresh - change.base) < least)
			continue;
		place = isc_arena_push(c->arena, &out->functions, &out->function_count, &room, sizeof(*place));
		good = place != NULL;
		if (good)
			*place = change;
	}
	if (good && out->function_count > 0)
		qsort(out->functions, out->function_count, sizeof(*out->functions), by_change);
	out->function_count = out->function_count < LISTED_MAX ? out->function_count : LISTED_MAX;
	for (size_t i = 0; i < out->function_count; i++) {
		out->functions[i].function = function_of(&out->fresh, &out->functions[i].subject);
		if (out->functions[i].function == NULL)
			out->functions[i].function = function_of(&out->base, &out->functions[i].subject);
	}
	isc_names_fini(&names);
	return good;
}

static bool compare_kernels(struct compare *c)
{
	isc_comparison *out = c->out;
	isc_names names = {0};
	size_t room = 0;
	bool good = true;

	for (int set = 0; set < 2; set++) {
		const isc_timeline_facts *t = (set == 0 ? &out->base : &out->fresh)->runs[0]->timeline;

		for (size_t i = 0; good && t != NULL && i < t->kernel_count && i < LISTED_MAX * 5; i++)
			good = isc_names_put(&names, c->arena, t->kernels[i].name.at, t->kernels[i].name.len) !=
			       SIZE_MAX;
	}
	for (size_t i = 0; good && i < names.count; i++) {
		isc_change change = change_named(c, "kernel_us", &names.text[i]), *place;

		fill_missing(&change);
		rescale(c, &change);
		if (isc_change_direction(&change) == 0)
			continue;
		place = isc_arena_push(c->arena, &out->kernels, &out->kernel_count, &room, sizeof(*place));
		good = place != NULL;
		if (good)
			*place = change;
	}
	if (good && out->kernel_count > 0)
		qsort(out->kernels, out->kernel_count, sizeof(*out->kernels), by_change);
	out->kernel_count = out->kernel_count < LISTED_MAX ? out->kernel_count : LISTED_MAX;
	isc_names_fini(&names);
	return good;
}

isc_status isc_compare(const isc_run_set *base, const isc_run_set *fresh, isc_arena *arena, isc_comparison *out,
		       isc_error *err)
{
	struct compare c = {.out = out, .arena = arena};
	isc_figure m;

	*out = (isc_comparison){.base = *base, .fresh = *fresh};
	out->wall = change_named(&c, "wall_us", &(isc_text){0});
	choose_unit(&c);
	for (size_t i = 0, state = 0; isc_figure_at(i, &m); i++) {
		if (m.subject == ISC_SUBJECT_RUN && m.unit == ISC_UNIT_PERCENT && strcmp(m.name, "overhead_pct") != 0 &&
		    state < ISC_STATES)
			out->states[state++] = isc_compare_figure(base, fresh, &m, &(isc_text){0});
	}
	if (!compare_scopes(&c) || !compare_functions(&c) || !compare_kernels(&c))
		return isc_fail(err, ISC_ERR_NOMEM, "no memory to compare the traces");
	return ISC_OK;
}
