#include "trace/frame.h"

#include <string.h>

#include "base/lines.h"
#include "trace/native.h"
#include "trace/sample.h"

bool isc_trace_code(const isc_trace *tr, uint32_t process, uint32_t code, isc_frame *out)
{
	uint32_t len = 0;
	const char *data = isc_trace_define(tr, process, code, ISC_DEF_CODE, &len);
	isc_def_code head;

	if (data == NULL || len < sizeof(head))
		return false;
	memcpy(&head, data, sizeof(head));
	data += sizeof(head);
	len -= (uint32_t)sizeof(head);
	if (head.name_len > len || head.file_len > len - head.name_len)
		return false;
	out->name = (isc_text){data, head.name_len};
	out->file = (isc_text){data + head.name_len, head.file_len};
	out->first_line = head.line;
	return true;
}

/* Of a path; "?" when there is none. */
static isc_text last_part(const char *path, uint32_t len)
{
	uint32_t from = 0;

	for (uint32_t i = 0; i < len; i++)
		from = path[i] == '/' ? i + 1 : from;
	return len > from ? (isc_text){path + from, len - from} : (isc_text){"?", 1};
}

static bool use_native(const isc_trace *tr, uint32_t process, uint32_t place, isc_frame *out)
{
	isc_native_name n;

	if (!isc_native_find(tr, process, place, &n))
		return false;
	out->kind = ISC_FRAME_NATIVE;
	/* What no function covers goes by the library: a name of every address would be a function each. */
	if (n.name == n.fallback)
		out->name = last_part(n.module, n.module_len);
	else
		out->name = (isc_text){n.name, n.name_len};
	out->file = (isc_text){n.file, n.file_len};
	out->module = (isc_text){n.module, n.module_len};
	out->line = n.line;
	return true;
}

/* A name without a definition, for what a sample does not have. */
static void stand_in(uint32_t id, isc_frame *out)
{
	static const char cut[] = "(deeper frames not recorded)", none[] = "(unattributed)", bare[] = "(no Python)";

	*out = (isc_frame){.stand_in = true, .name = {none, sizeof(none) - 1}};
	if (isc_stack_is_cut(id)) {
		out->kind = (id & ISC_STACK_NONE) != 0 ? ISC_FRAME_NATIVE : ISC_FRAME_PYTHON;
		out->parent = id & ~ISC_STACK_TAGS;
		out->name = (isc_text){cut, sizeof(cut) - 1};
	} else if (id == (ISC_STACK_NONE | ISC_STACK_NONE_PYTHON)) {
		out->name = (isc_text){bare, sizeof(bare) - 1};
	}
}

bool isc_trace_frame(const isc_trace *tr, uint32_t process, uint32_t id, isc_frame *out)
{
	uint16_t type = 0;
	uint32_t len = 0;
	const void *data =
		id != 0 && (id & ISC_STACK_TAGS) == 0 ? isc_trace_define_any(tr, process, id, &type, &len) : NULL;
	isc_def_stack frame;

	if ((id & ISC_STACK_TAGS) != 0) {
		stand_in(id, out);
		return true;
	}
	if (data == NULL)
		return false;
	*out = (isc_frame){.name = {"?", 1}};
	if (type == ISC_DEF_STACK && len >= sizeof(frame)) {
		memcpy(&frame, data, sizeof(frame));
		out->kind = ISC_FRAME_PYTHON;
		out->parent = frame.parent;
		out->code = frame.code;
		out->lines = frame.lines;
		out->offset = frame.offset;
		if (!isc_trace_code(tr, process, frame.code, out))
			use_native(tr, process, frame.code, out);
	} else if (type != ISC_DEF_STRING && type != ISC_DEF_CODE && type != ISC_DEF_LINES && type != ISC_DEF_PYTHON &&
		   type != ISC_DEF_NATIVE && type != ISC_DEF_MODULE && len >= sizeof(out->parent)) {
		/* Every frame begins with its parent, those of later versions too. */
		memcpy(&out->parent, data, sizeof(out->parent));
	}
	/* Parents are defined first; in a broken file they may go round. */
	if (out->parent >= id)
		out->parent = 0;
	return true;
}

uint32_t isc_trace_frame_line(const isc_trace *tr, uint32_t process, const isc_frame *frame, uint64_t *searched)
{
	uint32_t len = 0;
	const void *lines;

	if (frame->kind != ISC_FRAME_PYTHON)
		return frame->line;
	lines = isc_trace_define(tr, process, frame->lines, ISC_DEF_LINES, &len);
	*searched += len;
	return lines != NULL ? isc_lines_at(lines, len, frame->offset) : 0;
}
