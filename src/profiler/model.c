#include "profiler/model.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hashmap.h"
#include "symbol/module.h"

#define DEPTH_MOST (ISC_PROFILE_FRAMES_MAX + 1)
#define LOADED_MAX (256u << 20) /* bytes of symbols at once */

/* Names that are ours, before those of frames. */
enum { NAME_OTHER, NAME_UNKNOWN, NAME_CUT, NAME_NONE, NAMES_OURS };

struct build {
	isc_profile_model *m;
	const isc_profile *p;
	isc_arena *modules;
	isc_hashmap by_text;   /* text of a module -> number + 1 */
	isc_hashmap by_hash;   /* of a name -> name + 1, or the next hash is tried */
	isc_hashmap by_frame;  /* -> name + 1 */
	isc_hashmap by_parent; /* parent:32 | name:32 -> node */
	isc_hashmap by_stack;  /* node:32 | thread:32 -> stack + 1 */
	isc_symbols **module;
	size_t module_count, module_room;
	uint32_t nodes;
	uint64_t *ns; /* of stacks, as in the model */
	size_t ns_count, ns_room;
};

uint64_t isc_profile_elapsed_us(const isc_profile *p)
{
	uint64_t end = atomic_load(&p->running) ? isc_clock_mono_ns() : p->stop_ns;

	return end > p->start_ns ? (end - p->start_ns) / 1000 : 0;
}

/* ---- names --------------------------------------------------------------- */

static uint64_t hash_of(uint64_t h, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		h = (h ^ (unsigned char)text[i]) * 0x100000001b3ull;
	return (h ^ 0xff) * 0x100000001b3ull;
}

static bool same(const isc_profile_name *a, const isc_profile_name *b)
{
	return a->line == b->line && a->symbol_len == b->symbol_len && a->file_len == b->file_len &&
	       memcmp(a->symbol, b->symbol, a->symbol_len) == 0 && memcmp(a->file, b->file, a->file_len) == 0;
}

/* The number of this name, given now if need be; -1: no memory. */
static int64_t number(struct build *b, const isc_profile_name *name)
{
	isc_profile_model *m = b->m;
	uint64_t h = hash_of(0xcbf29ce484222325ull, name->symbol, name->symbol_len);
	isc_profile_name *fresh;
	uint64_t *at;

	h = hash_of(h, name->file, name->file_len) + name->line;
	for (;; h++) {
		at = isc_hashmap_put(&b->by_hash, h, NULL);
		if (at == NULL)
			return -1;
		if (*at == 0)
			break;
		if (same(&m->name[*at - 1], name))
			return (int64_t)*at - 1;
	}
	fresh = isc_arena_push(m->arena, &m->name, &m->names, &m->names_room, sizeof(*fresh));
	if (fresh == NULL)
		return -1;
	*fresh = *name;
	fresh->symbol = isc_arena_copy(m->arena, name->symbol, name->symbol_len);
	fresh->file = isc_arena_copy(m->arena, name->file, name->file_len);
	if (fresh->symbol == NULL || fresh->file == NULL)
		return -1;
	*at = m->names;
	return (int64_t)m->names - 1;
}

static int64_t number_words(struct build *b, const char *words)
{
	return number(b, &(isc_profile_name){.symbol = words, .symbol_len = strlen(words), .file = ""});
}

/* A text that lies where it says, with room for a head. */
static const char *text_at(const isc_profile *p, uint32_t text, size_t head, size_t *room)
{
	if (text == 0 || text > ISC_PROFILE_TEXT_BYTES - head)
		return NULL;
	*room = ISC_PROFILE_TEXT_BYTES - text - head;
	return p->text + text;
}

static int64_t number_python(struct build *b, const isc_profile_frame *f)
{
	isc_profile_name name = {.line = f->line};
	isc_def_code head;
	size_t room;
	const char *at = text_at(b->p, f->text, sizeof(head), &room);

	if (at == NULL)
		return NAME_NONE;
	memcpy(&head, at, sizeof(head));
	if (head.name_len > room || head.file_len > room - head.name_len)
		return NAME_NONE;
	name.symbol = at + sizeof(head);
	name.symbol_len = head.name_len;
	name.file = name.symbol + head.name_len;
	name.file_len = head.file_len;
	if (name.line == 0 && head.line <= INT32_MAX)
		name.line = head.line;
	return number(b, &name);
}

/* NULL: there is no memory, or what is said of it makes no sense. */
static isc_symbols *module_of(struct build *b, uint32_t text)
{
	isc_symbols **fresh;
	isc_def_module head;
	const char *at;
	uint64_t *known = isc_hashmap_put(&b->by_text, text, NULL);
	size_t room;

	if (known == NULL)
		return NULL;
	if (*known != 0)
		return b->module[*known - 1];
	at = text_at(b->p, text, sizeof(head), &room);
	if (at == NULL)
		return NULL;
	memcpy(&head, at, sizeof(head));
	at += sizeof(head);
	if (head.build_len > room || head.path_len > room - head.build_len)
		return NULL;
	fresh = isc_arena_push(b->modules, &b->module, &b->module_count, &b->module_room, sizeof(*fresh));
	if (fresh == NULL)
		return NULL;
	*fresh = isc_symbols_new(at + head.build_len, head.path_len, (const uint8_t *)at, head.build_len);
	*known = b->module_count;
	return *fresh;
}

static void unload_most(struct build *b, const isc_symbols *but)
{
	size_t loaded = 0;

	for (size_t i = 0; i < b->module_count; i++)
		loaded += b->module[i] != NULL ? isc_symbols_bytes(b->module[i]) : 0;
	for (size_t i = 0; i < b->module_count && loaded > LOADED_MAX; i++) {
		if (b->module[i] == NULL || b->module[i] == but)
			continue;
		loaded -= isc_symbols_bytes(b->module[i]);
		isc_symbols_unload(b->module[i]);
	}
}

static int64_t number_native(struct build *b, const isc_profile_frame *f)
{
	isc_symbols *module = NULL;
	isc_symbol symbol;

	if (f->text != 0) {
		module = module_of(b, f->text);
		if (module == NULL)
			return NAME_NONE;
		unload_most(b, module);
	}
	isc_symbols_find(module, f->address, (f->flags & ISC_PLACE_CALLER) != 0, &symbol);
	return number(b, &(isc_profile_name){.symbol = symbol.name,
					     .symbol_len = strlen(symbol.name),
					     .file = symbol.file,
					     .file_len = strnlen(symbol.file, 4096),
					     .line = symbol.line});
}

static int64_t name_of(struct build *b, uint32_t frame)
{
	const isc_profile_frame *f;
	uint64_t *known;
	int64_t name;

	if (frame == ISC_PROFILE_CUT)
		return NAME_CUT;
	if (frame == 0 || frame > ISC_PROFILE_FRAMES)
		return NAME_NONE;
	known = isc_hashmap_put(&b->by_frame, frame, NULL);
	if (known == NULL)
		return -1;
	if (*known != 0)
		return (int64_t)*known - 1;
	f = &b->p->frame[frame - 1];
	if (atomic_load_explicit(&f->ready, memory_order_acquire) != 2)
		name = NAME_NONE;
	else
		name = f->kind == ISC_PROFILE_PYTHON ? number_python(b, f) : number_native(b, f);
	/* Finding a name puts into other maps alone. */
	if (name >= 0)
		*known = (uint64_t)name + 1;
	return name;
}

/* ---- stacks -------------------------------------------------------------- */

/* Names of a stack, newest first; how many, -1: no memory. */
static int names_of(struct build *b, uint32_t node, uint32_t *names)
{
	int n = 0;

	if (node >= ISC_PROFILE_OTHER) {
		names[0] = node == ISC_PROFILE_OTHER ? NAME_OTHER : NAME_UNKNOWN;
		return 1;
	}
	while (node != 0 && n < (int)DEPTH_MOST) {
		uint64_t word = node <= ISC_PROFILE_NODES ? atomic_load(&b->p->node[node - 1]) : 0;
		int64_t name = name_of(b, (uint32_t)word);

		if (name < 0)
			return -1;
		names[n++] = (uint32_t)name;
		node = (uint32_t)(word >> 32);
	}
	return n;
}

/* The node of these names in a tree of names; 0: no memory. */
static uint32_t node_of(struct build *b, const uint32_t *names, int n)
{
	uint32_t node = 0;

	for (int i = n - 1; i >= 0; i--) {
		uint64_t *next = isc_hashmap_put(&b->by_parent, isc_hashmap_key(node, names[i]), NULL);

		if (next == NULL)
			return 0;
		if (*next == 0)
			*next = ++b->nodes;
		node = (uint32_t)*next;
	}
	return node;
}

static isc_profile_line *line_of(struct build *b, const uint32_t *names, int n, uint32_t tid, uint64_t **ns)
{
	isc_profile_model *m = b->m;
	uint32_t node = node_of(b, names, n), *copy;
	uint64_t *known = node != 0 ? isc_hashmap_put(&b->by_stack, isc_hashmap_key(node, tid), NULL) : NULL;
	isc_profile_line *line;

	if (known == NULL)
		return NULL;
	if (*known == 0) {
		line = isc_arena_push(m->arena, &m->stack, &m->stacks, &m->stacks_room, sizeof(*line));
		copy = isc_arena_array(m->arena, (size_t)n, sizeof(*copy));
		if (line == NULL || copy == NULL ||
		    isc_arena_push(b->modules, &b->ns, &b->ns_count, &b->ns_room, sizeof(*b->ns)) == NULL)
			return NULL;
		for (int i = 0; i < n; i++)
			copy[i] = names[n - 1 - i];
		*line = (isc_profile_line){.name = copy, .frames = (uint32_t)n, .tid = tid};
		*known = m->stacks;
	}
	*ns = &b->ns[*known - 1];
	return &m->stack[*known - 1];
}

static bool add_stack(struct build *b, const isc_profile_stack *s)
{
	uint64_t key = atomic_load_explicit(&s->key, memory_order_acquire), *ns;
	uint32_t names[DEPTH_MOST];
	isc_profile_line *line;
	int n;

	/* Claimed, and its first sample is not counted yet. */
	if (key == 0 || atomic_load(&s->ns) == 0)
		return true;
	n = names_of(b, (uint32_t)(key >> 32), names);
	if (n <= 0)
		return n == 0;
	line = line_of(b, names, n, (uint32_t)key, &ns);
	if (line == NULL)
		return false;
	*ns += atomic_load(&s->ns);
	line->counted += atomic_load(&s->counted);
	/* Without a sign: a damaged one may be anything. */
	line->memory = (int64_t)((uint64_t)line->memory + (uint64_t)atomic_load(&s->memory));
	return true;
}

static int by_count(const void *one, const void *two)
{
	const isc_profile_line *a = one, *b = two;
	uint32_t least = a->frames < b->frames ? a->frames : b->frames;

	if (a->count != b->count)
		return a->count < b->count ? 1 : -1;
	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	/* The same order for the same profile. */
	for (uint32_t i = 0; i < least; i++) {
		if (a->name[i] != b->name[i])
			return a->name[i] < b->name[i] ? -1 : 1;
	}
	return a->frames < b->frames ? -1 : a->frames > b->frames;
}

static bool fill(struct build *b)
{
	isc_profile_model *m = b->m;
	uint64_t step = b->p->interval_ns != 0 ? b->p->interval_ns : 1, lost = atomic_load(&b->p->unplaced_ns);

	if (number_words(b, "(other)") != NAME_OTHER || number_words(b, "(unknown)") != NAME_UNKNOWN ||
	    number_words(b, "(cut)") != NAME_CUT || number_words(b, "?") != NAME_NONE)
		return false;
	for (uint32_t i = 0; i < ISC_PROFILE_STACKS; i++) {
		if (!add_stack(b, &b->p->stack[i]))
			return false;
	}
	if (lost > 0) {
		uint32_t other = NAME_OTHER;
		uint64_t *ns;

		if (line_of(b, &other, 1, 0, &ns) == NULL)
			return false;
		*ns += lost;
	}
	for (size_t i = 0; i < m->stacks; i++) {
		isc_profile_line *line = &m->stack[i];

		/* A session may change its steps. */
		line->count = (b->ns[i] + step / 2) / step;
		m->total += line->count;
		m->other += line->name[0] == NAME_OTHER ? line->count : 0;
		m->unknown += line->name[0] == NAME_UNKNOWN ? line->count : 0;
	}
	if (m->stacks > 1)
		qsort(m->stack, m->stacks, sizeof(*m->stack), by_count);
	while (m->stacks > 0 && m->stack[m->stacks - 1].count == 0)
		m->stacks--;
	return true;
}

isc_status isc_profile_model_init(isc_profile_model *m, const isc_profile *p, isc_error *err)
{
	struct build b = {.m = m, .p = p};
	bool filled;

	*m = (isc_profile_model){.interval_us = p->interval_ns / 1000,
				 .elapsed_us = isc_profile_elapsed_us(p),
				 .count_error = atomic_load(&p->count_error),
				 .memory_error = p->memory_error};
	m->arena = isc_arena_new();
	b.modules = isc_arena_new();
	filled = m->arena != NULL && b.modules != NULL && fill(&b);
	for (size_t i = 0; i < b.module_count; i++)
		isc_symbols_free(b.module[i]);
	isc_arena_free(b.modules);
	isc_hashmap_fini(&b.by_text);
	isc_hashmap_fini(&b.by_hash);
	isc_hashmap_fini(&b.by_frame);
	isc_hashmap_fini(&b.by_parent);
	isc_hashmap_fini(&b.by_stack);
	return filled ? ISC_OK : isc_fail(err, ISC_ERR_NOMEM, "no memory for the names of a profile");
}

void isc_profile_model_fini(isc_profile_model *m)
{
	isc_arena_free(m->arena);
	m->arena = NULL;
}
