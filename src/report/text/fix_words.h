/*
 * fix_words.h - the remedies: a closed list, with an id for machines and words for people.
 */
#ifndef ISC_REPORT_TEXT_FIX_WORDS_H
#define ISC_REPORT_TEXT_FIX_WORDS_H

#include "analyze/analysis.h"

typedef struct isc_fix_words {
	const char *id;	   /* "shorten_lock" */
	const char *title; /* of the suggestion: "Hold the lock for less, or split it" */
	const char *fix; /* "holding the lock only for what needs it": what saves the time; empty: that is not known */
	const char *check; /* how to find out whether it helps */
} isc_fix_words;

const isc_fix_words *isc_fix_words_of(enum isc_fix fix); /* NULL: ISC_FIX_NONE */
enum isc_fix isc_fix_named(const char *id);		 /* ISC_FIX_NONE: there is no such id; NULL is fine */

#endif
