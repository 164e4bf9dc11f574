/*
 * report.h - an analysis as a text for people or machines.
 *
 * Every writer fills one growing buffer and escapes names for its own medium.
 * Reports hold no date and no output path, so the same trace gives the same
 * bytes.
 */
#ifndef ISC_REPORT_REPORT_H
#define ISC_REPORT_REPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "analyze/analysis.h"
#include "base/buffer.h"
#include "base/status.h"

enum isc_report_format { ISC_REPORT_UNKNOWN = -1, ISC_REPORT_MARKDOWN = 0, ISC_REPORT_JSON, ISC_REPORT_HTML };

/* By name (markdown, md, html, htm, json) or by the ending of a path. */
int isc_report_format_named(const char *name);
int isc_report_format_of(const char *path);

/* The format of a report: name when it is not NULL, else by the path's ending.
 * ISC_ERR_INVALID says which formats there are. */
isc_status isc_report_choose(const char *path, const char *name, int *format, isc_error *err);

isc_status isc_report_write(const isc_analysis *a, int format, isc_buffer *out, isc_error *err);

/* The summary on stderr: at most 12 lines, each beginning "inferscope: ";
 * report may be NULL. */
isc_status isc_report_summary(const isc_analysis *a, const char *report, const char *trace, isc_buffer *out,
			      isc_error *err);

/* What a file that we wrote begins with or holds near its start: may a file
 * with these first bytes be replaced without --force? */
bool isc_report_is_ours(const char *head, size_t len);

#endif
