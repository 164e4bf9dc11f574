#include "session/secret.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

/* Names longer than this are looked at up to here; no option is so long. */
#define NAME_MAX_BYTES 256
#define WORDS_MAX 32
#define STARS "***"

typedef struct word {
	const char *at;
	size_t len;
} word;

static bool is(const word *w, const char *const *list)
{
	for (; *list != NULL; list++)
		if (strlen(*list) == w->len && memcmp(*list, w->at, w->len) == 0)
			return true;
	return false;
}

/* Lower case, parted at everything but letters and digits and where a capital
 * follows a small letter: hubAuthToken is hub auth token. */
static size_t split(const char *name, size_t len, char *lower, word *words)
{
	size_t count = 0;
	bool inside = false;

	for (size_t i = 0; i < len && count < WORDS_MAX; i++) {
		unsigned char c = (unsigned char)name[i];

		lower[i] = (char)tolower(c);
		if (!isalnum(c)) {
			inside = false;
			continue;
		}
		if (!inside || (isupper(c) && i > 0 && islower((unsigned char)name[i - 1]))) {
			words[count].at = lower + i;
			words[count].len = 0;
			count++;
			inside = true;
		}
		words[count - 1].len++;
	}
	return count;
}

/* Does a secret's word lie in this one (apikey, authtoken, mypassword)? */
static bool suspicious(const word *w)
{
	static const char *const stems[] = {"key",	  "token", "secret", "passw",	  "passphrase",
					    "credential", "auth",  "bearer", "signature", NULL};
	static const char *const whole[] = {"pass", "pwd", "pw", "pat", "sig", "cookie", "cookies", "jwt", "dsn", NULL};

	if (is(w, whole))
		return true;
	for (size_t i = 0; stems[i] != NULL; i++)
		if (memmem(w->at, w->len, stems[i], strlen(stems[i])) != NULL)
			return true;
	return false;
}

static bool begins(const word *w, const char *with)
{
	size_t n = strlen(with);

	return w->len >= n && memcmp(w->at, with, n) == 0;
}

/* Words that only look alike. */
static bool innocent(const word *w)
{
	static const char *const words[] = {"keyframe", "keyframes", "keyword", "keywords", "keyboard",
					    "keypoint", "keypoints", "monkey",	"turkey",   "author",
					    "authors",	"authored",  NULL};

	return begins(w, "tokeniz") || begins(w, "tokenis") || begins(w, "detokeniz") || is(w, words);
}

bool isc_secret_name(const char *name, size_t len)
{
	/* Counts: --max-tokens, --num-keys. */
	static const char *const counts[] = {"max", "min", "num", "n", NULL};
	/* The marks of a language model: --pad-token, eos_token_id. */
	static const char *const marks[] = {"pad", "eos", "bos", "unk", "mask", "cls", "sep", "image", "stop", NULL};
	/* With one of these before it even "tokens" is a list of secrets. */
	static const char *const owners[] = {"api", "access", "refresh", "session", "user",
					     "hub", "hf",     "github",	 "gitlab",  NULL};
	char lower[NAME_MAX_BYTES];
	word words[WORDS_MAX];
	size_t count;

	if (len > NAME_MAX_BYTES)
		len = NAME_MAX_BYTES;
	count = split(name, len, lower, words);
	if (count > 0 && is(&words[0], counts))
		return false;
	for (size_t i = 0; i < count; i++) {
		const word *w = &words[i], *before = i > 0 ? &words[i - 1] : NULL,
			   *after = i + 1 < count ? &words[i + 1] : NULL;
		static const char *const tokens[] = {"tokens", NULL}, *const token[] = {"token", NULL};
		static const char *const key[] = {"key", NULL}, *const value[] = {"value", NULL};

		if (!suspicious(w) || innocent(w))
			continue;
		if (is(w, tokens) && (before == NULL || !is(before, owners)))
			continue;
		if (is(w, token) && before != NULL && is(before, marks))
			continue;
		if (is(w, key) && after != NULL && is(after, value))
			continue;
		return true;
	}
	return false;
}

size_t isc_secret_value(const char *text, size_t len)
{
	static const char *const prefixes[] = {"hf_",	"sk-",	"sk_",	       "pk-",	 "ghp_",   "gho_",  "ghu_",
					       "ghs_",	"ghr_", "github_pat_", "glpat-", "xoxb-",  "xoxp-", "xoxa-",
					       "xapp-", "AKIA", "ASIA",	       "AIza",	 "nvapi-", "npm_",  "pypi-",
					       "eyJ",	"r8_",	"gsk_",	       "wandb_", NULL};
	size_t n = 0, digits = 0;

	for (size_t i = 0; prefixes[i] != NULL; i++) {
		size_t prefix = strlen(prefixes[i]);

		if (len < prefix || memcmp(text, prefixes[i], prefix) != 0)
			continue;
		while (n < len && (isalnum((unsigned char)text[n]) || strchr("_-.=+/", text[n]) != NULL) &&
		       text[n] != 0) {
			digits += isdigit((unsigned char)text[n]) != 0;
			n++;
		}
		/* Keys are long and random; names of models and functions have few digits. */
		return n >= prefix + 16 && digits >= 2 ? n : 0;
	}
	return 0;
}

/* ---- arguments ---- */

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

size_t isc_secret_redact(const char *argv, size_t len, char *out, size_t room)
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
