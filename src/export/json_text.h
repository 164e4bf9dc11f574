/*
 * json_text.h - JSON as it is written, piece by piece and fast: what a trace of
 * ten million events needs.
 */
#ifndef ISC_EXPORT_JSON_TEXT_H
#define ISC_EXPORT_JSON_TEXT_H

#include <stdint.h>

#include "base/buffer.h"

/* In quotes.  Controls are escaped, bytes that are not UTF-8 become U+FFFD. */
void isc_json_string(isc_buffer *out, const char *text, size_t len);
void isc_json_number(isc_buffer *out, uint64_t n);
/* Nanoseconds as microseconds with three places: exact. */
void isc_json_us(isc_buffer *out, uint64_t ns);
/* null when it is not finite. */
void isc_json_real(isc_buffer *out, double value);
/* As it is when it is JSON, else as a string. */
void isc_json_value(isc_buffer *out, const char *json, size_t len);

#endif
