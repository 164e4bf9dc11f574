/*
 * stack.c - stacks and code objects, each defined once or a few times.
 *
 * A stack is a part (a frame, or a run of native ones) and its parent, so that all
 * stacks form a tree whose nodes are definitions.  A table finds a node by the
 * hash of all parts from the root to it.  It is a cache: when it is full, nodes that were
 * not met for the longest time make room, and one that is met again is defined
 * again, which costs some bytes and nothing else.  Ids are never taken back.  So a
 * program may run for as long as it likes, and the stacks of its start do not stand in
 * the way of those that it has later.
 *
 * What is bounded is the room for definitions (sample_room.c).  Where there is none,
 * a sample gets the longest root side of its stack that is known.
 *
 * Another table finds the definitions of a code object.  Handlers of many threads
 * enter into both without waiting.  A fork child goes on with both, as ids from before the
 * fork stay true.
 */
#include <stddef.h>

#include "collect/sample/pywalk.h"
#include "collect/sample/sample.h"
#include "runtime/image.h"
#include "runtime/kernel.h"
#include "runtime/runtime.h"

#define SETS 8192u /* of nodes; with its ways 1 MiB, touched as it fills; a power of two */
#define WAYS 8u	   /* two lines of the cache */
#define CODES 32768u
#define PROBES 32u
#define NEWEST 3       /* parts of a stack that are often new */
#define TURN 4096u     /* stacks: what was not met for longest is told to so many */
#define IMPORTERS 128u /* code objects of importlib; a power of two */

/* key is claimed first; value is there when it is not 0. */
typedef struct entry {
	_Atomic uint64_t key;
	_Atomic uint64_t value;
} entry;

/* A path from the root, hashed, to id:32 | check:16 | turn:16.  check is of the path: of two threads that take one place
 * at once the later value may stand with the other's key. */
static _Alignas(64) entry nodes[SETS][WAYS];
static entry codes[CODES]; /* isc_pywalk_key() to code:32 | lines:32 */
static _Atomic uint64_t importers[IMPORTERS];
static _Atomic uint32_t asked; /* for stacks */

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

/* The definition in the scratch: is it of a file of importlib? */
static bool is_importer(const isc_sampled *t, size_t len)
{
	static const char file[] = "<frozen importlib";
	isc_def_code head;

	if (len < sizeof(head))
		return false;
	memcpy(&head, t->scratch, sizeof(head));
	return head.file_len >= sizeof(file) - 1 && sizeof(head) + head.name_len + sizeof(file) - 1 <= len &&
	       memcmp(t->scratch + sizeof(head) + head.name_len, file, sizeof(file) - 1) == 0;
}

/* code:32 | lines:32; 0: it cannot be read, or there is no room now. */
static uint64_t define_code(isc_sampled *t, const isc_python_layout *l, const isc_merged *frame, bool careful)
{
	uintptr_t code = frame->code;
	size_t len = isc_sample_read(t, l, code, careful, isc_pywalk_code);
	uint32_t id = len != 0 ? isc_rt_intern(ISC_DEF_CODE, t->scratch, len) : 0, lines = 0;

	if (is_importer(t, len))
		atomic_store_explicit(&importers[frame->key & (IMPORTERS - 1)], frame->key, memory_order_relaxed);

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

static uint64_t code_of(isc_sampled *t, const isc_python_layout *l, const isc_merged *frame, bool careful)
{
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
	if (frame->module != ISC_MERGED_PYTHON)
		ids = (uint64_t)isc_sample_place(t, frame, careful) << 32;
	else
		ids = define_code(t, l, frame, careful);
	if (ids != 0 && mine != NULL)
		atomic_store_explicit(&mine->value, ids, memory_order_release);
	return ids;
}

/* ---- stacks ------------------------------------------------------------ */

static uint32_t offset_of(const isc_merged *part)
{
	return part->module == ISC_MERGED_PYTHON ? part->offset : 0;
}

/* The path to a part, from the one that leads to its caller.  Of a million paths two are the same once in 10^7 runs. */
static uint64_t path_to(uint64_t caller, const isc_merged *part)
{
	uint64_t h = hash(caller ^ part->key * 0xc2b2ae3d27d4eb4full, (uint64_t)offset_of(part) + 1);

	h = (h ^ h >> 32) * 0x9fb21c651e98df25ull;
	h ^= h >> 28;
	return h != 0 ? h : 1;
}

static uint16_t turn_now(void)
{
	return (uint16_t)(atomic_load_explicit(&asked, memory_order_relaxed) / TURN);
}

static uint64_t value_of(uint64_t path, uint32_t id)
{
	return (uint64_t)id << 32 | (path >> 40 & 0xffffu) << 16 | turn_now();
}

/* Its id; 0: it is not known.  *old: it was not asked for since the turn before. */
static uint32_t find_node(uint64_t path, bool *old)
{
	entry *set = nodes[path & (SETS - 1)];

	for (uint32_t k = 0; k < WAYS; k++) {
		uint64_t value;

		if (atomic_load_explicit(&set[k].key, memory_order_acquire) != path)
			continue;
		value = atomic_load_explicit(&set[k].value, memory_order_acquire);
		if (value == 0 || (value >> 16 & 0xffffu) != (path >> 40 & 0xffffu))
			continue;
		*old = (uint16_t)value != turn_now();
		if (*old)
			atomic_compare_exchange_strong(&set[k].value, &value, value_of(path, (uint32_t)(value >> 32)));
		return (uint32_t)(value >> 32);
	}
	return 0;
}

/* A place for it that is free, or that nobody asked for since longest. */
static entry *place_for(uint64_t path)
{
	entry *set = nodes[path & (SETS - 1)], *oldest = &set[0];
	uint16_t now = turn_now(), most = 0;

	for (uint32_t k = 0; k < WAYS; k++) {
		uint16_t age;

		if (atomic_load_explicit(&set[k].key, memory_order_relaxed) == 0)
			return &set[k];
		age = (uint16_t)(now - (uint16_t)atomic_load_explicit(&set[k].value, memory_order_relaxed));
		if (age > most) {
			most = age;
			oldest = &set[k];
		}
	}
	/* All as young: one by chance, as good as any. */
	return most > 0 ? oldest : &set[path >> 56 & (WAYS - 1)];
}

static void remember(uint64_t path, uint32_t id)
{
	entry *place = place_for(path);
	uint64_t was = atomic_load_explicit(&place->key, memory_order_relaxed);

	if (atomic_compare_exchange_strong(&place->key, &was, path))
		atomic_store_explicit(&place->value, value_of(path, id), memory_order_release);
}

/* A run: as many ids as it has frames, of which the last one is the newest frame's. */
static uint32_t define_run(isc_sampled *t, const isc_python_layout *l, uint32_t parent, const isc_merged *run,
			   enum isc_stack_room room, bool careful)
{
	int n = isc_sample_run(t, run);
	isc_def_run *head = (isc_def_run *)t->run;
	uint32_t *places = (uint32_t *)(head + 1), id;
	size_t len;

	if (n == 0)
		return 0;
	*head = (isc_def_run){parent, (uint32_t)n};
	for (int i = 0; i < n; i++) {
		isc_merged frame = isc_sample_run_frame(run, t->places[i]);

		places[i] = (uint32_t)(code_of(t, l, &frame, careful) >> 32);
		if (places[i] == 0)
			return 0;
	}
	len = sizeof(*head) + (size_t)n * sizeof(*places);
	if (isc_def_bytes((uint32_t)len) < (size_t)n * 16) {
		memset((char *)t->run + len, 0, (size_t)n * 16 - 8 - len);
		len = (size_t)n * 16 - 8;
	}
	if (!isc_sample_room(room, isc_def_bytes((uint32_t)len)))
		return 0;
	id = isc_rt_define(ISC_DEF_RUN, head, len);
	return id != 0 ? id + (uint32_t)n - 1 : 0;
}

static uint32_t define_part(isc_sampled *t, const isc_python_layout *l, uint32_t parent, const isc_merged *part,
			    enum isc_stack_room room, bool careful)
{
	isc_def_stack def = {.parent = parent, .offset = offset_of(part)};
	uint64_t ids;

	if (part->module == ISC_MERGED_RUN)
		return define_run(t, l, parent, part, room, careful);
	ids = code_of(t, l, part, careful);
	/* No room, now: a frame without a name would stay without one for as long as it lives. */
	if (ids == 0 || !isc_sample_room(room, isc_def_bytes(sizeof(def))))
		return 0;
	def.code = (uint32_t)(ids >> 32);
	def.lines = (uint32_t)ids;
	return isc_rt_define(ISC_DEF_STACK, &def, sizeof(def));
}

uint64_t isc_sample_path(isc_sampled *t, int n)
{
	uint64_t path = 0;

	for (int i = 0; i < n; i++) {
		t->path[i] = path = path_to(path, &t->merged[n - 1 - i]);
		/* The newest ones are looked for next. */
		if (i >= n - NEWEST) {
			__builtin_prefetch(nodes[path & (SETS - 1)]);
			__builtin_prefetch(&nodes[path & (SETS - 1)][WAYS / 2]);
		}
	}
	return path;
}

/* How many parts are known, from the root on: what is known has a parent that is, or was when it was defined. */
static int known_parts(const isc_sampled *t, int n, uint32_t *id)
{
	int known = 0, past = n;
	bool old;

	*id = 0;
	/* Mostly only the newest ones are not. */
	for (int i = n; i > 0 && i >= n - NEWEST; i--) {
		*id = find_node(t->path[i - 1], &old);
		if (*id != 0)
			return i;
		past = i - 1;
	}
	while (known < past) {
		int middle = known + (past - known + 1) / 2;
		uint32_t found = find_node(t->path[middle - 1], &old);

		if (found != 0) {
			known = middle;
			*id = found;
		} else {
			past = middle - 1;
		}
	}
	return known;
}

static bool imports(const isc_sampled *t, int n)
{
	for (int i = 0; i < n; i++) {
		uint64_t key = t->merged[i].key;

		if (t->merged[i].module == ISC_MERGED_PYTHON &&
		    atomic_load_explicit(&importers[key & (IMPORTERS - 1)], memory_order_relaxed) == key)
			return true;
	}
	return false;
}

/* A program that imports has stacks that never come back, and too many of them: the newest native frame is enough. */
static int without_runs(isc_sampled *t, int n)
{
	int kept = 0;

	for (int i = 0; i < n; i++) {
		if (t->merged[i].module != ISC_MERGED_RUN)
			t->merged[kept++] = t->merged[i];
	}
	isc_sample_path(t, kept);
	return kept;
}

uint32_t isc_sample_stack(isc_sampled *t, const isc_python_layout *l, int n, enum isc_stack_use use, bool careful,
			  uint32_t *flags)
{
	enum isc_stack_room room = use == ISC_STACK_ASIDE ? ISC_ROOM_ASIDE : ISC_ROOM_SERVING;
	bool old = false, native = t->merged[0].module != ISC_MERGED_PYTHON;
	uint32_t id, next;
	int known;

	atomic_fetch_add_explicit(&asked, 1, memory_order_relaxed);
	isc_sample_path(t, n);
	id = find_node(t->path[n - 1], &old);
	if (id != 0) {
		/* Who keeps a node keeps those that lead to it. */
		for (int i = 0; old && i < n - 1; i++)
			find_node(t->path[i], &old), old = true;
		return id;
	}
	if (imports(t, n)) {
		room = ISC_ROOM_IMPORTS;
		if (isc_sample_room_is_short(room))
			n = without_runs(t, n);
	}
	for (known = known_parts(t, n, &id); known < n; known++) {
		next = isc_defs_roomy() ? define_part(t, l, id, &t->merged[n - 1 - known], room, careful) : 0;
		if (next == 0) {
			*flags |= ISC_SAMPLE_LEAF_CUT | (native ? ISC_SAMPLE_LEAF_NATIVE : 0u);
			return id;
		}
		id = next;
		remember(t->path[known], id);
	}
	return id;
}
