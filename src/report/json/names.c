/*
 * names.c - names of states, sources and other enumerations in the report.
 */
#include "report/json/fields.h"

#include "analyze/verdict/claim.h"
#include "report/text/fix_words.h"

/* How many there are, and the value that an unknown name is read as. */
static const struct {
	unsigned count, otherwise;
} all[] = {
	[ISC_NAMES_STATES] = {ISC_STATES, ISC_STATE_OTHER},
	[ISC_NAMES_SOURCES] = {ISC_SOURCE_ESTIMATED + 1, ISC_SOURCE_NONE},
	[ISC_NAMES_UNATTRIBUTED] = {ISC_UNATTRIBUTED_REASONS, ISC_UNATTRIBUTED_UNKNOWN},
	[ISC_NAMES_COSTS] = {ISC_COST_PARTS, 0},
	[ISC_NAMES_CLASSES] = {ISC_CLASSES, ISC_CLASS_OTHER},
	[ISC_NAMES_KINDS] = {ISC_GPU_KINDS, ISC_GPU_COPY},
	[ISC_NAMES_CLAIMS] = {ISC_CLAIM_KINDS, ISC_CLAIM_NONE},
	[ISC_NAMES_SUBJECTS] = {ISC_CLAIM_SUBJECTS, ISC_CLAIM_OF_TIME},
	[ISC_NAMES_FIXES] = {ISC_FIXES, ISC_FIX_NONE},
	[ISC_NAMES_CHANGES] = {ISC_CHANGES, ISC_CHANGE_OTHER},
	[ISC_NAMES_PHASES] = {ISC_PHASE_NAMES, ISC_PHASE_LOADING},
};

const char *isc_field_name(enum isc_field_names names, unsigned value)
{
	switch (names) {
	case ISC_NAMES_STATES:
		return isc_state_name((enum isc_state)value);
	case ISC_NAMES_SOURCES:
		return isc_source_name((enum isc_source)value);
	case ISC_NAMES_UNATTRIBUTED:
		return isc_unattributed_name((enum isc_unattributed)value);
	case ISC_NAMES_CLASSES:
		return isc_gpu_class_name((enum isc_gpu_class)value);
	case ISC_NAMES_KINDS:
		return isc_gpu_kind_name((enum isc_gpu_kind)value);
	case ISC_NAMES_CLAIMS:
		return isc_claim_kind_name((enum isc_claim_kind)value);
	case ISC_NAMES_SUBJECTS:
		return isc_claim_subject_name((enum isc_claim_subject_kind)value);
	case ISC_NAMES_FIXES:
		return isc_fix_words_of((enum isc_fix)value) != NULL ? isc_fix_words_of((enum isc_fix)value)->id : NULL;
	case ISC_NAMES_CHANGES:
		return isc_change_kind_name((enum isc_change_kind)value);
	case ISC_NAMES_PHASES:
		return isc_phase_name((enum isc_phase)value);
	default:
		return isc_cost_part[value];
	}
}

unsigned isc_field_names_count(enum isc_field_names names)
{
	return all[names].count;
}

unsigned isc_field_named(enum isc_field_names names, yyjson_val *name)
{
	for (unsigned i = 0; i < all[names].count; i++) {
		const char *one = isc_field_name(names, i);

		if (one != NULL && yyjson_equals_str(name, one))
			return i;
	}
	return all[names].otherwise;
}
