/*
 * samples.c - what samples say of functions, and how that goes with what tracing
 * saw.
 *
 * A sample is CPU time, a traced call is time, waiting included.  The time of
 * native code counts for itself and for the Python function that called it, as it
 * does in tracing.  A function that was not traced all the time to stay inside the
 * budget has its times from samples where there are enough; what it took unseen
 * was counted as its callers' and is taken off there.
 */
#include <math.h>

#include "analyze/code/stack_tree.h"
#include "analyze/scopes/tails.h"

/* Wall time and CPU time are taken for the same where a process ran at least that share. */
#define RAN_ENOUGH 0.9
#define TWO_SIDED_95 1.96
/* From so many samples on, what they did not see bounds what a function took. */
#define SAMPLES_BOUND 10u

/* All samples of a process. */
struct sample_share {
	uint64_t samples;
	double us;
	double ran;	  /* share of its time in which a thread of it had a CPU */
	bool known;	  /* the next two are */
	double stretch;	  /* ready or on a CPU, of the time on a CPU */
	double waited_us; /* all its threads together */
};

struct isc_sample_gathering {
	isc_stack_tree tree;
	struct sample_share *of_rank; /* of its processes, and the last of those not known */
	struct sample_share *share;   /* of each function's process, by number */
	double *left;		      /* of a function's samples: the share that tracing did not see */
	isc_tails *tails;	      /* NULL: there are none */
};

/* ---- functions ---- */

static uint32_t function_of(const isc_stack_tree *t, const isc_tree_node *n)
{
	return t->frame[n->frame].function;
}

static void count_self(isc_build *b, const isc_stack_tree *t)
{
	for (size_t i = 0; i < t->count; i++) {
		const isc_tree_node *n = &t->node[i];
		isc_analysis_function *f;

		if (n->samples == 0 || !isc_tree_is_frame(n))
			continue;
		f = &b->a->functions[function_of(t, n)];
		f->samples += n->samples;
		f->cpu_self_us += n->self_us;
		/* What was called there, and is not known, is not the caller's. */
		if (n->python == 0 || n->python == i || n->stand_in)
			continue;
		f = &b->a->functions[function_of(t, &t->node[n->python])];
		f->samples += n->samples;
		f->cpu_self_us += n->self_us;
		f->native_us += n->self_us;
	}
}

/* Goes through the tree in the order of calls: a function is counted where it is outermost. */
static bool count_totals(isc_build *b, const isc_stack_tree *t)
{
	uint32_t *open = isc_arena_array(b->arena, b->a->function_count, sizeof(*open)), at = 0;

	if (open == NULL)
		return false;
	while (t->count > 0) {
		const isc_tree_node *n = &t->node[at];

		if (isc_tree_is_frame(n) && open[function_of(t, n)]++ == 0)
			b->a->functions[function_of(t, n)].cpu_total_us += n->total_us;
		if (n->child != 0) {
			at = n->child;
			continue;
		}
		for (;;) {
			n = &t->node[at];
			if (isc_tree_is_frame(n))
				open[function_of(t, n)]--;
			if (at == 0 || n->next != 0)
				break;
			at = n->parent;
		}
		if (at == 0)
			break;
		at = n->next;
	}
	return true;
}

/* Half the width of the interval that holds the truth in 19 of 20 runs, after Agresti and
 * Coull: right for shares near 0 too, and for a function without a sample. */
double isc_samples_error_us(uint64_t samples, uint64_t all, double all_us)
{
	double n = (double)all + 4, p = ((double)samples + 2) / n;

	p = p < 1 ? p : 1;
	return TWO_SIDED_95 * sqrt(p * (1 - p) / n) * all_us;
}

/* ---- together with tracing ---- */

static bool is_by_samples(const isc_build *b, const struct isc_sample_gathering *s, size_t i)
{
	const isc_analysis_function *f = &b->a->functions[i];
	const isc_function_side *side = &b->table.side[i];

	if (!f->traced)
		return f->samples > 0 || f->cpu_total_us > 0;
	if (s->share[i].samples < ISC_SAMPLES_ENOUGH)
		return false;
	return side->unwatched || (side->paused && s->share[i].ran >= RAN_ENOUGH);
}

/* Whose own time the unseen part of a function's samples was counted as: that of the nearest
 * caller which was traced all the time. */
static void find_callers(isc_build *b, const struct isc_sample_gathering *s)
{
	const isc_stack_tree *t = &s->tree;

	for (size_t i = 0; i < t->count; i++) {
		const isc_tree_node *n = &t->node[i];
		uint32_t at = n->python, function;
		double unseen_us;

		if (n->samples == 0 || at == 0 || s->left[function_of(t, &t->node[at])] <= 0)
			continue;
		unseen_us = n->self_us * s->left[function_of(t, &t->node[at])];
		while (isc_tree_is_frame(&t->node[at])) {
			function = function_of(t, &t->node[at]);
			if (t->node[at].kind == ISC_FRAME_PYTHON && b->a->functions[function].traced &&
			    !b->table.side[function].unwatched) {
				b->table.side[function].unseen_us += unseen_us;
				break;
			}
			at = t->node[at].parent;
		}
	}
}

static double larger(double x, double y)
{
	return x > y ? x : y;
}

/* Where calls were left out, what was open got their time.  If that is more than samples allow for, its CPU time with the
 * queue that goes with it and all that its process waited, it is what samples say. */
static void bound(isc_analysis_function *f, const struct sample_share *share)
{
	double most = (f->cpu_self_us + f->cpu_error_us) * share->stretch + share->waited_us;

	if (f->traced && f->estimated && share->known && share->samples >= SAMPLES_BOUND && f->self_us > most)
		f->self_us = f->cpu_self_us * share->stretch + share->waited_us;
}

static void merge(isc_build *b, const struct isc_sample_gathering *s)
{
	for (size_t i = 0; i < b->a->function_count; i++) {
		isc_analysis_function *f = &b->a->functions[i];
		const isc_function_side *side = &b->table.side[i];

		f->cpu_error_us = isc_samples_error_us(f->samples, s->share[i].samples, s->share[i].us);
		if (is_by_samples(b, s, i)) {
			/* What was seen happened, whatever the samples say. */
			f->by_samples = f->estimated = true;
			f->self_us = larger(f->cpu_self_us, side->seen_self_us);
			f->total_us = larger(larger(f->cpu_total_us, side->seen_total_us), f->self_us);
		} else if (side->unseen_us > 0 && f->self_us > f->cpu_self_us) {
			f->self_us = larger(f->self_us - side->unseen_us, f->cpu_self_us);
		}
		if (!f->by_samples)
			bound(f, &s->share[i]);
	}
}

/* Of a Python process one thread runs at a time. */
static void share_run(const isc_build *b, size_t rank, struct sample_share *out)
{
	double on_cpu = 0, queued = 0, wall = 0;

	out->known = true;

	for (size_t i = 0; i < b->a->thread_count; i++) {
		const isc_analysis_thread *t = &b->a->threads[i];

		if (t->pid != b->a->processes[rank].pid)
			continue;
		out->known &= t->on_cpu_us >= 0;
		if (t->on_cpu_us < 0)
			continue;
		on_cpu += t->on_cpu_us;
		queued += larger(t->run_queue_us, 0);
		out->waited_us += larger(t->waiting_us, 0) + larger(t->unwatched_us, 0);
		wall = t->wall_us > wall ? t->wall_us : wall;
	}
	out->known &= on_cpu > 0;
	out->stretch = on_cpu > 0 ? (on_cpu + queued) / on_cpu : 1;
	out->ran = wall > 0 && on_cpu < wall ? on_cpu / wall : 1;
}

static bool take_shares(isc_build *b, struct isc_sample_gathering *s)
{
	const isc_stack_tree *t = &s->tree;
	size_t n = b->a->function_count, ranks = b->a->process_count;

	s->of_rank = isc_arena_array(b->arena, ranks + 1, sizeof(*s->of_rank));
	s->share = isc_arena_array(b->arena, n, sizeof(*s->share));
	s->left = isc_arena_array(b->arena, n, sizeof(*s->left));
	if (s->of_rank == NULL || s->share == NULL || s->left == NULL)
		return false;
	for (size_t i = 0; i < t->count; i++) {
		size_t rank = (size_t)t->node[i].frame - 1;

		if (t->node[i].depth == 1)
			s->of_rank[rank < ranks ? rank : ranks] =
				(struct sample_share){.samples = t->node[i].total_samples, .us = t->node[i].total_us};
	}
	/* Asked for where functions were left out, which is rare, and only once. */
	for (size_t i = 0; i < n; i++) {
		size_t rank = b->table.side[i].rank;

		if ((b->table.side[i].paused || b->a->functions[i].estimated) && rank < ranks &&
		    s->of_rank[rank].ran <= 0)
			share_run(b, rank, &s->of_rank[rank]);
	}
	for (size_t i = 0; i < n; i++) {
		const isc_analysis_function *f = &b->a->functions[i];
		size_t rank = b->table.side[i].rank;

		s->share[i] = s->of_rank[rank < ranks ? rank : ranks];
		if (b->table.side[i].unwatched && f->cpu_self_us > b->table.side[i].seen_self_us &&
		    s->share[i].samples >= ISC_SAMPLES_ENOUGH)
			s->left[i] = 1 - b->table.side[i].seen_self_us / f->cpu_self_us;
	}
	return true;
}

/* ---- all of them ---- */

/* Of the CPU time of processes that have samples at all; false: no memory. */
static bool take_coverage(isc_build *b, const struct isc_sample_gathering *s)
{
	double sampled = 0, ran = 0;
	isc_hashmap pids = {0};
	bool ok = true, known = true;

	for (size_t i = 0; ok && i < b->a->process_count; i++) {
		if (s->of_rank[i].samples > 0)
			ok = isc_hashmap_put(&pids, b->a->processes[i].pid, NULL) != NULL;
	}
	for (size_t i = 0; ok && i < b->a->thread_count; i++) {
		const isc_analysis_thread *t = &b->a->threads[i];

		if (isc_hashmap_find(&pids, t->pid) == NULL)
			continue;
		known &= t->on_cpu_us >= 0;
		sampled += t->sampled_us;
		ran += t->on_cpu_us;
	}
	isc_hashmap_fini(&pids);
	b->a->samples.covered_pct = known && ran > 0 ? sampled / ran * 100 : -1;
	return ok;
}

static bool gather(isc_build *b, struct isc_sample_gathering *s)
{
	const isc_total_stack *stack;

	for (size_t i = 0; (stack = isc_totals_stack_at(b->totals, i)) != NULL; i++) {
		if (stack->samples > 0 && !isc_stack_tree_add(&s->tree, b, stack))
			return false;
	}
	if (b->a->samples.count == 0)
		return true;
	isc_stack_tree_sum(&s->tree);
	count_self(b, &s->tree);
	if (!count_totals(b, &s->tree) || !take_shares(b, s) || !take_coverage(b, s))
		return false;
	find_callers(b, s);
	merge(b, s);
	return true;
}

isc_status isc_build_stacks_of_samples(isc_build *b, isc_error *err)
{
	b->a->samples.covered_pct = -1;
	b->sampled = isc_arena_alloc(b->arena, sizeof(*b->sampled));
	return b->sampled != NULL && gather(b, b->sampled) ? ISC_OK : isc_build_no_memory(err);
}

bool isc_samples_join(isc_build *b, isc_states *states, isc_walk *walk)
{
	return isc_tails_join(b, &b->sampled->tree, states, walk, &b->sampled->tails);
}

isc_status isc_build_samples(isc_build *b, isc_error *err)
{
	const isc_stack_tree *tree = &b->sampled->tree;
	bool good = isc_tails_end(b->sampled->tails);

	if (good && b->a->samples.count > 0)
		good = isc_build_lines(b, tree) && isc_build_stacks(b, tree) &&
		       (b->part || (isc_build_paths(b, tree) && isc_build_tree(b, tree)));
	isc_samples_drop(b);
	return good ? ISC_OK : isc_build_no_memory(err);
}

void isc_samples_drop(isc_build *b)
{
	if (b->sampled == NULL)
		return;
	isc_tails_drop(b->sampled->tails);
	isc_stack_tree_fini(&b->sampled->tree);
	b->sampled = NULL;
}
