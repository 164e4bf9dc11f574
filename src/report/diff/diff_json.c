#include <math.h>
#include <stdlib.h>

#include "report/diff/diff.h"
#include "report/json/json_tree.h"

#define DIFF_SCHEMA "inferscope-diff-1"

static void put_number(struct json *j, val *o, const char *key, double value)
{
	put(j, o, key, isnan(value) ? yyjson_mut_null(j->doc) : real_of(j, value));
}

static void put_change(struct json *j, val *o, const isc_change *c)
{
	static const char *const words[] = {"less", "same", "more"};
	double change = c->fresh - c->base;

	put_number(j, o, "base", c->base);
	put_number(j, o, "new", c->fresh);
	put_number(j, o, "change", change);
	put_number(j, o, "change_pct", c->base > 0 ? change / c->base * 100 : NAN);
	put_number(j, o, "noise", c->noise);
	put_words(j, o, "noise_source", isnan(c->noise) ? NULL : c->measured ? "measured" : "assumed");
	put_words(j, o, "result", isnan(change) ? NULL : words[isc_change_direction(c) + 1]);
}

static void put_set(struct json *j, val *root, const char *key, const isc_run_set *set)
{
	val *o = object_in(j, root, key);
	uint64_t lost = 0;

	for (size_t i = 0; i < set->count; i++)
		lost += set->runs[i]->lost;
	put_count(j, o, "runs", set->count);
	put_count(j, o, "lost", lost);
	put_text(j, o, "host", &set->runs[0]->host);
	put_text(j, o, "cpu", &set->runs[0]->cpu);
	put(j, o, "cpus",
	    set->runs[0]->cpus > 0 ? yyjson_mut_uint(j->doc, set->runs[0]->cpus) : yyjson_mut_null(j->doc));
	put_text(j, o, "python", &set->runs[0]->python);
}

static void put_gates(struct json *j, val *root, const isc_diff *d)
{
	val *list = list_in(j, root, "gates"), *o;

	for (size_t i = 0; i < d->gate_count; i++) {
		const isc_diff_gate *g = &d->gates[i];

		o = add(j, list, yyjson_mut_obj(j->doc));
		put_words(j, o, "gate", g->gate.text);
		put_words(j, o, "outcome", isc_diff_result_name(g->result));
		put_words(j, o, "metric", g->gate.metric.name);
		put_words(j, o, "subject", g->gate.subject[0] != 0 ? g->gate.subject : NULL);
		put_change(j, o, &g->change);
	}
}

static void put_scopes(struct json *j, val *root, const isc_comparison *c)
{
	val *list = list_in(j, root, "scopes"), *o, *states;

	for (size_t i = 0; i < c->scope_count; i++) {
		const isc_scope_change *s = &c->scopes[i];

		o = add(j, list, yyjson_mut_obj(j->doc));
		put(j, o, "name", text_of(j, &s->name));
		put_change(j, object_in(j, o, "count"), &s->count);
		put_change(j, object_in(j, o, "mean_us"), &s->mean);
		put_change(j, object_in(j, o, "p50_us"), &s->p50);
		put_change(j, object_in(j, o, "p90_us"), &s->p90);
		put_change(j, object_in(j, o, "p99_us"), &s->p99);
		states = object_in(j, o, "states");
		for (int state = 0; state < ISC_STATES; state++) {
			val *one = object_in(j, states, isc_state_name((enum isc_state)state));

			put_number(j, one, "base_us", s->base_us[state]);
			put_number(j, one, "new_us", s->fresh_us[state]);
		}
	}
}

static void put_list(struct json *j, val *root, const char *key, const isc_change *list, size_t count)
{
	val *array = list_in(j, root, key), *o;

	for (size_t i = 0; i < count; i++) {
		const isc_analysis_function *f = list[i].function;

		o = add(j, array, yyjson_mut_obj(j->doc));
		put(j, o, "name", text_of(j, &list[i].subject));
		put_text(j, o, "file", f != NULL ? &f->file : &(isc_text){0});
		put(j, o, "line",
		    f != NULL && f->line != 0 ? yyjson_mut_uint(j->doc, f->line) : yyjson_mut_null(j->doc));
		put_change(j, o, &list[i]);
	}
}

void isc_diff_json(const isc_diff *d, isc_buffer *out)
{
	struct json j = {.doc = yyjson_mut_doc_new(NULL)};
	val *root = yyjson_mut_obj(j.doc), *states;
	isc_buffer raw = {0};
	char *text = NULL;
	size_t len = 0;

	yyjson_mut_doc_set_root(j.doc, root);
	put_words(&j, root, "schema", DIFF_SCHEMA);
	isc_diff_headline(d, &raw);
	j.failed |= raw.failed;
	put_text(&j, root, "headline", &(isc_text){raw.data, raw.failed ? 0 : raw.len});
	put_words(&j, root, "machines_differ", d->machines);
	put_set(&j, root, "base", &d->comparison.base);
	put_set(&j, root, "new", &d->comparison.fresh);
	put_gates(&j, root, d);
	put_change(&j, object_in(&j, root, "wall_us"), &d->comparison.wall);
	put_scopes(&j, root, &d->comparison);
	put_text(&j, root, "per", &d->comparison.per);
	put_list(&j, root, "functions", d->comparison.functions, d->comparison.function_count);
	put_list(&j, root, "kernels", d->comparison.kernels, d->comparison.kernel_count);
	states = object_in(&j, root, "breakdown");
	for (int state = 0; state < ISC_STATES; state++)
		put_change(&j, object_in(&j, states, isc_state_name((enum isc_state)state)),
			   &d->comparison.states[state]);
	if (j.doc != NULL && !j.failed && !j.text.failed)
		text = yyjson_mut_write(j.doc, YYJSON_WRITE_PRETTY_TWO_SPACES | YYJSON_WRITE_NEWLINE_AT_END, &len);
	if (text != NULL)
		isc_buffer_add(out, text, len);
	else
		out->failed = true;
	free(text);
	isc_buffer_fini(&raw);
	isc_buffer_fini(&j.text);
	yyjson_mut_doc_free(j.doc);
}
