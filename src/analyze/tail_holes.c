/*
 * tail_holes.c - who ran where calls were not recorded.
 *
 * While events are read, time in a pause, in calls that may have ended in one and in outermost calls
 * is nobody's, and samples are noted beside the call that was open.  In the end samples share it out: what
 * was nobody's by all samples of that time, and what an open call has among itself and those that it
 * called unseen.  So nobody ever has more than was there to share, and a caller never the time of a callee that was not
 * recorded.  Where samples are too few nobody is named.
 */
#include <math.h>
#include <string.h>

#include "analyze/tail_lane.h"

/* Fewer samples name nobody. */
#define SAMPLES_MIN 10u

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

struct filling {
	isc_tails *t;
	uint32_t unseen;     /* the key */
	isc_hashmap callers; /* places of functions that call governed ones, by all samples */
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

/* What is nobody's, by samples of the same time; of few, by those of all scopes of the name. */
static bool fill_unseen(struct filling *f, isc_cells *cells, const isc_cells *all)
{
	const isc_cell *unseen = isc_cells_find(cells, f->unseen);
	double us = unseen != NULL ? unseen->us : 0, sampled;
	const isc_cells *from = cells;
	size_t used;

	if (us <= 0)
		return true;
	if (count_unseen(cells, &sampled) < SAMPLES_MIN) {
		from = all;
		if (all == NULL || count_unseen(all, &sampled) < SAMPLES_MIN)
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

/* By place: what open calls have, and what samples noted beside them. */
static bool sum_up_calls(const isc_tails *t, const isc_cells *cells, isc_cells *open, isc_cells *noted)
{
	for (size_t i = 0; i < cells->used; i++) {
		const isc_tail_key *key = key_of(t, &cells->cell[i]);

		if (key == NULL || key->place == 0)
			continue;
		if (key->kind == ISC_TAIL_RUN && !isc_cells_add(open, key->place, 0, fmax(cells->cell[i].us, 0)))
			return false;
		if (key->kind == ISC_TAIL_HOLE && !isc_cells_add(noted, key->place, 0, cells->cell[i].us))
			return false;
	}
	return true;
}

static double value_of(const isc_cells *cells, uint32_t key)
{
	const isc_cell *cell = isc_cells_find(cells, key);

	return cell != NULL ? cell->us : 0;
}

/* An open call shares its time with those that it called unseen. */
static bool share_call(struct filling *f, isc_cells *cells, isc_tail_key hole, double us, const isc_cells *open,
		       const isc_cells *noted)
{
	uint32_t run = isc_tails_key(f->t, ISC_TAIL_RUN, hole.place, 0, 0);
	double all = value_of(noted, hole.place);

	if (run == 0)
		return false;
	return hole.holder == hole.place || all <= 0 ||
	       move(f, cells, run, hole.holder, value_of(open, hole.place) * us / all);
}

static bool share_calls(struct filling *f, isc_cells *cells, const isc_cells *open, const isc_cells *noted)
{
	size_t used = cells->used;

	for (size_t i = 0; i < used; i++) {
		const isc_tail_key *key = key_of(f->t, &cells->cell[i]);
		isc_cell cell = cells->cell[i];

		if (key == NULL || key->place == 0)
			continue;
		if (key->kind == ISC_TAIL_HOLE) {
			/* It has said what it knows. */
			cells->cell[i].us = 0;
			if (!share_call(f, cells, *key, cell.us, open, noted))
				return false;
		} else if (key->kind == ISC_TAIL_RUN && cell.us > 0 &&
			   isc_hashmap_find(&f->callers, key->place) != NULL && value_of(noted, key->place) <= 0 &&
			   !move(f, cells, cell.key, 0, cell.us)) {
			return false;
		}
	}
	return true;
}

static bool fill_calls(struct filling *f, isc_cells *cells)
{
	isc_cells open = {0}, noted = {0};
	bool good = sum_up_calls(f->t, cells, &open, &noted) && share_calls(f, cells, &open, &noted);

	isc_cells_fini(&open);
	isc_cells_fini(&noted);
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
	for (size_t i = 0; i < t->b->a->scope_count && good; i++) {
		isc_tail_group *group = t->tail[i].group;
		const isc_cells *all = &group[ISC_TAIL_ALL].sums.cells;

		/* What calls give up is nobody's too. */
		for (int g = 0; g < ISC_TAIL_GROUPS && good; g++)
			good = fill_calls(&f, &group[g].sums.cells);
		good = good && fill_unseen(&f, &group[ISC_TAIL_ALL].sums.cells, NULL) &&
		       fill_unseen(&f, &group[ISC_TAIL_SLOW].sums.cells, NULL);
		/* Slow ones are compared with these: where nobody is named in one, nobody is in the other. */
		if (good &&
		    value_of(&group[ISC_TAIL_SLOW].sums.cells, f.unseen) < group[ISC_TAIL_SLOW].sums.unseen_us / 2)
			good = fill_unseen(&f, &group[ISC_TAIL_MEDIAN].sums.cells, all);
	}
	isc_hashmap_fini(&f.callers);
	return good;
}
