/*
 * html_headline.c - the sentence of the verdict as a reader takes it in: what happens, in large letters and with its
 * number underlined; below, what that is worth, what to do and where.
 *
 * The sentence is that of the JSON report, cut: "WHAT (file:line), most of all in X; at most A of B can be saved by FIX."
 */
#include <ctype.h>
#include <string.h>

#include "base/text.h"
#include "report/html/html_metric.h"
#include "report/html/html_parts.h"
#include "report/text/words.h"

#define LONG_HEADLINE 80u /* characters, set smaller */
#define CHARACTERS 1000u  /* of a text; names may be a megabyte */
#define PLACES 3u

struct headline_piece {
	const char *at;
	size_t len;
};

static void add_text(isc_buffer *out, struct headline_piece p)
{
	isc_text_html(out, p.at, p.len, CHARACTERS);
}

/* Where the text has the words; NULL: nowhere. */
static const char *find(struct headline_piece p, const char *words)
{
	return p.len > 0 ? memmem(p.at, p.len, words, strlen(words)) : NULL;
}

/* Cuts the piece where the words begin, and gives what is behind them. */
static struct headline_piece cut(struct headline_piece *p, const char *words)
{
	const char *at = NULL;
	struct headline_piece rest = *p;

	/* The last one: names of the program, which may hold anything, come first. */
	for (const char *next; (next = find(rest, words)) != NULL;) {
		at = next;
		rest = (struct headline_piece){at + 1, p->len - (size_t)(at + 1 - p->at)};
	}
	if (at == NULL)
		return (struct headline_piece){NULL, 0};
	rest = (struct headline_piece){at + strlen(words), p->len - (size_t)(at - p->at) - strlen(words)};
	p->len = (size_t)(at - p->at);
	return rest;
}

/* The length of " (file:12)" at the beginning of the piece; 0: there is none. */
static size_t place_length(struct headline_piece p)
{
	const char *end, *colon;

	if (p.len < 6 || p.at[0] != ' ' || p.at[1] != '(' || (end = memchr(p.at, ')', p.len)) == NULL)
		return 0;
	colon = memrchr(p.at, ':', (size_t)(end - p.at));
	if (colon == NULL || colon + 1 == end || memchr(p.at + 1, ' ', (size_t)(end - p.at - 1)) != NULL)
		return 0;
	for (const char *at = colon + 1; at < end; at++) {
		if (!isdigit((unsigned char)*at))
			return 0;
	}
	return (size_t)(end + 1 - p.at);
}

/* The length of "41.5%" or "19.05 GB/s" at the beginning of the piece. */
static size_t share_length(struct headline_piece p)
{
	size_t n = 0;

	while (n < p.len && (isdigit((unsigned char)p.at[n]) || (n > 0 && p.at[n] == '.')))
		n++;
	if (n == 0 || n == p.len)
		return 0;
	if (p.at[n] == '%')
		return n + 1;
	return p.len - n >= 5 && memcmp(p.at + n, " GB/s", 5) == 0 ? n + 5 : 0;
}

/* The text with its first share underlined, and without the places of functions, which stand out instead.
 * Returns how many places there were. */
static size_t add_what(isc_buffer *out, struct headline_piece p, const char *colour, struct headline_piece *places)
{
	size_t from = 0, word = 0, count = 0;
	bool underlined = false;

	for (size_t i = 0; i < p.len; i++) {
		struct headline_piece rest = {p.at + i, p.len - i};
		size_t share = !underlined && word == i ? share_length(rest) : 0;
		size_t place = count < PLACES ? place_length(rest) : 0;

		if (share > 0) {
			add_text(out, (struct headline_piece){p.at + from, i - from});
			isc_buffer_format(out, "<span class=\"lit u-%s\">", colour);
			add_text(out, (struct headline_piece){p.at + i, share});
			isc_buffer_text(out, "</span>");
			underlined = true;
			from = i + share;
			i = from - 1;
		} else if (place > 0 && word >= from) {
			add_text(out, (struct headline_piece){p.at + from, word - from});
			isc_buffer_text(out, "<code>");
			add_text(out, (struct headline_piece){p.at + word, i - word});
			isc_buffer_text(out, "</code>");
			places[count++] = (struct headline_piece){p.at + i + 2, place - 3};
			from = word = i + place;
			i = from - 1;
		} else if (p.at[i] == ' ') {
			word = i + 1;
		}
	}
	add_text(out, (struct headline_piece){p.at + from, p.len - from});
	return count;
}

/* The colour of what the cause is: that of the metric of its rule. */
static const char *colour_of(yyjson_val *verdict)
{
	yyjson_val *cause = yyjson_obj_get(verdict, "cause"), *e;
	size_t i, n;

	yyjson_arr_foreach(yyjson_obj_get(verdict, "evidence"), i, n, e)
	{
		yyjson_val *metric = yyjson_obj_get(e, "metric");
		const isc_html_metric *m = NULL;

		if (yyjson_is_str(metric) && yyjson_is_str(cause) && yyjson_equals(yyjson_obj_get(e, "rule"), cause))
			m = isc_html_metric_named(yyjson_get_str(metric), yyjson_get_len(metric));
		if (m != NULL)
			return m->colour;
	}
	return "none";
}

/* What is said below: the end of a long sentence, what can be saved, and the places. */
static void add_below(isc_buffer *out, struct headline_piece most, struct headline_piece saved,
		      const struct headline_piece *places, size_t count)
{
	struct headline_piece fix = cut(&saved, " can be saved by ");

	if (most.len + fix.len + count == 0)
		return;
	isc_buffer_text(out, "<p class=\"dek\">");
	if (most.len > 0) {
		isc_buffer_text(out, "Most of all ");
		add_text(out, most);
		isc_buffer_text(out, ". ");
	}
	if (fix.len > 0) {
		isc_buffer_text(out, "At most <b>");
		add_text(out, saved);
		isc_buffer_text(out, "</b> can be saved by ");
		add_text(out, fix);
		isc_buffer_text(out, ".");
	}
	isc_buffer_text(out, "</p>");
	if (count > 0)
		isc_buffer_text(out, "<p class=\"at mono\">");
	for (size_t i = 0; i < count; i++) {
		isc_buffer_text(out, i > 0 ? ", " : "");
		add_text(out, places[i]);
	}
	isc_buffer_text(out, count > 0 ? "</p>" : "");
}

void isc_html_headline(isc_buffer *out, yyjson_val *verdict)
{
	yyjson_val *text = yyjson_obj_get(verdict, "headline");
	struct headline_piece what, saved, most, places[PLACES];
	isc_buffer whole = {0}, head = {0};
	size_t count, length;

	if (yyjson_get_len(text) == 0) {
		isc_buffer_text(out, "<h1>Nothing stands out</h1>");
		return;
	}
	isc_words_names(&whole, yyjson_get_str(text), yyjson_get_len(text));
	what = (struct headline_piece){whole.data, whole.len};
	if (what.len > 0 && what.at[what.len - 1] == '.')
		what.len--;
	saved = cut(&what, "; at most ");
	if (saved.len > 0 && find(saved, " can be saved by ") == NULL) {
		what.len += strlen("; at most ") + saved.len;
		saved.len = 0;
	}
	most = cut(&what, ", most of all ");
	count = add_what(&head, what, colour_of(verdict), places);
	length = what.len;
	for (size_t i = 0; i < count; i++)
		length -= places[i].len + strlen(" ()");
	isc_buffer_text(out, length > LONG_HEADLINE ? "<h1 class=\"long\">" : "<h1>");
	if (head.data != NULL)
		isc_buffer_add(out, head.data, head.len);
	isc_buffer_text(out, "</h1>");
	add_below(out, most, saved, places, count);
	out->failed |= head.failed || whole.failed;
	isc_buffer_fini(&whole);
	isc_buffer_fini(&head);
}
