/*
 * totals_fields.h - the numbers of a row of totals, as a table: what is done to every number is written once, for
 * all kinds of rows.  A new number of a row is a row of its table.  Internal to trace/.
 */
#ifndef ISC_TRACE_TOTALS_TOTALS_FIELDS_H
#define ISC_TRACE_TOTALS_TOTALS_FIELDS_H

#include "base/buffer.h"
#include "trace/totals/totals.h"

enum isc_total_type { ISC_TOTAL_END, ISC_TOTAL_U32, ISC_TOTAL_U64, ISC_TOTAL_REAL };

/* Ends with a row of zeros. */
typedef struct isc_total_field {
	uint16_t at;   /* in the struct */
	uint8_t type;  /* enum isc_total_type */
	bool sum;      /* 64 bits: of rows that become one it is the sum; others say what the row is of, or was last */
	uint32_t most; /* what a file may say; 0: whatever fits */
} isc_total_field;

extern const isc_total_field isc_scope_fields[], isc_mark_fields[], isc_counter_fields[], isc_thread_fields[],
	isc_thread_scopes_fields[], isc_stack_fields[], isc_stack_counts_fields[], isc_stack_faults_fields[],
	isc_wait_fields[], isc_syscall_fields[], isc_process_fields[], isc_process_windows_fields[],
	isc_process_startup_fields[];
/* Of functions, in the order of the file: what each has, what some have, and all of brief ones. */
extern const isc_total_field isc_function_fields[], isc_function_window_fields[], isc_function_exact_fields[],
	isc_function_brief_fields[];

/* As the file has them: whole numbers as varints, others as they are. */
void isc_totals_fields_store(const isc_total_field *fields, const void *row, isc_buffer *out);
/* False: it is cut short, or says more than it may. */
bool isc_totals_fields_load(const isc_total_field *fields, void *row, const uint8_t **at, const uint8_t *end);

/* Sums of another row are added; those of an earlier one are taken away, down to 0. */
void isc_totals_fields_add(const isc_total_field *fields, void *row, const void *other);
void isc_totals_fields_less(const isc_total_field *fields, void *row, const void *earlier);

#endif
