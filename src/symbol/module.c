#include "symbol/module.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "symbol/demangle.h"
#include "symbol/elf.h"
#include "symbol/source_lines.h"

#define DEBUG_FOLDER "/usr/lib/debug/.build-id"

struct isc_symbols {
	char *path;
	uint8_t build[ISC_ELF_BUILD_MAX];
	size_t build_len;
	bool tried;    /* to read the file */
	isc_elf *elf;  /* NULL: not read, or it cannot be */
	isc_elf *full; /* from a separate debug file */
	isc_source_lines *source;
};

isc_symbols *isc_symbols_new(const char *path, size_t path_len, const uint8_t *build, size_t build_len)
{
	isc_symbols *m = build_len <= ISC_ELF_BUILD_MAX ? calloc(1, sizeof(*m)) : NULL;

	if (m == NULL)
		return NULL;
	m->path = strndup(path, path_len);
	if (m->path == NULL) {
		free(m);
		return NULL;
	}
	m->build_len = build_len;
	memcpy(m->build, build, build_len);
	return m;
}

void isc_symbols_unload(isc_symbols *m)
{
	isc_elf_close(m->elf);
	isc_elf_close(m->full);
	isc_source_lines_close(m->source);
	m->elf = m->full = NULL;
	m->source = NULL;
	m->tried = false;
}

void isc_symbols_free(isc_symbols *m)
{
	if (m == NULL)
		return;
	isc_symbols_unload(m);
	free(m->path);
	free(m);
}

bool isc_symbols_is(const isc_symbols *m, const char *path, size_t path_len, const uint8_t *build, size_t build_len)
{
	return m->build_len == build_len && memcmp(m->build, build, build_len) == 0 && strlen(m->path) == path_len &&
	       memcmp(m->path, path, path_len) == 0;
}

size_t isc_symbols_bytes(const isc_symbols *m)
{
	return (m->elf != NULL ? isc_elf_bytes(m->elf) : 0) + (m->full != NULL ? isc_elf_bytes(m->full) : 0);
}

/* ---- files --------------------------------------------------------------------- */

#define BUILD_NAME_MAX (2 * ISC_ELF_BUILD_MAX + 2)

/* "xx/yyyy", as folders of debug files have it. */
static bool build_name(const isc_symbols *m, char to[BUILD_NAME_MAX])
{
	int at = snprintf(to, BUILD_NAME_MAX, "%02x/", m->build[0]);

	for (size_t i = 1; i < m->build_len; i++)
		at += snprintf(to + at, BUILD_NAME_MAX - (size_t)at, "%02x", m->build[i]);
	return m->build_len > 1;
}

/* Is what lies under the path still what the program loaded? */
static bool is_loaded_one(const isc_symbols *m, const isc_elf *elf)
{
	const uint8_t *build;
	size_t len = isc_elf_build(elf, &build);

	return len == m->build_len && memcmp(build, m->build, len) == 0;
}

static isc_elf *open_checked(const isc_symbols *m, const char *path)
{
	isc_elf *elf = NULL;

	if (isc_elf_open(path, &elf, NULL) == ISC_OK && !is_loaded_one(m, elf)) {
		isc_elf_close(elf);
		elf = NULL;
	}
	return elf;
}

static void load(isc_symbols *m)
{
	char build[BUILD_NAME_MAX], debug[sizeof(DEBUG_FOLDER) + BUILD_NAME_MAX + 16];

	if (m->tried)
		return;
	m->tried = true;
	if (m->path[0] != '/')
		return;
	m->elf = open_checked(m, m->path);
	if (m->elf == NULL)
		return;
	if (build_name(m, build) && !isc_elf_complete(m->elf)) {
		snprintf(debug, sizeof(debug), DEBUG_FOLDER "/%s.debug", build);
		m->full = open_checked(m, debug);
	}
	m->source = isc_source_lines_open(m->path, m->full != NULL ? debug : NULL);
}

bool isc_symbols_look_in(isc_symbols *m, const char *folder)
{
	char build[BUILD_NAME_MAX], path[PATH_MAX];
	const struct {
		const char *between, *name, *ending;
	} tries[] = {{"/.build-id/", build, ".debug"},
		     {"/", build, ".debug"},
		     {"", m->path, ".debug"},
		     {"", m->path, ""},
		     {"/", isc_path_name(m->path), ".debug"},
		     {"/", isc_path_name(m->path), ""}};

	isc_symbols_unload(m);
	m->tried = true;
	if (!build_name(m, build))
		return false;
	for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]) && m->elf == NULL; i++) {
		int len = snprintf(path, sizeof(path), "%s%s%s%s", folder, tries[i].between, tries[i].name,
				   tries[i].ending);

		m->elf = len > 0 && (size_t)len < sizeof(path) ? open_checked(m, path) : NULL;
	}
	m->source = m->elf != NULL ? isc_source_lines_open(path, NULL) : NULL;
	return m->elf != NULL;
}

/* ---- names ----------------------------------------------------------------------- */

static void set_unknown(isc_symbol *to, const isc_symbols *m, uint64_t address)
{
	const char *name = isc_path_name(m->path);

	if (strcmp(name, "linux-vdso.so.1") == 0)
		snprintf(to->name, sizeof(to->name), "[vdso]+0x%" PRIx64, address);
	else
		snprintf(to->name, sizeof(to->name), "%.256s+0x%" PRIx64, name, address);
}

bool isc_symbols_find(isc_symbols *m, uint64_t address, bool caller, isc_symbol *out)
{
	uint64_t at = address - (caller ? 1 : 0);
	isc_elf_symbol symbol;
	bool found = false;
	char *plain;

	out->file = "";
	out->line = 0;
	if (m == NULL) {
		snprintf(out->name, sizeof(out->name), "[jit]");
		return false;
	}
	load(m);
	set_unknown(out, m, address);
	if (m->elf == NULL)
		return false;
	if ((m->full != NULL && isc_elf_find(m->full, at, &symbol)) || isc_elf_find(m->elf, at, &symbol)) {
		plain = isc_demangle(symbol.name);
		snprintf(out->name, sizeof(out->name), "%.*s",
			 plain != NULL ? (int)sizeof(out->name) : (int)strcspn(symbol.name, "@"),
			 plain != NULL ? plain : symbol.name);
		free(plain);
		found = true;
	} else if (isc_elf_is_stub(m->elf, at)) {
		snprintf(out->name, sizeof(out->name), "%.256s [plt]", isc_path_name(m->path));
	}
	if (m->source != NULL && !isc_source_lines_find(m->source, at, &out->file, &out->line)) {
		out->file = "";
		out->line = 0;
	}
	return found || out->line > 0;
}
