#include "analyze/code/places.h"

#include <string.h>

/* As with samples: a file that is made to be slow goes without lines. */
#define SEARCHED_MAX (1ull << 30)

void isc_places_fini(isc_places *p)
{
	isc_names_fini(&p->keys);
	isc_buffer_fini(&p->key);
	isc_hashmap_fini(&p->by_code);
	isc_hashmap_fini(&p->by_stack);
}

static void add_text(isc_buffer *key, const isc_text *text)
{
	uint64_t len = text->len;

	isc_buffer_add(key, &len, sizeof(len));
	isc_buffer_add(key, text->at, text->len);
}

static uint32_t put(isc_places *p, isc_build *b, const isc_analysis_frame *frame)
{
	isc_analysis_frame *place;
	size_t n;

	if (p->count == 0 && isc_arena_push(b->arena, &p->at, &p->count, &p->room, sizeof(*p->at)) == NULL)
		return ISC_PLACE_NO_MEMORY;
	isc_buffer_clear(&p->key);
	add_text(&p->key, &frame->name);
	add_text(&p->key, &frame->file);
	add_text(&p->key, &frame->module);
	isc_buffer_add(&p->key, &frame->line, sizeof(frame->line));
	if (p->key.failed)
		return ISC_PLACE_NO_MEMORY;
	n = isc_names_put(&p->keys, b->arena, p->key.data, p->key.len);
	if (n == SIZE_MAX || n + 1 >= ISC_PLACE_NO_MEMORY)
		return ISC_PLACE_NO_MEMORY;
	if (n + 1 == p->count) {
		place = isc_arena_push(b->arena, &p->at, &p->count, &p->room, sizeof(*p->at));
		if (place == NULL)
			return ISC_PLACE_NO_MEMORY;
		*place = *frame;
	}
	return (uint32_t)(n + 1);
}

/* The trace may be closed before its analysis is read. */
static bool keep(isc_build *b, const isc_text *from, isc_text *to)
{
	if (from->len > 0)
		*to = (isc_text){isc_arena_copy(b->arena, from->at, from->len), from->len};
	return from->len == 0 || to->at != NULL;
}

static uint32_t put_frame(isc_places *p, isc_build *b, const isc_frame *frame, uint32_t line)
{
	isc_analysis_frame at = {
		.python = frame->kind == ISC_FRAME_PYTHON, .native = frame->kind == ISC_FRAME_NATIVE, .line = line};

	if (!keep(b, &frame->name, &at.name) || !keep(b, &frame->file, &at.file) ||
	    !keep(b, &frame->module, &at.module))
		return ISC_PLACE_NO_MEMORY;
	return put(p, b, &at);
}

static uint32_t remember(isc_hashmap *map, uint64_t key, uint32_t place)
{
	uint64_t *known = place != ISC_PLACE_NO_MEMORY ? isc_hashmap_put(map, key, NULL) : NULL;

	if (known == NULL)
		return ISC_PLACE_NO_MEMORY;
	*known = (uint64_t)place + 1;
	return place;
}

uint32_t isc_places_code(isc_places *p, isc_build *b, uint32_t process, uint32_t code)
{
	uint64_t key = isc_hashmap_key(process, code);
	const uint64_t *known = isc_hashmap_find(&p->by_code, key);
	isc_frame frame = {.kind = ISC_FRAME_PYTHON};
	uint32_t place = 0;

	if (known != NULL)
		return (uint32_t)(*known - 1);
	if (isc_trace_code(b->trace, process, code, &frame))
		place = put_frame(p, b, &frame, frame.first_line);
	return remember(&p->by_code, key, place);
}

uint32_t isc_places_function(isc_places *p, isc_build *b, const isc_analysis_function *f)
{
	isc_analysis_frame at = {.python = !f->native,
				 .native = f->native,
				 .name = f->name,
				 .file = f->file,
				 .module = f->module,
				 .line = f->line};

	return put(p, b, &at);
}

static bool has(const char *at, size_t len, const char *part)
{
	return at != NULL && memmem(at, len, part, strlen(part)) != NULL;
}

static bool is_library(const char *at, size_t len)
{
	if (len > 0 && at[0] == '<')
		return true;
	return has(at, len, "/lib/python3") && !has(at, len, "/site-packages/") && !has(at, len, "/dist-packages/");
}

bool isc_places_is_library(const isc_places *p, uint32_t place)
{
	return place == 0 || place >= p->count || is_library(p->at[place].file.at, p->at[place].file.len);
}

uint32_t isc_places_stack(isc_places *p, isc_build *b, uint32_t process, uint32_t stack)
{
	uint64_t key = isc_hashmap_key(process, stack);
	const uint64_t *known = isc_hashmap_find(&p->by_stack, key);
	isc_frame frame, best;
	int quality = 0; /* 1: a frame; 2: Python; 3: of the program */
	uint32_t line = 0;

	if (known != NULL)
		return (uint32_t)(*known - 1);
	for (uint32_t id = stack, n = 0; id != 0 && quality < 3 && n < ISC_STACK_FRAMES_MAX; id = frame.parent, n++) {
		int is;

		if (!isc_trace_frame(b->trace, process, id, &frame))
			break;
		if (frame.stand_in)
			continue;
		is = frame.kind != ISC_FRAME_PYTHON ? 1 : is_library(frame.file.at, frame.file.len) ? 2 : 3;
		if (is > quality) {
			best = frame;
			quality = is;
		}
	}
	if (quality == 0)
		return remember(&p->by_stack, key, 0);
	if (p->searched < SEARCHED_MAX)
		line = isc_trace_frame_line(b->trace, process, &best, &p->searched);
	return remember(&p->by_stack, key, put_frame(p, b, &best, line != 0 ? line : best.first_line));
}
