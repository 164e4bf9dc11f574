/*
 * summary.c - a profile for people: functions, hot stacks, threads, and what is missing.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hashmap.h"
#include "base/text.h"
#include "base/units.h"
#include "profiler/write.h"

#define FUNCTIONS_SHOWN 20
#define STACKS_SHOWN 15
#define THREADS_SHOWN 20
#define NAME_WIDTH 100

const char *isc_profile_why_no_count(int error)
{
	switch (error) {
	case 0:
		return NULL;
	case ENOENT:
	case ENODEV:
	case EOPNOTSUPP:
		return "the hardware has no counter for them, or a virtual machine hides it";
	case EACCES:
	case EPERM:
		return "perf events are not permitted (see /proc/sys/kernel/perf_event_paranoid)";
	case ENOSYS:
		return "this kernel has no perf events";
	case EMFILE:
	case ENFILE:
		return "there are no descriptors left for more threads";
	case EBADF:
		return "the program closed a descriptor of ours";
	case ECANCELED:
		return "they were not asked for";
	case EALREADY:
		return "a session records this process, and its threads have no counters";
	default:
		return "perf events cannot be opened";
	}
}

const char *isc_profile_why_no_memory(int error)
{
	return error == 0 ? NULL : "/proc/self/statm cannot be read";
}

struct function_sum {
	const isc_profile_name *name;
	uint64_t self, total;
	size_t seen; /* in which stack last: recursion counts once */
};

struct functions {
	struct function_sum *at;
	size_t count;
	size_t *of; /* a name -> its function */
};

static bool same_function(const isc_profile_name *a, const isc_profile_name *b)
{
	return a->symbol_len == b->symbol_len && a->file_len == b->file_len &&
	       memcmp(a->symbol, b->symbol, a->symbol_len) == 0 && memcmp(a->file, b->file, a->file_len) == 0;
}

static uint64_t hash_of(const isc_profile_name *n)
{
	uint64_t h = 0xcbf29ce484222325ull;

	for (size_t i = 0; i < n->symbol_len; i++)
		h = (h ^ (unsigned char)n->symbol[i]) * 0x100000001b3ull;
	for (size_t i = 0; i < n->file_len; i++)
		h = (h ^ (unsigned char)n->file[i]) * 0x100000001b3ull;
	return h;
}

/* Lines of one function are one function. */
static bool find_functions(struct functions *f, const isc_profile_model *m)
{
	isc_hashmap by_hash = {0};
	bool done = true;

	f->at = calloc(m->names + 1, sizeof(*f->at));
	f->of = calloc(m->names + 1, sizeof(*f->of));
	for (size_t i = 0; i < m->names && done; i++) {
		uint64_t h = hash_of(&m->name[i]), *at;

		for (;; h++) {
			at = isc_hashmap_put(&by_hash, h, NULL);
			if (at == NULL || *at == 0 || same_function(f->at[*at - 1].name, &m->name[i]))
				break;
		}
		done = at != NULL && f->at != NULL && f->of != NULL;
		if (done && *at == 0) {
			f->at[f->count++].name = &m->name[i];
			*at = f->count;
		}
		if (done)
			f->of[i] = (size_t)*at - 1;
	}
	isc_hashmap_fini(&by_hash);
	return done;
}

static void count_functions(struct functions *f, const isc_profile_model *m)
{
	for (size_t i = 0; i < m->stacks; i++) {
		const isc_profile_line *line = &m->stack[i];

		for (uint32_t k = 0; k < line->frames; k++) {
			struct function_sum *at = &f->at[f->of[line->name[k]]];

			if (at->seen != i + 1)
				at->total += line->count;
			at->seen = i + 1;
			if (k + 1 == line->frames)
				at->self += line->count;
		}
	}
}

static int by_self(const void *one, const void *two)
{
	const struct function_sum *a = one, *b = two;

	if (a->self != b->self)
		return a->self < b->self ? 1 : -1;
	if (a->total != b->total)
		return a->total < b->total ? 1 : -1;
	return a->name < b->name ? -1 : a->name > b->name;
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole > 0 ? 100.0 * (double)part / (double)whole : 0;
}

static void put_name(isc_buffer *out, const isc_profile_name *name, bool with_line)
{
	isc_text_terminal(out, name->symbol, name->symbol_len, NAME_WIDTH);
	if (name->file_len == 0)
		return;
	isc_buffer_text(out, "  ");
	isc_text_terminal(out, name->file, name->file_len, NAME_WIDTH);
	if (with_line && name->line > 0)
		isc_buffer_format(out, ":%" PRIu32, name->line);
}

static bool put_functions(isc_buffer *out, const isc_profile_model *m)
{
	struct functions f = {0};
	bool done = find_functions(&f, m);

	if (done) {
		count_functions(&f, m);
		qsort(f.at, f.count, sizeof(*f.at), by_self);
		isc_buffer_text(out, "\nFunctions\n   self   total   samples\n");
		for (size_t i = 0; i < f.count && i < FUNCTIONS_SHOWN && f.at[i].self > 0; i++) {
			isc_buffer_format(out, "%6.1f%% %6.1f%% %9" PRIu64 "  ", percent(f.at[i].self, m->total),
					  percent(f.at[i].total, m->total), f.at[i].self);
			put_name(out, f.at[i].name, false);
			isc_buffer_text(out, "\n");
		}
	}
	free(f.at);
	free(f.of);
	return done;
}

static void put_stacks(isc_buffer *out, const isc_profile_model *m)
{
	isc_buffer_format(out, "\nHot stacks (%zu of %zu), root first\n",
			  m->stacks < STACKS_SHOWN ? m->stacks : (size_t)STACKS_SHOWN, m->stacks);
	for (size_t i = 0; i < m->stacks && i < STACKS_SHOWN; i++) {
		const isc_profile_line *line = &m->stack[i];

		isc_buffer_format(out, "%6.1f%%  %" PRIu64 " samples, thread %" PRIu32, percent(line->count, m->total),
				  line->count, line->tid);
		if (m->count_error == 0)
			isc_buffer_format(out, ", %" PRIu64 " instructions", line->counted);
		if (m->memory_error == 0 && line->memory != 0)
			isc_buffer_format(out, ", memory %+" PRId64 " bytes", line->memory);
		isc_buffer_text(out, "\n");
		for (uint32_t k = 0; k < line->frames; k++) {
			isc_buffer_text(out, "         ");
			put_name(out, &m->name[line->name[k]], true);
			isc_buffer_text(out, "\n");
		}
	}
}

static void put_threads(isc_buffer *out, const isc_profile_model *m)
{
	struct {
		uint32_t tid;
		uint64_t count;
	} thread[THREADS_SHOWN];
	size_t n = 0, more = 0;

	for (size_t i = 0; i < m->stacks; i++) {
		size_t k = 0;

		while (k < n && thread[k].tid != m->stack[i].tid)
			k++;
		if (k == n && n == THREADS_SHOWN) {
			more++;
			continue;
		}
		if (k == n) {
			thread[n].tid = m->stack[i].tid;
			thread[n++].count = 0;
		}
		thread[k].count += m->stack[i].count;
	}
	isc_buffer_text(out, "\nThreads\n");
	for (size_t k = 0; k < n; k++)
		isc_buffer_format(out, "%6.1f%% %9" PRIu64 " samples  thread %" PRIu32 "\n",
				  percent(thread[k].count, m->total), thread[k].count, thread[k].tid);
	if (more > 0)
		isc_buffer_format(out, "        and others, with %zu stacks\n", more);
}

static void put_head(isc_buffer *out, const isc_profile_model *m)
{
	const char *why = isc_profile_why_no_count(m->count_error), *why_no_memory;
	uint64_t memory = 0; /* as in the model */
	isc_units a, b, c;

	isc_buffer_format(out, "CPU profile: %s samples, one per %s of CPU time, in %s\n",
			  isc_units_count(&a, m->total), isc_units_time(&b, m->interval_us),
			  isc_units_time(&c, (double)m->elapsed_us));
	if (m->other > 0)
		isc_buffer_format(out,
				  "%s samples (%.1f%%) are under (other): there was no room for more stacks than %u\n",
				  isc_units_count(&a, m->other), percent(m->other, m->total), ISC_PROFILE_STACKS_MAX);
	if (m->unknown > 0)
		isc_buffer_format(out, "%s samples (%.1f%%) are under (unknown): no stack could be read\n",
				  isc_units_count(&a, m->unknown), percent(m->unknown, m->total));
	if (why != NULL)
		isc_buffer_format(out, "Instructions are not counted: %s\n", why);
	why_no_memory = isc_profile_why_no_memory(m->memory_error);
	for (size_t i = 0; i < m->stacks; i++)
		memory += (uint64_t)m->stack[i].memory;
	if (why_no_memory != NULL)
		isc_buffer_format(out, "Changes of memory are not known: %s\n", why_no_memory);
	else
		isc_buffer_format(out, "Memory in use changed by %+" PRId64 " bytes\n", (int64_t)memory);
}

void isc_profile_summary(isc_buffer *out, const isc_profile_model *m)
{
	put_head(out, m);
	if (m->stacks == 0) {
		isc_buffer_text(out, "\nNo samples: the program used no CPU, or less than one step of it.\n");
		return;
	}
	if (!put_functions(out, m))
		out->failed = true;
	put_stacks(out, m);
	put_threads(out, m);
}
