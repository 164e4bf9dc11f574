#include "report/text/phrase.h"

#include <string.h>

#include "analyze/rules/rule.h"
#include "report/text/fix_words.h"
#include "report/text/phrase_parts.h"

static void write_balanced(isc_phrase *p, const isc_claim *c)
{
	isc_text second = isc_claim_text_of(c, ISC_DETAIL_SECOND_STATE), first = isc_claim_text_of(c, ISC_DETAIL_STATE);
	isc_units u;

	isc_buffer_text(&p->text, "No single cause stands out");
	if (first.len == 0)
		return;
	isc_buffer_text(&p->text, ": ");
	isc_phrase_share_of(p, c, isc_claim_number_of(c, ISC_DETAIL_STATE_PCT));
	isc_buffer_text(&p->text, " is ");
	isc_phrase_text(p, first);
	if (second.len == 0)
		return;
	isc_buffer_format(&p->text, ", %s is ",
			  isc_units_percent(&u, isc_claim_number_of(c, ISC_DETAIL_SECOND_STATE_PCT)));
	isc_phrase_text(p, second);
}

static const isc_phrase_kind no_cause[] = {{"balanced", write_balanced, false}, {0}};

static const isc_phrase_kind *kind_of(const isc_claim *c)
{
	static const isc_phrase_kind *const groups[] = {isc_phrase_waits, isc_phrase_code, isc_phrase_memory,
							isc_phrase_gpu, no_cause};

	for (size_t g = 0; c->finding != NULL && g < sizeof(groups) / sizeof(groups[0]); g++) {
		for (const isc_phrase_kind *kind = groups[g]; kind->finding != NULL; kind++) {
			if (strcmp(kind->finding, c->finding) == 0)
				return kind;
		}
	}
	return NULL;
}

void isc_phrase_fini(isc_phrase *p)
{
	isc_buffer_fini(&p->text);
	p->marks = 0;
}

bool isc_phrase_claim(isc_phrase *p, const isc_claim *c)
{
	const isc_phrase_kind *kind = kind_of(c);

	if (kind == NULL)
		return false;
	kind->write(p, c);
	if (p->text.len > 0 && p->text.data[0] >= 'a' && p->text.data[0] <= 'z')
		p->text.data[0] = (char)(p->text.data[0] - 'a' + 'A');
	return true;
}

/* ---- what to do ---- */

static isc_text words_of(isc_text own, const char *words)
{
	return own.at != NULL ? own : (isc_text){words, strlen(words)};
}

static const isc_fix_words *fix_of(const isc_claim *c)
{
	static const isc_fix_words none = {"", "", "", ""};
	const isc_fix_words *fix = isc_fix_words_of(c->fix);

	return fix != NULL ? fix : &none;
}

isc_text isc_phrase_fix(const isc_claim *c)
{
	return words_of(c->own_fix, fix_of(c)->fix);
}

isc_text isc_phrase_title(const isc_claim *c)
{
	return words_of(c->own_title, fix_of(c)->title);
}

isc_text isc_phrase_check(const isc_claim *c)
{
	return words_of(c->own_check, fix_of(c)->check);
}

/* ---- sentences ---- */

static void add_text(isc_buffer *out, isc_text text)
{
	isc_buffer_add(out, text.at, text.len);
}

/* False: there are no words for it. */
static bool add_claim(isc_buffer *out, const isc_claim *c)
{
	isc_phrase p = {0};
	bool good = isc_phrase_claim(&p, c);

	if (good)
		add_text(out, (isc_text){p.text.data, p.text.len});
	out->failed |= p.text.failed;
	isc_phrase_fini(&p);
	return good;
}

static void add_saving(isc_buffer *out, const isc_claim *c)
{
	isc_text fix = isc_phrase_fix(c);
	isc_units u, v;

	if (fix.len == 0 || !(c->saving_us > 0) || !(c->of_us > 0))
		return;
	isc_buffer_format(out, "; at most %s of %s can be saved by ", isc_units_time(&u, c->saving_us),
			  isc_units_time(&v, c->of_us));
	add_text(out, fix);
}

void isc_phrase_headline(isc_buffer *out, const isc_analysis_verdict *v)
{
	if (!add_claim(out, &v->claim)) {
		add_text(out, v->told);
		return;
	}
	add_saving(out, &v->claim);
	isc_buffer_text(out, ".");
}

void isc_phrase_why(isc_buffer *out, const isc_analysis_suggestion *s)
{
	if (add_claim(out, &s->claim))
		isc_buffer_text(out, ".");
	else
		add_text(out, s->told_why);
}

void isc_phrase_where(isc_buffer *out, const isc_analysis_suggestion *s)
{
	const isc_phrase_kind *kind = kind_of(&s->claim);
	const isc_claim_place *place = &s->claim.place;
	size_t before = out->len;

	if (kind == NULL) {
		add_text(out, s->told_where);
		return;
	}
	if (kind->by_holder && s->claim.holder.function.len > 0)
		place = &s->claim.holder;
	/* What works on a GPU is known by its whole name. */
	isc_phrase_add_place(out, place, s->claim.subject.kind == ISC_CLAIM_OF_GPU);
	if (out->len == before)
		isc_phrase_add_place(
			out, &(isc_claim_place){.function = isc_claim_text_of(&s->claim, ISC_DETAIL_STAGE)}, false);
}

/* ---- what would change it ---- */

static void add_value(isc_buffer *out, const isc_metric *metric, double value)
{
	isc_units u;

	if (strcmp(metric->unit, "%") == 0)
		isc_buffer_text(out, isc_units_percent(&u, value));
	else
		isc_buffer_format(out, "%s %s", isc_units_number(&u, value), metric->unit);
}

static void add_turn(isc_buffer *out, const isc_analysis_change *c, const char *called)
{
	const isc_metric *metric = isc_metric_named(c->metric);

	isc_buffer_text(out, called != NULL ? called : metric->name);
	isc_buffer_text(out, c->every_gpu ? " of every GPU" : "");
	isc_buffer_text(out, c->kind == ISC_CHANGE_FALLS ? " at or below " : " above ");
	add_value(out, metric, c->limit);
	isc_buffer_text(out, " (it is ");
	add_value(out, metric, c->value);
	isc_buffer_format(out, "): then it would be %s", c->then != NULL ? c->then : "balanced");
}

void isc_phrase_change(isc_buffer *out, const isc_analysis_change *c, const char *metric)
{
	isc_units u;

	if (c->told.at != NULL)
		add_text(out, c->told);
	else if (c->kind == ISC_CHANGE_FALLS || c->kind == ISC_CHANGE_RISES)
		add_turn(out, c, metric);
	else if (c->kind == ISC_CHANGE_LOST)
		isc_buffer_format(out, "the %s events that were lost, if they tell of something else",
				  isc_units_number(&u, c->value));
	else if (c->kind == ISC_CHANGE_UNATTRIBUTED)
		isc_buffer_format(out, "what ran in the %s of the time that has no known stack",
				  isc_units_percent(&u, c->value));
	else
		isc_buffer_format(out, "what the thread did in the %s of its time that nobody told of",
				  isc_units_percent(&u, c->value));
}
