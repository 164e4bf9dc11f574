#include "trace/meta.h"

#include <stdint.h>
#include <string.h>

#define DEPTH_MAX 64

static size_t skip_space(const char *s, size_t len, size_t at)
{
	while (at < len && (s[at] == ' ' || s[at] == '\t' || s[at] == '\n' || s[at] == '\r'))
		at++;
	return at;
}

/* Behind the string that begins at `at`; 0: it does not end. */
static size_t skip_string(const char *s, size_t len, size_t at)
{
	for (at++; at < len && s[at] != '"'; at++) {
		if (s[at] == '\\')
			at++;
		else if ((unsigned char)s[at] < 0x20)
			return 0;
	}
	return at < len ? at + 1 : 0;
}

/* Behind the value that begins at `at`; 0: it does not end.  Only brackets are
 * looked at: whoever reads the value parses it. */
static size_t skip_value(const char *s, size_t len, size_t at)
{
	size_t start = at;
	uint64_t curly = 0; /* one bit for each open bracket, the innermost lowest */
	unsigned depth = 0;

	while (at < len) {
		switch (s[at]) {
		case '"':
			at = skip_string(s, len, at);
			if (at == 0)
				return 0;
			if (depth == 0)
				return at;
			continue;
		case '{':
		case '[':
			if (++depth > DEPTH_MAX)
				return 0;
			curly = curly << 1 | (s[at] == '{');
			break;
		case '}':
		case ']':
			if (depth == 0)
				return at > start ? at : 0;
			if ((curly & 1) != (s[at] == '}'))
				return 0;
			curly >>= 1;
			if (--depth == 0)
				return at + 1;
			break;
		case ',':
		case ' ':
		case '\t':
		case '\n':
		case '\r':
			if (depth == 0)
				return at > start ? at : 0;
			break;
		default:
			break;
		}
		at++;
	}
	return 0;
}

bool isc_meta_next(const char *json, size_t len, size_t *at, isc_meta_member *out)
{
	size_t p = skip_space(json, len, *at), end;

	if (p >= len || json[p] != (*at == 0 ? '{' : ',')) {
		/* The closing bracket and white space may follow, and nothing else. */
		*at = *at != 0 && p < len && json[p] == '}' ? skip_space(json, len, p + 1) : 0;
		return false;
	}
	p = skip_space(json, len, p + 1);
	if (*at == 0 && p < len && json[p] == '}') {
		*at = skip_space(json, len, p + 1);
		return false;
	}
	if (p >= len || json[p] != '"' || (end = skip_string(json, len, p)) == 0)
		goto bad;
	out->key = json + p;
	out->key_len = end - p;
	p = skip_space(json, len, end);
	if (p >= len || json[p] != ':')
		goto bad;
	p = skip_space(json, len, p + 1);
	end = p < len ? skip_value(json, len, p) : 0;
	if (end == 0)
		goto bad;
	out->value = json + p;
	out->value_len = end - p;
	*at = end;
	return true;
bad:
	*at = 0;
	return false;
}

bool isc_meta_holds(const char *json, size_t len)
{
	isc_meta_member m;
	size_t at = 0;

	while (isc_meta_next(json, len, &at, &m))
		;
	return at == len && len > 0;
}

static bool find(const char *json, size_t len, const isc_meta_member *wanted, isc_meta_member *out)
{
	isc_meta_member m;
	size_t at = 0;
	bool found = false;

	/* The last one counts, as everywhere in JSON. */
	while (isc_meta_next(json, len, &at, &m)) {
		if (m.key_len == wanted->key_len && memcmp(m.key, wanted->key, m.key_len) == 0) {
			*out = m;
			found = true;
		}
	}
	return found;
}

static void add(isc_buffer *out, const isc_meta_member *key, const isc_meta_member *value)
{
	isc_buffer_text(out, out->len == 1 ? "" : ",");
	isc_buffer_add(out, key->key, key->key_len);
	isc_buffer_text(out, ":");
	isc_buffer_add(out, value->value, value->value_len);
}

void isc_meta_merge(const char *old, size_t old_len, const char *with, size_t with_len, isc_buffer *out)
{
	isc_meta_member m, now;
	size_t at = 0;

	isc_buffer_clear(out);
	isc_buffer_text(out, "{");
	while (isc_meta_next(old, old_len, &at, &m))
		add(out, &m, find(with, with_len, &m, &now) ? &now : &m);
	at = 0;
	while (isc_meta_next(with, with_len, &at, &m)) {
		if (!find(old, old_len, &m, &now))
			add(out, &m, &m);
	}
	isc_buffer_text(out, "}");
}
