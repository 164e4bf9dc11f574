/*
 * verdict.c - why it is slow, and what to change: sentences, and the claims that they are made of.
 */
#include "analyze/rules/rule.h"
#include "analyze/verdict/claim.h"
#include "report/json/tables.h"
#include "report/text/phrase.h"

#define EVIDENCE(as, member) ISC_AT(as, isc_analysis_evidence, member)
static const isc_field evidence_rows[] = {
	{"rule", EVIDENCE(WORDS, rule), .otherwise = ""},
	{"metric", EVIDENCE(WORDS, metric), .otherwise = ""},
	{"value", EVIDENCE(REAL, value)},
	{"threshold", EVIDENCE(REAL, threshold)},
	{"device_id", EVIDENCE(DEVICE, device_id)},
	{.kind = ISC_FIELD_END},
};

static val *headline(struct json *j, const void *verdict)
{
	isc_buffer raw = {0};

	isc_phrase_headline(&raw, verdict);
	return isc_raw_value(j, &raw);
}

static void read_headline(isc_reading in)
{
	((isc_analysis_verdict *)in.into)->told = text_from(in.a->arena, in.value);
}

static val *device(struct json *j, const void *verdict)
{
	int64_t id = isc_claim_device(&((const isc_analysis_verdict *)verdict)->claim);

	return id >= 0 ? yyjson_mut_sint(j->doc, id) : yyjson_mut_null(j->doc);
}

/* Before it had parts a verdict said which GPU it is about, and no more of it. */
static void note_device(yyjson_val *verdict, isc_claim_subject *subject)
{
	if (!known_in(verdict, "device_id"))
		return;
	subject->kind = ISC_CLAIM_OF_GPU;
	subject->device = id_in(verdict, "device_id");
}

static void read_device(isc_reading verdict)
{
	note_device(verdict.value, &((isc_analysis_verdict *)verdict.into)->claim.subject);
}

/* ---- what would change it ---- */

static val *change_words(struct json *j, const void *from)
{
	const isc_analysis_verdict *v = from;
	val *list = yyjson_mut_arr(j->doc);

	for (size_t i = 0; i < v->would_change_count; i++) {
		isc_buffer raw = {0};

		isc_phrase_change(&raw, &v->would_change[i], NULL);
		add(j, list, isc_raw_value(j, &raw));
	}
	return list;
}

void isc_change_read(isc_arena *arena, yyjson_val *parts, yyjson_val *told, isc_analysis_change *out)
{
	isc_analysis a = {.arena = arena};

	*out = (isc_analysis_change){0};
	isc_fields_read(&a, parts, isc_change_rows, out);
	if (yyjson_obj_get(parts, "kind") == NULL ||
	    (out->kind <= ISC_CHANGE_RISES && (out->metric == NULL || isc_metric_named(out->metric) == NULL)))
		out->told = text_from(arena, told);
}

static void read_changes(isc_reading verdict)
{
	yyjson_val *list = yyjson_obj_get(verdict.value, "would_change"), *told;
	yyjson_arr_iter parts = yyjson_arr_iter_with(yyjson_obj_get(verdict.value, "changes"));
	isc_analysis_verdict *v = verdict.into;
	size_t i, n;

	v->would_change = room_for(verdict.a->arena, &list, sizeof(*v->would_change), &v->would_change_count);
	yyjson_arr_foreach(list, i, n, told)
	{
		isc_change_read(verdict.a->arena, yyjson_arr_iter_next(&parts), told, &v->would_change[i]);
	}
}

#define VERDICT(as, member) ISC_AT(as, isc_analysis_verdict, member)
const isc_field isc_verdict_rows[] = {
	{"bottleneck", VERDICT(WORDS, bottleneck), .otherwise = "unknown"},
	{"cause", VERDICT(WORDS, claim.cause)},
	{"share", VERDICT(US, claim.share)},
	{"device_id", .value = device},
	{"confidence", VERDICT(US_0, confidence)},
	{"process_id", VERDICT(ID, pid)},
	{"thread_id", VERDICT(ID, tid)},
	{"headline", .value = headline, .read = read_headline},
	{"evidence", ISC_LIST(isc_analysis_verdict, evidence, evidence_count, evidence_rows)},
	{"would_change", .value = change_words},
	{"withheld", VERDICT(WORDS, withheld)},
	{NULL, VERDICT(OBJECT, claim), .of = isc_claim_rows},
	{"changes", ISC_LIST(isc_analysis_verdict, would_change, would_change_count, isc_change_rows)},
	{NULL, .read = read_changes},
	{NULL, .read = read_device},
	{.kind = ISC_FIELD_END},
};

/* ---- suggestions ---- */

static val *title(struct json *j, const void *suggestion)
{
	isc_text words = isc_phrase_title(&((const isc_analysis_suggestion *)suggestion)->claim);

	return text_of(j, &words);
}

static void read_title(isc_reading in)
{
	((isc_analysis_suggestion *)in.into)->claim.own_title = text_from(in.a->arena, in.value);
}

static val *where(struct json *j, const void *suggestion)
{
	isc_buffer raw = {0};

	isc_phrase_where(&raw, suggestion);
	return isc_raw_value(j, &raw);
}

static void read_where(isc_reading in)
{
	((isc_analysis_suggestion *)in.into)->told_where = text_from(in.a->arena, in.value);
}

/* It is always there. */
static val *why(struct json *j, const void *suggestion)
{
	isc_buffer raw = {0};
	val *value;

	isc_phrase_why(&raw, suggestion);
	value = text_of(j, &(isc_text){raw.data, raw.len});
	j->failed |= raw.failed;
	isc_buffer_fini(&raw);
	return value;
}

static void read_why(isc_reading in)
{
	((isc_analysis_suggestion *)in.into)->told_why = text_from(in.a->arena, in.value);
}

static val *check(struct json *j, const void *suggestion)
{
	isc_text words = isc_phrase_check(&((const isc_analysis_suggestion *)suggestion)->claim);

	return words.len > 0 ? text_of(j, &words) : yyjson_mut_null(j->doc);
}

static void read_check(isc_reading in)
{
	((isc_analysis_suggestion *)in.into)->claim.own_check = text_from(in.a->arena, in.value);
}

/* A report of before names the rule alone. */
static void read_rule(isc_reading suggestion)
{
	isc_claim *claim = &((isc_analysis_suggestion *)suggestion.into)->claim;

	if (claim->cause == NULL)
		claim->cause = words_from(suggestion.a->arena, yyjson_obj_get(suggestion.value, "rule"));
}

static val *rule(struct json *j, const void *suggestion)
{
	return words_of(j, ((const isc_analysis_suggestion *)suggestion)->claim.cause);
}

#define SUGGESTION(as, member) ISC_AT(as, isc_analysis_suggestion, member)
const isc_field isc_suggestion_rows[] = {
	{"rule", .value = rule},
	{"title", .value = title, .read = read_title},
	{"where", .value = where, .read = read_where},
	{"why", .value = why, .read = read_why},
	{"check", .value = check, .read = read_check},
	{"saves_at_most_us", SUGGESTION(US, saves_at_most_us)},
	{"cause", SUGGESTION(WORDS, claim.cause)},
	{"share", SUGGESTION(US, claim.share)},
	{NULL, SUGGESTION(OBJECT, claim), .of = isc_claim_rows},
	{NULL, .read = read_rule},
	{.kind = ISC_FIELD_END},
};

void isc_claim_read(isc_arena *arena, yyjson_val *object, isc_claim *out)
{
	isc_analysis a = {.arena = arena};
	isc_analysis_suggestion s = {0};

	isc_fields_read(&a, object, isc_suggestion_rows, &s);
	*out = s.claim;
	note_device(object, &out->subject);
}
