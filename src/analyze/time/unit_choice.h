/*
 * unit_choice.h - which of several kinds of unit is what the program works in: scopes, as the program itself says what
 * its work is, else tasks, else loops.
 */
#ifndef ISC_ANALYZE_TIME_UNIT_CHOICE_H
#define ISC_ANALYZE_TIME_UNIT_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ISC_UNIT_ENOUGH 3u /* units of a kind, that one may be typical of the others */

/* Units of one kind. */
typedef struct isc_unit_weight {
	uint32_t source; /* enum isc_unit_source */
	uint64_t count;
	double total_ns, longest_ns;
} isc_unit_weight;

/* Whether units of this kind can be the work of a time this long. */
bool isc_unit_may_count(const isc_unit_weight *w, double window_ns);

/* The one of n that is; SIZE_MAX: none. */
size_t isc_unit_choose(const isc_unit_weight *w, size_t n, double window_ns);

#endif
