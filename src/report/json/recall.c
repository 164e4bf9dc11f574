#include "report/text/over_time_words.h"
#include "report/text/unit_words.h"
#include "report/json/claim_json.h"
#include "report/json/recall.h"

#include <string.h>

#include "report/json/recall_read.h"

#define COUNT_MOST 9e15 /* whole numbers up to here are exact */

/* Rows of who called whom are indented; deeper ones would be nothing but blanks. */
#define DEPTH_MAX 500u

/* ---- what ran ---- */

static isc_text *argv_in(isc_analysis *a, yyjson_val *o, size_t *argc)
{
	yyjson_val *list = yyjson_obj_get(o, "argv"), *arg;
	isc_text *argv = room_for(a->arena, &list, sizeof(*argv), argc);
	size_t i, n;

	yyjson_arr_foreach(list, i, n, arg)
	{
		argv[i] = text_as(a->arena, arg);
	}
	return argv;
}

static bool end_in(yyjson_val *o, int *exit_code, int *signal)
{
	*signal = (int)fmin(fmax(real_in(o, "signal"), 0), 1e6);
	*exit_code = *signal == 0 ? (int)fmax(fmin(real_in(o, "exit_code"), 1e6), -1e6) : -1;
	return known_in(o, "exit_code") || known_in(o, "signal");
}

static void recall_processes(yyjson_val *list, isc_analysis *a)
{
	yyjson_val *o;
	size_t i, n;

	a->processes = room_for(a->arena, &list, sizeof(*a->processes), &a->process_count);
	yyjson_arr_foreach(list, i, n, o)
	{
		isc_analysis_process *p = &a->processes[i];

		p->pid = id_in(o, "process_id");
		p->ppid = id_in(o, "parent_id");
		p->argv = argv_in(a, o, &p->argc);
		p->argv_cut = flag_in(o, "argv_cut");
		p->start_us = real_in(o, "start_us");
		p->wall_us = real_in(o, "wall_us");
		p->wall_known = flag_in(o, "ended");
		p->traced = flag_in(o, "traced");
		p->failed = flag_in(o, "attach_failed");
		p->exit_known = end_in(o, &p->exit_code, &p->signal);
		p->images = id_in(o, "images");
		p->events = count_in(o, "events");
	}
}

static void recall_labels(yyjson_val *labels, isc_analysis *a)
{
	size_t i, n, room = yyjson_is_obj(labels) ? yyjson_obj_size(labels) : 0;
	yyjson_val *key, *value;

	if (room == 0)
		return;
	a->label_keys = isc_arena_array(a->arena, room, sizeof(*a->label_keys));
	a->label_values = isc_arena_array(a->arena, room, sizeof(*a->label_values));
	yyjson_obj_foreach(labels, i, n, key, value)
	{
		if (a->label_keys == NULL || a->label_values == NULL)
			break;
		a->label_keys[i] = text_as(a->arena, key);
		a->label_values[i] = text_as(a->arena, value);
		a->labels = i + 1;
	}
}

static void recall_program(yyjson_val *o, isc_analysis *a)
{
	a->argv = argv_in(a, o, &a->argc);
	a->exit_known = end_in(o, &a->exit_code, &a->signal);
	a->wall_us = real_in(o, "wall_us");
	a->python = text_in(a->arena, o, "python");
	a->python_path = text_in(a->arena, o, "python_path");
	a->host = text_in(a->arena, o, "host");
	a->kernel_calls = fmin(real_in(o, "kernel_calls"), COUNT_MOST);
	recall_labels(yyjson_obj_get(o, "labels"), a);
	recall_processes(yyjson_obj_get(o, "processes"), a);
}

static void recall_window(yyjson_val *report, isc_analysis *a)
{
	yyjson_val *o = yyjson_obj_get(report, "looked_at");
	const char *why = words_in(a->arena, o, "why");

	a->from_us = fmax(real_in(o, "from_us"), 0);
	a->to_us = real_in(o, "to_us");
	a->why = why != NULL ? why : "not known";
	o = yyjson_obj_get(report, "window");
	a->window = (isc_analysis_window){.from_us = real_in(o, "from_us"),
					  .to_us = real_in(o, "to_us"),
					  .why = words_in(a->arena, o, "why"),
					  .judged_us = fmax(real_in(o, "judged_us"), 0),
					  .each_us = fmax(real_in(o, "each_us"), 0),
					  .scope = text_in(a->arena, o, "scope"),
					  .scopes = count_in(o, "scopes"),
					  .start_up_us = fmax(real_in(o, "start_up_us"), 0),
					  .warm_up_us = fmax(real_in(o, "warm_up_us"), 0),
					  .warm_ups = count_in(o, "warm_ups")};
}

/* ---- the verdict ---- */

static int64_t device_in(yyjson_val *o)
{
	return known_in(o, "device_id") ? (int64_t)id_in(o, "device_id") : -1;
}

static void recall_verdict(yyjson_val *o, isc_analysis *a)
{
	yyjson_val *list = yyjson_obj_get(o, "evidence"), *one;
	const char *bottleneck = words_in(a->arena, o, "bottleneck"), *words;
	isc_analysis_verdict *v = &a->verdict;
	yyjson_arr_iter changes;
	size_t i, n;

	v->bottleneck = bottleneck != NULL ? bottleneck : "unknown";
	isc_claim_recall(a->arena, o, &v->claim);
	v->told = text_in(a->arena, o, "headline");
	v->confidence = fmax(real_in(o, "confidence"), 0);
	v->withheld = words_in(a->arena, o, "withheld");
	v->evidence = room_for(a->arena, &list, sizeof(*v->evidence), &v->evidence_count);
	yyjson_arr_foreach(list, i, n, one)
	{
		words = words_in(a->arena, one, "rule");
		v->evidence[i].rule = words != NULL ? words : "";
		words = words_in(a->arena, one, "metric");
		v->evidence[i].metric = words != NULL ? words : "";
		v->evidence[i].value = value_in(one, "value");
		v->evidence[i].threshold = value_in(one, "threshold");
		v->evidence[i].device_id = device_in(one);
	}
	changes = yyjson_arr_iter_with(yyjson_obj_get(o, "changes"));
	list = yyjson_obj_get(o, "would_change");
	v->would_change = room_for(a->arena, &list, sizeof(*v->would_change), &v->would_change_count);
	yyjson_arr_foreach(list, i, n, one)
	{
		isc_change_recall(a->arena, yyjson_arr_iter_next(&changes), one, &v->would_change[i]);
	}
}

static void recall_suggestions(yyjson_val *list, isc_analysis *a)
{
	yyjson_val *o;
	size_t i, n;

	a->suggestions = room_for(a->arena, &list, sizeof(*a->suggestions), &a->suggestion_count);
	yyjson_arr_foreach(list, i, n, o)
	{
		isc_analysis_suggestion *one = &a->suggestions[i];

		isc_claim_recall(a->arena, o, &one->claim);
		one->saves_at_most_us = real_in(o, "saves_at_most_us");
		one->told_why = text_in(a->arena, o, "why");
		one->told_where = text_in(a->arena, o, "where");
	}
}

/* ---- where the time went ---- */

static uint8_t source_named(yyjson_val *name)
{
	for (int s = ISC_SOURCE_AGENT; s <= ISC_SOURCE_ESTIMATED; s++) {
		if (yyjson_equals_str(name, isc_source_name((enum isc_source)s)))
			return (uint8_t)s;
	}
	return ISC_SOURCE_NONE;
}

uint8_t isc_recall_why(yyjson_val *o)
{
	yyjson_val *name = yyjson_obj_get(o, "unattributed_because");

	for (int why = 0; why < ISC_UNATTRIBUTED_REASONS; why++) {
		if (yyjson_equals_str(name, isc_unattributed_name((enum isc_unattributed)why)))
			return (uint8_t)why;
	}
	return ISC_UNATTRIBUTED_UNKNOWN;
}

void isc_recall_states(yyjson_val *o, double values[ISC_STATES], uint8_t sources[ISC_STATES])
{
	yyjson_val *seen = yyjson_obj_get(o, "sources");

	for (int s = 0; s < ISC_STATES; s++) {
		const char *name = isc_state_name((enum isc_state)s);

		values[s] = real_in(o, name);
		sources[s] = source_named(yyjson_obj_get(seen, name));
	}
}

static void recall_threads(yyjson_val *list, isc_analysis *a)
{
	yyjson_val *o;
	size_t i, n;

	a->threads = room_for(a->arena, &list, sizeof(*a->threads), &a->thread_count);
	yyjson_arr_foreach(list, i, n, o)
	{
		isc_analysis_thread *t = &a->threads[i];

		t->tid = id_in(o, "thread_id");
		t->pid = id_in(o, "process_id");
		t->name = text_in(a->arena, o, "name");
		t->start_us = real_in(o, "start_us");
		t->wall_us = real_in(o, "wall_us");
		t->on_cpu_us = real_in(o, "on_cpu_us");
		t->run_queue_us = real_in(o, "run_queue_us");
		t->waiting_us = real_in(o, "waiting_us");
		t->unwatched_us = real_in(o, "unwatched_us");
		isc_recall_states(o, t->state_us, t->source);
		t->unattributed = isc_recall_why(o);
		t->estimated = flag_in(o, "estimated");
		t->switches = count_in(o, "switches");
		t->events = count_in(o, "events");
	}
}

static void recall_breakdown(yyjson_val *o, isc_analysis *a)
{
	isc_analysis_breakdown *b = &a->breakdown;

	b->known = yyjson_is_obj(o);
	b->tid = id_in(o, "thread_id");
	b->name = text_in(a->arena, o, "thread");
	isc_recall_states(o, b->pct, b->source);
	b->unattributed = isc_recall_why(o);
}

/* ---- functions and samples ---- */

static isc_analysis_judged judged_in(yyjson_val *o)
{
	return (isc_analysis_judged){.known = known_in(o, "judged_us"),
				     .us = fmax(real_in(o, "judged_us"), 0),
				     .samples = count_in(o, "judged_samples"),
				     .calls = count_in(o, "judged_calls")};
}

static void recall_functions(yyjson_val *list, isc_analysis *a)
{
	yyjson_val *o;
	size_t i, n;

	a->functions = room_for(a->arena, &list, sizeof(*a->functions), &a->function_count);
	yyjson_arr_foreach(list, i, n, o)
	{
		isc_analysis_frame at = frame_in(a->arena, o, "name");

		a->functions[i] =
			(isc_analysis_function){.name = at.name,
						.file = at.file,
						.module = at.module,
						.line = at.line,
						.pid = id_in(o, "process_id"),
						.calls = count_in(o, "calls"),
						.resumes = count_in(o, "resumes"),
						.self_us = real_in(o, "self_us"),
						.total_us = real_in(o, "total_us"),
						.estimated = flag_in(o, "estimated"),
						.governed = flag_in(o, "governed"),
						.traced = !yyjson_equals_str(yyjson_obj_get(o, "source"), "sampled"),
						.native = flag_in(o, "native"),
						.samples = count_in(o, "samples"),
						.cpu_self_us = fmax(real_in(o, "cpu_self_us"), 0),
						.cpu_total_us = fmax(real_in(o, "cpu_total_us"), 0),
						.native_us = fmax(real_in(o, "native_us"), 0),
						.cpu_error_us = fmax(real_in(o, "cpu_error_us"), 0),
						.by_samples = flag_in(o, "by_samples"),
						.judged = judged_in(o)};
		a->governed_count += a->functions[i].governed;
	}
}

static void recall_lines(yyjson_val *list, isc_analysis *a)
{
	yyjson_val *o;
	size_t i, n;

	a->lines = room_for(a->arena, &list, sizeof(*a->lines), &a->line_count);
	yyjson_arr_foreach(list, i, n, o)
	{
		a->lines[i] = (isc_analysis_line){.at = frame_in(a->arena, o, "function"),
						  .pid = id_in(o, "process_id"),
						  .samples = count_in(o, "samples"),
						  .self_us = real_in(o, "self_us"),
						  .native_us = real_in(o, "native_us")};
	}
}

static void recall_paths(yyjson_val *list, isc_analysis *a)
{
	yyjson_val *o, *frames, *frame;
	size_t i, n, k, m;

	a->paths = room_for(a->arena, &list, sizeof(*a->paths), &a->path_count);
	yyjson_arr_foreach(list, i, n, o)
	{
		isc_analysis_path *p = &a->paths[i];

		frames = yyjson_obj_get(o, "frames");
		p->frames = room_for(a->arena, &frames, sizeof(*p->frames), &p->frame_count);
		yyjson_arr_foreach(frames, k, m, frame)
		{
			p->frames[k] = frame_in(a->arena, frame, "name");
		}
		p->depth = id_in(o, "depth") < DEPTH_MAX ? id_in(o, "depth") : DEPTH_MAX;
		p->pid = id_in(o, "process_id");
		p->samples = count_in(o, "samples");
		p->us = real_in(o, "us");
	}
}

static void recall_samples(yyjson_val *report, isc_analysis *a)
{
	yyjson_val *o = yyjson_obj_get(report, "samples");

	a->samples = (isc_analysis_samples){.count = count_in(o, "count"),
					    .steps = count_in(o, "steps"),
					    .us = fmax(real_in(o, "us"), 0),
					    .rate_hz = real_in(o, "rate_hz"),
					    .least_hz = real_in(o, "least_rate_hz"),
					    .covered_pct = real_in(o, "covered_pct"),
					    .unknown_us = real_in(o, "unknown_us"),
					    .stacks = count_in(o, "stacks"),
					    .lines = count_in(o, "lines"),
					    .scope = text_in(a->arena, o, "scope"),
					    .median_scopes = count_in(o, "median_scopes"),
					    .slow_scopes = count_in(o, "slow_scopes")};
	for (int why = 0; why < ISC_UNATTRIBUTED_REASONS; why++)
		a->samples.unattributed_us[why] = fmax(real_in(yyjson_obj_get(o, "unattributed_us"),
							       isc_unattributed_name((enum isc_unattributed)why)),
						       0);
	a->samples.cut_us = fmax(real_in(o, "cut_us"), 0);
	recall_lines(yyjson_obj_get(report, "lines"), a);
	recall_paths(yyjson_obj_get(report, "paths"), a);
}

/* ---- the rest ---- */

static void recall_names(yyjson_val *report, isc_analysis *a)
{
	yyjson_val *list = yyjson_obj_get(report, "marks"), *o;
	size_t i, n;

	a->marks = room_for(a->arena, &list, sizeof(*a->marks), &a->mark_count);
	yyjson_arr_foreach(list, i, n, o)
	{
		a->marks[i] = (isc_analysis_mark){text_in(a->arena, o, "name"), count_in(o, "count")};
	}
	list = yyjson_obj_get(report, "counters");
	a->counters = room_for(a->arena, &list, sizeof(*a->counters), &a->counter_count);
	yyjson_arr_foreach(list, i, n, o)
	{
		a->counters[i] = (isc_analysis_counter){.name = text_in(a->arena, o, "name"),
							.count = count_in(o, "count"),
							.min = value_in(o, "min"),
							.max = value_in(o, "max"),
							.mean = value_in(o, "mean"),
							.last = value_in(o, "last")};
	}
}

static void recall_overhead(yyjson_val *report, isc_analysis *a)
{
	yyjson_val *o = yyjson_obj_get(report, "overhead");
	const char *source;

	a->budget_pct = real_in(o, "budget_pct");
	a->budget_known = a->budget_pct >= 0 || flag_in(o, "budget_off");
	a->measured_pct = real_in(o, "measured_pct");
	a->measured_cpu_pct = real_in(o, "measured_cpu_pct");
	a->startup_pct = real_in(o, "startup_pct");
	a->startup_unknown = words_in(a->arena, o, "startup_unknown");
	a->calls_measured = known_in(o, "calls_measured_pct");
	a->calls_measured_pct = a->calls_measured ? value_in(o, "calls_measured_pct") : 0;
	a->recorder_cpu_pct = real_in(o, "recorder_cpu_pct");
	a->switches_pct = real_in(o, "switches_pct");
	a->events = count_in(o, "events");
	a->lost = count_in(o, "lost");
	a->lost_known = known_in(o, "lost");
	a->retired = count_in(o, "retired");
	a->skipped = count_in(o, "skipped");
	isc_recall_over_time(o, a);
	o = yyjson_obj_get(report, "clock");
	source = words_in(a->arena, o, "source");
	a->clock_source = source != NULL ? source : "?";
	a->clock_sync = words_in(a->arena, o, "sync");
	a->clock_error_us = a->clock_sync != NULL ? real_in(o, "error_bound_us") : -1;
	a->causality_fixes = count_in(o, "causality_fixes");
}

static void recall_warnings(yyjson_val *list, isc_analysis *a)
{
	yyjson_val *o;
	size_t i, n;

	a->warnings = room_for(a->arena, &list, sizeof(*a->warnings), &a->warning_count);
	yyjson_arr_foreach(list, i, n, o)
	{
		isc_analysis_warning *w = &a->warnings[i];
		const char *id = words_in(a->arena, o, "id");

		w->id = id != NULL && id[strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789_")] == 0 ? id : "unknown";
		w->text = words_in(a->arena, o, "text");
		w->text = w->text != NULL ? w->text : isc_arena_copy(a->arena, "", 0);
		w->remedy = words_in(a->arena, o, "remedy");
		w->grave = flag_in(o, "grave");
	}
}

isc_status isc_recall(yyjson_val *report, isc_analysis **out, isc_error *err)
{
	isc_arena *arena = isc_arena_new();
	isc_analysis *a = arena != NULL ? isc_arena_alloc(arena, sizeof(*a)) : NULL;

	*out = NULL;
	if (a == NULL) {
		isc_arena_free(arena);
		return isc_fail(err, ISC_ERR_NOMEM, "no memory for the report");
	}
	a->arena = arena;
	recall_program(yyjson_obj_get(report, "program"), a);
	recall_window(report, a);
	recall_verdict(yyjson_obj_get(report, "verdict"), a);
	recall_suggestions(yyjson_obj_get(report, "suggestions"), a);
	recall_threads(yyjson_obj_get(report, "threads"), a);
	recall_breakdown(yyjson_obj_get(report, "breakdown"), a);
	isc_recall_scopes(yyjson_obj_get(report, "scopes"), a);
	isc_recall_units(yyjson_obj_get(report, "units"), a);
	recall_functions(yyjson_obj_get(report, "functions"), a);
	recall_samples(report, a);
	isc_recall_memory(report, a);
	isc_recall_syscalls(yyjson_obj_get(report, "syscalls"), a);
	recall_names(report, a);
	isc_recall_gpus(report, a);
	recall_overhead(report, a);
	recall_warnings(yyjson_obj_get(report, "warnings"), a);
	if (arena->failed) {
		isc_analysis_free(a);
		return isc_fail(err, ISC_ERR_NOMEM, "no memory for the report");
	}
	*out = a;
	return ISC_OK;
}
