#include "report/text/memory_words.h"

#include <math.h>
#include <stdlib.h>

#include "base/text.h"
#include "base/units.h"
#include "report/markdown/grid.h"
#include "report/text/words.h"

#define PLACE_MAX_LEN 100u
#define ROWS_MAX 15u
#define LEAKS_MAX 5u
#define SCOPES_MAX 8u
#define TOP_MAX 2u
#define SHOWN_LEAST 1048576.0 /* bytes: a program that holds less has nothing to tell */
#define TWO_SIDED_95 1.96

void isc_memory_words_where(isc_buffer *out, const isc_analysis_frame *at)
{
	isc_analysis_function f = isc_words_of_frame(at);
	size_t from;

	if (at->name.len == 0) {
		isc_buffer_text(out, "not known");
		return;
	}
	isc_words_function(out, &f);
	isc_buffer_text(out, " (");
	from = out->len;
	isc_words_place(out, &f);
	if (out->len == from && !out->failed && out->len >= 2)
		out->len -= 2;
	else
		isc_buffer_text(out, ")");
}

void isc_memory_words_bytes(isc_buffer *out, double bytes)
{
	static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
	size_t u = 0;

	bytes = bytes > 0 ? bytes : 0;
	while (bytes >= 999.5 && u + 1 < sizeof(units) / sizeof(units[0])) {
		bytes /= 1000;
		u++;
	}
	isc_buffer_format(out,
			  u == 0 || bytes >= 99.95 ? "%.0f %s"
			  : bytes >= 9.995	   ? "%.1f %s"
						   : "%.2f %s",
			  bytes, units[u]);
}

/* Each sample is drawn for itself: of those that may also not have been, its weight is what it adds. */
double isc_memory_words_error(const isc_analysis_site *s)
{
	return s->samples > 0 ? TWO_SIDED_95 * sqrt(s->squares) : 0;
}

static void add_where(isc_buffer *out, const isc_analysis_frame *at,
		      void (*escape)(isc_buffer *, const char *, size_t, size_t))
{
	isc_buffer raw = {0};

	isc_memory_words_where(&raw, at);
	out->failed |= raw.failed;
	escape(out, raw.data, raw.len, PLACE_MAX_LEN);
	isc_buffer_fini(&raw);
}

static void add_bytes(isc_grid *t, double bytes)
{
	isc_memory_words_bytes(&t->text, bytes);
	isc_grid_end(t);
}

static void add_change(isc_grid *t, double bytes)
{
	if (bytes < 0)
		isc_buffer_text(&t->text, "-");
	add_bytes(t, fabs(bytes));
}

static void write_leaks(const isc_analysis_memory *m, isc_buffer *out)
{
	static const char *const titles[] = {"grew to the end", ">held", ">a second", ">samples", NULL};
	isc_grid t;

	if (m->leak_count == 0)
		return;
	isc_buffer_text(out, "\nMemory that these places took was still held at the end, from nearly every part of the "
			     "run: perhaps a leak, or a cache without a limit.\n\n");
	isc_grid_init(&t, titles);
	for (size_t i = 0; i < m->leak_count && i < LEAKS_MAX; i++) {
		add_where(&t.text, &m->leaks[i].at, isc_text_markdown);
		isc_grid_end(&t);
		add_bytes(&t, m->leaks[i].bytes);
		add_bytes(&t, m->leaks[i].bytes_per_s);
		isc_grid_count(&t, m->leaks[i].samples);
	}
	isc_grid_close(&t, out);
}

static void write_scopes(const isc_analysis_memory *m, isc_buffer *out)
{
	static const char *const titles[] = {"scope",	 ">times",	  ">taken in each", ">grew in each",
					     ">grew by", ">give or take", ">samples",	    NULL};
	size_t n = m->scope_count < SCOPES_MAX ? m->scope_count : SCOPES_MAX;
	isc_grid t;

	if (n == 0)
		return;
	isc_buffer_text(out,
			m->scopes[0].grows
				? "\nMemory grew from scope to scope, from the first to the last:\n\n"
				: "\nMemory that threads took and gave back in scopes; none grew from the first to the "
				  "last:\n\n");
	isc_grid_init(&t, titles);
	for (size_t i = 0; i < n; i++) {
		const isc_analysis_memory_scope *s = &m->scopes[i];

		isc_grid_name(&t, s->name, PLACE_MAX_LEN);
		isc_grid_count(&t, s->count);
		add_bytes(&t, s->count > 0 ? s->bytes / (double)s->count : 0);
		add_change(&t, s->count > 0 ? s->growth / (double)s->count : 0);
		add_change(&t, s->growth);
		add_bytes(&t, s->error);
		isc_grid_count(&t, s->samples);
	}
	isc_grid_close(&t, out);
}

static void write_sites(const isc_analysis_memory *m, isc_buffer *out)
{
	static const char *const titles[] = {"taken at",     ">bytes",	    ">share",	">allocations",
					     ">at the peak", ">at the end", ">samples", NULL};
	size_t n = m->site_count < ROWS_MAX ? m->site_count : ROWS_MAX;
	double all = 0;
	isc_grid t;

	if (n == 0)
		return;
	for (size_t i = 0; i < m->site_count; i++)
		all += m->sites[i].bytes;
	isc_grid_init(&t, titles);
	isc_buffer_text(out, "\n");
	for (size_t i = 0; i < n; i++) {
		const isc_analysis_site *s = &m->sites[i];

		add_where(&t.text, &s->at, isc_text_markdown);
		isc_grid_end(&t);
		add_bytes(&t, s->bytes);
		isc_grid_share(&t, s->bytes, all);
		isc_grid_count(&t, (uint64_t)(s->count + 0.5));
		add_bytes(&t, s->peak_bytes);
		add_bytes(&t, s->live_bytes);
		isc_grid_count(&t, s->samples);
	}
	isc_grid_close(&t, out);
	isc_grid_more(out, n, m->site_count);
}

void isc_memory_words_markdown(const isc_analysis *a, isc_buffer *out)
{
	const isc_analysis_memory *m = &a->memory;
	isc_units u, v;

	if (!m->recorded || m->calls + m->maps == 0)
		return;
	isc_buffer_format(out, "\n## Memory\n\n%s allocations took ", isc_units_count(&u, m->calls));
	isc_memory_words_bytes(out, (double)m->bytes);
	if (m->python_told && !m->hooks_told) {
		isc_buffer_text(out, ", as Python's own allocators count: native code is not in it");
	} else {
		isc_buffer_format(out, " and %s anonymous mappings ", isc_units_count(&u, m->maps));
		isc_memory_words_bytes(out, (double)m->mapped_bytes);
		isc_buffer_text(out, ", counted");
	}
	isc_buffer_format(out, ". By %s samples, at most ", isc_units_count(&v, m->samples));
	isc_memory_words_bytes(out, m->peak_bytes);
	isc_buffer_format(out, " were held at once, %s after the start, and ", isc_units_time(&u, m->peak_us));
	isc_memory_words_bytes(out, m->live_bytes);
	isc_buffer_text(out, " at the end.\n");
	write_leaks(m, out);
	write_scopes(m, out);
	write_sites(m, out);
}

void isc_memory_words_summary(const isc_analysis *a, const char *prefix, isc_buffer *out)
{
	const isc_analysis_memory *m = &a->memory;
	isc_units u;

	if (!m->recorded || m->peak_bytes < SHOWN_LEAST)
		return;
	isc_buffer_format(out, "%smemory: at most ", prefix);
	isc_memory_words_bytes(out, m->peak_bytes);
	isc_buffer_text(out, " held");
	for (size_t i = 0; i < m->site_count && i < TOP_MAX; i++) {
		isc_buffer_text(out, i == 0 ? "; most taken by " : ", ");
		add_where(out, &m->sites[i].at, isc_text_terminal);
		isc_buffer_text(out, " ");
		isc_memory_words_bytes(out, m->sites[i].bytes);
	}
	isc_buffer_text(out, "\n");
	if (m->scope_count > 0 && m->scopes[0].grows) {
		isc_buffer_format(out, "%smemory grew by ", prefix);
		isc_memory_words_bytes(out, m->scopes[0].growth / (double)m->scopes[0].count);
		isc_buffer_text(out, " with each ");
		isc_text_terminal(out, m->scopes[0].name.at, m->scopes[0].name.len, PLACE_MAX_LEN);
		isc_buffer_format(out, ", %s times\n", isc_units_count(&u, m->scopes[0].count));
	}
	if (m->leak_count == 0)
		return;
	isc_buffer_format(out, "%smemory grew to the end at ", prefix);
	add_where(out, &m->leaks[0].at, isc_text_terminal);
	isc_buffer_text(out, ": ");
	isc_memory_words_bytes(out, m->leaks[0].bytes);
	isc_buffer_text(out, " held, perhaps a leak\n");
}
