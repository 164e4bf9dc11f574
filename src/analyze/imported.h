/*
 * imported.h - an analysis of traces that other tools wrote.
 */
#ifndef ISC_ANALYZE_IMPORTED_H
#define ISC_ANALYZE_IMPORTED_H

#include "analyze/analysis.h"

typedef struct isc_imported_options {
	const char *scope;	       /* from its first entry to its last exit; NULL: all */
	double from_us, to_us;	       /* to_us 0: the end */
	double margin_us;	       /* error of the GPU's clock when nothing bounds it; 0: 1,000 */
	size_t memory_bytes;	       /* for sorting; 0: as much as is usual */
	const struct isc_rules *rules; /* NULL: the built-in ones */
	bool lanes;		       /* make them too, for a timeline */
	void (*progress)(void *self, uint64_t done, uint64_t total); /* may be NULL */
	void *progress_self;
} isc_imported_options;

/*
 * Files and folders, each one source.  options may be NULL.
 *
 * Damage is no failure: a->damaged tells, and a warning says what was lost.
 * ISC_ERR_INVALID: there is no such scope, or nothing in that time; *read then
 * tells that the files could be read.
 */
isc_status isc_imported_new(char *const *paths, size_t count, const isc_imported_options *options, isc_analysis **out,
			    bool *read, isc_error *err);

/* Name, file and line of a function from "path/file.py(12): name". */
void isc_imported_place(isc_text s, isc_analysis_function *out);

/* Functions, stacks and the tree of them, from samples; after the functions that were called.  False: no memory. */
bool isc_imported_stacks(isc_analysis *a, struct isc_arena *arena);

#endif
