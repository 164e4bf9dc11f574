#include "session/renamer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/grow.h"
#include "base/hashmap.h"
#include "symbol/elf.h"
#include "symbol/module.h"

/* A program file of the trace, and what the folder has of it. */
struct module {
	isc_symbols *symbols;
	bool there;
};

struct renamer {
	isc_trace *trace;
	const char *folder;
	struct module *module;
	size_t count, room;
	isc_hashmap by_data; /* where the definition of a module lies -> its number + 1 */
};

static void close_all(struct renamer *r)
{
	for (size_t i = 0; i < r->count; i++)
		isc_symbols_free(r->module[i].symbols);
	free(r->module);
	isc_hashmap_fini(&r->by_data);
}

/* Every process defines its libraries: the same file is read once. */
static size_t find_same(const struct renamer *r, const char *path, size_t path_len, const uint8_t *build, size_t len)
{
	size_t i = 0;

	while (i < r->count && !isc_symbols_is(r->module[i].symbols, path, path_len, build, len))
		i++;
	return i;
}

static isc_status add_module(struct renamer *r, const char *data, uint32_t len, size_t *at)
{
	struct module *bigger, *m;
	isc_def_module head;

	if (len < sizeof(head))
		return ISC_ERR_CORRUPT;
	memcpy(&head, data, sizeof(head));
	data += sizeof(head);
	len -= (uint32_t)sizeof(head);
	if (head.build_len == 0 || head.build_len > ISC_ELF_BUILD_MAX || head.build_len > len ||
	    head.path_len != len - head.build_len || memchr(data + head.build_len, '\0', head.path_len) != NULL)
		return ISC_ERR_CORRUPT;
	*at = find_same(r, data + head.build_len, head.path_len, (const uint8_t *)data, head.build_len);
	if (*at < r->count)
		return ISC_OK;
	bigger = isc_grow(r->module, r->count, &r->room, sizeof(*bigger));
	if (bigger == NULL)
		return ISC_ERR_NOMEM;
	r->module = bigger;
	m = &r->module[r->count];
	m->symbols = isc_symbols_new(data + head.build_len, head.path_len, (const uint8_t *)data, head.build_len);
	if (m->symbols == NULL)
		return ISC_ERR_NOMEM;
	m->there = isc_symbols_look_in(m->symbols, r->folder);
	r->count++;
	return ISC_OK;
}

/* NULL: no such module, or nothing of it in the folder; *st tells of want of memory. */
static isc_symbols *module_of(struct renamer *r, uint32_t process, uint32_t id, isc_status *st)
{
	uint32_t len = 0;
	const char *data = isc_trace_define(r->trace, process, id, ISC_DEF_MODULE, &len);
	uint64_t *number;
	size_t at = 0;

	*st = ISC_OK;
	if (data == NULL)
		return NULL;
	number = isc_hashmap_find(&r->by_data, (uint64_t)(uintptr_t)data);
	if (number == NULL) {
		*st = add_module(r, data, len, &at);
		if (*st == ISC_ERR_NOMEM)
			return NULL;
		number = isc_hashmap_put(&r->by_data, (uint64_t)(uintptr_t)data, NULL);
		if (number == NULL) {
			*st = ISC_ERR_NOMEM;
			return NULL;
		}
		*number = *st == ISC_OK ? at + 1 : 0;
		*st = ISC_OK;
	}
	return *number != 0 && r->module[*number - 1].there ? r->module[*number - 1].symbols : NULL;
}

/* A place that the folder knows nothing of keeps the name that it has. */
static isc_status rename_place(struct renamer *r, uint32_t process, uint32_t id, const isc_def_native *place)
{
	char data[sizeof(isc_def_code) + ISC_SYMBOL_NAME_MAX + 4096];
	isc_status st;
	isc_symbols *m = place->module != 0 ? module_of(r, process, place->module, &st) : NULL;
	isc_def_code code = {.flags = ISC_CODE_NATIVE};
	isc_symbol name;

	if (place->module == 0)
		return ISC_OK;
	if (m == NULL || !isc_symbols_find(m, place->offset, (place->flags & ISC_PLACE_CALLER) != 0, &name))
		return st;
	code.line = name.line;
	code.name_len = (uint32_t)strlen(name.name);
	code.file_len = (uint32_t)strnlen(name.file, 4096);
	memcpy(data, &code, sizeof(code));
	memcpy(data + sizeof(code), name.name, code.name_len);
	memcpy(data + sizeof(code) + code.name_len, name.file, code.file_len);
	return isc_trace_redefine(r->trace, process, id | ISC_DEF_NAMED, ISC_DEF_CODE, data,
				  (uint32_t)sizeof(code) + code.name_len + code.file_len);
}

static isc_status rename_all(struct renamer *r)
{
	uint32_t process, id, len;
	isc_status st = ISC_OK;
	isc_def_native place;
	const void *data;
	uint16_t type;

	/* Names come behind what is there, and are no places. */
	for (size_t i = 0;
	     st == ISC_OK && (data = isc_trace_define_at(r->trace, i, &process, &id, &type, &len)) != NULL; i++) {
		if (type != ISC_DEF_NATIVE || len != sizeof(place))
			continue;
		memcpy(&place, data, sizeof(place));
		st = rename_place(r, process, id, &place);
	}
	return st;
}

isc_status isc_renamer_run(isc_trace *trace, const char *folder, size_t *modules, isc_error *err)
{
	struct renamer r = {.trace = trace, .folder = folder};
	struct stat sb;
	isc_status st;

	*modules = 0;
	if (stat(folder, &sb) < 0)
		return isc_fail(err, ISC_ERR_INVALID, "--symbols: %s: %s", folder, strerror(errno));
	if (!S_ISDIR(sb.st_mode))
		return isc_fail(err, ISC_ERR_INVALID, "--symbols: %s is not a folder", folder);
	st = rename_all(&r);
	for (size_t i = 0; i < r.count; i++)
		*modules += r.module[i].there;
	close_all(&r);
	return st == ISC_OK ? ISC_OK : isc_fail(err, st, "no room for the names that --symbols gives");
}
