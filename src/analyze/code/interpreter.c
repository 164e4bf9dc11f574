#include "analyze/code/interpreter.h"

#include <string.h>

static bool is_of(const isc_frame *frame, const char *const *libraries, size_t count)
{
	const char *slash = memrchr(frame->module.at, '/', frame->module.len);
	size_t from = slash != NULL ? (size_t)(slash + 1 - frame->module.at) : 0;

	for (size_t i = 0; i < count; i++) {
		size_t len = strlen(libraries[i]);

		if (frame->module.len - from >= len && memcmp(frame->module.at + from, libraries[i], len) == 0)
			return true;
	}
	return false;
}

bool isc_interpreter_is(const isc_frame *frame)
{
	static const char *const own[] = {"libpython", "python"};
	static const char *const used[] = {"libc.so", "libc-2", "ld-linux", "libm.so", "[vdso]", "linux-vdso"};

	if (frame->kind != ISC_FRAME_NATIVE || frame->module.len == 0)
		return false;
	/* Between two functions and at its end the interpreter runs without a Python frame.  With --native leaf such a
	 * stack is the newest frame alone. */
	if (is_of(frame, own, sizeof(own) / sizeof(own[0])))
		return true;
	return frame->parent != 0 && is_of(frame, used, sizeof(used) / sizeof(used[0]));
}
