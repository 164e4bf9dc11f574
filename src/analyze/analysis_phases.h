/*
 * analysis_phases.h - what each process did when, and how long it took to start.
 *
 * Phases are about the whole run, whatever part of it is looked at.  Those of a process come in the order of time.
 * Imports that lie in the serving are inside units; all others lie apart.
 */
#ifndef ISC_ANALYZE_ANALYSIS_PHASES_H
#define ISC_ANALYZE_ANALYSIS_PHASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum isc_phase {
	ISC_PHASE_STARTUP,  /* from its begin to its first call */
	ISC_PHASE_IMPORTS,  /* modules are imported */
	ISC_PHASE_LOADING,  /* whatever else comes before the first unit */
	ISC_PHASE_WARM_UP,  /* first units that are far slower than the others */
	ISC_PHASE_SERVING,  /* units of the program's work; without any, all that follows the imports */
	ISC_PHASE_SHUTDOWN, /* the program has ended, and no thread is waited for */
	ISC_PHASE_NAMES
};

typedef struct isc_analysis_phase {
	int phase; /* enum isc_phase */
	uint32_t pid;
	double from_us, to_us; /* of the session */
	isc_text why;
} isc_analysis_phase;

/* A module that the program imported, with all that this imported. */
typedef struct isc_analysis_import {
	isc_text name; /* "torch" */
	isc_text file;
	double us;
} isc_analysis_import;

/* The start of the process whose time is judged. */
typedef struct isc_analysis_startup {
	bool known; /* its imports or its first unit are */
	uint32_t pid;
	double took_us; /* from its begin to its serving; negative: not known */
	double imports_us, loading_us;
	isc_analysis_import *top; /* most time first */
	size_t top_count;
} isc_analysis_startup;

const char *isc_phase_name(enum isc_phase phase);

#endif
