/*
 * places.h - functions, and lines in them, as numbers: where something happened,
 * for whoever explains it.  Number 0 is no place that is known.
 */
#ifndef ISC_ANALYZE_CODE_PLACES_H
#define ISC_ANALYZE_CODE_PLACES_H

#include "analyze/build.h"
#include "analyze/names.h"

typedef struct isc_places {
	isc_analysis_frame *at; /* by number */
	size_t count, room;
	isc_names keys;
	isc_buffer key;
	isc_hashmap by_code;  /* process image and code -> number + 1 */
	isc_hashmap by_stack; /* process image and stack -> number + 1 */
	uint64_t searched;    /* bytes of line tables */
} isc_places;

#define ISC_PLACE_NO_MEMORY UINT32_MAX

/* A zeroed struct is empty. */
void isc_places_fini(isc_places *p);

/* A function as a whole, with its first line. */
uint32_t isc_places_code(isc_places *p, isc_build *b, uint32_t process, uint32_t code);
uint32_t isc_places_function(isc_places *p, isc_build *b, const isc_analysis_function *f);

/* The line that a stack stood on: of its newest Python function that is not of Python's own
 * library, else of its newest one, else its newest frame. */
uint32_t isc_places_stack(isc_places *p, isc_build *b, uint32_t process, uint32_t stack);

/* Is it Python's own library, or not known? */
bool isc_places_is_library(const isc_places *p, uint32_t place);

#endif
