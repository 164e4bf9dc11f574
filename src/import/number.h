/* number.h - decimal text as whole nanoseconds, without the rounding of floating point. */
#ifndef ISC_IMPORT_NUMBER_H
#define ISC_IMPORT_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A number times 10^shift, rounded to the nearest; false: it is none, or too large. */
bool isc_number_scaled(const char *at, size_t len, unsigned shift, int64_t *out);

/* Digits alone; false: anything else, or too large. */
bool isc_number_whole(const char *at, size_t len, uint64_t *out);

#endif
