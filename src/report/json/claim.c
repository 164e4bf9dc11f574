/*
 * claim.c - what was found, as data: the parts of a verdict and of a suggestion.
 */
#include "analyze/rules/rule.h"
#include "analyze/verdict/claim.h"
#include "report/json/tables.h"
#include "report/text/fix_words.h"
#include "report/text/phrase.h"

static val *number_of(struct json *j, bool known, int64_t number)
{
	return known ? yyjson_mut_sint(j->doc, number) : yyjson_mut_null(j->doc);
}

/* ---- what the share is of ---- */

static val *subject_device(struct json *j, const void *from)
{
	const isc_claim_subject *s = from;

	return number_of(j, s->kind == ISC_CLAIM_OF_GPU, s->device);
}

static void read_subject_device(isc_reading in)
{
	((isc_claim_subject *)in.into)->device = id_from(in.value);
}

static val *subject_rank(struct json *j, const void *from)
{
	const isc_claim_subject *s = from;

	return number_of(j, s->kind == ISC_CLAIM_OF_GPU && s->rank >= 0, s->rank);
}

static void read_subject_rank(isc_reading in)
{
	((isc_claim_subject *)in.into)->rank = yyjson_is_num(in.value) ? (int64_t)id_from(in.value) : -1;
}

static val *subject_file(struct json *j, const void *from)
{
	const isc_claim_subject *s = from;

	return number_of(j, s->kind == ISC_CLAIM_OF_GPU && s->file > 0, s->file);
}

static void read_subject_file(isc_reading in)
{
	((isc_claim_subject *)in.into)->file = id_from(in.value);
}

#define SUBJECT(as, member) ISC_AT(as, isc_claim_subject, member)
static const isc_field subject_rows[] = {
	{"kind", SUBJECT(ENUM, kind), .names = ISC_NAMES_SUBJECTS},
	{"name", SUBJECT(TEXT, name)},
	{"device_id", .value = subject_device, .read = read_subject_device},
	{"rank", .value = subject_rank, .read = read_subject_rank},
	{"file", .value = subject_file, .read = read_subject_file},
	{.kind = ISC_FIELD_END},
};

/* ---- places ---- */

#define PLACE(as, member) ISC_AT(as, isc_claim_place, member)
static const isc_field place_rows[] = {
	{"function", PLACE(TEXT, function)}, {"file", PLACE(TEXT, file)}, {"line", PLACE(ID, line)},
	{"thread", PLACE(TEXT, thread)},     {.kind = ISC_FIELD_END},
};

static val *place_value(struct json *j, const void *from)
{
	const isc_claim_place *place = from;

	if (place->function.len == 0 && place->thread.len == 0)
		return yyjson_mut_null(j->doc);
	return isc_fields_object(j, place_rows, place);
}

/* ---- details ---- */

static val *details_value(struct json *j, const void *from)
{
	const isc_claim *c = from;
	val *o = yyjson_mut_obj(j->doc);

	for (size_t i = 0; i < c->details; i++) {
		const isc_claim_detail *d = &c->detail[i];

		if (d->number >= 0)
			put(j, o, isc_detail_name(d->what), yyjson_mut_real(j->doc, d->number));
		else
			put_text(j, o, isc_detail_name(d->what), &d->text);
	}
	return o;
}

static void read_details(isc_reading in)
{
	yyjson_val *key, *value;
	size_t i, n;

	yyjson_obj_foreach(in.value, i, n, key, value)
	{
		for (int what = 0; what < ISC_DETAILS; what++) {
			if (!yyjson_equals_str(key, isc_detail_name((enum isc_detail)what)))
				continue;
			if (yyjson_is_num(value))
				isc_claim_number(in.into, (enum isc_detail)what, yyjson_get_num(value));
			else
				isc_claim_text(in.into, (enum isc_detail)what, text_from(in.a->arena, value));
		}
	}
}

/* ---- all of it ---- */

static val *fix_words(struct json *j, const void *from)
{
	isc_text words = isc_phrase_fix(from);

	return words.len > 0 ? text_of(j, &words) : yyjson_mut_null(j->doc);
}

/* The id of the remedy that has these words; NULL: they are of a file of rules. */
static val *fix_id(struct json *j, const void *from)
{
	const isc_claim *c = from;
	const isc_fix_words *fix = isc_fix_words_of(c->fix);
	isc_text words = isc_phrase_fix(c);
	bool own = fix == NULL || strlen(fix->fix) != words.len ||
		   (words.len > 0 && memcmp(fix->fix, words.at, words.len) != 0);

	return words_of(j, own ? NULL : fix->id);
}

static void read_fix_id(isc_reading in)
{
	((isc_claim *)in.into)->fix = (enum isc_fix)isc_field_named(ISC_NAMES_FIXES, in.value);
}

static void read_fix_words(isc_reading in)
{
	((isc_claim *)in.into)->own_fix = text_from(in.a->arena, in.value);
}

#define CLAIM(as, member) ISC_AT(as, isc_claim, member)
const isc_field isc_claim_rows[] = {
	{"finding", CLAIM(WORDS, finding)},
	{"kind", CLAIM(ENUM, kind), .names = ISC_NAMES_CLAIMS, ISC_IF(isc_claim, finding)},
	{"subject", CLAIM(OBJECT, subject), .of = subject_rows, ISC_IF(isc_claim, finding)},
	{"place", CLAIM(OBJECT, place), .of = place_rows, .value = place_value},
	{"holder", CLAIM(OBJECT, holder), .of = place_rows, .value = place_value},
	{"saving_us", CLAIM(US, saving_us), ISC_IF(isc_claim, finding)},
	{"of_us", CLAIM(US, of_us), ISC_IF(isc_claim, finding)},
	{"fix", .value = fix_id, .read = read_fix_id},
	{"fix_words", .value = fix_words, .read = read_fix_words},
	{"details", .value = details_value, .read = read_details},
	{.kind = ISC_FIELD_END},
};

/* ---- what would change a verdict ---- */

static bool is_turn(const isc_analysis_change *c)
{
	return c->kind == ISC_CHANGE_FALLS || c->kind == ISC_CHANGE_RISES;
}

static val *change_limit(struct json *j, const void *from)
{
	const isc_analysis_change *c = from;

	return us_of(j, is_turn(c) ? c->limit : -1);
}

static void read_change_limit(isc_reading in)
{
	((isc_analysis_change *)in.into)->limit = real_from(in.value);
}

static val *change_then(struct json *j, const void *from)
{
	const isc_analysis_change *c = from;

	return words_of(j, !is_turn(c) ? NULL : c->then != NULL ? c->then : "balanced");
}

static void read_change_then(isc_reading in)
{
	((isc_analysis_change *)in.into)->then = words_from(in.a->arena, in.value);
}

#define CHANGE(as, member) ISC_AT(as, isc_analysis_change, member)
const isc_field isc_change_rows[] = {
	{"kind", CHANGE(ENUM, kind), .names = ISC_NAMES_CHANGES},
	{"metric", CHANGE(WORDS, metric)},
	{"every_gpu", CHANGE(FLAG, every_gpu)},
	{"limit", .value = change_limit, .read = read_change_limit},
	{"value", CHANGE(US, value)},
	{"then", .value = change_then, .read = read_change_then},
	{.kind = ISC_FIELD_END},
};
