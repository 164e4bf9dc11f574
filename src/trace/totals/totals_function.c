/*
 * totals_function.c - the row of a function: found, made, or that of the rest of its file.
 *
 * Imports call thousands of functions once, and briefly.  Until one is called after
 * its imports its row is small, and only such rows make room for another: what
 * serves requests pushes imports out, never the reverse.
 */
#include "trace/kin.h"
#include "trace/totals/totals_lane.h"

uint32_t isc_totals_kin_of(const isc_totals *t, uint32_t process, uint32_t id)
{
	return t->kin != NULL ? t->kin(t->kin_self, process, id) : 0;
}

void isc_totals_relate(isc_totals *t, isc_totals_kin *kin, void *self)
{
	t->kin = kin;
	t->kin_self = self;
}

uint32_t isc_totals_rest_of(const isc_totals *t, uint32_t process, uint32_t code)
{
	if (code & ISC_TOTAL_REST)
		return ISC_TOTAL_REST;
	return ISC_TOTAL_REST | (isc_totals_kin_of(t, process, code) & ~ISC_KIN_ROLES);
}

void isc_totals_function_identify(const isc_totals *t, isc_total_function *f)
{
	uint32_t kin = (f->code & ISC_TOTAL_REST) == 0 ? isc_totals_kin_of(t, f->process, f->code) : 0;

	f->module = (kin & ISC_KIN_MODULE) != 0;
	f->shutdown = (kin & ISC_KIN_SHUTDOWN) != 0;
	f->runner = (kin & ISC_KIN_RUNNER) != 0;
}

isc_total_function *isc_totals_function_of(isc_totals *t, uint32_t process, uint32_t code, bool startup)
{
	const uint64_t *at = isc_hashmap_find(&t->by_name[ISC_BY_FUNCTION], isc_hashmap_key(process, code));
	unsigned weight = startup ? ISC_WEIGHT_BRIEF : ISC_WEIGHT_FUNCTION;
	isc_total_function *f;

	if (at != NULL)
		return &t->functions[*at];
	if (!isc_totals_make_room(t, ISC_PART_FUNCTIONS, weight, startup)) {
		isc_totals_note_folded(t, ISC_FOLDED_FUNCTIONS, process, code);
		code = isc_totals_rest_of(t, process, code);
		startup = false;
		at = isc_hashmap_find(&t->by_name[ISC_BY_FUNCTION], isc_hashmap_key(process, code));
		if (at != NULL)
			return &t->functions[*at];
	}
	f = isc_totals_add_function(t, process, code);
	if (f == NULL)
		return NULL;
	f->startup = startup;
	isc_totals_function_identify(t, f);
	isc_totals_weigh(t, ISC_PART_FUNCTIONS, (int64_t)isc_totals_function_weight(f) - ISC_WEIGHT_FUNCTION);
	return f;
}

size_t isc_totals_function_grow(isc_totals *t, size_t function)
{
	isc_total_function *f = &t->functions[function];
	int64_t before = isc_totals_function_weight(f);

	f->startup = false;
	isc_totals_weigh(t, ISC_PART_FUNCTIONS, (int64_t)isc_totals_function_weight(f) - before);
	/* It is about to be used: others make room. */
	t->held = function + 1;
	(void)isc_totals_make_room(t, ISC_PART_FUNCTIONS, 0, false);
	function = t->held - 1;
	t->held = 0;
	return function;
}
