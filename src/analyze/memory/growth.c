#include "analyze/memory/growth.h"

#include <string.h>

#define PLACES_MAX 3u /* more than these are in the table of memory */

static isc_analysis_suggestion suggest(const isc_evidence *j, const isc_analysis_leak *l)
{
	isc_analysis_suggestion s = {.claim = {.finding = ISC_GROWTH_RULE,
					       .cause = ISC_GROWTH_RULE,
					       .kind = ISC_CLAIM_FAULT,
					       .subject = isc_evidence_subject(j),
					       .share = -1,
					       .place = isc_evidence_at_frame(&l->at),
					       .saving_us = -1,
					       .of_us = -1,
					       .fix = ISC_FIX_RELEASE_MEMORY},
				     .saves_at_most_us = -1};

	isc_claim_number(&s.claim, ISC_DETAIL_HELD_BYTES, l->bytes);
	isc_claim_number(&s.claim, ISC_DETAIL_GREW_US, l->to_us - l->from_us);
	isc_claim_number(&s.claim, ISC_DETAIL_BYTES_PER_S, l->bytes_per_s);
	return s;
}

bool isc_growth_suggest(const isc_evidence *j, isc_analysis *a)
{
	const isc_analysis_memory *m = &a->memory;
	size_t n = m->leak_count < PLACES_MAX ? m->leak_count : PLACES_MAX;
	isc_analysis_suggestion *all;

	if (n == 0)
		return true;
	all = isc_arena_array(j->arena, a->suggestion_count + n, sizeof(*all));
	if (all == NULL)
		return false;
	if (a->suggestion_count > 0)
		memcpy(all, a->suggestions, a->suggestion_count * sizeof(*all));
	for (size_t i = 0; i < n; i++)
		all[a->suggestion_count + i] = suggest(j, &m->leaks[i]);
	a->suggestions = all;
	a->suggestion_count += n;
	return !j->arena->failed;
}
