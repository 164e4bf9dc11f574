#include "report/json/json_tree.h"
#include "report/json/verdict_json.h"

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

static void put_suggestions(struct json *j, val *root, const isc_analysis *a)
{
	val *list = list_in(j, root, "suggestions");

	for (size_t i = 0; i < a->suggestion_count; i++) {
		const isc_analysis_suggestion *s = &a->suggestions[i];
		val *o = add(j, list, yyjson_mut_obj(j->doc));

		put_words(j, o, "rule", s->rule);
		put(j, o, "title", text_of(j, &s->title));
		put_text(j, o, "where", &s->where);
		put(j, o, "why", text_of(j, &s->why));
		put_text(j, o, "check", &s->check);
		put_us(j, o, "saves_at_most_us", s->saves_at_most_us);
	}
}

void isc_verdict_json(struct json *j, val *root, const isc_analysis *a)
{
	const isc_analysis_verdict *v = &a->verdict;
	val *o = object_in(j, root, "verdict"), *changes;

	put_words(j, o, "bottleneck", v->bottleneck != NULL ? v->bottleneck : "unknown");
	put_words(j, o, "cause", v->cause);
	put_us(j, o, "share", v->share);
	put_device(j, o, v->device_id);
	put(j, o, "confidence", real_of(j, v->confidence));
	put_text(j, o, "headline", &v->headline);
	put_evidence(j, o, v);
	changes = list_in(j, o, "would_change");
	for (size_t i = 0; i < v->would_change_count; i++)
		add(j, changes, text_of(j, &v->would_change[i]));
	put_words(j, o, "withheld", v->withheld);
	put_suggestions(j, root, a);
}
