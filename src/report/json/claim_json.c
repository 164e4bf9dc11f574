#include "report/json/claim_json.h"

#include <string.h>

#include "analyze/rules/rule.h"
#include "analyze/verdict/claim.h"
#include "report/json/json_tree.h"
#include "report/json/recall_read.h"
#include "report/text/fix_words.h"
#include "report/text/phrase.h"

/* ---- written ---- */

static void put_number(struct json *j, val *o, const char *key, bool known, int64_t number)
{
	put(j, o, key, known ? yyjson_mut_sint(j->doc, number) : yyjson_mut_null(j->doc));
}

static void put_subject(struct json *j, val *claim, const isc_claim *c)
{
	const isc_claim_subject *s = &c->subject;
	bool gpu = s->kind == ISC_CLAIM_OF_GPU;
	val *o;

	if (c->finding == NULL) {
		put_null(j, claim, "subject");
		return;
	}
	o = object_in(j, claim, "subject");
	put_words(j, o, "kind", isc_claim_subject_name(s->kind));
	put_text(j, o, "name", &s->name);
	put_number(j, o, "device_id", gpu, s->device);
	put_number(j, o, "rank", gpu && s->rank >= 0, s->rank);
	put_number(j, o, "file", gpu && s->file > 0, s->file);
}

static void put_place(struct json *j, val *claim, const char *key, const isc_claim_place *place)
{
	val *o;

	if (place->function.len == 0 && place->thread.len == 0) {
		put_null(j, claim, key);
		return;
	}
	o = object_in(j, claim, key);
	put_text(j, o, "function", &place->function);
	put_text(j, o, "file", &place->file);
	put_number(j, o, "line", place->line > 0, place->line);
	put_text(j, o, "thread", &place->thread);
}

static void put_details(struct json *j, val *claim, const isc_claim *c)
{
	val *o = object_in(j, claim, "details");

	for (size_t i = 0; i < c->details; i++) {
		const isc_claim_detail *d = &c->detail[i];

		if (d->number >= 0)
			put_value(j, o, isc_detail_name(d->what), d->number);
		else
			put_text(j, o, isc_detail_name(d->what), &d->text);
	}
}

/* The id of the remedy that has these words; NULL: they are of a file of rules. */
static const char *fix_id(const isc_claim *c, isc_text words)
{
	const isc_fix_words *fix = isc_fix_words_of(c->fix);

	if (fix == NULL || strlen(fix->fix) != words.len ||
	    (words.len > 0 && memcmp(fix->fix, words.at, words.len) != 0))
		return NULL;
	return fix->id;
}

void isc_claim_json(struct json *j, struct yyjson_mut_val *o, const isc_claim *c)
{
	bool known = c->finding != NULL;
	isc_text words = isc_phrase_fix(c);

	put_words(j, o, "finding", c->finding);
	put_words(j, o, "kind", known ? isc_claim_kind_name(c->kind) : NULL);
	put_subject(j, o, c);
	put_place(j, o, "place", &c->place);
	put_place(j, o, "holder", &c->holder);
	put_us(j, o, "saving_us", known ? c->saving_us : -1);
	put_us(j, o, "of_us", known ? c->of_us : -1);
	put_words(j, o, "fix", fix_id(c, words));
	put_text(j, o, "fix_words", &words);
	put_details(j, o, c);
}

void isc_change_json(struct json *j, struct yyjson_mut_val *list, const isc_analysis_change *c)
{
	bool turn = c->kind == ISC_CHANGE_FALLS || c->kind == ISC_CHANGE_RISES;
	val *o = add(j, list, yyjson_mut_obj(j->doc));

	put_words(j, o, "kind", isc_change_kind_name(c->kind));
	put_words(j, o, "metric", c->metric);
	put(j, o, "every_gpu", yyjson_mut_bool(j->doc, c->every_gpu));
	put_us(j, o, "limit", turn ? c->limit : -1);
	put_us(j, o, "value", c->value);
	put_words(j, o, "then", turn ? (c->then != NULL ? c->then : "balanced") : NULL);
}

/* ---- read back ---- */

/* The place of a name in a list; -1: it is not there. */
static int named(yyjson_val *name, int count, const char *(*name_of)(int))
{
	for (int i = 0; i < count; i++) {
		if (name_of(i) != NULL && yyjson_equals_str(name, name_of(i)))
			return i;
	}
	return -1;
}

static const char *kind_at(int i)
{
	return isc_claim_kind_name((enum isc_claim_kind)i);
}

static const char *subject_at(int i)
{
	return isc_claim_subject_name((enum isc_claim_subject_kind)i);
}

static const char *detail_at(int i)
{
	return isc_detail_name((enum isc_detail)i);
}

static const char *change_at(int i)
{
	return isc_change_kind_name((enum isc_change_kind)i);
}

static isc_claim_subject subject_in(isc_arena *arena, yyjson_val *o)
{
	int kind = named(yyjson_obj_get(o, "kind"), ISC_CLAIM_SUBJECTS, subject_at);

	return (isc_claim_subject){.kind = kind >= 0 ? (enum isc_claim_subject_kind)kind : ISC_CLAIM_OF_TIME,
				   .name = text_in(arena, o, "name"),
				   .device = id_in(o, "device_id"),
				   .rank = known_in(o, "rank") ? (int64_t)id_in(o, "rank") : -1,
				   .file = id_in(o, "file")};
}

static isc_claim_place place_in(isc_arena *arena, yyjson_val *o)
{
	return (isc_claim_place){.function = text_in(arena, o, "function"),
				 .file = text_in(arena, o, "file"),
				 .line = id_in(o, "line"),
				 .thread = text_in(arena, o, "thread")};
}

static void recall_details(isc_arena *arena, yyjson_val *o, isc_claim *c)
{
	yyjson_val *key, *value;
	size_t i, n;

	yyjson_obj_foreach(o, i, n, key, value)
	{
		int what = named(key, ISC_DETAILS, detail_at);

		if (what >= 0 && yyjson_is_num(value))
			isc_claim_number(c, (enum isc_detail)what, yyjson_get_num(value));
		else if (what >= 0)
			isc_claim_text(c, (enum isc_detail)what, text_as(arena, value));
	}
}

void isc_claim_recall(isc_arena *arena, struct yyjson_val *o, isc_claim *out)
{
	int kind = named(yyjson_obj_get(o, "kind"), ISC_CLAIM_KINDS, kind_at);
	const char *rule = words_in(arena, o, "cause");

	*out = (isc_claim){.finding = words_in(arena, o, "finding"),
			   .cause = rule != NULL ? rule : words_in(arena, o, "rule"),
			   .kind = kind >= 0 ? (enum isc_claim_kind)kind : ISC_CLAIM_NONE,
			   .subject = subject_in(arena, yyjson_obj_get(o, "subject")),
			   .share = real_in(o, "share"),
			   .place = place_in(arena, yyjson_obj_get(o, "place")),
			   .holder = place_in(arena, yyjson_obj_get(o, "holder")),
			   .saving_us = real_in(o, "saving_us"),
			   .of_us = real_in(o, "of_us"),
			   .fix = isc_fix_named(yyjson_get_str(yyjson_obj_get(o, "fix"))),
			   .own_title = text_in(arena, o, "title"),
			   .own_fix = text_in(arena, o, "fix_words"),
			   .own_check = text_in(arena, o, "check")};
	/* Before it had parts a verdict said which GPU it is about, and no more of it. */
	if (known_in(o, "device_id"))
		out->subject = (isc_claim_subject){.kind = ISC_CLAIM_OF_GPU,
						   .name = out->subject.name,
						   .device = id_in(o, "device_id"),
						   .rank = out->subject.rank,
						   .file = out->subject.file};
	recall_details(arena, yyjson_obj_get(o, "details"), out);
}

void isc_change_recall(isc_arena *arena, struct yyjson_val *o, struct yyjson_val *told, isc_analysis_change *out)
{
	int kind = named(yyjson_obj_get(o, "kind"), ISC_CHANGES, change_at);
	const char *metric = words_in(arena, o, "metric"), *then = words_in(arena, o, "then");
	bool known = kind > ISC_CHANGE_RISES || (kind >= 0 && metric != NULL && isc_metric_named(metric) != NULL);

	*out = (isc_analysis_change){.kind = kind >= 0 ? (enum isc_change_kind)kind : ISC_CHANGE_OTHER,
				     .metric = metric,
				     .every_gpu = flag_in(o, "every_gpu"),
				     .limit = real_in(o, "limit"),
				     .value = real_in(o, "value"),
				     .then = then};
	if (!known)
		out->told = text_as(arena, told);
}
