/*
 * redact.h - keep the values of secrets out of what is recorded.
 */
#ifndef ISC_SESSION_REDACT_H
#define ISC_SESSION_REDACT_H

#include <stddef.h>

/* Copies arguments (with their NULs) and takes the values of those that look
 * secret out: --api-key=X, --token X, HF_TOKEN=X, ... keep their name and get
 * "***".  Returns the bytes written, at most room; never cuts inside a value. */
size_t isc_redact_argv(const char *argv, size_t len, char *out, size_t room);

#endif
