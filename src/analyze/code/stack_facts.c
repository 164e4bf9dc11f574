#include "analyze/code/stack_facts.h"

#include <stdlib.h>
#include <string.h>

#include "base/python_name.h"

#define NEAR_FIRST 4096u
#define NEAR_MAX (1u << 22) /* ids */

void isc_stack_facts_fini(isc_stack_facts *s)
{
	isc_hashmap_fini(&s->by_stack);
	free(s->near);
	s->near = NULL;
	s->nears = 0;
}

static bool has(const isc_text *text, const char *word)
{
	return text->len > 0 && memmem(text->at, text->len, word, strlen(word)) != NULL;
}

static bool in_library(const isc_text *file)
{
	return (has(file, "/lib/python3") && !has(file, "-packages/")) || (file->len > 0 && file->at[0] == '<');
}

bool isc_stack_is_installed(const isc_text *file)
{
	return in_library(file) || has(file, "/site-packages/") || has(file, "/dist-packages/");
}

/* As they are called in the C library; a thread that is in one is in the kernel. */
static bool is_mapping(const isc_frame *f)
{
	static const char *const names[] = {"mmap", "munmap", "mremap", "madvise", "brk", "mmap64", "sbrk", "mprotect"};
	isc_text name = f->name;

	if (f->kind != ISC_FRAME_NATIVE)
		return false;
	for (; name.len > 0 && name.at[0] == '_'; name.at++)
		name.len--;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (name.len == strlen(names[i]) && memcmp(name.at, names[i], name.len) == 0)
			return true;
	}
	return false;
}

static uint32_t flags_of(const isc_frame *f)
{
	uint32_t flags = 0;

	if (isc_python_file_is(&f->file, "/logging/__init__.py"))
		flags |= ISC_STACK_LOGGING;
	if (has(&f->file, "/asyncio/") &&
	    (isc_python_function_is(&f->name, "_run") || isc_python_function_is(&f->name, "_run_once")))
		flags |= ISC_STACK_LOOP;
	if (isc_python_file_is(&f->file, "/concurrent/futures/thread.py") &&
	    isc_python_function_is(&f->name, "_worker"))
		flags |= ISC_STACK_WORKER;
	else if (has(&f->file, "/concurrent/futures/"))
		flags |= ISC_STACK_POOL;
	return flags;
}

static void follow(isc_stack_facts *s, const isc_build *b, uint32_t process, uint32_t id, isc_stack_fact *out)
{
	bool newest = true, found = false, met = false;
	isc_frame frame;

	out->what = isc_attribution_of(b, process, id);
	while (id != 0 && isc_trace_frame(b->trace, process, id, &frame)) {
		if (newest && is_mapping(&frame))
			out->flags |= ISC_STACK_MAPPING;
		newest = false;
		id = frame.parent;
		/* A loop that is written in C has no frame of Python; other threads only call into it. */
		if (frame.kind == ISC_FRAME_NATIVE && has(&frame.module, "/uvloop/") && has(&frame.name, "uv_run"))
			out->flags |= ISC_STACK_LOOP;
		if (frame.kind != ISC_FRAME_PYTHON || frame.code == 0)
			continue;
		out->flags |= flags_of(&frame);
		if (out->own.code == 0)
			out->own = (isc_stack_place){frame.code,
						     isc_trace_frame_line(b->trace, process, &frame, &s->searched)};
		if (!met && !isc_stack_is_installed(&frame.file)) {
			met = true;
			out->mine = (isc_stack_place){frame.code,
						      isc_trace_frame_line(b->trace, process, &frame, &s->searched)};
		}
		if (found || in_library(&frame.file))
			continue;
		found = true;
		out->user =
			(isc_stack_place){frame.code, isc_trace_frame_line(b->trace, process, &frame, &s->searched)};
	}
	if (!found)
		out->user = out->own;
	if (!met)
		out->mine = out->user;
	/* What a worker does is not waiting for the pool. */
	if (out->flags & ISC_STACK_WORKER)
		out->flags &= ~(uint32_t)ISC_STACK_POOL;
}

/* Where its rank + 1 is near at hand; NULL: it is not. */
static uint32_t *near_rank(isc_stack_facts *s, uint32_t process, uint32_t stack)
{
	size_t want = s->nears > 0 ? s->nears : NEAR_FIRST;
	uint32_t *more;

	if (s->nears == 0)
		s->near_process = process;
	if (process != s->near_process || stack >= NEAR_MAX)
		return NULL;
	if (stack >= s->nears) {
		while (want <= stack)
			want *= 2;
		more = realloc(s->near, want * sizeof(*more));
		if (more == NULL)
			return NULL;
		memset(more + s->nears, 0, (want - s->nears) * sizeof(*more));
		s->near = more;
		s->nears = want;
	}
	return &s->near[stack];
}

isc_stack_fact *isc_stack_facts_of(isc_stack_facts *s, const isc_build *b, uint32_t process, uint32_t stack)
{
	uint32_t *near;
	uint64_t *rank;
	isc_stack_fact *fact;

	if (stack == 0)
		return &s->nothing;
	near = near_rank(s, process, stack);
	if (near != NULL && *near != 0)
		return &s->fact[*near - 1];
	rank = isc_hashmap_put(&s->by_stack, isc_hashmap_key(process, stack), NULL);
	if (rank == NULL)
		return NULL;
	if (*rank == 0) {
		fact = isc_arena_push(b->arena, &s->fact, &s->count, &s->room, sizeof(*fact));
		if (fact == NULL)
			return NULL;
		*rank = s->count;
		fact->stack = stack;
		follow(s, b, process, stack, fact);
	}
	if (near != NULL)
		*near = (uint32_t)*rank;
	return &s->fact[*rank - 1];
}
