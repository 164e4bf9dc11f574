/*
 * html_evidence.c - why the verdict can be believed: each metric against its threshold, and what would change it.
 */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "analyze/rules/rule.h"
#include "base/arena.h"
#include "base/text.h"
#include "base/units.h"
#include "report/html/html_metric.h"
#include "report/html/html_parts.h"
#include "report/json/tables.h"
#include "report/text/phrase.h"

#define CHARACTERS 1000u /* of a text; names may be a megabyte */

/* "70.1%", "3.2x", "19.05 GB/s"; exact: a threshold, as somebody wrote it. */
static void add_value(isc_buffer *out, const isc_metric *metric, double value, bool exact)
{
	const char *unit = metric != NULL ? metric->unit : "";
	bool percent = strcmp(unit, "%") == 0;
	isc_units u;

	if (value < 0)
		isc_buffer_text(out, "?");
	else if (percent && !exact)
		isc_buffer_text(out, isc_units_percent(&u, value));
	else
		isc_buffer_format(out, "%s%s%s", isc_units_number(&u, value),
				  isalpha(unit[0]) && unit[1] != 0 ? " " : "", unit);
}

static void add_evidence(isc_buffer *out, yyjson_val *e)
{
	double value = isc_html_number(e, "value"), threshold = isc_html_number(e, "threshold");
	double most = fmax(fmax(value, threshold) * 1.15, 1e-9), device = isc_html_number(e, "device_id");
	yyjson_val *name = yyjson_obj_get(e, "metric");
	const isc_metric *metric = yyjson_is_str(name) ? isc_metric_named(yyjson_get_str(name)) : NULL;
	const isc_html_metric *words =
		yyjson_is_str(name) ? isc_html_metric_named(yyjson_get_str(name), yyjson_get_len(name)) : NULL;

	isc_buffer_text(out, "<tr><td>");
	if (words != NULL)
		isc_buffer_text(out, words->words);
	else if (!isc_html_text(out, e, "metric"))
		isc_html_text(out, e, "rule");
	if (device >= 0)
		isc_buffer_format(out, ", GPU %.0f", device);
	isc_buffer_format(
		out,
		"</td><td><svg aria-hidden=\"true\"><rect class=\"track\" y=\"3\" width=\"100%%\" height=\"8\"/>"
		"<rect y=\"3\" width=\"%.2f%%\" height=\"8\"/>",
		fmax(value, 0) / most * 100);
	if (threshold >= 0)
		isc_buffer_format(out, "<rect class=\"tick\" x=\"%.2f%%\" width=\"2\" height=\"14\"/>",
				  threshold / most * 100);
	isc_buffer_text(out, "</svg></td><td><b>");
	add_value(out, metric, value, false);
	isc_buffer_text(out, "</b>");
	if (threshold >= 0) {
		isc_buffer_text(out, " over ");
		add_value(out, metric, threshold, true);
	}
	isc_buffer_text(out, "</td></tr>\n");
}

/* With its metric in words. */
static void add_change(isc_buffer *out, isc_arena *arena, yyjson_val *parts, yyjson_val *told)
{
	const isc_html_metric *words = NULL;
	isc_analysis_change change;
	isc_buffer raw = {0};

	isc_change_read(arena, parts, told, &change);
	if (change.metric != NULL)
		words = isc_html_metric_named(change.metric, strlen(change.metric));
	isc_phrase_change(&raw, &change, words != NULL ? words->words : NULL);
	isc_buffer_text(out, "<li>");
	isc_text_html(out, raw.data, raw.len, CHARACTERS);
	isc_buffer_text(out, "</li>\n");
	out->failed |= raw.failed;
	isc_buffer_fini(&raw);
}

static void add_changes(isc_buffer *out, yyjson_val *verdict)
{
	yyjson_arr_iter parts = yyjson_arr_iter_with(yyjson_obj_get(verdict, "changes"));
	yyjson_val *told = yyjson_obj_get(verdict, "would_change"), *one;
	isc_arena *arena = isc_arena_new();
	size_t i, n;

	isc_buffer_text(out, "<h2 class=\"h3\" id=\"would-change\">What would change this verdict</h2>"
			     "<ul class=\"flip\">\n");
	yyjson_arr_foreach(told, i, n, one)
	{
		if (arena != NULL)
			add_change(out, arena, yyjson_arr_iter_next(&parts), one);
	}
	isc_buffer_text(out, "</ul>");
	out->failed |= arena == NULL || arena->failed;
	isc_arena_free(arena);
}

void isc_html_evidence(isc_buffer *out, yyjson_val *verdict)
{
	yyjson_val *evidence = yyjson_obj_get(verdict, "evidence"), *one;
	size_t i, n;

	if (yyjson_arr_size(evidence) > 0) {
		isc_buffer_text(out, "<h2 class=\"h3\">The evidence</h2><div class=\"ev\"><table class=\"evt\">"
				     "<caption class=\"vh\">Value against threshold</caption><tbody>\n");
		yyjson_arr_foreach(evidence, i, n, one) add_evidence(out, one);
		isc_buffer_text(out, "</tbody></table><p class=\"cap\">Bar: measured. Tick: threshold of the rule."
				     "</p></div>");
	}
	if (yyjson_arr_size(yyjson_obj_get(verdict, "would_change")) > 0)
		add_changes(out, verdict);
}
