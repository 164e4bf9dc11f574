/*
 * html_change.c - what to change, best first, and what that saves at most of what.
 */
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "report/html/html_parts.h"

#define SHOWN 3u /* suggestions; more lie behind a fold */

/* What a saving is a part of, as in the headline: one scope of those that were judged, all that was judged, or what a
 * GPU took from its first to its last work. */
struct whole {
	double us, parts; /* not above 0: not known; divides both */
	yyjson_val *name; /* of the scope; NULL: it is none */
};

/* The number behind the first "GPU "; -1: there is none. */
static double device_in(yyjson_val *why)
{
	const char *at = yyjson_is_str(why) ? strstr(yyjson_get_str(why), "GPU ") : NULL;

	return at != NULL ? (double)strtol(at + strlen("GPU "), NULL, 10) : -1;
}

/* Which GPU a suggestion is about: the one that its rule fired for, and of several the one that it names. */
static double device_of(yyjson_val *report, yyjson_val *suggestion)
{
	yyjson_val *evidence = yyjson_obj_get(yyjson_obj_get(report, "verdict"), "evidence"), *e;
	double device, named = device_in(yyjson_obj_get(suggestion, "why")), found = -1;
	size_t i, n;

	yyjson_arr_foreach(evidence, i, n, e)
	{
		if (!yyjson_equals(yyjson_obj_get(e, "rule"), yyjson_obj_get(suggestion, "rule")))
			continue;
		device = isc_html_number(e, "device_id");
		if (found < 0 || device == named)
			found = device;
	}
	return found;
}

static struct whole whole_of_scopes(yyjson_val *window)
{
	double judged = isc_html_number(window, "judged_us"), each = isc_html_number(window, "each_us");

	return (struct whole){judged, each > 0 ? judged / each : 1,
			      isc_html_number(window, "scopes") > 1 ? yyjson_obj_get(window, "scope") : NULL};
}

static struct whole whole_of(yyjson_val *report, yyjson_val *suggestion)
{
	yyjson_val *window = yyjson_obj_get(report, "window"), *gpu;
	double device = device_of(report, suggestion);
	size_t i, n;

	if (device < 0)
		return whole_of_scopes(window);
	yyjson_arr_foreach(yyjson_obj_get(report, "gpus"), i, n, gpu)
	{
		if (isc_html_number(gpu, "device_id") == device)
			return (struct whole){isc_html_number(gpu, "span_us"), 1, NULL};
	}
	return (struct whole){-1, 1, NULL};
}

/* What is left, and what goes, as one bar: a share of what it is part of. */
static void add_bar(isc_buffer *out, double saves, struct whole whole)
{
	double left = (whole.us - saves) / whole.us * 100;
	isc_units u;

	isc_buffer_format(out,
			  "<svg class=\"sbar\" aria-hidden=\"true\"><rect width=\"%.2f%%\" height=\"12\"/>"
			  "<rect class=\"gone\" x=\"%.2f%%\" y=\"1\" width=\"%.2f%%\" height=\"10\"/></svg>",
			  left, left, 100 - left);
	isc_buffer_text(out, "<span class=\"muted\">");
	if (yyjson_is_str(whole.name))
		isc_html_escaped(out, whole.name);
	else
		isc_buffer_text(out, "it");
	isc_buffer_format(out, " would take %s or more</span>", isc_units_time(&u, (whole.us - saves) / whole.parts));
}

static void add_saves(isc_buffer *out, yyjson_val *suggestion, struct whole whole)
{
	double saves = isc_html_number(suggestion, "saves_at_most_us");
	bool known = saves >= 0 && whole.us >= saves && whole.us > 0;
	isc_units u, v;

	isc_buffer_text(out, "<div class=\"save\">");
	if (saves >= 0) {
		isc_buffer_format(out, "<span class=\"muted\">saves at most</span><b>%s",
				  isc_units_time(&u, known ? saves / whole.parts : saves));
		if (known)
			isc_buffer_format(out, " <small>of %s</small>", isc_units_time(&v, whole.us / whole.parts));
		isc_buffer_text(out, "</b>");
	} else {
		isc_buffer_text(out, "<span class=\"muted\">what it saves is not known</span>");
	}
	if (known)
		add_bar(out, saves, whole);
	isc_buffer_text(out, "</div>");
}

static void add_suggestion(isc_buffer *out, yyjson_val *report, yyjson_val *s, size_t number)
{
	const char *where = yyjson_get_str(yyjson_obj_get(s, "where")), *why = yyjson_get_str(yyjson_obj_get(s, "why"));

	isc_buffer_format(out, "<li><span class=\"n\">%zu</span><div><div class=\"t\">", number);
	isc_html_text(out, s, "title");
	isc_buffer_text(out, "</div><p class=\"why\">");
	isc_html_names(out, yyjson_obj_get(s, "why"));
	isc_buffer_text(out, "</p>");
	/* Mostly the reason has it already. */
	if (where != NULL && (why == NULL || strstr(why, where) == NULL)) {
		isc_buffer_text(out, "<span class=\"where mono\">");
		isc_html_names(out, yyjson_obj_get(s, "where"));
		isc_buffer_text(out, "</span>");
	}
	if (yyjson_is_str(yyjson_obj_get(s, "check"))) {
		isc_buffer_text(out, "<p class=\"chk\">To check: ");
		isc_html_text(out, s, "check");
		isc_buffer_text(out, ".</p>");
	}
	isc_buffer_text(out, "</div>");
	add_saves(out, s, whole_of(report, s));
	isc_buffer_text(out, "</li>\n");
}

static void add_suggestions(isc_buffer *out, yyjson_val *report, yyjson_val *list)
{
	size_t i, n;
	yyjson_val *s;

	isc_buffer_text(out, "<h2 class=\"h3\">What to change, best first</h2><ol class=\"sug\">\n");
	yyjson_arr_foreach(list, i, n, s)
	{
		if (i == SHOWN)
			isc_buffer_format(out, "</ol><details><summary>%zu more</summary><ol class=\"sug\">\n",
					  n - SHOWN);
		add_suggestion(out, report, s, i + 1);
	}
	isc_buffer_text(out, n > SHOWN ? "</ol></details>" : "</ol>");
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
