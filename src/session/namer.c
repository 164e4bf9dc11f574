#include "session/namer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hashmap.h"
#include "base/path.h"
#include "symbol/demangle.h"
#include "symbol/elf.h"
#include "symbol/source.h"

#define WAITING_MAX (1u << 18) /* places; what comes then stays without a name */
#define MODULES_MAX 65536u
#define LOADED_MAX (256u << 20) /* bytes of symbols at once */
#define NAME_LENGTH_MAX 1024u	/* of a function; the rest of a longer one is cut */
#define DEBUG_FOLDER "/usr/lib/debug/.build-id"

struct module {
	char *path;
	uint8_t build[ISC_ELF_BUILD_MAX];
	uint32_t build_len;
	bool tried;    /* to read the file */
	isc_elf *elf;  /* NULL: not read, or it cannot be */
	isc_elf *full; /* from a separate debug file */
	isc_source *source;
};

struct place {
	uint32_t process, id;
	isc_def_native at;
};

struct isc_namer {
	isc_hashmap by_id; /* process and id of a module -> its number + 1 */
	isc_hashmap by_hash;
	struct module *module;
	size_t modules, modules_room;
	struct place *place;
	size_t first, places, places_room; /* from first on they wait */
	size_t loaded;			   /* bytes */
};

isc_namer *isc_namer_new(void)
{
	return calloc(1, sizeof(isc_namer));
}

static void unload(isc_namer *n, struct module *m)
{
	if (m->elf != NULL)
		n->loaded -= isc_elf_bytes(m->elf);
	if (m->full != NULL)
		n->loaded -= isc_elf_bytes(m->full);
	isc_elf_close(m->elf);
	isc_elf_close(m->full);
	isc_source_close(m->source);
	m->elf = m->full = NULL;
	m->source = NULL;
	m->tried = false;
}

void isc_namer_free(isc_namer *n)
{
	if (n == NULL)
		return;
	for (size_t i = 0; i < n->modules; i++) {
		unload(n, &n->module[i]);
		free(n->module[i].path);
	}
	free(n->module);
	free(n->place);
	isc_hashmap_fini(&n->by_id);
	isc_hashmap_fini(&n->by_hash);
	free(n);
}

static void *grow(void *items, size_t count, size_t *room, size_t size)
{
	size_t more = *room != 0 ? *room * 2 : 64;
	void *bigger;

	if (count < *room)
		return items;
	bigger = realloc(items, more * size);
	if (bigger != NULL)
		*room = more;
	return bigger;
}

/* ---- what there is ----------------------------------------------------------- */

static uint64_t hash_of(const char *text, size_t len)
{
	uint64_t h = 0xcbf29ce484222325ull;

	for (size_t i = 0; i < len; i++)
		h = (h ^ (unsigned char)text[i]) * 0x100000001b3ull;
	return h;
}

static bool is_same(const struct module *m, const isc_def_module *head, const char *text)
{
	return m->build_len == head->build_len && memcmp(m->build, text, m->build_len) == 0 &&
	       strlen(m->path) == head->path_len && memcmp(m->path, text + head->build_len, head->path_len) == 0;
}

static void add_module(isc_namer *n, uint32_t process, uint32_t id, const void *data, uint32_t len)
{
	const char *text = (const char *)data + sizeof(isc_def_module);
	isc_def_module head;
	struct module m = {0}, *bigger;
	uint64_t *same, *mine;

	if (len < sizeof(head))
		return;
	memcpy(&head, data, sizeof(head));
	len -= (uint32_t)sizeof(head);
	if (head.build_len > sizeof(m.build) || head.build_len > len || head.path_len != len - head.build_len ||
	    memchr(text + head.build_len, '\0', head.path_len) != NULL || n->modules >= MODULES_MAX)
		return;
	same = isc_hashmap_put(&n->by_hash, hash_of(text, len), NULL);
	if (same == NULL)
		return;
	if (*same == 0 || !is_same(&n->module[*same - 1], &head, text)) {
		bigger = grow(n->module, n->modules, &n->modules_room, sizeof(*bigger));
		if (bigger == NULL)
			return;
		n->module = bigger;
		m.path = strndup(text + head.build_len, head.path_len);
		if (m.path == NULL)
			return;
		m.build_len = head.build_len;
		memcpy(m.build, text, head.build_len);
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
	bigger = grow(n->place, n->places, &n->places_room, sizeof(*bigger));
	if (bigger == NULL)
		return;
	n->place = bigger;
	n->place[n->places] = (struct place){.process = process, .id = id};
	memcpy(&n->place[n->places++].at, data, sizeof(isc_def_native));
}

/* ---- files --------------------------------------------------------------------- */

/* "xx/yyyy.debug" below the folder of debug files. */
static bool debug_path(const struct module *m, char *to, size_t room)
{
	int at = snprintf(to, room, DEBUG_FOLDER "/%02x/", m->build[0]);

	for (uint32_t i = 1; i < m->build_len; i++)
		at += snprintf(to + at, room - (size_t)at, "%02x", m->build[i]);
	snprintf(to + at, room - (size_t)at, ".debug");
	return m->build_len > 1;
}

/* Is what lies under the path still what the program loaded? */
static bool is_loaded_one(const struct module *m, const isc_elf *elf)
{
	const uint8_t *build;
	size_t len = isc_elf_build(elf, &build);

	return len == m->build_len && memcmp(build, m->build, len) == 0;
}

static isc_elf *open_checked(const struct module *m, const char *path)
{
	isc_elf *elf = NULL;

	if (isc_elf_open(path, &elf, NULL) == ISC_OK && !is_loaded_one(m, elf)) {
		isc_elf_close(elf);
		elf = NULL;
	}
	return elf;
}

static void load(isc_namer *n, struct module *m)
{
	char debug[sizeof(DEBUG_FOLDER) + 2 * ISC_ELF_BUILD_MAX + 16];
	bool has_debug;

	if (m->tried)
		return;
	m->tried = true;
	if (m->path[0] != '/')
		return;
	for (size_t i = 0; i < n->modules && n->loaded > LOADED_MAX; i++) {
		if (&n->module[i] != m && n->module[i].elf != NULL)
			unload(n, &n->module[i]);
	}
	m->elf = open_checked(m, m->path);
	if (m->elf == NULL)
		return;
	n->loaded += isc_elf_bytes(m->elf);
	has_debug = debug_path(m, debug, sizeof(debug));
	if (has_debug && !isc_elf_complete(m->elf))
		m->full = open_checked(m, debug);
	if (m->full != NULL)
		n->loaded += isc_elf_bytes(m->full);
	m->source = isc_source_open(m->path, m->full != NULL ? debug : NULL);
}

/* ---- names ----------------------------------------------------------------------- */

struct name {
	char text[NAME_LENGTH_MAX];
	const char *file;
	uint32_t line;
};

static void set_unknown(struct name *to, const struct module *m, uint64_t offset)
{
	const char *name = isc_path_name(m->path);

	if (strcmp(name, "linux-vdso.so.1") == 0)
		snprintf(to->text, sizeof(to->text), "[vdso]+0x%" PRIx64, offset);
	else
		snprintf(to->text, sizeof(to->text), "%.256s+0x%" PRIx64, name, offset);
}

static void find_name(isc_namer *n, const struct place *p, struct module *m, struct name *to)
{
	/* A return address may be the first of the next function. */
	uint64_t at = p->at.offset - ((p->at.flags & ISC_PLACE_CALLER) ? 1 : 0);
	isc_elf_symbol symbol;
	char *plain;

	*to = (struct name){.file = ""};
	if (m == NULL) {
		snprintf(to->text, sizeof(to->text), "[jit]");
		return;
	}
	load(n, m);
	set_unknown(to, m, p->at.offset);
	if (m->elf == NULL)
		return;
	if ((m->full != NULL && isc_elf_find(m->full, at, &symbol)) || isc_elf_find(m->elf, at, &symbol)) {
		plain = isc_demangle(symbol.name);
		snprintf(to->text, sizeof(to->text), "%.*s",
			 plain != NULL ? (int)sizeof(to->text) : (int)strcspn(symbol.name, "@"),
			 plain != NULL ? plain : symbol.name);
		free(plain);
	} else if (isc_elf_is_stub(m->elf, at)) {
		snprintf(to->text, sizeof(to->text), "%.256s [plt]", isc_path_name(m->path));
	}
	if (m->source != NULL && !isc_source_find(m->source, at, &to->file, &to->line)) {
		to->file = "";
		to->line = 0;
	}
}

static isc_status write_name(isc_writer *writer, const struct place *p, const struct name *name, isc_error *err)
{
	size_t name_len = strlen(name->text), file_len = strnlen(name->file, 4096);
	isc_def_code head = {name->line, ISC_CODE_NATIVE, (uint32_t)name_len, (uint32_t)file_len};
	char def[sizeof(head) + NAME_LENGTH_MAX + 4096];

	memcpy(def, &head, sizeof(head));
	memcpy(def + sizeof(head), name->text, name_len);
	memcpy(def + sizeof(head) + name_len, name->file, file_len);
	return isc_writer_define(writer, p->process, p->id | ISC_DEF_NAMED, ISC_DEF_CODE, def,
				 (uint32_t)(sizeof(head) + name_len + file_len), err);
}

isc_status isc_namer_work(isc_namer *n, isc_writer *writer, uint64_t until_ns, bool *left, isc_error *err)
{
	isc_status st = ISC_OK;
	struct name name;

	while (n->first < n->places && st == ISC_OK && isc_clock_mono_ns() < until_ns) {
		const struct place *p = &n->place[n->first++];
		const uint64_t *module = isc_hashmap_find(&n->by_id, isc_hashmap_key(p->process, p->at.module));

		/* The reader names it by its offset. */
		if (p->at.module != 0 && module == NULL)
			continue;
		find_name(n, p, p->at.module != 0 ? &n->module[*module - 1] : NULL, &name);
		st = write_name(writer, p, &name, err);
	}
	*left = n->first < n->places;
	return st;
}
