/*
 * sample_stack.c - stacks and code objects, each defined once.
 *
 * A stack is a frame and its parent, so that all stacks form a tree whose nodes
 * are definitions.  One table finds a node by the hash of all frames from the root
 * to it, which are asked for from the leaf on: memory is cold here, and of a stack
 * that was seen before one look is enough.  Another finds the definitions of a code
 * object.  Handlers of many threads enter into them without waiting: two that meet
 * may define the same thing twice, which costs some bytes and nothing else.  A fork
 * child goes on with both, as ids from before the fork stay true.
 */
#include <stddef.h>

#include "collect/pywalk.h"
#include "collect/sample.h"
#include "runtime/image.h"
#include "runtime/kernel.h"
#include "runtime/runtime.h"

#define NODES 65536u	  /* 1 MiB, touched as it fills; a power of two */
#define NODES_MOST 49152u /* then stacks are "(other)" */
#define CODES 16384u
#define PROBES 32u

/* key is claimed first; value is there when it is not 0. */
typedef struct entry {
	_Atomic uint64_t key;
	_Atomic uint64_t value;
} entry;

static entry nodes[NODES]; /* a path from the root, hashed, to its id */
static entry codes[CODES]; /* isc_pywalk_key() to code:32 | lines:32 */
static _Atomic uint32_t node_count;

static uint64_t hash(uint64_t a, uint64_t b)
{
	uint64_t h = (a ^ b * 0x9e3779b97f4a7c15ull) * 0xff51afd7ed558ccdull;

	return h ^ h >> 29;
}

/* ---- code objects ------------------------------------------------------ */

size_t isc_sample_read(isc_sampled *t, const isc_python_layout *l, uintptr_t code, bool careful,
		       isc_sample_reader *read)
{
	isc_reach r = {.careful = careful, .pid = careful ? isc_kernel_pid() : 0};
	volatile size_t len = 0;

	if (sigsetjmp(t->fault.escape, 0) == 0) {
		isc_fault_arm(&t->fault);
		len = read(l, &r, code, t->scratch, sizeof(t->scratch));
		isc_fault_disarm(&t->fault);
	}
	return len;
}

/* code:32 | lines:32; 0: it cannot be read, or there is no room now. */
static uint64_t define_code(isc_sampled *t, const isc_python_layout *l, uintptr_t code, bool careful)
{
	size_t len = isc_sample_read(t, l, code, careful, isc_pywalk_code);
	uint32_t id = len != 0 ? isc_rt_intern(ISC_DEF_CODE, t->scratch, len) : 0, lines = 0;

	if (id == 0)
		return 0;
	len = isc_sample_read(t, l, code, careful, isc_pywalk_lines);
	if (len != 0) {
		((isc_def_lines *)(void *)t->scratch)->code = id;
		lines = isc_rt_intern(ISC_DEF_LINES, t->scratch, len);
		if (lines == 0)
			return 0;
	}
	return (uint64_t)id << 32 | lines;
}

static uint64_t code_of(isc_sampled *t, const isc_python_layout *l, int at, bool careful)
{
	const isc_merged *frame = &t->merged[at];
	uint64_t key = frame->key, ids, was;
	uint32_t home = (uint32_t)(hash(key, 1) & (CODES - 1));
	entry *mine = NULL;

	for (uint32_t k = 0; k < PROBES; k++) {
		entry *e = &codes[(home + k) & (CODES - 1)];

		was = atomic_load_explicit(&e->key, memory_order_acquire);
		if (was == 0 && atomic_compare_exchange_strong(&e->key, &was, key))
			was = key;
		if (was == key) {
			mine = e;
			break;
		}
	}
	ids = mine != NULL ? atomic_load_explicit(&mine->value, memory_order_acquire) : 0;
	if (ids != 0)
		return ids;
	if (!isc_defs_roomy())
		return 0;
	if (frame->module != -1)
		ids = (uint64_t)isc_sample_place(t, frame, careful) << 32;
	else
		ids = define_code(t, l, frame->code, careful);
	if (ids != 0 && mine != NULL)
		atomic_store_explicit(&mine->value, ids, memory_order_release);
	return ids;
}

/* ---- stacks ------------------------------------------------------------ */

static uint32_t offset_of(const isc_merged *frame)
{
	return frame->module == -1 ? frame->offset : 0;
}

/* The path to a frame, from the one that leads to its caller.  Of 50,000 paths two are the same once in 10^10 runs. */
static uint64_t path_to(uint64_t caller, const isc_merged *frame)
{
	uint64_t h = hash(caller ^ frame->key * 0xc2b2ae3d27d4eb4full, (uint64_t)offset_of(frame) + 1);

	h = (h ^ h >> 32) * 0x9fb21c651e98df25ull;
	h ^= h >> 28;
	return h != 0 ? h : 1;
}

/* Its id; 0: it is not known yet. */
static uint32_t find_node(uint64_t path)
{
	for (uint32_t k = 0; k < PROBES; k++) {
		entry *e = &nodes[(path + k) & (NODES - 1)];
		uint64_t was = atomic_load_explicit(&e->key, memory_order_acquire);

		if (was == path)
			return (uint32_t)atomic_load_explicit(&e->value, memory_order_acquire);
		if (was == 0)
			return 0;
	}
	return 0;
}

/* A free place for it; NULL: there is none near enough. */
static entry *free_place(uint64_t path)
{
	for (uint32_t k = 0; k < PROBES; k++) {
		entry *e = &nodes[(path + k) & (NODES - 1)];

		if (atomic_load_explicit(&e->key, memory_order_relaxed) == 0)
			return e;
	}
	return NULL;
}

static uint32_t add_node(uint64_t path, const isc_def_stack *def)
{
	entry *place = free_place(path);
	uint64_t was = 0;
	uint32_t id;

	if (place == NULL || atomic_load_explicit(&node_count, memory_order_relaxed) >= NODES_MOST || !isc_defs_roomy())
		return 0;
	/* Defined first: an entry that is claimed and never filled would be a place lost. */
	id = isc_rt_define(ISC_DEF_STACK, def, sizeof(*def));
	if (id != 0 && atomic_compare_exchange_strong(&place->key, &was, path)) {
		atomic_store_explicit(&place->value, id, memory_order_release);
		atomic_fetch_add_explicit(&node_count, 1, memory_order_relaxed);
	}
	return id;
}

uint64_t isc_sample_path(isc_sampled *t, int n)
{
	uint64_t path = 0;

	for (int i = 0; i < n; i++)
		t->path[i] = path = path_to(path, &t->merged[n - 1 - i]);
	return path;
}

uint32_t isc_sample_stack(isc_sampled *t, const isc_python_layout *l, int n, bool careful)
{
	uint32_t id = 0;
	int known = n;

	isc_sample_path(t, n);
	while (known > 0 && (id = find_node(t->path[known - 1])) == 0)
		known--;
	for (int i = known; i < n; i++) {
		uint64_t ids = code_of(t, l, n - 1 - i, careful);
		const isc_def_stack def = {id, (uint32_t)(ids >> 32), offset_of(&t->merged[n - 1 - i]), (uint32_t)ids};

		/* No room, now: a frame without a name would stay without one for as long as it lives. */
		id = ids != 0 ? add_node(t->path[i], &def) : 0;
		if (id == 0)
			return 0;
	}
	return id;
}
