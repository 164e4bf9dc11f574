/*
 * stacks_fold.c - a tree of stacks that has grown too large loses its lightest places.
 *
 * What stood in them goes to one place named "(other stacks)" below the nearest caller
 * that is kept: times and counts of all callers stay exact.  A place is never lighter
 * than what is below it, so with the heaviest places all their callers are kept.
 */
#include <stdlib.h>
#include <string.h>

#include "timeline/state.h"

#define OTHER_STACKS "(other stacks)"

/* Each kept place may get one more for what it lost: at most three quarters are left. */
#define KEPT_MOST (ISC_STACKS_MOST / 8 * 3)
#define KEPT_NAMES_MOST (ISC_STACKS_NAMES_MOST / 8 * 3)
#define KEPT_BYTES_MOST (ISC_STACKS_BYTES_MOST / 8 * 3)

struct weight {
	double all; /* time and samples, of the place and all below it */
	uint32_t place;
};

struct fold {
	const isc_stacks *from;
	isc_stacks to;
	struct weight *weight; /* heaviest first */
	bool *kept;	       /* by place */
	uint32_t *home;	       /* by place: where it is now, or the nearest caller that is kept */
	bool *named;	       /* by the number of a name: something that is kept has it */
};

static int by_weight(const void *x, const void *y)
{
	const struct weight *a = x, *b = y;

	if (a->all != b->all)
		return a->all < b->all ? 1 : -1;
	return (a->place > b->place) - (a->place < b->place);
}

static void weigh(struct fold *f)
{
	const isc_stacks *s = f->from;

	for (size_t i = s->count; i-- > 0;) {
		f->weight[i].place = (uint32_t)i;
		f->weight[i].all += (double)s->node[i].samples + (double)s->node[i].ns;
		if (i > 0)
			f->weight[s->node[i].parent].all += f->weight[i].all;
	}
	qsort(f->weight, s->count, sizeof(*f->weight), by_weight);
}

/* Marks the heaviest places, as many as may stay with their names. */
static void choose(struct fold *f)
{
	const isc_stacks *s = f->from;
	size_t bytes = 0, names = 0;

	for (size_t i = 0; i < s->count && i < KEPT_MOST; i++) {
		uint32_t place = f->weight[i].place, name = s->node[place].id;

		if (!f->named[name]) {
			bytes += isc_strings_get(&s->names, name).len;
			names++;
		}
		if (bytes > KEPT_BYTES_MOST || names > KEPT_NAMES_MOST)
			break;
		f->named[name] = true;
		f->kept[place] = true;
	}
}

static uint32_t new_name(struct fold *f, uint32_t old)
{
	isc_text text = isc_strings_get(&f->from->names, old);

	return isc_strings_put(&f->to.names, text.at, text.len);
}

static bool keep(struct fold *f, size_t place)
{
	const isc_facts_stack *old = &f->from->node[place];
	uint32_t name = place > 0 ? new_name(f, old->id) : 0;
	isc_facts_stack *node;

	if (place == 0) {
		f->to.node = calloc(ISC_STACKS_MOST, sizeof(*f->to.node));
		f->to.room = ISC_STACKS_MOST;
		f->to.count = 1;
		node = f->to.node;
	} else {
		node = name != 0 ? isc_stacks_child(&f->to, f->home[old->parent], name) : NULL;
	}
	if (node == NULL)
		return false;
	isc_stacks_count(node, old->samples, old->ns);
	f->home[place] = (uint32_t)(node - f->to.node);
	return true;
}

/* A place that goes stands from now on for the caller that is kept, or for what that has lost. */
static bool give_up(struct fold *f, size_t place)
{
	const isc_facts_stack *old = &f->from->node[place];
	isc_facts_stack *node;
	uint32_t other;

	f->to.folded++;
	f->home[place] = f->home[old->parent];
	if (old->samples == 0 && old->ns == 0)
		return true;
	other = isc_strings_put(&f->to.names, OTHER_STACKS, sizeof(OTHER_STACKS) - 1);
	node = other != 0 ? isc_stacks_child(&f->to, f->home[place], other) : NULL;
	if (node == NULL)
		return false;
	isc_stacks_count(node, old->samples, old->ns);
	return true;
}

static bool rebuild(struct fold *f)
{
	bool ok = true;

	f->to.folded = f->from->folded;
	/* Callers come first, so each finds where its caller is now. */
	for (size_t i = 0; ok && i < f->from->count; i++)
		ok = f->kept[i] ? keep(f, i) : give_up(f, i);
	return ok;
}

bool isc_stacks_fold(isc_stacks *s)
{
	struct fold f = {.from = s};
	bool ok;

	f.weight = calloc(s->count, sizeof(*f.weight));
	f.kept = calloc(s->count, sizeof(*f.kept));
	f.home = calloc(s->count, sizeof(*f.home));
	f.named = calloc((size_t)s->names.count + 1, sizeof(*f.named));
	ok = f.weight != NULL && f.kept != NULL && f.home != NULL && f.named != NULL;
	if (ok) {
		weigh(&f);
		choose(&f);
		ok = rebuild(&f);
	}
	if (ok) {
		isc_stacks_fini(s);
		*s = f.to;
	} else {
		isc_stacks_fini(&f.to);
	}
	free(f.weight);
	free(f.kept);
	free(f.home);
	free(f.named);
	return ok;
}

void isc_stacks_rest(const isc_timeline *t, isc_timeline_facts *facts)
{
	const isc_stacks *s = &t->stacks;

	facts->stacks_folded = s->folded;
	for (size_t i = 1; s->folded > 0 && i < s->count; i++) {
		isc_text name = isc_strings_get(&s->names, s->node[i].id);

		if (name.len == sizeof(OTHER_STACKS) - 1 && memcmp(name.at, OTHER_STACKS, name.len) == 0)
			facts->samples_folded += s->node[i].samples;
	}
}
