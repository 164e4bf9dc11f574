#include "report/json/scope_json.h"

#include "report/json/json_tree.h"
#include "report/text/scope_words.h"

#define WHAT_IF_MAX 20u

/* Raw words to a value; null when there are none. */
static void put_raw(struct json *j, val *o, const char *key, isc_buffer *raw)
{
	j->failed |= raw->failed;
	put_text(j, o, key, &(isc_text){raw->data, raw->failed ? 0 : raw->len});
	isc_buffer_clear(raw);
}

void isc_scope_json_why(struct json *j, val *o, double unattributed, uint8_t why)
{
	put_words(j, o, "unattributed_because",
		  unattributed > 0 ? isc_unattributed_name((enum isc_unattributed)why) : NULL);
}

static void put_states(struct json *j, val *o, const isc_analysis_scope_group *g)
{
	val *sources;

	if (g->count == 0 || g->mean_us <= 0) {
		put_null(j, o, "breakdown");
		return;
	}
	o = object_in(j, o, "breakdown");
	for (int s = 0; s < ISC_STATES; s++)
		put_us(j, o, isc_state_name((enum isc_state)s),
		       g->state_us[s] >= 0 ? g->state_us[s] / g->mean_us * 100 : -1);
	sources = object_in(j, o, "sources");
	for (int s = 0; s < ISC_STATES; s++)
		put_words(j, sources, isc_state_name((enum isc_state)s),
			  isc_source_name((enum isc_source)g->source[s]));
	isc_scope_json_why(j, o, g->state_us[ISC_STATE_UNATTRIBUTED], g->unattributed);
}

static void put_group(struct json *j, val *groups, const char *key, const isc_analysis_scope_group *g)
{
	val *o = object_in(j, groups, key);

	put_count(j, o, "count", g->count);
	put_us(j, o, "mean_us", g->mean_us);
	put_states(j, o, g);
}

static void put_causes(struct json *j, val *o, const isc_analysis_scope *s)
{
	val *list = list_in(j, o, "slow_because");
	isc_buffer raw = {0};

	for (size_t i = 0; i < s->cause_count; i++) {
		const isc_analysis_cause *c = &s->causes[i];
		const isc_analysis_frame *at = isc_scope_words_at(c);

		o = add(j, list, yyjson_mut_obj(j->doc));
		put_words(j, o, "cause", isc_cause_name(c));
		isc_scope_words_place(&raw, at);
		put_raw(j, o, "where", &raw);
		put_us(j, o, "extra_us", c->extra_us);
		put_text(j, o, "function", &at->name);
		put_text(j, o, "file", &at->file);
		put(j, o, "line", at->line != 0 ? yyjson_mut_uint(j->doc, at->line) : yyjson_mut_null(j->doc));
		put_text(j, o, "module", &at->module);
		isc_scope_words_place(&raw, &c->holder);
		put_raw(j, o, "held_by", &raw);
		put(j, o, "holder_thread_id",
		    c->holder_tid != 0 ? yyjson_mut_uint(j->doc, c->holder_tid) : yyjson_mut_null(j->doc));
	}
	isc_buffer_fini(&raw);
}

static void put_what_if(struct json *j, val *o, const isc_analysis_scope *s)
{
	val *list = list_in(j, o, "what_if");
	isc_buffer raw = {0};

	for (size_t i = 0; i < s->what_if_count && i < WHAT_IF_MAX; i++) {
		const isc_analysis_what_if *w = &s->what_if[i];

		o = add(j, list, yyjson_mut_obj(j->doc));
		put_words(j, o, "without", isc_cause_name(&w->cause));
		isc_scope_words_place(&raw, isc_scope_words_at(&w->cause));
		put_raw(j, o, "where", &raw);
		isc_scope_words_place(&raw, &w->cause.holder);
		put_raw(j, o, "held_by", &raw);
		put_us(j, o, "saves_at_most_us", w->saves_at_most_us);
		put_us(j, o, "total_us", w->total_us);
	}
	isc_buffer_fini(&raw);
}

static void put_nested(struct json *j, val *o, const isc_analysis_scope *s)
{
	val *list = list_in(j, o, "nested");

	for (size_t i = 0; i < s->nested_count; i++) {
		o = add(j, list, yyjson_mut_obj(j->doc));
		put(j, o, "name", text_of(j, &s->nested[i].name));
		put_count(j, o, "count", s->nested[i].count);
		put_us(j, o, "total_us", s->nested[i].total_us);
		put_us(j, o, "us_median", s->nested[i].us_median);
		put_us(j, o, "us_slow", s->nested[i].us_slow);
	}
}

static void put_slowest(struct json *j, val *o, const isc_analysis_scope *s)
{
	val *list = list_in(j, o, "slowest");

	for (size_t i = 0; i < s->slowest_count; i++) {
		const isc_analysis_slowest *one = &s->slowest[i];

		o = add(j, list, yyjson_mut_obj(j->doc));
		put_us(j, o, "start_us", one->start_us);
		put_us(j, o, "dur_us", one->dur_us);
		put(j, o, "thread_id", one->tid != 0 ? yyjson_mut_uint(j->doc, one->tid) : yyjson_mut_null(j->doc));
		put(j, o, "process_id", one->pid != 0 ? yyjson_mut_uint(j->doc, one->pid) : yyjson_mut_null(j->doc));
	}
}

static void put_scope(struct json *j, val *list, const isc_analysis_scope *s)
{
	val *o = add(j, list, yyjson_mut_obj(j->doc)), *bins, *groups;

	put(j, o, "name", text_of(j, &s->name));
	put_count(j, o, "count", s->count);
	put_count(j, o, "open", s->open);
	put_count(j, o, "unmatched", s->unmatched);
	put_us(j, o, "total_us", s->total_us);
	put_us(j, o, "mean_us", s->mean_us);
	put_us(j, o, "p50_us", s->p50_us);
	put_us(j, o, "p90_us", s->p90_us);
	put_us(j, o, "p99_us", s->p99_us);
	put_us(j, o, "max_us", s->max_us);
	put_us(j, o, "unseen_us", s->all.count > 0 ? s->all.unseen_us : -1);
	put_states(j, o, &s->all);
	put_causes(j, o, s);
	bins = list_in(j, o, "histogram");
	for (size_t i = 0; i < s->bin_count; i++) {
		val *bin = add(j, bins, yyjson_mut_obj(j->doc));

		put_us(j, bin, "from_us", s->bins[i].from_us);
		put_us(j, bin, "to_us", s->bins[i].to_us);
		put_count(j, bin, "count", s->bins[i].count);
	}
	if (s->median.count > 0 && s->slow.count > 0) {
		groups = object_in(j, o, "groups");
		put_group(j, groups, "median", &s->median);
		put_group(j, groups, "slow", &s->slow);
	} else {
		put_null(j, o, "groups");
	}
	put_what_if(j, o, s);
	put_nested(j, o, s);
	put_slowest(j, o, s);
}

void isc_scope_json_write(struct json *j, val *root, const isc_analysis *a)
{
	val *list = list_in(j, root, "scopes");

	for (size_t i = 0; i < a->scope_count; i++)
		put_scope(j, list, &a->scopes[i]);
}
