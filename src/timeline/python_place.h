/*
 * python_place.h - where a function of Python is, from the name that a timeline has for it, which is
 * Kineto's: "path/file.py(12): name".
 */
#ifndef ISC_TIMELINE_PYTHON_PLACE_H
#define ISC_TIMELINE_PYTHON_PLACE_H

#include <stdbool.h>

#include "timeline/strings.h"

typedef struct isc_python_place {
	isc_text name, file; /* parts of the text: no NUL behind them but behind the name */
	uint32_t line;
} isc_python_place;

/* False: it is no such name, and the name is all of it. */
bool isc_python_place_of(isc_text text, isc_python_place *out);

#endif
