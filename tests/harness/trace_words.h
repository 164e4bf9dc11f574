/*
 * trace_words.h - the words of a line of trace_text.h, cut in place.
 */
#ifndef ISC_HARNESS_TRACE_WORDS_H
#define ISC_HARNESS_TRACE_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define WORDS_MAX 40u

struct word {
	char *at;
	size_t len;
};

static inline char *unescape(char *at, char *to)
{
	if (at[0] == '\\' && at[1] == 'x') {
		char hex[3] = {at[2], at[2] ? at[3] : 0, 0};

		*to = (char)strtoul(hex, NULL, 16);
		return at + 2 + strlen(hex);
	}
	if (at[0] == '\\' && at[1] != 0) {
		*to = at[1] == 'n' ? '\n' : at[1];
		return at + 2;
	}
	*to = *at;
	return at + 1;
}

/* How many there are. */
static inline size_t split(struct word *word, char *at)
{
	size_t words = 0;

	while (*at != 0 && words < WORDS_MAX) {
		struct word *w = &word[words];
		char *to;

		while (*at == ' ' || *at == '\t')
			at++;
		if (*at == 0)
			return words;
		words++;
		w->at = to = at;
		if (*at == '{') { /* JSON, to the end of the line */
			w->len = strlen(at);
			return words;
		}
		if (*at == '"') {
			for (at++; *at != 0 && *at != '"'; to++)
				at = unescape(at, to);
			at += *at == '"';
		} else {
			while (*at != 0 && *at != ' ' && *at != '\t')
				*to++ = *at++;
		}
		w->len = (size_t)(to - w->at);
		if (*at != 0 || to < at) {
			bool more = *at != 0;

			*to = 0;
			at += more;
		}
	}
	return words;
}

#endif
