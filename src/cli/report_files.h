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
#include "session/settings/settings.h"

typedef struct isc_report_request {
	const char *trace;   /* read from here */
	char *const *inputs; /* all that were given, trace the first of them; NULL: trace alone */
	size_t input_count;
	double margin_us;    /* error of the GPU's clock when nothing bounds it; 0: usual */
	char *const *paths;  /* one report each; "-": stdout, where that is ours */
	size_t count;	     /* at most ISC_SETTINGS_LIST_MAX */
	const char *format;  /* of all of them; NULL: by their endings */
	bool force;	     /* replace files that are not ours */
	bool quiet;	     /* no summary, no progress */
	bool no_bar;	     /* no progress */
	bool stdout_ours;    /* no program writes to it */
	const char *symbols; /* a folder with debug files; NULL: none */
	const char *shown;   /* the trace as the summary names it; NULL: not at all */
	isc_analysis_options options;
	struct isc_output *output[ISC_SETTINGS_LIST_MAX]; /* held from open to close */
} isc_report_request;

/* Where a report goes when nobody says: its ending is that of the format.  NULL and a name that is no format: Markdown. */
char *isc_report_default_path(const char *format);

/* What the settings of a run ask for; trace is absolute, and shown as the user gave it. */
isc_report_request isc_report_request_of(const isc_settings *settings, const char *trace);

/* Could all reports be written?  Found out before there is anything to lose, and the
 * folders are held from here on: a program that exchanges one leads us nowhere else. */
isc_status isc_report_request_open(isc_report_request *r, isc_error *err);

/* Writes every report that can be and prints the summary to stderr.  *damaged:
 * a part of the trace could not be read; the reports say which.  On failure
 * *read tells whether the trace was the reason (false) or the writing (true). */
isc_status isc_report_request_write(isc_report_request *r, bool *damaged, bool *read, isc_error *err);

/* Are they a trace of ours, and what Nsight Systems recorded of the same run? */
bool isc_report_request_pair(char *const *inputs, size_t count);

void isc_report_request_close(isc_report_request *r);

#endif
