/*
 * report.h - an analysis as Markdown, HTML or JSON, and a trace for the tools of others, for C and C++ programs.
 */
#ifndef INFERSCOPE_REPORT_H
#define INFERSCOPE_REPORT_H

#include "inferscope/analysis.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The text of a report, NUL-terminated and the caller's, to be released with free(); len may be NULL.
 * format: "markdown", "html" or "json". */
ISC_API isc_status inferscope_report_text(const inferscope_analysis *analysis, const char *format, char **text,
					  size_t *len, isc_error *err);

/* The same into a file.  format NULL: by the ending of the path.  A report of ours is replaced, any other file is
 * not (ISC_ERR_EXISTS), and no link is followed. */
ISC_API isc_status inferscope_report_save(const inferscope_analysis *analysis, const char *path, const char *format,
					  isc_error *err);

/* A trace of ours as "chrome", "perfetto", "speedscope", "collapsed", "pprof" or "events"; files as above. */
ISC_API isc_status inferscope_export(const char *trace, const char *format, const char *path, isc_error *err);

#ifdef __cplusplus
}
#endif
#endif
