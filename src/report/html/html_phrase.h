/*
 * html_phrase.h - a phrase about a claim as HTML.
 */
#ifndef ISC_REPORT_HTML_HTML_PHRASE_H
#define ISC_REPORT_HTML_HTML_PHRASE_H

#include "report/text/phrase.h"

/* The part of it from one byte to another, as a sentence. */
void isc_html_phrase(isc_buffer *out, const isc_phrase *p, size_t from, size_t to);

/* The same as a headline: its share underlined in a colour of the page's style, names as code, and without the places
 * of functions, which isc_html_phrase_places() has. */
void isc_html_phrase_large(isc_buffer *out, const isc_phrase *p, size_t to, const char *colour);

/* "app/metrics.py:12, app/flush.py:3", up to a byte.  Returns how many there are. */
size_t isc_html_phrase_places(isc_buffer *out, const isc_phrase *p, size_t to);

/* Where the detail behind "most of all" begins; the end: there is none. */
size_t isc_html_phrase_most(const isc_phrase *p);

/* Does it name a place? */
bool isc_html_phrase_names(const isc_phrase *p);

#endif
