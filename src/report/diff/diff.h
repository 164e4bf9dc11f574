/*
 * diff.h - what changed between two sets of runs, for a pull request and for machines.
 */
#ifndef ISC_REPORT_DIFF_DIFF_H
#define ISC_REPORT_DIFF_DIFF_H

#include "analyze/compare/compare.h"
#include "analyze/compare/condition.h"
#include "base/buffer.h"
#include "base/status.h"

typedef struct isc_diff_gate {
	isc_condition gate;
	isc_change change;
	enum isc_condition_result result;
} isc_diff_gate;

typedef struct isc_diff {
	isc_comparison comparison;
	const isc_diff_gate *gates;
	size_t gate_count;
	const char *machines; /* in what they differ, though that was not to matter; NULL: they are alike */
} isc_diff;

/* enum isc_report_format. */
isc_status isc_diff_write(const isc_diff *d, int format, isc_buffer *out, isc_error *err);

/* One sentence, raw: "request is slower: ...". */
void isc_diff_headline(const isc_diff *d, isc_buffer *out);

const char *isc_diff_result_name(enum isc_condition_result result);

void isc_diff_markdown(const isc_diff *d, isc_buffer *out);
void isc_diff_json(const isc_diff *d, isc_buffer *out);
void isc_diff_html(const isc_diff *d, isc_buffer *out);

/* What to doubt, one sentence after the other, raw; false: there is none of this number. */
bool isc_diff_doubt(const isc_diff *d, size_t number, isc_buffer *out);

#endif
