#include "report/text/unit_words.h"

#include <math.h>

#include "base/text.h"
#include "base/units.h"
#include "report/markdown/grid.h"
#include "report/json/recall_read.h"
#include "report/text/scope_words.h"
#include "report/text/words.h"

#define NAME_MAX_LEN 100u
#define ROWS_MAX 25u

/* ---- JSON ---- */

static void put_frame(struct json *j, val *o, const isc_analysis_frame *at)
{
	put_text(j, o, "name", &at->name);
	put_text(j, o, "file", &at->file);
	put(j, o, "line", at->line != 0 ? yyjson_mut_uint(j->doc, at->line) : yyjson_mut_null(j->doc));
}

static void put_family(struct json *j, val *o, const isc_analysis_unit_family *f)
{
	put_words(j, o, "kind", f->kind);
	put_frame(j, o, &f->at);
	if (f->looper.name.len > 0)
		put_frame(j, object_in(j, o, "looper"), &f->looper);
	else
		put_null(j, o, "looper");
	put(j, o, "process_id", f->pid != 0 ? yyjson_mut_uint(j->doc, f->pid) : yyjson_mut_null(j->doc));
	put_count(j, o, "count", f->count);
	put_count(j, o, "whole", f->whole);
	put_count(j, o, "partial", f->partial);
	put_count(j, o, "thinned", f->thinned);
	put_count(j, o, "none", f->none);
	put_us(j, o, "p50_us", f->p50_us);
	put_us(j, o, "p90_us", f->p90_us);
	put_us(j, o, "p99_us", f->p99_us);
	put_us(j, o, "max_us", f->max_us);
	put_us(j, o, "total_us", f->total_us);
}

void isc_unit_json(struct json *j, val *root, const isc_analysis *a)
{
	const isc_analysis_units *u = &a->units;
	val *o, *list;

	if (!u->known || u->family_count == 0) {
		put_null(j, root, "units");
		return;
	}
	o = object_in(j, root, "units");
	put_family(j, o, &u->families[0]);
	list = list_in(j, o, "families");
	for (size_t i = 0; i < u->family_count; i++)
		put_family(j, add(j, list, yyjson_mut_obj(j->doc)), &u->families[i]);
	put_count(j, o, "unlisted", u->unlisted);
}

static const char *kind_in(yyjson_val *o)
{
	static const char *const kinds[] = {"scope", "task", "item"};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (yyjson_equals_str(yyjson_obj_get(o, "kind"), kinds[i]))
			return kinds[i];
	}
	return "loop";
}

void isc_recall_units(yyjson_val *units, isc_analysis *a)
{
	yyjson_val *list = yyjson_obj_get(units, "families"), *o;
	isc_analysis_units *u = &a->units;
	size_t i, n;

	u->families = room_for(a->arena, &list, sizeof(*u->families), &u->family_count);
	u->known = u->family_count > 0;
	u->unlisted = count_in(units, "unlisted");
	yyjson_arr_foreach(list, i, n, o)
	{
		u->families[i] = (isc_analysis_unit_family){
			.kind = kind_in(o),
			.at = frame_in(a->arena, o, "name"),
			.looper = frame_in(a->arena, yyjson_obj_get(o, "looper"), "name"),
			.pid = id_in(o, "process_id"),
			.count = count_in(o, "count"),
			.whole = count_in(o, "whole"),
			.partial = count_in(o, "partial"),
			.thinned = count_in(o, "thinned"),
			.none = count_in(o, "none"),
			.p50_us = real_in(o, "p50_us"),
			.p90_us = real_in(o, "p90_us"),
			.p99_us = real_in(o, "p99_us"),
			.max_us = real_in(o, "max_us"),
			.total_us = real_in(o, "total_us"),
		};
	}
}

/* ---- Markdown ---- */

static void add_place(isc_buffer *out, const isc_analysis_frame *at)
{
	isc_buffer raw = {0};

	isc_scope_words_place(&raw, at);
	out->failed |= raw.failed;
	isc_text_markdown(out, raw.len > 0 ? raw.data : "?", raw.len > 0 ? raw.len : 1, NAME_MAX_LEN);
	isc_buffer_fini(&raw);
}

/* "64 scopes named request", "64 iterations of the loop in main (run.py:9)". */
static void add_what(isc_buffer *out, const isc_analysis_unit_family *f)
{
	switch (f->kind[0]) {
	case 's':
		isc_words_plural(out, f->count, "scope named ", "scopes named ");
		isc_text_markdown(out, f->at.name.at, f->at.name.len, NAME_MAX_LEN);
		return;
	case 't':
		isc_words_plural(out, f->count, "task of ", "tasks of ");
		add_place(out, &f->at);
		return;
	case 'i':
		isc_words_plural(out, f->count, "work item of a pool", "work items of a pool");
		break;
	default:
		isc_words_plural(out, f->count, "iteration of the loop in ", "iterations of the loop in ");
		add_place(out, &f->looper);
	}
	isc_buffer_text(out, ", each with ");
	add_place(out, &f->at);
}

static void add_part(isc_buffer *out, uint64_t n, const char *what, bool *first)
{
	isc_units u;

	if (n > 0)
		isc_buffer_format(out, "%s%s %s", *first ? "" : ", ", isc_units_count(&u, n), what);
	*first &= n == 0;
}

static void add_coverage(isc_buffer *out, const isc_analysis_unit_family *f)
{
	bool first = true;
	isc_units u;

	if (f->whole == f->count || f->none == f->count) {
		isc_buffer_text(out, f->whole == f->count ? "all whole" : "all without calls");
		return;
	}
	add_part(out, f->whole, "whole", &first);
	add_part(out, f->partial, "partial", &first);
	if (f->thinned > 0)
		isc_buffer_format(out, " (%s only thinned out)", isc_units_count(&u, f->thinned));
	add_part(out, f->none, "without calls", &first);
}

static void write_families(const isc_analysis_units *all, isc_buffer *out)
{
	static const char *const titles[] = {"units",  ">process", ">whole", ">partial", ">thinned", ">no calls",
					     ">total", ">p50",	   ">p90",   ">p99",	 ">max",     NULL};
	size_t n = all->family_count < ROWS_MAX ? all->family_count : ROWS_MAX;
	uint64_t others = all->unlisted;
	isc_units u;
	isc_grid t;

	if (all->family_count < 2)
		return;
	isc_grid_init(&t, titles);
	for (size_t i = 0; i < n; i++) {
		const isc_analysis_unit_family *f = &all->families[i];

		add_what(&t.text, f);
		isc_grid_end(&t);
		isc_buffer_format(&t.text, f->pid != 0 ? "%u" : "?", f->pid);
		isc_grid_end(&t);
		isc_grid_cell(&t, isc_units_count(&u, f->whole));
		isc_grid_cell(&t, isc_units_count(&u, f->partial));
		isc_grid_cell(&t, isc_units_count(&u, f->thinned));
		isc_grid_cell(&t, isc_units_count(&u, f->none));
		isc_grid_cell(&t, isc_units_time(&u, f->total_us));
		isc_grid_cell(&t, isc_units_time(&u, f->p50_us));
		isc_grid_cell(&t, isc_units_time(&u, f->p90_us));
		isc_grid_cell(&t, isc_units_time(&u, f->p99_us));
		isc_grid_cell(&t, isc_units_time(&u, f->max_us));
	}
	isc_buffer_text(out, "\n");
	isc_grid_write(&t, out);
	isc_grid_fini(&t);
	for (size_t i = n; i < all->family_count; i++)
		others += all->families[i].count;
	if (others > 0)
		isc_buffer_format(out, "\n... and %s units of other names.\n", isc_units_count(&u, others));
}

void isc_unit_markdown(const isc_analysis *a, isc_buffer *out)
{
	const isc_analysis_unit_family *f = a->units.families;
	isc_units u, v, w, x;

	if (!a->units.known || a->units.family_count == 0)
		return;
	isc_buffer_text(out, "\n## Units of work\n\n");
	add_what(out, f);
	isc_buffer_text(out, ": ");
	add_coverage(out, f);
	isc_buffer_format(out, "; p50 %s, p90 %s, p99 %s, max %s.\n", isc_units_time(&u, f->p50_us),
			  isc_units_time(&v, f->p90_us), isc_units_time(&w, f->p99_us), isc_units_time(&x, f->max_us));
	if (f->whole < f->count && f->none < f->count)
		isc_buffer_text(out,
				"A whole unit has every call inside recorded; the others lack some or all, to stay "
				"inside the budget or because events were lost.\n");
	write_families(&a->units, out);
}
