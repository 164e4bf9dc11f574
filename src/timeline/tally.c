/* tally.c - how often each kernel ran and how long, and what was copied. */
#include <stdlib.h>
#include <string.h>

#include "timeline/state.h"

static isc_facts_kernel *kernel_of(isc_timeline *t, isc_tally *y, size_t gpu, const isc_work_item *w, size_t *number)
{
	uint64_t key = isc_hashmap_key((uint32_t)gpu, w->name), *place;
	isc_facts_kernel *k;

	place = isc_hashmap_put(&y->kernel_of, key, NULL);
	if (place == NULL)
		return NULL;
	if (*place == 0) {
		k = isc_arena_push(t->arena, &y->kernels.at, &y->kernels.count, &y->kernels.room, sizeof(*k));
		if (k == NULL)
			return NULL;
		*k = (isc_facts_kernel){
			.gpu = gpu, .name = isc_timeline_text(t, w->name), .class = w->class, .min_ns = INT64_MAX};
		*place = y->kernels.count;
	}
	*number = *place - 1;
	return (isc_facts_kernel *)y->kernels.at + *place - 1;
}

static bool add_to(isc_timeline *t, isc_hashmap *sums, size_t kernel, uint32_t what, int64_t ns)
{
	uint64_t key = isc_hashmap_key((uint32_t)kernel, what), *sum = isc_hashmap_find(sums, key);

	if (sum == NULL && sums->count >= ISC_ROWS_MOST) {
		t->folded++;
		return true;
	}
	sum = sum != NULL ? sum : isc_hashmap_put(sums, key, NULL);
	if (sum == NULL)
		return false;
	isc_ns_add_to(sum, ns + 1); /* + 1: work without a length counts too */
	return true;
}

static bool add_kernel(isc_timeline *t, isc_tally *y, size_t gpu, const isc_work_item *w)
{
	int64_t ns = w->end_ns - w->start_ns;
	size_t number = 0;
	isc_facts_kernel *k = kernel_of(t, y, gpu, w, &number);

	if (k == NULL)
		return false;
	k->count++;
	isc_ns_add(&k->total_ns, ns);
	k->max_ns = ns > k->max_ns ? ns : k->max_ns;
	k->min_ns = ns < k->min_ns ? ns : k->min_ns;
	return (w->where == 0 || add_to(t, &y->from_of, number, w->where, ns)) &&
	       (w->scope == 0 || add_to(t, &y->scope_of, number, w->scope, ns));
}

bool isc_tally_add(isc_timeline *t, isc_tally *y, size_t gpu, const isc_work_item *w)
{
	isc_facts_copy *c;

	if (w->kind == ISC_GPU_KERNEL)
		return add_kernel(t, y, gpu, w);
	if (y->copies == NULL)
		y->copies = isc_arena_array(t->arena, t->devices.count * ISC_GPU_KINDS, sizeof(*c));
	if (y->copies == NULL)
		return false;
	c = &y->copies[gpu * ISC_GPU_KINDS + w->kind];
	c->gpu = gpu;
	c->kind = w->kind;
	c->count++;
	isc_ns_add(&c->total_ns, w->end_ns - w->start_ns);
	/* Sizes are anybody's; a sum that wraps around would be a lie. */
	c->bytes = isc_count_plus(c->bytes, w->bytes);
	c->pageable += w->memory == ISC_MEMORY_PAGEABLE;
	c->pinned += w->memory == ISC_MEMORY_PINNED;
	return true;
}

static int by_total(const void *a, const void *b)
{
	const isc_facts_kernel *x = a, *y = b;
	int by;

	if (x->total_ns != y->total_ns)
		return x->total_ns < y->total_ns ? 1 : -1;
	by = strcmp(x->name.at, y->name.at);
	return by != 0 ? by : (x->gpu > y->gpu) - (x->gpu < y->gpu);
}

/* Of every kernel the place, or the scope, that most of its time was asked for from. */
static bool choose(isc_timeline *t, isc_tally *y, const isc_hashmap *sums, size_t into)
{
	uint64_t *best = calloc(y->kernels.count + 1, sizeof(*best)), key, sum;
	size_t at = 0;

	if (best == NULL)
		return false;
	while (isc_hashmap_next(sums, &at, &key, &sum)) {
		size_t kernel = (size_t)(key >> 32);
		isc_facts_kernel *k = (isc_facts_kernel *)y->kernels.at + kernel;
		isc_text *chosen = (isc_text *)(void *)((char *)k + into);
		isc_text where = isc_timeline_text(t, (uint32_t)key);

		/* Of equals the first by name: the same trace gives the same report. */
		if (sum < best[kernel] || (sum == best[kernel] && strcmp(where.at, chosen->at) > 0))
			continue;
		best[kernel] = sum;
		*chosen = where;
	}
	free(best);
	return true;
}

bool isc_tally_finish(isc_timeline *t, isc_tally *y)
{
	size_t room = t->devices.count * ISC_GPU_KINDS, n = 0;

	if (!choose(t, y, &y->from_of, offsetof(isc_facts_kernel, launched_from)) ||
	    !choose(t, y, &y->scope_of, offsetof(isc_facts_kernel, scope)))
		return false;
	if (y->kernels.count > 0)
		qsort(y->kernels.at, y->kernels.count, sizeof(isc_facts_kernel), by_total);
	for (size_t i = 0; y->copies != NULL && i < room; i++) {
		if (y->copies[i].count > 0)
			y->copies[n++] = y->copies[i];
	}
	t->facts.kernels = y->kernels.at;
	t->facts.kernel_count = y->kernels.count;
	t->facts.copies = y->copies;
	t->facts.copy_count = n;
	return true;
}

void isc_tally_fini(isc_tally *y)
{
	isc_hashmap_fini(&y->kernel_of);
	isc_hashmap_fini(&y->from_of);
	isc_hashmap_fini(&y->scope_of);
}
