/*
 * tables.h - the tables of the JSON report; each file holds those of one subject.
 */
#ifndef ISC_REPORT_JSON_TABLES_H
#define ISC_REPORT_JSON_TABLES_H

#include "report/json/fields.h"

/* Objects of the report, bound to isc_analysis or to its part of that name. */
extern const isc_field isc_program_rows[];
extern const isc_field isc_verdict_rows[];
extern const isc_field isc_looked_at_rows[];
extern const isc_field isc_window_rows[];
extern const isc_field isc_breakdown_rows[];
extern const isc_field isc_unit_rows[];
extern const isc_field isc_startup_rows[];
extern const isc_field isc_samples_rows[];
extern const isc_field isc_memory_rows[];
extern const isc_field isc_usage_rows[]; /* part of "memory" */
extern const isc_field isc_numa_rows[];
extern const isc_field isc_overhead_rows[];
extern const isc_field isc_clock_rows[];

/* Items of lists. */
extern const isc_field isc_suggestion_rows[];
extern const isc_field isc_change_rows[];
extern const isc_field isc_scope_rows[];
extern const isc_field isc_phase_rows[];
extern const isc_field isc_mark_rows[];
extern const isc_field isc_counter_rows[];
extern const isc_field isc_function_rows[];
extern const isc_field isc_governed_rows[]; /* also of functions: part of "overhead" */
extern const isc_field isc_line_rows[];
extern const isc_field isc_stack_rows[];
extern const isc_field isc_path_rows[];
extern const isc_field isc_syscall_rows[];
extern const isc_field isc_thread_rows[];
extern const isc_field isc_wait_rows[];
extern const isc_field isc_warning_rows[];

/* Lists of the timeline, empty when there is none: "gpus", then "kernels" and "copies", which refer to GPUs. */
void isc_gpus_write(struct json *j, val *report, const void *analysis);
void isc_gpus_read(isc_reading in);
void isc_gpu_work_write(struct json *j, val *report, const void *analysis);
void isc_gpu_work_read(isc_reading in);

/* The file that a GPU is of, as its place in the list of sources (uint32_t): 0 when there is only one. */
void isc_gpu_source_write(struct json *j, val *object, const void *source);
uint32_t isc_gpu_source_in(yyjson_val *object);

/* ---- shared ---- */

extern const isc_field isc_each_us;
extern const isc_field isc_each_name;
extern const isc_field isc_each_whole;

/* Of isc_analysis_breakdown: the share of each state, how it was seen, and why CPU time has no stack. */
extern const isc_field isc_states_rows[];

/* Of isc_claim. */
extern const isc_field isc_claim_rows[];

/* The claim of a verdict or a suggestion, whose texts are the arena's; what a report of an older version does not have
 * is not known. */
void isc_claim_read(isc_arena *arena, yyjson_val *object, isc_claim *out);

/* What would change a verdict.  told: the sentence of the same change, which it keeps if it has no parts, or if this
 * version has no words for it. */
void isc_change_read(isc_arena *arena, yyjson_val *parts, yyjson_val *told, isc_analysis_change *out);

/* Of isc_analysis_judged. */
extern const isc_field isc_judged_rows[];

/* Of isc_analysis_frame: function, file, line and module. */
extern const isc_field isc_place_rows[];

/* A frame as "function (file:line)"; it is read back as a frame of that name. */
val *isc_place_value(struct json *j, const void *frame);
void isc_place_read(isc_reading frame);

/* A text as a value, null when it is empty; frees the buffer. */
val *isc_raw_value(struct json *j, isc_buffer *raw);

#endif
