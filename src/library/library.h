/* library.h - what is behind the opaque types of include/inferscope. */
#ifndef ISC_LIBRARY_LIBRARY_H
#define ISC_LIBRARY_LIBRARY_H

#include "analyze/analysis.h"
#include "inferscope/analysis.h"

struct inferscope_analysis {
	isc_analysis *found;
	char *headline;
	inferscope_verdict verdict;
};

#endif
