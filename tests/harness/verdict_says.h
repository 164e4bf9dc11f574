/*
 * verdict_says.h - what a verdict says in words.
 */
#ifndef ISC_HARNESS_VERDICT_SAYS_H
#define ISC_HARNESS_VERDICT_SAYS_H

#include <string.h>

#include "report/text/phrase.h"

/* Does a text that was just written hold these words?  It is freed. */
static inline bool written(isc_buffer *text, const char *words)
{
	bool found = text->data != NULL && strstr(text->data, words) != NULL;

	isc_buffer_fini(text);
	return found;
}

static inline bool headline_says(const isc_analysis_verdict *v, const char *words)
{
	isc_buffer text = {0};

	isc_phrase_headline(&text, v);
	return written(&text, words);
}

static inline bool change_says(const isc_analysis_verdict *v, const char *words)
{
	isc_buffer text = {0};

	isc_phrase_change(&text, &v->would_change[0], NULL);
	return written(&text, words);
}

#endif
