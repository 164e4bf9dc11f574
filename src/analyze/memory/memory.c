/*
 * memory.c - records of memory become sites: who took how much, who holds it at the
 * end, and who held it when it was most.
 */
#include "analyze/memory/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/code/places.h"
#include "trace/frame.h"
#include "trace/memory.h"

#define OPS_MAX (8u << 20) /* records; the trace's own limit ends far below */

struct process {
	uint32_t process;
	uint64_t leaving_ns; /* UINT64_MAX: not told */
	isc_memory_total total;
	bool told;
};

struct isc_memory_gather {
	isc_build *b;
	isc_memory_op *op;
	size_t count, room;
	struct process *process;
	size_t process_count, process_room;
	isc_places places;
	isc_hashmap by_place; /* pid and place -> site + 1 */
	isc_hashmap by_stack; /* process and stack -> site + 1 */
	size_t site_room;
	isc_memory_scopes scopes;
};
typedef struct isc_memory_gather gathered;

static bool is_recorded(const isc_trace *trace)
{
	uint32_t process, id, len;
	uint16_t type;

	for (size_t i = 0; isc_trace_define_at(trace, i, &process, &id, &type, &len) != NULL; i++) {
		if (type == ISC_DEF_MEMORY)
			return true;
	}
	return false;
}

static struct process *process_of(gathered *g, uint32_t process)
{
	struct process *p;

	for (size_t i = g->process_count; i > 0; i--) {
		if (g->process[i - 1].process == process)
			return &g->process[i - 1];
	}
	p = isc_arena_push(g->b->arena, &g->process, &g->process_count, &g->process_room, sizeof(*p));
	if (p != NULL)
		*p = (struct process){.process = process, .leaving_ns = UINT64_MAX};
	return p;
}

/* ---- sites ---- */

static bool begins(isc_text text, const char *word)
{
	size_t len = strlen(word);

	return text.len >= len && memcmp(text.at, word, len) == 0;
}

/* Functions that take memory for others. */
static bool is_wrapper(const isc_frame *f)
{
	static const char *const words[] = {"operator new",
					    "std::",
					    "void* std::",
					    "__gnu_cxx::",
					    "malloc",
					    "calloc",
					    "realloc",
					    "strdup",
					    "__strdup",
					    "__libc_",
					    "xmalloc",
					    "xcalloc",
					    "xrealloc",
					    "posix_memalign",
					    "aligned_alloc",
					    "_Zn",
					    "mmap",
					    "PyMem_",
					    "PyObject_Malloc",
					    "PyObject_Calloc",
					    "PyObject_Realloc",
					    "_PyMem_",
					    "_PyObject_Malloc",
					    "_PyObject_Calloc",
					    "_PyObject_Realloc",
					    "_PyObject_Arena",
					    "_PyObject_Debug",
					    "new_arena",
					    "allocate_from_new_pool",
					    "pymalloc_alloc",
					    NULL};

	for (size_t i = 0; words[i] != NULL; i++) {
		if (begins(f->name, words[i]))
			return true;
	}
	return f->name.len == 0;
}

static bool has(isc_text text, const char *word)
{
	return text.len > 0 && memmem(text.at, text.len, word, strlen(word)) != NULL;
}

/* Code that somebody else wrote: its line says little of who wanted the memory.  So do the few lines of a command that
 * only calls into a package. */
static bool is_library(const isc_frame *f)
{
	return f->file.len == 0 || f->file.at[0] == '<' || has(f->file, "/site-packages/") ||
	       has(f->file, "/dist-packages/") || has(f->file, "/lib/python3") || has(f->file, "/bin/");
}

/* The stack as seen from who wanted the memory: from the newest Python function of the program's own; without one, the
 * whole; without Python, from the first that is not there to take memory for others. */
static uint32_t wanted_by(const isc_trace *trace, uint32_t process, uint32_t stack)
{
	uint32_t id = stack, native = 0;
	bool python = false;
	isc_frame frame;

	for (unsigned n = 0; n < ISC_STACK_FRAMES_MAX && isc_trace_frame(trace, process, id, &frame); n++) {
		python |= frame.kind == ISC_FRAME_PYTHON;
		if (frame.kind == ISC_FRAME_PYTHON && !is_library(&frame))
			return id;
		if (native == 0 && frame.kind == ISC_FRAME_NATIVE && !is_wrapper(&frame))
			native = id;
		id = frame.parent;
	}
	return !python && native != 0 ? native : stack;
}

static uint32_t pid_of(const isc_build *b, uint32_t process)
{
	size_t rank = isc_build_process_rank(b, process);

	return rank != SIZE_MAX ? b->a->processes[rank].pid : 0;
}

/* The number of a site; UINT32_MAX: no memory. */
static uint32_t site_of(gathered *g, uint32_t process, uint32_t stack)
{
	isc_analysis_memory *m = &g->b->a->memory;
	uint64_t *known = isc_hashmap_put(&g->by_stack, isc_hashmap_key(process, stack), NULL), *site;
	isc_analysis_site *s;
	uint32_t place, pid;

	if (known == NULL)
		return UINT32_MAX;
	if (*known != 0)
		return (uint32_t)(*known - 1);
	pid = pid_of(g->b, process);
	place = stack != 0 ? isc_places_stack(&g->places, g->b, process, wanted_by(g->b->trace, process, stack)) : 0;
	if (place == ISC_PLACE_NO_MEMORY)
		return UINT32_MAX;
	site = isc_hashmap_put(&g->by_place, isc_hashmap_key(pid, place), NULL);
	if (site == NULL)
		return UINT32_MAX;
	if (*site == 0) {
		s = isc_arena_push(g->b->arena, &m->sites, &m->site_count, &g->site_room, sizeof(*s));
		if (s == NULL)
			return UINT32_MAX;
		*s = (isc_analysis_site){.pid = pid};
		if (place != 0)
			s->at = g->places.at[place];
		*site = m->site_count;
	}
	*known = *site;
	return (uint32_t)(*site - 1);
}

/* ---- records ---- */

static bool note(gathered *g, const isc_event *ev)
{
	isc_memory body;
	isc_memory_op *op;

	if (ev->extra_len < sizeof(body) || g->count >= OPS_MAX)
		return true;
	memcpy(&body, ev->extra, sizeof(body));
	if (body.flags & ISC_MEMORY_UNFOLLOWED)
		g->b->a->memory.unfollowed++;
	op = isc_arena_push(g->b->arena, &g->op, &g->count, &g->room, sizeof(*op));
	if (op == NULL)
		return false;
	*op = (isc_memory_op){.time_ns = ev->time_ns,
			      .address = body.address,
			      .count = isc_trace_memory_times(&body),
			      .bytes = (double)body.bytes * isc_trace_memory_times(&body),
			      .process = ev->process,
			      .node = body.node,
			      .order = (uint32_t)g->count - 1,
			      .alloc = ev->kind == ISC_KIND_MEMORY_ALLOC,
			      .inside = ev->time_ns >= g->b->from_ns && ev->time_ns <= g->b->to_ns};
	op->site = op->alloc ? site_of(g, ev->process, ev->id) : 0;
	return op->site != UINT32_MAX;
}

/* Totals of a process only grow: the largest is the last, whoever wrote it. */
static bool note_total(gathered *g, const isc_event *ev)
{
	struct process *p = process_of(g, ev->process);
	isc_memory_total t;

	if (p == NULL || ev->extra_len < sizeof(t))
		return p != NULL;
	memcpy(&t, ev->extra, sizeof(t));
	if (!p->told || t.calls >= p->total.calls)
		p->total = t;
	p->told = true;
	if (ev->arg == ISC_MEMORY_LEAVING && ev->time_ns < p->leaving_ns)
		p->leaving_ns = ev->time_ns;
	return true;
}

static bool note_source(gathered *g, const isc_event *ev)
{
	isc_analysis_memory *m = &g->b->a->memory;
	uint32_t len = 0;
	const char *name = isc_trace_define(g->b->trace, ev->process, ev->id, ISC_DEF_MEMORY, &len);

	m->bypassed |= (ev->arg & ISC_MEMORY_BYPASSED) != 0;
	m->new_bypassed |= (ev->arg & ISC_MEMORY_NEW_BYPASSED) != 0;
	m->python_told |= (ev->arg & ISC_MEMORY_PYTHON) != 0;
	m->hooks_told |= (ev->arg & ISC_MEMORY_PYTHON) == 0;
	if (name == NULL || (m->allocator.len > 0 && (ev->arg & ~ISC_MEMORY_PYTHON) == 0))
		return true;
	m->allocator = (isc_text){isc_arena_copy(g->b->arena, name, len), len};
	return m->allocator.at != NULL;
}

static bool take_event(void *self, const isc_event *ev)
{
	gathered *g = self;
	size_t was = g->count;
	bool good;

	if (ev->kind < ISC_KIND_MEMORY_ALLOC || ev->kind > ISC_KIND_MEMORY_SOURCE)
		return isc_memory_scopes_step(&g->scopes, g->b, ev, UINT32_MAX);
	good = ev->kind == ISC_KIND_MEMORY_TOTAL    ? note_total(g, ev)
	       : ev->kind == ISC_KIND_MEMORY_SOURCE ? note_source(g, ev)
						    : note(g, ev);
	return good && isc_memory_scopes_step(&g->scopes, g->b, ev, g->count > was ? (uint32_t)was : UINT32_MAX);
}

static int by_time(const void *x, const void *y)
{
	const isc_memory_op *a = x, *b = y;

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return a->order < b->order ? -1 : 1;
}

/* Which record gives back what which one took. */
static bool pair_up(gathered *g)
{
	isc_hashmap open = {0};
	bool good = true;

	for (size_t i = 0; good && i < g->count; i++) {
		isc_memory_op *op = &g->op[i];
		uint64_t key = op->address ^ (uint64_t)op->process * 0x9e3779b97f4a7c15ull, *was;

		op->ended = op->time_ns > process_of(g, op->process)->leaving_ns;
		was = isc_hashmap_put(&open, key, NULL);
		good = was != NULL;
		if (!good)
			break;
		if (op->alloc) {
			*was = i + 1;
		} else if (*was != 0) {
			g->op[*was - 1].other = (uint32_t)i + 1;
			op->site = g->op[*was - 1].site;
			op->other = (uint32_t)*was;
			*was = 0;
		}
	}
	isc_hashmap_fini(&open);
	return good;
}

/* ---- sums ---- */

/* Only where there are nodes to tell apart. */
static bool add_to_node(gathered *g, isc_analysis_site *s, const isc_memory_op *op)
{
	const isc_analysis_numa *n = &g->b->a->numa;

	for (size_t i = 0; n->nodes != NULL && i < n->count; i++) {
		if (n->nodes[i].number != op->node)
			continue;
		if (s->node_bytes == NULL)
			s->node_bytes = isc_arena_array(g->b->arena, n->count, sizeof(*s->node_bytes));
		if (s->node_bytes == NULL)
			return false;
		s->node_bytes[i] += op->bytes;
	}
	return true;
}

static bool sum_up(gathered *g)
{
	isc_analysis_memory *m = &g->b->a->memory;
	double live = 0;
	size_t peak = 0;

	for (size_t i = 0; i < g->count; i++) {
		const isc_memory_op *op = &g->op[i];
		isc_analysis_site *s;

		if (!op->alloc) {
			live -= op->other != 0 && !op->ended ? g->op[i].bytes : 0;
			continue;
		}
		s = &m->sites[op->site];
		m->samples++;
		if (op->inside) {
			s->bytes += op->bytes;
			s->count += op->count;
			s->samples++;
			s->squares += op->bytes * op->bytes * (1 - 1 / op->count);
			if (!add_to_node(g, s, op))
				return false;
		}
		if (op->ended)
			continue;
		live += op->bytes;
		if (live > m->peak_bytes && op->inside) {
			m->peak_bytes = live;
			m->peak_us = isc_build_us(g->b, op->time_ns);
			peak = i + 1;
		}
	}
	for (size_t i = 0; i < g->count; i++) {
		const isc_memory_op *op = &g->op[i];
		isc_analysis_site *s = &m->sites[op->site];
		const isc_memory_op *gone = op->alloc && op->other != 0 ? &g->op[op->other - 1] : NULL;

		if (!op->alloc || op->ended)
			continue;
		if (i < peak && (gone == NULL || op->other > peak))
			s->peak_bytes += op->bytes;
		if (op->time_ns <= g->b->to_ns && (gone == NULL || gone->ended || gone->time_ns > g->b->to_ns)) {
			s->live_bytes += op->bytes;
			s->live_count += op->count;
			s->live_samples++;
			m->live_bytes += op->bytes;
		}
	}
	return true;
}

static void take_totals(gathered *g)
{
	isc_analysis_memory *m = &g->b->a->memory;

	for (size_t i = 0; i < g->process_count; i++) {
		const struct process *p = &g->process[i];

		if (!p->told)
			continue;
		m->calls += p->total.calls;
		m->bytes += p->total.bytes;
		m->frees += p->total.frees;
		m->maps += p->total.maps;
		m->mapped_bytes += p->total.mapped_bytes;
		m->mean_bytes = p->total.mean > m->mean_bytes ? p->total.mean : m->mean_bytes;
	}
}

static int by_bytes(const void *x, const void *y)
{
	const isc_analysis_site *a = x, *b = y;
	int order;

	if (fabs(a->bytes - b->bytes) > 0)
		return a->bytes > b->bytes ? -1 : 1;
	order = isc_names_compare(&a->at.name, &b->at.name);
	if (order != 0)
		return order;
	return a->pid != b->pid ? (a->pid < b->pid ? -1 : 1) : (int)a->at.line - (int)b->at.line;
}

/* From its start to its end, or to where it began to clean up. */
static bool find_leaks(gathered *g)
{
	isc_memory_run *run = isc_arena_array(g->b->arena, g->process_count + 1, sizeof(*run));

	if (run == NULL)
		return false;
	for (size_t i = 0; i < g->process_count; i++) {
		const struct process *p = &g->process[i];
		size_t rank = isc_build_process_rank(g->b, p->process);
		const isc_analysis_process *of = rank != SIZE_MAX ? &g->b->a->processes[rank] : NULL;
		uint64_t start = g->b->start_ns, end = g->b->end_ns;

		if (of != NULL) {
			start = g->b->start_ns + (uint64_t)(of->start_us * 1e3);
			end = start + (uint64_t)(of->wall_us * 1e3);
		}
		end = end < p->leaving_ns ? end : p->leaving_ns;
		end = end < g->b->to_ns ? end : g->b->to_ns;
		run[i] = (isc_memory_run){p->process, start, end};
	}
	return isc_memory_find_leaks(g->b, g->op, g->count, run, g->process_count);
}

static bool finish(gathered *g)
{
	isc_analysis_memory *m = &g->b->a->memory;

	for (size_t i = 0; i < g->count; i++) {
		if (process_of(g, g->op[i].process) == NULL)
			return false;
	}
	if (g->count > 0)
		qsort(g->op, g->count, sizeof(*g->op), by_time);
	if (!pair_up(g))
		return false;
	if (!isc_memory_scopes_sum(&g->scopes, g->b, g->op, g->count) || !sum_up(g))
		return false;
	take_totals(g);
	if (!find_leaks(g))
		return false;
	if (m->site_count > 0)
		qsort(m->sites, m->site_count, sizeof(*m->sites), by_bytes);
	return true;
}

bool isc_memory_survey(isc_build *b, isc_walk *walk)
{
	b->a->memory.recorded = is_recorded(b->trace);
	/* Which memory is a scope's own nobody can tell: it may be freed long after. */
	if (!b->a->memory.recorded || b->only.at != NULL)
		return true;
	b->memory = isc_arena_alloc(b->arena, sizeof(*b->memory));
	if (b->memory == NULL)
		return false;
	b->memory->b = b;
	isc_memory_scopes_join(&b->memory->scopes, b, walk);
	return true;
}

void isc_memory_join(isc_build *b, isc_walk *walk)
{
	if (b->memory != NULL)
		isc_walk_join(walk, ISC_WALK_ALL, take_event, b->memory);
}

isc_status isc_build_memory(isc_build *b, isc_error *err)
{
	return b->memory == NULL || finish(b->memory) ? ISC_OK : isc_build_no_memory(err);
}

void isc_memory_drop(isc_build *b)
{
	gathered *g = b->memory;

	if (g == NULL)
		return;
	isc_memory_scopes_fini(&g->scopes);
	isc_places_fini(&g->places);
	isc_hashmap_fini(&g->by_place);
	isc_hashmap_fini(&g->by_stack);
	b->memory = NULL;
}
