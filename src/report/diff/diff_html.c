/*
 * diff_html.c - a comparison as one page for a browser: what changed and what to doubt as plain HTML; the tables and
 * the flame graph of both sides are drawn by the page's script from what is inside it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "report/diff/diff.h"
#include "report/html/html_block.h"
#include "report/html/html_detail.h"
#include "report/html/html_page.h"
#include "report/json/json_tree.h"

#define CHARACTERS 1000u /* of a text; names may be a megabyte */
#define TITLE_MAX 100u
#define LONG_HEADLINE 90u /* characters, set smaller */

static void add_raw(isc_buffer *out, isc_buffer *raw, size_t most)
{
	out->failed |= raw->failed;
	isc_text_html(out, raw->data != NULL ? raw->data : "", raw->len, most);
	isc_buffer_clear(raw);
}

static void add_title(const isc_diff *d, isc_buffer *out)
{
	isc_buffer raw = {0};

	isc_diff_headline(d, &raw);
	add_raw(out, &raw, TITLE_MAX);
	isc_buffer_text(out, " - InferScope");
	isc_buffer_fini(&raw);
}

static void add_runs(const isc_diff *d, isc_buffer *out)
{
	const isc_run_set *sets[] = {&d->comparison.base, &d->comparison.fresh};

	for (size_t i = 0; i < 2; i++)
		isc_buffer_format(out, "%s%zu run%s", i > 0 ? " against " : "", sets[i]->count,
				  sets[i]->count == 1 ? "" : "s");
}

static void add_headline(const isc_diff *d, isc_buffer *out)
{
	isc_buffer raw = {0};

	isc_buffer_text(out, "<div class=\"kick\"><span class=\"chip\">comparison</span><span>");
	add_runs(d, out);
	isc_buffer_text(out, "</span></div>\n<div class=\"vhead\"><div>");
	isc_diff_headline(d, &raw);
	isc_buffer_text(out, raw.len > LONG_HEADLINE ? "<h1 class=\"long\">" : "<h1>");
	add_raw(out, &raw, CHARACTERS);
	isc_buffer_text(out, "</h1></div></div>\n");
	if (d->gate_count > 0)
		isc_buffer_text(out, "<ul class=\"flip\">\n");
	for (size_t i = 0; i < d->gate_count; i++) {
		isc_buffer_text(out, "<li><code>");
		isc_text_html(out, d->gates[i].gate.text, strlen(d->gates[i].gate.text), CHARACTERS);
		isc_buffer_format(out, "</code>: %s</li>\n", isc_diff_result_name(d->gates[i].result));
	}
	if (d->gate_count > 0)
		isc_buffer_text(out, "</ul>\n");
	isc_buffer_fini(&raw);
}

static void add_doubts(const isc_diff *d, isc_buffer *out)
{
	isc_buffer raw = {0};

	isc_buffer_text(out,
			"<div class=\"lede\"><div><p class=\"eyebrow\">What to doubt</p><h2>How sure this is</h2></div>"
			"</div>\n<div class=\"panel\"><ul class=\"warn\">\n");
	for (size_t i = 0; isc_diff_doubt(d, i, &raw); i++) {
		if (raw.len > 0) {
			isc_buffer_text(out, "<li><span class=\"doubt\"><span class=\"vh\">Doubt: </span></span><div>");
			add_raw(out, &raw, CHARACTERS);
			isc_buffer_text(out, ".</div></li>\n");
		}
		isc_buffer_clear(&raw);
	}
	isc_buffer_text(out, "</ul></div>");
	isc_buffer_fini(&raw);
}

static void add_footer(isc_buffer *out)
{
	isc_buffer_text(
		out,
		"<p><b>InferScope " ISC_VERSION "</b>, schema inferscope-diff-1.</p><p>This file stands alone: it "
		"loads nothing, sends nothing and keeps nothing. The same figures are in its JSON block, and in the "
		"comparison as JSON and as Markdown.</p>");
}

static void add_report(const isc_diff *d, isc_buffer *out)
{
	isc_buffer json = {0};

	isc_diff_json(d, &json);
	if (json.failed)
		out->failed = true;
	else
		isc_html_block(out, json.data, json.len);
	isc_buffer_fini(&json);
}

/* ---- the trees ---- */

/* What the times of a side are divided by: its runs, or how often they entered the scope that functions are told per. */
static uint64_t parts_of(const isc_run_set *set, const isc_text *per)
{
	uint64_t n = 0;

	for (size_t i = 0; i < set->count && per->len > 0; i++) {
		for (size_t k = 0; k < set->runs[i]->scope_count; k++) {
			const isc_analysis_scope *s = &set->runs[i]->scopes[k];

			if (s->name.len == per->len && memcmp(s->name.at, per->at, per->len) == 0)
				n += s->count;
		}
	}
	return n > 0 ? n : set->count;
}

static void put_side(struct json *j, val *root, const char *key, const isc_run_set *set, const isc_text *per)
{
	val *o = object_in(j, root, key), *trees = list_in(j, o, "trees");

	put_count(j, o, "per", parts_of(set, per));
	for (size_t i = 0; i < set->count; i++) {
		if (set->runs[i]->tree_count > 0)
			add(j, trees, isc_html_tree(j, set->runs[i]));
	}
}

static void add_detail(const isc_diff *d, isc_buffer *out)
{
	struct json j = {.doc = yyjson_mut_doc_new(NULL)};
	char *text = NULL;
	size_t len = 0;

	if (j.doc != NULL) {
		val *root = yyjson_mut_obj(j.doc);

		yyjson_mut_doc_set_root(j.doc, root);
		put_side(&j, root, "base", &d->comparison.base, &d->comparison.per);
		put_side(&j, root, "new", &d->comparison.fresh, &d->comparison.per);
		if (!j.failed)
			text = yyjson_mut_write(j.doc, YYJSON_WRITE_NOFLAG, &len);
	}
	if (text != NULL)
		isc_html_block(out, text, len);
	else
		out->failed = true;
	free(text);
	isc_buffer_fini(&j.text);
	yyjson_mut_doc_free(j.doc);
}

static void fill(isc_buffer *out, enum isc_page_slot slot, const isc_diff *d)
{
	if (slot == ISC_SLOT_TITLE)
		add_title(d, out);
	else if (slot == ISC_SLOT_COMMAND)
		add_runs(d, out);
	else if (slot == ISC_SLOT_VERDICT)
		add_headline(d, out);
	else if (slot == ISC_SLOT_NOT_SEEN)
		add_doubts(d, out);
	else if (slot == ISC_SLOT_FOOTER)
		add_footer(out);
	else if (slot == ISC_SLOT_REPORT)
		add_report(d, out);
	else if (slot == ISC_SLOT_DETAIL)
		add_detail(d, out);
}

void isc_diff_html(const isc_diff *d, isc_buffer *out)
{
	for (unsigned i = 0; i < isc_diff_page_pieces; i++) {
		isc_buffer_add(out, isc_diff_page[i].text, isc_diff_page[i].len);
		fill(out, isc_diff_page[i].slot, d);
	}
}
