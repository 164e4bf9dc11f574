/*
 * html_top.c - the verdict, what to change and why: what a reader sees first.
 */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "report/html_parts.h"

#define SHOWN 3u	  /* suggestions; more lie behind a fold */
#define LONG_HEADLINE 90u /* characters, set smaller */
#define STEPS 5		  /* of how strong the evidence is */
#define CHARACTERS 1000u  /* of a text; names may be a megabyte */

void isc_html_escaped(isc_buffer *out, yyjson_val *text)
{
	if (yyjson_is_str(text))
		isc_text_html(out, yyjson_get_str(text), yyjson_get_len(text), CHARACTERS);
}

bool isc_html_text(isc_buffer *out, yyjson_val *object, const char *key)
{
	yyjson_val *text = yyjson_obj_get(object, key);

	isc_html_escaped(out, text);
	return yyjson_is_str(text) && yyjson_get_len(text) > 0;
}

double isc_html_number(yyjson_val *object, const char *key)
{
	yyjson_val *number = yyjson_obj_get(object, key);

	return yyjson_is_num(number) ? yyjson_get_num(number) : -1;
}

static const char *first(yyjson_val *argv, size_t *len)
{
	yyjson_val *best = NULL, *arg;
	size_t i, n;

	/* What a program is known by: its script, else its first word. */
	yyjson_arr_foreach(argv, i, n, arg)
	{
		if (yyjson_is_str(arg) && (best == NULL || (i == 1 && yyjson_get_str(arg)[0] != '-')))
			best = arg;
	}
	*len = yyjson_get_len(best);
	return yyjson_get_str(best);
}

void isc_html_title(isc_buffer *out, yyjson_val *report)
{
	size_t len = 0;
	const char *name = first(yyjson_obj_get(yyjson_obj_get(report, "program"), "argv"), &len);
	const char *slash = name != NULL ? memrchr(name, '/', len) : NULL;
	yyjson_val *verdict = yyjson_obj_get(report, "verdict");

	if (slash != NULL) {
		len -= (size_t)(slash + 1 - name);
		name = slash + 1;
	}
	if (len > 0) {
		isc_text_html(out, name, len, 80);
		isc_buffer_text(out, ": ");
	}
	if (!yyjson_is_str(yyjson_obj_get(verdict, "withheld")) && isc_html_text(out, verdict, "bottleneck"))
		isc_buffer_text(out, " - ");
	isc_buffer_text(out, "InferScope");
}

void isc_html_command(isc_buffer *out, yyjson_val *report)
{
	yyjson_val *argv = yyjson_obj_get(yyjson_obj_get(report, "program"), "argv"), *arg;
	size_t i, n;

	yyjson_arr_foreach(argv, i, n, arg)
	{
		if (i > 0)
			isc_buffer_text(out, " ");
		isc_html_escaped(out, arg);
	}
}

static void add_judged(isc_buffer *out, yyjson_val *report)
{
	yyjson_val *window = yyjson_obj_get(report, "window");
	double from = isc_html_number(window, "from_us"), to = isc_html_number(window, "to_us");
	isc_units u;

	isc_buffer_text(out, "<span>Judged: ");
	isc_html_text(out, window, "why");
	if (to > from && from >= 0)
		isc_buffer_format(out, ", %s", isc_units_time(&u, to - from));
	isc_buffer_text(out, "</span>");
}

static void add_chip(isc_buffer *out, yyjson_val *verdict, const char *key, const char *class)
{
	if (!yyjson_is_str(yyjson_obj_get(verdict, key)))
		return;
	isc_buffer_format(out, "<span class=\"chip%s\">", class);
	isc_html_text(out, verdict, key);
	isc_buffer_text(out, "</span>");
}

static const char *strength(double confidence)
{
	return confidence >= 0.85   ? "Strong evidence"
	       : confidence >= 0.65 ? "Good evidence"
	       : confidence >= 0.45 ? "Fair evidence"
				    : "Weak evidence";
}

static void add_sure(isc_buffer *out, yyjson_val *verdict)
{
	double confidence = isc_html_number(verdict, "confidence");
	int steps = (int)ceil(confidence * STEPS);

	isc_buffer_format(out, "<div class=\"sure\"><span class=\"pips\" role=\"img\" aria-label=\"%d of %d steps\">",
			  steps, STEPS);
	for (int i = 0; i < STEPS; i++)
		isc_buffer_text(out, i < steps ? "<i></i>" : "<i class=\"off\"></i>");
	isc_buffer_format(out, "</span><b>%s</b><p>Confidence %.2f of 1.", strength(confidence), confidence);
	if (yyjson_arr_size(yyjson_obj_get(verdict, "would_change")) > 0)
		isc_buffer_text(out, " <a href=\"#would-change\">What would change it</a>");
	isc_buffer_text(out, "</p></div>");
}

void isc_html_verdict(isc_buffer *out, yyjson_val *report)
{
	yyjson_val *verdict = yyjson_obj_get(report, "verdict");
	bool withheld = yyjson_is_str(yyjson_obj_get(verdict, "withheld"));

	isc_buffer_text(out, "<div class=\"kick\">");
	if (withheld) {
		isc_buffer_text(out, "<span class=\"chip\">no verdict</span>");
	} else {
		add_chip(out, verdict, "bottleneck", "");
		/* One cause has the name of its class. */
		if (!yyjson_equals(yyjson_obj_get(verdict, "bottleneck"), yyjson_obj_get(verdict, "cause")))
			add_chip(out, verdict, "cause", " mono");
	}
	add_judged(out, report);
	isc_buffer_format(out, "</div>\n<div class=\"vhead\"><div><h1%s>",
			  yyjson_get_len(yyjson_obj_get(verdict, "headline")) > LONG_HEADLINE ? " class=\"long\"" : "");
	if (withheld)
		isc_buffer_text(out, "No verdict is given");
	else if (!isc_html_text(out, verdict, "headline"))
		isc_buffer_text(out, "Nothing stands out");
	isc_buffer_text(out, "</h1>");
	if (withheld) {
		isc_buffer_text(out, "<p class=\"dek\">Withheld: ");
		isc_html_text(out, verdict, "withheld");
		isc_buffer_text(out, ". What was seen is below.</p>");
	}
	isc_buffer_text(out, "</div>");
	if (!withheld)
		add_sure(out, verdict);
	isc_buffer_text(out, "</div>\n");
}

/* What is left, and what goes, as one bar: a share of what it is part of. */
static void add_saves(isc_buffer *out, yyjson_val *suggestion, double whole)
{
	double saves = isc_html_number(suggestion, "saves_at_most_us"), left;
	isc_units u, v;

	isc_buffer_text(out, "<div class=\"save\">");
	if (saves >= 0) {
		isc_buffer_format(out, "<span class=\"muted\">saves at most</span><b>%s", isc_units_time(&u, saves));
		if (whole >= saves && whole > 0)
			isc_buffer_format(out, " <small>of %s</small>", isc_units_time(&v, whole));
		isc_buffer_text(out, "</b>");
	} else {
		isc_buffer_text(out, "<span class=\"muted\">what it saves is not known</span>");
	}
	if (saves >= 0 && whole >= saves && whole > 0) {
		left = (whole - saves) / whole * 100;
		isc_buffer_format(out,
				  "<svg class=\"sbar\" aria-hidden=\"true\"><rect width=\"%.2f%%\" height=\"12\"/>"
				  "<rect class=\"gone\" x=\"%.2f%%\" y=\"1\" width=\"%.2f%%\" height=\"10\"/></svg>",
				  left, left, 100 - left);
	}
	isc_buffer_text(out, "</div>");
}

static void add_suggestion(isc_buffer *out, yyjson_val *s, size_t number, double whole)
{
	isc_buffer_format(out, "<li><span class=\"n\">%zu</span><div><div class=\"t\">", number);
	isc_html_text(out, s, "title");
	isc_buffer_text(out, "</div><p class=\"why\">");
	isc_html_text(out, s, "why");
	isc_buffer_text(out, "</p>");
	if (yyjson_is_str(yyjson_obj_get(s, "where"))) {
		isc_buffer_text(out, "<span class=\"where mono\">");
		isc_html_text(out, s, "where");
		isc_buffer_text(out, "</span>");
	}
	isc_buffer_text(out, "</div>");
	add_saves(out, s, whole);
	if (yyjson_is_str(yyjson_obj_get(s, "check"))) {
		isc_buffer_text(out, "<div class=\"chk\"><span class=\"lab\">Check:</span><code>");
		isc_html_text(out, s, "check");
		isc_buffer_text(out, "</code></div>");
	}
	isc_buffer_text(out, "</li>\n");
}

static void add_suggestions(isc_buffer *out, yyjson_val *list, double whole)
{
	size_t i, n;
	yyjson_val *s;

	isc_buffer_text(out, "<h2 class=\"h3\">What to change, best first</h2><ol class=\"sug\">\n");
	yyjson_arr_foreach(list, i, n, s)
	{
		if (i == SHOWN)
			isc_buffer_format(out, "</ol><details><summary>%zu more</summary><ol class=\"sug\">\n",
					  n - SHOWN);
		add_suggestion(out, s, i + 1, whole);
	}
	isc_buffer_text(out, n > SHOWN ? "</ol></details>" : "</ol>");
	isc_buffer_text(out, "<p class=\"cap\">Each bound stands alone. They overlap, so they do not add up.</p>");
}

static void add_evidence(isc_buffer *out, yyjson_val *e)
{
	double value = isc_html_number(e, "value"), threshold = isc_html_number(e, "threshold");
	double most = fmax(fmax(value, threshold) * 1.15, 1e-9);
	isc_units u, v;

	isc_buffer_text(out, "<tr><td>");
	if (!isc_html_text(out, e, "metric"))
		isc_html_text(out, e, "rule");
	isc_buffer_format(
		out,
		"</td><td><svg aria-hidden=\"true\"><rect class=\"track\" y=\"3\" width=\"100%%\" height=\"8\"/>"
		"<rect y=\"3\" width=\"%.2f%%\" height=\"8\"/>",
		fmax(value, 0) / most * 100);
	if (threshold >= 0)
		isc_buffer_format(out, "<rect class=\"tick\" x=\"%.2f%%\" width=\"2\" height=\"14\"/>",
				  threshold / most * 100);
	isc_buffer_format(out, "</svg></td><td><b>%s</b>", value >= 0 ? isc_units_number(&u, value) : "?");
	if (threshold >= 0)
		isc_buffer_format(out, " over %s", isc_units_number(&v, threshold));
	isc_buffer_text(out, "</td></tr>\n");
}

static void add_why(isc_buffer *out, yyjson_val *verdict)
{
	yyjson_val *evidence = yyjson_obj_get(verdict, "evidence"), *change = yyjson_obj_get(verdict, "would_change");
	yyjson_val *one;
	size_t i, n;

	if (yyjson_arr_size(evidence) > 0) {
		isc_buffer_text(out, "<h2 class=\"h3\">The evidence</h2><div class=\"ev\"><table class=\"evt\">"
				     "<caption class=\"vh\">Value against threshold</caption><tbody>\n");
		yyjson_arr_foreach(evidence, i, n, one) add_evidence(out, one);
		isc_buffer_text(out, "</tbody></table><p class=\"cap\">Bar: measured. Tick: threshold of the rule."
				     "</p></div>");
	}
	if (yyjson_arr_size(change) > 0) {
		isc_buffer_text(out, "<h2 class=\"h3\" id=\"would-change\">What would change this verdict</h2>"
				     "<ul class=\"flip\">\n");
		yyjson_arr_foreach(change, i, n, one)
		{
			isc_buffer_text(out, "<li>");
			isc_html_escaped(out, one);
			isc_buffer_text(out, "</li>\n");
		}
		isc_buffer_text(out, "</ul>");
	}
}

/* What a saving is a part of: the time of the thread that is judged, else the window. */
static double judged_us(yyjson_val *report)
{
	yyjson_val *tid = yyjson_obj_get(yyjson_obj_get(report, "breakdown"), "thread_id"), *thread;
	yyjson_val *window = yyjson_obj_get(report, "window");
	size_t i, n;

	yyjson_arr_foreach(yyjson_obj_get(report, "threads"), i, n, thread)
	{
		if (yyjson_is_num(tid) && yyjson_equals(yyjson_obj_get(thread, "thread_id"), tid))
			return isc_html_number(thread, "wall_us");
	}
	return isc_html_number(window, "to_us") - isc_html_number(window, "from_us");
}

void isc_html_suggestions(isc_buffer *out, yyjson_val *report)
{
	yyjson_val *verdict = yyjson_obj_get(report, "verdict"), *list = yyjson_obj_get(report, "suggestions");
	double whole = judged_us(report);
	bool why = yyjson_arr_size(yyjson_obj_get(verdict, "evidence")) +
			   yyjson_arr_size(yyjson_obj_get(verdict, "would_change")) >
		   0;

	if (yyjson_arr_size(list) == 0 && !why)
		return;
	isc_buffer_text(out,
			yyjson_arr_size(list) > 0 ? "<div class=\"vgrid\"><div>" : "<div class=\"vgrid one\"><div>");
	if (yyjson_arr_size(list) > 0) {
		add_suggestions(out, list, whole);
		isc_buffer_text(out, "</div><div>");
	}
	add_why(out, verdict);
	isc_buffer_text(out, "</div></div>\n");
}
