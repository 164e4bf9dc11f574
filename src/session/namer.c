#include "session/namer.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/grow.h"
#include "base/hashmap.h"
#include "symbol/elf.h"
#include "symbol/module.h"

#define WAITING_MAX (1u << 18) /* places; what comes then stays without a name */
#define MODULES_MAX 65536u
#define LOADED_MAX (256u << 20) /* bytes of symbols at once */

struct place {
	uint32_t process, id;
	isc_def_native at;
};

struct isc_namer {
	isc_hashmap by_id; /* process and id of a module -> its number + 1 */
	isc_hashmap by_hash;
	isc_symbols **module;
	size_t modules, modules_room;
	struct place *place;
	size_t first, places, places_room; /* from first on they wait */
	size_t loaded;			   /* bytes */
};

isc_namer *isc_namer_new(void)
{
	return calloc(1, sizeof(isc_namer));
}

void isc_namer_free(isc_namer *n)
{
	if (n == NULL)
		return;
	for (size_t i = 0; i < n->modules; i++)
		isc_symbols_free(n->module[i]);
	free(n->module);
	free(n->place);
	isc_hashmap_fini(&n->by_id);
	isc_hashmap_fini(&n->by_hash);
	free(n);
}

/* ---- what there is ----------------------------------------------------------- */

static uint64_t hash_of(const char *text, size_t len)
{
	uint64_t h = 0xcbf29ce484222325ull;

	for (size_t i = 0; i < len; i++)
		h = (h ^ (unsigned char)text[i]) * 0x100000001b3ull;
	return h;
}

static void add_module(isc_namer *n, uint32_t process, uint32_t id, const void *data, uint32_t len)
{
	const char *text = (const char *)data + sizeof(isc_def_module);
	const uint8_t *build = (const uint8_t *)text;
	isc_def_module head;
	isc_symbols *m, **bigger;
	uint64_t *same, *mine;

	if (len < sizeof(head))
		return;
	memcpy(&head, data, sizeof(head));
	len -= (uint32_t)sizeof(head);
	if (head.build_len > ISC_ELF_BUILD_MAX || head.build_len > len || head.path_len != len - head.build_len ||
	    memchr(text + head.build_len, '\0', head.path_len) != NULL || n->modules >= MODULES_MAX)
		return;
	same = isc_hashmap_put(&n->by_hash, hash_of(text, len), NULL);
	if (same == NULL)
		return;
	if (*same == 0 ||
	    !isc_symbols_is(n->module[*same - 1], text + head.build_len, head.path_len, build, head.build_len)) {
		bigger = isc_grow(n->module, n->modules, &n->modules_room, sizeof(*bigger));
		if (bigger == NULL)
			return;
		n->module = bigger;
		m = isc_symbols_new(text + head.build_len, head.path_len, build, head.build_len);
		if (m == NULL)
			return;
		n->module[n->modules++] = m;
		*same = n->modules;
	}
	mine = isc_hashmap_put(&n->by_id, isc_hashmap_key(process, id), NULL);
	same = isc_hashmap_find(&n->by_hash, hash_of(text, len));
	if (mine != NULL)
		*mine = *same;
}

void isc_namer_define(isc_namer *n, uint32_t process, uint32_t id, uint16_t type, const void *data, uint32_t len)
{
	struct place *bigger;

	if (type == ISC_DEF_MODULE)
		add_module(n, process, id, data, len);
	if (type != ISC_DEF_NATIVE || len != sizeof(isc_def_native) || n->places - n->first >= WAITING_MAX)
		return;
	if (n->first == n->places)
		n->first = n->places = 0;
	bigger = isc_grow(n->place, n->places, &n->places_room, sizeof(*bigger));
	if (bigger == NULL)
		return;
	n->place = bigger;
	n->place[n->places] = (struct place){.process = process, .id = id};
	memcpy(&n->place[n->places++].at, data, sizeof(isc_def_native));
}

/* ---- names ----------------------------------------------------------------------- */

static void find_name(isc_namer *n, const struct place *p, isc_symbols *m, isc_symbol *to)
{
	size_t before = m != NULL ? isc_symbols_bytes(m) : 0;

	if (m != NULL && before == 0) {
		for (size_t i = 0; i < n->modules && n->loaded > LOADED_MAX; i++) {
			if (isc_symbols_bytes(n->module[i]) == 0)
				continue;
			n->loaded -= isc_symbols_bytes(n->module[i]);
			isc_symbols_unload(n->module[i]);
		}
	}
	isc_symbols_find(m, p->at.offset, (p->at.flags & ISC_PLACE_CALLER) != 0, to);
	if (m != NULL)
		n->loaded += isc_symbols_bytes(m) - before;
}

static isc_status write_name(isc_writer *writer, const struct place *p, const isc_symbol *name, isc_error *err)
{
	size_t name_len = strlen(name->name), file_len = strnlen(name->file, 4096);
	isc_def_code head = {name->line, ISC_CODE_NATIVE, (uint32_t)name_len, (uint32_t)file_len};
	char def[sizeof(head) + ISC_SYMBOL_NAME_MAX + 4096];

	memcpy(def, &head, sizeof(head));
	memcpy(def + sizeof(head), name->name, name_len);
	memcpy(def + sizeof(head) + name_len, name->file, file_len);
	return isc_writer_define(writer, p->process, p->id | ISC_DEF_NAMED, ISC_DEF_CODE, def,
				 (uint32_t)(sizeof(head) + name_len + file_len), err);
}

isc_status isc_namer_work(isc_namer *n, isc_writer *writer, uint64_t until_ns, bool *left, isc_error *err)
{
	isc_status st = ISC_OK;
	isc_symbol name;

	while (n->first < n->places && st == ISC_OK && isc_clock_mono_ns() < until_ns) {
		const struct place *p = &n->place[n->first++];
		const uint64_t *module = isc_hashmap_find(&n->by_id, isc_hashmap_key(p->process, p->at.module));

		/* The reader names it by its offset. */
		if (p->at.module != 0 && module == NULL)
			continue;
		find_name(n, p, p->at.module != 0 ? n->module[*module - 1] : NULL, &name);
		st = write_name(writer, p, &name, err);
	}
	*left = n->first < n->places;
	return st;
}
