#include "report/text/verdict_words.h"

#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "report/markdown/grid.h"
#include "report/text/phrase.h"

#define SUGGESTIONS_MAX 3u /* that a reader takes in */
#define NAME_MAX_LEN 160u
#define PROSE_MAX 1000u

/* Phrases cut names that are long; what is longer still is nothing to read. */
static void add_prose(isc_buffer *out, isc_text text)
{
	isc_text_prose(out, text.at, text.len < PROSE_MAX ? text.len : PROSE_MAX);
}

/* A sentence, raw so far. */
static void end_prose(isc_buffer *out, isc_buffer *raw)
{
	add_prose(out, (isc_text){raw->data, raw->len});
	out->failed |= raw->failed;
	isc_buffer_fini(raw);
}

static void write_suggestion(const isc_analysis_suggestion *s, isc_buffer *out)
{
	bool saves = s->saves_at_most_us > 0;
	isc_buffer where = {0}, why = {0};
	isc_text check = isc_phrase_check(&s->claim);
	isc_units u;

	isc_phrase_where(&where, s);
	isc_phrase_why(&why, s);
	add_prose(out, isc_phrase_title(&s->claim));
	isc_buffer_text(out, "**: ");
	if (saves)
		isc_buffer_format(out, "saves at most %s", isc_units_time(&u, s->saves_at_most_us));
	if (where.len > 0) {
		isc_buffer_text(out, saves ? ", in " : "in ");
		isc_text_markdown(out, where.data, where.len, NAME_MAX_LEN);
	}
	isc_buffer_text(out, saves || where.len > 0 ? ". " : "");
	end_prose(out, &why);
	if (check.len > 0) {
		isc_buffer_text(out, " To check: ");
		add_prose(out, check);
		isc_buffer_text(out, ".");
	}
	isc_buffer_text(out, "\n");
	out->failed |= where.failed;
	isc_buffer_fini(&where);
}

static void write_suggestions(const isc_analysis *a, isc_buffer *out)
{
	size_t n = a->suggestion_count < SUGGESTIONS_MAX ? a->suggestion_count : SUGGESTIONS_MAX;

	if (n == 0)
		return;
	isc_buffer_text(out, "\n## What to change\n\n");
	for (size_t i = 0; i < n; i++) {
		isc_buffer_format(out, "%zu. **", i + 1);
		write_suggestion(&a->suggestions[i], out);
	}
	isc_grid_more(out, n, a->suggestion_count);
}

static void write_evidence(const isc_analysis *a, isc_buffer *out)
{
	static const char *const titles[] = {"rule", "metric", ">value", ">threshold", ">GPU", NULL};
	const isc_analysis_verdict *v = &a->verdict;
	isc_grid t;

	if (v->evidence_count > 0) {
		isc_buffer_text(out, "\n## Evidence\n\n");
		isc_grid_init(&t, titles);
		for (size_t i = 0; i < v->evidence_count; i++) {
			const isc_analysis_evidence *e = &v->evidence[i];

			isc_text_markdown(&t.text, e->rule, strlen(e->rule), NAME_MAX_LEN);
			isc_grid_end(&t);
			isc_grid_cell(&t, e->metric);
			isc_grid_number(&t, e->value);
			isc_grid_number(&t, e->threshold);
			if (e->device_id >= 0)
				isc_buffer_format(&t.text, "%lld", (long long)e->device_id);
			isc_grid_end(&t);
		}
		isc_grid_close(&t, out);
	}
	for (size_t i = 0; i < v->would_change_count; i++) {
		isc_buffer raw = {0};

		isc_buffer_text(out, i == 0 ? "\nWhat would change the verdict:\n\n- " : "- ");
		isc_phrase_change(&raw, &v->would_change[i], NULL);
		end_prose(out, &raw);
		isc_buffer_text(out, "\n");
	}
}

/* Why there is no verdict; NULL: there is one. */
static const char *withheld(const isc_analysis_verdict *v, const isc_buffer *headline)
{
	if (v->withheld != NULL)
		return v->withheld;
	return headline->len == 0 ? "nothing was judged" : NULL;
}

static void write_no_verdict(const isc_analysis *a, const char *why, isc_buffer *out)
{
	isc_buffer_text(out, "No verdict: ");
	isc_text_prose(out, why, strlen(why));
	isc_buffer_text(out, ".\n");
	write_suggestions(a, out);
	isc_buffer_text(out, a->suggestion_count > 0 ? "\n## What ran\n\n" : "\n");
}

void isc_verdict_markdown(const isc_analysis *a, isc_buffer *out)
{
	const isc_analysis_verdict *v = &a->verdict;
	isc_buffer headline = {0};
	const char *why;

	isc_phrase_headline(&headline, v);
	why = withheld(v, &headline);
	if (why != NULL) {
		write_no_verdict(a, why, out);
		out->failed |= headline.failed;
		isc_buffer_fini(&headline);
		return;
	}
	isc_buffer_text(out, "**");
	end_prose(out, &headline);
	isc_buffer_format(out, "**\n\nVerdict: %s", v->bottleneck);
	if (v->claim.cause != NULL) {
		isc_buffer_text(out, ", ");
		isc_text_markdown(out, v->claim.cause, strlen(v->claim.cause), NAME_MAX_LEN);
	}
	isc_buffer_format(out, ", confidence %.2f.\n", v->confidence);
	write_suggestions(a, out);
	write_evidence(a, out);
	isc_buffer_text(out, "\n## What ran\n\n");
}

void isc_verdict_summary(const isc_analysis *a, const char *prefix, isc_buffer *out)
{
	const isc_analysis_verdict *v = &a->verdict;
	isc_buffer headline = {0};
	const char *why;

	isc_buffer_text(out, prefix);
	isc_phrase_headline(&headline, v);
	why = withheld(v, &headline);
	if (why != NULL) {
		isc_buffer_text(out, "no verdict: ");
		isc_text_terminal(out, why, strlen(why), 0);
		isc_buffer_text(out, "\n");
	} else {
		isc_text_terminal(out, headline.data, headline.len, PROSE_MAX);
		isc_buffer_format(out, " (%s", v->bottleneck);
		if (v->claim.cause != NULL) {
			isc_buffer_text(out, ", ");
			isc_text_terminal(out, v->claim.cause, strlen(v->claim.cause), NAME_MAX_LEN);
		}
		isc_buffer_format(out, ", confidence %.2f)\n", v->confidence);
	}
	out->failed |= headline.failed;
	isc_buffer_fini(&headline);
}
