#include "report/diff/diff.h"

#include <math.h>
#include <string.h>

#include "analyze/names.h"
#include "base/text.h"
#include "base/units.h"
#include "report/markdown/grid.h"
#include "report/markdown/markdown.h"
#include "report/report.h"
#include "report/text/scope_words.h"
#include "report/text/words.h"

#define NAME_MAX_LEN 100u
#define SCOPES_MAX 10u
#define STATE_SHARE 0.05 /* of what a scope changed by */

const char *isc_diff_result_name(enum isc_condition_result result)
{
	return result == ISC_CONDITION_FIRES ? "failed" : result == ISC_CONDITION_PASSES ? "passed" : "inconclusive";
}

static void add_value(isc_buffer *out, const isc_figure *m, double value)
{
	isc_units u;

	if (isnan(value))
		isc_buffer_text(out, "?");
	else if (m->unit == ISC_UNIT_US)
		isc_buffer_text(out, isc_units_time(&u, value));
	else if (m->unit == ISC_UNIT_PERCENT)
		isc_buffer_text(out, isc_units_percent(&u, value));
	else
		isc_buffer_text(out, isc_units_number(&u, value));
}

/* +51%, or +3.0 points of a share; from nothing there are no percent. */
static void add_change(isc_buffer *out, const isc_change *c)
{
	double change = c->fresh - c->base;

	if (isnan(change))
		isc_buffer_text(out, "?");
	else if (c->metric.unit == ISC_UNIT_PERCENT)
		isc_buffer_format(out, "%+.1f points", change);
	else if (c->base > 0)
		isc_buffer_format(out, "%+.1f%%", change / c->base * 100);
	else
		isc_buffer_text(out, change > 0 ? "new" : "0");
}

static void add_noise(isc_buffer *out, const isc_change *c)
{
	if (isnan(c->noise))
		isc_buffer_text(out, "?");
	else if (c->metric.unit == ISC_UNIT_PERCENT)
		isc_buffer_format(out, "%.1f points", c->noise);
	else if (c->base > 0)
		isc_buffer_format(out, "%.1f%%", c->noise / c->base * 100);
	else
		add_value(out, &c->metric, c->noise);
	isc_buffer_text(out, isnan(c->noise) || c->measured ? "" : " assumed");
}

/* What a scope's change is told by: what most of them take, else what the slow ones do.  NULL: it has not
 * changed beyond noise. */
static const isc_change *largest(const isc_scope_change *s)
{
	const isc_change *all[] = {&s->p50, &s->p90, &s->p99, &s->mean};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (isc_change_direction(all[i]) != 0)
			return all[i];
	}
	return NULL;
}

void isc_diff_headline(const isc_diff *d, isc_buffer *out)
{
	const isc_comparison *c = &d->comparison;
	const isc_change *worst = NULL, *best = NULL, *shown;

	for (size_t i = 0; i < c->scope_count; i++) {
		const isc_change *one = largest(&c->scopes[i]);

		if (one != NULL && one->fresh > one->base && worst == NULL)
			worst = one;
		if (one != NULL && one->fresh < one->base && best == NULL)
			best = one;
	}
	if (worst == NULL && best == NULL && c->scope_count == 0 && isc_change_direction(&c->wall) != 0)
		*(c->wall.fresh > c->wall.base ? &worst : &best) = &c->wall;
	shown = worst != NULL ? worst : best;
	if (shown == NULL) {
		isc_buffer_text(out, "no difference beyond noise");
		return;
	}
	if (shown == &c->wall)
		isc_buffer_text(out, "the run");
	else
		isc_buffer_add(out, shown->subject.at, shown->subject.len);
	isc_buffer_format(out, " is %s: %s from ", worst != NULL ? "slower" : "faster", shown->metric.name);
	add_value(out, &shown->metric, shown->base);
	isc_buffer_text(out, " to ");
	add_value(out, &shown->metric, shown->fresh);
	isc_buffer_text(out, " (");
	add_change(out, shown);
	isc_buffer_text(out, ", noise ");
	add_noise(out, shown);
	isc_buffer_text(out, ")");
}

static void end_change(isc_grid *t, const isc_change *c)
{
	static const char *const words[] = {"less", "same", "more"};

	add_value(&t->text, &c->metric, c->base);
	isc_grid_end(t);
	add_value(&t->text, &c->metric, c->fresh);
	isc_grid_end(t);
	add_change(&t->text, c);
	isc_grid_end(t);
	add_noise(&t->text, c);
	isc_grid_end(t);
	isc_grid_cell(t, isnan(c->fresh - c->base) ? "not known" : words[isc_change_direction(c) + 1]);
}

static void write_gates(const isc_diff *d, isc_buffer *out)
{
	static const char *const titles[] = {"gate", "result", ">base", ">new", ">change", ">noise", "", NULL};
	isc_grid t;

	if (d->gate_count == 0)
		return;
	isc_grid_init(&t, titles);
	isc_buffer_text(out, "\n## Gates\n\n");
	for (size_t i = 0; i < d->gate_count; i++) {
		isc_text_markdown(&t.text, d->gates[i].gate.text, strlen(d->gates[i].gate.text), NAME_MAX_LEN);
		isc_grid_end(&t);
		isc_grid_cell(&t, isc_diff_result_name(d->gates[i].result));
		end_change(&t, &d->gates[i].change);
	}
	isc_grid_close(&t, out);
}

static void write_scopes(const isc_diff *d, isc_buffer *out)
{
	static const char *const titles[] = {"scope", "", ">base", ">new", ">change", ">noise", "", NULL};
	const isc_comparison *c = &d->comparison;
	isc_grid t;

	isc_grid_init(&t, titles);
	isc_buffer_text(out, "\n## Times\n\n");
	isc_grid_cell(&t, "the run");
	isc_grid_cell(&t, "wall");
	end_change(&t, &c->wall);
	for (size_t i = 0; i < c->scope_count && i < SCOPES_MAX; i++) {
		const isc_scope_change *s = &c->scopes[i];
		const isc_change *all[] = {&s->count, &s->mean, &s->p50, &s->p90, &s->p99};
		static const char *const names[] = {"count", "mean", "p50", "p90", "p99"};

		for (size_t k = 0; k < sizeof(all) / sizeof(all[0]); k++) {
			isc_grid_name(&t, s->name, NAME_MAX_LEN);
			isc_grid_cell(&t, names[k]);
			end_change(&t, all[k]);
		}
	}
	isc_grid_close(&t, out);
	if (c->scope_count > SCOPES_MAX)
		isc_buffer_format(out, "\n... and %zu more scopes, in the JSON.\n", c->scope_count - SCOPES_MAX);
}

/* Where the time of a scope that changed went to, or came from. */
static void write_states(const isc_scope_change *s, isc_buffer *out)
{
	static const char *const titles[] = {"state", ">base", ">new", ">change", NULL};
	double whole = fabs(s->mean.fresh - s->mean.base);
	bool any = false;
	isc_grid t;

	isc_grid_init(&t, titles);
	for (int state = 0; state < ISC_STATES; state++) {
		double change = s->fresh_us[state] - s->base_us[state];

		if (isnan(change) || fabs(change) < whole * STATE_SHARE)
			continue;
		any = true;
		isc_grid_cell(&t, isc_state_name((enum isc_state)state));
		isc_grid_time(&t, s->base_us[state]);
		isc_grid_time(&t, s->fresh_us[state]);
		isc_buffer_text(&t.text, change < 0 ? "-" : "+");
		isc_grid_time(&t, fabs(change));
	}
	if (any) {
		isc_buffer_text(out, "\n");
		isc_grid_write(&t, out);
	}
	isc_grid_fini(&t);
}

static void write_why(const isc_diff *d, isc_buffer *out)
{
	const isc_comparison *c = &d->comparison;

	for (size_t i = 0; i < c->scope_count && i < SCOPES_MAX; i++) {
		const isc_scope_change *s = &c->scopes[i];
		const isc_change *most = largest(s);
		isc_buffer raw = {0};
		isc_units u;

		if (most == NULL)
			continue;
		isc_buffer_text(out, "\n## Where it went: ");
		isc_text_markdown(out, s->name.at, s->name.len, NAME_MAX_LEN);
		isc_buffer_text(out, "\n\nOf one scope, on average.\n");
		write_states(s, out);
		if (s->slow_because == NULL || isc_change_direction(&s->p99) <= 0)
			continue;
		isc_scope_words_place(&raw, isc_scope_words_at(s->slow_because));
		out->failed |= raw.failed;
		isc_buffer_format(out, "\nSlow ones of the new run take %s more of %s",
				  isc_units_time(&u, s->slow_because->extra_us), isc_cause_name(s->slow_because));
		isc_buffer_text(out, raw.len > 0 ? " in " : "");
		if (raw.len > 0)
			isc_text_markdown(out, raw.data, raw.len, NAME_MAX_LEN);
		isc_buffer_text(out, " than median ones.\n");
		isc_buffer_fini(&raw);
	}
}

static void write_list(const isc_comparison *c, const char *title, const isc_change *list, size_t count,
		       isc_buffer *out)
{
	static const char *const titles[] = {"", "where", ">base", ">new", ">change", ">noise", "", NULL};
	isc_grid t;

	if (count == 0)
		return;
	isc_grid_init(&t, titles);
	isc_buffer_format(out, "\n## %s\n\nThose that changed beyond noise; %s", title,
			  c->per.len > 0 ? "per scope " : "their own time, per run.\n\n");
	if (c->per.len > 0) {
		isc_text_markdown(out, c->per.at, c->per.len, NAME_MAX_LEN);
		isc_buffer_text(out, ", as there are more of it in one set.\n\n");
	}
	for (size_t i = 0; i < count; i++) {
		const isc_analysis_function *f = list[i].function;
		isc_analysis_function bare = {.name = list[i].subject};

		isc_words_escaped(&t.text, f != NULL ? f : &bare, isc_words_function, isc_text_markdown, NAME_MAX_LEN);
		isc_grid_end(&t);
		if (f != NULL && (f->file.len > 0 || f->module.len > 0))
			isc_words_escaped(&t.text, f, isc_words_place, isc_text_markdown, NAME_MAX_LEN);
		isc_grid_end(&t);
		end_change(&t, &list[i]);
	}
	isc_grid_close(&t, out);
}

static uint64_t lost_in(const isc_run_set *set)
{
	uint64_t lost = 0;

	for (size_t i = 0; i < set->count; i++)
		lost += set->runs[i]->lost;
	return lost;
}

static void doubt_noise(const isc_diff *d, isc_buffer *out)
{
	const isc_comparison *c = &d->comparison;

	isc_buffer_format(out, "%zu run%s against %zu: noise is %s", c->base.count, c->base.count == 1 ? "" : "s",
			  c->fresh.count,
			  c->base.count + c->fresh.count > 2
				  ? "what the difference of two means is off by at most, 19 times in 20"
				  : "assumed; give several runs of each (--base, --new, or folders) to measure it");
}

static void doubt_machines(const isc_diff *d, isc_buffer *out)
{
	if (d->machines != NULL)
		isc_buffer_format(out, "The machines differ, and --any-machine was given: %s", d->machines);
}

static void doubt_lost(const isc_diff *d, isc_buffer *out)
{
	uint64_t lost = lost_in(&d->comparison.base) + lost_in(&d->comparison.fresh);

	if (lost > 0)
		isc_buffer_format(out, "%llu events were lost: counts are too low", (unsigned long long)lost);
}

static void doubt_pythons(const isc_diff *d, isc_buffer *out)
{
	const isc_text *base = &d->comparison.base.runs[0]->python, *fresh = &d->comparison.fresh.runs[0]->python;

	if (isc_names_compare(base, fresh) == 0)
		return;
	isc_buffer_text(out, "The Pythons differ: ");
	isc_buffer_add(out, base->at, base->len);
	isc_buffer_text(out, base->len > 0 ? " and " : "none and ");
	isc_buffer_add(out, fresh->at, fresh->len);
	isc_buffer_text(out, fresh->len > 0 ? "" : "none");
}

bool isc_diff_doubt(const isc_diff *d, size_t number, isc_buffer *out)
{
	static void (*const doubts[])(const isc_diff *, isc_buffer *) = {doubt_noise, doubt_machines, doubt_lost,
									 doubt_pythons};

	if (number >= sizeof(doubts) / sizeof(doubts[0]))
		return false;
	doubts[number](d, out);
	return true;
}

static void write_doubts(const isc_diff *d, isc_buffer *out)
{
	isc_buffer raw = {0};

	isc_buffer_text(out, "\n## What to doubt\n\n");
	for (size_t i = 0; isc_diff_doubt(d, i, &raw); i++) {
		if (raw.len > 0) {
			isc_buffer_text(out, "- ");
			isc_text_prose(out, raw.data, raw.len);
			isc_buffer_text(out, ".\n");
		}
		isc_buffer_clear(&raw);
	}
	out->failed |= raw.failed;
	isc_buffer_fini(&raw);
}

void isc_diff_markdown(const isc_diff *d, isc_buffer *out)
{
	isc_buffer raw = {0};

	isc_buffer_text(out, ISC_MARKDOWN_MARK "1 -->\n# ");
	isc_diff_headline(d, &raw);
	out->failed |= raw.failed;
	isc_text_prose(out, raw.data, raw.len);
	isc_buffer_text(out, "\n");
	isc_buffer_fini(&raw);
	write_gates(d, out);
	write_scopes(d, out);
	write_why(d, out);
	write_list(&d->comparison, "Functions", d->comparison.functions, d->comparison.function_count, out);
	write_list(&d->comparison, "Kernels", d->comparison.kernels, d->comparison.kernel_count, out);
	write_doubts(d, out);
}

isc_status isc_diff_write(const isc_diff *d, int format, isc_buffer *out, isc_error *err)
{
	if (format == ISC_REPORT_JSON)
		isc_diff_json(d, out);
	else if (format == ISC_REPORT_HTML)
		isc_diff_html(d, out);
	else
		isc_diff_markdown(d, out);
	return out->failed ? isc_fail(err, ISC_ERR_NOMEM, "no memory for the comparison") : ISC_OK;
}
