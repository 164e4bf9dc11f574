/*
 * html_top.c - the top of the page: what ran, and the verdict.
 */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "report/html/html_parts.h"

#define STEPS 5		 /* of how strong the evidence is */
#define CHARACTERS 1000u /* of a text; names may be a megabyte */

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

/* Files of another tool have no command: they are known by the name of the first. */
static yyjson_val *input_of(yyjson_val *report)
{
	return yyjson_obj_get(yyjson_obj_get(report, "program"), "input");
}

void isc_html_title(isc_buffer *out, yyjson_val *report)
{
	yyjson_val *verdict = yyjson_obj_get(report, "verdict"), *input = yyjson_obj_get(input_of(report), "name");
	size_t len = 0;
	const char *name = first(yyjson_obj_get(yyjson_obj_get(report, "program"), "argv"), &len), *slash;

	if (name == NULL && yyjson_is_str(input)) {
		name = yyjson_get_str(input);
		len = yyjson_get_len(input);
	}
	slash = name != NULL ? memrchr(name, '/', len) : NULL;
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
	yyjson_val *argv = yyjson_obj_get(yyjson_obj_get(report, "program"), "argv"), *input = input_of(report), *arg;
	double files = isc_html_number(input, "files");
	isc_units u;
	size_t i, n;

	yyjson_arr_foreach(argv, i, n, arg)
	{
		if (i > 0)
			isc_buffer_text(out, " ");
		isc_html_escaped(out, arg);
	}
	if (yyjson_arr_size(argv) > 0 || !isc_html_text(out, input, "name"))
		return;
	if (files > 1)
		isc_buffer_format(out, " and %s more", isc_units_number(&u, files - 1));
	isc_buffer_text(out, ", ");
	isc_html_text(out, input, "format");
}

static void add_judged(isc_buffer *out, yyjson_val *report)
{
	yyjson_val *window = yyjson_obj_get(report, "window");
	double from = isc_html_number(window, "from_us"), to = isc_html_number(window, "to_us");
	double judged = isc_html_number(window, "judged_us");
	isc_units u;

	isc_buffer_text(out, "<span>Judged: ");
	isc_html_text(out, window, "why");
	if (judged > 0 || (to > from && from >= 0))
		isc_buffer_format(out, ", %s", isc_units_time(&u, judged > 0 ? judged : to - from));
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
	isc_buffer_text(out, "</div>\n<div class=\"vhead\"><div>");
	if (withheld) {
		isc_buffer_text(out, "<h1>No verdict is given</h1><p class=\"dek\">Withheld: ");
		isc_html_text(out, verdict, "withheld");
		isc_buffer_text(out, ". What was seen is below.</p>");
	} else {
		isc_html_headline(out, verdict);
	}
	isc_buffer_text(out, "</div>");
	if (!withheld)
		add_sure(out, verdict);
	isc_buffer_text(out, "</div>\n");
}
