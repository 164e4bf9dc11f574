#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/names.h"
#include "analyze/scopes/tails.h"

#define CAUSES_MAX 10u
#define CAUSE_SHARE 0.02 /* of what slow ones take longer: less explains nothing */
#define CAUSE_MIN_US 1.0
#define WATCHED_SHARE 0.5 /* of scopes that switches are known of, to speak for all */
#define TRACED_SHARE 0.5  /* likewise for traced functions */
#define WHOLE_ENOUGH 3u	  /* scopes with every call recorded, of each group, that speak for all */
/* By how much their shares may differ: beyond it what differs may be what was recorded. */
#define WHOLE_APART 0.1
/* Fewer samples in one function are chance. */
#define FUNCTION_SAMPLES ISC_TAIL_SLOW_SAMPLES_MIN

/* What is known of a process as a whole. */
struct told_cause {
	bool sampled, placed, collections;
};

struct cause_candidate {
	isc_analysis_cause cause;
	uint32_t place, holder;
};

struct explain {
	isc_tails *t;
	bool gpu;		 /* the trace tells of calls for GPUs */
	struct told_cause *told; /* of its processes */
	struct cause_candidate *candidate;
	size_t count, room;
};

const char *isc_cause_name(const isc_analysis_cause *cause)
{
	return cause->event_loop ? "event_loop" : cause->not_seen ? "not_seen" : isc_state_name(cause->state);
}

static bool take_told(struct explain *e)
{
	isc_build *b = e->t->b;
	const isc_total_stack *s;
	const isc_total_wait *w;
	isc_frame frame;

	e->told = isc_arena_array(b->arena, b->a->process_count + 1, sizeof(*e->told));
	if (e->told == NULL)
		return false;
	for (size_t i = 0; (w = isc_totals_wait_at(b->totals, i)) != NULL; i++) {
		size_t rank = isc_build_process_rank(b, w->process);

		if (w->call == ISC_WAIT_GC && rank != SIZE_MAX)
			e->told[rank].collections = true;
	}
	for (size_t i = 0; (s = isc_totals_stack_at(b->totals, i)) != NULL; i++) {
		size_t rank = isc_build_process_rank(b, s->process);

		if (rank == SIZE_MAX)
			continue;
		e->told[rank].sampled = true;
		e->told[rank].placed |=
			isc_trace_frame(b->trace, s->process, s->stack, &frame) && frame.kind == ISC_FRAME_NATIVE;
	}
	return true;
}

/* ---- groups ---- */

/* As a thread's time is settled; switches of some scopes stand for those of all. */
static void settle(const struct explain *e, const isc_tail *tail, const isc_tail_group *g,
		   isc_analysis_scope_group *out)
{
	isc_build *b = e->t->b;
	size_t rank = isc_build_process_rank(b, tail->process);
	double threads_us = g->wall_us - g->task_us, more = g->watched_us > 0 ? threads_us / g->watched_us : 0;
	isc_account account = {
		.wall = g->wall_us, .python = g->sums.python_us, .native = g->sums.native_us, .spin = g->sums.spin_us};
	isc_analysis_thread settled;

	if (g->count == 0)
		return;
	memcpy(account.told, g->sums.told, sizeof(account.told));
	memcpy(account.unattributed, g->sums.unattributed_us, sizeof(account.unattributed));
	account.merged = b->facts.native_off;
	account.switches = g->watched_us >= threads_us * WATCHED_SHARE && (g->watched_us > 0 || g->task_us > 0);
	if (account.switches) {
		account.on_cpu = g->on_cpu_us * more + g->task_run_us;
		account.queue = g->queue_us * more + g->task_queued_us;
		account.blocked = g->blocked_us * more + g->task_told_us;
		account.unwatched = g->unwatched_us * more + g->sums.loop_us;
		account.estimated = g->task_us > 0;
		account.faults = b->facts.faults && g->task_us <= 0;
		account.told[ISC_STATE_PAGE_FAULT] = account.faults ? g->fault_us * more : 0;
	}
	if (rank != SIZE_MAX) {
		const isc_analysis_process *p = &b->a->processes[rank];

		account.agent = b->facts.waits && p->traced;
		account.collections = e->told[rank].collections;
		account.sampled = e->told[rank].sampled;
		account.placed = e->told[rank].placed;
		account.traced = p->python && b->calls_seen;
	}
	account.gpu = e->gpu || g->sums.told[ISC_STATE_GPU_WAIT] > 0;
	isc_account_settle(&account, &settled);
	out->unattributed = settled.unattributed;
	out->count = g->count;
	out->mean_us = g->wall_us / (double)g->count;
	out->unseen_us = g->sums.unseen_us / (double)g->count;
	for (int state = 0; state < ISC_STATES; state++) {
		out->source[state] = settled.source[state];
		out->state_us[state] = settled.state_us[state] >= 0 ? settled.state_us[state] / (double)g->count : -1;
	}
	/* Whether a task of a thread waited for a CPU nobody says. */
	if (g->task_us > 0 && out->state_us[ISC_STATE_RUN_QUEUE] <= 0) {
		out->state_us[ISC_STATE_RUN_QUEUE] = -1;
		out->source[ISC_STATE_RUN_QUEUE] = ISC_SOURCE_NONE;
	}
}

static double running_us(const isc_analysis_scope_group *g)
{
	return fmax(g->state_us[ISC_STATE_PYTHON], 0) + fmax(g->state_us[ISC_STATE_NATIVE], 0) +
	       fmax(g->state_us[ISC_STATE_ON_CPU], 0) + fmax(g->state_us[ISC_STATE_SPIN], 0);
}

/* ---- what differs ---- */

static bool propose(struct explain *e, const isc_analysis_cause *cause, uint32_t place, uint32_t holder)
{
	struct cause_candidate *c;

	for (size_t i = 0; i < e->count; i++) {
		c = &e->candidate[i];
		if (c->place == place && c->holder == holder && c->cause.state == cause->state &&
		    c->cause.event_loop == cause->event_loop && c->cause.not_seen == cause->not_seen) {
			c->cause.extra_us += cause->extra_us;
			return true;
		}
	}
	c = isc_arena_push(e->t->b->arena, &e->candidate, &e->count, &e->room, sizeof(*c));
	if (c == NULL)
		return false;
	*c = (struct cause_candidate){*cause, place, holder};
	if (place != 0)
		c->cause.where = e->t->places.at[place];
	if (holder != 0)
		c->cause.holder = e->t->places.at[holder];
	return true;
}

/* The scopes of a group that are compared. */
struct side {
	const isc_tail_sums *sums;
	uint64_t count;
};

static struct side side_of(const isc_tail_group *g, bool whole)
{
	return whole ? (struct side){&g->whole, g->whole_count} : (struct side){&g->sums, g->count};
}

static double in_side(struct side side, uint32_t key)
{
	const isc_cell *cell = isc_cells_find(&side.sums->cells, key);

	return cell != NULL ? cell->us / (double)side.count : 0;
}

/* Waits and collections: each by where it was. */
static bool compare_told(struct explain *e, const isc_tail *tail, double least_us)
{
	const isc_tail_group *slow = &tail->group[ISC_TAIL_SLOW], *median = &tail->group[ISC_TAIL_MEDIAN];
	const isc_cell *cell;
	size_t at = 0;

	while ((cell = isc_cells_next(&slow->sums.cells, &at)) != NULL) {
		const isc_tail_key *key = cell->key & ISC_TAIL_NODE ? NULL : &e->t->key[cell->key - 1];
		isc_analysis_cause cause = {0};

		if (key == NULL || key->kind == ISC_TAIL_RUN || key->kind >= ISC_TAIL_UNSEEN)
			continue;
		cause.extra_us = cell->us / (double)slow->count - in_side(side_of(median, false), cell->key);
		cause.event_loop = key->kind == ISC_TAIL_LOOP;
		cause.state = key->kind == ISC_TAIL_AWAIT  ? ISC_STATE_IDLE
			      : key->kind == ISC_TAIL_LOOP ? ISC_STATE_OTHER
							   : (enum isc_state)key->kind;
		cause.holder_tid = key->holder_tid != UINT32_MAX ? key->holder_tid : 0;
		if (cause.extra_us >= least_us && !propose(e, &cause, key->place, key->holder))
			return false;
	}
	return true;
}

/* The samples of a group by function: all, those in native code, as breakdowns have it, and those of calls that were not recorded. */
struct sampled {
	isc_cells all, native, unseen;
	uint64_t unseen_count;
};

static void sampled_fini(struct sampled *s)
{
	isc_cells_fini(&s->all);
	isc_cells_fini(&s->native);
	isc_cells_fini(&s->unseen);
}

static bool sample_functions(struct explain *e, const isc_tail_group *g, struct sampled *s)
{
	const isc_stack_tree *tree = e->t->tree;
	isc_build *b = e->t->b;
	const isc_cell *cell;
	size_t at = 0;

	while ((cell = isc_cells_next(&g->sums.cells, &at)) != NULL) {
		const isc_tree_node *n, *python;
		bool unseen = cell->key & ISC_TAIL_NODE_UNSEEN;
		uint32_t place;

		if ((cell->key & ISC_TAIL_NODE) == 0)
			continue;
		n = &tree->node[cell->key & ~(ISC_TAIL_NODE | ISC_TAIL_NODE_UNSEEN)];
		python = n->python != 0 ? &tree->node[n->python] : n;
		s->unseen_count += unseen ? cell->count : 0;
		if (!isc_tree_is_frame(n) || !n->known)
			continue;
		place = isc_places_function(&e->t->places, b, &b->a->functions[tree->frame[python->frame].function]);
		if (place == ISC_PLACE_NO_MEMORY ||
		    !isc_cells_add(unseen ? &s->unseen : &s->all, place, cell->count, cell->us) ||
		    (!unseen && n->state == ISC_STATE_NATIVE && !isc_cells_add(&s->native, place, 0, cell->us)))
			return false;
	}
	return true;
}

static double value(const isc_cells *cells, uint32_t key)
{
	const isc_cell *cell = isc_cells_find(cells, key);

	return cell != NULL ? cell->us : 0;
}

/* Does tracing say where most of the time between waits went? */
static bool is_traced(const struct explain *e, const isc_tail_group *g)
{
	const isc_cell *cell;
	double placed = 0;
	size_t at = 0;

	while ((cell = isc_cells_next(&g->sums.cells, &at)) != NULL) {
		if ((cell->key & ISC_TAIL_NODE) == 0 && e->t->key[cell->key - 1].kind == ISC_TAIL_RUN &&
		    e->t->key[cell->key - 1].place != 0)
			placed += cell->us;
	}
	return g->sums.run_us > 0 && placed >= g->sums.run_us * TRACED_SHARE;
}

/* What ran, of all that lies between waits; whose it was does not matter. */
static double part_run(const isc_analysis_scope_group *g, const isc_tail_group *sums)
{
	double us = running_us(g) + fmax(g->state_us[ISC_STATE_UNATTRIBUTED], 0);

	return fmin(us * (double)sums->count / sums->sums.run_us, 1);
}

/* What is between waits may have time in it in which nothing ran: such parts did. */
struct cause_parts {
	double slow, median;
};

static struct cause_parts parts_of(const isc_tail *tail, const isc_analysis_scope *s)
{
	const isc_tail_group *slow = &tail->group[ISC_TAIL_SLOW], *median = &tail->group[ISC_TAIL_MEDIAN];
	bool watched = slow->watched_us > 0 || slow->task_us > 0;

	return (struct cause_parts){watched && slow->sums.run_us > 0 ? part_run(&s->slow, slow) : 1,
				    watched && median->sums.run_us > 0 ? part_run(&s->median, median) : 1};
}

/* What functions run, where samples do not say more. */
static enum isc_state ran(const struct explain *e)
{
	return e->t->b->facts.native_off ? ISC_STATE_ON_CPU : ISC_STATE_PYTHON;
}

/* What a function runs for the most part: in slow scopes, and in all where those have too few samples to say it. */
static enum isc_state state_at(const struct explain *e, const struct sampled *in_group, uint32_t place)
{
	const isc_cell *cell = isc_cells_find(&in_group[ISC_TAIL_SLOW].all, place);
	const struct sampled *in =
		&in_group[cell != NULL && cell->count >= FUNCTION_SAMPLES ? ISC_TAIL_SLOW : ISC_TAIL_ALL];

	return value(&in->native, place) * 2 > value(&in->all, place) ? ISC_STATE_NATIVE : ran(e);
}

static double group_error_us(const isc_tail_group *g, const struct sampled *in, uint32_t place)
{
	const isc_cell *cell = isc_cells_find(&in->unseen, place);

	/* Where samples gave it nothing, it has what its calls took. */
	if (g->sums.unseen_us <= 0 || cell == NULL)
		return 0;
	return isc_samples_error_us(cell->count, in->unseen_count, g->sums.unseen_us / (double)g->count);
}

/* Of two errors that have nothing to do with each other. */
static double both_us(double a, double b)
{
	return sqrt(a * a + b * b);
}

/* By how much chance may have moved what samples say of calls that were not recorded. */
static double error_us(const isc_tail *tail, const struct sampled *in, uint32_t place)
{
	/* As tail_holes.c shares it out. */
	int median = in[ISC_TAIL_MEDIAN].unseen_count >= ISC_TAIL_SAMPLES_MIN ? ISC_TAIL_MEDIAN : ISC_TAIL_ALL;

	return both_us(group_error_us(&tail->group[ISC_TAIL_SLOW], &in[ISC_TAIL_SLOW], place),
		       group_error_us(&tail->group[ISC_TAIL_MEDIAN], &in[median], place));
}

static bool compare_traced(struct explain *e, const isc_tail *tail, const isc_analysis_scope *s,
			   const struct sampled *in, bool whole, double least_us)
{
	struct side slow = side_of(&tail->group[ISC_TAIL_SLOW], whole);
	struct side median = side_of(&tail->group[ISC_TAIL_MEDIAN], whole);
	struct cause_parts part = parts_of(tail, s);
	const isc_cell *cell;
	size_t at = 0;

	while ((cell = isc_cells_next(&slow.sums->cells, &at)) != NULL) {
		const isc_tail_key *key = cell->key & ISC_TAIL_NODE ? NULL : &e->t->key[cell->key - 1];
		isc_analysis_cause cause = {.state = ran(e)};

		if (key == NULL || (key->kind != ISC_TAIL_RUN && key->kind != ISC_TAIL_UNSEEN))
			continue;
		cause.not_seen = key->kind == ISC_TAIL_UNSEEN;
		if (key->place != 0)
			cause.state = state_at(e, in, key->place);
		cause.extra_us = cell->us * part.slow / (double)slow.count - in_side(median, cell->key) * part.median;
		if (cause.extra_us >= least_us &&
		    (cause.not_seen || whole || cause.extra_us > error_us(tail, in, key->place)) &&
		    !propose(e, &cause, key->place, 0))
			return false;
	}
	return true;
}

/* By how much slow ones run longer. */
static double longer_us(const isc_tail *tail, const isc_analysis_scope *s)
{
	const isc_tail_group *slow = &tail->group[ISC_TAIL_SLOW], *median = &tail->group[ISC_TAIL_MEDIAN];
	struct cause_parts part = parts_of(tail, s);

	return slow->sums.run_us * part.slow / (double)slow->count -
	       median->sums.run_us * part.median / (double)median->count;
}

/* What slow ones run longer and no function has, because chance may explain each of the differences, was not seen.  Functions
 * do not have more together than slow ones run longer. */
static bool fit_in(struct explain *e, const isc_tail *tail, const isc_analysis_scope *s, size_t from, bool uneven,
		   double least_us)
{
	isc_analysis_cause rest = {.state = ran(e), .not_seen = true};
	double more = longer_us(tail, s), sum = 0;

	for (size_t i = from; i < e->count; i++)
		sum += e->candidate[i].cause.extra_us;
	for (size_t i = from; i < e->count && sum > more && more > 0; i++)
		e->candidate[i].cause.extra_us *= more / sum;
	rest.extra_us = more - sum;
	/* Calls that were recorded leave no more than rounding. */
	if ((tail->group[ISC_TAIL_SLOW].sums.unseen_us <= 0 && !uneven) || rest.extra_us < least_us)
		return true;
	return propose(e, &rest, 0, 0);
}

/* By how much chance may have moved what samples say of one group. */
static double sampled_error_us(const isc_tail_group *g, const isc_analysis_scope_group *of, const struct sampled *in,
			       uint32_t place)
{
	const isc_cell *cell = isc_cells_find(&in->all, place);

	return cell != NULL ? isc_samples_error_us(cell->count, g->sums.samples, running_us(of)) : 0;
}

static bool compare_sampled(struct explain *e, const isc_tail *tail, const isc_analysis_scope *s,
			    const struct sampled *in, bool careful, double least_us)
{
	const isc_tail_group *slow = &tail->group[ISC_TAIL_SLOW], *median = &tail->group[ISC_TAIL_MEDIAN];
	double slow_us = slow->sums.python_us + slow->sums.native_us + slow->sums.spin_us;
	double median_us = median->sums.python_us + median->sums.native_us + median->sums.spin_us;
	const isc_cell *cell;
	size_t at = 0;

	while ((cell = isc_cells_next(&in[ISC_TAIL_SLOW].all, &at)) != NULL) {
		isc_analysis_cause cause = {.state = state_at(e, in, cell->key)};

		/* Samples say how what ran is shared out. */
		cause.extra_us =
			running_us(&s->slow) * cell->us / slow_us -
			(median_us > 0 ? running_us(&s->median) * value(&in[ISC_TAIL_MEDIAN].all, cell->key) / median_us
				       : 0);
		if (careful &&
		    cause.extra_us <= both_us(sampled_error_us(slow, &s->slow, &in[ISC_TAIL_SLOW], cell->key),
					      sampled_error_us(median, &s->median, &in[ISC_TAIL_MEDIAN], cell->key)))
			continue;
		if (cell->count >= FUNCTION_SAMPLES && cause.extra_us >= least_us && !propose(e, &cause, cell->key, 0))
			return false;
	}
	return true;
}

/* What nobody knows a place of. */
static bool compare_states(struct explain *e, const isc_tail *tail, const isc_analysis_scope *s, bool traced,
			   bool functions, double least_us)
{
	/* Functions have the last ones already; samples of functions, all but the fourth. */
	static const enum isc_state bare[] = {ISC_STATE_RUN_QUEUE,    ISC_STATE_PAGE_FAULT, ISC_STATE_OTHER,
					      ISC_STATE_UNATTRIBUTED, ISC_STATE_PYTHON,	    ISC_STATE_NATIVE,
					      ISC_STATE_ON_CPU,	      ISC_STATE_SPIN};
	const isc_tail_group *slow = &tail->group[ISC_TAIL_SLOW], *median = &tail->group[ISC_TAIL_MEDIAN];

	for (size_t i = 0; i < sizeof(bare) / sizeof(bare[0]); i++) {
		isc_analysis_cause cause = {.state = bare[i]};

		if ((traced && i >= 3) || (functions && i >= 4))
			break;
		cause.extra_us = fmax(s->slow.state_us[bare[i]], 0) - fmax(s->median.state_us[bare[i]], 0);
		if (bare[i] == ISC_STATE_OTHER)
			cause.extra_us -=
				slow->sums.loop_us / (double)slow->count - median->sums.loop_us / (double)median->count;
		/* Without switches it is what functions took and no sample saw. */
		if (bare[i] == ISC_STATE_OTHER && functions && slow->watched_us <= 0 && slow->task_us <= 0)
			continue;
		if (cause.extra_us >= least_us && !propose(e, &cause, 0, 0))
			return false;
	}
	return true;
}

static int by_extra(const void *x, const void *y)
{
	const struct cause_candidate *c = x, *d = y;
	int order;

	if (c->cause.extra_us != d->cause.extra_us)
		return c->cause.extra_us < d->cause.extra_us ? 1 : -1;
	order = isc_names_compare(&c->cause.where.name, &d->cause.where.name);
	return order != 0 ? order : (int)c->cause.state - (int)d->cause.state;
}

/* How to compare what ran. */
struct manner {
	bool holes;  /* calls of the process were left out: of those tail_holes.c has shared out the time by samples */
	bool whole;  /* scopes with every call recorded are enough of both groups, and exact */
	bool uneven; /* recording saw more of one group than of the other: samples alone are fair to both */
	bool traced; /* recorded calls say who ran */
	bool sampled;
};

static double whole_share(const isc_tail_group *g)
{
	return (double)g->whole_count / (double)g->count;
}

static struct manner manner_of(const struct explain *e, const isc_tail *tail, const struct sampled *in)
{
	const isc_tail_group *slow = &tail->group[ISC_TAIL_SLOW], *median = &tail->group[ISC_TAIL_MEDIAN];
	struct manner m = {.holes = isc_unseen_of(&e->t->b->unseen, tail->process) != NULL};

	m.whole = m.holes && slow->whole_count >= WHOLE_ENOUGH && median->whole_count >= WHOLE_ENOUGH;
	m.uneven = m.holes && !m.whole && fabs(whole_share(slow) - whole_share(median)) > WHOLE_APART;
	m.traced = m.holes ? slow->sums.run_us > 0 : is_traced(e, slow);
	m.sampled = in[ISC_TAIL_SLOW].all.used > 0;
	return m;
}

static bool compare_running(struct explain *e, const isc_tail *tail, const isc_analysis_scope *s,
			    const struct sampled *in, const struct manner *m, double least_us)
{
	size_t of_waits = e->count;
	bool good = true;

	if (m->traced && !m->uneven)
		good = compare_traced(e, tail, s, in, m->whole, least_us);
	else if (m->sampled)
		good = compare_sampled(e, tail, s, in, m->uneven, least_us);
	if (good && m->traced && m->holes && !m->whole)
		good = fit_in(e, tail, s, of_waits, m->uneven, least_us);
	return good;
}

static bool compare(struct explain *e, const isc_tail *tail, isc_analysis_scope *s)
{
	double least_us = fmax((s->slow.mean_us - s->median.mean_us) * CAUSE_SHARE, CAUSE_MIN_US);
	struct sampled in[ISC_TAIL_GROUPS] = {0};
	struct manner m;
	bool good;

	e->count = 0;
	good = compare_told(e, tail, least_us);
	for (int g = 0; g < ISC_TAIL_GROUPS && good; g++)
		good = sample_functions(e, &tail->group[g], &in[g]);
	m = manner_of(e, tail, in);
	good = good && compare_running(e, tail, s, in, &m, least_us) &&
	       compare_states(e, tail, s, m.traced, m.traced || m.sampled, least_us);
	for (int g = 0; g < ISC_TAIL_GROUPS; g++)
		sampled_fini(&in[g]);
	if (!good)
		return false;
	if (e->count > 0)
		qsort(e->candidate, e->count, sizeof(*e->candidate), by_extra);
	s->cause_count = e->count < CAUSES_MAX ? e->count : CAUSES_MAX;
	s->causes = isc_arena_array(e->t->b->arena, s->cause_count, sizeof(*s->causes));
	for (size_t i = 0; s->causes != NULL && i < s->cause_count; i++)
		s->causes[i] = e->candidate[i].cause;
	return s->causes != NULL || s->cause_count == 0;
}

/* ---- scopes inside ---- */

static int by_total(const void *x, const void *y)
{
	const isc_analysis_nested *n = x, *m = y;

	if (n->total_us != m->total_us)
		return n->total_us < m->total_us ? 1 : -1;
	return isc_names_compare(&n->name, &m->name);
}

static bool take_nested(struct explain *e, const isc_tail *tail, isc_analysis_scope *s)
{
	const isc_cells *all = &tail->nested[ISC_TAIL_ALL];
	const isc_cell *cell;
	size_t at = 0;

	if (all->used == 0)
		return true;
	s->nested = isc_arena_array(e->t->b->arena, all->used, sizeof(*s->nested));
	if (s->nested == NULL)
		return false;
	while ((cell = isc_cells_next(all, &at)) != NULL) {
		isc_analysis_nested *n = &s->nested[s->nested_count++];
		bool known = s->slow.count > 0 && s->median.count > 0;

		n->name = e->t->b->a->scopes[cell->key - 1].name;
		n->count = cell->count;
		n->total_us = cell->us;
		n->us_slow = n->us_median = -1;
		if (known) {
			n->us_slow = value(&tail->nested[ISC_TAIL_SLOW], cell->key) / (double)s->slow.count;
			n->us_median = value(&tail->nested[ISC_TAIL_MEDIAN], cell->key) / (double)s->median.count;
		}
	}
	qsort(s->nested, s->nested_count, sizeof(*s->nested), by_total);
	return true;
}

bool isc_tails_explain(isc_tails *t)
{
	struct explain e = {.t = t, .gpu = t->b->gpu_calls};

	if (!take_told(&e))
		return false;
	for (size_t i = 0; i < t->b->a->scope_count; i++) {
		isc_analysis_scope *s = &t->b->a->scopes[i];
		const isc_tail *tail = &t->tail[i];

		settle(&e, tail, &tail->group[ISC_TAIL_ALL], &s->all);
		settle(&e, tail, &tail->group[ISC_TAIL_MEDIAN], &s->median);
		settle(&e, tail, &tail->group[ISC_TAIL_SLOW], &s->slow);
		if (!take_nested(&e, tail, s) || !isc_tails_what_if(t, tail, s))
			return false;
		if (s->slow.count > 0 && s->median.count > 0 && s->slow.mean_us > s->median.mean_us &&
		    !compare(&e, tail, s))
			return false;
	}
	return true;
}
