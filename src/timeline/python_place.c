#include "timeline/python_place.h"

#include <string.h>

#define DIGITS_MOST 9 /* of a line */

bool isc_python_place_of(isc_text text, isc_python_place *out)
{
	const char *close = text.len > 0 ? memmem(text.at, text.len, "): ", 3) : NULL;
	const char *open = close != NULL ? memrchr(text.at, '(', (size_t)(close - text.at)) : NULL;
	uint32_t line = 0;

	*out = (isc_python_place){.name = text};
	if (open == NULL || open == text.at || close == open + 1 || close - open - 1 > DIGITS_MOST)
		return false;
	for (const char *at = open + 1; at < close; at++) {
		if (*at < '0' || *at > '9')
			return false;
		line = line * 10 + (uint32_t)(*at - '0');
	}
	*out = (isc_python_place){.name = {close + 3, text.len - (size_t)(close + 3 - text.at)},
				  .file = {text.at, (size_t)(open - text.at)},
				  .line = line};
	return true;
}
