#include "trace/stack.h"

#include <string.h>

#include "base/lines.h"
#include "trace/sample.h"

static uint32_t line_of(const isc_trace *tr, uint32_t process, const isc_def_stack *frame)
{
	uint32_t len = 0;
	const void *lines = isc_trace_define(tr, process, frame->lines, ISC_DEF_LINES, &len);

	return lines != NULL ? isc_lines_at(lines, len, frame->offset) : 0;
}

int isc_trace_stack(const isc_trace *tr, uint32_t process, uint32_t id, isc_stack_frame *frames, int max)
{
	int n = 0;

	if (isc_stack_is_cut(id))
		id &= ~ISC_STACK_TAGS;
	while (id != 0 && n < max) {
		uint32_t len = 0;
		const void *data = isc_trace_define(tr, process, id, ISC_DEF_STACK, &len);
		isc_def_stack frame;

		if (data == NULL || len < sizeof(frame))
			break;
		memcpy(&frame, data, sizeof(frame));
		frames[n].code = frame.code;
		frames[n++].line = line_of(tr, process, &frame);
		/* Parents are defined first; in a broken file they may go round. */
		if (frame.parent >= id)
			break;
		id = frame.parent;
	}
	for (int i = 0; i < n / 2; i++) {
		isc_stack_frame other = frames[n - 1 - i];

		frames[n - 1 - i] = frames[i];
		frames[i] = other;
	}
	return n;
}
