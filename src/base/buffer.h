/*
 * buffer.h - text or bytes that grow.  After a failed allocation the buffer
 * stays as it was and `failed` is set; check once at the end.
 */
#ifndef ISC_BASE_BUFFER_H
#define ISC_BASE_BUFFER_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct isc_buffer {
	char *data; /* NUL behind the last byte, when there is data */
	size_t len;
	size_t capacity;
	bool failed;
} isc_buffer;

/* A zeroed struct is an empty buffer. */
void isc_buffer_fini(isc_buffer *b);
void isc_buffer_clear(isc_buffer *b); /* keeps the memory */
void isc_buffer_add(isc_buffer *b, const void *data, size_t len);
void isc_buffer_text(isc_buffer *b, const char *text);
void isc_buffer_format(isc_buffer *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Room for len more bytes, uninitialised and counted; NULL on failure. */
void *isc_buffer_room(isc_buffer *b, size_t len);

#endif
