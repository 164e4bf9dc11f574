/*
 * json.c - the report for machines.  The names are a promise; what a trace does
 * not know is null, and a warning says why.
 */
#include "report/json/json.h"

#include <stdlib.h>
#include <string.h>

#include "report/json/gpu_json.h"
#include "report/json/json_tree.h"
#include "report/json/memory_json.h"
#include "report/text/over_time_words.h"
#include "report/json/scope_json.h"
#include "report/text/scope_words.h"
#include "report/text/syscall_words.h"
#include "report/text/unit_words.h"
#include "report/text/usage_words.h"
#include "report/json/verdict_json.h"

#include "base/text.h"

static void put_argv(struct json *j, val *object, const isc_text *argv, size_t argc)
{
	val *list = list_in(j, object, "argv");

	for (size_t i = 0; i < argc; i++)
		add(j, list, text_of(j, &argv[i]));
}

static void put_end(struct json *j, val *object, bool known, int exit_code, int signal)
{
	put(j, object, "exit_code", known && signal == 0 ? yyjson_mut_int(j->doc, exit_code) : yyjson_mut_null(j->doc));
	put(j, object, "signal", known && signal != 0 ? yyjson_mut_int(j->doc, signal) : yyjson_mut_null(j->doc));
}

/* ---- the parts ---- */

static void put_process(struct json *j, val *list, const isc_analysis_process *p)
{
	val *o = add(j, list, yyjson_mut_obj(j->doc));

	put_count(j, o, "process_id", p->pid);
	put(j, o, "parent_id", p->ppid != 0 ? yyjson_mut_uint(j->doc, p->ppid) : yyjson_mut_null(j->doc));
	put_argv(j, o, p->argv, p->argc);
	put(j, o, "argv_cut", yyjson_mut_bool(j->doc, p->argv_cut));
	put_us(j, o, "start_us", p->start_us);
	put_us(j, o, "wall_us", p->wall_us);
	put(j, o, "ended", yyjson_mut_bool(j->doc, p->wall_known));
	put(j, o, "traced", yyjson_mut_bool(j->doc, p->traced));
	put(j, o, "attach_failed", yyjson_mut_bool(j->doc, p->failed));
	put_end(j, o, p->exit_known, p->exit_code, p->signal);
	put_count(j, o, "images", p->images);
	put_count(j, o, "events", p->events);
}

static void put_program(struct json *j, val *root, const isc_analysis *a)
{
	val *o = object_in(j, root, "program"), *list;

	put_argv(j, o, a->argv, a->argc);
	put_end(j, o, a->exit_known, a->exit_code, a->signal);
	put_us(j, o, "wall_us", a->wall_us);
	put_text(j, o, "python", &a->python);
	put_text(j, o, "python_path", &a->python_path);
	put_text(j, o, "host", &a->host);
	list = object_in(j, o, "labels");
	for (size_t i = 0; i < a->labels; i++) {
		/* A key that comes twice counts as its last. */
		val *key = text_of(j, &a->label_keys[i]), *value = text_of(j, &a->label_values[i]);

		if (key == NULL || value == NULL || !yyjson_mut_obj_put(list, key, value))
			j->failed = true;
	}
	isc_gpu_json_input(j, o, a);
	if (a->kernel_calls >= 0)
		put_count(j, o, "kernel_calls", (uint64_t)a->kernel_calls);
	list = list_in(j, o, "processes");
	for (size_t i = 0; i < a->process_count; i++)
		put_process(j, list, &a->processes[i]);
}

static void put_breakdown(struct json *j, val *root, const isc_analysis_breakdown *breakdown)
{
	val *o, *sources;

	if (!breakdown->known) {
		put_null(j, root, "breakdown");
		return;
	}
	o = object_in(j, root, "breakdown");
	for (int s = 0; s < ISC_STATES; s++)
		put_us(j, o, isc_state_name((enum isc_state)s), breakdown->pct[s]);
	sources = object_in(j, o, "sources");
	for (int s = 0; s < ISC_STATES; s++)
		put_words(j, sources, isc_state_name((enum isc_state)s),
			  isc_source_name((enum isc_source)breakdown->source[s]));
	isc_scope_json_why(j, o, breakdown->pct[ISC_STATE_UNATTRIBUTED], breakdown->unattributed);
	put_count(j, o, "thread_id", breakdown->tid);
	put_text(j, o, "thread", &breakdown->name);
}

static void put_window(struct json *j, val *root, const isc_analysis *a)
{
	val *o = object_in(j, root, "looked_at");

	put_us(j, o, "from_us", a->from_us);
	put_us(j, o, "to_us", a->to_us);
	put_words(j, o, "why", a->why);
	o = object_in(j, root, "window");
	put_us(j, o, "from_us", a->window.from_us);
	put_us(j, o, "to_us", a->window.to_us);
	put_words(j, o, "why", a->window.why != NULL ? a->window.why : a->why);
	put_us(j, o, "judged_us", a->window.judged_us > 0 ? a->window.judged_us : -1);
	put_us(j, o, "each_us", a->window.each_us > 0 ? a->window.each_us : -1);
	put_text(j, o, "scope", &a->window.scope);
	put_count(j, o, "scopes", a->window.scopes);
	put_us(j, o, "start_up_us", a->window.start_up_us);
	put_us(j, o, "warm_up_us", a->window.warm_up_us);
	put_count(j, o, "warm_ups", a->window.warm_ups);
	put_breakdown(j, root, &a->breakdown);
	isc_gpu_json_gpus(j, root, a);
}

static void put_names(struct json *j, val *root, const isc_analysis *a)
{
	val *list, *o;

	isc_scope_json_write(j, root, a);
	isc_unit_json(j, root, a);
	list = list_in(j, root, "marks");
	for (size_t i = 0; i < a->mark_count; i++) {
		o = add(j, list, yyjson_mut_obj(j->doc));
		put(j, o, "name", text_of(j, &a->marks[i].name));
		put_count(j, o, "count", a->marks[i].count);
	}
	list = list_in(j, root, "counters");
	for (size_t i = 0; i < a->counter_count; i++) {
		const isc_analysis_counter *c = &a->counters[i];

		o = add(j, list, yyjson_mut_obj(j->doc));
		put(j, o, "name", text_of(j, &c->name));
		put_count(j, o, "count", c->count);
		put_value(j, o, "min", c->min);
		put_value(j, o, "max", c->max);
		put_value(j, o, "mean", c->mean);
		put_value(j, o, "last", c->last);
	}
}

static const char *source_of(const isc_analysis_function *f)
{
	bool sampled = f->cpu_total_us > 0 || f->samples > 0;

	return f->traced && sampled ? "both" : f->traced ? "traced" : "sampled";
}

/* Where a process was sampled, no sample of a function is something known of it too. */
static void put_sampled(struct json *j, val *o, const isc_analysis *a, const isc_analysis_function *f)
{
	bool sampled = a->samples.count > 0;

	put(j, o, "by_samples", yyjson_mut_bool(j->doc, f->by_samples));
	put(j, o, "samples", sampled ? yyjson_mut_uint(j->doc, f->samples) : yyjson_mut_null(j->doc));
	put_us(j, o, "cpu_self_us", sampled ? f->cpu_self_us : -1);
	put_us(j, o, "cpu_total_us", sampled ? f->cpu_total_us : -1);
	put_us(j, o, "cpu_error_us", sampled ? f->cpu_error_us : -1);
	put_us(j, o, "native_us", sampled ? f->native_us : -1);
}

static void put_judged(struct json *j, val *o, const isc_analysis_judged *judged)
{
	put_us(j, o, "judged_us", judged->known ? judged->us : -1);
	put(j, o, "judged_samples", judged->known ? yyjson_mut_uint(j->doc, judged->samples) : yyjson_mut_null(j->doc));
}

static void put_functions(struct json *j, val *root, const isc_analysis *a)
{
	val *list = list_in(j, root, "functions");

	for (size_t i = 0; i < a->function_count; i++) {
		const isc_analysis_function *f = &a->functions[i];
		val *o = add(j, list, yyjson_mut_obj(j->doc));

		put(j, o, "name", text_of(j, &f->name));
		put_text(j, o, "file", &f->file);
		put(j, o, "line", f->line != 0 ? yyjson_mut_uint(j->doc, f->line) : yyjson_mut_null(j->doc));
		put(j, o, "process_id", f->pid != 0 ? yyjson_mut_uint(j->doc, f->pid) : yyjson_mut_null(j->doc));
		put_text(j, o, "module", &f->module);
		put(j, o, "calls", f->traced ? yyjson_mut_uint(j->doc, f->calls) : yyjson_mut_null(j->doc));
		put(j, o, "resumes", f->traced ? yyjson_mut_uint(j->doc, f->resumes) : yyjson_mut_null(j->doc));
		put_us(j, o, "self_us", f->self_us);
		put_us(j, o, "total_us", f->total_us);
		put_words(j, o, "source", source_of(f));
		put(j, o, "estimated", yyjson_mut_bool(j->doc, f->estimated));
		put(j, o, "governed", yyjson_mut_bool(j->doc, f->governed));
		put(j, o, "native", yyjson_mut_bool(j->doc, f->native));
		put_sampled(j, o, a, f);
		put_judged(j, o, &f->judged);
		put(j, o, "judged_calls",
		    f->judged.known && f->traced ? yyjson_mut_uint(j->doc, f->judged.calls) : yyjson_mut_null(j->doc));
	}
}

static void put_governed(struct json *j, val *overhead, const isc_analysis *a)
{
	val *list = list_in(j, overhead, "governed");

	for (size_t i = 0; i < a->function_count; i++) {
		const isc_analysis_function *f = &a->functions[i];
		val *o;

		if (!f->governed)
			continue;
		o = add(j, list, yyjson_mut_obj(j->doc));
		put(j, o, "name", text_of(j, &f->name));
		put_count(j, o, "calls", f->calls);
		put_count(j, o, "recorded", f->recorded);
		put_count(j, o, "at_least", f->least_calls);
		put(j, o, "at_most",
		    f->most_calls > 0 ? yyjson_mut_uint(j->doc, f->most_calls) : yyjson_mut_null(j->doc));
	}
}

/* ---- samples ---- */

static void put_place(struct json *j, val *o, const isc_analysis_frame *at)
{
	put_text(j, o, "file", &at->file);
	put(j, o, "line", at->line != 0 ? yyjson_mut_uint(j->doc, at->line) : yyjson_mut_null(j->doc));
}

static void put_lines(struct json *j, val *root, const isc_analysis *a)
{
	val *list = list_in(j, root, "lines");

	for (size_t i = 0; i < a->line_count; i++) {
		const isc_analysis_line *l = &a->lines[i];
		val *o = add(j, list, yyjson_mut_obj(j->doc));

		put_place(j, o, &l->at);
		put(j, o, "function", text_of(j, &l->at.name));
		put(j, o, "process_id", l->pid != 0 ? yyjson_mut_uint(j->doc, l->pid) : yyjson_mut_null(j->doc));
		put_count(j, o, "samples", l->samples);
		put_us(j, o, "self_us", l->self_us);
		put_us(j, o, "native_us", l->native_us);
		put_judged(j, o, &l->judged);
	}
}

static void put_frame(struct json *j, val *list, const isc_analysis_frame *f)
{
	val *o = add(j, list, yyjson_mut_obj(j->doc));

	put_words(j, o, "kind", f->python ? "python" : f->native ? "native" : NULL);
	put(j, o, "name", text_of(j, &f->name));
	put_place(j, o, f);
	put_text(j, o, "module", &f->module);
}

static void put_stacks(struct json *j, val *root, const isc_analysis *a)
{
	static const isc_analysis_frame other = {.name = {"(other)", sizeof("(other)") - 1}};
	val *list = list_in(j, root, "stacks");

	for (size_t i = 0; i < a->stack_count; i++) {
		const isc_analysis_stack *s = &a->stacks[i];
		val *o = add(j, list, yyjson_mut_obj(j->doc)), *frames = list_in(j, o, "frames");

		for (size_t f = 0; f < s->frame_count; f++)
			put_frame(j, frames, &s->frames[f]);
		if (s->frame_count == 0)
			put_frame(j, frames, &other);
		put(j, o, "process_id", s->pid != 0 ? yyjson_mut_uint(j->doc, s->pid) : yyjson_mut_null(j->doc));
		put_count(j, o, "samples", s->samples);
		put_us(j, o, "us", s->us);
		put_us(j, o, "us_median", s->us_median);
		put_us(j, o, "us_slow", s->us_slow);
		put(j, o, "instructions",
		    s->counted ? yyjson_mut_uint(j->doc, (uint64_t)s->instructions) : yyjson_mut_null(j->doc));
		put(j, o, "cycles",
		    s->counted ? yyjson_mut_uint(j->doc, (uint64_t)s->cycles) : yyjson_mut_null(j->doc));
		put_count(j, o, "memory_bytes", (uint64_t)s->memory_bytes);
		put_judged(j, o, &s->judged);
	}
}

static void put_paths(struct json *j, val *root, const isc_analysis *a)
{
	val *list = list_in(j, root, "paths");

	for (size_t i = 0; i < a->path_count; i++) {
		const isc_analysis_path *p = &a->paths[i];
		val *o = add(j, list, yyjson_mut_obj(j->doc)), *frames = list_in(j, o, "frames");

		for (size_t f = 0; f < p->frame_count; f++)
			put_frame(j, frames, &p->frames[f]);
		put_count(j, o, "depth", p->depth);
		put(j, o, "process_id", p->pid != 0 ? yyjson_mut_uint(j->doc, p->pid) : yyjson_mut_null(j->doc));
		put_count(j, o, "samples", p->samples);
		put_us(j, o, "us", p->us);
	}
}

static void put_samples(struct json *j, val *root, const isc_analysis *a)
{
	const isc_analysis_samples *s = &a->samples;
	val *o = object_in(j, root, "samples"), *why;

	put_count(j, o, "count", s->count);
	put_count(j, o, "steps", s->steps);
	put_us(j, o, "us", s->us);
	put_us(j, o, "rate_hz", s->rate_hz);
	put_us(j, o, "least_rate_hz", s->least_hz < 0 ? s->rate_hz : s->least_hz);
	put_us(j, o, "mean_rate_hz", s->us > 0 ? (double)s->steps / s->us * 1e6 : -1);
	put_us(j, o, "covered_pct", s->covered_pct);
	put_us(j, o, "unknown_us", s->unknown_us);
	why = object_in(j, o, "unattributed_us");
	for (int i = 0; i < ISC_UNATTRIBUTED_REASONS; i++)
		put_us(j, why, isc_unattributed_name((enum isc_unattributed)i), s->unattributed_us[i]);
	put_us(j, o, "cut_us", s->cut_us);
	put_count(j, o, "stacks", s->stacks);
	put_count(j, o, "lines", s->lines);
	if (s->scope.len > 0)
		put_text(j, o, "scope", &s->scope);
	else
		put_null(j, o, "scope");
	put_count(j, o, "median_scopes", s->median_scopes);
	put_count(j, o, "slow_scopes", s->slow_scopes);
	put_count(j, o, "other_line_samples", s->other_line_samples);
	put_us(j, o, "other_lines_us", s->other_lines_us);
}

static void put_memory(struct json *j, val *root, const isc_analysis *a)
{
	bool faults = a->minor_faults >= 0 && a->major_faults >= 0;
	val *o;

	if (!faults && !a->memory.recorded && !a->usage.known) {
		put_null(j, root, "memory");
		return;
	}
	o = object_in(j, root, "memory");
	isc_usage_json(j, o, a);
	isc_memory_json(j, o, a);
	put(j, o, "minor_faults",
	    faults ? yyjson_mut_uint(j->doc, (uint64_t)a->minor_faults) : yyjson_mut_null(j->doc));
	put(j, o, "major_faults",
	    faults ? yyjson_mut_uint(j->doc, (uint64_t)a->major_faults) : yyjson_mut_null(j->doc));
}

static void put_threads(struct json *j, val *root, const isc_analysis *a)
{
	val *list = list_in(j, root, "threads");

	for (size_t i = 0; i < a->thread_count; i++) {
		const isc_analysis_thread *t = &a->threads[i];
		val *o = add(j, list, yyjson_mut_obj(j->doc));

		put_count(j, o, "thread_id", t->tid);
		put(j, o, "process_id", t->pid != 0 ? yyjson_mut_uint(j->doc, t->pid) : yyjson_mut_null(j->doc));
		put_text(j, o, "name", &t->name);
		put_us(j, o, "start_us", t->start_us);
		put_us(j, o, "wall_us", t->wall_us);
		put_us(j, o, "on_cpu_us", t->on_cpu_us);
		put_us(j, o, "run_queue_us", t->run_queue_us);
		put_us(j, o, "waiting_us", t->waiting_us);
		put_us(j, o, "unwatched_us", t->unwatched_us);
		for (int s = 0; s < ISC_STATES; s++)
			put_us(j, o, isc_state_name((enum isc_state)s), t->state_us[s]);
		isc_scope_json_why(j, o, t->state_us[ISC_STATE_UNATTRIBUTED], t->unattributed);
		put(j, o, "estimated", yyjson_mut_bool(j->doc, t->estimated));
		put_count(j, o, "switches", t->switches);
		put_count(j, o, "events", t->events);
		put_judged(j, o, &t->judged);
	}
}

static void put_where(struct json *j, val *o, const char *key, const isc_analysis_frame *at)
{
	isc_buffer raw = {0};

	isc_scope_words_place(&raw, at);
	j->failed |= raw.failed;
	put_text(j, o, key, &(isc_text){raw.data, raw.failed ? 0 : raw.len});
	isc_buffer_fini(&raw);
}

static void put_waits(struct json *j, val *root, const isc_analysis *a)
{
	val *list = list_in(j, root, "waits");

	for (size_t i = 0; i < a->wait_count; i++) {
		const isc_analysis_wait *w = &a->waits[i];
		val *o = add(j, list, yyjson_mut_obj(j->doc));

		put_words(j, o, "state", isc_state_name((enum isc_state)w->state));
		put_where(j, o, "where", &w->where);
		put_where(j, o, "held_by", &w->held_by);
		put_count(j, o, "count", w->count);
		put_us(j, o, "us", w->us);
		put_us(j, o, "judged_us", w->judged.known ? w->judged.us : -1);
		put(j, o, "judged_calls",
		    w->judged.known ? yyjson_mut_uint(j->doc, w->judged.calls) : yyjson_mut_null(j->doc));
	}
}

static void put_cost(struct json *j, val *overhead, const isc_analysis *a)
{
	val *o = a->cost_known ? object_in(j, overhead, "cost_us") : NULL;

	for (size_t i = 0; o != NULL && i < ISC_COST_PARTS; i++)
		put_us(j, o, isc_cost_part[i], a->cost_us[i]);
	if (o == NULL)
		put(j, overhead, "cost_us", yyjson_mut_null(j->doc));
}

static void put_overhead(struct json *j, val *root, const isc_analysis *a)
{
	val *o = object_in(j, root, "overhead");

	put_us(j, o, "budget_pct", a->budget_pct);
	put(j, o, "budget_off", yyjson_mut_bool(j->doc, a->budget_known && a->budget_pct < 0));
	put_us(j, o, "measured_pct", a->measured_pct);
	put_us(j, o, "measured_cpu_pct", a->measured_cpu_pct);
	put_cost(j, o, a);
	put(j, o, "calls_measured_pct",
	    a->calls_measured ? real_of(j, a->calls_measured_pct) : yyjson_mut_null(j->doc));
	put_us(j, o, "startup_pct", a->startup_pct);
	put_words(j, o, "startup_unknown", a->startup_pct < 0 ? a->startup_unknown : NULL);
	put_us(j, o, "recorder_cpu_pct", a->recorder_cpu_pct);
	put_us(j, o, "switches_pct", a->switches_pct);
	put_count(j, o, "events", a->events);
	put(j, o, "lost", a->lost_known ? yyjson_mut_uint(j->doc, a->lost) : yyjson_mut_null(j->doc));
	put_count(j, o, "retired", a->retired);
	put_count(j, o, "skipped", a->skipped);
	put_governed(j, o, a);
	isc_over_time_json(j, o, a);
	o = object_in(j, root, "clock");
	put_words(j, o, "source", a->clock_source);
	put_words(j, o, "sync", a->clock_sync);
	put_us(j, o, "error_bound_us", a->clock_error_us);
	put_count(j, o, "causality_fixes", a->causality_fixes);
}

static void put_warnings(struct json *j, val *root, const isc_analysis *a)
{
	val *list = list_in(j, root, "warnings");

	for (size_t i = 0; i < a->warning_count; i++) {
		const isc_analysis_warning *w = &a->warnings[i];
		val *o = add(j, list, yyjson_mut_obj(j->doc));

		put_words(j, o, "id", w->id);
		put_words(j, o, "text", w->text);
		put_words(j, o, "remedy", w->remedy);
		put(j, o, "grave", yyjson_mut_bool(j->doc, w->grave));
	}
}

static void write_all(struct json *j, const isc_analysis *a)
{
	val *root = yyjson_mut_obj(j->doc);

	yyjson_mut_doc_set_root(j->doc, root);
	put_words(j, root, "schema", ISC_JSON_SCHEMA);
	put_program(j, root, a);
	isc_verdict_json(j, root, a);
	put_window(j, root, a);
	put_names(j, root, a);
	put_functions(j, root, a);
	put_lines(j, root, a);
	isc_gpu_json_kernels(j, root, a);
	isc_gpu_json_copies(j, root, a);
	put_stacks(j, root, a);
	put_paths(j, root, a);
	put_samples(j, root, a);
	isc_syscall_json(j, root, a);
	put_memory(j, root, a);
	isc_numa_json(j, root, a);
	put_threads(j, root, a);
	put_waits(j, root, a);
	put_overhead(j, root, a);
	put_warnings(j, root, a);
}

void isc_json_write(const isc_analysis *a, isc_buffer *out)
{
	struct json j = {.doc = yyjson_mut_doc_new(NULL)};
	char *text = NULL;
	size_t len = 0;

	if (j.doc != NULL) {
		write_all(&j, a);
		if (!j.failed)
			text = yyjson_mut_write(j.doc, YYJSON_WRITE_PRETTY_TWO_SPACES | YYJSON_WRITE_NEWLINE_AT_END,
						&len);
	}
	if (text != NULL)
		isc_buffer_add(out, text, len);
	else
		out->failed = true;
	free(text);
	isc_buffer_fini(&j.text);
	yyjson_mut_doc_free(j.doc);
}
