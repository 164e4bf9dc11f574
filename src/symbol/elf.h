/*
 * elf.h - the functions in a program file or library, by address.
 *
 * The file is anybody's: every offset and count is checked against its size
 * before anything is read or allocated, and it is read, not mapped, so that one
 * that shrinks is an error and not a signal.  ELF, 64 bits, little-endian.
 */
#ifndef ISC_SYMBOL_ELF_H
#define ISC_SYMBOL_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define ISC_ELF_BUILD_MAX 64u

typedef struct isc_elf isc_elf;

/* What is found under an address. */
typedef struct isc_elf_symbol {
	const char *name; /* borrowed until close; as it stands in the file */
	uint64_t start, size;
} isc_elf_symbol;

/* ISC_ERR_CORRUPT: this is no file of that kind, or one that is damaged. */
isc_status isc_elf_open(const char *path, isc_elf **out, isc_error *err);
isc_status isc_elf_open_fd(int fd, isc_elf **out, isc_error *err); /* fd stays the caller's */
void isc_elf_close(isc_elf *e);					   /* NULL is fine */

/* Its build id; the length, 0: none. */
size_t isc_elf_build(const isc_elf *e, const uint8_t **build);

/* Has it all its functions, or only those that others may call? */
bool isc_elf_complete(const isc_elf *e);

/* The function around an address as it stands in the file; false: none says that it covers it. */
bool isc_elf_find(const isc_elf *e, uint64_t address, isc_elf_symbol *out);

/* Is the address in a table of stubs, which lead into other libraries? */
bool isc_elf_is_stub(const isc_elf *e, uint64_t address);

/* Bytes of memory that it holds. */
size_t isc_elf_bytes(const isc_elf *e);

#endif
