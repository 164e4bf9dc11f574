#include "analyze/scopes/tails.h"

#include <stddef.h>
#include <string.h>

/* More scopes than that are not looked up in the switches one by one: 12 MB. */
#define WATCH_MAX 400000u
#define SLOWEST 10u
#define WITHIN 0.002 /* by how much a duration differs, told by ticks and by two moments */

void isc_tail_sums_fini(isc_tail_sums *s)
{
	isc_cells_fini(&s->cells);
}

void isc_tail_sums_clear(isc_tail_sums *s)
{
	memset(s, 0, offsetof(isc_tail_sums, cells));
	isc_cells_clear(&s->cells);
}

bool isc_tail_sums_merge(isc_tail_sums *into, const isc_tail_sums *from, double factor)
{
	for (int state = 0; state < ISC_STATES; state++)
		into->told[state] += from->told[state] * factor;
	into->run_us += from->run_us * factor;
	into->unseen_us += from->unseen_us * factor;
	into->queued_us += from->queued_us * factor;
	into->loop_us += from->loop_us * factor;
	into->python_us += from->python_us * factor;
	into->native_us += from->native_us * factor;
	into->spin_us += from->spin_us * factor;
	for (int why = 0; why < ISC_UNATTRIBUTED_REASONS; why++)
		into->unattributed_us[why] += from->unattributed_us[why] * factor;
	into->samples += from->samples;
	return isc_cells_merge(&into->cells, &from->cells, factor);
}

uint32_t isc_tails_key(isc_tails *t, uint8_t kind, uint32_t place, uint32_t holder, uint32_t holder_tid)
{
	uint64_t *known;
	isc_tail_key *key;

	if (place == ISC_PLACE_NO_MEMORY || holder == ISC_PLACE_NO_MEMORY)
		return 0;
	known = isc_hashmap_put(&t->by_key, (uint64_t)kind << 56 ^ (uint64_t)place << 28 ^ holder, NULL);
	if (known == NULL)
		return 0;
	if (*known == 0) {
		if (t->key_count + 1 >= ISC_TAIL_NODE)
			return 0;
		key = isc_arena_push(t->b->arena, &t->key, &t->key_count, &t->key_room, sizeof(*key));
		if (key == NULL)
			return 0;
		*key = (isc_tail_key){kind, place, holder, holder_tid};
		*known = t->key_count;
	}
	key = &t->key[*known - 1];
	if (key->holder_tid != holder_tid)
		key->holder_tid = UINT32_MAX;
	return (uint32_t)*known;
}

static isc_analysis_slowest slowest_of(const isc_build *b, uint32_t thread, uint64_t from_ns, double us)
{
	const isc_trace_thread *of = isc_trace_thread_find(b->trace, thread);
	const isc_trace_process *process = of != NULL ? isc_trace_process_find(b->trace, of->process) : NULL;

	return (isc_analysis_slowest){.start_us = isc_build_us(b, from_ns),
				      .dur_us = us,
				      .tid = of != NULL ? of->tid : 0,
				      .pid = process != NULL ? process->pid : 0};
}

/* The longest ones, longest first; of those alike the earlier ones. */
static bool note_slowest(isc_tails *t, isc_analysis_scope *s, uint32_t thread, uint64_t from_ns, double us)
{
	isc_analysis_slowest one;
	size_t at;

	/* There are millions, and ten are listed. */
	if (s->slowest_count == SLOWEST && us < s->slowest[SLOWEST - 1].dur_us)
		return true;
	if (s->slowest == NULL)
		s->slowest = isc_arena_array(t->b->arena, SLOWEST, sizeof(*s->slowest));
	if (s->slowest == NULL)
		return false;
	one = slowest_of(t->b, thread, from_ns, us);
	for (at = s->slowest_count; at > 0; at--) {
		const isc_analysis_slowest *before = &s->slowest[at - 1];

		if (before->dur_us > us || (before->dur_us >= us && before->start_us <= one.start_us))
			break;
		if (at < SLOWEST)
			s->slowest[at] = *before;
	}
	if (at < SLOWEST)
		s->slowest[at] = one;
	s->slowest_count += s->slowest_count < SLOWEST;
	return true;
}

static bool watch(isc_tails *t, const isc_tail_watch *one)
{
	isc_tail_watch *place;

	if (t->stepped++ % t->stride != 0)
		return true;
	if (t->watch_count == WATCH_MAX) {
		/* Half of them, evenly, stand for all. */
		for (size_t i = 0; i < WATCH_MAX / 2; i++)
			t->watch[i] = t->watch[2 * i];
		t->watch_count = WATCH_MAX / 2;
		t->stride *= 2;
	}
	place = isc_arena_push(t->b->arena, &t->watch, &t->watch_count, &t->watch_room, sizeof(*place));
	if (place != NULL)
		*place = *one;
	return place != NULL;
}

/* Switches say when its thread ran; when a task did, only its events do. */
static void add_task(isc_tail_group *g, const isc_tail_sums *sums, double us)
{
	g->task_us += us;
	g->task_run_us += sums->run_us > 0 ? sums->run_us : 0;
	g->task_queued_us += sums->queued_us;
	for (int state = 0; state < ISC_STATES; state++)
		g->task_told_us += sums->told[state];
}

/* A scope that gaps cut, without what its calls say: samples alone name who ran. */
static bool leave_out_calls(isc_tails *t, const isc_tail_sums *from, isc_tail_sums *into)
{
	uint32_t unseen = isc_tails_key(t, ISC_TAIL_UNSEEN, 0, 0, 0);
	isc_cells none = into->cells;
	const isc_cell *cell;
	size_t at = 0;

	*into = *from;
	into->cells = none;
	into->unseen_us = from->run_us > 0 ? from->run_us : 0;
	while (unseen != 0 && (cell = isc_cells_next(&from->cells, &at)) != NULL) {
		bool node = (cell->key & ISC_TAIL_NODE) != 0;
		uint8_t kind = node ? 0 : t->key[cell->key - 1].kind;
		uint32_t key = kind == ISC_TAIL_RUN ? unseen : cell->key;

		if (kind >= ISC_TAIL_HOLE || (node && cell->key & ISC_TAIL_NODE_UNSEEN))
			continue;
		if (!isc_cells_add(&into->cells, key, cell->count, cell->us) ||
		    (node && !isc_cells_add(&into->cells, key | ISC_TAIL_NODE_UNSEEN, cell->count, cell->us)))
			return false;
	}
	return unseen != 0;
}

/* Samples can only stand in where they differ from those beside recorded calls: in a process with such gaps. */
static bool is_cut(const isc_tails *t, uint32_t process, uint64_t from_ns, uint64_t to_ns)
{
	return isc_unseen_of(&t->b->unseen, process) != NULL &&
	       isc_coverage_is_cut(&t->b->coverage, process, from_ns, to_ns);
}

static bool merge_sums(isc_tails *t, isc_tail_group *g, const isc_tail_sums *sums, uint32_t process, uint64_t from_ns,
		       uint64_t to_ns)
{
	isc_tail_sums sampled = {0};
	bool good;

	if (!is_cut(t, process, from_ns, to_ns))
		return isc_tail_sums_merge(&g->sums, sums, 1);
	good = leave_out_calls(t, sums, &sampled) && isc_tail_sums_merge(&g->sums, &sampled, 1);
	isc_tail_sums_fini(&sampled);
	return good;
}

/* Whole ones are compared with whole ones, if both are enough. */
static bool add_whole(const isc_tails *t, isc_tail_group *g, const isc_tail_sums *sums, uint32_t process,
		      uint64_t from_ns, uint64_t to_ns)
{
	const isc_cell *cell;
	size_t at = 0;

	if (isc_unseen_of(&t->b->unseen, process) == NULL ||
	    isc_coverage_of(&t->b->coverage, process, from_ns, to_ns) != ISC_COVERAGE_WHOLE)
		return true;
	g->whole_count++;
	g->whole.run_us += sums->run_us;
	g->whole.unseen_us += sums->unseen_us;
	while ((cell = isc_cells_next(&sums->cells, &at)) != NULL) {
		if ((cell->key & ISC_TAIL_NODE) == 0 &&
		    !isc_cells_add(&g->whole.cells, cell->key, cell->count, cell->us))
			return false;
	}
	return true;
}

bool isc_tails_count(isc_tails *t, size_t tail, const isc_tail_sums *sums, const isc_cells *nested,
		     const isc_cells *more, bool task, uint32_t process, uint32_t thread, uint64_t from_ns,
		     uint64_t to_ns)
{
	isc_analysis_scope *s = &t->b->a->scopes[tail];
	double us = (double)(to_ns - from_ns) / 1e3;
	bool slow = s->slow_from_us > 0 && us >= s->slow_from_us * (1 - WITHIN);
	bool median = s->slow_from_us > 0 && us >= s->p40_us * 0.99 && us <= s->p60_us * 1.01;
	int own = slow ? ISC_TAIL_SLOW : median ? ISC_TAIL_MEDIAN : ISC_TAIL_ALL;
	isc_tail_group *g = &t->tail[tail].group[own];

	if (from_ns < t->b->from_ns || to_ns > t->b->to_ns || to_ns < from_ns)
		return true;
	t->tail[tail].process = process;
	g->count++;
	g->wall_us += us;
	if (task)
		add_task(g, sums, us);
	if (!merge_sums(t, g, sums, process, from_ns, to_ns) || !isc_cells_merge(&t->tail[tail].nested[own], nested, 1))
		return false;
	if (own != ISC_TAIL_ALL && !add_whole(t, g, sums, process, from_ns, to_ns))
		return false;
	if (!isc_cells_merge(&t->tail[tail].more, more, 1) || !note_slowest(t, s, thread, from_ns, us))
		return false;
	return task || watch(t, &(isc_tail_watch){thread, (uint32_t)tail, from_ns, to_ns, (uint8_t)own});
}

/* All are those in the middle, the slow ones, and the others, which were counted as all. */
static bool sum_groups(isc_tails *t)
{
	for (size_t i = 0; i < t->b->a->scope_count; i++) {
		isc_tail *tail = &t->tail[i];
		isc_tail_group *all = &tail->group[ISC_TAIL_ALL];

		for (int g = 0; g < ISC_TAIL_GROUPS; g++) {
			const isc_tail_group *part = &tail->group[g];

			if (g == ISC_TAIL_ALL)
				continue;
			all->count += part->count;
			all->wall_us += part->wall_us;
			all->task_us += part->task_us;
			all->task_run_us += part->task_run_us;
			all->task_queued_us += part->task_queued_us;
			all->task_told_us += part->task_told_us;
			if (!isc_tail_sums_merge(&all->sums, &part->sums, 1) ||
			    !isc_cells_merge(&tail->nested[ISC_TAIL_ALL], &tail->nested[g], 1))
				return false;
		}
	}
	return true;
}

/* The scope with the most time of which there are slow ones: stacks tell of it. */
static void fill_stacks(isc_tails *t)
{
	isc_analysis *a = t->b->a;

	for (size_t i = 0; i < a->scope_count; i++) {
		const isc_tail_group *slow = &t->tail[i].group[ISC_TAIL_SLOW];
		const isc_tail_group *median = &t->tail[i].group[ISC_TAIL_MEDIAN];

		if (slow->count == 0 || median->count == 0)
			continue;
		a->samples.scope = a->scopes[i].name;
		a->samples.slow_scopes = slow->count;
		a->samples.median_scopes = median->count;
		for (uint32_t n = 1; n < t->tree->count; n++) {
			const isc_cell *in_slow = isc_cells_find(&slow->sums.cells, ISC_TAIL_NODE | n);
			const isc_cell *in_median = isc_cells_find(&median->sums.cells, ISC_TAIL_NODE | n);

			t->tree->node[n].slow_us = in_slow != NULL ? in_slow->us / (double)slow->count : 0;
			t->tree->node[n].median_us = in_median != NULL ? in_median->us / (double)median->count : 0;
		}
		return;
	}
}

void isc_tails_drop(isc_tails *t)
{
	if (t == NULL)
		return;
	isc_tail_walk_drop(t);
	for (size_t i = 0; t->tail != NULL && i < t->b->a->scope_count; i++) {
		for (int g = 0; g < ISC_TAIL_GROUPS; g++) {
			isc_tail_sums_fini(&t->tail[i].group[g].sums);
			isc_tail_sums_fini(&t->tail[i].group[g].whole);
			isc_cells_fini(&t->tail[i].nested[g]);
		}
		isc_cells_fini(&t->tail[i].more);
	}
	isc_places_fini(&t->places);
	isc_hashmap_fini(&t->by_key);
}

bool isc_tails_join(isc_build *b, isc_stack_tree *tree, isc_states *states, isc_walk *walk, isc_tails **out)
{
	isc_tails *t;

	*out = NULL;
	if (b->a->scope_count == 0 || b->tick_us <= 0)
		return true;
	*out = t = isc_arena_alloc(b->arena, sizeof(*t));
	if (t == NULL)
		return false;
	*t = (isc_tails){.b = b, .tree = tree, .stride = 1};
	t->tail = isc_arena_array(b->arena, b->a->scope_count, sizeof(*t->tail));
	return t->tail != NULL && isc_tail_walk_join(t, states, walk);
}

bool isc_tails_end(isc_tails *t)
{
	if (t == NULL)
		return true;
	if (!isc_tail_walk_end(t) || !sum_groups(t) || !isc_tails_switches(t) || !isc_tails_fill_holes(t) ||
	    !isc_tails_explain(t))
		return false;
	if (t->tree->count > 0)
		fill_stacks(t);
	return true;
}
