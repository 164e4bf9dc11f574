#include "timeline/cut.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hashmap.h"

#define SCOPES_MAX (1u << 24) /* stretches before they are joined */

typedef struct finding {
	isc_trace *trace;
	const char *name;
	isc_hashmap named; /* process and id -> 1 yes, 2 no */
	isc_hashmap open;  /* process and instance, or thread -> since */
	isc_hashmap depth; /* thread -> how many of the name are open on it */
	isc_stretch *stretch;
	size_t count, room;
	uint64_t last_ns;
	bool failed;
} finding;

void isc_cut_fini(isc_cut *cut)
{
	free(cut->stretch);
	*cut = (isc_cut){0};
}

size_t isc_cut_at(const isc_cut *cut, uint64_t ns, size_t from)
{
	while (from < cut->count && cut->stretch[from].to_ns < ns)
		from++;
	return from;
}

size_t isc_cut_find(const isc_cut *cut, uint64_t ns)
{
	size_t from = 0, to = cut->count;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (cut->stretch[middle].to_ns < ns)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

static bool is_named(finding *f, const isc_event *ev)
{
	uint64_t *known = isc_hashmap_put(&f->named, isc_hashmap_key(ev->process, ev->id), NULL);
	isc_text name;

	if (known == NULL) {
		f->failed = true;
		return false;
	}
	if (*known == 0) {
		name = isc_trace_name(f->trace, ev->process, ev->id);
		*known = name.len == strlen(f->name) && memcmp(name.at, f->name, name.len) == 0 ? 1 : 2;
	}
	return *known == 1;
}

static void add(finding *f, uint64_t from_ns, uint64_t to_ns)
{
	if (f->count == f->room) {
		size_t room = f->room != 0 ? f->room * 2 : 64;
		isc_stretch *grown = room <= SCOPES_MAX ? realloc(f->stretch, room * sizeof(*grown)) : NULL;

		if (grown == NULL) {
			f->failed = true;
			return;
		}
		f->stretch = grown;
		f->room = room;
	}
	f->stretch[f->count++] = (isc_stretch){from_ns, to_ns};
}

/* Scopes of a thread nest, so the outermost of the name is what counts. */
static bool is_inner(finding *f, uint64_t key, bool enter)
{
	uint64_t *depth = isc_hashmap_put(&f->depth, key, NULL);

	if (depth == NULL) {
		f->failed = true;
		return true;
	}
	if (enter)
		return (*depth)++ > 0;
	if (*depth == 0)
		return true;
	return --*depth > 0;
}

static void note(finding *f, const isc_event *ev)
{
	bool span = ev->kind == ISC_KIND_SPAN_ENTER || ev->kind == ISC_KIND_SPAN_EXIT;
	bool enter = ev->kind == ISC_KIND_SPAN_ENTER || ev->kind == ISC_KIND_SCOPE_ENTER;
	uint64_t key = (uint64_t)ev->thread << 8 | ev->stream, *since;
	isc_span body;

	if (span && ev->extra_len < sizeof(body))
		return;
	if (span) {
		memcpy(&body, ev->extra, sizeof(body));
		key = (uint64_t)ev->process << 44 ^ body.instance ^ 1ull << 63;
	} else if (is_inner(f, key, enter)) {
		return;
	}
	if (!enter) {
		since = isc_hashmap_find(&f->open, key);
		if (since == NULL || *since == 0)
			return;
		add(f, *since, ev->time_ns);
		*since = 0;
		return;
	}
	since = isc_hashmap_put(&f->open, key, NULL);
	if (since == NULL)
		f->failed = true;
	else if (*since == 0)
		*since = ev->time_ns;
}

static int by_start(const void *a, const void *b)
{
	const isc_stretch *x = a, *y = b;

	return (x->from_ns > y->from_ns) - (x->from_ns < y->from_ns);
}

static void join(finding *f)
{
	size_t kept = 0;

	qsort(f->stretch, f->count, sizeof(*f->stretch), by_start);
	for (size_t i = 0; i < f->count; i++) {
		isc_stretch *last = kept > 0 ? &f->stretch[kept - 1] : NULL;

		if (last != NULL && f->stretch[i].from_ns <= last->to_ns + 1)
			last->to_ns = f->stretch[i].to_ns > last->to_ns ? f->stretch[i].to_ns : last->to_ns;
		else
			f->stretch[kept++] = f->stretch[i];
	}
	f->count = kept;
}

/* Those that lie inside the time asked for, and no more of them than that. */
static void clip(finding *f, uint64_t from_ns, uint64_t to_ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < f->count; i++) {
		isc_stretch s = f->stretch[i];

		s.from_ns = s.from_ns > from_ns ? s.from_ns : from_ns;
		s.to_ns = s.to_ns < to_ns ? s.to_ns : to_ns;
		if (s.from_ns <= s.to_ns)
			f->stretch[kept++] = s;
	}
	f->count = kept;
}

static isc_status find_scope(isc_cut *cut, isc_trace *trace, const char *scope, isc_error *err)
{
	finding f = {.trace = trace, .name = scope};
	isc_stretch all = cut->stretch[0];
	uint64_t key, since;
	isc_event ev;
	size_t at = 0;

	isc_trace_rewind(trace);
	while (!f.failed && isc_trace_next(trace, &ev)) {
		f.last_ns = ev.time_ns > f.last_ns ? ev.time_ns : f.last_ns;
		if ((ev.kind == ISC_KIND_SCOPE_ENTER || ev.kind == ISC_KIND_SCOPE_EXIT ||
		     ev.kind == ISC_KIND_SPAN_ENTER || ev.kind == ISC_KIND_SPAN_EXIT) &&
		    is_named(&f, &ev))
			note(&f, &ev);
	}
	while (!f.failed && isc_hashmap_next(&f.open, &at, &key, &since))
		if (since != 0)
			add(&f, since, f.last_ns);
	isc_hashmap_fini(&f.open);
	isc_hashmap_fini(&f.depth);
	isc_hashmap_fini(&f.named);
	if (f.failed) {
		free(f.stretch);
		return isc_fail(err, ISC_ERR_NOMEM, "no memory for the scopes of the trace");
	}
	at = f.count;
	if (f.count > 0) {
		join(&f);
		clip(&f, all.from_ns, all.to_ns);
	}
	if (f.count == 0) {
		free(f.stretch);
		isc_fail(err, ISC_ERR_INVALID, "the trace has no scope named \"%.100s\"%s", scope,
			 at > 0 ? " in that time" : "");
		isc_hint(err, "inferscope analyze lists the scopes there are");
		return ISC_ERR_INVALID;
	}
	free(cut->stretch);
	*cut = (isc_cut){.stretch = f.stretch, .count = f.count};
	return ISC_OK;
}

isc_status isc_cut_make(isc_cut *cut, isc_trace *trace, const isc_cut_options *options, isc_error *err)
{
	uint64_t start_ns = isc_trace_header(trace)->start_ns;
	isc_status st = ISC_OK;

	*cut = (isc_cut){0};
	if (!isfinite(options->from_us) || !isfinite(options->to_us) || options->from_us < 0 || options->to_us < 0 ||
	    options->from_us > 9e15 || options->to_us > 9e15 ||
	    (options->to_us > 0 && options->to_us <= options->from_us)) {
		isc_fail(err, ISC_ERR_INVALID, "the time asked for ends before it begins");
		isc_hint(err, "give --to-time a later time than --from");
		return ISC_ERR_INVALID;
	}
	cut->stretch = calloc(1, sizeof(*cut->stretch));
	if (cut->stretch == NULL)
		return isc_fail(err, ISC_ERR_NOMEM, "no memory");
	cut->count = 1;
	cut->whole = options->from_us <= 0 && options->to_us <= 0 && options->scope == NULL;
	cut->stretch[0].from_ns = options->from_us > 0 ? start_ns + (uint64_t)(options->from_us * 1e3) : 0;
	cut->stretch[0].to_ns = options->to_us > 0 ? start_ns + (uint64_t)(options->to_us * 1e3) : UINT64_MAX;
	if (options->scope != NULL)
		st = find_scope(cut, trace, options->scope, err);
	if (st != ISC_OK)
		isc_cut_fini(cut);
	return st;
}
