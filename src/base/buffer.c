#include "base/buffer.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void isc_buffer_fini(isc_buffer *b)
{
	free(b->data);
	*b = (isc_buffer){0};
}

void isc_buffer_clear(isc_buffer *b)
{
	b->len = 0;
	b->failed = false;
	if (b->data != NULL)
		b->data[0] = 0;
}

static bool reserve(isc_buffer *b, size_t more)
{
	size_t capacity = b->capacity ? b->capacity : 256;
	char *data;

	if (b->failed || more > SIZE_MAX / 4 - b->len)
		goto failed;
	while (capacity < b->len + more + 1)
		capacity *= 2;
	if (capacity == b->capacity)
		return true;
	data = realloc(b->data, capacity);
	if (data == NULL)
		goto failed;
	b->data = data;
	b->capacity = capacity;
	return true;
failed:
	b->failed = true;
	return false;
}

void *isc_buffer_room(isc_buffer *b, size_t len)
{
	char *at;

	if (!reserve(b, len))
		return NULL;
	at = b->data + b->len;
	b->len += len;
	b->data[b->len] = 0;
	return at;
}

void isc_buffer_add(isc_buffer *b, const void *data, size_t len)
{
	void *at = isc_buffer_room(b, len);

	if (at != NULL && len > 0)
		memcpy(at, data, len);
}

void isc_buffer_text(isc_buffer *b, const char *text)
{
	isc_buffer_add(b, text, strlen(text));
}

void isc_buffer_format(isc_buffer *b, const char *format, ...)
{
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (len < 0 || !reserve(b, (size_t)len)) {
		b->failed = true;
		return;
	}
	va_start(args, format);
	vsnprintf(b->data + b->len, (size_t)len + 1, format, args);
	va_end(args);
	b->len += (size_t)len;
}
