/*
 * fuzz_nsys.c - any bytes as an SQLite file of Nsight Systems.  SQLite itself
 * has its own fuzzers; this is about what we believe of its rows.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "import/import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char path[64];
static FILE *file;

__attribute__((destructor)) static void tidy_up(void)
{
	if (path[0] != 0)
		unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const isc_timeline_options small = {.memory_bytes = 64u << 10};
	const isc_timeline_facts *facts;
	char *paths[] = {path};
	isc_timeline *t = NULL;
	isc_import import = {0};
	isc_error err;

	if (file == NULL) {
		/* In memory, and gone with us: SQLite reads files by their names. */
		snprintf(path, sizeof(path), "/dev/shm/fuzz-nsys-XXXXXX");
		int fd = mkstemp(path);

		file = fd >= 0 ? fdopen(fd, "w+") : NULL;
		if (file == NULL)
			return 0;
	}
	if (ftruncate(fileno(file), 0) != 0 || pwrite(fileno(file), data, size, 0) != (ssize_t)size)
		return 0;
	if (isc_timeline_new(&small, &t, NULL) != ISC_OK)
		return 0;
	if (isc_import_read(&import, paths, 1, t, &err) == ISC_OK)
		isc_timeline_finish(t, NULL, &facts, NULL);
	isc_timeline_free(t);
	isc_import_fini(&import);
	return 0;
}
