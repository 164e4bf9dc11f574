/*
 * module.h - names for places in one program file or library.
 *
 * The file is opened when a name is first asked for, and only believed when its
 * build id is that of what was loaded.  Functions come from it, or from its
 * separate debug file; lines from DWARF where there is any.
 */
#ifndef ISC_SYMBOL_MODULE_H
#define ISC_SYMBOL_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ISC_SYMBOL_NAME_MAX 1024u /* the rest of a longer name is cut */

typedef struct isc_symbols isc_symbols;

typedef struct isc_symbol {
	char name[ISC_SYMBOL_NAME_MAX];
	const char *file; /* "": not known; borrowed until the module is closed or unloaded */
	uint32_t line;
} isc_symbol;

/* NULL: no memory, or the build id is too long. */
isc_symbols *isc_symbols_new(const char *path, size_t path_len, const uint8_t *build, size_t build_len);
void isc_symbols_free(isc_symbols *m); /* NULL is fine */

/* Is it this file, with this build id? */
bool isc_symbols_is(const isc_symbols *m, const char *path, size_t path_len, const uint8_t *build, size_t build_len);

/* Bytes of memory that it holds; unloaded it holds none, until it is asked again. */
size_t isc_symbols_bytes(const isc_symbols *m);
void isc_symbols_unload(isc_symbols *m);

/* Names come from what a folder has of this module, alone: by its build id, by its path or by its name,
 * with or without ".debug"; only the build id is believed.  False: it has nothing. */
bool isc_symbols_look_in(isc_symbols *m, const char *folder);

/* The function around an address as it stands in the file; "library.so+0x1234" when none says that
 * it covers it.  caller: the address is behind a call, and may be the first of the next function.
 * A module of NULL is code that belongs to no file.  False: neither a function nor a line is known. */
bool isc_symbols_find(isc_symbols *m, uint64_t address, bool caller, isc_symbol *out);

#endif
