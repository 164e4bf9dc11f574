#include "analyze/names.h"

#include <stdint.h>
#include <string.h>

/* FNV-1a: names are short and few; what counts is that equal hashes are handled. */
static uint64_t hash_of(const char *at, size_t len)
{
	uint64_t h = 0xcbf29ce484222325ull;

	for (size_t i = 0; i < len; i++)
		h = (h ^ (unsigned char)at[i]) * 0x100000001b3ull;
	return h;
}

void isc_names_fini(isc_names *n)
{
	isc_hashmap_fini(&n->first);
}

static isc_text *add(isc_names *n, isc_arena *arena, size_t next)
{
	isc_text *text = isc_arena_push(arena, &n->text, &n->count, &n->room, sizeof(*n->text));
	size_t *link = isc_arena_push(arena, &n->next, &n->next_count, &n->next_room, sizeof(*n->next));

	if (text == NULL || link == NULL)
		return NULL;
	*link = next;
	return text;
}

size_t isc_names_put(isc_names *n, isc_arena *arena, const char *at, size_t len)
{
	uint64_t *first = isc_hashmap_put(&n->first, hash_of(at, len), NULL);
	isc_text *text;

	if (first == NULL)
		return SIZE_MAX;
	for (size_t i = (size_t)*first; i != 0; i = n->next[i - 1]) {
		const isc_text *known = &n->text[i - 1];

		if (known->len == len && (len == 0 || memcmp(known->at, at, len) == 0))
			return i - 1;
	}
	text = add(n, arena, (size_t)*first);
	if (text == NULL)
		return SIZE_MAX;
	*text = (isc_text){isc_arena_copy(arena, at, len), len};
	if (text->at == NULL)
		return SIZE_MAX;
	*first = n->count;
	return n->count - 1;
}

int isc_names_compare(const isc_text *x, const isc_text *y)
{
	size_t len = x->len < y->len ? x->len : y->len;
	int order = len > 0 ? memcmp(x->at, y->at, len) : 0;

	return order != 0 ? order : (x->len > y->len) - (x->len < y->len);
}

void isc_names_kernel(isc_buffer *out, const char *at, size_t len)
{
	static const char anonymous[] = "(anonymous namespace)";
	const size_t skip = sizeof(anonymous) - 1, before = out->len;
	size_t i = len > 5 && memcmp(at, "void ", 5) == 0 ? 5 : 0, depth = 0;

	for (; i < len; i++) {
		if (len - i >= skip && memcmp(at + i, anonymous, skip) == 0) {
			i += skip + 1; /* and the colons behind it */
			continue;
		}
		/* Behind a space it is a place in the program: forward (model.py:9). */
		if (at[i] == '(' && depth == 0 && out->len > before && out->data[out->len - 1] != ' ')
			break;
		depth += at[i] == '<';
		if (depth == 0)
			isc_buffer_add(out, at + i, 1);
		depth -= depth > 0 && at[i] == '>';
	}
	if (out->len == before)
		isc_buffer_add(out, at, len);
}
