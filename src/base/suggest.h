/*
 * suggest.h - "did you mean": the known word nearest to a misspelt one.
 */
#ifndef ISC_BASE_SUGGEST_H
#define ISC_BASE_SUGGEST_H

#include <stddef.h>

/* Letters added, left out, exchanged or swapped with their neighbour. */
unsigned isc_suggest_distance(const char *a, const char *b);

/* The nearest of words, NULL when none is near enough to be meant.  NULL words are stepped over. */
const char *isc_suggest(const char *word, const char *const *words, size_t n);

#endif
