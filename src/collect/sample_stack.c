/*
 * sample_stack.c - stacks and code objects, each defined once.
 *
 * A stack is a frame and its parent, so that all stacks form a tree whose nodes
 * are definitions.  One table finds a node by its parent and frame, another the
 * definitions of a code object.  Handlers of many threads enter into them
 * without waiting: two that meet may define the same thing twice, which costs
 * some bytes and nothing else.  A fork child goes on with both, as ids from
 * before the fork stay true.
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

static entry nodes[NODES]; /* parent:32 | frame:32 to offset:32 | id:32 */
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

static uint32_t node_of(uint32_t parent, uint64_t ids, uint32_t offset)
{
	uint32_t lines = (uint32_t)ids, code = (uint32_t)(ids >> 32);
	/* The lines name their code, and places in one file are never the same. */
	uint64_t key = (uint64_t)parent << 32 | (lines != 0 ? lines : code);
	uint32_t home = (uint32_t)(hash(key, offset) & (NODES - 1)), id;
	isc_def_stack def = {parent, code, offset, lines};
	uint64_t was;

	for (uint32_t k = 0; k < PROBES; k++) {
		entry *e = &nodes[(home + k) & (NODES - 1)];

		was = atomic_load_explicit(&e->key, memory_order_acquire);
		if (was == key) {
			uint64_t value = atomic_load_explicit(&e->value, memory_order_acquire);

			if (value >> 32 == offset && (uint32_t)value != 0)
				return (uint32_t)value;
			continue;
		}
		if (was != 0)
			continue;
		if (atomic_load_explicit(&node_count, memory_order_relaxed) >= NODES_MOST || !isc_defs_roomy())
			return 0;
		/* Defined first: an entry that is claimed and never filled would be a place lost. */
		id = isc_rt_define(ISC_DEF_STACK, &def, sizeof(def));
		if (id == 0)
			return 0;
		for (; k < PROBES; k++) {
			e = &nodes[(home + k) & (NODES - 1)];
			was = 0;
			if (atomic_compare_exchange_strong(&e->key, &was, key)) {
				atomic_store_explicit(&e->value, (uint64_t)offset << 32 | id, memory_order_release);
				atomic_fetch_add_explicit(&node_count, 1, memory_order_relaxed);
				break;
			}
		}
		return id;
	}
	return 0;
}

uint32_t isc_sample_stack(isc_sampled *t, const isc_python_layout *l, int n, bool careful)
{
	uint32_t id = 0;
	int i = 0;

	/* Most of a stack is that of the sample before. */
	while (i < n && i < t->known && t->known_key[i] == t->merged[n - 1 - i].key &&
	       t->known_offset[i] == t->merged[n - 1 - i].offset)
		id = t->known_id[i++];
	t->known = i;
	for (; i < n; i++) {
		const isc_merged *frame = &t->merged[n - 1 - i];
		uint64_t ids = code_of(t, l, n - 1 - i, careful);

		/* No room, now: a frame without a name would stay without one for as long as it lives. */
		id = ids != 0 ? node_of(id, ids, frame->module == -1 ? frame->offset : 0) : 0;
		if (id == 0)
			return 0;
		t->known_key[i] = frame->key;
		t->known_offset[i] = frame->offset;
		t->known_id[i] = id;
		t->known = i + 1;
	}
	return id;
}
