#include "trace/dump_text.h"

#include <inttypes.h>
#include <string.h>

#include "base/record.h"
#include "base/text.h"

void isc_dump_quoted(isc_buffer *line, const char *text, size_t len)
{
	size_t start = 0;

	isc_buffer_text(line, "\"");
	for (size_t i = 0; i <= len; i++) {
		if (i < len && text[i] != '"' && text[i] != '\\')
			continue;
		isc_text_terminal(line, text + start, i - start, 0);
		if (i < len)
			isc_buffer_text(line, text[i] == '"' ? "\\\"" : "\\\\");
		start = i + 1;
	}
	isc_buffer_text(line, "\"");
}

void isc_dump_sample_flags(isc_buffer *line, uint32_t flags)
{
	static const char *const words[] = {"cut",   "edge", "fault",	   "no_python", "other",    "passed",
					    "blind", "gone", "native_cut", "guessed",	"unplaced", "switched"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (flags >> i & 1)
			isc_buffer_format(line, " %s", words[i]);
	}
}

void isc_dump_module(isc_buffer *line, const void *data, uint32_t len)
{
	const char *text = (const char *)data + sizeof(isc_def_module);
	isc_def_module m;

	if (len < sizeof(m))
		return;
	memcpy(&m, data, sizeof(m));
	len -= (uint32_t)sizeof(m);
	m.build_len = m.build_len < len ? m.build_len : len;
	m.path_len = m.path_len < len - m.build_len ? m.path_len : len - m.build_len;
	isc_dump_quoted(line, text + m.build_len, m.path_len);
	isc_buffer_format(line, " bias 0x%" PRIx64 " build ", m.bias);
	for (uint32_t i = 0; i < m.build_len; i++)
		isc_buffer_format(line, "%02x", (unsigned char)text[i]);
}
