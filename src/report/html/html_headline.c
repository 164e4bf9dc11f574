/*
 * html_headline.c - the verdict as a reader takes it in: what happens, in large letters and with its number
 * underlined; below, what that is worth, what to do and where.
 */
#include <string.h>

#include "base/arena.h"
#include "base/text.h"
#include "base/units.h"
#include "report/html/html_metric.h"
#include "report/html/html_parts.h"
#include "report/html/html_phrase.h"
#include "report/json/tables.h"

#define LONG_HEADLINE 80u /* characters, set smaller */
#define CHARACTERS 1000u  /* of a text; rules may be anybody's */

/* The colour of what the claim is about: that of its metric. */
static const char *colour_of(const isc_claim *c)
{
	const isc_html_metric *m = isc_html_metric_named(c->finding, strlen(c->finding));

	return m != NULL ? m->colour : "none";
}

static void add_saving(isc_buffer *out, const isc_claim *c)
{
	isc_text fix = isc_phrase_fix(c);
	isc_units u, v;

	if (fix.len == 0 || !(c->saving_us > 0) || !(c->of_us > 0))
		return;
	isc_buffer_format(out, "At most <b>%s of %s</b> can be saved by ", isc_units_time(&u, c->saving_us),
			  isc_units_time(&v, c->of_us));
	isc_text_html(out, fix.at, fix.len, CHARACTERS);
	isc_buffer_text(out, ".");
}

/* What is said below: the detail of a long sentence, what can be saved, and the places. */
static void add_below(isc_buffer *out, const isc_phrase *p, size_t end, const isc_claim *c)
{
	size_t most = isc_html_phrase_most(p);
	isc_buffer dek = {0}, places = {0};

	if (most < p->text.len) {
		isc_buffer_text(&dek, "Most of all ");
		isc_html_phrase(&dek, p, most, p->text.len);
		isc_buffer_text(&dek, ". ");
	}
	add_saving(&dek, c);
	isc_html_phrase_places(&places, p, end);
	if (dek.len + places.len > 0)
		isc_buffer_format(out, "<p class=\"dek\">%s</p>", dek.len > 0 ? dek.data : "");
	if (places.len > 0)
		isc_buffer_format(out, "<p class=\"at mono\">%s</p>", places.data);
	out->failed |= dek.failed || places.failed;
	isc_buffer_fini(&dek);
	isc_buffer_fini(&places);
}

static size_t places_length(const isc_phrase *p, size_t end)
{
	size_t length = 0;

	for (size_t i = 0; i < p->marks; i++) {
		if (p->mark[i].role == ISC_PHRASE_PLACE && p->mark[i].to <= end)
			length += p->mark[i].to - p->mark[i].from;
	}
	return length;
}

static void add_claim(isc_buffer *out, const isc_phrase *p, const isc_claim *c)
{
	size_t most = isc_html_phrase_most(p);
	size_t end = most < p->text.len ? most - strlen(ISC_PHRASE_MOST_OF_ALL) : most;

	isc_buffer_text(out, end - places_length(p, end) > LONG_HEADLINE ? "<h1 class=\"long\">" : "<h1>");
	isc_html_phrase_large(out, p, end, colour_of(c));
	isc_buffer_text(out, "</h1>");
	add_below(out, p, end, c);
}

/* Of a report that has a sentence and no claim. */
static void add_told(isc_buffer *out, yyjson_val *headline)
{
	if (yyjson_get_len(headline) == 0) {
		isc_buffer_text(out, "<h1>Nothing stands out</h1>");
		return;
	}
	isc_buffer_text(out, yyjson_get_len(headline) > LONG_HEADLINE ? "<h1 class=\"long\">" : "<h1>");
	isc_html_escaped(out, headline);
	isc_buffer_text(out, "</h1>");
}

void isc_html_headline(isc_buffer *out, yyjson_val *verdict)
{
	isc_arena *arena = isc_arena_new();
	isc_phrase phrase = {0};
	isc_claim claim;

	if (arena == NULL) {
		out->failed = true;
		return;
	}
	isc_claim_read(arena, verdict, &claim);
	if (isc_phrase_claim(&phrase, &claim))
		add_claim(out, &phrase, &claim);
	else
		add_told(out, yyjson_obj_get(verdict, "headline"));
	out->failed |= arena->failed || phrase.text.failed;
	isc_phrase_fini(&phrase);
	isc_arena_free(arena);
}
