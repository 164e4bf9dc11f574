/*
 * wire.h - protocol buffers, as far as writing them goes.
 */
#ifndef ISC_EXPORT_WIRE_H
#define ISC_EXPORT_WIRE_H

#include <stdint.h>
#include <string.h>

#include "base/buffer.h"

static inline void isc_wire_varint(isc_buffer *out, uint64_t value)
{
	char bytes[10];
	size_t n = 0;

	for (; value >= 0x80; value >>= 7)
		bytes[n++] = (char)(value | 0x80);
	bytes[n++] = (char)value;
	isc_buffer_add(out, bytes, n);
}

static inline void isc_wire_number(isc_buffer *out, unsigned field, uint64_t value)
{
	isc_wire_varint(out, (uint64_t)field << 3);
	isc_wire_varint(out, value);
}

static inline void isc_wire_double(isc_buffer *out, unsigned field, double value)
{
	isc_wire_varint(out, (uint64_t)field << 3 | 1);
	isc_buffer_add(out, &value, sizeof(value));
}

static inline void isc_wire_fixed(isc_buffer *out, unsigned field, uint64_t value)
{
	isc_wire_varint(out, (uint64_t)field << 3 | 1);
	isc_buffer_add(out, &value, sizeof(value));
}

/* Also of a message that was written apart. */
static inline void isc_wire_bytes(isc_buffer *out, unsigned field, const void *data, size_t len)
{
	isc_wire_varint(out, (uint64_t)field << 3 | 2);
	isc_wire_varint(out, len);
	isc_buffer_add(out, data, len);
}

static inline void isc_wire_text(isc_buffer *out, unsigned field, const char *text)
{
	isc_wire_bytes(out, field, text, strlen(text));
}

static inline void isc_wire_message(isc_buffer *out, unsigned field, const isc_buffer *message)
{
	out->failed |= message->failed;
	isc_wire_bytes(out, field, message->data, message->len);
}

#endif
