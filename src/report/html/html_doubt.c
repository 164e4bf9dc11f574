/*
 * html_doubt.c - what tracing cost, what was not seen and what to doubt: always
 * there, and always in the same places.
 */
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "report/html/html_parts.h"
#include "report/text/over_time_words.h"

static void begin_cell(isc_buffer *out, bool fine, const char *title)
{
	isc_buffer_format(out, "<div><dt class=\"%s\">%s</dt><dd><b>", fine ? "fine" : "doubt", title);
}

static void end_cell(isc_buffer *out)
{
	isc_buffer_text(out, "</span></dd></div>\n");
}

static void add_cost(isc_buffer *out, yyjson_val *overhead)
{
	double measured = isc_html_number(overhead, "measured_pct"), budget = isc_html_number(overhead, "budget_pct");
	double recorder = isc_html_number(overhead, "recorder_cpu_pct");
	double of_cpu = isc_html_number(overhead, "measured_cpu_pct");
	size_t governed = yyjson_arr_size(yyjson_obj_get(overhead, "governed"));
	isc_units u;

	begin_cell(out, measured >= 0 && (budget < 0 || measured <= budget), "Tracing cost");
	isc_buffer_text(out, measured >= 0 ? isc_units_percent(&u, measured) : "not known");
	isc_buffer_text(out, "</b><span>");
	if (measured < 0 && budget < 0) {
		isc_buffer_text(out, "the trace does not tell what recording it cost");
		end_cell(out);
		return;
	}
	if (budget >= 0)
		isc_buffer_format(out, "of a budget of %s; ", isc_units_percent(&u, budget));
	else
		isc_buffer_text(out, "no budget was set; ");
	if (of_cpu >= 0)
		isc_buffer_format(out, "%s of the program's CPU time; ", isc_units_percent(&u, of_cpu));
	if (recorder >= 0)
		isc_buffer_format(out, "the recorder took %s of a CPU beside it; ", isc_units_percent(&u, recorder));
	if (governed > 0)
		isc_buffer_format(out, "%s function%s thinned", isc_units_count(&u, governed),
				  governed == 1 ? " was" : "s were");
	else
		isc_buffer_text(out, "nothing was thinned");
	end_cell(out);
}

static void add_events(isc_buffer *out, yyjson_val *overhead)
{
	double events = isc_html_number(overhead, "events"), lost = isc_html_number(overhead, "lost");
	double retired = isc_html_number(overhead, "retired");
	isc_units u;

	begin_cell(out, lost == 0, "Events");
	isc_buffer_format(out, "%s, ", events >= 0 ? isc_units_number(&u, events) : "?");
	isc_buffer_format(out, "%s lost</b><span>", lost >= 0 ? isc_units_number(&u, lost) : "an unknown number");
	if (retired > 0)
		isc_buffer_format(out, "%s were dropped to stay under the size limit; totals know them",
				  isc_units_number(&u, retired));
	else
		isc_buffer_text(out, "none was dropped by the size limit");
	end_cell(out);
}

static void add_clock(isc_buffer *out, yyjson_val *report)
{
	yyjson_val *clock = yyjson_obj_get(report, "clock");
	double bound = isc_html_number(clock, "error_bound_us"), fixes = isc_html_number(clock, "causality_fixes");
	bool gpus = yyjson_arr_size(yyjson_obj_get(report, "gpus")) > 0;
	const char *sync = yyjson_get_str(yyjson_obj_get(clock, "sync"));
	isc_units u;

	begin_cell(out, !gpus || (bound >= 0 && sync != NULL && strcmp(sync, "assumed") != 0), "CPU and GPU clock");
	if (!gpus) {
		isc_buffer_text(out, "one clock</b><span>no GPU was seen");
	} else {
		isc_buffer_format(out, bound >= 0 ? "within %s</b><span>" : "%s</b><span>",
				  bound >= 0 ? isc_units_time(&u, bound) : "not known");
		isc_buffer_format(out, "%s work was moved to follow its launch",
				  fixes > 0 ? isc_units_number(&u, fixes) : "no");
		if (sync != NULL && strcmp(sync, "assumed") == 0) {
			isc_buffer_text(out, "; that the clocks agree is assumed");
		} else if (sync != NULL) {
			isc_buffer_text(out, "; by ");
			isc_text_html(out, sync, strlen(sync), 40);
		}
	}
	end_cell(out);
}

static size_t grave(yyjson_val *warnings)
{
	size_t i, n, count = 0;
	yyjson_val *w;

	yyjson_arr_foreach(warnings, i, n, w) count += yyjson_get_bool(yyjson_obj_get(w, "grave"));
	return count;
}

static void add_unseen(isc_buffer *out, yyjson_val *warnings)
{
	size_t all = yyjson_arr_size(warnings), bad = grave(warnings);

	begin_cell(out, bad == 0, "Not seen");
	if (all == 0)
		isc_buffer_text(out, "nothing</b><span>all that was asked for was recorded");
	else if (bad == 0)
		isc_buffer_format(out,
				  "%zu limit%s</b><span>none makes a figure wrong; "
				  "<a href=\"#not-seen\">each with its remedy</a>",
				  all, all == 1 ? "" : "s");
	else
		isc_buffer_format(out,
				  "%zu limit%s</b><span>%zu may make figures wrong or miss some; "
				  "<a href=\"#not-seen\">each with its remedy</a>",
				  all, all == 1 ? "" : "s", bad);
	end_cell(out);
}

static void add_estimated(isc_buffer *out, yyjson_val *report)
{
	yyjson_val *sources = yyjson_obj_get(yyjson_obj_get(report, "breakdown"), "sources"), *key, *source;
	size_t i, n, count = 0;
	isc_buffer names = {0};

	yyjson_obj_foreach(sources, i, n, key, source)
	{
		const char *how = yyjson_get_str(source);

		if (how == NULL || strcmp(how, "estimated") != 0)
			continue;
		isc_buffer_text(&names, count++ > 0 ? ", " : "");
		isc_html_escaped(&names, key);
	}
	begin_cell(out, count == 0 && sources != NULL, "Estimated");
	if (sources == NULL)
		isc_buffer_text(out, "not known</b><span>where the time of threads went was not recorded");
	else if (count == 0)
		isc_buffer_text(out, "no state</b><span>waits were told or sampled, not guessed");
	else
		isc_buffer_format(out, "%zu state%s</b><span>%s", count, count == 1 ? "" : "s",
				  names.data != NULL ? names.data : "");
	out->failed |= names.failed;
	isc_buffer_fini(&names);
	end_cell(out);
}

void isc_html_honest(isc_buffer *out, yyjson_val *report)
{
	yyjson_val *overhead = yyjson_obj_get(report, "overhead");

	isc_buffer_text(out, "<dl class=\"honest\" aria-label=\"What this report cost and what it could not see\">\n");
	add_cost(out, overhead);
	add_events(out, overhead);
	add_clock(out, report);
	add_unseen(out, yyjson_obj_get(report, "warnings"));
	add_estimated(out, report);
	isc_buffer_text(out, "</dl>\n");
}

void isc_html_not_seen(isc_buffer *out, yyjson_val *report)
{
	yyjson_val *warnings = yyjson_obj_get(report, "warnings"), *w;
	size_t i, n = yyjson_arr_size(warnings);

	isc_buffer_text(out,
			"<div class=\"lede\"><div><p class=\"eyebrow\">What was not seen, and what to doubt</p><h2>");
	if (n == 0)
		isc_buffer_text(out, "Nothing is known to be missing");
	else
		isc_buffer_format(out, "%zu limit%s of this recording", n, n == 1 ? "" : "s");
	isc_buffer_text(out, "</h2></div></div>\n");
	if (n == 0) {
		isc_over_time_html(out, report);
		return;
	}
	isc_buffer_text(out, "<div class=\"panel\"><ul class=\"warn\">\n");
	yyjson_arr_foreach(warnings, i, n, w)
	{
		bool bad = yyjson_get_bool(yyjson_obj_get(w, "grave"));

		isc_buffer_format(out, "<li><span class=\"%s\">%s</span><div>", bad ? "doubt" : "fine",
				  bad ? "<span class=\"vh\">Doubt: </span>" : "<span class=\"vh\">Note: </span>");
		isc_html_text(out, w, "text");
		isc_buffer_text(out, "</div><div class=\"muted\">");
		isc_html_text(out, w, "remedy");
		isc_buffer_text(out, "</div></li>\n");
	}
	isc_buffer_text(out, "</ul></div>");
	isc_over_time_html(out, report);
}

void isc_html_footer(isc_buffer *out, yyjson_val *report)
{
	yyjson_val *program = yyjson_obj_get(report, "program");
	double wall = isc_html_number(program, "wall_us");
	isc_units u;

	isc_buffer_text(out, "<p><b>InferScope " ISC_VERSION "</b>, schema ");
	isc_html_text(out, report, "schema");
	if (wall >= 0)
		isc_buffer_format(out, ". The run took %s", isc_units_time(&u, wall));
	if (yyjson_is_str(yyjson_obj_get(program, "host"))) {
		isc_buffer_text(out, " on ");
		isc_html_text(out, program, "host");
	}
	if (yyjson_is_str(yyjson_obj_get(program, "python"))) {
		isc_buffer_text(out, ", Python ");
		isc_html_text(out, program, "python");
	}
	isc_buffer_text(out,
			".</p><p>This file stands alone: it loads nothing, sends nothing and keeps nothing. The same "
			"figures are in its JSON block, the JSON report and the Markdown report.</p>");
}
