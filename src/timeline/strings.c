#include "timeline/strings.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define OTHER_NAMES "(other names)"

void isc_strings_fini(isc_strings *s)
{
	isc_arena_free(s->arena);
	free(s->text);
	free(s->hash);
	free(s->slot);
	*s = (isc_strings){0};
}

static bool grow_slots(isc_strings *s)
{
	size_t slots = s->slots > 0 ? s->slots * 2 : 1024;
	uint32_t *slot = calloc(slots, sizeof(*slot));

	if (slot == NULL)
		return false;
	for (uint32_t i = 1; i < s->count; i++) {
		size_t at = s->hash[i] & (slots - 1);

		while (slot[at] != 0)
			at = (at + 1) & (slots - 1);
		slot[at] = i;
	}
	free(s->slot);
	s->slot = slot;
	s->slots = slots;
	return true;
}

static bool grow_texts(isc_strings *s)
{
	uint32_t room = s->room > 0 ? s->room * 2 : 512;
	isc_text *text = realloc(s->text, room * sizeof(*text));
	uint64_t *hash;

	if (text == NULL)
		return false;
	s->text = text;
	hash = realloc(s->hash, room * sizeof(*hash));
	if (hash == NULL)
		return false;
	s->hash = hash;
	s->room = room;
	return true;
}

static bool make_room(isc_strings *s)
{
	if (s->arena == NULL) {
		s->arena = isc_arena_new();
		if (s->arena == NULL)
			return false;
	}
	if (s->count == s->room && !grow_texts(s))
		return false;
	if (s->count == 0) {
		s->text[0] = (isc_text){"", 0};
		s->hash[0] = 0;
		s->count = 1;
	}
	return (size_t)s->count * 4 < s->slots * 3 || grow_slots(s);
}

static uint32_t put_other(isc_strings *s)
{
	s->folded++;
	if (s->other == 0) {
		/* One text past the limit, so it ends here. */
		s->text[s->count] = (isc_text){OTHER_NAMES, sizeof(OTHER_NAMES) - 1};
		s->hash[s->count] = 0;
		s->other = s->count++;
	}
	return s->other;
}

uint32_t isc_strings_put(isc_strings *s, const char *at, size_t len)
{
	size_t n = len < ISC_STRING_BYTES_MOST ? len : ISC_STRING_BYTES_MOST, place;
	uint64_t hash = XXH3_64bits(at, n);
	char *copy;

	if (!make_room(s))
		return 0;
	for (place = hash & (s->slots - 1); s->slot[place] != 0; place = (place + 1) & (s->slots - 1)) {
		uint32_t i = s->slot[place];

		if (s->hash[i] == hash && s->text[i].len == n && memcmp(s->text[i].at, at, n) == 0)
			return i;
	}
	if (s->count >= ISC_STRINGS_MOST || s->bytes + n > ISC_STRINGS_BYTES_MOST)
		return put_other(s);
	copy = isc_arena_copy(s->arena, at, n);
	if (copy == NULL)
		return 0;
	s->bytes += n;
	s->text[s->count] = (isc_text){copy, n};
	s->hash[s->count] = hash;
	s->slot[place] = s->count;
	return s->count++;
}

isc_text isc_strings_get(const isc_strings *s, uint32_t number)
{
	return number < s->count ? s->text[number] : (isc_text){"", 0};
}
