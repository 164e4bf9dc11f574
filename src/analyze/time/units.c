/*
 * units.c - the program's units of work: outermost scopes, tasks and iterations of loops, how long they took and
 * how much of each was recorded.
 *
 * The recorder wrote a row for each of them, which outlives the events.  One pass puts the rows of the judged window
 * into families: of one process, source and name.  The family that counts is what the program works in: scopes,
 * as the program itself says what its work is, else tasks, else loops.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/build.h"
#include "analyze/scopes/median.h"
#include "analyze/time/unit_choice.h"
#include "analyze/names.h"
#include "trace/frame.h"

#define FAMILIES_MAX 1024u /* with three histograms each: 8 MiB; units of later ones are only counted */
#define LISTED_MAX 100u
#define EDGE_NS 2000.0	/* a moment is rounded differently in a row and in the window */
#define EDGE_SHARE 0.01 /* of a unit, likewise, but no more than: */
#define EDGE_MAX_NS 5e6
#define MEASURED_UNITS 50u /* whole ones, and unrecorded ones: medians of fewer differ by chance */

/* Files of functions that loop over work that others gave them. */
static const char *const pools[] = {"concurrent/futures/thread.py", "concurrent/futures/process.py",
				    "multiprocessing/pool.py"};

struct family {
	uint32_t process, source;
	isc_analysis_unit_family out;
	double total_ns;
	isc_histogram all, whole, gated; /* nanoseconds; gated: of those that a gate alone left out */
};

struct unit_gathering {
	isc_build *b;
	double from_ns, to_ns; /* the window */
	isc_hashmap named;     /* process and name -> rank + 1 */
	isc_hashmap family_of; /* that rank, source and parent -> family + 1; UINT64_MAX: it has no room */
	isc_names names;       /* what a family is of, in one text: definitions that say the same are one */
	struct family *family;
	size_t count, room;
	uint64_t rows, unlisted;
	size_t best; /* the family that counts, or SIZE_MAX */
	isc_median whole, gated;
	bool no_memory;
};

/* ---- what it is of ---- */

static isc_text kept(isc_build *b, const char *at, size_t len)
{
	return (isc_text){len > 0 ? isc_arena_copy(b->arena, at, len) : "", len};
}

static isc_analysis_frame code_of(isc_build *b, uint32_t process, uint32_t code)
{
	isc_frame frame = {0};

	if (code == 0 || !isc_trace_code(b->trace, process, code, &frame))
		return (isc_analysis_frame){0};
	return (isc_analysis_frame){.python = true,
				    .name = kept(b, frame.name.at, frame.name.len),
				    .file = kept(b, frame.file.at, frame.file.len),
				    .line = frame.first_line};
}

static isc_analysis_frame frame_of(isc_build *b, const isc_trace_unit *u)
{
	isc_analysis_frame at = {0};
	uint32_t len = 0;
	const char *label;

	if (u->source != ISC_UNIT_SCOPE)
		return code_of(b, u->process, u->name);
	label = isc_build_label(b, u->process, u->name, &len);
	at.name = kept(b, label, len);
	return at;
}

static bool is_pool(const isc_text *file)
{
	for (size_t i = 0; i < sizeof(pools) / sizeof(pools[0]); i++) {
		size_t len = strlen(pools[i]);

		if (file->len >= len && memcmp(file->at + file->len - len, pools[i], len) == 0)
			return true;
	}
	return false;
}

static const char *kind_of(uint32_t source, const isc_text *looper)
{
	return source == ISC_UNIT_SCOPE	 ? "scope"
	       : source == ISC_UNIT_TASK ? "task"
	       : is_pool(looper)	 ? "item"
					 : "loop";
}

static void add_frame(isc_buffer *out, const isc_analysis_frame *f)
{
	isc_buffer_format(out, " %zu %zu %u ", f->name.len, f->file.len, f->line);
	isc_buffer_add(out, f->name.at, f->name.len);
	isc_buffer_add(out, f->file.at, f->file.len);
}

/* SIZE_MAX: no memory. */
static size_t number_of(struct unit_gathering *g, const isc_trace_unit *u, const isc_analysis_unit_family *f)
{
	isc_buffer text = {0};
	size_t number;

	isc_buffer_format(&text, "%u %u", u->process, u->source);
	add_frame(&text, &f->at);
	add_frame(&text, &f->looper);
	number = text.failed ? SIZE_MAX : isc_names_put(&g->names, g->b->arena, text.data, text.len);
	isc_buffer_fini(&text);
	return number;
}

/* The family of a row that comes first; 0: no memory, UINT64_MAX: it has no room. */
static uint64_t new_family(struct unit_gathering *g, const isc_trace_unit *u)
{
	size_t rank = isc_build_process_rank(g->b, u->process), number;
	isc_analysis_unit_family out = {0};
	struct family *f;

	if (g->count == FAMILIES_MAX)
		return UINT64_MAX;
	out.at = frame_of(g->b, u);
	out.looper = code_of(g->b, u->process, u->parent);
	out.kind = kind_of(u->source, &out.looper.file);
	out.pid = rank != SIZE_MAX ? g->b->a->processes[rank].pid : 0;
	number = number_of(g, u, &out);
	if (number == SIZE_MAX || number < g->count)
		return number + 1;
	f = isc_arena_push(g->b->arena, &g->family, &g->count, &g->room, sizeof(*f));
	if (f == NULL)
		return 0;
	*f = (struct family){.process = u->process, .source = u->source, .out = out};
	return g->count;
}

/* NULL: no memory, which is noted, or no room. */
static struct family *family_of(struct unit_gathering *g, const isc_trace_unit *u)
{
	uint64_t *rank = isc_hashmap_put(&g->named, isc_hashmap_key(u->process, u->name), NULL), *found = NULL;

	if (rank != NULL && *rank == 0)
		*rank = g->named.count;
	if (rank != NULL)
		found = isc_hashmap_put(&g->family_of,
					isc_hashmap_key((uint32_t)(*rank << 2) | (u->source & 3), u->parent), NULL);
	if (found != NULL && *found == 0)
		*found = new_family(g, u);
	g->no_memory |= found == NULL || *found == 0;
	return g->no_memory || *found == UINT64_MAX ? NULL : &g->family[*found - 1];
}

/* ---- rows ---- */

/* How much of a unit may lie on the other side of an edge of the window. */
static double leeway(const isc_trace_unit *u)
{
	return fmax(EDGE_NS, fmin((double)(u->end_ns - u->begin_ns) * EDGE_SHARE, EDGE_MAX_NS));
}

static bool is_judged(const struct unit_gathering *g, const isc_trace_unit *u)
{
	double room = leeway(u);

	/* Only clocks of a file that is not ours turn time around. */
	return u->end_ns >= u->begin_ns && (double)u->end_ns > g->from_ns + room &&
	       (double)u->begin_ns + room < g->to_ns;
}

static bool is_cut(const struct unit_gathering *g, const isc_trace_unit *u)
{
	double room = leeway(u);

	return (double)u->begin_ns + room < g->from_ns || (double)u->end_ns > g->to_ns + room;
}

/* Who asks for a scope asks for nothing else. */
static bool is_asked_for(const isc_build *b, const isc_trace_unit *u)
{
	uint32_t len = 0;
	const char *name;

	if (b->only.at == NULL)
		return true;
	if (u->source != ISC_UNIT_SCOPE)
		return false;
	name = isc_build_label(b, u->process, u->name, &len);
	return len == b->only.len && memcmp(name, b->only.at, len) == 0;
}

static bool count_unit(struct family *f, enum isc_coverage c, bool gated, uint64_t ns)
{
	f->out.count++;
	f->out.whole += c == ISC_COVERAGE_WHOLE;
	f->out.thinned += c == ISC_COVERAGE_THINNED;
	f->out.partial += c == ISC_COVERAGE_THINNED || c == ISC_COVERAGE_PARTIAL;
	f->out.none += c == ISC_COVERAGE_NONE;
	f->total_ns += (double)ns;
	if (c == ISC_COVERAGE_WHOLE && !isc_histogram_add(&f->whole, ns))
		return false;
	if (gated && !isc_histogram_add(&f->gated, ns))
		return false;
	return isc_histogram_add(&f->all, ns);
}

static enum isc_coverage coverage_of(const struct unit_gathering *g, const isc_trace_unit *u)
{
	return is_cut(g, u) ? ISC_COVERAGE_PARTIAL
			    : isc_coverage_of(&g->b->coverage, u->process, u->begin_ns, u->end_ns);
}

/* Did a gate alone leave its calls out?  That is by chance; a pause comes when calls are dense, and so to units that take longer. */
static bool is_gated(const struct unit_gathering *g, const isc_trace_unit *u, enum isc_coverage c)
{
	return c == ISC_COVERAGE_NONE && !isc_coverage_is_paused(&g->b->coverage, u->process, u->begin_ns, u->end_ns);
}

static bool take_row(void *self, const isc_trace_unit *u)
{
	struct unit_gathering *g = self;
	enum isc_coverage c;
	struct family *f;

	g->rows++;
	if (!is_judged(g, u) || !is_asked_for(g->b, u))
		return true;
	f = family_of(g, u);
	if (f == NULL) {
		g->unlisted++;
		return !g->no_memory;
	}
	c = coverage_of(g, u);
	g->no_memory |= !count_unit(f, c, is_gated(g, u, c), u->end_ns - u->begin_ns);
	return !g->no_memory;
}

static isc_status read_rows(struct unit_gathering *g, bool (*row)(void *, const isc_trace_unit *), isc_error *err)
{
	isc_status st = isc_trace_units_each(g->b->trace, row, g, err);

	return g->no_memory || g->b->arena->failed ? isc_build_no_memory(err) : st;
}

/* ---- the family that counts ---- */

/* Or SIZE_MAX; also if there is no memory, which the arena remembers. */
static size_t choose_family(const struct unit_gathering *g)
{
	isc_unit_weight *w = isc_arena_array(g->b->arena, g->count + 1, sizeof(*w));

	for (size_t i = 0; w != NULL && i < g->count; i++) {
		const struct family *f = &g->family[i];

		w[i] = (isc_unit_weight){f->source, f->out.count, f->total_ns, (double)f->all.max};
	}
	return w != NULL ? isc_unit_choose(w, g->count, g->to_ns - g->from_ns) : SIZE_MAX;
}

/* ---- what recording calls costs ---- */

static bool take_measured(void *self, const isc_trace_unit *u)
{
	struct unit_gathering *g = self;
	enum isc_coverage c;

	if (!is_judged(g, u) || !is_asked_for(g->b, u) || family_of(g, u) != &g->family[g->best])
		return !g->no_memory;
	c = coverage_of(g, u);
	if (c == ISC_COVERAGE_WHOLE)
		isc_median_refine(&g->whole, u->end_ns - u->begin_ns);
	else if (is_gated(g, u, c))
		isc_median_refine(&g->gated, u->end_ns - u->begin_ns);
	return true;
}

/* Which units a gate leaves out does not depend on what they are like: what whole ones take longer is what recording costs. */
static isc_status measure_calls(struct unit_gathering *g, isc_error *err)
{
	const struct family *f = &g->family[g->best];
	isc_analysis *a = g->b->a;
	isc_status st;
	double without;

	if (f->whole.count < MEASURED_UNITS || f->gated.count < MEASURED_UNITS)
		return ISC_OK;
	isc_median_find(&f->whole, &g->whole);
	isc_median_find(&f->gated, &g->gated);
	st = read_rows(g, take_measured, err);
	without = isc_median_of(&g->gated);
	a->calls_measured = st == ISC_OK && without > 0;
	a->calls_measured_pct = a->calls_measured ? (isc_median_of(&g->whole) - without) / without * 100 : 0;
	return st;
}

/* ---- the report ---- */

static void settle(struct family *f)
{
	isc_analysis_unit_family *out = &f->out;

	out->total_us = f->total_ns / 1e3;
	out->p50_us = (double)isc_histogram_percentile(&f->all, 0.50) / 1e3;
	out->p90_us = (double)isc_histogram_percentile(&f->all, 0.90) / 1e3;
	out->p99_us = (double)isc_histogram_percentile(&f->all, 0.99) / 1e3;
	out->max_us = (double)f->all.max / 1e3;
}

static int by_time(const void *x, const void *y)
{
	const isc_analysis_unit_family *f = x, *g = y;
	int names = isc_names_compare(&f->at.name, &g->at.name);

	if (f->total_us != g->total_us)
		return f->total_us < g->total_us ? 1 : -1;
	return names != 0 ? names : (f->pid > g->pid) - (f->pid < g->pid);
}

static bool list_families(struct unit_gathering *g)
{
	isc_analysis_units *out = &g->b->a->units;
	size_t n = 0, best = g->best, first = best != SIZE_MAX;

	out->families = isc_arena_array(g->b->arena, g->count + 1, sizeof(*out->families));
	if (out->families == NULL)
		return false;
	out->known = best != SIZE_MAX;
	if (out->known)
		out->families[n++] = g->family[best].out;
	for (size_t i = 0; i < g->count; i++) {
		if (i != best)
			out->families[n++] = g->family[i].out;
	}
	if (n > first + 1)
		qsort(out->families + first, n - first, sizeof(*out->families), by_time);
	out->unlisted = g->unlisted;
	for (size_t i = LISTED_MAX; i < n; i++)
		out->unlisted += out->families[i].count;
	out->family_count = n < LISTED_MAX ? n : LISTED_MAX;
	return true;
}

static const char *why_none(const struct unit_gathering *g)
{
	if (g->rows == 0)
		return "the trace has none: an older version recorded it, or the program has no scopes and neither "
		       "asyncio tasks nor a loop whose calls were recorded";
	if (g->count == 0 && g->b->only.at != NULL)
		return "no scope of that name is an outermost one";
	if (g->count == 0)
		return "none lies in the time that was judged";
	for (size_t i = 0; i < g->count; i++) {
		if (g->family[i].out.count < ISC_UNIT_ENOUGH)
			continue;
		return g->family[i].source == ISC_UNIT_TASK
			       ? "the longest of the asyncio tasks takes more than half of the time that was judged, "
				 "as a server's main task does"
			       : "the longest of them takes more than half of the time that was judged, as a thread "
				 "that "
				 "works through all of it does";
	}
	return "fewer than 3 of them are alike in the time that was judged";
}

/* Does the window leave out what the judged thread did first: imports, or scopes that warmed up? */
static bool skips_start(const isc_build *b)
{
	const isc_analysis *a = b->a;

	if (b->retained_ns > 0)
		return false;
	if (a->window.scope.len > 0)
		return a->window.warm_ups > 0;
	for (size_t i = 0; i < a->thread_count; i++) {
		const isc_analysis_thread *t = &a->threads[i];

		if (t->tid == a->breakdown.tid && t->pid == a->breakdown.pid)
			return a->window.from_us > t->start_us + EDGE_NS / 1e3;
	}
	return false;
}

/* The judged window, but for edges at which the judged thread merely came or went, entered its first scope or lost
 * its events: units of other threads go on there, and rows outlive the events. */
static void find_window(struct unit_gathering *g)
{
	const isc_build *b = g->b;
	const isc_analysis_window *w = &b->a->window;
	bool part = isc_build_is_part(b);

	g->from_ns = part || skips_start(b) ? (double)b->start_ns + w->from_us * 1e3 : (double)b->from_ns;
	g->to_ns = part ? (double)b->start_ns + w->to_us * 1e3 : (double)b->to_ns;
}

isc_status isc_build_units(isc_build *b, isc_error *err)
{
	struct unit_gathering g = {.b = b};
	isc_status st;

	find_window(&g);
	st = read_rows(&g, take_row, err);
	g.best = choose_family(&g);
	for (size_t i = 0; i < g.count; i++)
		settle(&g.family[i]);
	if (st == ISC_OK && !list_families(&g))
		st = isc_build_no_memory(err);
	if (st == ISC_OK && g.best != SIZE_MAX)
		st = measure_calls(&g, err);
	b->a->units.unknown = g.best == SIZE_MAX ? why_none(&g) : NULL;
	b->a->units.any = g.rows > 0;
	for (size_t i = 0; i < g.count; i++) {
		isc_histogram_fini(&g.family[i].all);
		isc_histogram_fini(&g.family[i].whole);
		isc_histogram_fini(&g.family[i].gated);
	}
	isc_hashmap_fini(&g.named);
	isc_hashmap_fini(&g.family_of);
	isc_names_fini(&g.names);
	return st;
}
