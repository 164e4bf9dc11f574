/*
 * meta.h - the session's facts: the members of a JSON object, found without
 * understanding their values.  Internal to trace/.
 */
#ifndef ISC_TRACE_META_H
#define ISC_TRACE_META_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

/* One member as text: the key with its quotes, and the value. */
typedef struct isc_meta_member {
	const char *key;
	size_t key_len;
	const char *value;
	size_t value_len;
} isc_meta_member;

/* Walks the members of an object; start with *at = 0.  False at the end and
 * where the text is not an object: *at is then len, or not. */
bool isc_meta_next(const char *json, size_t len, size_t *at, isc_meta_member *out);

/* Is it one object, with nothing but white space around it? */
bool isc_meta_holds(const char *json, size_t len);

/* What `old` says with the members of `with` put in place or added; both hold. */
void isc_meta_merge(const char *old, size_t old_len, const char *with, size_t with_len, isc_buffer *out);

#endif
