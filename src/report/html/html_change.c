/*
 * html_change.c - what to change, best first, and what that saves at most of what.
 */
#include "base/arena.h"
#include "base/text.h"
#include "base/units.h"
#include "report/html/html_parts.h"
#include "report/html/html_phrase.h"
#include "report/json/tables.h"

#define SHOWN 3u	 /* suggestions; more lie behind a fold */
#define CHARACTERS 1000u /* of a text; names may be a megabyte */

/* What is left, and what goes, as one bar: a share of what it is part of. */
static void add_bar(isc_buffer *out, const isc_claim *c)
{
	bool named = c->subject.kind == ISC_CLAIM_OF_SCOPES || c->subject.kind == ISC_CLAIM_OF_THREAD;
	double left = (c->of_us - c->saving_us) / c->of_us * 100;
	isc_text name = c->subject.name;
	isc_units u;

	isc_buffer_format(out,
			  "<svg class=\"sbar\" aria-hidden=\"true\"><rect width=\"%.2f%%\" height=\"12\"/>"
			  "<rect class=\"gone\" x=\"%.2f%%\" y=\"1\" width=\"%.2f%%\" height=\"10\"/></svg>",
			  left, left, 100 - left);
	isc_buffer_text(out, "<span class=\"muted\">");
	if (named)
		isc_text_html(out, name.at, name.len, CHARACTERS);
	else
		isc_buffer_text(out, "it");
	isc_buffer_format(out, " would take %s or more</span>", isc_units_time(&u, c->of_us - c->saving_us));
}

/* A saving is a part of what the headline names: one scope of those that were judged, all that was judged, or what a
 * GPU took from its first to its last work. */
static void add_saves(isc_buffer *out, const isc_claim *c, double saves)
{
	bool known = c->saving_us >= 0 && c->of_us >= c->saving_us && c->of_us > 0;
	isc_units u, v;

	isc_buffer_text(out, "<div class=\"save\">");
	if (saves >= 0) {
		isc_buffer_format(out, "<span class=\"muted\">saves at most</span><b>%s",
				  isc_units_time(&u, known ? c->saving_us : saves));
		if (known)
			isc_buffer_format(out, " <small>of %s</small>", isc_units_time(&v, c->of_us));
		isc_buffer_text(out, "</b>");
	} else {
		isc_buffer_text(out, "<span class=\"muted\">what it saves is not known</span>");
	}
	if (saves >= 0 && known)
		add_bar(out, c);
	isc_buffer_text(out, "</div>");
}

/* What was seen, and where, unless that says it already. */
static void add_why(isc_buffer *out, yyjson_val *s, const isc_phrase *p)
{
	bool told = p->text.len == 0;

	isc_buffer_text(out, "</div><p class=\"why\">");
	if (told)
		isc_html_text(out, s, "why");
	else
		isc_html_phrase(out, p, 0, p->text.len);
	isc_buffer_text(out, told ? "</p>" : ".</p>");
	if (!yyjson_is_str(yyjson_obj_get(s, "where")) || isc_html_phrase_names(p))
		return;
	isc_buffer_text(out, "<span class=\"where mono\">");
	isc_html_text(out, s, "where");
	isc_buffer_text(out, "</span>");
}

static void add_suggestion(isc_buffer *out, isc_arena *arena, yyjson_val *s, size_t number)
{
	isc_phrase phrase = {0};
	isc_claim claim;

	isc_claim_read(arena, s, &claim);
	isc_phrase_claim(&phrase, &claim);
	isc_buffer_format(out, "<li><span class=\"n\">%zu</span><div><div class=\"t\">", number);
	isc_html_text(out, s, "title");
	add_why(out, s, &phrase);
	if (yyjson_is_str(yyjson_obj_get(s, "check"))) {
		isc_buffer_text(out, "<p class=\"chk\">To check: ");
		isc_html_text(out, s, "check");
		isc_buffer_text(out, ".</p>");
	}
	isc_buffer_text(out, "</div>");
	add_saves(out, &claim, isc_html_number(s, "saves_at_most_us"));
	isc_buffer_text(out, "</li>\n");
	out->failed |= phrase.text.failed;
	isc_phrase_fini(&phrase);
}

static void add_rows(isc_buffer *out, yyjson_val *list)
{
	isc_arena *arena = isc_arena_new();
	size_t i, n;
	yyjson_val *s;

	yyjson_arr_foreach(list, i, n, s)
	{
		if (arena == NULL)
			break;
		if (i == SHOWN)
			isc_buffer_format(out, "</ol><details><summary>%zu more</summary><ol class=\"sug\">\n",
					  n - SHOWN);
		add_suggestion(out, arena, s, i + 1);
	}
	out->failed |= arena == NULL || arena->failed;
	isc_arena_free(arena);
}

static void add_suggestions(isc_buffer *out, yyjson_val *report, yyjson_val *list)
{
	isc_buffer_text(out, "<h2 class=\"h3\">What to change, best first</h2><ol class=\"sug\">\n");
	add_rows(out, list);
	isc_buffer_text(out, yyjson_arr_size(list) > SHOWN ? "</ol></details>" : "</ol>");
	isc_buffer_text(out, "<p class=\"cap\">Each bound stands alone. They overlap, so they do not add up.</p>");
	/* Of files of other tools there is no second run of ours to compare with. */
	if (yyjson_is_obj(yyjson_obj_get(yyjson_obj_get(report, "program"), "input")))
		return;
	isc_buffer_text(out, "<p class=\"cmd\"><span>Changed it? Record again, and see what came of it:</span> "
			     "<code>inferscope diff before.isc after.isc --output diff.html</code></p>");
}

void isc_html_suggestions(isc_buffer *out, yyjson_val *report)
{
	yyjson_val *verdict = yyjson_obj_get(report, "verdict"), *list = yyjson_obj_get(report, "suggestions");
	bool why = yyjson_arr_size(yyjson_obj_get(verdict, "evidence")) +
			   yyjson_arr_size(yyjson_obj_get(verdict, "would_change")) >
		   0;

	if (yyjson_arr_size(list) == 0 && !why)
		return;
	isc_buffer_text(out,
			yyjson_arr_size(list) > 0 ? "<div class=\"vgrid\"><div>" : "<div class=\"vgrid one\"><div>");
	if (yyjson_arr_size(list) > 0) {
		add_suggestions(out, report, list);
		isc_buffer_text(out, "</div><div>");
	}
	isc_html_evidence(out, verdict);
	isc_buffer_text(out, "</div></div>\n");
}
