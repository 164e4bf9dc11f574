#include "session/redact.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "session/secret.h"

#define STARS "***"

typedef struct writer {
	char *data;
	size_t len, room;
	bool full;
} writer;

static void put(writer *w, const char *text, size_t len)
{
	if (w->full || len > w->room - w->len) {
		w->full = true;
		return;
	}
	memcpy(w->data + w->len, text, len);
	w->len += len;
}

/* strspn and strcspn for text that a length ends. */
static size_t span(const char *text, size_t len, const char *set, bool in)
{
	size_t n = 0;

	while (n < len && (text[n] != 0 && strchr(set, text[n]) != NULL) == in)
		n++;
	return n;
}

static bool is_name(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

/* How far a value inside a longer text goes: to its closing quote, or to what
 * ends a word in a shell line, a query, JSON or code. */
static size_t value_length(const char *text, size_t len)
{
	size_t n = 0;

	if (len > 0 && (text[0] == '"' || text[0] == '\'')) {
		for (n = 1; n < len && text[n] != text[0];)
			n += text[n] == '\\' && n + 1 < len ? 2 : 1;
		return n < len ? n + 1 : len;
	}
	while (n < len && !isspace((unsigned char)text[n]) && strchr("&,;)}]\"'#", text[n]) == NULL)
		n++;
	return n;
}

/* Bytes between the end of a name and its value: quotes and blanks around = or :,
 * or the blank behind an option; 0 when no value follows. */
static size_t gap_length(const char *text, size_t len, bool option, bool *header)
{
	size_t n = 0;

	*header = false;
	while (n < len && (text[n] == '"' || text[n] == '\'' || text[n] == ']' || text[n] == '\\'))
		n++;
	while (n < len && text[n] == ' ')
		n++;
	if (n < len && (text[n] == '=' || text[n] == ':')) {
		*header = text[n] == ':';
		while (n < len && (text[n] == '=' || text[n] == ':' || text[n] == ' ' || text[n] == '\\'))
			n++;
		return n < len ? n : 0;
	}
	if (option && n > 0 && n < len && !(n + 1 < len && text[n] == '-' && text[n + 1] == '-'))
		return n;
	return 0;
}

/* "user:password@" behind "://"; its length, 0 when there is none. */
static size_t userinfo_length(const char *text, size_t len)
{
	size_t n = 0, at = 0;

	for (; n < len && !isspace((unsigned char)text[n]) && strchr("/?#\"'", text[n]) == NULL; n++)
		if (text[n] == '@')
			at = n;
	return at;
}

/* An argument that may hold anything: a URL, a header, a shell line, JSON, code. */
static void scan(writer *w, const char *text, size_t len)
{
	for (size_t i = 0; i < len;) {
		bool start = i == 0 || !is_name(text[i - 1]), option, header;
		size_t n = 0, gap, value;

		if (i >= 3 && memcmp(text + i - 3, "://", 3) == 0 && (n = userinfo_length(text + i, len - i)) > 0) {
			put(w, STARS, 3);
			i += n;
			continue;
		}
		if (start && (n = isc_secret_value(text + i, len - i)) > 0) {
			put(w, STARS, 3);
			i += n;
			continue;
		}
		if (!start || !is_name(text[i])) {
			put(w, text + i++, 1);
			continue;
		}
		for (n = 0; i + n < len && is_name(text[i + n]);)
			n++;
		option = text[i] == '-';
		gap = isc_secret_name(text + i, n) ? gap_length(text + i + n, len - i - n, option, &header) : 0;
		if (gap == 0) {
			/* Only the first byte: what follows may be a key behind a dash. */
			size_t dashes = span(text + i, n, "-", true);

			n = dashes > 0 && dashes < n ? dashes : n;
			put(w, text + i, n);
			i += n;
			continue;
		}
		put(w, text + i, n + gap);
		put(w, STARS, 3);
		i += n + gap;
		/* "Authorization: Bearer x" is two words of secret. */
		if (header && text[i] != '"' && text[i] != '\'')
			value = span(text + i, len - i, "\"'\n,}", false);
		else
			value = value_length(text + i, len - i);
		i += value;
	}
}

/* Copies one argument; true when the next one is its value. */
static bool copy(writer *w, const char *text, size_t len)
{
	size_t dashes = span(text, len, "-+", true), name = dashes;

	while (name < len && (is_name(text[name]) || text[name] == '/' || text[name] == '+'))
		name++;
	/* NAME=value and --name=value: all of the rest is the value, blanks or not. */
	if (name < len && text[name] == '=' && isc_secret_name(text + dashes, name - dashes)) {
		put(w, text, name + 1);
		put(w, STARS, 3);
		return false;
	}
	if (dashes > 0 && name == len && text[0] == '-' && isc_secret_name(text + dashes, name - dashes) &&
	    isc_secret_value(text + dashes, len - dashes) == 0) {
		put(w, text, len);
		return true;
	}
	scan(w, text, len);
	return false;
}

size_t isc_redact_argv(const char *argv, size_t len, char *out, size_t room)
{
	writer w = {.data = out, .room = room};
	bool value = false;

	for (size_t i = 0; i < len;) {
		size_t n = strnlen(argv + i, len - i), whole = w.len;

		/* A flag may stand before another option; a value may begin with a dash. */
		if (value && !(n >= 2 && argv[i] == '-' && argv[i + 1] == '-')) {
			put(&w, STARS, 3);
			value = false;
		} else {
			value = copy(&w, argv + i, n);
		}
		/* The last argument may have been cut by whoever gave it. */
		if (i + n < len)
			put(&w, "", 1);
		if (w.full)
			return whole;
		i += n + 1;
	}
	return w.len;
}
