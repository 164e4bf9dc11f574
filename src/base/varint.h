/*
 * varint.h - unsigned numbers in 7-bit groups, low group first; the high bit
 * says that more follow.  At most ten bytes.  Readers take untrusted bytes: a
 * number that runs past `end`, or does not fit 64 bits, is refused.
 */
#ifndef ISC_BASE_VARINT_H
#define ISC_BASE_VARINT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"

#define ISC_VARINT_MAX 10u

static inline uint8_t *isc_varint_put(uint8_t *at, uint64_t value)
{
	while (value >= 0x80) {
		*at++ = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	*at++ = (uint8_t)value;
	return at;
}

static inline bool isc_varint_get(const uint8_t **at, const uint8_t *end, uint64_t *value)
{
	const uint8_t *p = *at;
	uint64_t v = 0;

	if (p < end && *p < 0x80) {
		*value = *p;
		*at = p + 1;
		return true;
	}
	/* Most others have two bytes. */
	if (end - p >= 2 && p[1] < 0x80) {
		*value = (p[0] & 0x7fu) | (uint64_t)p[1] << 7;
		*at = p + 2;
		return true;
	}
	for (unsigned shift = 0; shift < 70 && p < end; shift += 7) {
		uint64_t group = *p & 0x7f;

		if (shift == 63 && group > 1)
			return false;
		v |= group << shift;
		if (*p++ < 0x80) {
			*value = v;
			*at = p;
			return true;
		}
	}
	return false;
}

/* The same with the value held to `max`. */
static inline bool isc_varint_get_max(const uint8_t **at, const uint8_t *end, uint64_t max, uint64_t *value)
{
	return isc_varint_get(at, end, value) && *value <= max;
}

static inline bool isc_varint_get32(const uint8_t **at, const uint8_t *end, uint32_t *value)
{
	uint64_t v;

	if (!isc_varint_get_max(at, end, UINT32_MAX, &v))
		return false;
	*value = (uint32_t)v;
	return true;
}

static inline void isc_varint_add(isc_buffer *b, uint64_t value)
{
	uint8_t bytes[ISC_VARINT_MAX];

	isc_buffer_add(b, bytes, (size_t)(isc_varint_put(bytes, value) - bytes));
}

/* Small numbers of either sign as small unsigned ones. */
static inline uint64_t isc_zigzag(int64_t v)
{
	return (uint64_t)v << 1 ^ (uint64_t)(v >> 63);
}

static inline int64_t isc_unzigzag(uint64_t v)
{
	return (int64_t)(v >> 1 ^ (0 - (v & 1)));
}

#endif
