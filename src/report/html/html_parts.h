/*
 * html_parts.h - the parts of the page that are there without its script, each
 * from the JSON report.  Whatever is missing or of another type is left out.
 */
#ifndef ISC_REPORT_HTML_HTML_PARTS_H
#define ISC_REPORT_HTML_HTML_PARTS_H

#include <yyjson.h>

#include "base/buffer.h"

void isc_html_title(isc_buffer *out, yyjson_val *report);
void isc_html_command(isc_buffer *out, yyjson_val *report);
void isc_html_headline(isc_buffer *out, yyjson_val *verdict); /* of isc_html_verdict() */
void isc_html_verdict(isc_buffer *out, yyjson_val *report);
void isc_html_suggestions(isc_buffer *out, yyjson_val *report);
void isc_html_evidence(isc_buffer *out, yyjson_val *verdict); /* of isc_html_suggestions() */
void isc_html_honest(isc_buffer *out, yyjson_val *report);
void isc_html_not_seen(isc_buffer *out, yyjson_val *report);
void isc_html_footer(isc_buffer *out, yyjson_val *report);

/* ---- values: every text goes out through one of these ---- */

/* A text of the object, escaped; false: there is none. */
bool isc_html_text(isc_buffer *out, yyjson_val *object, const char *key);
void isc_html_escaped(isc_buffer *out, yyjson_val *text);

/* Numbers; -1 when it is not known. */
double isc_html_number(yyjson_val *object, const char *key);

#endif
