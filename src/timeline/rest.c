/*
 * rest.c - lists that are too long to be told end in a row for all the others.
 *
 * They are in order by now, so what is folded is the least of them.  Functions have one
 * such row for each process, kernels one for each device.
 */
#include "timeline/state.h"

/* More than programs have; a report of that many rows takes some 100 MiB. */
#define LISTED_MOST (1u << 15)

static isc_text named(const char *text, size_t len)
{
	return (isc_text){text, len};
}

#define NAMED(text) named(text, sizeof(text) - 1)

/* Where the row for the rest of a process or a device is; SIZE_MAX: no memory.  *count is one more when it is new. */
static size_t rest_of(isc_hashmap *rests, uint64_t owner, size_t *count, bool *fresh)
{
	uint64_t *place = isc_hashmap_put(rests, owner, NULL);

	if (place == NULL)
		return SIZE_MAX;
	*fresh = *place == 0;
	if (*fresh)
		*place = ++*count;
	return *place - 1;
}

/* A row of the rest is never behind the one that is folded into it. */
static bool fold_functions(isc_timeline *t)
{
	isc_timeline_facts *f = &t->facts;
	isc_hashmap rests = {0};
	size_t count = LISTED_MOST, at = 0;
	bool fresh;

	if (f->function_count <= LISTED_MOST)
		return true;
	for (size_t i = LISTED_MOST; i < f->function_count; i++) {
		const isc_facts_function row = f->functions[i];
		isc_facts_function *rest;

		at = rest_of(&rests, row.process, &count, &fresh);
		if (at == SIZE_MAX)
			break;
		rest = &f->functions[at];
		if (fresh)
			*rest = (isc_facts_function){
				.name = NAMED("(other functions)"), .process = row.process, .kind = ISC_HOST_OP};
		rest->calls = isc_count_plus(rest->calls, row.calls);
		isc_ns_add(&rest->self_ns, row.self_ns);
		/* They may have called each other. */
		rest->total_ns = rest->self_ns;
		t->folded++;
	}
	isc_hashmap_fini(&rests);
	f->function_count = count;
	return at != SIZE_MAX;
}

static bool fold_kernels(isc_timeline *t)
{
	isc_timeline_facts *f = &t->facts;
	isc_hashmap rests = {0};
	size_t count = LISTED_MOST, at = 0;
	bool fresh;

	if (f->kernel_count <= LISTED_MOST)
		return true;
	for (size_t i = LISTED_MOST; i < f->kernel_count; i++) {
		const isc_facts_kernel row = f->kernels[i];
		isc_facts_kernel *rest;

		at = rest_of(&rests, row.gpu, &count, &fresh);
		if (at == SIZE_MAX)
			break;
		rest = &f->kernels[at];
		if (fresh)
			*rest = (isc_facts_kernel){.gpu = row.gpu,
						   .name = NAMED("(other kernels)"),
						   .class = ISC_CLASS_OTHER,
						   .min_ns = row.min_ns,
						   .launched_from = NAMED(""),
						   .scope = NAMED("")};
		rest->count = isc_count_plus(rest->count, row.count);
		isc_ns_add(&rest->total_ns, row.total_ns);
		rest->max_ns = row.max_ns > rest->max_ns ? row.max_ns : rest->max_ns;
		rest->min_ns = row.min_ns < rest->min_ns ? row.min_ns : rest->min_ns;
		t->folded++;
	}
	isc_hashmap_fini(&rests);
	f->kernel_count = count;
	return at != SIZE_MAX;
}

static void fold_scopes(isc_timeline *t)
{
	isc_timeline_facts *f = &t->facts;
	isc_facts_scope rest = {.name = NAMED("(other scopes)")};

	if (f->scope_count <= LISTED_MOST)
		return;
	for (size_t i = LISTED_MOST; i < f->scope_count; i++) {
		isc_facts_scope *row = &f->scopes[i];

		rest.count = isc_count_plus(rest.count, row->count);
		rest.cut = isc_count_plus(rest.cut, row->cut);
		isc_ns_add(&rest.total_ns, row->total_ns);
		rest.max_ns = row->max_ns > rest.max_ns ? row->max_ns : rest.max_ns;
		isc_histogram_fini(&row->ns);
		t->folded++;
	}
	f->scopes[LISTED_MOST] = rest;
	f->scope_count = LISTED_MOST + 1;
}

bool isc_lists_fold(isc_timeline *t)
{
	fold_scopes(t);
	return fold_functions(t) && fold_kernels(t);
}
