#include "session/folder/scratch.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "session/folder/trace_place.h"

#define PLACES 4
#define RANDOM_DIGITS 16

static const char *scratch_place(size_t i)
{
	switch (i) {
	case 0:
		return getenv("TMPDIR");
	case 1:
		return "/tmp";
	case 2:
		return "/dev/shm";
	default:
		return getenv("XDG_RUNTIME_DIR");
	}
}

isc_status isc_scratch_make(char *out, size_t room, int *fd, isc_output_made *made, isc_error *err)
{
	isc_status st = isc_fail(err, ISC_ERR_ABSENT, "no folder for a trace");
	uint64_t random;

	for (size_t i = 0; i < PLACES; i++) {
		const char *place = scratch_place(i);

		if (place == NULL || place[0] != '/' ||
		    getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
			continue;
		snprintf(out, room, "%s/inferscope-%u-%016llx.isc", place, (unsigned)geteuid(),
			 (unsigned long long)random);
		st = isc_output_make_trace(out, false, NULL, fd, made, err);
		if (st == ISC_OK)
			break;
	}
	return st;
}

static bool is_scratch_name(const char *name)
{
	char prefix[64];
	size_t n = (size_t)snprintf(prefix, sizeof(prefix), "inferscope-%u-", (unsigned)geteuid());

	return strncmp(name, prefix, n) == 0 && strspn(name + n, "0123456789abcdef") == RANDOM_DIGITS &&
	       strcmp(name + n + RANDOM_DIGITS, ".isc") == 0;
}

static bool is_scratch_place(int dir)
{
	for (size_t i = 0; i < PLACES; i++) {
		const char *place = scratch_place(i);

		if (place != NULL && place[0] == '/' && isc_trace_place_is(dir, place))
			return true;
	}
	return false;
}

bool isc_scratch_remove(const char *path, const uint8_t session_id[16])
{
	const char *name = isc_path_name(path);
	bool removed;
	int dir, fd = -1;

	if (!is_scratch_name(name) || isc_trace_place_folder(path, &dir) != ISC_TRACE_THERE)
		return false;
	removed = is_scratch_place(dir) &&
		  isc_trace_place_file(dir, path, session_id, O_RDONLY, &fd) == ISC_TRACE_THERE &&
		  unlinkat(dir, name, 0) == 0;
	if (fd >= 0)
		close(fd);
	close(dir);
	return removed;
}
