#include "report/text/phrase_parts.h"

#include <math.h>

/* A longer name is nothing to read. */
#define NAME_MAX_BYTES 120u
#define MIB 1048576

static void put_mark(isc_phrase *p, enum isc_phrase_role role, size_t from)
{
	if (p->marks < ISC_PHRASE_MARKS && p->text.len > from)
		p->mark[p->marks++] = (isc_phrase_mark){role, from, p->text.len};
}

static void add_short(isc_buffer *out, isc_text name)
{
	size_t len = name.len;

	if (len > NAME_MAX_BYTES) {
		len = NAME_MAX_BYTES;
		/* Not inside a character. */
		while (len > 0 && ((unsigned char)name.at[len] & 0xc0) == 0x80)
			len--;
	}
	isc_buffer_add(out, name.at, len);
	isc_buffer_text(out, len < name.len ? "..." : "");
}

/* The file and the folder it lies in: enough to find it, short enough for a sentence. */
static isc_text short_path(isc_text path)
{
	size_t from = path.len, slashes = 0;

	while (from > 0 && !(path.at[from - 1] == '/' && ++slashes == 2))
		from--;
	return (isc_text){path.at + from, path.len - from};
}

/* " (app/flush.py:12)" */
static void add_file(isc_buffer *out, const isc_claim_place *place)
{
	isc_text path = short_path(place->file);

	if (path.len == 0)
		return;
	isc_buffer_text(out, " (");
	add_short(out, path);
	if (place->line > 0)
		isc_buffer_format(out, ":%u", place->line);
	isc_buffer_text(out, ")");
}

void isc_phrase_text(isc_phrase *p, isc_text name)
{
	add_short(&p->text, name);
}

void isc_phrase_figure(isc_phrase *p, const char *figure)
{
	size_t from = p->text.len;

	isc_buffer_text(&p->text, figure);
	put_mark(p, ISC_PHRASE_SHARE, from);
}

void isc_phrase_share_of(isc_phrase *p, const isc_claim *c, double pct)
{
	isc_units u;

	isc_phrase_figure(p, isc_units_percent(&u, pct));
	if (c->subject.kind == ISC_CLAIM_OF_TIME) {
		isc_buffer_text(&p->text, " of the time");
		return;
	}
	isc_buffer_text(&p->text, c->subject.kind == ISC_CLAIM_OF_THREAD   ? " of the thread's time in "
				  : c->subject.kind == ISC_CLAIM_OF_SCOPES ? " of each "
									   : " of ");
	isc_phrase_text(p, c->subject.name);
}

void isc_phrase_share(isc_phrase *p, const isc_claim *c)
{
	isc_phrase_share_of(p, c, c->share);
}

void isc_phrase_device(isc_phrase *p, const isc_claim *c)
{
	isc_buffer_format(&p->text, "GPU %u", c->subject.device);
	if (c->subject.rank >= 0)
		isc_buffer_format(&p->text, " of rank %lld", (long long)c->subject.rank);
	else if (c->subject.file > 0)
		isc_buffer_format(&p->text, " of file %u", c->subject.file);
}

void isc_phrase_place(isc_phrase *p, const isc_claim_place *place)
{
	isc_buffer whole = {0};
	size_t from = p->text.len;

	isc_phrase_add_place(&whole, place, false);
	p->text.failed |= whole.failed;
	if (whole.len > NAME_MAX_BYTES) {
		add_short(&p->text, (isc_text){whole.data, whole.len});
		put_mark(p, ISC_PHRASE_NAME, from);
	} else if (place->function.len > 0) {
		add_short(&p->text, place->function);
		put_mark(p, ISC_PHRASE_NAME, from);
		from = p->text.len;
		add_file(&p->text, place);
		put_mark(p, ISC_PHRASE_PLACE, from);
	}
	isc_buffer_fini(&whole);
}

void isc_phrase_at(isc_phrase *p, const char *words, const isc_claim_place *place)
{
	if (place->function.len == 0)
		return;
	isc_buffer_text(&p->text, words);
	isc_phrase_place(p, place);
}

void isc_phrase_most(isc_phrase *p, const char *before, const isc_claim_place *place)
{
	size_t mark = p->marks, from;

	if (place->function.len == 0)
		return;
	isc_buffer_text(&p->text, ISC_PHRASE_MOST_OF_ALL);
	from = p->text.len;
	isc_buffer_text(&p->text, before);
	put_mark(p, ISC_PHRASE_MOST, from);
	isc_phrase_place(p, place);
	if (mark < p->marks)
		p->mark[mark].to = p->text.len;
}

void isc_phrase_held(isc_phrase *p, const isc_claim *c)
{
	bool placed = c->holder.function.len > 0;

	if (!placed && c->holder.thread.len == 0)
		return;
	isc_buffer_text(&p->text, ", held by ");
	isc_phrase_place(p, &c->holder);
	if (c->holder.thread.len > 0) {
		isc_buffer_text(&p->text, placed ? " in thread " : "thread ");
		isc_phrase_text(p, c->holder.thread);
	}
}

const char *isc_phrase_number(isc_units *u, const isc_claim *c, enum isc_detail what)
{
	double number = isc_claim_number_of(c, what);

	return isc_units_number(u, number >= 0 ? number : NAN);
}

const char *isc_phrase_mib(isc_units *u, const isc_claim *c, enum isc_detail what)
{
	double bytes = isc_claim_number_of(c, what);

	return isc_units_number(u, bytes >= 0 ? bytes / MIB : NAN);
}

void isc_phrase_add_place(isc_buffer *out, const isc_claim_place *place, bool whole)
{
	if (place->function.len == 0)
		return;
	if (whole)
		isc_buffer_add(out, place->function.at, place->function.len);
	else
		add_short(out, place->function);
	add_file(out, place);
}
