#include "base/suggest.h"

#include <string.h>

/* Longer words are compared as if they ended here; no name of ours is longer. */
#define WORD_MAX 48

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

unsigned isc_suggest_distance(const char *a, const char *b)
{
	size_t la = strnlen(a, WORD_MAX), lb = strnlen(b, WORD_MAX);
	unsigned cost[WORD_MAX + 1][WORD_MAX + 1];

	for (size_t i = 0; i <= la; i++) {
		for (size_t j = 0; j <= lb; j++) {
			if (i == 0 || j == 0) {
				cost[i][j] = (unsigned)(i + j);
				continue;
			}
			cost[i][j] = least(cost[i - 1][j] + 1, cost[i][j - 1] + 1);
			cost[i][j] = least(cost[i][j], cost[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				cost[i][j] = least(cost[i][j], cost[i - 2][j - 2] + 1);
		}
	}
	return cost[la][lb];
}

const char *isc_suggest(const char *word, const char *const *words, size_t n)
{
	size_t len = strnlen(word, WORD_MAX);
	/* A third of the letters wrong is a typing error, more is another word. */
	unsigned best = (unsigned)(len < 3 ? 1 : (len + 2) / 3) + 1;
	const char *found = NULL;

	for (size_t i = 0; i < n; i++) {
		unsigned d;

		if (words[i] == NULL)
			continue;
		d = isc_suggest_distance(word, words[i]);
		/* The beginning of a word is the other thing people type. */
		if (len >= 3 && strncmp(word, words[i], len) == 0)
			d = 1;
		if (d < best) {
			best = d;
			found = words[i];
		}
	}
	return found;
}
