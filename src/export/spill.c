#include "export/spill.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PIECE (64u << 10)

typedef struct piece {
	uint64_t offset;
	size_t len;
} piece;

typedef struct text {
	isc_buffer tail;
	piece *pieces;
	size_t count, room;
} text;

struct isc_spill {
	text *texts;
	size_t count;
	FILE *file; /* made when it is needed */
	uint64_t size;
};

isc_spill *isc_spill_new(void)
{
	return calloc(1, sizeof(isc_spill));
}

void isc_spill_free(isc_spill *s)
{
	if (s == NULL)
		return;
	for (size_t i = 0; i < s->count; i++) {
		isc_buffer_fini(&s->texts[i].tail);
		free(s->texts[i].pieces);
	}
	free(s->texts);
	if (s->file != NULL)
		fclose(s->file);
	free(s);
}

static bool put_away(isc_spill *s, text *t)
{
	if (s->file == NULL)
		s->file = tmpfile();
	if (t->count == t->room) {
		size_t room = t->room != 0 ? t->room * 2 : 8;
		piece *grown = realloc(t->pieces, room * sizeof(*grown));

		if (grown == NULL)
			return false;
		t->pieces = grown;
		t->room = room;
	}
	if (s->file == NULL || fwrite(t->tail.data, 1, t->tail.len, s->file) != t->tail.len)
		return false;
	t->pieces[t->count++] = (piece){s->size, t->tail.len};
	s->size += t->tail.len;
	isc_buffer_clear(&t->tail);
	return true;
}

isc_buffer *isc_spill_text(isc_spill *s, size_t number)
{
	if (number >= s->count) {
		size_t count = number < 8 ? 16 : number * 2;
		text *grown = realloc(s->texts, count * sizeof(*grown));

		if (grown == NULL)
			return NULL;
		for (size_t i = s->count; i < count; i++)
			grown[i] = (text){0};
		s->texts = grown;
		s->count = count;
	}
	if (s->texts[number].tail.len >= PIECE && !put_away(s, &s->texts[number]))
		return NULL;
	return &s->texts[number].tail;
}

bool isc_spill_send(isc_spill *s, size_t number, isc_export_out *out)
{
	text *t = number < s->count ? &s->texts[number] : NULL;

	if (t == NULL)
		return true;
	if (s->file != NULL && fflush(s->file) != 0)
		return false;
	for (size_t i = 0; i < t->count; i++) {
		char *room = isc_buffer_room(&out->text, t->pieces[i].len);
		size_t done = 0;

		while (room != NULL && done < t->pieces[i].len) {
			ssize_t n = pread(fileno(s->file), room + done, t->pieces[i].len - done,
					  (off_t)(t->pieces[i].offset + done));

			if (n <= 0)
				return false;
			done += (size_t)n;
		}
		isc_export_send(out, false);
	}
	isc_buffer_add(&out->text, t->tail.data, t->tail.len);
	isc_export_send(out, false);
	return true;
}
