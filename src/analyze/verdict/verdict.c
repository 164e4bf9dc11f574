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
/* From here on it is doubted. */
#define STARVED_DOUBT_PCT 10
/* Above it, what nobody told of may be the cause; from the first on it may be. */
#define OTHER_DOUBT_PCT 10
#define OTHER_PCT 50
/* Where nothing stands out: less of another state than that is not worth a word. */
#define SECOND_PCT 1
/* A fault that saves less of what is judged is no verdict where a limit is known. */
#define WORTH_PCT 10
/* Of what another saves: that is as good as the same. */
#define ABOUT 0.9
/* Of what a general cause saves: a special one that does so explains it. */
#define EXPLAINS 0.5
/* The same of time on a CPU that no stack explains; from the first on it is doubted. */
#define UNATTRIBUTED_DOUBT_PCT 5
#define UNATTRIBUTED_PCT 30

/* A rule that fired, with what its metric says. */
struct fired {
	const isc_rule *rule;
	isc_finding f;
	size_t gpu;
	double excess;
	double saves; /* percent of what it is about; negative: no bound is known */
	bool worth;   /* a fault that is worth a verdict; one without a bound always is */
};

struct reaching {
	const isc_evidence *j;
	const isc_rules *rules;
	isc_analysis *a;
	isc_arena *arena;
	struct fired *fired;
	size_t count, room, changes_room;
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

/* The part of the time in which the thread was ready and other programs had the CPUs: whatever else it did may be their
 * doing too. */
static double starved(const isc_evidence *j)
{
	double queue = isc_evidence_pct(j, ISC_STATE_RUN_QUEUE);

	return queue > STARVED_DOUBT_PCT && !isc_evidence_own_queue(j) ? fmin(queue / 100, 1) : 0;
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
	trust *= 1 - starved(j);
	if (!a->lost_known)
		trust *= 0.9;
	return a->damaged ? trust * 0.8 : trust;
}

/* What a finding is of: all that was judged, or a device's span. */
static double judged_us(const struct reaching *r, const struct fired *f)
{
	const isc_facts_gpu *g;

	if (isc_claim_device(&f->f.claim) < 0)
		return r->j->window_us;
	g = &r->a->timeline->gpus[f->gpu];
	return (double)(g->last_ns - g->first_ns) / 1e3;
}

/* What the host can save at most, in percent: a GPU that works needs its time all the same. */
static double host_at_most(const struct reaching *r)
{
	const isc_timeline_facts *t = r->a->timeline;
	double most = 100;

	for (size_t i = 0; t != NULL && r->j->window_us > 0 && i < t->gpu_count; i++) {
		if (t->gpus[i].seen)
			most = fmin(most, 100 - (double)t->gpus[i].busy_ns / 1e3 / r->j->window_us * 100);
	}
	return fmax(most, 0);
}

/* By what causes are ranked. */
static double share_saved(const struct reaching *r, const struct fired *f)
{
	double whole = judged_us(r, f), us = f->f.alone > 0 ? fmin(f->f.alone, f->f.us) : f->f.us;

	if (us < 0 || whole <= 0)
		return -1;
	return isc_claim_device(&f->f.claim) < 0 ? fmin(us / whole * 100, host_at_most(r)) : us / whole * 100;
}

/* The work of a thread is no limit while a GPU leaves it less than that. */
static bool hides_behind_gpu(const struct reaching *r, const isc_rule *rule, const isc_finding *f)
{
	return rule->kind == ISC_CLAIM_LIMIT && !rule->metric->device && host_at_most(r) < f->value;
}

static bool note(struct reaching *r, const isc_rule *rule, size_t gpu)
{
	isc_finding f = {0};
	struct fired *fired;
	double part;

	if (!rule->metric->measure(r->j, gpu, &f) || !isfinite(f.value))
		return true;
	if (!isc_rule_fires(rule, f.value) || hides_behind_gpu(r, rule, &f)) {
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
	*fired = (struct fired){.rule = rule, .f = f, .gpu = gpu, .excess = isc_rule_excess(rule, f.value)};
	fired->saves = share_saved(r, fired);
	fired->worth = fired->saves < 0 || fired->saves >= WORTH_PCT;
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

/* Faults that are worth it, then limits, then the rest. */
static int class_of(const struct fired *f)
{
	if (f->rule->kind == ISC_CLAIM_LIMIT)
		return 1;
	return f->worth ? 0 : 2;
}

static int by_excess(const struct fired *f, const struct fired *g)
{
	if (f->excess != g->excess)
		return f->excess < g->excess ? 1 : -1;
	if (f->gpu != g->gpu)
		return f->gpu > g->gpu ? 1 : -1;
	return strcmp(f->rule->id, g->rule->id);
}

static int by_saving(const void *x, const void *y)
{
	const struct fired *f = x, *g = y;

	if (class_of(f) != class_of(g))
		return class_of(f) - class_of(g);
	if (f->saves != g->saves)
		return f->saves < g->saves ? 1 : -1;
	return by_excess(f, g);
}

/* Bounds are estimates: what saves about as much as the first is as good, and so is what explains it. */
static bool rivals_first(const struct reaching *r, size_t i)
{
	const struct fired *first = &r->fired[0], *f = &r->fired[i];
	bool explains = first->rule->general && !f->rule->general;

	return class_of(f) == class_of(first) && f->saves >= first->saves * (explains ? EXPLAINS : ABOUT);
}

/* Of these the one furthest above its threshold wins; one that explains goes before one that is to be explained. */
static void settle_ties(struct reaching *r)
{
	size_t best = 0;
	struct fired won;

	for (size_t i = 1; i < r->count; i++) {
		const struct fired *f = &r->fired[i], *b = &r->fired[best];

		if (!rivals_first(r, i))
			continue;
		if (f->rule->general != b->rule->general ? b->rule->general : by_excess(f, b) < 0)
			best = i;
	}
	won = r->fired[best];
	memmove(&r->fired[1], &r->fired[0], best * sizeof(won));
	r->fired[0] = won;
}

/* The same, by what it can save. */
static int by_bound(const void *x, const void *y)
{
	const isc_analysis_suggestion *s = x, *t = y;

	if (s->saves_at_most_us != t->saves_at_most_us)
		return s->saves_at_most_us < t->saves_at_most_us ? 1 : -1;
	return strcmp(s->claim.cause, t->claim.cause);
}

/* ---- claims ---- */

static const isc_claim no_claim = {.share = -1, .saving_us = -1, .of_us = -1};

static isc_text text_of(const char *text)
{
	return (isc_text){text, text != NULL ? strlen(text) : 0};
}

/* What a file of rules says, which may be gone before the analysis is. */
static isc_text keep_own(const struct reaching *r, const char *own)
{
	/* The built-in rules stay. */
	if (own == NULL || r->rules->arena == NULL)
		return text_of(own);
	return text_of(isc_arena_copy(r->arena, own, strlen(own)));
}

/* What a rule adds to what its metric says: whose cause it is, what that is worth and what to do. */
static void complete(const struct reaching *r, struct fired *f)
{
	isc_claim *c = &f->f.claim;
	double whole = isc_claim_device(c) < 0 ? isc_evidence_whole(r->j) : judged_us(r, f);

	/* Where it happens is a place of the judged thread. */
	if (c->place.function.len > 0 && isc_claim_device(c) < 0)
		c->place.thread = r->a->breakdown.name;
	c->finding = f->rule->metric->name;
	c->cause = keep_own(r, f->rule->id).at;
	c->kind = f->rule->kind;
	c->of_us = whole;
	c->saving_us = f->f.us;
	if (f->f.us > 0 && isc_claim_device(c) < 0 && r->j->window_us > 0)
		c->saving_us *= whole / r->j->window_us;
	c->fix = c->fix != ISC_FIX_NONE ? c->fix : f->rule->fix;
	c->own_title = keep_own(r, f->rule->own_title);
	c->own_fix = keep_own(r, f->rule->own_fix);
	c->own_check = keep_own(r, f->rule->own_check);
}

static void complete_all(struct reaching *r)
{
	for (size_t i = 0; i < r->count; i++)
		complete(r, &r->fired[i]);
}

/* ---- what would change it ---- */

static isc_analysis_change *add_change(struct reaching *r, enum isc_change_kind kind, double value)
{
	isc_analysis_verdict *v = &r->a->verdict;
	isc_analysis_change *change =
		isc_arena_push(r->arena, &v->would_change, &v->would_change_count, &r->changes_room, sizeof(*change));

	if (change != NULL)
		*change = (isc_analysis_change){.kind = kind, .value = value};
	return change;
}

/* The runner-up: the strongest other rule that fired, or NULL.  The same rule on another GPU does not count. */
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

/* Of its metric, below which it saves too little to win; what it saves falls with its metric. */
static double least_to_win(const struct fired *top, const struct fired *rival)
{
	bool equals = rival != NULL && class_of(rival) == class_of(top);
	double enough = equals ? rival->saves : WORTH_PCT;

	if (rival == NULL || (!equals && class_of(top) != 0) || enough <= 0 || top->saves <= enough)
		return 0;
	return top->f.value * enough / top->saves;
}

/* Down to where the next one wins. */
static bool change_by_fall(struct reaching *r)
{
	const struct fired *top = &r->fired[0], *rival = rival_of(r);
	isc_analysis_change *change = add_change(r, ISC_CHANGE_FALLS, top->f.value);

	if (change == NULL)
		return false;
	change->metric = top->rule->metric->name;
	change->every_gpu = fires_again(r);
	change->limit = fmax(top->rule->threshold, least_to_win(top, rival));
	change->then = rival != NULL ? rival->f.claim.cause : NULL;
	return true;
}

static bool change_by_rise(struct reaching *r)
{
	isc_analysis_change *change = add_change(r, ISC_CHANGE_RISES, r->nearest_value);

	if (change == NULL)
		return false;
	change->metric = r->nearest->metric->name;
	change->limit = r->nearest->threshold;
	change->then = keep_own(r, r->nearest->id).at;
	return true;
}

/* What value, or loss, would make it another verdict. */
static bool tell_changes(struct reaching *r)
{
	double blind = isc_evidence_pct(r->j, ISC_STATE_UNATTRIBUTED), other = isc_evidence_pct(r->j, ISC_STATE_OTHER);
	bool good = true;

	if (r->count > 0)
		good = change_by_fall(r);
	else if (r->nearest != NULL)
		good = change_by_rise(r);
	if (good && r->a->lost > 0)
		good = add_change(r, ISC_CHANGE_LOST, (double)r->a->lost) != NULL;
	if (good && blind > UNATTRIBUTED_DOUBT_PCT)
		good = add_change(r, ISC_CHANGE_UNATTRIBUTED, blind) != NULL;
	if (good && other >= OTHER_DOUBT_PCT)
		good = add_change(r, ISC_CHANGE_OTHER, other) != NULL;
	return good;
}

static void suggest(struct reaching *r, const struct fired *f)
{
	r->a->suggestions[r->a->suggestion_count++] =
		(isc_analysis_suggestion){.claim = f->f.claim, .saves_at_most_us = f->f.us};
}

/* Those of the verdict's cause, or all others. */
static void suggest_all(struct reaching *r, bool of_cause)
{
	size_t first = r->a->suggestion_count;

	for (size_t i = 0; i < r->count; i++) {
		const isc_rule *rule = r->fired[i].rule;
		bool remedy = rule->fix != ISC_FIX_NONE || rule->own_fix != NULL || rule->own_title != NULL;

		/* A limit without a remedy is nothing to do. */
		if ((rule == r->fired[0].rule) == of_cause && (remedy || rule->kind != ISC_CLAIM_LIMIT))
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

		v->evidence[v->evidence_count++] =
			(isc_analysis_evidence){f->f.claim.cause, f->rule->metric->name, f->f.value, f->rule->threshold,
						isc_claim_device(&f->f.claim)};
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
			if (isc_claim_device(&r->fired[i].f.claim) >= 0 && r->fired[i].gpu == gpu)
				of[gpu] = isc_bound_name(r->fired[i].rule->bound);
		}
	}
	r->a->gpu_bottleneck = of;
	return true;
}

/* The state that takes most of the time, and the next one. */
static void tell_states(const isc_evidence *j, isc_claim *c)
{
	int first = ISC_STATE_OTHER, second = ISC_STATE_OTHER;
	double pct;

	for (int s = 0; s < ISC_STATES; s++) {
		if (j->state_us[s] > j->state_us[first])
			second = first, first = s;
		else if (s != first && j->state_us[s] > j->state_us[second])
			second = s;
	}
	isc_claim_text(c, ISC_DETAIL_STATE, text_of(isc_state_name((enum isc_state)first)));
	isc_claim_number(c, ISC_DETAIL_STATE_PCT, isc_evidence_pct(j, (enum isc_state)first));
	pct = isc_evidence_pct(j, (enum isc_state)second);
	if (second == first || pct <= SECOND_PCT)
		return;
	isc_claim_text(c, ISC_DETAIL_SECOND_STATE, text_of(isc_state_name((enum isc_state)second)));
	isc_claim_number(c, ISC_DETAIL_SECOND_STATE_PCT, pct);
}

static isc_claim balanced(const isc_evidence *j)
{
	isc_claim c = {
		.finding = "balanced", .subject = isc_evidence_subject(j), .share = -1, .saving_us = -1, .of_us = -1};

	if (j->known)
		tell_states(j, &c);
	return c;
}

static void withhold(isc_analysis *a, const char *why)
{
	isc_analysis_verdict *v = &a->verdict;

	v->bottleneck = isc_bound_name(ISC_BOUND_UNKNOWN);
	v->claim = no_claim;
	v->confidence = 0;
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

	return other > OTHER_PCT &&
	       (top == NULL || (isc_claim_device(&top->f.claim) < 0 && top->f.claim.share < other));
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
		v->claim = top->f.claim;
		v->confidence = isc_rule_confidence(top->rule, top->f.value, top->f.solid) * trusted;
	} else {
		v->bottleneck = isc_bound_name(ISC_BOUND_BALANCED);
		v->confidence = (0.5 + 0.5 * (1 - fmin(1, r->nearest_part))) * trusted;
		v->claim = balanced(r->j);
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

	a->verdict = (isc_analysis_verdict){.bottleneck = isc_bound_name(ISC_BOUND_UNKNOWN), .claim = no_claim};
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
	if (r.count > 1) {
		qsort(r.fired, r.count, sizeof(*r.fired), by_saving);
		settle_ties(&r);
	}
	complete_all(&r);
	if (r.arena->failed)
		return isc_build_no_memory(err);
	if (!judge_gpus(&r) || !tell_evidence(&r) || !tell_changes(&r))
		return isc_build_no_memory(err);
	conclude(&r);
	return isc_growth_suggest(j, a) && !j->arena->failed ? ISC_OK : isc_build_no_memory(err);
}
