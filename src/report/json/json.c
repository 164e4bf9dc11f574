/*
 * json.c - the report for machines, from its first key to its last.  The names are a promise; what a trace does not
 * know is null, and a warning says why.
 */
#include "report/json/json.h"

#include <stdlib.h>

#include "report/json/tables.h"

static val *schema_of(struct json *j, const void *analysis)
{
	(void)analysis;
	return words_of(j, ISC_JSON_SCHEMA);
}

static bool has_memory(const isc_analysis *a)
{
	return (a->minor_faults >= 0 && a->major_faults >= 0) || a->memory.recorded || a->usage.known;
}

static const isc_field report_rows[] = {
	{"schema", .value = schema_of},
	{"program", .kind = ISC_FIELD_OBJECT, .of = isc_program_rows},
	{"verdict", ISC_AT(OBJECT, isc_analysis, verdict), .of = isc_verdict_rows},
	{"suggestions", ISC_LIST(isc_analysis, suggestions, suggestion_count, isc_suggestion_rows)},
	{"looked_at", .kind = ISC_FIELD_OBJECT, .of = isc_looked_at_rows},
	{"window", ISC_AT(OBJECT, isc_analysis, window), .of = isc_window_rows},
	{"breakdown", ISC_AT(OBJECT, isc_analysis, breakdown), ISC_KNOWN(isc_analysis, breakdown.known),
	 .of = isc_breakdown_rows},
	{NULL, .write = isc_gpus_write, .read = isc_gpus_read},
	{"scopes", ISC_LIST(isc_analysis, scopes, scope_count, isc_scope_rows)},
	{"units", ISC_AT(OBJECT, isc_analysis, units), .of = isc_unit_rows, ISC_KNOWN(isc_analysis, units.known),
	 ISC_IF(isc_analysis, units.family_count)},
	{"phases", ISC_LIST(isc_analysis, phases, phase_count, isc_phase_rows)},
	{"startup", ISC_AT(OBJECT, isc_analysis, startup), .of = isc_startup_rows,
	 ISC_KNOWN(isc_analysis, startup.known)},
	{"marks", ISC_LIST(isc_analysis, marks, mark_count, isc_mark_rows)},
	{"counters", ISC_LIST(isc_analysis, counters, counter_count, isc_counter_rows)},
	{"functions", ISC_LIST(isc_analysis, functions, function_count, isc_function_rows)},
	{"lines", ISC_LIST(isc_analysis, lines, line_count, isc_line_rows)},
	{NULL, .write = isc_gpu_work_write, .read = isc_gpu_work_read},
	{"stacks", ISC_LIST(isc_analysis, stacks, stack_count, isc_stack_rows)},
	{"paths", ISC_LIST(isc_analysis, paths, path_count, isc_path_rows)},
	{"samples", ISC_AT(OBJECT, isc_analysis, samples), .of = isc_samples_rows},
	{"syscalls", ISC_LIST(isc_analysis, syscalls, syscall_count, isc_syscall_rows)},
	{"memory", .kind = ISC_FIELD_OBJECT, .of = isc_memory_rows, .when = has_memory},
	{"numa", ISC_AT(OBJECT, isc_analysis, numa), .of = isc_numa_rows, ISC_IF(isc_analysis, numa.nodes)},
	{"threads", ISC_LIST(isc_analysis, threads, thread_count, isc_thread_rows)},
	{"waits", ISC_LIST(isc_analysis, waits, wait_count, isc_wait_rows)},
	{"overhead", .kind = ISC_FIELD_OBJECT, .of = isc_overhead_rows},
	{"clock", .kind = ISC_FIELD_OBJECT, .of = isc_clock_rows},
	{"warnings", ISC_LIST(isc_analysis, warnings, warning_count, isc_warning_rows)},
	{.kind = ISC_FIELD_END},
};

yyjson_mut_doc *isc_json_tree(const isc_analysis *a)
{
	struct json j = {.doc = yyjson_mut_doc_new(NULL), .a = a};

	if (j.doc != NULL)
		yyjson_mut_doc_set_root(j.doc, isc_fields_object(&j, report_rows, a));
	if (j.failed) {
		yyjson_mut_doc_free(j.doc);
		j.doc = NULL;
	}
	isc_buffer_fini(&j.text);
	return j.doc;
}

void isc_json_write(const isc_analysis *a, isc_buffer *out)
{
	yyjson_mut_doc *doc = isc_json_tree(a);
	size_t len = 0;
	char *text = yyjson_mut_write(doc, YYJSON_WRITE_PRETTY_TWO_SPACES | YYJSON_WRITE_NEWLINE_AT_END, &len);

	if (text != NULL)
		isc_buffer_add(out, text, len);
	else
		out->failed = true;
	free(text);
	yyjson_mut_doc_free(doc);
}

isc_status isc_json_read(yyjson_val *report, isc_analysis **out, isc_error *err)
{
	isc_arena *arena = isc_arena_new();
	isc_analysis *a = arena != NULL ? isc_arena_alloc(arena, sizeof(*a)) : NULL;

	*out = NULL;
	if (a == NULL) {
		isc_arena_free(arena);
		return isc_fail(err, ISC_ERR_NOMEM, "no memory for the report");
	}
	a->arena = arena;
	isc_fields_read(a, report, report_rows, a);
	for (size_t i = 0; i < a->function_count; i++)
		a->governed_count += a->functions[i].governed;
	if (arena->failed) {
		isc_analysis_free(a);
		return isc_fail(err, ISC_ERR_NOMEM, "no memory for the report");
	}
	*out = a;
	return ISC_OK;
}
