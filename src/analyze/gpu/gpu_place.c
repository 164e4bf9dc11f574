#include <stdio.h>
#include <string.h>

#include "analyze/gpu/gpu.h"
#include "trace/frame.h"

/* Calls above the innermost that are looked at for one of the program's own. */
#define CALLS_LOOKED_AT 32u
#define NAME_BYTES 2048u

static bool has(isc_text text, const char *word)
{
	return memmem(text.at, text.len, word, strlen(word)) != NULL;
}

/* Code that somebody else wrote says little of where the program is. */
static bool is_library(const isc_frame *f)
{
	return f->file.len == 0 || f->file.at[0] == '<' || has(f->file, "site-packages/") ||
	       has(f->file, "lib/python") || has(f->file, "dist-packages/");
}

static uint32_t name_of(isc_timeline *t, const isc_frame *f, uint32_t line)
{
	char text[NAME_BYTES];
	int len;

	if (f->file.len == 0)
		return isc_timeline_name(t, f->name.at, f->name.len);
	len = snprintf(text, sizeof(text), "%.*s(%u): %.*s", (int)(f->file.len < 1000 ? f->file.len : 1000), f->file.at,
		       line, (int)(f->name.len < 1000 ? f->name.len : 1000), f->name.at);
	return len > 0 ? isc_timeline_name(t, text, strnlen(text, sizeof(text))) : 0;
}

uint32_t isc_gpu_place_stack(isc_gpu_places *p, const isc_trace *trace, isc_timeline *t, uint32_t process,
			     uint32_t stack)
{
	uint64_t *known = isc_hashmap_put(&p->stacks, isc_hashmap_key(process, stack), NULL), searched = 0;
	isc_frame frame, best = {0};
	uint32_t id = stack;
	bool found = false;

	if (known == NULL || *known != 0)
		return known != NULL ? (uint32_t)(*known - 1) : 0;
	for (unsigned n = 0; n < ISC_STACK_FRAMES_MAX && isc_trace_frame(trace, process, id, &frame); n++) {
		id = frame.parent;
		if (frame.kind != ISC_FRAME_PYTHON || frame.stand_in)
			continue;
		if (!found || !is_library(&frame))
			best = frame;
		found = true;
		if (!is_library(&frame))
			break;
	}
	*known = found ? name_of(t, &best, isc_trace_frame_line(trace, process, &best, &searched)) + 1ull : 1;
	return (uint32_t)(*known - 1);
}

/* The name of a code object, its highest bit set for one of a library; 0: not known. */
static uint64_t code_name(isc_gpu_places *p, const isc_trace *trace, isc_timeline *t, uint32_t process, uint32_t code)
{
	uint64_t *known = isc_hashmap_put(&p->codes, isc_hashmap_key(process, code), NULL);
	isc_frame frame = {0};

	if (known == NULL)
		return 0;
	if (*known == 0 && isc_trace_code(trace, process, code, &frame))
		*known = (name_of(t, &frame, frame.first_line) + 1ull) | (is_library(&frame) ? 1ull << 63 : 0);
	if (*known == 0)
		*known = 1;
	return *known - 1;
}

uint32_t isc_gpu_place_code(isc_gpu_places *p, const isc_trace *trace, isc_timeline *t, uint32_t process,
			    const uint32_t *open, size_t depth)
{
	uint32_t innermost = 0;

	for (size_t i = depth; i > 0 && depth - i < CALLS_LOOKED_AT; i--) {
		uint64_t name = code_name(p, trace, t, process, open[i - 1]);

		if (name != 0 && name >> 63 == 0)
			return (uint32_t)name;
		innermost = innermost == 0 ? (uint32_t)name : innermost;
	}
	return innermost;
}
