/*
 * cupti.c - which libcupti, of all that may be installed.
 *
 * Opened by name the loader would give the toolkit's, while the program brings a
 * CUDA of its own; two of them do not work together.
 */
#include "cuda/cupti.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/layout.h"

typedef struct loaded {
	char cupti[PATH_MAX]; /* "" : not loaded */
	char runtime[PATH_MAX];
} loaded;

static void note(char *to, const char *path, const char *name)
{
	const char *slash = strrchr(path, '/');

	if (to[0] == '\0' && strlen(path) < PATH_MAX &&
	    strncmp(slash != NULL ? slash + 1 : path, name, strlen(name)) == 0)
		strcpy(to, path);
}

static int look(struct dl_phdr_info *info, size_t size, void *self)
{
	loaded *found = self;

	(void)size;
	if (info->dlpi_name != NULL && info->dlpi_name[0] != '\0') {
		note(found->cupti, info->dlpi_name, "libcupti.so");
		note(found->runtime, info->dlpi_name, "libcudart.so");
	}
	return 0;
}

/* The major version in "libcudart.so.12.4"; of older ones "libcudart.so.11.0" too.  0: none is said. */
static long major_of(const char *path)
{
	const char *so = strstr(path, ".so.");

	return so != NULL ? strtol(so + 4, NULL, 10) : 0;
}

/* Every place where a CUPTI lies that came with this CUDA runtime. */
static void *open_beside(const char *runtime, long major)
{
	/* In a toolkit; in NVIDIA's packages for Python. */
	static const char *const places[] = {"", "../extras/CUPTI/lib64/", "../../cuda_cupti/lib/"};
	char path[2 * PATH_MAX];
	const char *slash = strrchr(runtime, '/');
	void *handle = NULL;

	if (slash == NULL)
		return NULL;
	for (size_t i = 0; handle == NULL && i < sizeof(places) / sizeof(places[0]); i++) {
		int folder = (int)(slash + 1 - runtime);

		if (major != 0) {
			snprintf(path, sizeof(path), "%.*s%slibcupti.so.%ld", folder, runtime, places[i], major);
			handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		}
		for (int minor = 8; handle == NULL && major == 11 && minor >= 0; minor--) {
			snprintf(path, sizeof(path), "%.*s%slibcupti.so.11.%d", folder, runtime, places[i], minor);
			handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		}
	}
	return handle;
}

/* The newest CUDA that the driver in this process is for; 0: not known.  A CUPTI of a newer one cannot work with
 * it, and with a runtime that is linked into the program nothing else tells which it is. */
static long major_of_driver(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
	int (*get_version)(int *version);
	int version = 0;

	if (driver == NULL)
		return 0;
	get_version = (__typeof__(get_version))dlsym(driver, "cuDriverGetVersion");
	if (get_version == NULL || get_version(&version) != 0)
		version = 0;
	dlclose(driver); /* the program's own handle keeps it */
	return version / 1000;
}

static void *open_by_name(long major, long most)
{
	static const char *const names[] = {"libcupti.so.13",	"libcupti.so.12",   "libcupti.so.11.8",
					    "libcupti.so.11.7", "libcupti.so.11.6", "libcupti.so.11.5",
					    "libcupti.so.11.4", "libcupti.so.11.3", "libcupti.so.11.2",
					    "libcupti.so.11.1", "libcupti.so.11.0", "libcupti.so"};
	void *handle = NULL;

	/* Of another major than the program's it would not work, or worse. */
	for (size_t i = 0; handle == NULL && i < sizeof(names) / sizeof(names[0]); i++)
		if (major_of(names[i]) == 0 ||
		    (major == 0 ? most == 0 || major_of(names[i]) <= most : major_of(names[i]) == major))
			handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	return handle;
}

static long major_of_version(uint32_t version)
{
	if (version >= ISC_CUPTI_13_0)
		return (long)(version / 10000);
	return version > ISC_CUPTI_11_8 ? 12 : 11;
}

const char *isc_cupti_open(isc_cupti *out)
{
	const char *told = secure_getenv(ISC_CUPTI_VARIABLE);
	loaded found = {.cupti = "", .runtime = ""};
	long major, most;

	memset(out, 0, sizeof(*out));
	dl_iterate_phdr(look, &found);
	major = major_of(found.runtime);
	most = major == 0 ? major_of_driver() : 0;
	if (told != NULL && told[0] != '\0') {
		out->handle = told[0] == '/' ? dlopen(told, RTLD_NOW | RTLD_LOCAL) : NULL;
		if (out->handle == NULL)
			return ISC_CUPTI_VARIABLE " cannot be loaded";
	}
	if (out->handle == NULL && found.cupti[0] != '\0')
		out->handle = dlopen(found.cupti, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
	if (out->handle == NULL)
		out->handle = open_beside(found.runtime, major);
	if (out->handle == NULL)
		out->handle = open_by_name(major, most);
	if (out->handle == NULL)
		return "libcupti cannot be loaded";
#define FIND(name, needed, parameters) \
	out->name = (__typeof__(out->name))dlsym(out->handle, "cupti" #name); \
	if ((needed) && out->name == NULL) \
		return "cupti" #name;
	ISC_CUPTI_FUNCTIONS(FIND)
#undef FIND
	if (out->GetVersion(&out->version) != ISC_CUPTI_OK || out->version < ISC_CUPTI_11_0)
		return "cuptiGetVersion";
	if (major != 0 && major_of_version(out->version) != major)
		return "a CUPTI of another CUDA";
	if (most != 0 && major_of_version(out->version) > most)
		return "a CUPTI that is newer than the driver";
	return NULL;
}
