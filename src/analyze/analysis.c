#include "analyze/analysis.h"

#include <stdlib.h>

#include "analyze/build.h"
#include "analyze/time/holders.h"
#include "analyze/verdict/limiter.h"
#include "analyze/verdict/observed.h"
#include "analyze/picture/lanes.h"
#include "analyze/memory/memory.h"
#include "analyze/phases/phases.h"
#include "import/import.h"

/* Events between two looks at the clock: some milliseconds. */
#define PROGRESS_EVERY 100000u

isc_status isc_build_no_memory(isc_error *err)
{
	return isc_fail(err, ISC_ERR_NOMEM, "no memory to analyse the trace");
}

void isc_build_progress(const isc_build *b, uint64_t done, uint64_t total)
{
	if (done % PROGRESS_EVERY == 0 && b->options != NULL && b->options->progress != NULL)
		b->options->progress(b->options->progress_self, done, total);
}

double isc_build_us(const isc_build *b, uint64_t ns)
{
	return ns > b->start_ns ? (double)(ns - b->start_ns) / 1e3 : 0;
}

double isc_build_inside_us(const isc_build *b, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t from = from_ns > b->from_ns ? from_ns : b->from_ns;
	uint64_t to = to_ns < b->to_ns ? to_ns : b->to_ns;

	return to > from ? (double)(to - from) / 1e3 : 0;
}

void isc_build_accounts(isc_build *b)
{
	const isc_trace_account *account;
	isc_analysis *a = b->a;

	for (size_t i = 0; (account = isc_trace_account_at(b->trace, i)) != NULL; i++) {
		a->lost += account->lost;
		b->accounted += account->stored;
	}
	a->events = b->stored = isc_totals_events(b->totals);
	b->calls_seen = isc_totals_function_at(b->totals, 0) != NULL;
	for (int i = 0; i < ISC_FOLDED_KINDS; i++)
		b->folded[i] = isc_totals_folded(b->totals, (enum isc_folded)i);
	b->missed = isc_totals_missed(b->totals);
	a->retired = b->stats->retired_events;
}

/* CPU time of the program, with what recording took of it; negative: not known. */
static double program_cpu_us(const isc_build *b)
{
	const isc_analysis *a = b->a;
	double us = 0;

	if (b->facts.program_cpu_us > 0)
		return b->facts.program_cpu_us;
	if (a->user_us >= 0 && a->system_us >= 0)
		return a->user_us + a->system_us;
	for (size_t i = 0; i < a->thread_count && us >= 0; i++)
		us = a->threads[i].on_cpu_us >= 0 ? us + a->threads[i].on_cpu_us : -1;
	return b->cut ? -1 : us;
}

/* Of all processes that said when they had started. */
static void take_startup(isc_build *b)
{
	double cost_ns = 0, worked_ns = 0;
	const isc_total_calls *c;

	for (size_t i = 0; (c = isc_totals_calls_at(b->totals, i)) != NULL; i++) {
		cost_ns += (double)c->startup_cost_ns;
		worked_ns += (double)c->startup_worked_ns;
	}
	b->a->startup_pct = worked_ns > 0 ? cost_ns / worked_ns * 100 : -1;
	if (worked_ns <= 0)
		b->a->startup_unknown = "no process says when it had started";
}

static void take_overhead(isc_build *b)
{
	double cpu_us = program_cpu_us(b);
	isc_analysis *a = b->a;

	a->measured_pct = b->facts.measured_pct;
	a->measured_cpu_pct = b->facts.own_cpu_us >= 0 && cpu_us > 0 ? b->facts.own_cpu_us / cpu_us * 100 : -1;
	take_startup(b);
	a->switches_pct = b->facts.switch_cost_pct;
	a->recorder_cpu_pct = b->facts.recorder_cpu_pct;
	if (a->recorder_cpu_pct < 0 && b->facts.recorder_cpu_us >= 0 && a->wall_us > 0)
		a->recorder_cpu_pct = b->facts.recorder_cpu_us / a->wall_us * 100;
	/* Starting and ending cost the recorder the same few milliseconds whatever the program does. */
	b->too_short = a->recorder_cpu_pct >= 0 && a->wall_us > 0 && a->wall_us < ISC_BUILD_SHORT_US;
	if (b->too_short)
		a->recorder_cpu_pct = -1;
	a->clock_source = isc_trace_header(b->trace)->clock_source == 0 ? "monotonic" : "tsc";
	a->complete = b->stats->complete;
	/* And those that a recorder at work wrote over while they were read. */
	a->retired = b->stats->retired_events;
	/* Accounts come behind the events they speak of: where they agree, they were the last word. */
	a->lost_known = a->complete || a->live || b->accounted == b->stored;
	/* A recorder at work is always in the middle of something. */
	a->damaged = !a->live && isc_trace_is_damaged(b->trace);
}

/* Only who asks who held a lock goes across threads. */
static bool join_intervals(isc_build *b, isc_states *states, isc_walk *walk)
{
	if (!isc_holders_join(b, states))
		return false;
	if (b->holders == NULL)
		return true;
	if (isc_intervals_new(b->trace, &b->intervals, NULL) != ISC_OK)
		return false;
	isc_intervals_join(b->intervals, states, walk);
	return true;
}

/* A disk that is full leaves them out. */
static bool end_intervals(isc_build *b, isc_states *states)
{
	isc_status st;

	if (!isc_states_end(states, b->end_ns))
		return false;
	if (b->intervals == NULL)
		return true;
	st = isc_intervals_end(b->intervals, NULL);
	if (st == ISC_ERR_NOMEM || (st == ISC_OK && !isc_holders_end(b)))
		return false;
	isc_intervals_free(b->intervals);
	b->intervals = NULL;
	return true;
}

/* The first of two readings: all that has to be known before events are told apart. */
static bool survey(isc_build *b)
{
	isc_walk walk = {0};
	isc_states states;
	bool good;

	isc_states_init(&states, &b->waits, b->tick_us * 1e3);
	if (isc_totals_wait_at(b->totals, 0) != NULL)
		isc_states_join(&states, &walk);
	good = join_intervals(b, &states, &walk) && isc_limiter_join(b, &states, &walk) && isc_focus_join(b, &walk) &&
	       isc_phases_join(b, &walk) && isc_memory_survey(b, &walk);
	/* The events of a part could not be counted without it. */
	if (!b->cut)
		isc_unseen_join(&b->unseen, b, &walk);
	good = good && isc_walk_run(&walk, b->trace);
	if (!b->cut)
		isc_unseen_end(&b->unseen);
	good = good && end_intervals(b, &states);
	isc_states_fini(&states);
	return good;
}

static void tell_progress(void *self, uint64_t passed)
{
	const isc_build *b = self;

	b->options->progress(b->options->progress_self, passed < b->a->events ? passed : b->a->events, b->a->events);
}

/* The second. */
static isc_status walk(isc_build *b, isc_error *err)
{
	bool told = b->options != NULL && b->options->progress != NULL;
	isc_walk walk = {.tell = told ? tell_progress : NULL, .tell_self = b};
	isc_states states;
	isc_status st;

	isc_states_init(&states, &b->waits, b->tick_us * 1e3);
	if (isc_totals_wait_at(b->totals, 0) != NULL)
		isc_states_join(&states, &walk);
	isc_memory_join(b, &walk);
	isc_numa_join(b, &walk);
	st = isc_gpu_join(b, &walk, err);
	if (st == ISC_OK && (!isc_observed_join(b, &states, &walk) || !isc_samples_join(b, &states, &walk) ||
			     !isc_walk_run(&walk, b->trace) || !isc_states_end(&states, b->end_ns)))
		st = isc_build_no_memory(err);
	isc_states_fini(&states);
	return st;
}

/* Whatever is kept between the steps. */
static void drop(isc_build *b)
{
	isc_intervals_free(b->intervals);
	isc_holders_free(b->holders);
	isc_limiter_drop(b);
	isc_focus_drop(b);
	isc_phases_drop(b);
	isc_memory_drop(b);
	isc_observed_drop(b);
	isc_samples_drop(b);
	isc_gpu_drop(b);
}

static isc_status build(isc_build *b, isc_error *err)
{
	isc_status st = isc_build_facts(b, err);

	if (st == ISC_OK)
		st = isc_build_labels(b, err);
	if (st == ISC_OK)
		st = isc_build_window(b, err);
	/* Losses and events of the whole run, before the totals are cut. */
	if (st == ISC_OK)
		isc_build_accounts(b);
	if (st == ISC_OK && !isc_coverage_read(&b->coverage, b))
		st = isc_build_no_memory(err);
	if (st == ISC_OK)
		st = isc_build_over_time(b, err);
	if (st == ISC_OK)
		st = isc_build_totals(b, err);
	if (st == ISC_OK)
		st = isc_build_processes(b, err);
	if (st == ISC_OK)
		isc_build_settle(b);
	if (st == ISC_OK)
		st = isc_build_threads(b, err);
	if (st == ISC_OK)
		st = isc_build_scopes(b, err);
	if (st == ISC_OK)
		st = isc_build_functions(b, err);
	if (st == ISC_OK && !survey(b))
		st = isc_build_no_memory(err);
	if (st == ISC_OK)
		st = isc_build_phases(b, err);
	if (st == ISC_OK)
		st = isc_build_stacks_of_samples(b, err);
	if (st == ISC_OK)
		st = walk(b, err);
	if (st == ISC_OK)
		st = isc_build_samples(b, err);
	if (st == ISC_OK)
		isc_build_sort_functions(b);
	if (st == ISC_OK)
		st = isc_build_marks(b, err);
	if (st == ISC_OK)
		st = isc_build_contention(b, err);
	if (st == ISC_OK)
		st = isc_build_syscalls(b, err);
	if (st == ISC_OK)
		isc_build_numa(b);
	if (st == ISC_OK)
		st = isc_build_gpu(b, err);
	if (st == ISC_OK)
		st = isc_build_memory(b, err);
	if (st != ISC_OK)
		return st;
	b->a->from_us = isc_build_us(b, b->from_ns);
	b->a->to_us = isc_build_us(b, b->to_ns);
	take_overhead(b);
	st = isc_build_verdict(b, err);
	if (st == ISC_OK)
		st = isc_build_startup(b, err);
	if (st == ISC_OK)
		st = isc_build_judged_columns(b, err);
	if (st == ISC_OK)
		st = isc_build_units(b, err);
	if (st == ISC_OK)
		st = isc_build_warnings(b, err);
	return st == ISC_OK && b->options != NULL && b->options->lanes ? isc_build_lanes(b, err) : st;
}

isc_status isc_analysis_new(isc_trace *trace, const isc_analysis_options *options, isc_analysis **out, isc_error *err)
{
	isc_build b = {.trace = trace, .stats = isc_trace_stats_get(trace), .end = isc_trace_end_get(trace)};
	isc_status st;

	*out = NULL;
	b.arena = isc_arena_new();
	b.a = b.arena != NULL ? isc_arena_alloc(b.arena, sizeof(*b.a)) : NULL;
	if (b.a == NULL) {
		isc_arena_free(b.arena);
		return isc_build_no_memory(err);
	}
	b.a->arena = b.arena;
	b.a->clock_error_us = -1;
	b.a->live = options != NULL && options->live;
	b.options = options;
	isc_waits_init(&b.waits, trace);
	st = build(&b, err);
	/* Whatever was not found may lie in what was not read. */
	if (b.stats->no_memory)
		st = isc_build_no_memory(err);
	isc_totals_free(b.totals);
	drop(&b);
	isc_waits_fini(&b.waits);
	isc_hashmap_fini(&b.entry_of);
	isc_hashmap_fini(&b.gpu_held);
	isc_unseen_fini(&b.unseen);
	isc_coverage_fini(&b.coverage);
	isc_function_table_fini(&b.table);
	if (st == ISC_OK)
		*out = b.a;
	else
		isc_analysis_free(b.a);
	return st;
}

void isc_analysis_free(isc_analysis *a)
{
	if (a == NULL)
		return;
	isc_lanes_free(a->lanes);
	isc_timeline_free(a->timeline_own);
	if (a->imported != NULL)
		isc_import_fini(a->imported);
	free(a->imported);
	isc_arena_free(a->arena);
}
