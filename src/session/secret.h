/*
 * secret.h - does this name, or this text, look like a secret?
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

#endif
