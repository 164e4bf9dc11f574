/*
 * tables.h - the tables of the JSON report; what they are about has a file of its name.
 */
#ifndef ISC_REPORT_JSON_TABLES_H
#define ISC_REPORT_JSON_TABLES_H

#include "report/json/fields.h"

/* Objects of the report: of isc_analysis, or of the part of it that the key says. */
extern const isc_field isc_program_rows[];
extern const isc_field isc_verdict_rows[];
extern const isc_field isc_looked_at_rows[];
extern const isc_field isc_window_rows[];
extern const isc_field isc_breakdown_rows[];
extern const isc_field isc_unit_rows[];
extern const isc_field isc_samples_rows[];
extern const isc_field isc_memory_rows[];
extern const isc_field isc_usage_rows[]; /* inside of the memory */
extern const isc_field isc_numa_rows[];
extern const isc_field isc_overhead_rows[];
extern const isc_field isc_clock_rows[];

/* Each of a list. */
extern const isc_field isc_suggestion_rows[];
extern const isc_field isc_scope_rows[];
extern const isc_field isc_mark_rows[];
extern const isc_field isc_counter_rows[];
extern const isc_field isc_function_rows[];
extern const isc_field isc_governed_rows[]; /* of functions too: inside of the overhead */
extern const isc_field isc_line_rows[];
extern const isc_field isc_stack_rows[];
extern const isc_field isc_path_rows[];
extern const isc_field isc_syscall_rows[];
extern const isc_field isc_thread_rows[];
extern const isc_field isc_wait_rows[];
extern const isc_field isc_warning_rows[];

/* Lists of the timeline, which may not be there: "gpus"; "kernels" and "copies", which are of those. */
void isc_gpus_write(struct json *j, val *report, const void *analysis);
void isc_gpus_read(isc_reading in);
void isc_gpu_work_write(struct json *j, val *report, const void *analysis);
void isc_gpu_work_read(isc_reading in);

/* The file that a GPU is of, when there are several: its place in the list of sources, 0 when there is one. */
void isc_gpu_source_write(struct json *j, val *object, uint32_t source);
uint32_t isc_gpu_source_in(yyjson_val *object);

/* ---- shared ---- */

extern const isc_field isc_each_us;
extern const isc_field isc_each_name;
extern const isc_field isc_each_whole;

/* Of isc_analysis_breakdown: shares of states, how they were seen, and why time on a CPU has no stack. */
extern const isc_field isc_states_rows[];

/* Of isc_analysis_judged. */
extern const isc_field isc_judged_rows[];

/* Of isc_analysis_frame: function, file, line and module. */
extern const isc_field isc_place_rows[];

/* A frame as a place for people; it is read back as a name. */
val *isc_place_value(struct json *j, const void *frame);
void isc_place_read(isc_reading frame);

/* Raw words as a value, null when there are none; releases them. */
val *isc_raw_value(struct json *j, isc_buffer *raw);

#endif
