#include "session/secret.h"

#include <ctype.h>
#include <string.h>

/* Names longer than this are looked at up to here; no option is so long. */
#define NAME_MAX_BYTES 256
#define WORDS_MAX 32

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
