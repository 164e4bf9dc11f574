/* html_metric.h - see html_metric.c. */
#ifndef ISC_REPORT_HTML_HTML_METRIC_H
#define ISC_REPORT_HTML_HTML_METRIC_H

#include <stddef.h>

typedef struct isc_html_metric {
	const char *name;   /* "gil_wait_pct" */
	const char *words;  /* "GIL wait" */
	const char *colour; /* of the state that it measures: "gil_wait", a class of the page's style */
} isc_html_metric;

/* NULL: a page has no words for it. */
const isc_html_metric *isc_html_metric_named(const char *name, size_t len);

#endif
