/* html_block.h - see html_block.c. */
#ifndef ISC_REPORT_HTML_HTML_BLOCK_H
#define ISC_REPORT_HTML_HTML_BLOCK_H

#include "base/buffer.h"

/* Adds the bytes, deflated (zlib's format) and as base64; out->failed: no memory. */
void isc_html_block(isc_buffer *out, const void *data, size_t len);

#endif
