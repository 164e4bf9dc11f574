/*
 * html_block.c - data inside a page: JSON, deflated and in letters, so that it is
 * small and nothing in it can end the block that it stands in.
 */
#include <stdlib.h>
#include <zlib.h>

#include "report/html/html_block.h"

static void add_base64(isc_buffer *out, const unsigned char *data, size_t len)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char *at = isc_buffer_room(out, (len + 2) / 3 * 4);

	for (size_t i = 0; at != NULL && i < len; i += 3) {
		size_t left = len - i;
		unsigned three = (unsigned)data[i] << 16 | (left > 1 ? (unsigned)data[i + 1] << 8 : 0) |
				 (left > 2 ? data[i + 2] : 0u);

		*at++ = letters[three >> 18];
		*at++ = letters[three >> 12 & 63];
		*at++ = left > 1 ? letters[three >> 6 & 63] : '=';
		*at++ = left > 2 ? letters[three & 63] : '=';
	}
}

void isc_html_block(isc_buffer *out, const void *data, size_t len)
{
	uLongf packed = compressBound((uLong)len);
	unsigned char *room = malloc(packed);

	if (room == NULL || compress2(room, &packed, data, (uLong)len, 9) != Z_OK)
		out->failed = true;
	else
		add_base64(out, room, packed);
	free(room);
}
