#include "analyze/compare/figure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum which {
	WALL,
	EVENTS,
	LOST,
	OVERHEAD,
	MINOR_FAULTS,
	MAJOR_FAULTS,
	COUNT,
	MEAN,
	P50,
	P90,
	P99,
	MAX,
	TOTAL,
	SELF,
	INCLUSIVE,
	CPU,
	CALLS,
	KERNEL_TOTAL,
	KERNEL_MEAN,
	BUSY,
	IDLE,
	COPY,
	STATE /* and the states behind it */
};

static const isc_figure metrics[] = {
	{"wall_us", ISC_SUBJECT_RUN, ISC_UNIT_US, WALL},
	{"p50_us", ISC_SUBJECT_SCOPE, ISC_UNIT_US, P50},
	{"p90_us", ISC_SUBJECT_SCOPE, ISC_UNIT_US, P90},
	{"p99_us", ISC_SUBJECT_SCOPE, ISC_UNIT_US, P99},
	{"max_us", ISC_SUBJECT_SCOPE, ISC_UNIT_US, MAX},
	{"mean_us", ISC_SUBJECT_SCOPE, ISC_UNIT_US, MEAN},
	{"total_us", ISC_SUBJECT_SCOPE, ISC_UNIT_US, TOTAL},
	{"count", ISC_SUBJECT_SCOPE, ISC_UNIT_COUNT, COUNT},
	{"self_us", ISC_SUBJECT_FUNCTION, ISC_UNIT_US, SELF},
	{"inclusive_us", ISC_SUBJECT_FUNCTION, ISC_UNIT_US, INCLUSIVE},
	{"cpu_us", ISC_SUBJECT_FUNCTION, ISC_UNIT_US, CPU},
	{"calls", ISC_SUBJECT_FUNCTION, ISC_UNIT_COUNT, CALLS},
	{"kernel_us", ISC_SUBJECT_KERNEL, ISC_UNIT_US, KERNEL_TOTAL},
	{"kernel_mean_us", ISC_SUBJECT_KERNEL, ISC_UNIT_US, KERNEL_MEAN},
	{"busy_pct", ISC_SUBJECT_DEVICE, ISC_UNIT_PERCENT, BUSY},
	{"idle_pct", ISC_SUBJECT_DEVICE, ISC_UNIT_PERCENT, IDLE},
	{"copy_pct", ISC_SUBJECT_DEVICE, ISC_UNIT_PERCENT, COPY},
	{"minor_faults", ISC_SUBJECT_RUN, ISC_UNIT_COUNT, MINOR_FAULTS},
	{"major_faults", ISC_SUBJECT_RUN, ISC_UNIT_COUNT, MAJOR_FAULTS},
	{"events", ISC_SUBJECT_RUN, ISC_UNIT_COUNT, EVENTS},
	{"lost", ISC_SUBJECT_RUN, ISC_UNIT_COUNT, LOST},
	{"overhead_pct", ISC_SUBJECT_RUN, ISC_UNIT_PERCENT, OVERHEAD},
};

#define METRICS (sizeof(metrics) / sizeof(metrics[0]))

/* Of the states: their time in a scope, and their share of the focus thread's; idle_pct is a device's. */
#define TIME(id, name, ...) name "_us",
#define SHARE(id, name, ...) ISC_STATE_##id == ISC_STATE_IDLE ? "idle_state_pct" : name "_pct",
static const char *const state_names[2][ISC_STATES] = {{ISC_STATE_TABLE(TIME)}, {ISC_STATE_TABLE(SHARE)}};

bool isc_figure_at(size_t i, isc_figure *out)
{
	size_t state = i - METRICS;

	if (i < METRICS) {
		*out = metrics[i];
		return true;
	}
	if (state >= 2 * (size_t)ISC_STATES)
		return false;
	*out = (isc_figure){.name = state_names[state / ISC_STATES][state % ISC_STATES],
			    .subject = state < ISC_STATES ? ISC_SUBJECT_SCOPE : ISC_SUBJECT_RUN,
			    .unit = state < ISC_STATES ? ISC_UNIT_US : ISC_UNIT_PERCENT,
			    .which = STATE + (int)(state % ISC_STATES)};
	return true;
}

bool isc_figure_find(const char *name, size_t len, isc_figure *out)
{
	for (size_t i = 0; isc_figure_at(i, out); i++) {
		if (strlen(out->name) == len && memcmp(out->name, name, len) == 0)
			return true;
	}
	return false;
}

const char *isc_subject_name(enum isc_subject subject)
{
	static const char *const names[] = {NULL, "scope", "function", "kernel", "device"};

	return names[subject];
}

static double known(double value)
{
	return value >= 0 ? value : NAN;
}

static bool same(const char *at, size_t len, const isc_text *wanted)
{
	return len == wanted->len && (len == 0 || memcmp(at, wanted->at, len) == 0);
}

/* "Model.run" is also found as "run", unless something else has that name. */
static bool ends_with(const isc_text *name, const isc_text *wanted)
{
	return name->len > wanted->len && name->at[name->len - wanted->len - 1] == '.' &&
	       memcmp(name->at + name->len - wanted->len, wanted->at, wanted->len) == 0;
}

static double of_run(int which, const isc_analysis *a)
{
	switch (which) {
	case WALL:
		return known(a->wall_us);
	case EVENTS:
		return (double)a->events;
	case LOST:
		return a->lost_known ? (double)a->lost : NAN;
	case OVERHEAD:
		return known(a->measured_pct);
	case MINOR_FAULTS:
		return known(a->minor_faults);
	case MAJOR_FAULTS:
		return known(a->major_faults);
	default:
		return a->breakdown.known ? known(a->breakdown.pct[which - STATE]) : NAN;
	}
}

static double of_scope(int which, const isc_analysis_scope *s)
{
	switch (which) {
	case COUNT:
		return (double)s->count;
	case MEAN:
		return known(s->mean_us);
	case P50:
		return known(s->p50_us);
	case P90:
		return known(s->p90_us);
	case P99:
		return known(s->p99_us);
	case MAX:
		return known(s->max_us);
	case TOTAL:
		return known(s->total_us);
	default:
		return s->all.count > 0 ? known(s->all.state_us[which - STATE]) : NAN;
	}
}

/* Functions of one name in several files and processes are one to whoever asks by name. */
static double of_functions(int which, const isc_analysis *a, const isc_text *subject)
{
	double sum = NAN;

	for (int pass = 0; pass < 2 && isnan(sum); pass++) {
		for (size_t i = 0; i < a->function_count; i++) {
			const isc_analysis_function *f = &a->functions[i];
			double value = which == SELF	    ? f->self_us
				       : which == INCLUSIVE ? f->total_us
				       : which == CPU	    ? (a->samples.count > 0 ? f->cpu_self_us : -1)
							    : (f->traced ? (double)f->calls : -1);

			if (pass == 0 ? !same(f->name.at, f->name.len, subject) : !ends_with(&f->name, subject))
				continue;
			if (value >= 0)
				sum = isnan(sum) ? value : sum + value;
		}
	}
	return sum;
}

static double of_kernels(int which, const isc_analysis *a, const isc_text *subject)
{
	double total = 0, count = 0;

	for (size_t i = 0; a->timeline != NULL && i < a->timeline->kernel_count; i++) {
		const isc_facts_kernel *k = &a->timeline->kernels[i];

		if (!same(k->name.at, k->name.len, subject))
			continue;
		total += (double)k->total_ns / 1e3;
		count += (double)k->count;
	}
	return count <= 0 ? NAN : which == KERNEL_MEAN ? total / count : total;
}

static double of_device(int which, const isc_analysis *a, const isc_text *subject)
{
	const isc_facts_gpu *found = NULL;
	char number[24];

	for (size_t i = 0; a->timeline != NULL && i < a->timeline->gpu_count; i++) {
		const isc_facts_gpu *g = &a->timeline->gpus[i];

		snprintf(number, sizeof(number), "%u", g->number);
		/* Of one device alone nobody needs to say which. */
		if (!g->seen || (subject->len > 0 && !same(number, strlen(number), subject)))
			continue;
		if (found != NULL)
			return NAN;
		found = g;
	}
	if (found == NULL || found->last_ns <= found->first_ns)
		return NAN;
	return (double)(which == BUSY	? found->busy_ns
			: which == COPY ? found->copy_ns
					: found->last_ns - found->first_ns - found->busy_ns) /
	       (double)(found->last_ns - found->first_ns) * 100;
}

double isc_figure_value(const isc_figure *m, const isc_analysis *a, const isc_text *subject)
{
	switch (m->subject) {
	case ISC_SUBJECT_RUN:
		return of_run(m->which, a);
	case ISC_SUBJECT_SCOPE:
		for (size_t i = 0; i < a->scope_count; i++) {
			if (same(a->scopes[i].name.at, a->scopes[i].name.len, subject))
				return of_scope(m->which, &a->scopes[i]);
		}
		return NAN;
	case ISC_SUBJECT_FUNCTION:
		return of_functions(m->which, a, subject);
	case ISC_SUBJECT_KERNEL:
		return of_kernels(m->which, a, subject);
	default:
		return of_device(m->which, a, subject);
	}
}
