/*
 * fuzz_import.c - any bytes as a trace of another tool: Chrome JSON, event JSON,
 * speedscope's files and collapsed stacks, plain or packed.  What comes out holds
 * together: shares are shares, what a device was busy and idle is its span, and
 * stacks are a tree.
 */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "import/import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
	if (!holds)
		abort();
}

static void check(const isc_timeline_facts *f)
{
	for (size_t i = 0; i < f->gpu_count; i++) {
		const isc_facts_gpu *g = &f->gpus[i];
		int64_t span = g->last_ns - g->first_ns, idle = 0;

		if (!g->seen)
			continue;
		for (int c = 0; c < ISC_IDLE_CAUSES; c++) {
			must(g->idle[c].ns >= 0 && g->idle[c].where_ns <= g->idle[c].ns);
			idle += g->idle[c].ns;
		}
		must(g->busy_ns >= 0 && g->busy_ns + idle == span);
		must(g->kernel_ns <= g->busy_ns && g->copy_ns <= g->busy_ns && g->set_ns <= g->busy_ns);
		must(g->compute_ns <= g->kernel_ns && g->comm_ns <= g->kernel_ns);
	}
	for (size_t i = 0; i < f->function_count; i++)
		must(f->functions[i].self_ns >= 0 && f->functions[i].total_ns >= 0);
	for (size_t i = 1; i < f->stack_count; i++)
		must(f->stacks[i].parent < i && f->stacks[i].ns >= 0 &&
		     f->stacks[i].depth == f->stacks[f->stacks[i].parent].depth + 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	const isc_timeline_options small = {.memory_bytes = 64u << 10};
	const isc_timeline_window part = {.from_ns = 1000, .to_ns = 500000};
	const isc_timeline_facts *facts;
	isc_timeline *t = NULL;
	isc_import import = {0};

	if (fd < 0)
		fd = memfd_create("trace", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, 0) != 0 || pwrite(fd, data, size, 0) != (ssize_t)size ||
	    lseek(fd, 0, SEEK_SET) != 0)
		return 0;
	if (isc_timeline_new(&small, &t, NULL) != ISC_OK)
		return 0;
	if (isc_import_read_fd(&import, fd, "input", t, NULL) == ISC_OK &&
	    isc_timeline_finish(t, size % 3 == 0 ? &part : NULL, &facts, NULL) == ISC_OK)
		check(facts);
	isc_timeline_free(t);
	isc_import_fini(&import);
	return 0;
}
