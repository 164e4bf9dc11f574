#include "session/launch/parts.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "session/folder/folder.h"

#define RUNTIME "libinferscope_rt.so"

#if defined(__x86_64__)
#define TRIPLET "x86_64-linux-gnu"
#elif defined(__aarch64__)
#define TRIPLET "aarch64-linux-gnu"
#else
#define TRIPLET "unknown"
#endif

static bool is_file(const char *path, struct stat *sb)
{
	return stat(path, sb) == 0 && S_ISREG(sb->st_mode) && access(path, R_OK) == 0;
}

/* Takes this folder if the runtime is in it and newer than what was found. */
static void consider(isc_parts *parts, const char *folder, struct timespec *newest)
{
	char runtime[sizeof(parts->runtime)];
	struct stat sb;

	if (strlen(folder) >= sizeof(parts->folder))
		return;
	if (snprintf(runtime, sizeof(runtime), "%s/" RUNTIME, folder) >= (int)sizeof(runtime) || !is_file(runtime, &sb))
		return;
	if (parts->folder[0] != 0 && (sb.st_mtim.tv_sec < newest->tv_sec ||
				      (sb.st_mtim.tv_sec == newest->tv_sec && sb.st_mtim.tv_nsec <= newest->tv_nsec)))
		return;
	*newest = sb.st_mtim;
	strcpy(parts->folder, folder);
	strcpy(parts->runtime, runtime);
}

/* lib/pythonX.Y/KIND/inferscope for every X.Y.  A prefix may hold the package for
 * several Pythons, while bin/ holds the command of the one installed last. */
static void consider_pythons(isc_parts *parts, const char *lib, const char *kind)
{
	struct timespec newest = {0, 0};
	char folder[PATH_MAX];
	struct dirent *entry;
	DIR *dir = opendir(lib);

	if (dir == NULL)
		return;
	while ((entry = readdir(dir)) != NULL) {
		if (strncmp(entry->d_name, "python", 6) != 0)
			continue;
		if (snprintf(folder, sizeof(folder), "%s/%s/%s/inferscope", lib, entry->d_name, kind) <
		    (int)sizeof(folder))
			consider(parts, folder, &newest);
	}
	closedir(dir);
}

/* The list of docs/install-layout.md, seen from the folder of the command. */
static void look_from(isc_parts *parts, const char *bin)
{
	static const struct {
		const char *folder; /* relative to bin */
		const char *kind;   /* with a pythonX.Y and this between; NULL: as it is */
	} places[] = {
		{"../lib", "site-packages"},   {"../lib", "dist-packages"},
		{"../lib64", "site-packages"}, {"../inferscope", NULL},
		{"../lib/inferscope", NULL},   {"../lib/" TRIPLET "/inferscope", NULL},
		{"../lib64/inferscope", NULL}, {".", NULL},
	};
	char joined[PATH_MAX], folder[PATH_MAX];

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]) && parts->folder[0] == 0; i++) {
		struct timespec newest = {0, 0};

		if (snprintf(joined, sizeof(joined), "%s/%s", bin, places[i].folder) >= (int)sizeof(joined) ||
		    realpath(joined, folder) == NULL)
			continue;
		if (places[i].kind != NULL)
			consider_pythons(parts, folder, places[i].kind);
		else
			consider(parts, folder, &newest);
	}
}

isc_status isc_parts_find_from(const char *command, isc_parts *out, isc_error *err)
{
	char bin[PATH_MAX], *slash;
	struct stat sb;
	size_t n;

	memset(out, 0, sizeof(*out));
	n = strlen(command);
	slash = strrchr(command, '/');
	if (slash == NULL || n >= sizeof(bin))
		return isc_fail(err, ISC_ERR_INVALID, "%s is not the path of a command", command);
	memcpy(bin, command, (size_t)(slash - command));
	bin[slash - command] = 0;
	look_from(out, bin[0] != 0 ? bin : "/");
	if (out->folder[0] == 0) {
		isc_fail(err, ISC_ERR_ABSENT, "cannot find " RUNTIME " near %s", command);
		isc_hint(err, "install the package again, or run the command from its build folder");
		return ISC_ERR_ABSENT;
	}
	n = (size_t)snprintf(out->inject, sizeof(out->inject), "%s/_inject/sitecustomize.py", out->folder);
	if (n < sizeof(out->inject) && is_file(out->inject, &sb))
		*strrchr(out->inject, '/') = 0;
	else
		out->inject[0] = 0;
	return ISC_OK;
}

isc_status isc_parts_find(isc_parts *out, isc_error *err)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	const char *called = (const char *)getauxval(AT_EXECFN);

	memset(out, 0, sizeof(*out));
	if (n >= 0)
		self[n] = 0;
	else if (called == NULL || realpath(called, self) == NULL) /* a place without /proc */
		return isc_fail_errno(err, "cannot find out where this command lies");
	return isc_parts_find_from(self, out, err);
}

/* PYTHONPATH splits at colons.  Without the link a Python that lacks the package
 * is not seen into: no reason to fail. */
static void link_inject(const isc_parts *parts, const char *session_folder, char *out, size_t room)
{
	if (parts->inject[0] == 0 || (size_t)snprintf(out, room, "%s/" ISC_INJECT_NAME, session_folder) >= room ||
	    strchr(out, ':') != NULL || symlink(parts->inject, out) < 0)
		out[0] = 0;
}

isc_status isc_parts_preload_path(const isc_parts *parts, const char *session_folder, char *out, size_t room,
				  isc_error *err)
{
	/* The loader splits LD_PRELOAD at blanks and colons and knows no quotes; it
	 * replaces what follows a dollar. */
	bool plain = strpbrk(parts->runtime, " \t\n\r\f\v:;$") == NULL;
	char inject[PATH_MAX];
	int n;

	if (parts->runtime[0] == 0)
		return isc_fail(err, ISC_ERR_ABSENT, "there is no " RUNTIME " to load");
	if (plain)
		n = snprintf(out, room, "%s", parts->runtime);
	else
		n = snprintf(out, room, "%s/" ISC_PRELOAD_NAME, session_folder);
	if (n < 0 || (size_t)n >= room)
		return isc_fail(err, ISC_ERR_LIMIT, "the path of " RUNTIME " is too long");
	if (plain)
		return ISC_OK;
	if (strpbrk(session_folder, " \t\n\r\f\v:;$") != NULL)
		return isc_fail(err, ISC_ERR_UNSUPPORTED,
				"neither %s nor %s can be preloaded: their names hold a blank or a colon",
				parts->runtime, session_folder);
	if (symlink(parts->runtime, out) < 0)
		return isc_fail_errno(err, "cannot make %s", out);
	/* The runtime looks for it beside the path that it was loaded by. */
	link_inject(parts, session_folder, inject, sizeof(inject));
	return ISC_OK;
}

void isc_parts_inject_path(const isc_parts *parts, const char *session_folder, char *out, size_t room)
{
	if (parts->inject[0] == 0 || strchr(parts->inject, ':') == NULL) {
		if ((size_t)snprintf(out, room, "%s", parts->inject) >= room)
			out[0] = 0;
	} else {
		link_inject(parts, session_folder, out, room);
	}
}
