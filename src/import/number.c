#include "import/number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Times past this (146 years in nanoseconds) are no times. */
#define SCALED_MOST (INT64_MAX / 2)

/* With an exponent, as 1.5e6: rare, and then a double has digits enough. */
static bool read_double(const char *at, size_t len, unsigned shift, int64_t *out)
{
	char text[64], *end = NULL;
	double value;

	if (len == 0 || len >= sizeof(text))
		return false;
	memcpy(text, at, len);
	text[len] = 0;
	value = strtod(text, &end);
	if (end != text + len || !isfinite(value))
		return false;
	for (unsigned i = 0; i < shift; i++)
		value *= 10;
	if (fabs(value) >= (double)SCALED_MOST)
		return false;
	*out = (int64_t)llround(value);
	return true;
}

bool isc_number_scaled(const char *at, size_t len, unsigned shift, int64_t *out)
{
	bool negative = len > 0 && at[0] == '-', any = false;
	size_t i = negative;
	int64_t value = 0;
	unsigned left = shift;

	for (; i < len && at[i] >= '0' && at[i] <= '9'; i++, any = true) {
		if (value > SCALED_MOST / 10 - 1)
			return false;
		value = value * 10 + (at[i] - '0');
	}
	if (i < len && at[i] != '.')
		return read_double(at, len, shift, out);
	if (!any)
		return false;
	i += i < len;
	for (; left > 0; left--) {
		int digit = 0;

		if (i < len) {
			if (at[i] < '0' || at[i] > '9')
				return read_double(at, len, shift, out);
			digit = at[i++] - '0';
		}
		if (value > SCALED_MOST / 10 - 1)
			return false;
		value = value * 10 + digit;
	}
	if (i < len && at[i] >= '5' && at[i] <= '9')
		value++;
	for (; i < len; i++) {
		if (at[i] < '0' || at[i] > '9')
			return read_double(at, len, shift, out);
	}
	*out = negative ? -value : value;
	return true;
}

bool isc_number_whole(const char *at, size_t len, uint64_t *out)
{
	uint64_t value = 0;

	if (len == 0 || len > 19)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (at[i] < '0' || at[i] > '9')
			return false;
		value = value * 10 + (uint64_t)(at[i] - '0');
	}
	*out = value;
	return true;
}
