#include "report/text/scope_words.h"

#include "base/text.h"
#include "base/units.h"
#include "report/markdown/grid.h"
#include "report/text/words.h"

#define NAME_MAX_LEN 100u
#define SHORT_MAX 40u
#define ROWS_MAX 25u
#define TAILS_MAX 5u	/* scopes whose slow ones are explained */
#define STATES_SHOWN 3u /* of a scope */
#define STATE_SHARE 0.05
#define ALL_OTHER 0.999

typedef void escape(isc_buffer *out, const char *text, size_t len, size_t max);

void isc_scope_words_place(isc_buffer *out, const isc_analysis_frame *at)
{
	isc_analysis_function f = isc_words_of_frame(at);

	if (at->name.len == 0)
		return;
	isc_words_function(out, &f);
	if (at->file.len > 0 || at->module.len > 0) {
		isc_buffer_text(out, " (");
		isc_words_place(out, &f);
		isc_buffer_text(out, ")");
	}
}

const isc_analysis_frame *isc_scope_words_at(const isc_analysis_cause *cause)
{
	return cause->state == ISC_STATE_GIL_WAIT && cause->where.name.len == 0 ? &cause->holder : &cause->where;
}

static void add_place(isc_buffer *out, const isc_analysis_frame *at, escape *escaped)
{
	isc_buffer raw = {0};

	isc_scope_words_place(&raw, at);
	out->failed |= raw.failed;
	if (raw.len > 0)
		escaped(out, raw.data, raw.len, NAME_MAX_LEN);
	isc_buffer_fini(&raw);
}

/* The states that a scope was most of its time in. */
static void add_states(isc_grid *t, const isc_analysis_scope_group *g)
{
	bool shown[ISC_STATES] = {false};
	isc_units u;

	/* That nothing is known needs no words. */
	shown[ISC_STATE_OTHER] = g->state_us[ISC_STATE_OTHER] >= g->mean_us * ALL_OTHER;
	for (size_t n = 0; g->count > 0 && g->mean_us > 0 && n < STATES_SHOWN; n++) {
		int most = -1;

		for (int s = 0; s < ISC_STATES; s++) {
			if (!shown[s] && g->state_us[s] >= g->mean_us * STATE_SHARE &&
			    (most < 0 || g->state_us[s] > g->state_us[most]))
				most = s;
		}
		if (most < 0)
			break;
		shown[most] = true;
		isc_buffer_format(&t->text, "%s%s %s", n > 0 ? ", " : "", isc_state_name((enum isc_state)most),
				  isc_units_percent(&u, g->state_us[most] / g->mean_us * 100));
	}
	isc_grid_end(t);
}

static void write_table(const isc_analysis *a, isc_buffer *out)
{
	static const char *const titles[] = {"scope", ">count", ">total", ">mean",  ">p50",
					     ">p90",  ">p99",	">max",	  "mostly", NULL};
	isc_grid t;
	size_t n = a->scope_count < ROWS_MAX ? a->scope_count : ROWS_MAX;

	isc_grid_init(&t, titles);
	isc_buffer_text(out, "\n## Scopes\n\n"
			     "p50, p90 and p99 are the times that so many percent did not exceed.\n\n");
	for (size_t i = 0; i < n; i++) {
		const isc_analysis_scope *s = &a->scopes[i];

		isc_grid_name(&t, s->name, NAME_MAX_LEN);
		isc_grid_count(&t, s->count);
		isc_grid_time(&t, s->total_us);
		isc_grid_time(&t, s->mean_us);
		isc_grid_time(&t, s->p50_us);
		isc_grid_time(&t, s->p90_us);
		isc_grid_time(&t, s->p99_us);
		isc_grid_time(&t, s->max_us);
		add_states(&t, &s->all);
	}
	isc_grid_close(&t, out);
	isc_grid_more(out, n, a->scope_count);
}

static void write_causes(const isc_analysis_scope *s, isc_buffer *out)
{
	static const char *const titles[] = {"cause", ">more", "where", "held by", NULL};
	isc_grid t;

	if (s->cause_count == 0) {
		isc_buffer_text(out, "\nNo part of it stands out.\n");
		return;
	}
	isc_grid_init(&t, titles);
	for (size_t i = 0; i < s->cause_count; i++) {
		isc_grid_cell(&t, isc_cause_name(&s->causes[i]));
		isc_grid_time(&t, s->causes[i].extra_us);
		add_place(&t.text, isc_scope_words_at(&s->causes[i]), isc_text_markdown);
		isc_grid_end(&t);
		add_place(&t.text, &s->causes[i].holder, isc_text_markdown);
		if (s->causes[i].holder_tid != 0)
			isc_buffer_format(&t.text, "%sthread %u", s->causes[i].holder.name.len > 0 ? ", " : "",
					  s->causes[i].holder_tid);
		isc_grid_end(&t);
	}
	isc_buffer_text(out, "\n");
	isc_grid_close(&t, out);
}

static void write_nested(const isc_analysis_scope *s, isc_buffer *out)
{
	static const char *const titles[] = {"scope inside", ">count", ">in a median one", ">in a slow one", NULL};
	size_t n = s->nested_count < ROWS_MAX ? s->nested_count : ROWS_MAX;
	isc_grid t;

	if (n == 0)
		return;
	isc_grid_init(&t, titles);
	for (size_t i = 0; i < n; i++) {
		isc_grid_name(&t, s->nested[i].name, NAME_MAX_LEN);
		isc_grid_count(&t, s->nested[i].count);
		isc_grid_time(&t, s->nested[i].us_median);
		isc_grid_time(&t, s->nested[i].us_slow);
	}
	isc_buffer_text(out, "\n");
	isc_grid_close(&t, out);
}

static bool has_tail(const isc_analysis_scope *s)
{
	return s->slow.count > 0 && s->median.count > 0 && s->slow.mean_us > s->median.mean_us;
}

void isc_scope_words_markdown(const isc_analysis *a, isc_buffer *out)
{
	isc_units u, v, w;
	size_t shown = 0;

	if (a->scope_count == 0)
		return;
	write_table(a, out);
	for (size_t i = 0; i < a->scope_count && shown < TAILS_MAX; i++) {
		const isc_analysis_scope *s = &a->scopes[i];

		if (!has_tail(s))
			continue;
		shown++;
		isc_buffer_text(out, "\n### Why some are slow: ");
		isc_text_markdown(out, s->name.at, s->name.len, NAME_MAX_LEN);
		isc_buffer_format(out, "\n\n%s slow ones took %s each, %s more than one of the middle. It went to:\n",
				  isc_units_count(&u, s->slow.count), isc_units_time(&v, s->slow.mean_us),
				  isc_units_time(&w, s->slow.mean_us - s->median.mean_us));
		write_causes(s, out);
		write_nested(s, out);
	}
}

void isc_scope_words_summary(const isc_analysis *a, const char *prefix, isc_buffer *out)
{
	const isc_analysis_scope *s = isc_words_slowest(a);
	isc_units u, v, w, x;

	if (s == NULL)
		return;
	isc_buffer_text(out, prefix);
	isc_buffer_text(out, "slowest scope: ");
	isc_text_terminal(out, s->name.at, s->name.len, SHORT_MAX);
	isc_buffer_text(out, ": ");
	isc_words_plural(out, s->count, "time", "times");
	isc_buffer_format(out, ", p50 %s, p90 %s, p99 %s, max %s\n", isc_units_time(&u, s->p50_us),
			  isc_units_time(&v, s->p90_us), isc_units_time(&w, s->p99_us), isc_units_time(&x, s->max_us));
	if (!has_tail(s) || s->cause_count == 0)
		return;
	isc_buffer_text(out, prefix);
	isc_buffer_format(out, "its slow ones take %s more: ", isc_units_time(&u, s->slow.mean_us - s->median.mean_us));
	for (size_t i = 0; i < s->cause_count && i < 2; i++) {
		const isc_analysis_frame *at = isc_scope_words_at(&s->causes[i]);

		isc_buffer_format(out, "%s%s %s", i > 0 ? ", " : "", isc_units_time(&u, s->causes[i].extra_us),
				  isc_cause_name(&s->causes[i]));
		if (at->name.len > 0)
			isc_buffer_text(out, at == &s->causes[i].holder ? ", held by " : " in ");
		add_place(out, at, isc_text_terminal);
	}
	isc_buffer_text(out, "\n");
}
