#include "symbol/source_lines.h"

#include <stddef.h>

#if ISC_HAS_DW

#include <dlfcn.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbol/deep.h"

struct isc_source_lines {
	Dwfl *dwfl;
	Dwfl_Module *module;
	char *debug;
	GElf_Addr bias;
};

/* Not linked: a machine without it has names all the same. */
static struct {
	__typeof__(dwfl_begin) *begin;
	__typeof__(dwfl_end) *end;
	__typeof__(dwfl_report_elf) *report_elf;
	__typeof__(dwfl_report_end) *report_end;
	__typeof__(dwfl_module_info) *module_info;
	__typeof__(dwfl_module_getdwarf) *module_getdwarf;
	__typeof__(dwfl_module_getsrc) *module_getsrc;
	__typeof__(dwfl_lineinfo) *lineinfo;
} dw;

static bool find_library(void)
{
	static int known; /* 1: there, -1: not there */
	static const struct {
		const char *name;
		size_t at;
	} wanted[] = {{"dwfl_begin", offsetof(__typeof__(dw), begin)},
		      {"dwfl_end", offsetof(__typeof__(dw), end)},
		      {"dwfl_report_elf", offsetof(__typeof__(dw), report_elf)},
		      {"dwfl_report_end", offsetof(__typeof__(dw), report_end)},
		      {"dwfl_module_info", offsetof(__typeof__(dw), module_info)},
		      {"dwfl_module_getdwarf", offsetof(__typeof__(dw), module_getdwarf)},
		      {"dwfl_module_getsrc", offsetof(__typeof__(dw), module_getsrc)},
		      {"dwfl_lineinfo", offsetof(__typeof__(dw), lineinfo)}};
	void *library;

	if (known != 0)
		return known > 0;
	known = -1;
	library = dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);
	if (library == NULL)
		return false;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		void *symbol = dlsym(library, wanted[i].name);

		if (symbol == NULL)
			return false;
		memcpy((char *)&dw + wanted[i].at, &symbol, sizeof(symbol));
	}
	known = 1;
	return true;
}

/* The file that we name and no other: libdw's own search would ask servers on the network. */
static int find_debug(Dwfl_Module *module, void **self, const char *name, Dwarf_Addr base, const char *file,
		      const char *link, GElf_Word crc, char **found)
{
	isc_source_lines *s = *self;

	(void)module;
	(void)name;
	(void)base;
	(void)file;
	(void)link;
	(void)crc;
	if (s == NULL || s->debug == NULL)
		return -1;
	*found = strdup(s->debug);
	return *found != NULL ? open(s->debug, O_RDONLY | O_CLOEXEC) : -1;
}

static int find_elf(Dwfl_Module *module, void **self, const char *name, Dwarf_Addr base, char **file, Elf **elf)
{
	(void)module;
	(void)self;
	(void)name;
	(void)base;
	(void)file;
	(void)elf;
	return -1;
}

static void close_source(void *self)
{
	isc_source_lines *s = self;

	if (s->dwfl != NULL)
		dw.end(s->dwfl);
	free(s->debug);
	free(s);
}

static isc_source_lines *open_source(const char *path, const char *debug)
{
	static const Dwfl_Callbacks callbacks = {.find_elf = find_elf, .find_debuginfo = find_debug};
	isc_source_lines *s;
	int fd;

	if (!find_library())
		return NULL;
	s = calloc(1, sizeof(*s));
	if (s == NULL)
		return NULL;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (debug != NULL)
		s->debug = strdup(debug);
	s->dwfl = fd >= 0 ? dw.begin(&callbacks) : NULL;
	if (s->dwfl != NULL) {
		s->module = dw.report_elf(s->dwfl, path, path, fd, 0, true);
		if (s->module != NULL) {
			fd = -1; /* it is theirs now */
			dw.report_end(s->dwfl, NULL, NULL);
		}
	}
	if (fd >= 0)
		close(fd);
	if (s->module != NULL) {
		void **self = NULL;

		dw.module_info(s->module, &self, NULL, NULL, NULL, NULL, NULL, NULL);
		if (self != NULL)
			*self = s;
	}
	if (s->module == NULL || dw.module_getdwarf(s->module, &s->bias) == NULL) {
		close_source(s);
		return NULL;
	}
	return s;
}

static bool find_line(const isc_source_lines *s, uint64_t address, const char **file, uint32_t *line)
{
	Dwfl_Line *found = dw.module_getsrc(s->module, address);
	int number = 0;

	if (found == NULL)
		return false;
	*file = dw.lineinfo(found, NULL, &number, NULL, NULL, NULL);
	*line = number > 0 ? (uint32_t)number : 0;
	return *file != NULL && number > 0;
}

/* ---- with room for what libdw puts on the stack ---------------------------------- */

struct opening {
	const char *path, *debug;
	isc_source_lines *source;
};

static void open_deep(void *self)
{
	struct opening *o = self;

	o->source = open_source(o->path, o->debug);
}

isc_source_lines *isc_source_lines_open(const char *path, const char *debug)
{
	struct opening o = {path, debug, NULL};

	isc_deep_call(open_deep, &o);
	return o.source;
}

void isc_source_lines_close(isc_source_lines *s)
{
	if (s != NULL)
		isc_deep_call(close_source, s);
}

struct line_finding {
	const isc_source_lines *source;
	uint64_t address;
	const char *file;
	uint32_t line;
	bool found;
};

static void find_deep(void *self)
{
	struct line_finding *f = self;

	f->found = find_line(f->source, f->address, &f->file, &f->line);
}

bool isc_source_lines_find(isc_source_lines *s, uint64_t address, const char **file, uint32_t *line)
{
	struct line_finding f = {.source = s, .address = address};

	if (!isc_deep_call(find_deep, &f) || !f.found)
		return false;
	*file = f.file;
	*line = f.line;
	return true;
}

#else

isc_source_lines *isc_source_lines_open(const char *path, const char *debug)
{
	(void)path;
	(void)debug;
	return NULL;
}

void isc_source_lines_close(isc_source_lines *s)
{
	(void)s;
}

bool isc_source_lines_find(isc_source_lines *s, uint64_t address, const char **file, uint32_t *line)
{
	(void)s;
	(void)address;
	(void)file;
	(void)line;
	return false;
}

#endif
