#include "session/launch/cuda_driver.h"

#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/layout.h"

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
static bool in_cache(const char *name)
{
	int fd = open(CACHE, O_RDONLY | O_CLOEXEC);
	bool found = false;
	struct stat sb;

	if (fd < 0)
		return false;
	if (fstat(fd, &sb) == 0 && sb.st_size > 0 && (size_t)sb.st_size < CACHE_MOST) {
		void *at = mmap(NULL, (size_t)sb.st_size, PROT_READ, MAP_PRIVATE, fd, 0);

		if (at != MAP_FAILED) {
			found = memmem(at, (size_t)sb.st_size, name, strlen(name)) != NULL;
			munmap(at, (size_t)sb.st_size);
		}
	}
	close(fd);
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
	if (on_path(out, room))
		return true;
	return in_cache("/" DRIVER) && snprintf(out, room, "%s", DRIVER) > 0;
}

bool isc_cuda_is_taken(void)
{
	const char *other = getenv(ISC_CUDA_VARIABLE);

	return other != NULL && other[0] != 0;
}

/* ---- CUPTI ---- */

#define CUPTI "libcupti.so"

static bool any(const char *folder, const char *rest)
{
	char pattern[PATH_MAX];
	glob_t found = {0};
	bool yes = snprintf(pattern, sizeof(pattern), "%s/%s", folder, rest) < (int)sizeof(pattern) &&
		   glob(pattern, GLOB_NOSORT, NULL, &found) == 0;

	globfree(&found);
	return yes;
}

/* In the packages of a Python, whether they are the system's, an environment's or a user's. */
static bool in_packages(const char *prefix)
{
	static const char *const places[] = {"lib/python3*/site-packages/nvidia/*/lib/" CUPTI "*",
					     "lib/python3*/dist-packages/nvidia/*/lib/" CUPTI "*",
					     "lib/python3*/site-packages/torch/lib/libcupti*",
					     "lib/python3*/dist-packages/torch/lib/libcupti*", "lib/" CUPTI "*"};

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (any(prefix, places[i]))
			return true;
	return false;
}

static bool beside_python(const char *python)
{
	char prefix[PATH_MAX], resolved[PATH_MAX];
	const char *of[] = {python, realpath(python, resolved)};

	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		char *slash;

		if (of[i] == NULL || snprintf(prefix, sizeof(prefix), "%s", of[i]) >= (int)sizeof(prefix))
			continue;
		for (int up = 0; up < 2 && (slash = strrchr(prefix, '/')) != NULL; up++)
			*slash = 0;
		if (in_packages(prefix))
			return true;
	}
	return false;
}

static bool cupti_on_path(void)
{
	const char *at = getenv("LD_LIBRARY_PATH");
	char folder[PATH_MAX];

	while (at != NULL && *at != 0) {
		size_t len = strcspn(at, ":;");

		if (len > 0 && snprintf(folder, sizeof(folder), "%.*s", (int)len, at) < (int)sizeof(folder) &&
		    any(folder, CUPTI "*"))
			return true;
		at += len + (at[len] != 0);
	}
	return false;
}

bool isc_cuda_cupti_here(const char *python)
{
	static const char *const places[] = {"lib64/" CUPTI "*", "extras/CUPTI/lib64/" CUPTI "*",
					     "targets/*/lib/" CUPTI "*"};
	const char *home = getenv("HOME"), *told = getenv(ISC_CUPTI_VARIABLE);
	char local[PATH_MAX];

	if (told != NULL && told[0] != 0)
		return access(told, R_OK) == 0;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (any("/usr/local/cuda*", places[i]) || any("/opt/cuda*", places[i]))
			return true;
	if (home != NULL && snprintf(local, sizeof(local), "%s/.local", home) < (int)sizeof(local) &&
	    in_packages(local))
		return true;
	return cupti_on_path() || in_cache("/" CUPTI) || in_packages("/usr/local") || in_packages("/usr") ||
	       (python[0] != 0 && beside_python(python));
}
