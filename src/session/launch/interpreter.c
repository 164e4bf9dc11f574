#include "session/launch/interpreter.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_program(const char *path)
{
	struct stat sb;

	return stat(path, &sb) == 0 && S_ISREG(sb.st_mode) && access(path, X_OK) == 0;
}

static bool join(char *out, size_t room, const char *folder, size_t len, const char *name)
{
	int n;

	/* An empty entry of PATH is the working folder. */
	if (len == 0)
		n = snprintf(out, room, "./%s", name);
	else
		n = snprintf(out, room, "%.*s/%s", (int)len, folder, name);
	return n > 0 && (size_t)n < room;
}

static bool python_in(const char *folder, size_t len, char *out, size_t room)
{
	return (join(out, room, folder, len, "python3") && is_program(out)) ||
	       (join(out, room, folder, len, "python") && is_program(out));
}

/* Finds name on PATH as execvp would: the folder's length, and where it starts. */
static const char *folder_on_path(const char *name, size_t *len, char *full, size_t room)
{
	const char *path = getenv("PATH");

	if (path == NULL)
		path = "/bin:/usr/bin";
	for (;;) {
		*len = strcspn(path, ":");
		if (join(full, room, path, *len, name) && is_program(full))
			return path;
		if (path[*len] == 0)
			return NULL;
		path += *len + 1;
	}
}

static bool python_of_environment(const char *variable, char *out, size_t room)
{
	const char *prefix = secure_getenv(variable);
	char bin[PATH_MAX];

	if (prefix == NULL || prefix[0] == 0 || snprintf(bin, sizeof(bin), "%s/bin", prefix) >= (int)sizeof(bin))
		return false;
	return python_in(bin, strlen(bin), out, room);
}

static isc_status find_asked(const char *asked, char *out, size_t room, isc_error *err)
{
	isc_status st = ISC_OK;
	size_t len;

	if (strchr(asked, '/') == NULL) {
		if (folder_on_path(asked, &len, out, room) == NULL)
			st = isc_fail(err, ISC_ERR_ABSENT, "cannot find the Python %s on PATH", asked);
	} else if (!is_program(asked)) {
		st = isc_fail(err, ISC_ERR_ABSENT, "%s is not a program", asked);
	} else if ((size_t)snprintf(out, room, "%s", asked) >= room) {
		st = isc_fail(err, ISC_ERR_LIMIT, "the path %s is too long", asked);
	}
	if (st != ISC_OK)
		isc_hint(err, "give --python the path of an interpreter");
	return st;
}

isc_status isc_parts_python(const char *asked, const char *called_as, char *out, size_t room, isc_error *err)
{
	const char *slash = called_as != NULL ? strrchr(called_as, '/') : NULL, *folder;
	char full[PATH_MAX];
	size_t len;

	if (asked != NULL && asked[0] != 0)
		return find_asked(asked, out, room, err);
	if (slash != NULL && python_in(called_as, slash == called_as ? 1 : (size_t)(slash - called_as), out, room))
		return ISC_OK;
	if (python_of_environment("VIRTUAL_ENV", out, room) || python_of_environment("CONDA_PREFIX", out, room))
		return ISC_OK;
	if (slash == NULL && called_as != NULL) {
		folder = folder_on_path(called_as, &len, full, sizeof(full));
		if (folder != NULL && python_in(folder, len, out, room))
			return ISC_OK;
	}
	if (folder_on_path("python3", &len, out, room) != NULL || folder_on_path("python", &len, out, room) != NULL)
		return ISC_OK;
	isc_fail(err, ISC_ERR_ABSENT, "cannot find a Python");
	isc_hint(err, "give its path with --python, or put python3 on PATH");
	return ISC_ERR_ABSENT;
}
