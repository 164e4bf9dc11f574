/*
 * totals_function_store.c - functions as they are in the file.
 */
#include "base/varint.h"
#include "trace/totals/totals_fields.h"
#include "trace/totals/totals_lane.h"

/* What follows the head of a function. */
enum {
	ESTIMATED = 1,
	GOVERNED = 2,
	SAMPLED = 4,
	COUNTED = 8,
	WINDOWED = 16,
	UNSEEN = 32,
	OFF = 64,
	LATE = 128,
	TALLIED = 256,
	KEPT = 512
};

bool isc_totals_function_is_brief(const isc_total_function *f)
{
	return f->startup && !f->estimated && !f->kept && f->resumes == 0 && f->unmatched == 0 &&
	       isc_totals_function_weight(f) == ISC_WEIGHT_BRIEF;
}

void isc_totals_function_write(const isc_total_function *f, isc_buffer *out)
{
	bool sampled = (f->exact_calls | f->exact_resumes | f->exact_self | f->exact_total) != 0;
	bool windowed = f->window_calls != 0 || f->window != 0 || f->governed;
	uint64_t flags = (f->estimated ? ESTIMATED : 0u) | (f->governed ? GOVERNED : 0u) | (sampled ? SAMPLED : 0u) |
			 (f->counted ? COUNTED : 0u) | (windowed ? WINDOWED : 0u) | (f->unseen ? UNSEEN : 0u) |
			 (f->off ? OFF : 0u) | (f->paused_before != 0 ? LATE : 0u) | (f->tallied ? TALLIED : 0u) |
			 (f->kept ? KEPT : 0u);

	isc_varint_add(out, f->process);
	isc_varint_add(out, f->code);
	if (isc_totals_function_is_brief(f)) {
		isc_totals_fields_store(isc_function_brief_fields, f, out);
		return;
	}
	isc_varint_add(out, flags);
	isc_totals_fields_store(isc_function_fields, f, out);
	if (windowed)
		isc_totals_fields_store(isc_function_window_fields, f, out);
	if (f->paused_before != 0)
		isc_varint_add(out, f->paused_before);
	if (sampled)
		isc_totals_fields_store(isc_function_exact_fields, f, out);
}

static bool get_pair(const uint8_t **at, const uint8_t *end, uint32_t *process, uint32_t *code)
{
	return isc_varint_get32(at, end, process) && isc_varint_get32(at, end, code);
}

isc_status isc_totals_function_read(isc_totals *t, const uint8_t **at, const uint8_t *end)
{
	isc_total_function f = {0}, *e;
	uint64_t flags;

	if (!get_pair(at, end, &f.process, &f.code) || !isc_varint_get_max(at, end, 1023, &flags) ||
	    !isc_totals_fields_load(isc_function_fields, &f, at, end) ||
	    (flags & WINDOWED && !isc_totals_fields_load(isc_function_window_fields, &f, at, end)) ||
	    (flags & LATE && !isc_varint_get(at, end, &f.paused_before)) ||
	    (flags & SAMPLED && !isc_totals_fields_load(isc_function_exact_fields, &f, at, end)))
		return ISC_ERR_CORRUPT;
	f.estimated = (flags & ESTIMATED) != 0;
	f.governed = (flags & GOVERNED) != 0;
	f.unseen = (flags & UNSEEN) != 0;
	f.off = (flags & OFF) != 0;
	f.tallied = (flags & TALLIED) != 0;
	f.kept = (flags & KEPT) != 0;
	e = isc_totals_add_function(t, f.process, f.code);
	if (e == NULL)
		return ISC_ERR_NOMEM;
	isc_totals_function_identify(t, &f);
	*e = f;
	isc_totals_weigh(t, ISC_PART_FUNCTIONS, (int64_t)isc_totals_function_weight(e) - ISC_WEIGHT_FUNCTION);
	if (flags & COUNTED && !isc_totals_window_keep(t, (size_t)(e - t->functions)))
		return ISC_ERR_NOMEM;
	return ISC_OK;
}

isc_status isc_totals_brief_read(isc_totals *t, const uint8_t **at, const uint8_t *end)
{
	isc_total_function f = {.startup = true}, *e;

	if (!get_pair(at, end, &f.process, &f.code) || !isc_totals_fields_load(isc_function_brief_fields, &f, at, end))
		return ISC_ERR_CORRUPT;
	e = isc_totals_add_function(t, f.process, f.code);
	if (e == NULL)
		return ISC_ERR_NOMEM;
	isc_totals_function_identify(t, &f);
	*e = f;
	isc_totals_weigh(t, ISC_PART_FUNCTIONS, (int64_t)isc_totals_function_weight(e) - ISC_WEIGHT_FUNCTION);
	return ISC_OK;
}
