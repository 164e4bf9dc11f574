#include "analyze/verdict/verdict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/build.h"
#include "analyze/memory/growth.h"
#include "base/units.h"

/* A program that waits for work for longer says nothing of how it works. */
#define IDLE_PCT 90
/* Nor does one that is ready for so long and has no CPU, when it is not its own threads that have them. */
#define STARVED_PCT 50
/* Above it, what nobody told of may be the cause. */
#define OTHER_PCT 50
/* The same of time on a CPU that no stack explains; from the first on it is doubted. */
#define UNATTRIBUTED_DOUBT_PCT 5
#define UNATTRIBUTED_PCT 30

/* A rule that fired, with what its metric says. */
struct fired {
	const isc_rule *rule;
	isc_finding f;
	size_t gpu;
	double excess;
};

struct reaching {
	const isc_evidence *j;
	const isc_rules *rules;
	isc_analysis *a;
	isc_arena *arena;
	struct fired *fired;
	size_t count, room;
	/* The one that came nearest without firing. */
	const isc_rule *nearest;
	double nearest_value, nearest_part;
};

double isc_rule_excess(const isc_rule *rule, double value)
{
	/* A threshold of nothing is exceeded by everything; 1 keeps that finite. */
	return rule->weight * (value - rule->threshold) / (rule->threshold > 0 ? rule->threshold : 1);
}

/* Just above its threshold a rule is worth half of what it is far from it. */
double isc_rule_confidence(const isc_rule *rule, double value, double solid)
{
	double above = (value - rule->threshold) / (rule->threshold > 0 ? rule->threshold : 1);

	return (0.5 + 0.5 * above / (above + 0.5)) * solid;
}

/* What every conclusion of this trace suffers from. */
static double trust(const isc_analysis *a, const isc_evidence *j)
{
	double all = (double)(a->events + a->lost), other = isc_evidence_pct(j, ISC_STATE_OTHER), trust = 1;
	double blind = isc_evidence_pct(j, ISC_STATE_UNATTRIBUTED);

	if (all > 0)
		trust *= 1 - fmin(1, 2 * (double)a->lost / all);
	/* Time that nobody told of may be anything. */
	if (other > 0)
		trust *= 1 - 0.6 * fmin(1, other / 100);
	if (blind > UNATTRIBUTED_DOUBT_PCT)
		trust *= 1 -
			 0.5 * fmin(1, (blind - UNATTRIBUTED_DOUBT_PCT) / (UNATTRIBUTED_PCT - UNATTRIBUTED_DOUBT_PCT));
	if (!a->lost_known)
		trust *= 0.9;
	return a->damaged ? trust * 0.8 : trust;
}

static bool note(struct reaching *r, const isc_rule *rule, size_t gpu)
{
	isc_finding f = {.device_id = -1};
	struct fired *fired;
	double part;

	if (!rule->metric->measure(r->j, gpu, &f) || !isfinite(f.value))
		return true;
	if (!isc_rule_fires(rule, f.value)) {
		part = rule->threshold > 0 ? f.value / rule->threshold : 0;
		if (part > r->nearest_part) {
			r->nearest = rule;
			r->nearest_value = f.value;
			r->nearest_part = part;
		}
		return true;
	}
	fired = isc_arena_push(r->arena, &r->fired, &r->count, &r->room, sizeof(*fired));
	if (fired == NULL)
		return false;
	*fired = (struct fired){rule, f, gpu, isc_rule_excess(rule, f.value)};
	return true;
}

static bool measure_all(struct reaching *r, const isc_rules *rules)
{
	const isc_timeline_facts *t = r->a->timeline;

	for (size_t i = 0; i < rules->count; i++) {
		const isc_rule *rule = &rules->rule[i];

		if (rule->off)
			continue;
		if (!rule->metric->device && !note(r, rule, 0))
			return false;
		for (size_t gpu = 0; rule->metric->device && t != NULL && gpu < t->gpu_count; gpu++) {
			if (t->gpus[gpu].seen && !note(r, rule, gpu))
				return false;
		}
	}
	return true;
}

static int by_excess(const void *x, const void *y)
{
	const struct fired *f = x, *g = y;

	if (f->excess != g->excess)
		return f->excess < g->excess ? 1 : -1;
	if (f->gpu != g->gpu)
		return f->gpu > g->gpu ? 1 : -1;
	return strcmp(f->rule->id, g->rule->id);
}

/* The same, by what it can save. */
static int by_bound(const void *x, const void *y)
{
	const isc_analysis_suggestion *s = x, *t = y;

	if (s->saves_at_most_us != t->saves_at_most_us)
		return s->saves_at_most_us < t->saves_at_most_us ? 1 : -1;
	return strcmp(s->rule, t->rule);
}

/* ---- words ---- */

/* Texts of files of rules are anybody's; they are shown as they are. */
static isc_text text_of(const char *text)
{
	return (isc_text){text, text != NULL ? strlen(text) : 0};
}

static void add_sentence(isc_buffer *out, isc_text text)
{
	isc_buffer_add(out, text.at, text.len);
	if (out->len > 0 && out->data[0] >= 'a' && out->data[0] <= 'z')
		out->data[0] = (char)(out->data[0] - 'a' + 'A');
}

/* What it is of: one scope, the window, or a device's span. */
static double whole_us(const struct reaching *r, const struct fired *f)
{
	const isc_evidence *j = r->j;

	if (f->f.device_id >= 0)
		return (double)(r->a->timeline->gpus[f->gpu].last_ns - r->a->timeline->gpus[f->gpu].first_ns) / 1e3;
	return isc_evidence_whole(j);
}

static isc_text headline_of(const struct reaching *r, const struct fired *f)
{
	double whole = whole_us(r, f), part = f->f.us;
	isc_buffer out = {0};
	isc_units u, v;

	if (f->f.device_id < 0 && r->j->window_us > 0)
		part *= whole / r->j->window_us;
	add_sentence(&out, f->f.what);
	if (f->rule->fix != NULL && f->rule->fix[0] != 0 && part > 0 && whole > 0) {
		isc_buffer_format(&out, "; at most %s of %s can be saved by ", isc_units_time(&u, part),
				  isc_units_time(&v, whole));
		isc_buffer_text(&out, f->rule->fix);
	}
	isc_buffer_text(&out, ".");
	return isc_evidence_keep(r->j, &out);
}

static void say_value(isc_buffer *out, const isc_metric *metric, double value)
{
	isc_units u;

	if (strcmp(metric->unit, "%") == 0)
		isc_buffer_text(out, isc_units_percent(&u, value));
	else
		isc_buffer_format(out, "%s %s", isc_units_number(&u, value), metric->unit);
}

static bool add_change(struct reaching *r, size_t *room, isc_buffer *text)
{
	isc_analysis_verdict *v = &r->a->verdict;
	isc_text kept = isc_evidence_keep(r->j, text);
	isc_text *place = isc_arena_push(r->arena, &v->would_change, &v->would_change_count, room, sizeof(*place));

	if (place != NULL)
		*place = kept;
	return place != NULL;
}

/* The next cause; the same one of another GPU is none.  NULL: there is no other. */
static const struct fired *rival_of(const struct reaching *r)
{
	for (size_t i = 1; i < r->count; i++) {
		if (r->fired[i].rule != r->fired[0].rule)
			return &r->fired[i];
	}
	return NULL;
}

static bool fires_again(const struct reaching *r)
{
	size_t n = 0;

	for (size_t i = 0; i < r->count; i++)
		n += r->fired[i].rule == r->fired[0].rule;
	return n > 1;
}

/* What value, or loss, would make it another verdict. */
static bool tell_changes(struct reaching *r)
{
	const isc_analysis *a = r->a;
	isc_buffer text = {0};
	size_t room = 0;
	bool good = true;
	isc_units u;

	if (r->count > 0) {
		const struct fired *top = &r->fired[0], *rival = rival_of(r);
		double floor = top->rule->threshold, next = rival != NULL ? rival->excess : 0;
		double scale = top->rule->threshold > 0 ? top->rule->threshold : 1;

		/* Down to where the next one wins. */
		if (next > 0 && top->rule->weight > 0)
			floor += next / top->rule->weight * scale;
		isc_buffer_format(&text, "%s%s at or below ", top->rule->metric->name,
				  fires_again(r) ? " of every GPU" : "");
		say_value(&text, top->rule->metric, floor);
		isc_buffer_text(&text, " (it is ");
		say_value(&text, top->rule->metric, top->f.value);
		if (rival != NULL)
			isc_buffer_format(&text, "): then it would be %s", rival->rule->id);
		else
			isc_buffer_text(&text, "): then it would be balanced");
		good = add_change(r, &room, &text);
	}
	if (good && r->count == 0 && r->nearest != NULL) {
		isc_buffer_format(&text, "%s above ", r->nearest->metric->name);
		say_value(&text, r->nearest->metric, r->nearest->threshold);
		isc_buffer_text(&text, " (it is ");
		say_value(&text, r->nearest->metric, r->nearest_value);
		isc_buffer_format(&text, "): then it would be %s", r->nearest->id);
		good = add_change(r, &room, &text);
	}
	if (good && a->lost > 0) {
		isc_buffer_format(&text, "the %s events that were lost, if they tell of something else",
				  isc_units_count(&u, a->lost));
		good = add_change(r, &room, &text);
	}
	if (good && isc_evidence_pct(r->j, ISC_STATE_UNATTRIBUTED) > UNATTRIBUTED_DOUBT_PCT) {
		isc_buffer_format(&text, "what ran in the %s of the time that has no known stack",
				  isc_units_percent(&u, isc_evidence_pct(r->j, ISC_STATE_UNATTRIBUTED)));
		good = add_change(r, &room, &text);
	}
	if (good && isc_evidence_pct(r->j, ISC_STATE_OTHER) >= 10) {
		isc_buffer_format(&text, "what the thread did in the %s of its time that nobody told of",
				  isc_units_percent(&u, isc_evidence_pct(r->j, ISC_STATE_OTHER)));
		good = add_change(r, &room, &text);
	}
	return good;
}

static void suggest(struct reaching *r, const struct fired *f)
{
	isc_analysis *a = r->a;
	isc_buffer why = {0};

	add_sentence(&why, f->f.what);
	isc_buffer_text(&why, ".");
	a->suggestions[a->suggestion_count++] = (isc_analysis_suggestion){.rule = f->rule->id,
									  .title = text_of(f->rule->title),
									  .where = f->f.where,
									  .why = isc_evidence_keep(r->j, &why),
									  .check = text_of(f->rule->check),
									  .saves_at_most_us = f->f.us};
}

/* Those of the verdict's cause, or all others. */
static void suggest_all(struct reaching *r, bool of_cause)
{
	size_t first = r->a->suggestion_count;

	for (size_t i = 0; i < r->count; i++) {
		if ((r->fired[i].rule == r->fired[0].rule) == of_cause)
			suggest(r, &r->fired[i]);
	}
	if (r->a->suggestion_count > first + 1)
		qsort(r->a->suggestions + first, r->a->suggestion_count - first, sizeof(*r->a->suggestions), by_bound);
}

static bool tell_evidence(struct reaching *r)
{
	isc_analysis_verdict *v = &r->a->verdict;
	isc_analysis *a = r->a;

	v->evidence = isc_arena_array(r->arena, r->count + 1, sizeof(*v->evidence));
	a->suggestions = isc_arena_array(r->arena, r->count + 1, sizeof(*a->suggestions));
	if (v->evidence == NULL || a->suggestions == NULL)
		return false;
	for (size_t i = 0; i < r->count; i++) {
		const struct fired *f = &r->fired[i];

		v->evidence[v->evidence_count++] = (isc_analysis_evidence){
			f->rule->id, f->rule->metric->name, f->f.value, f->rule->threshold, f->f.device_id};
	}
	suggest_all(r, true);
	suggest_all(r, false);
	return true;
}

/* ---- the verdict ---- */

static bool judge_gpus(struct reaching *r)
{
	const isc_timeline_facts *t = r->a->timeline;
	const char **of;

	if (t == NULL)
		return true;
	of = isc_arena_array(r->arena, t->gpu_count, sizeof(*of));
	if (of == NULL && t->gpu_count > 0)
		return false;
	for (size_t gpu = 0; gpu < t->gpu_count; gpu++) {
		of[gpu] = isc_bound_name(ISC_BOUND_BALANCED);
		/* Largest excess first. */
		for (size_t i = r->count; i-- > 0;) {
			if (r->fired[i].f.device_id >= 0 && r->fired[i].gpu == gpu)
				of[gpu] = isc_bound_name(r->fired[i].rule->bound);
		}
	}
	r->a->gpu_bottleneck = of;
	return true;
}

static isc_text balanced_words(const struct reaching *r)
{
	const isc_evidence *j = r->j;
	int first = ISC_STATE_OTHER, second = ISC_STATE_OTHER;
	isc_buffer out = {0};
	isc_units u;

	isc_buffer_text(&out, "No single cause stands out");
	if (j->known) {
		for (int s = 0; s < ISC_STATES; s++) {
			if (j->state_us[s] > j->state_us[first])
				second = first, first = s;
			else if (s != first && j->state_us[s] > j->state_us[second])
				second = s;
		}
		isc_buffer_text(&out, ": ");
		isc_evidence_share(j, isc_evidence_pct(j, (enum isc_state)first), &out);
		isc_buffer_format(&out, " is %s", isc_state_name((enum isc_state)first));
		if (second != first && isc_evidence_pct(j, (enum isc_state)second) > 1)
			isc_buffer_format(&out, ", %s is %s",
					  isc_units_percent(&u, isc_evidence_pct(j, (enum isc_state)second)),
					  isc_state_name((enum isc_state)second));
	}
	isc_buffer_text(&out, ".");
	return isc_evidence_keep(j, &out);
}

static void withhold(isc_analysis *a, const char *why)
{
	isc_analysis_verdict *v = &a->verdict;

	v->bottleneck = isc_bound_name(ISC_BOUND_UNKNOWN);
	v->cause = NULL;
	v->share = -1;
	v->device_id = -1;
	v->confidence = 0;
	v->headline = (isc_text){0};
	v->withheld = why;
	a->suggestion_count = 0;
}

/* NULL: there is enough to judge by. */
static const char *too_little(const isc_evidence *j, const isc_analysis *a)
{
	double idle = isc_evidence_pct(j, ISC_STATE_IDLE), queue = isc_evidence_pct(j, ISC_STATE_RUN_QUEUE);
	isc_units u, v;
	bool gpu = false;

	for (size_t i = 0; a->timeline != NULL && i < a->timeline->gpu_count; i++)
		gpu |= a->timeline->gpus[i].seen;
	if (a->samples.count < ISC_VERDICT_SAMPLES && a->events < ISC_VERDICT_EVENTS)
		return isc_arena_format(j->arena,
					"too little was seen: %s samples and %s events, of 200 or 1,000 that it takes",
					isc_units_count(&u, a->samples.count), isc_units_count(&v, a->events));
	if (!j->known && !gpu)
		return "nothing tells what threads did: no GPU work, waits or samples were recorded";
	/* Who comes back late from waiting for work, as others have the CPUs, has no more load for it. */
	idle = idle >= 0 && queue > 0 && queue < 100 ? idle / (100 - queue) * 100 : idle;
	if (idle > IDLE_PCT && j->scope.len == 0 && !gpu && !j->awaits_pool)
		return isc_arena_format(j->arena,
					"there was next to no load: the thread waited for work for %s of the time",
					isc_units_percent(&u, idle));
	return NULL;
}

/* Nothing fired, and most of what was judged is time in which others had the CPUs. */
static const char *starved_words(const isc_evidence *j)
{
	isc_units u;

	return isc_arena_format(
		j->arena,
		"other programs had the CPUs: the thread was ready to run and got none for %s of the time; "
		"measure again on a machine with a CPU to spare",
		isc_units_percent(&u, isc_evidence_pct(j, ISC_STATE_RUN_QUEUE)));
}

/* Most of the time is not known, and more than the cause that was found explains. */
static bool hides(const struct reaching *r)
{
	double other = isc_evidence_pct(r->j, ISC_STATE_OTHER);
	const struct fired *top = r->count > 0 ? &r->fired[0] : NULL;

	return other > OTHER_PCT && (top == NULL || (top->f.device_id < 0 && top->f.share < other));
}

static const char *unseen_words(const struct reaching *r)
{
	isc_units u;

	return isc_arena_format(
		r->arena, "what the thread did in %s of the time is not known: %s",
		isc_units_percent(&u, isc_evidence_pct(r->j, ISC_STATE_OTHER)),
		isc_evidence_pct(r->j, ISC_STATE_IDLE) >= 0
			? "it waited in calls that are not hooked, or was not watched"
			: "waits were not recorded; run with the agent, without --no-agent and --no-syscalls");
}

/* Without native frames a function that takes most of the time may run Python or native code, and which of them decides
 * the verdict; NULL: something else does. */
static const char *unsplit_words(const struct reaching *r)
{
	const isc_evidence *j = r->j;
	double pct = j->merged && j->window_us > 0 ? j->hot.us / j->window_us * 100 : 0;
	isc_units u;

	for (size_t i = 0; i < r->rules->count; i++) {
		const isc_rule *rule = &r->rules->rule[i];

		if (rule->off || rule->metric != &isc_metric_hot || !isc_rule_fires(rule, pct) ||
		    (r->count > 0 && isc_rule_excess(rule, pct) <= r->fired[0].excess))
			continue;
		return isc_arena_format(r->arena,
					"%s of the time is on a CPU in %.*s, and without native frames (--native off) "
					"nobody knows whether that is Python or native code; run with --native leaf",
					isc_units_percent(&u, pct), (int)(j->hot.name.len < 80 ? j->hot.name.len : 80),
					j->hot.name.at);
	}
	return NULL;
}

static const char *unattributed_words(const struct reaching *r)
{
	isc_units u;

	return isc_arena_format(r->arena, "%s of the judged time ran without a known stack: %s; %s",
				isc_units_percent(&u, isc_evidence_pct(r->j, ISC_STATE_UNATTRIBUTED)),
				isc_unattributed_words((enum isc_unattributed)r->j->unattributed),
				isc_unattributed_remedy((enum isc_unattributed)r->j->unattributed));
}

static void conclude(struct reaching *r)
{
	isc_analysis_verdict *v = &r->a->verdict;
	double trusted = trust(r->a, r->j);
	const char *unsplit;

	if (isc_evidence_pct(r->j, ISC_STATE_UNATTRIBUTED) > UNATTRIBUTED_PCT) {
		withhold(r->a, unattributed_words(r));
		return;
	}
	unsplit = unsplit_words(r);
	if (unsplit != NULL) {
		withhold(r->a, unsplit);
		return;
	}
	if (r->count > 0) {
		const struct fired *top = &r->fired[0];

		v->bottleneck = isc_bound_name(top->rule->bound);
		v->cause = top->rule->id;
		v->share = top->f.share;
		v->device_id = top->f.device_id;
		v->confidence = isc_rule_confidence(top->rule, top->f.value, top->f.solid) * trusted;
		v->headline = headline_of(r, top);
	} else {
		v->bottleneck = isc_bound_name(ISC_BOUND_BALANCED);
		v->confidence = (0.5 + 0.5 * (1 - fmin(1, r->nearest_part))) * trusted;
		v->headline = balanced_words(r);
		if (isc_evidence_pct(r->j, ISC_STATE_RUN_QUEUE) > STARVED_PCT) {
			withhold(r->a, starved_words(r->j));
			return;
		}
	}
	if (hides(r)) {
		withhold(r->a, unseen_words(r));
		return;
	}
	/* As reports have it: two digits of three are not always two digits of all. */
	v->confidence = round(v->confidence * 1e3) / 1e3;
	if (v->confidence < ISC_CONFIDENCE_FLOOR)
		withhold(r->a,
			 isc_arena_format(r->arena, "what was seen does not suffice: the confidence would be %.2f",
					  v->confidence));
}

isc_status isc_verdict_reach(const isc_evidence *j, const isc_rules *rules, isc_analysis *a, isc_error *err)
{
	struct reaching r = {.j = j, .rules = rules, .a = a, .arena = j->arena};
	const char *why;

	a->verdict =
		(isc_analysis_verdict){.bottleneck = isc_bound_name(ISC_BOUND_UNKNOWN), .share = -1, .device_id = -1};
	a->suggestions = NULL;
	a->suggestion_count = 0;
	a->window.each_us = j->known ? isc_evidence_whole(j) : 0;
	why = too_little(j, a);
	if (why != NULL) {
		withhold(a, why);
		return isc_growth_suggest(j, a) && !j->arena->failed ? ISC_OK : isc_build_no_memory(err);
	}
	if (!measure_all(&r, rules))
		return isc_build_no_memory(err);
	if (r.count > 1)
		qsort(r.fired, r.count, sizeof(*r.fired), by_excess);
	if (!judge_gpus(&r) || !tell_evidence(&r) || !tell_changes(&r))
		return isc_build_no_memory(err);
	conclude(&r);
	return isc_growth_suggest(j, a) && !j->arena->failed ? ISC_OK : isc_build_no_memory(err);
}
