#include <inttypes.h>

#include "base/text.h"
#include "profiler/write.h"

static void put_text(isc_buffer *out, isc_buffer *scratch, const char *text, size_t len)
{
	isc_buffer_clear(scratch);
	isc_text_utf8(scratch, text, len);
	isc_buffer_text(out, "\"");
	for (size_t i = 0; i < scratch->len; i++) {
		unsigned char c = (unsigned char)scratch->data[i];

		if (c == '"' || c == '\\')
			isc_buffer_format(out, "\\%c", c);
		else if (c < 0x20 || c == 0x7f)
			isc_buffer_format(out, "\\u%04x", c);
		else
			isc_buffer_add(out, &scratch->data[i], 1);
	}
	isc_buffer_text(out, "\"");
}

static void put_frame(isc_buffer *out, isc_buffer *scratch, const isc_profile_name *name)
{
	isc_buffer_text(out, "{\"symbol\":");
	put_text(out, scratch, name->symbol, name->symbol_len);
	isc_buffer_text(out, ",\"file\":");
	if (name->file_len > 0)
		put_text(out, scratch, name->file, name->file_len);
	else
		isc_buffer_text(out, "null");
	if (name->line > 0)
		isc_buffer_format(out, ",\"line\":%" PRIu32 "}", name->line);
	else
		isc_buffer_text(out, ",\"line\":null}");
}

void isc_profile_json(isc_buffer *out, const isc_profile_model *m)
{
	isc_buffer scratch = {0};

	isc_buffer_format(out,
			  "{\"interval_us\":%" PRIu32 ",\"total_samples\":%" PRIu64 ",\"elapsed_us\":%" PRIu64
			  ",\"stacks\":[",
			  m->interval_us, m->total, m->elapsed_us);
	for (size_t i = 0; i < m->stacks && !out->failed; i++) {
		const isc_profile_line *line = &m->stack[i];

		isc_buffer_text(out, i > 0 ? ",\n{\"frames\":[" : "\n{\"frames\":[");
		for (uint32_t k = 0; k < line->frames; k++) {
			if (k > 0)
				isc_buffer_text(out, ",");
			put_frame(out, &scratch, &m->name[line->name[k]]);
		}
		isc_buffer_format(out, "],\"count\":%" PRIu64 ",\"instructions\":", line->count);
		if (m->count_error == 0)
			isc_buffer_format(out, "%" PRIu64, line->counted);
		else
			isc_buffer_text(out, "null");
		isc_buffer_text(out, ",\"memory_delta\":");
		if (m->memory_error == 0)
			isc_buffer_format(out, "%" PRId64, line->memory);
		else
			isc_buffer_text(out, "null");
		isc_buffer_format(out, ",\"thread_id\":%" PRIu32 "}", line->tid);
	}
	isc_buffer_text(out, m->stacks > 0 ? "\n]}\n" : "]}\n");
	out->failed = out->failed || scratch.failed;
	isc_buffer_fini(&scratch);
}
