#include "trace/kin.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/record.h"

/* Ids are places in a file, so neighbours are of the same time: they share pages of this many. */
#define PAGE_BITS 6u
#define PAGE_IDS (1u << PAGE_BITS)
#define ANCESTORS_MAX 256 /* forks of forks; a broken file may have a circle */

_Static_assert(sizeof(((isc_kin *)NULL)->page[0]) / sizeof(uint32_t) == PAGE_IDS, "page");

void isc_kin_fini(isc_kin *k)
{
	isc_hashmap_fini(&k->by_page);
	isc_hashmap_fini(&k->by_file);
	free(k->page);
	*k = (isc_kin){0};
}

static bool put(isc_kin *k, uint32_t process, uint32_t id, uint32_t kin)
{
	void *bigger = isc_grow(k->page, k->count, &k->room, sizeof(*k->page));
	uint64_t *at;
	bool fresh;

	if (bigger == NULL)
		return false;
	k->page = bigger;
	at = isc_hashmap_put(&k->by_page, isc_hashmap_key(process, id >> PAGE_BITS), &fresh);
	if (at == NULL)
		return false;
	if (fresh) {
		memset(k->page[k->count], 0, sizeof(*k->page));
		*at = k->count++;
	}
	k->page[*at][id % PAGE_IDS] = kin;
	return true;
}

static uint64_t hash_file(uint32_t process, const char *at, size_t len)
{
	uint64_t h = 0x9e3779b97f4a7c15ull ^ process;

	for (size_t i = 0; i < len; i++)
		h = (h ^ (unsigned char)at[i]) * 0x100000001b3ull;
	return h ^ h >> 29;
}

static bool is_named(const char *name, uint32_t len, const char *word)
{
	return len == strlen(word) && memcmp(name, word, len) == 0;
}

static bool is_file(const char *file, uint32_t len, const char *end)
{
	size_t n = strlen(end);

	return len >= n && memcmp(file + len - n, end, n) == 0;
}

/* What the interpreter uses it for. */
static uint32_t role_of(const char *name, uint32_t name_len, const char *file, uint32_t file_len)
{
	if (is_named(name, name_len, "<module>"))
		return ISC_KIN_MODULE;
	if (is_named(name, name_len, "_shutdown") && is_file(file, file_len, "/threading.py"))
		return ISC_KIN_SHUTDOWN;
	if (is_named(name, name_len, "_run_code") && is_file(file, file_len, "/runpy.py"))
		return ISC_KIN_RUNNER;
	return 0;
}

static bool note_code(isc_kin *k, uint32_t process, uint32_t id, const char *data, uint32_t len)
{
	isc_def_code head;
	uint64_t *first;
	uint32_t role;
	bool fresh;

	if (len < sizeof(head))
		return true;
	memcpy(&head, data, sizeof(head));
	len -= (uint32_t)sizeof(head);
	if (head.name_len > len || head.file_len > len - head.name_len)
		return true;
	data += sizeof(head);
	role = role_of(data, head.name_len, data + head.name_len, head.file_len);
	first = isc_hashmap_put(&k->by_file, hash_file(process, data + head.name_len, head.file_len), &fresh);
	if (first == NULL)
		return false;
	if (fresh)
		*first = id;
	return put(k, process, id, ((uint32_t)*first & ~ISC_KIN_ROLES) | role);
}

bool isc_kin_note(isc_kin *k, uint32_t process, uint32_t id, uint16_t type, const void *data, uint32_t len)
{
	isc_def_stack stack;

	if (id & ISC_DEF_NAMED)
		return true;
	if (type == ISC_DEF_CODE)
		return note_code(k, process, id, data, len);
	if (type != ISC_DEF_STACK || len < sizeof(stack))
		return true;
	memcpy(&stack, data, sizeof(stack));
	/* Parents are defined first; in a broken file they may go round.  A native frame has neither offset nor lines. */
	return stack.parent == 0 || stack.parent >= id ||
	       put(k, process, id, stack.parent | (stack.offset == 0 && stack.lines == 0 ? ISC_KIN_NATIVE : 0));
}

uint32_t isc_kin_of(const isc_kin *k, const isc_session_state *state, uint32_t process, uint32_t id)
{
	for (int i = 0; i < ANCESTORS_MAX; i++) {
		const uint64_t *at = isc_hashmap_find(&k->by_page, isc_hashmap_key(process, id >> PAGE_BITS));
		uint32_t kin = at != NULL ? k->page[*at][id % PAGE_IDS] : 0;
		const isc_trace_process *p;

		if (kin != 0)
			return kin;
		p = isc_session_state_process(state, process);
		if (p == NULL || id >= p->defs_base_id)
			return 0;
		p = isc_session_state_process_of_gen(state, p->defs_parent_gen);
		if (p == NULL || p->process == process)
			return 0;
		process = p->process;
	}
	return 0;
}
