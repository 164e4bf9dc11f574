/*
 * tail_holes.c - who ran where calls were not recorded.
 *
 * While events are read, time in a pause, in calls that may have ended in one and in outermost calls
 * is nobody's, and samples are noted beside the call that was open.  In the end samples share it out: what
 * was nobody's by all samples of that time, and what an open call has among itself and those that it
 * called unseen.  So nobody ever has more than was there to share, and a caller never the time of a callee that was not
 * recorded.  Where samples are too few nobody is named.
 *
 * How long an open call took is known exactly, and slow scopes have few samples in each.  So in them it is shared in two
 * parts: as much as it takes in the other scopes as all samples of those say, and what it takes longer as the samples say that
 * slow scopes have beyond that.
 */
#include <math.h>
#include <string.h>

#include "analyze/scopes/tail_lane.h"

/* In one open call of slow scopes fewer samples name nobody: with three that agree it is that one in four of five cases, whatever is to be expected. */
#define CALL_SAMPLES_MIN 3u
/* The other scopes count as so many samples of what slow ones take longer: mostly that is more of the same. */
#define USUAL_SAMPLES 1.0

/* ---- while events are read ---- */

static bool is_named(const isc_text *name, const char *wanted)
{
	return name->len == strlen(wanted) && memcmp(name->at, wanted, name->len) == 0;
}

/* What all work of a thread goes through: it is open whatever happens. */
static bool is_outermost(isc_tail_walk *w, isc_tail_lane *l)
{
	static const char *const names[] = {
		"<module>", "main", "_run_once", "BaseEventLoop._run_once", "run_forever", "BaseEventLoop.run_forever"};
	uint32_t place = l->depth > 1 ? isc_tail_lane_place(w, l) : 0;

	if (l->depth <= 1)
		return true;
	for (size_t i = 0; place != 0 && place != ISC_PLACE_NO_MEMORY && i < sizeof(names) / sizeof(names[0]); i++) {
		if (is_named(&w->t->places.at[place].name, names[i]))
			return true;
	}
	return false;
}

/* From when on, after a moment, nobody knows whether the innermost open call is the one that runs. */
static uint64_t unknown_since(isc_tail_walk *w, isc_tail_lane *l, uint64_t from_ns)
{
	uint64_t governed_ns;

	if (l->depth <= l->stale || is_outermost(w, l))
		return from_ns;
	governed_ns = l->calls[l->depth - 1].governed_ns;
	return governed_ns > from_ns ? governed_ns : from_ns;
}

double isc_tail_lane_unseen_us(isc_tail_walk *w, isc_tail_lane *l, uint64_t now_ns)
{
	uint64_t since;
	isc_pause pause;

	if (l->unseen == NULL || l->last_ns == 0 || now_ns <= l->last_ns)
		return 0;
	since = unknown_since(w, l, l->last_ns);
	if (isc_unseen_pause(l->unseen, &l->pause, l->last_ns, now_ns, &pause)) {
		l->stale = l->depth;
		since = pause.from_ns < since ? pause.from_ns : since;
	}
	return since < now_ns ? (double)(now_ns - since) / 1e3 : 0;
}

bool isc_tail_lane_outer(isc_tail_walk *w, isc_tail_lane *l, uint64_t scope_ns, uint32_t *key)
{
	const isc_tail_call *top = l->depth > 0 ? &l->calls[l->depth - 1] : NULL;
	uint32_t place;

	*key = 0;
	/* Before the scope began, it may have ended unseen. */
	if (top == NULL || l->depth <= l->stale || (top->governed_ns <= l->last_ns && top->from_ns < scope_ns))
		return true;
	place = isc_tail_lane_place(w, l);
	if (place != 0)
		*key = isc_tails_key(w->t, ISC_TAIL_OUTER, place, 0, 0);
	return place == 0 || *key != 0;
}

/* The function that a node's samples are in; 0: not known. */
static uint32_t place_of_node(isc_tails *t, uint32_t node)
{
	const isc_tree_node *n = &t->tree->node[node], *python = n->python != 0 ? &t->tree->node[n->python] : n;

	if (!isc_tree_is_frame(python) || !python->known)
		return 0;
	return isc_places_function(&t->places, t->b, &t->b->a->functions[t->tree->frame[python->frame].function]);
}

bool isc_tail_lane_sampled(isc_tail_walk *w, isc_tail_lane *l, isc_tail_sums *s, uint64_t now_ns, uint32_t node,
			   double us)
{
	uint32_t open, ran, key;

	if (l->unseen == NULL)
		return true;
	if (unknown_since(w, l, now_ns) <= now_ns)
		return isc_cells_add(&s->cells, ISC_TAIL_NODE | ISC_TAIL_NODE_UNSEEN | node, 1, us);
	open = isc_tail_lane_place(w, l);
	ran = place_of_node(w->t, node);
	/* What it called is not known: somebody else it was. */
	if (w->t->tree->node[node].stand_in && ran == open)
		ran = 0;
	key = isc_tails_key(w->t, ISC_TAIL_HOLE, open, ran, 0);
	return key != 0 && isc_cells_add(&s->cells, key, 1, us);
}

/* ---- in the end ---- */

/* Of a group, by place: what open calls have, and what samples noted beside them. */
struct noted {
	isc_cells open, samples;
};

struct filling {
	isc_tails *t;
	uint32_t unseen;     /* the key */
	isc_hashmap callers; /* places of functions that call ones that are not recorded, by all samples */
	/* Of one name: */
	isc_tail_group *group;
	struct noted noted[ISC_TAIL_GROUPS];
	isc_cells excess; /* by place: samples of slow scopes that are more than usual */
};

static const isc_tail_key *key_of(const isc_tails *t, const isc_cell *cell)
{
	return cell->key & ISC_TAIL_NODE ? NULL : &t->key[cell->key - 1];
}

/* A governed function is a hole in its nearest caller that is not governed itself. */
static bool find_callers(struct filling *f)
{
	const isc_stack_tree *tree = f->t->tree;
	const isc_analysis_function *functions = f->t->b->a->functions;

	for (uint32_t i = 1; i < tree->count; i++) {
		uint32_t at = i;

		if (tree->node[i].kind != ISC_FRAME_PYTHON ||
		    !functions[tree->frame[tree->node[i].frame].function].governed)
			continue;
		do
			at = tree->node[at].parent;
		while (isc_tree_is_frame(&tree->node[at]) &&
		       (tree->node[at].kind != ISC_FRAME_PYTHON ||
			functions[tree->frame[tree->node[at].frame].function].governed));
		if (isc_tree_is_frame(&tree->node[at])) {
			uint32_t place = place_of_node(f->t, at);

			if (place == ISC_PLACE_NO_MEMORY || isc_hashmap_put(&f->callers, place, NULL) == NULL)
				return false;
		}
	}
	return true;
}

/* Time moves from one key to what runs at a place; 0: to nobody. */
static bool move(struct filling *f, isc_cells *cells, uint32_t from, uint32_t place, double us)
{
	uint32_t to = place != 0 ? isc_tails_key(f->t, ISC_TAIL_RUN, place, 0, 0) : f->unseen;

	return to != 0 && place != ISC_PLACE_NO_MEMORY && isc_cells_add(cells, from, 0, -us) &&
	       isc_cells_add(cells, to, 0, us);
}

static uint64_t count_unseen(const isc_cells *cells, double *us)
{
	const isc_cell *cell;
	uint64_t n = 0;
	size_t at = 0;

	*us = 0;
	while ((cell = isc_cells_next(cells, &at)) != NULL) {
		if ((cell->key & ISC_TAIL_NODE) == 0 || (cell->key & ISC_TAIL_NODE_UNSEEN) == 0)
			continue;
		n += cell->count;
		*us += cell->us;
	}
	return n;
}

/* What is nobody's, by samples of the same time, if those are at least so many; of fewer, by those of all scopes of the name. */
static bool fill_unseen(struct filling *f, isc_cells *cells, unsigned least, const isc_cells *all)
{
	const isc_cell *unseen = isc_cells_find(cells, f->unseen);
	double us = unseen != NULL ? unseen->us : 0, sampled;
	const isc_cells *from = cells;
	size_t used;

	if (us <= 0)
		return true;
	if (count_unseen(cells, &sampled) < least) {
		from = all;
		if (all == NULL || count_unseen(all, &sampled) < least)
			return true;
	}
	used = from->used;
	for (size_t i = 0; i < used && sampled > 0; i++) {
		isc_cell cell = from->cell[i];
		uint32_t place;

		if ((cell.key & ISC_TAIL_NODE) == 0 || (cell.key & ISC_TAIL_NODE_UNSEEN) == 0)
			continue;
		place = place_of_node(f->t, cell.key & ~(ISC_TAIL_NODE | ISC_TAIL_NODE_UNSEEN));
		if (place != 0 && !move(f, cells, f->unseen, place, us * cell.us / sampled))
			return false;
	}
	return true;
}

static double value_of(const isc_cells *cells, uint32_t key)
{
	const isc_cell *cell = isc_cells_find(cells, key);

	return cell != NULL ? cell->us : 0;
}

static uint32_t count_of(const isc_cells *cells, uint32_t key)
{
	const isc_cell *cell = isc_cells_find(cells, key);

	return cell != NULL ? cell->count : 0;
}

static bool sum_up_calls(struct filling *f, int group)
{
	const isc_cells *cells = &f->group[group].sums.cells;
	struct noted *n = &f->noted[group];

	for (size_t i = 0; i < cells->used; i++) {
		const isc_cell *cell = &cells->cell[i];
		const isc_tail_key *key = key_of(f->t, cell);

		if (key == NULL || key->place == 0)
			continue;
		if (key->kind == ISC_TAIL_RUN && !isc_cells_add(&n->open, key->place, 0, fmax(cell->us, 0)))
			return false;
		if (key->kind == ISC_TAIL_HOLE && !isc_cells_add(&n->samples, key->place, cell->count, cell->us))
			return false;
	}
	return true;
}

/* Samples of a file that is not ours may stand for no time, or for more in a part than in the whole. */
static double part_of(double part, double whole)
{
	return whole > 0 ? fmin(fmax(part, 0) / whole, 1) : 0;
}

/* The share that a callee has of what an open call takes in scopes that are not slow; of all, where samples of those alone are missing. */
static double usual_share(const struct filling *f, const isc_cell *hole, uint32_t place)
{
	double in_slow = value_of(&f->group[ISC_TAIL_SLOW].sums.cells, hole->key);
	double all = value_of(&f->noted[ISC_TAIL_ALL].samples, place);
	double slow = value_of(&f->noted[ISC_TAIL_SLOW].samples, place);

	if (count_of(&f->noted[ISC_TAIL_ALL].samples, place) > count_of(&f->noted[ISC_TAIL_SLOW].samples, place))
		return part_of(hole->us - in_slow, all - slow);
	return part_of(hole->us, all);
}

/* What an open call of slow scopes would have if they were as the others. */
static double usual_us(const struct filling *f, uint32_t place)
{
	const isc_tail_group *all = &f->group[ISC_TAIL_ALL], *slow = &f->group[ISC_TAIL_SLOW];
	double of_slow = value_of(&f->noted[ISC_TAIL_SLOW].open, place);
	double of_others = value_of(&f->noted[ISC_TAIL_ALL].open, place) - of_slow;

	if (all->count <= slow->count)
		return 0;
	return fmin(fmax(of_others, 0) / (double)(all->count - slow->count) * (double)slow->count, of_slow);
}

/* By how much a callee has more samples in an open call of slow scopes than usual, in microseconds. */
static double excess_us(const struct filling *f, const isc_cell *hole, uint32_t place)
{
	double open = value_of(&f->noted[ISC_TAIL_SLOW].open, place);
	double sampled = value_of(&f->noted[ISC_TAIL_SLOW].samples, place);
	double usual = open > 0 ? sampled * usual_us(f, place) / open * usual_share(f, hole, place) : 0;

	return fmax(value_of(&f->group[ISC_TAIL_SLOW].sums.cells, hole->key) - usual, 0);
}

/* The share that a callee has of what an open call takes longer in slow scopes. */
static double extra_share(const struct filling *f, const isc_cell *hole, uint32_t place)
{
	const isc_cell *sampled = isc_cells_find(&f->noted[ISC_TAIL_SLOW].samples, place);
	double weight = sampled != NULL && sampled->count > 0 ? USUAL_SAMPLES * sampled->us / sampled->count : 1;

	return part_of(excess_us(f, hole, place) + weight * usual_share(f, hole, place),
		       value_of(&f->excess, place) + weight);
}

/* An open call shares its time with one that it called unseen. */
static bool share_call(struct filling *f, int group, const isc_cell *hole, const isc_tail_key *key)
{
	isc_cells *cells = &f->group[group].sums.cells;
	uint32_t run = isc_tails_key(f->t, ISC_TAIL_RUN, key->place, 0, 0);
	double open = value_of(&f->noted[group].open, key->place), usual = open, us;

	if (run == 0)
		return false;
	if (group == ISC_TAIL_ALL) {
		us = open * part_of(hole->us, value_of(&f->noted[ISC_TAIL_ALL].samples, key->place));
	} else {
		usual = group == ISC_TAIL_SLOW ? usual_us(f, key->place) : open;
		us = usual * usual_share(f, hole, key->place);
	}
	if (usual < open && count_of(&f->noted[group].samples, key->place) >= CALL_SAMPLES_MIN)
		us += (open - usual) * extra_share(f, hole, key->place);
	return us <= 0 || move(f, cells, run, key->holder, us);
}

/* What callers of functions that are not recorded took, and no sample says who it was, is nobody's. */
static bool disown_calls(struct filling *f, int group)
{
	const isc_cells *open = &f->noted[group].open;

	for (size_t i = 0; i < open->used; i++) {
		uint32_t place = open->cell[i].key, run = isc_tails_key(f->t, ISC_TAIL_RUN, place, 0, 0);
		double us = 0;

		if (run == 0)
			return false;
		if (isc_hashmap_find(&f->callers, place) == NULL)
			continue;
		if (count_of(&f->noted[ISC_TAIL_ALL].samples, place) == 0)
			us = open->cell[i].us;
		else if (group == ISC_TAIL_SLOW && count_of(&f->noted[group].samples, place) < CALL_SAMPLES_MIN)
			us = open->cell[i].us - usual_us(f, place);
		if (us > 0 && !move(f, &f->group[group].sums.cells, run, 0, us))
			return false;
	}
	return true;
}

static bool share_calls(struct filling *f)
{
	const isc_cells *all = &f->group[ISC_TAIL_ALL].sums.cells;
	size_t used = all->used;

	for (size_t i = 0; i < used; i++) {
		const isc_tail_key *key = key_of(f->t, &all->cell[i]);

		if (key != NULL && key->kind == ISC_TAIL_HOLE &&
		    !isc_cells_add(&f->excess, key->place, 0, excess_us(f, &all->cell[i], key->place)))
			return false;
	}
	for (size_t i = 0; i < used; i++) {
		isc_cell hole = all->cell[i];
		isc_tail_key key = hole.key & ISC_TAIL_NODE ? (isc_tail_key){0} : f->t->key[hole.key - 1];

		if (key.kind != ISC_TAIL_HOLE || key.place == 0 || key.holder == key.place)
			continue;
		if (isc_hashmap_put(&f->callers, key.place, NULL) == NULL)
			return false;
		for (int g = 0; g < ISC_TAIL_GROUPS; g++) {
			if (!share_call(f, g, &hole, &key))
				return false;
		}
	}
	return true;
}

static void noted_fini(struct filling *f)
{
	for (int g = 0; g < ISC_TAIL_GROUPS; g++) {
		isc_cells_fini(&f->noted[g].open);
		isc_cells_fini(&f->noted[g].samples);
		f->noted[g] = (struct noted){0};
	}
	isc_cells_fini(&f->excess);
	f->excess = (isc_cells){0};
}

/* What is nobody's of all groups. */
static bool fill_groups(struct filling *f)
{
	isc_cells *all = &f->group[ISC_TAIL_ALL].sums.cells, *slow = &f->group[ISC_TAIL_SLOW].sums.cells;

	if (!fill_unseen(f, all, ISC_TAIL_SAMPLES_MIN, NULL) || !fill_unseen(f, slow, ISC_TAIL_SLOW_SAMPLES_MIN, NULL))
		return false;
	/* Slow ones are compared with these: where nobody is named in one, nobody is in the other. */
	if (value_of(slow, f->unseen) >= f->group[ISC_TAIL_SLOW].sums.unseen_us / 2)
		return true;
	return fill_unseen(f, &f->group[ISC_TAIL_MEDIAN].sums.cells, ISC_TAIL_SAMPLES_MIN, all);
}

/* Scopes with every call recorded need no samples: time in a call that is open all the time is its own. */
static bool fill_whole(struct filling *f, isc_tail_sums *whole)
{
	size_t used = whole->cells.used;

	for (size_t i = 0; i < used; i++) {
		isc_cell cell = whole->cells.cell[i];

		if (f->t->key[cell.key - 1].kind == ISC_TAIL_OUTER &&
		    !move(f, &whole->cells, f->unseen, f->t->key[cell.key - 1].place, cell.us))
			return false;
	}
	return true;
}

static bool fill_scope(struct filling *f, isc_tail_group *group)
{
	bool good = true;

	f->group = group;
	for (int g = 0; g < ISC_TAIL_GROUPS && good; g++)
		good = sum_up_calls(f, g) && fill_whole(f, &group[g].whole);
	/* What calls give up last is nobody's, and samples of other calls do not name it. */
	good = good && share_calls(f) && fill_groups(f);
	for (int g = 0; g < ISC_TAIL_GROUPS && good; g++)
		good = disown_calls(f, g);
	noted_fini(f);
	return good;
}

bool isc_tails_fill_holes(isc_tails *t)
{
	struct filling f = {.t = t};
	bool good = true;

	if (t->b->unseen.processes.count == 0)
		return true;
	f.unseen = isc_tails_key(t, ISC_TAIL_UNSEEN, 0, 0, 0);
	good = f.unseen != 0 && (t->tree->count == 0 || find_callers(&f));
	for (size_t i = 0; i < t->b->a->scope_count && good; i++)
		good = fill_scope(&f, t->tail[i].group);
	isc_hashmap_fini(&f.callers);
	return good;
}
