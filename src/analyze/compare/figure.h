/*
 * figure.h - one number of an analysis, by a name that people can write: what two
 * runs are compared by, and what a gate watches.
 */
#ifndef ISC_ANALYZE_COMPARE_FIGURE_H
#define ISC_ANALYZE_COMPARE_FIGURE_H

#include "analyze/analysis.h"

/* What a metric is of. */
enum isc_subject { ISC_SUBJECT_RUN, ISC_SUBJECT_SCOPE, ISC_SUBJECT_FUNCTION, ISC_SUBJECT_KERNEL, ISC_SUBJECT_DEVICE };

enum isc_figure_unit { ISC_UNIT_US, ISC_UNIT_PERCENT, ISC_UNIT_COUNT };

typedef struct isc_figure {
	const char *name;
	enum isc_subject subject;
	enum isc_figure_unit unit;
	int which;
} isc_figure;

/* All of them, by rank; false past the end. */
bool isc_figure_at(size_t i, isc_figure *out);

/* By name; false: there is none. */
bool isc_figure_find(const char *name, size_t len, isc_figure *out);

/* NAN: not known, or there is no such scope, function, kernel or device. */
double isc_figure_value(const isc_figure *m, const isc_analysis *a, const isc_text *subject);

/* "scope", "function", ...; NULL: of the run. */
const char *isc_subject_name(enum isc_subject subject);

#endif
