/*
 * processes.c - from images to processes.  An exec gives a process a new image;
 * people mean the process, by what it became.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "analyze/build.h"

static bool take_argv(isc_build *b, const isc_trace_process *image, isc_analysis_process *out)
{
	const char *at, *end;
	size_t n = 0;

	if (image->argv == NULL || image->argv_len == 0)
		return true;
	at = isc_arena_copy(b->arena, image->argv, image->argv_len);
	if (at == NULL)
		return false;
	end = at + image->argv_len;
	out->argc = 0;
	out->argv_cut = image->argv_cut != 0;
	for (const char *s = at; s < end; s++)
		n += *s == 0;
	n += end[-1] != 0;
	out->argv = isc_arena_array(b->arena, n, sizeof(isc_text));
	if (out->argv == NULL)
		return false;
	for (; at < end; at += out->argv[out->argc++].len + 1)
		out->argv[out->argc] = (isc_text){at, strnlen(at, (size_t)(end - at))};
	return true;
}

static void take_status(int wait_status, bool *known, int *exit_code, int *signal)
{
	*known = WIFEXITED(wait_status) || WIFSIGNALED(wait_status);
	*exit_code = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : -1;
	*signal = WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0;
}

size_t isc_build_process_rank(const isc_build *b, uint32_t process)
{
	const uint64_t *rank = isc_hashmap_find(&b->entry_of, process);

	return rank != NULL ? (size_t)*rank - 1 : SIZE_MAX;
}

/* The entry that this image goes on: an exec keeps the pid, and images are added
 * once each, so a chain cannot bite its tail. */
static size_t continued(const isc_build *b, const isc_trace_process *image)
{
	const isc_trace_process *before;

	if (!(image->flags & ISC_PROCESS_EXEC))
		return SIZE_MAX;
	before = isc_trace_process_find(b->trace, image->parent);
	if (before == NULL || before->pid != image->pid)
		return SIZE_MAX;
	return isc_build_process_rank(b, image->parent);
}

static uint32_t parent_pid(const isc_build *b, const isc_trace_process *image)
{
	const isc_trace_process *parent = isc_trace_process_find(b->trace, image->parent);

	if (image->ppid != 0)
		return image->ppid;
	return parent != NULL && parent->pid != image->pid ? parent->pid : 0;
}

static bool add_image(isc_build *b, const isc_trace_process *image)
{
	isc_analysis *a = b->a;
	size_t rank = continued(b, image);
	uint64_t *entry = isc_hashmap_put(&b->entry_of, image->process, NULL);
	isc_analysis_process *p;

	if (entry == NULL)
		return false;
	if (rank == SIZE_MAX) {
		rank = a->process_count++;
		a->processes[rank].pid = image->pid;
		a->processes[rank].ppid = parent_pid(b, image);
		a->processes[rank].start_us = isc_build_us(b, image->start_ns);
	}
	*entry = rank + 1;
	p = &a->processes[rank];
	p->images++;
	p->python = (image->flags & ISC_PROCESS_PYTHON) != 0;
	p->traced = (image->flags & ISC_PROCESS_TRACED) != 0;
	p->failed = (image->flags & ISC_PROCESS_FAILED) != 0;
	p->wall_known = (image->flags & ISC_PROCESS_ENDED) != 0;
	p->wall_us = isc_build_us(b, p->wall_known ? image->end_ns : b->end_ns) - p->start_us;
	if (p->wall_us < 0)
		p->wall_us = 0;
	if (image->flags & ISC_PROCESS_STATUS)
		take_status(image->wait_status, &p->exit_known, &p->exit_code, &p->signal);
	return take_argv(b, image, p);
}

/* Not by index: the roster may tell of an exec before perf tells of the fork. */
static int by_start(const void *x, const void *y)
{
	const isc_trace_process *p = *(const isc_trace_process *const *)x, *q = *(const isc_trace_process *const *)y;

	if (p->start_ns != q->start_ns)
		return p->start_ns > q->start_ns ? 1 : -1;
	return (p->process > q->process) - (p->process < q->process);
}

/* The program that was started: marked as such, else whoever has no parent here. */
static void take_root(isc_build *b, const isc_trace_process *const *image, size_t n)
{
	isc_analysis *a = b->a;
	size_t root = n > 0 ? 0 : SIZE_MAX;

	for (size_t i = 0; i < n; i++) {
		if (image[i]->flags & ISC_PROCESS_ROOT) {
			root = isc_build_process_rank(b, image[i]->process);
			break;
		}
	}
	a->wall_us = b->facts.wall_us;
	if (a->wall_us < 0)
		a->wall_us = isc_build_us(b, b->end_ns);
	b->root = root;
	if (root != SIZE_MAX) {
		isc_analysis_process *p = &a->processes[root];

		/* The end of the session says it when nothing else did. */
		if (b->end != NULL && b->end->known && !p->exit_known) {
			take_status(b->end->wait_status, &p->exit_known, &p->exit_code, &p->signal);
			p->wall_known = true;
		}
		a->exit_known = p->exit_known;
		a->exit_code = p->exit_code;
		a->signal = p->signal;
		if (b->facts.wall_us < 0 && p->wall_known)
			a->wall_us = p->wall_us;
		if (a->argc == 0) {
			a->argv = p->argv;
			a->argc = p->argc;
		}
	} else if (b->end != NULL && b->end->known) {
		take_status(b->end->wait_status, &a->exit_known, &a->exit_code, &a->signal);
	}
}

static void take_python(isc_analysis *a, const char *data, size_t len)
{
	size_t version = strnlen(data, len);

	a->python = (isc_text){data, version};
	a->python_path = version < len ? (isc_text){data + version + 1, len - version - 1} : (isc_text){0};
}

/* The program's own, of its last image; else, where a shell or a server started it, the first that was told. */
static bool find_python(isc_build *b)
{
	const char *best = NULL, *data;
	uint32_t process, id, len, best_len = 0;
	uint16_t type;

	for (size_t i = 0; (data = isc_trace_define_at(b->trace, i, &process, &id, &type, &len)) != NULL; i++) {
		bool root = b->root != SIZE_MAX && isc_build_process_rank(b, process) == b->root;

		b->subinterpreters += type == ISC_DEF_SUBINTERPRETER;
		if (type != ISC_DEF_PYTHON || (best != NULL && !root))
			continue;
		best = data;
		best_len = len;
	}
	if (best == NULL)
		return true;
	data = isc_arena_copy(b->arena, best, best_len);
	if (data != NULL)
		take_python(b->a, data, best_len);
	return data != NULL;
}

isc_status isc_build_processes(isc_build *b, isc_error *err)
{
	const isc_trace_process **image;
	size_t n = 0;

	while (isc_trace_process_at(b->trace, n) != NULL)
		n++;
	image = isc_arena_array(b->arena, n, sizeof(*image));
	b->a->processes = isc_arena_array(b->arena, n, sizeof(*b->a->processes));
	if (image == NULL || b->a->processes == NULL)
		return isc_build_no_memory(err);
	for (size_t i = 0; i < n; i++)
		image[i] = isc_trace_process_at(b->trace, i);
	qsort(image, n, sizeof(*image), by_start);
	for (size_t i = 0; i < n; i++) {
		if (!add_image(b, image[i]))
			return isc_build_no_memory(err);
	}
	take_root(b, image, n);
	return find_python(b) ? ISC_OK : isc_build_no_memory(err);
}
