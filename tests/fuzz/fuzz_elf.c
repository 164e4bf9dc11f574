/*
 * Any bytes as a program file: what is found in it lies in it, and names end.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbol/demangle.h"
#include "symbol/elf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	isc_elf_symbol s;
	isc_elf *e;

	if (fd < 0)
		fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, 0) != 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
		return 0;
	if (isc_elf_open_fd(fd, &e, NULL) != ISC_OK)
		return 0;
	for (uint64_t at = 0; at < 8192; at += 64) {
		if (!isc_elf_find(e, at, &s))
			continue;
		if (at < s.start || at - s.start >= s.size || strlen(s.name) > size)
			abort();
		free(isc_demangle(s.name));
	}
	isc_elf_is_stub(e, 64);
	isc_elf_close(e);
	return 0;
}
