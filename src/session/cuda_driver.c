#include "session/cuda_driver.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define DRIVER "libcuda.so.1"
#define CACHE "/etc/ld.so.cache"
#define CACHE_MOST (64u << 20) /* a file that is larger is none */

static bool is_there(const char *path, char *out, size_t room)
{
	return access(path, F_OK) == 0 && snprintf(out, room, "%s", path) > 0;
}

static bool on_path(char *out, size_t room)
{
	const char *at = getenv("LD_LIBRARY_PATH");
	char path[PATH_MAX];

	while (at != NULL && *at != 0) {
		size_t len = strcspn(at, ":;");

		if (len > 0 && snprintf(path, sizeof(path), "%.*s/" DRIVER, (int)len, at) < (int)sizeof(path) &&
		    is_there(path, out, room))
			return true;
		at += len + (at[len] != 0);
	}
	return false;
}

/* The cache holds the paths of all libraries that the loader finds by name. */
static bool in_cache(char *out, size_t room)
{
	int fd = open(CACHE, O_RDONLY | O_CLOEXEC);
	bool found = false;
	struct stat sb;

	if (fd < 0)
		return false;
	if (fstat(fd, &sb) == 0 && sb.st_size > 0 && (size_t)sb.st_size < CACHE_MOST) {
		void *at = mmap(NULL, (size_t)sb.st_size, PROT_READ, MAP_PRIVATE, fd, 0);

		if (at != MAP_FAILED) {
			found = memmem(at, (size_t)sb.st_size, "/" DRIVER, sizeof("/" DRIVER)) != NULL;
			munmap(at, (size_t)sb.st_size);
		}
	}
	close(fd);
	if (found)
		snprintf(out, room, "%s", DRIVER);
	return found;
}

bool isc_cuda_driver_find(char *out, size_t room)
{
	static const char *const places[] = {
		"/dev/nvidiactl",
		"/usr/lib/x86_64-linux-gnu/" DRIVER,
		"/usr/lib/aarch64-linux-gnu/" DRIVER,
		"/usr/lib64/" DRIVER,
		"/usr/lib/" DRIVER,
		"/usr/lib/wsl/lib/" DRIVER,
		"/usr/local/nvidia/lib64/" DRIVER,
		"/usr/local/cuda/compat/" DRIVER,
		"/run/opengl-driver/lib/" DRIVER,
	};

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (is_there(places[i], out, room))
			return true;
	return on_path(out, room) || in_cache(out, room);
}
