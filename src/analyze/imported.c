/*
 * imported.c - traces of other tools as the same model that ours have: what a
 * trace does not tell stays unknown, and a warning says so.
 */
#include "analyze/imported.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/build.h"
#include "analyze/imported_warnings.h"
#include "analyze/picture/lanes_timeline.h"
#include "analyze/verdict/verdict.h"
#include "import/import.h"
#include "timeline/timeline.h"

#define US 1e3 /* nanoseconds */

static uint32_t id_of(uint64_t id)
{
	return id <= UINT32_MAX ? (uint32_t)id : 0; /* larger ones stand for names */
}

static bool take_processes(isc_analysis *a, isc_arena *arena)
{
	const isc_timeline_facts *f = a->timeline;

	a->processes = isc_arena_array(arena, f->process_count, sizeof(*a->processes));
	if (a->processes == NULL)
		return false;
	for (size_t i = 0; i < f->process_count; i++) {
		const isc_facts_process *p = &f->processes[i];
		isc_analysis_process *out = &a->processes[a->process_count];

		if (p->events == 0)
			continue;
		out->pid = id_of(p->pid);
		out->argv = isc_arena_array(arena, 1, sizeof(isc_text));
		if (out->argv == NULL)
			return false;
		out->argv[0] = p->name;
		out->argc = p->name.len > 0;
		out->start_us = (double)p->first_ns / US;
		out->wall_us = (double)(p->last_ns - p->first_ns) / US;
		out->wall_known = out->traced = true;
		out->images = 1;
		out->events = p->events;
		a->process_count++;
	}
	return true;
}

static bool take_threads(isc_analysis *a, isc_arena *arena)
{
	const isc_timeline_facts *f = a->timeline;

	a->threads = isc_arena_array(arena, f->thread_count, sizeof(*a->threads));
	if (a->threads == NULL)
		return false;
	for (size_t i = 0; i < f->thread_count; i++) {
		const isc_facts_thread *t = &f->threads[i];
		isc_analysis_thread *out;

		if (t->events == 0)
			continue;
		out = &a->threads[a->thread_count++];
		*out = (isc_analysis_thread){.tid = id_of(t->tid),
					     .pid = id_of(f->processes[t->process].pid),
					     .name = t->name,
					     .main = t->tid == f->processes[t->process].pid,
					     .start_us = (double)t->first_ns / US,
					     .wall_us = (double)(t->last_ns - t->first_ns) / US,
					     .on_cpu_us = -1,
					     .run_queue_us = -1,
					     .waiting_us = -1,
					     .unwatched_us = -1,
					     .events = t->events};
		for (int state = 0; state < ISC_STATES; state++)
			out->state_us[state] = -1;
	}
	return true;
}

static bool take_scopes(isc_analysis *a, isc_arena *arena)
{
	const isc_timeline_facts *f = a->timeline;

	a->scopes = isc_arena_array(arena, f->scope_count, sizeof(*a->scopes));
	if (a->scopes == NULL)
		return false;
	for (size_t i = 0; i < f->scope_count; i++) {
		const isc_facts_scope *s = &f->scopes[i];
		isc_analysis_scope *out = &a->scopes[a->scope_count++];
		bool timed = s->count > 0, spread = timed && s->ns.count == s->count;

		*out = (isc_analysis_scope){.name = s->name, .count = s->count, .open = s->cut};
		out->total_us = timed ? (double)s->total_ns / US : -1;
		out->mean_us = timed ? out->total_us / (double)s->count : -1;
		out->max_us = timed ? (double)s->max_ns / US : -1;
		out->p50_us = spread ? (double)isc_histogram_percentile(&s->ns, 0.50) / US : -1;
		out->p90_us = spread ? (double)isc_histogram_percentile(&s->ns, 0.90) / US : -1;
		out->p99_us = spread ? (double)isc_histogram_percentile(&s->ns, 0.99) / US : -1;
		if (spread && !isc_build_bins(arena, &s->ns, 1 / US, out))
			return false;
	}
	return true;
}

static bool take_functions(isc_analysis *a, isc_arena *arena)
{
	const isc_timeline_facts *f = a->timeline;

	a->functions = isc_arena_array(arena, f->function_count, sizeof(*a->functions));
	if (a->functions == NULL)
		return false;
	for (size_t i = 0; i < f->function_count; i++) {
		const isc_facts_function *in = &f->functions[i];
		isc_analysis_function *out = &a->functions[a->function_count++];

		out->name = in->name;
		if (in->kind == ISC_HOST_PYTHON)
			isc_imported_place(in->name, out);
		out->pid = id_of(f->processes[in->process].pid);
		out->calls = out->recorded = in->calls;
		out->traced = true;
		out->self_us = (double)in->self_ns / US;
		out->total_us = (double)in->total_ns / US;
	}
	return true;
}

static bool take_marks(isc_analysis *a, isc_arena *arena)
{
	const isc_timeline_facts *f = a->timeline;

	a->marks = isc_arena_array(arena, f->mark_count, sizeof(*a->marks));
	a->counters = isc_arena_array(arena, f->counter_count, sizeof(*a->counters));
	if (a->marks == NULL || a->counters == NULL)
		return false;
	for (size_t i = 0; i < f->mark_count; i++)
		a->marks[i] = (isc_analysis_mark){f->marks[i].name, f->marks[i].count};
	for (size_t i = 0; i < f->counter_count; i++) {
		const isc_facts_mark *m = &f->counters[i];

		a->counters[i] = (isc_analysis_counter){.name = m->name,
							.count = m->count,
							.min = m->min,
							.max = m->max,
							.mean = m->sum / (double)m->count,
							.last = m->last};
	}
	a->mark_count = f->mark_count;
	a->counter_count = f->counter_count;
	return true;
}

/* The clock of a device is the worst of all devices'. */
static void take_clock(isc_analysis *a)
{
	bool bounded = true, any = false;

	a->clock_source = "import";
	a->clock_error_us = -1;
	for (size_t i = 0; i < a->timeline->gpu_count; i++) {
		const isc_facts_gpu *g = &a->timeline->gpus[i];
		double error = (double)g->error_ns / US;

		if (!g->seen)
			continue;
		any = true;
		bounded &= g->bounded;
		a->causality_fixes += g->shift_ns != 0 ? g->early : 0;
		a->clock_error_us = error > a->clock_error_us ? error : a->clock_error_us;
	}
	a->clock_sync = !any ? NULL : bounded ? "causality" : "assumed";
}

static void take_whole(isc_analysis *a, const isc_imported_options *options)
{
	const isc_import *import = a->import;
	bool cut = options != NULL && (options->from_us > 0 || options->to_us > 0);

	a->from_us = (double)a->timeline->from_ns / US;
	a->to_us = (double)a->timeline->to_ns / US;
	a->wall_us = a->to_us - a->from_us;
	a->why = options != NULL && options->scope != NULL ? "the scope, from its first entry to its last exit"
		 : cut					   ? "the time that was asked for"
							   : "the whole trace";
	a->samples.rate_hz = a->samples.least_hz = -1;
	a->budget_pct = a->measured_pct = a->recorder_cpu_pct = a->switches_pct = -1;
	a->samples.covered_pct = a->kernel_calls = a->minor_faults = a->major_faults = a->user_us = a->system_us = -1;
	a->complete = a->lost_known = true;
	for (size_t i = 0; i < import->file_count; i++) {
		a->events += import->files[i].events;
		a->damaged |= import->files[i].damaged;
	}
	a->damaged |= import->failed > 0;
	a->lost_known = !a->damaged;
}

/* Threads have no states here: what is judged is the devices. */
static isc_status reach_verdict(isc_analysis *a, isc_arena *arena, const isc_imported_options *options, isc_error *err)
{
	isc_evidence j = {.a = a, .arena = arena};
	isc_rules own;

	a->window = (isc_analysis_window){.from_us = a->from_us, .to_us = a->to_us, .why = a->why};
	if (options != NULL && options->rules != NULL)
		return isc_verdict_reach(&j, options->rules, a, err);
	isc_rules_init(&own);
	return isc_verdict_reach(&j, &own, a, err);
}

static isc_status fill(isc_analysis *a, isc_arena *arena, const isc_imported_options *options, isc_error *err)
{
	isc_status st;

	take_whole(a, options);
	if (!take_processes(a, arena) || !take_threads(a, arena) || !take_scopes(a, arena) ||
	    !take_functions(a, arena) || !take_marks(a, arena) || !isc_imported_stacks(a, arena))
		return isc_build_no_memory(err);
	take_clock(a);
	st = reach_verdict(a, arena, options, err);
	if (st != ISC_OK)
		return st;
	isc_imported_warn(a, arena);
	return arena->failed ? isc_build_no_memory(err) : ISC_OK;
}

static isc_status read_all(isc_analysis *a, isc_import *import, isc_timeline *timeline, char *const *paths,
			   size_t count, const isc_imported_options *options, bool *read, isc_error *err)
{
	isc_timeline_window window = {0};
	isc_status st = isc_import_read(import, paths, count, timeline, err);

	*read = st == ISC_OK;
	if (options != NULL) {
		/* Centuries are as good as the end, and fit. */
		window.from_ns = (int64_t)((options->from_us < 1e15 ? options->from_us : 1e15) * US);
		window.to_ns = (int64_t)((options->to_us < 1e15 ? options->to_us : 1e15) * US);
		window.scope = options->scope;
	}
	return st == ISC_OK ? isc_timeline_finish(timeline, &window, &a->timeline, err) : st;
}

isc_status isc_imported_new(char *const *paths, size_t count, const isc_imported_options *options, isc_analysis **out,
			    bool *read, isc_error *err)
{
	isc_arena *arena = isc_arena_new();
	isc_analysis *a = arena != NULL ? isc_arena_alloc(arena, sizeof(*a)) : NULL;
	isc_timeline_options how = {0};
	isc_lanes_watch watch = {0};
	isc_status st;

	*out = NULL;
	*read = false;
	if (a == NULL) {
		isc_arena_free(arena);
		return isc_build_no_memory(err);
	}
	a->arena = arena;
	a->imported = calloc(1, sizeof(*a->imported));
	a->import = a->imported;
	if (options != NULL) {
		how.memory_bytes = options->memory_bytes;
		how.margin_ns = (int64_t)(options->margin_us * US);
		if (a->imported != NULL) {
			a->imported->progress = options->progress;
			a->imported->progress_self = options->progress_self;
		}
	}
	if (options != NULL && options->lanes) {
		a->lanes = isc_lanes_new(arena, ISC_LANES_PIECES);
		isc_lanes_watch_init(&watch, a->lanes, false);
		how.watch = a->lanes != NULL ? &watch.watch : NULL;
	}
	st = a->imported != NULL && (options == NULL || !options->lanes || a->lanes != NULL)
		     ? isc_timeline_new(&how, &a->timeline_own, err)
		     : isc_build_no_memory(err);
	watch.timeline = a->timeline_own;
	if (st == ISC_OK)
		st = read_all(a, a->imported, a->timeline_own, paths, count, options, read, err);
	if (st == ISC_OK)
		st = fill(a, arena, options, err);
	isc_lanes_watch_fini(&watch);
	if (st == ISC_OK && a->lanes != NULL && a->lanes->failed)
		st = isc_build_no_memory(err);
	if (st == ISC_OK)
		*out = a;
	else
		isc_analysis_free(a);
	return st;
}
