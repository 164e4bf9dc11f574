/*
 * pattern.h - a name without the ids in it: "request-8231" is "request-#".
 *
 * Ids are runs of digits, UUIDs, hexadecimal numbers of eight digits and more, and words that
 * change between letters and digits four times and more.  Inside the program names
 * that have the same pattern are folded when there are many; a report folds the first
 * ones with them.  Signal-safe: nothing but its arguments is touched.
 */
#ifndef ISC_BASE_PATTERN_H
#define ISC_BASE_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

#define ISC_PATTERN_MAX 240u /* bytes; of a longer name the rest is left out */
#define ISC_PATTERN_HEX 8u   /* digits that a hexadecimal id has at least */
#define ISC_PATTERN_TURNS 4u /* between letters and digits, that a word does not have */

static inline bool isc_pattern_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline bool isc_pattern_is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static inline bool isc_pattern_is_hex(char c)
{
	return isc_pattern_is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* The length of the UUID that begins here, or 0. */
static inline size_t isc_pattern_uuid(const char *at, size_t len)
{
	static const unsigned char part[] = {8, 4, 4, 4, 12};
	size_t n = 0;

	for (size_t i = 0; i < sizeof(part); i++) {
		if (i > 0 && (n >= len || at[n++] != '-'))
			return 0;
		for (unsigned k = 0; k < part[i]; k++, n++) {
			if (n >= len || !isc_pattern_is_hex(at[n]))
				return 0;
		}
	}
	return n;
}

/* The length of the word of letters and digits that begins here, and whether it is an id as a whole. */
static inline size_t isc_pattern_word(const char *at, size_t len, bool *id)
{
	size_t n = 0, hex = 0, digits = 0, turns = 0;

	for (; n < len && (isc_pattern_is_digit(at[n]) || isc_pattern_is_letter(at[n])); n++) {
		hex += isc_pattern_is_hex(at[n]);
		digits += isc_pattern_is_digit(at[n]);
		turns += n > 0 && isc_pattern_is_digit(at[n]) != isc_pattern_is_digit(at[n - 1]);
	}
	*id = n > 0 && (digits == n || (hex == n && n >= ISC_PATTERN_HEX && digits > 0) || turns >= ISC_PATTERN_TURNS);
	return n;
}

/* Writes the pattern of a name and returns its length; 0: there is no id in it. */
static inline size_t isc_pattern_of(const char *text, size_t len, char to[ISC_PATTERN_MAX])
{
	size_t out = 0, at = 0;
	bool found = false, id;

	while (at < len && out < ISC_PATTERN_MAX) {
		size_t uuid = isc_pattern_uuid(text + at, len - at);
		size_t word = uuid == 0 ? isc_pattern_word(text + at, len - at, &id) : uuid, end = at + word;

		if (word > 0 && (uuid > 0 || id)) {
			to[out++] = '#';
			found = true;
			at = end;
		}
		while (at < end && out < ISC_PATTERN_MAX) {
			if (!isc_pattern_is_digit(text[at])) {
				to[out++] = text[at++];
				continue;
			}
			to[out++] = '#';
			found = true;
			while (at < end && isc_pattern_is_digit(text[at]))
				at++;
		}
		if (word == 0)
			to[out++] = text[at++];
	}
	return found ? out : 0;
}

#endif
