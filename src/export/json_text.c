#include "export/json_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "base/text.h"

static const char digits[] = "0123456789abcdef";

static bool is_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

static void escape(isc_buffer *out, uint32_t c)
{
	static const char *const brief[32] = {
		['\b'] = "\\b", ['\t'] = "\\t", ['\n'] = "\\n", ['\f'] = "\\f", ['\r'] = "\\r"};
	char six[6] = {'\\', 'u', digits[c >> 12 & 15], digits[c >> 8 & 15], digits[c >> 4 & 15], digits[c & 15]};

	if (c < 32 && brief[c] != NULL)
		isc_buffer_text(out, brief[c]);
	else
		isc_buffer_add(out, six, sizeof(six));
}

void isc_json_string(isc_buffer *out, const char *text, size_t len)
{
	isc_buffer_add(out, "\"", 1);
	for (size_t at = 0; at < len;) {
		size_t plain = at;
		uint32_t c;
		size_t n;

		while (plain < len && is_plain((unsigned char)text[plain]))
			plain++;
		isc_buffer_add(out, text + at, plain - at);
		at = plain;
		if (at == len)
			break;
		n = isc_text_decode(text + at, len - at, &c);
		if (n == 0) {
			isc_buffer_text(out, "\xef\xbf\xbd");
			at++;
			continue;
		}
		if (c == '"' || c == '\\') {
			char two[2] = {'\\', (char)c};

			isc_buffer_add(out, two, 2);
		} else if (c < 0x20 || c == 0x7f || c == 0x2028 || c == 0x2029) {
			escape(out, c);
		} else {
			isc_buffer_add(out, text + at, n);
		}
		at += n;
	}
	isc_buffer_add(out, "\"", 1);
}

static size_t decimal(uint64_t n, char *end)
{
	size_t len = 0;

	do {
		*--end = (char)('0' + n % 10);
		n /= 10;
		len++;
	} while (n > 0);
	return len;
}

void isc_json_number(isc_buffer *out, uint64_t n)
{
	char text[20];
	size_t len = decimal(n, text + sizeof(text));

	isc_buffer_add(out, text + sizeof(text) - len, len);
}

void isc_json_us(isc_buffer *out, uint64_t ns)
{
	char text[24], *end = text + sizeof(text);
	uint64_t rest = ns % 1000;
	size_t len;

	for (int i = 0; i < 3; i++) {
		*--end = (char)('0' + rest % 10);
		rest /= 10;
	}
	*--end = '.';
	len = decimal(ns / 1000, end);
	isc_buffer_add(out, end - len, len + 4);
}

void isc_json_real(isc_buffer *out, double value)
{
	if (!isfinite(value))
		isc_buffer_text(out, "null");
	else if (value == floor(value) && fabs(value) < 1e15)
		isc_buffer_format(out, "%.0f", value);
	else
		isc_buffer_format(out, "%.17g", value);
}

void isc_json_value(isc_buffer *out, const char *json, size_t len)
{
	/* A copy: it reads in place, and what a program gave need not be JSON. */
	yyjson_doc *doc = len > 0 ? yyjson_read(json, len, 0) : NULL;
	char *text;
	size_t n;

	if (doc == NULL) {
		isc_json_string(out, json, len);
		return;
	}
	text = yyjson_write(doc, YYJSON_WRITE_NOFLAG, &n);
	if (text != NULL)
		isc_buffer_add(out, text, n);
	else
		out->failed = true;
	free(text);
	yyjson_doc_free(doc);
}
