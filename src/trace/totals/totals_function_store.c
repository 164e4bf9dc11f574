/*
 * totals_function_store.c - functions as they are in the file.
 */
#include <string.h>

#include "base/varint.h"
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

static void add_double(isc_buffer *b, double value)
{
	isc_buffer_add(b, &value, sizeof(value));
}

static void add_range(isc_buffer *b, const isc_total_range *range)
{
	add_double(b, range->least);
	add_double(b, range->likely);
	add_double(b, range->most);
}

static void add_fields(isc_buffer *out, const uint64_t *fields, size_t n)
{
	for (size_t i = 0; i < n; i++)
		isc_varint_add(out, fields[i]);
}

#define FIELDS(out, ...) \
	add_fields(out, (const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

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

	if (isc_totals_function_is_brief(f)) {
		FIELDS(out, f->process, f->code, f->calls, f->self_ticks, f->total_ticks);
		return;
	}
	FIELDS(out, f->process, f->code, flags, f->calls, f->resumes, f->self_ticks, f->total_ticks, f->unmatched,
	       f->first_ticks);
	if (windowed) {
		FIELDS(out, f->window_calls, f->window);
		add_range(out, &f->rate);
		add_range(out, &f->between);
		add_double(out, f->spread);
		add_double(out, f->rate_most);
	}
	if (f->paused_before != 0)
		FIELDS(out, f->paused_before);
	if (sampled)
		FIELDS(out, f->exact_calls, f->exact_resumes, f->exact_self, f->exact_total);
}

static bool get_pair(const uint8_t **at, const uint8_t *end, uint32_t *process, uint32_t *code)
{
	return isc_varint_get32(at, end, process) && isc_varint_get32(at, end, code);
}

static bool get_doubles(const uint8_t **at, const uint8_t *end, double *value, size_t n)
{
	if ((size_t)(end - *at) < n * sizeof(*value))
		return false;
	memcpy(value, *at, n * sizeof(*value));
	*at += n * sizeof(*value);
	return true;
}

isc_status isc_totals_function_read(isc_totals *t, const uint8_t **at, const uint8_t *end)
{
	isc_total_function f = {0}, *e;
	double value[8] = {0};
	uint64_t flags;

	if (!get_pair(at, end, &f.process, &f.code) || !isc_varint_get_max(at, end, 1023, &flags) ||
	    !isc_varint_get(at, end, &f.calls) || !isc_varint_get(at, end, &f.resumes) ||
	    !isc_varint_get(at, end, &f.self_ticks) || !isc_varint_get(at, end, &f.total_ticks) ||
	    !isc_varint_get(at, end, &f.unmatched) || !isc_varint_get(at, end, &f.first_ticks))
		return ISC_ERR_CORRUPT;
	if (flags & WINDOWED && (!isc_varint_get(at, end, &f.window_calls) || !isc_varint_get(at, end, &f.window) ||
				 !get_doubles(at, end, value, 8)))
		return ISC_ERR_CORRUPT;
	if (flags & LATE && !isc_varint_get(at, end, &f.paused_before))
		return ISC_ERR_CORRUPT;
	if (flags & SAMPLED &&
	    (!isc_varint_get(at, end, &f.exact_calls) || !isc_varint_get(at, end, &f.exact_resumes) ||
	     !isc_varint_get(at, end, &f.exact_self) || !isc_varint_get(at, end, &f.exact_total)))
		return ISC_ERR_CORRUPT;
	f.estimated = (flags & ESTIMATED) != 0;
	f.governed = (flags & GOVERNED) != 0;
	f.unseen = (flags & UNSEEN) != 0;
	f.off = (flags & OFF) != 0;
	f.tallied = (flags & TALLIED) != 0;
	f.kept = (flags & KEPT) != 0;
	f.rate = (isc_total_range){value[0], value[1], value[2]};
	f.between = (isc_total_range){value[3], value[4], value[5]};
	f.spread = value[6];
	f.rate_most = value[7];
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

	if (!get_pair(at, end, &f.process, &f.code) || !isc_varint_get(at, end, &f.calls) ||
	    !isc_varint_get(at, end, &f.self_ticks) || !isc_varint_get(at, end, &f.total_ticks))
		return ISC_ERR_CORRUPT;
	e = isc_totals_add_function(t, f.process, f.code);
	if (e == NULL)
		return ISC_ERR_NOMEM;
	isc_totals_function_identify(t, &f);
	*e = f;
	isc_totals_weigh(t, ISC_PART_FUNCTIONS, (int64_t)isc_totals_function_weight(e) - ISC_WEIGHT_FUNCTION);
	return ISC_OK;
}
