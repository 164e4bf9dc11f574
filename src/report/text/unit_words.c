#include "report/text/unit_words.h"

#include "base/text.h"
#include "base/units.h"
#include "report/markdown/grid.h"
#include "report/text/scope_words.h"
#include "report/text/words.h"

#define NAME_MAX_LEN 100u
#define ROWS_MAX 25u

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
		isc_grid_count(&t, f->whole);
		isc_grid_count(&t, f->partial);
		isc_grid_count(&t, f->thinned);
		isc_grid_count(&t, f->none);
		isc_grid_time(&t, f->total_us);
		isc_grid_time(&t, f->p50_us);
		isc_grid_time(&t, f->p90_us);
		isc_grid_time(&t, f->p99_us);
		isc_grid_time(&t, f->max_us);
	}
	isc_buffer_text(out, "\n");
	isc_grid_close(&t, out);
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
