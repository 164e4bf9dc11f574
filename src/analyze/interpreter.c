#include "analyze/interpreter.h"

#include <string.h>

bool isc_interpreter_is(const isc_frame *frame)
{
	static const char *const libraries[] = {"libpython", "python",	"libc.so", "libc-2",
						"ld-linux",  "libm.so", "[vdso]",  "linux-vdso"};
	const char *slash;
	size_t from;

	if (frame->kind != ISC_FRAME_NATIVE || frame->parent == 0 || frame->module.len == 0)
		return false;
	slash = memrchr(frame->module.at, '/', frame->module.len);
	from = slash != NULL ? (size_t)(slash + 1 - frame->module.at) : 0;
	for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++) {
		size_t len = strlen(libraries[i]);

		if (frame->module.len - from >= len && memcmp(frame->module.at + from, libraries[i], len) == 0)
			return true;
	}
	return false;
}
