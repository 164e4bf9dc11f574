#include "analyze/time/spin.h"

#include <stddef.h>
#include <string.h>

/* library: how the name of its file begins, NULL: any; name: what the function's contains, NULL: any.  The
 * first that matches counts. */
static const struct spin_rule {
	const char *library;
	const char *name;
	bool whole; /* the name is this and no more */
	bool spins;
} rules[] = {
	{NULL, "sched_yield", true, true},
	{NULL, "__sched_yield", true, true},
	{NULL, "pthread_spin_lock", true, true},
	{NULL, "blas_thread_server", true, true},
	{NULL, "exec_blas_async_wait", true, true},
	/* The code of parallel parts is the program's.  What runs in the library itself, and mostly has no name
	 * there, waits at a barrier or for the next part; handing out work is not waiting. */
	{"libgomp", "omp_get_", false, false},
	{"libgomp", "GOMP_loop", false, false},
	{"libgomp", "gomp_iter", false, false},
	{"libgomp", "GOMP_task", false, false},
	{"libgomp", NULL, false, true},
	{"libiomp", "wait", false, true},
	{"libiomp", "barrier", false, true},
	{"libiomp", "yield", false, true},
	{"libiomp", "pause", false, true},
	{"libomp", "wait", false, true},
	{"libomp", "barrier", false, true},
	{"libomp", "yield", false, true},
	{"libomp", "pause", false, true},
};

static bool begins(const isc_text *path, const char *wanted)
{
	const char *slash = path->len > 0 ? memrchr(path->at, '/', path->len) : NULL;
	size_t from = slash != NULL ? (size_t)(slash + 1 - path->at) : 0, len = strlen(wanted);

	return path->len - from >= len && memcmp(path->at + from, wanted, len) == 0;
}

static bool has(const isc_text *name, const char *wanted, bool whole)
{
	size_t len = strlen(wanted);

	if (whole)
		return name->len == len && memcmp(name->at, wanted, len) == 0;
	return name->len >= len && memmem(name->at, name->len, wanted, len) != NULL;
}

bool isc_spin_is(const isc_frame *frame)
{
	if (frame->kind != ISC_FRAME_NATIVE)
		return false;
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		if ((rules[i].library == NULL || begins(&frame->module, rules[i].library)) &&
		    (rules[i].name == NULL || has(&frame->name, rules[i].name, rules[i].whole)))
			return rules[i].spins;
	}
	return false;
}
