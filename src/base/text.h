/*
 * text.h - names from the traced program, made safe for where they are shown.
 *
 * A name is bytes that anybody chose.  One function per medium adds it to a
 * buffer so that it can neither steer the medium nor look like something else.
 * Every report writer goes through these and nothing else.
 */
#ifndef ISC_BASE_TEXT_H
#define ISC_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

/* Raw bytes that may hold anything, NULs included; borrowed from whoever gave it.  Empty: not known, or nothing. */
typedef struct isc_text {
	const char *at;
	size_t len;
} isc_text;

/* Reads one UTF-8 character; its length in bytes, or 0 when the bytes there are
 * not one (overlong, surrogate, beyond U+10FFFF and cut ones are not). */
size_t isc_text_decode(const char *at, size_t len, uint32_t *codepoint);

/* May this character change how others are shown: a control, a line or
 * paragraph separator, a direction mark or override, something invisible? */
bool isc_text_is_control(uint32_t codepoint);

/* For terminals and log lines.  Controls become \n, \x1b or \u202e, bytes that
 * are not UTF-8 become \xNN.  Longer than max characters: cut, with "..." at
 * the end; max 0: not cut. */
void isc_text_terminal(isc_buffer *out, const char *text, size_t len, size_t max);

/* For a cell of a Markdown table, and as good outside of one: as a code span
 * when the text has nothing that could end it, else as <code> with everything
 * but letters, digits and blanks as entities.  Controls as for terminals. */
void isc_text_markdown(isc_buffer *out, const char *text, size_t len, size_t max);

/* The same for a sentence that may hold names: it reads as it is, and nothing in
 * it is a link, a tag, a mention or a mark. */
void isc_text_prose(isc_buffer *out, const char *text, size_t len);

/* For the text of an HTML element, or an attribute in double quotes: nothing in it is a tag, an
 * entity or the end of the attribute.  Controls and max as for terminals. */
void isc_text_html(isc_buffer *out, const char *text, size_t len, size_t max);

/* The same bytes as valid UTF-8, U+FFFD for each byte that is not: what a JSON
 * writer can quote. */
void isc_text_utf8(isc_buffer *out, const char *text, size_t len);

/* How many columns a text of ours takes: its characters, wide ones counted once. */
size_t isc_text_width(const char *text, size_t len);

#endif
