/*
 * secret.h - what looks like a secret, and how its value is kept out of what is
 * recorded.
 */
#ifndef ISC_SESSION_SECRET_H
#define ISC_SESSION_SECRET_H

#include <stdbool.h>
#include <stddef.h>

/* Is this the name of a secret: api-key, HF_TOKEN, hub.authToken?  --max-tokens,
 * --tokenizer and --num-key-value-heads are not. */
bool isc_secret_name(const char *name, size_t len);

/* How many bytes from here on are a key by the look of it ("hf_...", "sk-..."),
 * 0 when none. */
size_t isc_secret_value(const char *text, size_t len);

/* Copies arguments (with their NULs) and takes the values of those that look
 * secret out: --api-key=X, --token X, HF_TOKEN=X, ... keep their name and get
 * "***".  Returns the bytes written, at most room; never cuts inside a value. */
size_t isc_secret_redact(const char *argv, size_t len, char *out, size_t room);

#endif
