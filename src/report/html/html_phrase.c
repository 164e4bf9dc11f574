#include "report/html/html_phrase.h"

#include <string.h>

#include "base/text.h"
#include "report/text/words.h"

#define CHARACTERS 1000u /* of a piece; names may be a megabyte */

static void add_piece(isc_buffer *out, const isc_phrase *p, size_t from, size_t to)
{
	if (to > from)
		isc_text_html(out, p->text.data + from, to - from, CHARACTERS);
}

/* Without what only a compiler wants to know. */
static void add_name(isc_buffer *out, const isc_phrase *p, const isc_phrase_mark *m)
{
	isc_buffer plain = {0};

	isc_words_names(&plain, p->text.data + m->from, m->to - m->from);
	if (plain.data != NULL)
		isc_text_html(out, plain.data, plain.len, CHARACTERS);
	out->failed |= plain.failed;
	isc_buffer_fini(&plain);
}

/* colour: of a headline; NULL: it is a sentence. */
static void add_mark(isc_buffer *out, const isc_phrase *p, const isc_phrase_mark *m, const char *colour)
{
	if (m->role == ISC_PHRASE_NAME) {
		isc_buffer_text(out, colour != NULL ? "<code>" : "");
		add_name(out, p, m);
		isc_buffer_text(out, colour != NULL ? "</code>" : "");
	} else if (m->role == ISC_PHRASE_SHARE && colour != NULL) {
		isc_buffer_format(out, "<span class=\"lit u-%s\">", colour);
		add_piece(out, p, m->from, m->to);
		isc_buffer_text(out, "</span>");
	} else if (m->role != ISC_PHRASE_PLACE || colour == NULL) {
		add_piece(out, p, m->from, m->to);
	}
}

static void add_pieces(isc_buffer *out, const isc_phrase *p, size_t from, size_t to, const char *colour)
{
	for (size_t i = 0; i < p->marks; i++) {
		const isc_phrase_mark *m = &p->mark[i];

		if (m->role == ISC_PHRASE_MOST || m->from < from || m->to > to)
			continue;
		add_piece(out, p, from, m->from);
		add_mark(out, p, m, colour);
		from = m->to;
	}
	add_piece(out, p, from, to);
}

void isc_html_phrase(isc_buffer *out, const isc_phrase *p, size_t from, size_t to)
{
	add_pieces(out, p, from, to, NULL);
}

void isc_html_phrase_large(isc_buffer *out, const isc_phrase *p, size_t to, const char *colour)
{
	add_pieces(out, p, 0, to, colour);
}

size_t isc_html_phrase_places(isc_buffer *out, const isc_phrase *p, size_t to)
{
	size_t count = 0;

	for (size_t i = 0; i < p->marks; i++) {
		const isc_phrase_mark *m = &p->mark[i];

		if (m->role != ISC_PHRASE_PLACE || m->to > to)
			continue;
		isc_buffer_text(out, count++ > 0 ? ", " : "");
		add_piece(out, p, m->from + strlen(" ("), m->to - strlen(")"));
	}
	return count;
}

size_t isc_html_phrase_most(const isc_phrase *p)
{
	for (size_t i = 0; i < p->marks; i++) {
		if (p->mark[i].role == ISC_PHRASE_MOST)
			return p->mark[i].from;
	}
	return p->text.len;
}

bool isc_html_phrase_names(const isc_phrase *p)
{
	for (size_t i = 0; i < p->marks; i++) {
		if (p->mark[i].role == ISC_PHRASE_NAME)
			return true;
	}
	return false;
}
