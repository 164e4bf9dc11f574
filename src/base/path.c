#include "base/path.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool isc_path_join(char *out, size_t room, const char *folder, const char *name)
{
	size_t len = strlen(folder);
	int n;

	if (name[0] == '/' || len == 0)
		n = snprintf(out, room, "%s", name);
	else
		n = snprintf(out, room, "%s%s%s", folder, folder[len - 1] == '/' ? "" : "/", name);
	return n >= 0 && (size_t)n < room;
}

isc_status isc_path_absolute(const char *path, char *out, size_t room, isc_error *err)
{
	char cwd[PATH_MAX] = "";

	if (path[0] != '/' && getcwd(cwd, sizeof(cwd)) == NULL)
		return isc_fail_errno(err, "cannot find the working directory");
	if (!isc_path_join(out, room, cwd, path))
		return isc_fail(err, ISC_ERR_LIMIT, "the path is too long: %.100s...", path);
	return ISC_OK;
}

bool isc_path_folder(const char *path, char *out, size_t room)
{
	const char *slash = strrchr(path, '/');
	int n;

	if (slash == NULL)
		n = snprintf(out, room, ".");
	else if (slash == path)
		n = snprintf(out, room, "/");
	else
		n = snprintf(out, room, "%.*s", (int)(slash - path), path);
	return n >= 0 && (size_t)n < room;
}

const char *isc_path_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

const char *isc_path_extension(const char *path)
{
	const char *name = isc_path_name(path);
	const char *dot = strrchr(name, '.');

	return dot && dot != name ? dot : "";
}

bool isc_path_same(const char *one, const char *other)
{
	char folder[2][PATH_MAX];
	struct stat sb[2];

	return strcmp(isc_path_name(one), isc_path_name(other)) == 0 &&
	       isc_path_folder(one, folder[0], sizeof(folder[0])) &&
	       isc_path_folder(other, folder[1], sizeof(folder[1])) && stat(folder[0], &sb[0]) == 0 &&
	       stat(folder[1], &sb[1]) == 0 && sb[0].st_dev == sb[1].st_dev && sb[0].st_ino == sb[1].st_ino;
}

bool isc_path_is_below(const char *path)
{
	if (path[0] == '/')
		return false;
	for (const char *at = path; at != NULL; at = strchr(at, '/')) {
		at += strspn(at, "/");
		if (at[0] == '.' && at[1] == '.' && (at[2] == '/' || at[2] == 0))
			return false;
	}
	return true;
}
