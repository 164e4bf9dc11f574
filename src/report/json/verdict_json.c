#include "analyze/verdict/claim.h"
#include "report/json/claim_json.h"
#include "report/json/json_tree.h"
#include "report/json/verdict_json.h"
#include "report/text/phrase.h"

static void put_device(struct json *j, val *o, int64_t device)
{
	put(j, o, "device_id", device >= 0 ? yyjson_mut_sint(j->doc, device) : yyjson_mut_null(j->doc));
}

static void put_evidence(struct json *j, val *verdict, const isc_analysis_verdict *v)
{
	val *list = list_in(j, verdict, "evidence");

	for (size_t i = 0; i < v->evidence_count; i++) {
		const isc_analysis_evidence *e = &v->evidence[i];
		val *o = add(j, list, yyjson_mut_obj(j->doc));

		put_words(j, o, "rule", e->rule);
		put_words(j, o, "metric", e->metric);
		put(j, o, "value", real_of(j, e->value));
		put(j, o, "threshold", real_of(j, e->threshold));
		put_device(j, o, e->device_id);
	}
}

/* A sentence, or null; empty: it is always there. */
static void put_sentence(struct json *j, val *o, const char *key, isc_buffer *raw, bool empty)
{
	isc_text text = {raw->data, raw->len};

	j->failed |= raw->failed;
	put(j, o, key, text.len > 0 || empty ? text_of(j, &text) : yyjson_mut_null(j->doc));
	isc_buffer_fini(raw);
}

static void put_suggestion(struct json *j, val *list, const isc_analysis_suggestion *s)
{
	val *o = add(j, list, yyjson_mut_obj(j->doc));
	isc_text title = isc_phrase_title(&s->claim), check = isc_phrase_check(&s->claim);
	isc_buffer where = {0}, why = {0};

	isc_phrase_where(&where, s);
	isc_phrase_why(&why, s);
	put_words(j, o, "rule", s->claim.cause);
	put(j, o, "title", text_of(j, &title));
	put_sentence(j, o, "where", &where, false);
	put_sentence(j, o, "why", &why, true);
	put_text(j, o, "check", &check);
	put_us(j, o, "saves_at_most_us", s->saves_at_most_us);
	put_words(j, o, "cause", s->claim.cause);
	put_us(j, o, "share", s->claim.share);
	isc_claim_json(j, o, &s->claim);
}

static void put_changes(struct json *j, val *o, const isc_analysis_verdict *v)
{
	val *list = list_in(j, o, "would_change");

	for (size_t i = 0; i < v->would_change_count; i++) {
		isc_buffer raw = {0};

		isc_phrase_change(&raw, &v->would_change[i], NULL);
		j->failed |= raw.failed;
		add(j, list, text_of(j, &(isc_text){raw.data, raw.len}));
		isc_buffer_fini(&raw);
	}
}

void isc_verdict_json(struct json *j, val *root, const isc_analysis *a)
{
	const isc_analysis_verdict *v = &a->verdict;
	val *o = object_in(j, root, "verdict"), *list;
	isc_buffer headline = {0};

	isc_phrase_headline(&headline, v);
	put_words(j, o, "bottleneck", v->bottleneck != NULL ? v->bottleneck : "unknown");
	put_words(j, o, "cause", v->claim.cause);
	put_us(j, o, "share", v->claim.share);
	put_device(j, o, isc_claim_device(&v->claim));
	put(j, o, "confidence", real_of(j, v->confidence));
	put_sentence(j, o, "headline", &headline, false);
	put_evidence(j, o, v);
	put_changes(j, o, v);
	put_words(j, o, "withheld", v->withheld);
	isc_claim_json(j, o, &v->claim);
	list = list_in(j, o, "changes");
	for (size_t i = 0; i < v->would_change_count; i++)
		isc_change_json(j, list, &v->would_change[i]);
	list = list_in(j, root, "suggestions");
	for (size_t i = 0; i < a->suggestion_count; i++)
		put_suggestion(j, list, &a->suggestions[i]);
}
