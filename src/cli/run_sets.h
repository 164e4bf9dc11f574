/*
 * run_sets.h - the traces of one side of a comparison: files, and folders of traces.
 */
#ifndef ISC_CLI_RUN_SETS_H
#define ISC_CLI_RUN_SETS_H

#include "analyze/compare/compare.h"

#define ISC_RUN_SET_MAX 64u

typedef struct isc_run_files {
	const char *given[ISC_RUN_SET_MAX]; /* files and folders */
	size_t given_count;
	isc_analysis *runs[ISC_RUN_SET_MAX];
	size_t count;
	bool damaged; /* one of them is, in part */
} isc_run_files;

/* Reads all of them; *unreadable: a trace is the reason of a failure. */
isc_status isc_run_files_read(isc_run_files *f, const isc_analysis_options *options, bool *unreadable, isc_error *err);
void isc_run_files_fini(isc_run_files *f);

#endif
