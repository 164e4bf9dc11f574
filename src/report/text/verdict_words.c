#include "report/text/verdict_words.h"

#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "report/markdown/grid.h"

#define SUGGESTIONS_MAX 3u /* that a reader takes in */
#define NAME_MAX_LEN 160u
#define PROSE_MAX 1000u

/* The analysis cuts names that are long; what is longer still is nothing to read. */
static void add_prose(isc_buffer *out, isc_text text)
{
	isc_text_prose(out, text.at, text.len < PROSE_MAX ? text.len : PROSE_MAX);
}

static void write_suggestions(const isc_analysis *a, isc_buffer *out)
{
	size_t n = a->suggestion_count < SUGGESTIONS_MAX ? a->suggestion_count : SUGGESTIONS_MAX;
	isc_units u;

	if (n == 0)
		return;
	isc_buffer_text(out, "\n## What to change\n\n");
	for (size_t i = 0; i < n; i++) {
		const isc_analysis_suggestion *s = &a->suggestions[i];

		isc_buffer_format(out, "%zu. **", i + 1);
		add_prose(out, s->title);
		isc_buffer_text(out, "**: ");
		if (s->saves_at_most_us > 0)
			isc_buffer_format(out, "saves at most %s", isc_units_time(&u, s->saves_at_most_us));
		if (s->where.len > 0) {
			isc_buffer_text(out, s->saves_at_most_us > 0 ? ", in " : "in ");
			isc_text_markdown(out, s->where.at, s->where.len, NAME_MAX_LEN);
		}
		isc_buffer_text(out, s->saves_at_most_us > 0 || s->where.len > 0 ? ". " : "");
		add_prose(out, s->why);
		if (s->check.len > 0) {
			isc_buffer_text(out, " To check: ");
			add_prose(out, s->check);
			isc_buffer_text(out, ".");
		}
		isc_buffer_text(out, "\n");
	}
	if (a->suggestion_count > n)
		isc_buffer_format(out, "\n... and %s more, in the JSON report.\n",
				  isc_units_count(&u, a->suggestion_count - n));
}

static void write_evidence(const isc_analysis *a, isc_buffer *out)
{
	static const char *const titles[] = {"rule", "metric", ">value", ">threshold", ">GPU", NULL};
	const isc_analysis_verdict *v = &a->verdict;
	isc_units u;
	isc_grid t;

	if (v->evidence_count > 0) {
		isc_buffer_text(out, "\n## Evidence\n\n");
		isc_grid_init(&t, titles);
		for (size_t i = 0; i < v->evidence_count; i++) {
			const isc_analysis_evidence *e = &v->evidence[i];

			isc_text_markdown(&t.text, e->rule, strlen(e->rule), NAME_MAX_LEN);
			isc_grid_end(&t);
			isc_grid_cell(&t, e->metric);
			isc_grid_cell(&t, isc_units_number(&u, e->value));
			isc_grid_cell(&t, isc_units_number(&u, e->threshold));
			if (e->device_id >= 0)
				isc_buffer_format(&t.text, "%lld", (long long)e->device_id);
			isc_grid_end(&t);
		}
		isc_grid_write(&t, out);
		isc_grid_fini(&t);
	}
	for (size_t i = 0; i < v->would_change_count; i++) {
		isc_buffer_text(out, i == 0 ? "\nWhat would change the verdict:\n\n- " : "- ");
		add_prose(out, v->would_change[i]);
		isc_buffer_text(out, "\n");
	}
}

void isc_verdict_markdown(const isc_analysis *a, isc_buffer *out)
{
	const isc_analysis_verdict *v = &a->verdict;

	if (v->withheld != NULL || v->headline.len == 0) {
		isc_buffer_text(out, "No verdict: ");
		isc_text_prose(out, v->withheld != NULL ? v->withheld : "nothing was judged",
			       strlen(v->withheld != NULL ? v->withheld : "nothing was judged"));
		isc_buffer_text(out, ".\n");
		write_suggestions(a, out);
		isc_buffer_text(out, a->suggestion_count > 0 ? "\n## What ran\n\n" : "\n");
		return;
	}
	isc_buffer_text(out, "**");
	add_prose(out, v->headline);
	isc_buffer_format(out, "**\n\nVerdict: %s", v->bottleneck);
	if (v->cause != NULL) {
		isc_buffer_text(out, ", ");
		isc_text_markdown(out, v->cause, strlen(v->cause), NAME_MAX_LEN);
	}
	isc_buffer_format(out, ", confidence %.2f.\n", v->confidence);
	write_suggestions(a, out);
	write_evidence(a, out);
	isc_buffer_text(out, "\n## What ran\n\n");
}

void isc_verdict_summary(const isc_analysis *a, const char *prefix, isc_buffer *out)
{
	const isc_analysis_verdict *v = &a->verdict;

	isc_buffer_text(out, prefix);
	if (v->withheld != NULL || v->headline.len == 0) {
		isc_buffer_text(out, "no verdict: ");
		isc_text_terminal(out, v->withheld != NULL ? v->withheld : "nothing was judged",
				  strlen(v->withheld != NULL ? v->withheld : "nothing was judged"), 0);
		isc_buffer_text(out, "\n");
		return;
	}
	isc_text_terminal(out, v->headline.at, v->headline.len, PROSE_MAX);
	isc_buffer_format(out, " (%s", v->bottleneck);
	if (v->cause != NULL) {
		isc_buffer_text(out, ", ");
		isc_text_terminal(out, v->cause, strlen(v->cause), NAME_MAX_LEN);
	}
	isc_buffer_format(out, ", confidence %.2f)\n", v->confidence);
}
