/*
 * report_files.h - from a trace to report files and the summary: what `run` does
 * at its end and what `analyze` does all day.
 */
#ifndef ISC_CLI_REPORT_FILES_H
#define ISC_CLI_REPORT_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "analyze/analysis.h"
#include "base/status.h"
#include "session/settings.h"

typedef struct isc_report_request {
	const char *trace;  /* read from here */
	char *const *paths; /* one report each */
	size_t count;
	const char *format; /* of all of them; NULL: by their endings */
	bool force;	    /* replace files that are not ours */
	bool quiet;	    /* no summary, no progress */
	bool show_trace;    /* name the trace in the summary */
	isc_analysis_options options;
} isc_report_request;

/* Could all reports be written?  Found out before there is anything to lose. */
isc_status isc_report_request_check(const isc_report_request *r, isc_error *err);

/* Writes every report that can be and prints the summary to stderr.  *damaged:
 * a part of the trace could not be read; the reports say which.  *opened: it is a
 * trace; on failure that was not the reason. */
isc_status isc_report_request_write(const isc_report_request *r, bool *damaged, bool *opened, isc_error *err);

/* The same for the settings of a run. */
isc_status isc_report_files_check(const isc_settings *settings, isc_error *err);
isc_status isc_report_files(const isc_settings *settings, const char *trace, isc_error *err);

#endif
