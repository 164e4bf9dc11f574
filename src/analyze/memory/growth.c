#include "analyze/memory/growth.h"

#include <string.h>

#include "base/units.h"

#define PLACES_MAX 3u /* more than these are in the table of memory */

static isc_text text_of(const char *words)
{
	return (isc_text){words, (uint32_t)strlen(words)};
}

static isc_analysis_suggestion suggest(const isc_evidence *j, const isc_analysis_leak *l)
{
	isc_place place = {.name = l->at.name, .file = l->at.file, .line = l->at.line};
	isc_buffer why = {0};
	isc_units held, span, pace;

	isc_buffer_format(&why, "%s MB were taken there in %s and are held at the end, %s MB a second.",
			  isc_units_number(&held, l->bytes / 1e6), isc_units_time(&span, l->to_us - l->from_us),
			  isc_units_number(&pace, l->bytes_per_s / 1e6));
	return (isc_analysis_suggestion){.rule = ISC_GROWTH_RULE,
					 .title = text_of("Find out whether what grows here is needed"),
					 .where = isc_evidence_where(j, &place),
					 .why = isc_evidence_keep(j, &why),
					 .check = text_of("run for twice as long; what is held must not double"),
					 .saves_at_most_us = -1};
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
