/*
 * samples.c - stacks, call paths and totals of the samples.
 */
#include "report/json/tables.h"

/* Reports indent paths by their depth; deeper ones would be all blanks. */
#define DEPTH_MAX 500u

#define OTHER "(other)"

/* ---- stacks ---- */

static val *frame_kind(struct json *j, const void *from)
{
	const isc_analysis_frame *f = from;

	return words_of(j, f->python ? "python" : f->native ? "native" : NULL);
}

static void read_frame_kind(isc_reading in)
{
	isc_analysis_frame *f = in.into;

	f->python = yyjson_equals_str(in.value, "python");
	f->native = yyjson_equals_str(in.value, "native");
}

#define FRAME(as, member) ISC_AT(as, isc_analysis_frame, member)
static const isc_field frame_rows[] = {
	{"kind", .value = frame_kind, .read = read_frame_kind},
	{"name", FRAME(NAME, name)},
	{"file", FRAME(TEXT, file)},
	{"line", FRAME(ID, line)},
	{"module", FRAME(TEXT, module)},
	{.kind = ISC_FIELD_END},
};

/* The stack that stands for all others has no frames; the report gives it one that says so. */
static const isc_field stack_frames = {"frames", ISC_LIST(isc_analysis_stack, frames, frame_count, frame_rows)};

static val *frames_of(struct json *j, const void *from)
{
	static isc_analysis_frame other = {.name = {OTHER, sizeof(OTHER) - 1}};
	static const isc_analysis_stack others = {.frames = &other, .frame_count = 1};
	const isc_analysis_stack *s = from;

	return isc_field_value(j, &stack_frames, s->frame_count > 0 ? s : &others);
}

static void read_frames(isc_reading in)
{
	isc_analysis_stack *s = in.into;

	isc_field_read(in.a, in.value, &stack_frames, s);
	if (s->frame_count == 1 && yyjson_equals_str(yyjson_obj_get(yyjson_arr_get_first(in.value), "name"), OTHER))
		s->frame_count = 0;
}

#define STACK(as, member) ISC_AT(as, isc_analysis_stack, member)
const isc_field isc_stack_rows[] = {
	{"frames", .value = frames_of, .read = read_frames},
	{"process_id", STACK(ID, pid)},
	{"samples", STACK(COUNT, samples)},
	{"us", STACK(US, us)},
	{"us_median", STACK(US, us_median)},
	{"us_slow", STACK(US, us_slow)},
	{"instructions", STACK(WHOLE, instructions), ISC_KNOWN(isc_analysis_stack, counted)},
	{"cycles", STACK(WHOLE, cycles), ISC_KNOWN(isc_analysis_stack, counted)},
	{"memory_bytes", STACK(WHOLE, memory_bytes)},
	{NULL, STACK(OBJECT, judged), .of = isc_judged_rows},
	{.kind = ISC_FIELD_END},
};

#define PATH(as, member) ISC_AT(as, isc_analysis_path, member)
const isc_field isc_path_rows[] = {
	{"frames", ISC_LIST(isc_analysis_path, frames, frame_count, frame_rows)},
	{"depth", PATH(COUNT32, depth), .most = DEPTH_MAX},
	{"process_id", PATH(ID, pid)},
	{"samples", PATH(COUNT, samples)},
	{"us", PATH(US, us)},
	{.kind = ISC_FIELD_END},
};

/* ---- sums ---- */

/* A rate that was never lowered is the one that was asked for. */
static val *least_rate(struct json *j, const void *from)
{
	double least_hz = *(const double *)from;

	return us_of(j, least_hz < 0 ? j->a->samples.rate_hz : least_hz);
}

static val *mean_rate(struct json *j, const void *from)
{
	const isc_analysis_samples *s = from;

	return us_of(j, (double)s->steps / s->us * 1e6);
}

static const isc_field each_us_0 = {.kind = ISC_FIELD_US_0};

#define SAMPLES(as, member) ISC_AT(as, isc_analysis_samples, member)
const isc_field isc_samples_rows[] = {
	{"count", SAMPLES(COUNT, count)},
	{"steps", SAMPLES(COUNT, steps)},
	{"us", SAMPLES(US_0, us)},
	{"rate_hz", SAMPLES(US, rate_hz)},
	{"least_rate_hz", SAMPLES(US, least_hz), .value = least_rate},
	{"mean_rate_hz", .value = mean_rate, ISC_IF(isc_analysis_samples, us)},
	{"covered_pct", SAMPLES(US, covered_pct)},
	{"unknown_us", SAMPLES(US, unknown_us)},
	{"unattributed_us", SAMPLES(MAP, unattributed_us), .names = ISC_NAMES_UNATTRIBUTED, .each = &each_us_0},
	{"cut_us", SAMPLES(US_0, cut_us)},
	{"stacks", SAMPLES(COUNT, stacks)},
	{"lines", SAMPLES(COUNT, lines)},
	{"scope", SAMPLES(TEXT, scope)},
	{"median_scopes", SAMPLES(COUNT, median_scopes)},
	{"slow_scopes", SAMPLES(COUNT, slow_scopes)},
	{"other_line_samples", SAMPLES(COUNT, other_line_samples)},
	{"other_lines_us", SAMPLES(US_0, other_lines_us)},
	{.kind = ISC_FIELD_END},
};
