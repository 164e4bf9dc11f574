#include "trace/dump/dump_text.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "trace/native.h"
#include "trace/opened.h"
#include "trace/stack.h"

void isc_dump_finish(struct dump *d)
{
	isc_buffer_text(&d->line, "\n");
	fwrite(d->line.data, 1, d->line.len, d->out);
	isc_buffer_clear(&d->line);
}

/* In quotes; quotes and backslashes inside are escaped, so that a line can be
 * taken apart again. */
void isc_dump_quoted(struct dump *d, const char *text, size_t len)
{
	size_t start = 0;

	isc_buffer_text(&d->line, "\"");
	for (size_t i = 0; i <= len; i++) {
		if (i < len && text[i] != '"' && text[i] != '\\')
			continue;
		isc_text_terminal(&d->line, text + start, i - start, 0);
		if (i < len)
			isc_buffer_text(&d->line, text[i] == '"' ? "\\\"" : "\\\\");
		start = i + 1;
	}
	isc_buffer_text(&d->line, "\"");
}

/* "name" "file":line; "?" when what was read under this id is no code object.  Its
 * first line, or the one where it stands. */
static void add_code_at(struct dump *d, const void *data, uint32_t len, const uint32_t *line)
{
	const char *text = (const char *)data + sizeof(isc_def_code);
	isc_def_code code;

	if (data == NULL || len < sizeof(code)) {
		isc_buffer_text(&d->line, "\"?\"");
		return;
	}
	memcpy(&code, data, sizeof(code));
	len -= (uint32_t)sizeof(code);
	code.name_len = code.name_len < len ? code.name_len : len;
	code.file_len = code.file_len < len - code.name_len ? code.file_len : len - code.name_len;
	isc_dump_quoted(d, text, code.name_len);
	isc_buffer_text(&d->line, " ");
	isc_dump_quoted(d, text + code.name_len, code.file_len);
	isc_buffer_format(&d->line, ":%u", line != NULL ? *line : code.line);
}

void isc_dump_code(struct dump *d, const void *data, uint32_t len)
{
	add_code_at(d, data, len, NULL);
}

bool isc_dump_native(struct dump *d, uint32_t process, uint32_t id)
{
	isc_native_name n;

	if (!isc_native_find(d->trace, process, id, &n))
		return false;
	isc_buffer_text(&d->line, n.flags & ISC_PLACE_GUESSED ? "guessed " : "native ");
	isc_dump_quoted(d, n.name, n.name_len);
	isc_buffer_text(&d->line, " ");
	isc_dump_quoted(d, n.line != 0 ? n.file : n.module, n.line != 0 ? n.file_len : n.module_len);
	isc_buffer_format(&d->line, ":%u", n.line);
	return true;
}

void isc_dump_module(struct dump *d, const void *data, uint32_t len)
{
	const char *text = (const char *)data + sizeof(isc_def_module);
	isc_def_module m;

	if (len < sizeof(m))
		return;
	memcpy(&m, data, sizeof(m));
	len -= (uint32_t)sizeof(m);
	m.build_len = m.build_len < len ? m.build_len : len;
	m.path_len = m.path_len < len - m.build_len ? m.path_len : len - m.build_len;
	isc_dump_quoted(d, text + m.build_len, m.path_len);
	isc_buffer_format(&d->line, " bias 0x%" PRIx64 " build ", m.bias);
	for (uint32_t i = 0; i < m.build_len; i++)
		isc_buffer_format(&d->line, "%02x", (unsigned char)text[i]);
}

/* Root first, "name" "file":line; ... */
void isc_dump_stack(struct dump *d, uint32_t process, uint32_t id)
{
	isc_stack_frame frames[ISC_STACK_FRAMES_MAX];
	int n = isc_trace_stack(d->trace, process, id, frames, (int)ISC_STACK_FRAMES_MAX);

	isc_buffer_text(&d->line, " stack");
	for (int i = 0; i < n; i++) {
		uint32_t len = 0;
		const void *code;

		isc_buffer_text(&d->line, i > 0 ? "; " : " ");
		if (isc_dump_native(d, process, frames[i].code))
			continue;
		code = isc_trace_define(d->trace, process, frames[i].code, ISC_DEF_CODE, &len);
		add_code_at(d, code, len, &frames[i].line);
	}
	if (n == 0)
		isc_buffer_text(&d->line, " none");
}

void isc_dump_sample_flags(struct dump *d, uint32_t flags)
{
	/* Only samples with page faults say whether they were behind a system call, so the dump leaves that bit out. */
	static const char *const words[] = {"cut",	"edge",	    "fault", "no_python",  "other",
					    "passed",	"blind",    "gone",  "native_cut", "guessed",
					    "unplaced", "switched", NULL,    "leaf_cut",   "leaf_native"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (flags >> i & 1 && words[i] != NULL)
			isc_buffer_format(&d->line, " %s", words[i]);
	}
	if (ISC_SAMPLE_CPU(flags) != UINT32_MAX)
		isc_buffer_format(&d->line, " cpu %u", ISC_SAMPLE_CPU(flags));
	if (ISC_SAMPLE_NODE(flags) != ISC_NODE_UNKNOWN)
		isc_buffer_format(&d->line, " node %u", ISC_SAMPLE_NODE(flags));
}

void isc_dump_name(struct dump *d, uint32_t process, uint32_t id)
{
	isc_text name = isc_trace_name(d->trace, process, id);

	isc_buffer_text(&d->line, " ");
	isc_dump_quoted(d, name.at, name.len);
}

void isc_dump_task(struct dump *d, uint32_t process, uint32_t task)
{
	char made[ISC_TASK_TEXT];
	isc_text name = isc_trace_task(d->trace, process, task, made);

	isc_buffer_text(&d->line, " ");
	isc_dump_quoted(d, name.at, name.len);
}

/* Seconds since the start, to the nanosecond. */
void isc_dump_time(struct dump *d, uint64_t ns)
{
	uint64_t start = isc_trace_header(d->trace)->start_ns, away = ns >= start ? ns - start : start - ns;

	isc_buffer_format(&d->line, "%c%" PRIu64 ".%09" PRIu64, ns >= start ? '+' : '-', away / 1000000000,
			  away % 1000000000);
}
