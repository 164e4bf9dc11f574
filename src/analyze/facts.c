/*
 * facts.c - what the recorder wrote about the session: one JSON object that is
 * trusted no more than the rest of the file.  A key of the wrong type is as good
 * as none.
 */
#include <math.h>
#include <string.h>
#include <yyjson.h>

#include "analyze/build.h"

#define COUNT_MOST 9e15 /* whole numbers up to here are exact */

/* Far above what a command line and labels take; past it a trace is made to mislead. */
#define FACTS_MAX_BYTES (8u << 20)
/* A recorder has a handful of things to say. */
#define FACTS_MAX_WARNINGS 64u

/* Copies, as the document goes away before the analysis does. */
static bool take_text(isc_build *b, yyjson_val *value, isc_text *out)
{
	if (!yyjson_is_str(value))
		return true;
	out->len = yyjson_get_len(value);
	out->at = isc_arena_copy(b->arena, yyjson_get_str(value), out->len);
	return out->at != NULL;
}

static double number_of(yyjson_val *root, const char *key)
{
	yyjson_val *value = yyjson_obj_get(root, key);
	double number = yyjson_is_num(value) ? yyjson_get_num(value) : -1;

	/* What is larger than all that can be counted would be no number any more where it is turned into one. */
	return isfinite(number) && number >= 0 ? fmin(number, COUNT_MOST) : -1;
}

static uint64_t count_of(yyjson_val *root, const char *key)
{
	yyjson_val *value = yyjson_obj_get(root, key);

	return yyjson_is_uint(value) ? yyjson_get_uint(value) : 0;
}

static bool take_argv(isc_build *b, yyjson_val *list)
{
	size_t at, n, taken = 0;
	yyjson_val *value;

	if (!yyjson_is_arr(list) || yyjson_arr_size(list) == 0)
		return true;
	b->a->argv = isc_arena_array(b->arena, yyjson_arr_size(list), sizeof(isc_text));
	if (b->a->argv == NULL)
		return false;
	yyjson_arr_foreach(list, at, n, value)
	{
		if (!yyjson_is_str(value))
			continue;
		if (!take_text(b, value, &b->a->argv[taken++]))
			return false;
	}
	b->a->argc = taken;
	return true;
}

static bool take_labels(isc_build *b, yyjson_val *map)
{
	isc_analysis *a = b->a;
	yyjson_val *key, *value;
	size_t at, n;

	if (!yyjson_is_obj(map) || yyjson_obj_size(map) == 0)
		return true;
	a->label_keys = isc_arena_array(b->arena, yyjson_obj_size(map), sizeof(isc_text));
	a->label_values = isc_arena_array(b->arena, yyjson_obj_size(map), sizeof(isc_text));
	if (a->label_keys == NULL || a->label_values == NULL)
		return false;
	yyjson_obj_foreach(map, at, n, key, value)
	{
		if (!yyjson_is_str(value))
			continue;
		if (!take_text(b, key, &a->label_keys[a->labels]) || !take_text(b, value, &a->label_values[a->labels]))
			return false;
		a->labels++;
	}
	return true;
}

static bool take_warnings(isc_build *b, yyjson_val *list)
{
	isc_analysis *a = b->a;
	size_t at, n;
	yyjson_val *value;

	yyjson_arr_foreach(list, at, n, value)
	{
		isc_text text = {0}, remedy = {0};
		isc_analysis_warning *w;

		if (!take_text(b, yyjson_obj_get(value, "text"), &text) ||
		    !take_text(b, yyjson_obj_get(value, "remedy"), &remedy))
			return false;
		if (text.len == 0 || a->warning_count == FACTS_MAX_WARNINGS)
			continue;
		w = isc_arena_push(b->arena, &a->warnings, &a->warning_count, &b->warning_room, sizeof(*w));
		if (w == NULL)
			return false;
		/* A NUL inside ends the sentence: nothing that we write has one. */
		*w = (isc_analysis_warning){"recorder", (char *)text.at, remedy.len > 0 ? (char *)remedy.at : NULL,
					    true};
	}
	return true;
}

const char *const isc_cost_part[ISC_COST_PARTS] = {"calls",	   "samples", "events", "collections",
						   "system_calls", "memory",  "start",	"switches"};

static void take_cost(isc_analysis *a, yyjson_val *cost)
{
	a->cost_known = yyjson_is_obj(cost);
	for (size_t i = 0; i < ISC_COST_PARTS; i++)
		a->cost_us[i] = number_of(cost, isc_cost_part[i]);
}

static bool take_all(isc_build *b, yyjson_val *root)
{
	yyjson_val *counters = yyjson_obj_get(root, "counters");
	yyjson_val *perf = yyjson_obj_get(root, "perf"), *budget = yyjson_obj_get(root, "budget_pct");
	isc_facts *f = &b->facts;

	f->wall_us = number_of(root, "wall_us");
	b->a->cpus = (uint32_t)count_of(root, "cpus");
	f->recorder_cpu_us = number_of(root, "recorder_cpu_us");
	f->recorder_cpu_pct = number_of(root, "recorder_cpu_pct");
	f->measured_pct = number_of(root, "measured_pct");
	f->own_cpu_us = number_of(root, "own_cpu_us");
	f->program_cpu_us = number_of(root, "program_cpu_us");
	take_cost(b->a, yyjson_obj_get(root, "cost_us"));
	f->switch_cost_pct = number_of(root, "switch_cost_pct");
	f->roster_lost = count_of(root, "roster_lost");
	f->attach_failed = count_of(root, "attach_failed");
	f->switches = count_of(root, "switches");
	f->switches_lost = count_of(root, "switches_lost");
	f->faults = yyjson_is_true(yyjson_obj_get(root, "faults"));
	f->waits = yyjson_is_true(yyjson_obj_get(root, "waits"));
	f->native_off = yyjson_equals_str(yyjson_obj_get(root, "native"), "off");
	f->throttled_us = number_of(root, "throttled_us");
	f->collected_from_us = number_of(root, "collected_from_us");
	f->collected_to_us = number_of(root, "collected_to_us");
	f->kernel_calls_pretended = yyjson_is_true(yyjson_obj_get(root, "kernel_calls_pretended"));
	b->a->kernel_calls = number_of(root, "kernel_calls");
	b->a->user_us = number_of(root, "user_us");
	b->a->system_us = number_of(root, "system_us");
	b->a->minor_faults = number_of(root, "minor_faults");
	b->a->major_faults = number_of(root, "major_faults");
	f->session_on_disk = yyjson_is_true(yyjson_obj_get(root, "session_on_disk"));
	f->counters_known = yyjson_is_str(counters);
	f->counters_ok = yyjson_equals_str(counters, "ok");
	f->counters_stand_in = yyjson_is_true(yyjson_obj_get(root, "counters_stand_in"));
	f->perf_known = yyjson_is_str(perf);
	f->perf_ok = yyjson_equals_str(perf, "ok");
	b->a->budget_known = yyjson_is_null(budget) || yyjson_is_num(budget);
	b->a->budget_pct = number_of(root, "budget_pct");
	b->a->samples.rate_hz = number_of(root, "rate_hz");
	return isc_build_usage(b, root) && take_text(b, counters, &f->counters) &&
	       take_text(b, yyjson_obj_get(root, "counters_remedy"), &f->counters_remedy) &&
	       take_text(b, perf, &f->perf) && take_text(b, yyjson_obj_get(root, "throttle"), &f->throttle) &&
	       take_text(b, yyjson_obj_get(root, "kernel_calls_unknown"), &f->kernel_calls_unknown) &&
	       take_text(b, yyjson_obj_get(root, "perf_remedy"), &f->perf_remedy) &&
	       take_text(b, yyjson_obj_get(root, "follow"), &f->follow) &&
	       take_text(b, yyjson_obj_get(root, "version"), &f->version) &&
	       take_text(b, yyjson_obj_get(root, "host"), &b->a->host) &&
	       take_text(b, yyjson_obj_get(root, "cpu"), &b->a->cpu) && take_argv(b, yyjson_obj_get(root, "argv")) &&
	       take_labels(b, yyjson_obj_get(root, "labels")) && take_warnings(b, yyjson_obj_get(root, "warnings"));
}

isc_status isc_build_facts(isc_build *b, isc_error *err)
{
	size_t len = 0;
	const char *meta = isc_trace_meta(b->trace, &len);
	yyjson_read_err why = {0};
	yyjson_doc *doc;
	yyjson_val *root;
	bool ok;

	b->facts.wall_us = b->facts.recorder_cpu_us = b->facts.recorder_cpu_pct = -1;
	b->a->samples.rate_hz = b->a->samples.least_hz = -1;
	b->facts.collected_from_us = b->facts.collected_to_us = -1;
	b->facts.measured_pct = b->facts.switch_cost_pct = b->facts.throttled_us = -1;
	b->facts.own_cpu_us = b->facts.program_cpu_us = -1;
	b->a->budget_pct = b->a->kernel_calls = b->a->minor_faults = b->a->major_faults = b->a->user_us =
		b->a->system_us = -1;
	if (meta == NULL || len == 0)
		return ISC_OK;
	b->facts.present = true;
	if (len > FACTS_MAX_BYTES) {
		b->facts.broken = true;
		return ISC_OK;
	}
	/* Names in it may be any bytes; the report writers know that. */
	doc = yyjson_read_opts((char *)(uintptr_t)meta, len, YYJSON_READ_ALLOW_INVALID_UNICODE, NULL, &why);
	if (doc == NULL && why.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION)
		return isc_build_no_memory(err);
	root = yyjson_doc_get_root(doc);
	b->facts.broken = !yyjson_is_obj(root);
	ok = b->facts.broken || take_all(b, root);
	yyjson_doc_free(doc);
	return ok ? ISC_OK : isc_build_no_memory(err);
}
