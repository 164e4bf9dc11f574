#include "export/frames.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

void isc_frames_fini(isc_frames *f)
{
	free(f->frame);
	free(f->next);
	isc_hashmap_fini(&f->by_id);
	isc_hashmap_fini(&f->by_content);
}

static bool same_text(const isc_text *x, const isc_text *y)
{
	return x->len == y->len && (x->len == 0 || memcmp(x->at, y->at, x->len) == 0);
}

static bool same(const isc_export_frame *x, const isc_export_frame *y)
{
	return x->line == y->line && x->first_line == y->first_line && x->native == y->native &&
	       same_text(&x->name, &y->name) && same_text(&x->file, &y->file) && same_text(&x->module, &y->module);
}

static uint64_t hash_of(const isc_export_frame *x)
{
	uint64_t h = XXH3_64bits_withSeed(x->name.at, x->name.len, x->line);

	h = XXH3_64bits_withSeed(x->file.at, x->file.len, h);
	return XXH3_64bits_withSeed(x->module.at, x->module.len, h ^ x->first_line) | 1;
}

static bool grow(isc_frames *f)
{
	size_t room = f->room != 0 ? f->room * 2 : 256;
	isc_export_frame *frame = realloc(f->frame, room * sizeof(*frame));
	size_t *next;

	if (frame == NULL)
		return false;
	f->frame = frame;
	next = realloc(f->next, room * sizeof(*next));
	if (next == NULL)
		return false;
	f->next = next;
	f->room = room;
	return true;
}

static size_t put(isc_frames *f, const isc_export_frame *wanted)
{
	uint64_t *first = isc_hashmap_put(&f->by_content, hash_of(wanted), NULL);

	if (first == NULL)
		return SIZE_MAX;
	for (size_t i = (size_t)*first; i != 0; i = f->next[i - 1])
		if (same(&f->frame[i - 1], wanted))
			return i - 1;
	if (f->count == f->room && !grow(f))
		return SIZE_MAX;
	f->frame[f->count] = *wanted;
	f->next[f->count] = (size_t)*first;
	*first = ++f->count;
	return f->count - 1;
}

static size_t known_or(isc_frames *f, uint64_t key, const isc_export_frame *wanted)
{
	size_t number = put(f, wanted);
	uint64_t *known = number != SIZE_MAX ? isc_hashmap_put(&f->by_id, key, NULL) : NULL;

	if (known == NULL) {
		f->failed = true;
		return SIZE_MAX;
	}
	*known = number + 1;
	return number;
}

size_t isc_frames_of_slice(isc_frames *f, const isc_slice *s)
{
	uint64_t key = (uint64_t)s->on->process << 36 ^ (uint64_t)(s->kind + 1) << 32 ^ s->id ^ 1ull << 63;
	const uint64_t *known = isc_hashmap_find(&f->by_id, key);
	isc_export_frame frame = {.name = s->name, .file = s->file, .line = s->line, .first_line = s->line};

	return known != NULL ? (size_t)*known - 1 : known_or(f, key, &frame);
}

static bool frame_at(const isc_frames *f, uint32_t process, uint32_t id, isc_frame *out)
{
	if (f->trace != NULL)
		return isc_trace_frame(f->trace, process, id, out);
	return f->out != NULL && f->out->frame != NULL && f->out->frame(f->out->frame_self, id, out);
}

size_t isc_frames_of_stack(isc_frames *f, uint32_t process, uint32_t id, uint32_t *parent)
{
	uint64_t key = isc_hashmap_key(process, id);
	const uint64_t *known = isc_hashmap_find(&f->by_id, key);
	isc_export_frame out;
	uint64_t searched = 0;
	isc_frame frame;

	if (!frame_at(f, process, id, &frame))
		return SIZE_MAX;
	*parent = frame.parent;
	if (known != NULL)
		return (size_t)*known - 1;
	out = (isc_export_frame){.name = frame.name,
				 .file = frame.file,
				 .module = frame.module,
				 .first_line = frame.first_line,
				 .line = frame.first_line,
				 .native = frame.kind == ISC_FRAME_NATIVE};
	if (f->by_line && f->trace != NULL)
		out.line = isc_trace_frame_line(f->trace, process, &frame, &searched);
	return known_or(f, key, &out);
}

size_t isc_frames_stack(isc_frames *f, uint32_t process, uint32_t id, size_t *numbers, size_t most)
{
	size_t n = 0;

	while (n < most && id != 0) {
		numbers[n] = isc_frames_of_stack(f, process, id, &id);
		if (numbers[n] == SIZE_MAX)
			break;
		n++;
	}
	return n;
}
