#include "report/text/over_time_words.h"

#include "base/units.h"
#include "report/html/html_parts.h"

#define HTML_ROWS 120u /* twenty minutes of one process; the JSON report has all */

static double unattributed_pct(const isc_analysis_period *p)
{
	return p->sampled_us > 0 ? p->unattributed_us / p->sampled_us * 100 : 0;
}

void isc_over_time_markdown(const isc_analysis *a, isc_buffer *out)
{
	const isc_analysis_period *blind = NULL, *losing = NULL;
	size_t bad = 0;
	isc_units u, v, w;

	for (size_t i = 0; i < a->over_time_count; i++) {
		const isc_analysis_period *p = &a->over_time[i];

		if (!isc_period_is_bad(p))
			continue;
		bad++;
		if (p->lost > 0 && (losing == NULL || p->lost > losing->lost))
			losing = p;
		if (p->samples >= ISC_PERIOD_SAMPLES &&
		    (blind == NULL || unattributed_pct(p) > unattributed_pct(blind)))
			blind = p;
	}
	if (bad == 0)
		return;
	isc_buffer_format(out, "\nIn %s of %s periods recording missed something:", isc_units_count(&u, bad),
			  isc_units_count(&v, a->over_time_count));
	if (blind != NULL && unattributed_pct(blind) > ISC_PERIOD_UNATTRIBUTED_PCT)
		isc_buffer_format(out, " up to %s of the sampled time has no known stack (process %u, from %s to %s)",
				  isc_units_percent(&u, unattributed_pct(blind)), blind->pid,
				  isc_units_time(&v, blind->from_us), isc_units_time(&w, blind->to_us));
	if (losing != NULL)
		isc_buffer_format(out, "%s up to %s events were lost (process %u, from %s to %s)",
				  blind != NULL && unattributed_pct(blind) > ISC_PERIOD_UNATTRIBUTED_PCT ? "," : "",
				  isc_units_count(&u, losing->lost), losing->pid, isc_units_time(&v, losing->from_us),
				  isc_units_time(&w, losing->to_us));
	isc_buffer_text(out, ".\n");
}

static void add_cell(isc_buffer *out, const char *text)
{
	isc_buffer_format(out, "<td class=\"num\">%s</td>", text);
}

static void add_row(isc_buffer *out, yyjson_val *o)
{
	double sampled = isc_html_number(o, "sampled_us"), unknown = isc_html_number(o, "unattributed_us");
	double pid = isc_html_number(o, "process_id");
	isc_units u;

	isc_buffer_text(out, "<tr>");
	add_cell(out, isc_units_time(&u, isc_html_number(o, "from_us")));
	add_cell(out, isc_units_time(&u, isc_html_number(o, "to_us")));
	if (pid >= 0)
		isc_buffer_format(out, "<td class=\"num\">%.0f</td>", pid);
	else
		add_cell(out, "several");
	add_cell(out, isc_units_number(&u, isc_html_number(o, "samples")));
	add_cell(out, sampled > 0 && unknown >= 0 ? isc_units_percent(&u, unknown / sampled * 100) : "");
	add_cell(out, isc_units_number(&u, isc_html_number(o, "events")));
	add_cell(out, isc_units_number(&u, isc_html_number(o, "lost")));
	add_cell(out, isc_units_number(&u, isc_html_number(o, "thinned")));
	add_cell(out, isc_units_time(&u, isc_html_number(o, "cost_us")));
	isc_buffer_text(out, "</tr>\n");
}

void isc_over_time_html(isc_buffer *out, yyjson_val *report)
{
	yyjson_val *list = yyjson_obj_get(yyjson_obj_get(report, "overhead"), "over_time"), *o;
	size_t i, n = yyjson_arr_size(list);

	if (n == 0)
		return;
	isc_buffer_format(
		out,
		"<details class=\"panel\"><summary>Recording over time, %zu period%s</summary><div class=\"ev\">"
		"<table class=\"evt\"><thead><tr><th>from</th><th>to</th><th>process</th><th>samples</th>"
		"<th>unattributed</th><th>events</th><th>lost</th><th>calls thinned out</th><th>own cost</th>"
		"</tr></thead><tbody>\n",
		n, n == 1 ? "" : "s");
	yyjson_arr_foreach(list, i, n, o)
	{
		if (i < HTML_ROWS)
			add_row(out, o);
	}
	isc_buffer_text(out, "</tbody></table></div>");
	if (n > HTML_ROWS)
		isc_buffer_format(out, "<p class=\"muted\">The JSON report has the other %zu.</p>", n - HTML_ROWS);
	isc_buffer_text(out, "</details>\n");
}
