/* Where a Python looks for packages, from the file system alone. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "session/launch/interpreter.h"

/* What makes a Python load us; it is read from site folders only. */
#define MARK "inferscope.pth"

typedef struct python {
	char prefix[PATH_MAX]; /* of its packages */
	char base[PATH_MAX];   /* of its own library; in an environment that of the Python it was made from */
	char version[16];      /* "3.11", or "" when unknown */
	bool environment;
	bool sees_base; /* an environment that shows the base's packages */
} python;

static bool set_text(char *to, size_t room, const char *from, size_t len)
{
	if (len >= room)
		return false;
	memcpy(to, from, len);
	to[len] = 0;
	return true;
}

/* "3.11" of "3.11.7", "python3.11" or "3.11.7.final.0"; false when there is none. */
static bool set_version(python *p, const char *text)
{
	size_t n = 0;

	if (strncmp(text, "python", 6) == 0)
		text += 6;
	while (isdigit((unsigned char)text[n]))
		n++;
	if (n == 0 || text[n] != '.' || !isdigit((unsigned char)text[n + 1]))
		return false;
	for (n++; isdigit((unsigned char)text[n]);)
		n++;
	return set_text(p->version, sizeof(p->version), text, n);
}

/* The folder above the folder of a program: /usr of /usr/bin/python3. */
static bool set_prefix(char *to, const char *program)
{
	const char *slash = strrchr(program, '/');

	if (slash == NULL || !set_text(to, PATH_MAX, program, (size_t)(slash - program)))
		return false;
	slash = strrchr(to, '/');
	if (slash == NULL)
		return false;
	to[slash - to] = 0;
	return true;
}

/* pyvenv.cfg: "key = value" lines. */
static bool read_environment(python *p)
{
	char path[PATH_MAX + 16], line[PATH_MAX];
	FILE *file;

	snprintf(path, sizeof(path), "%s/pyvenv.cfg", p->prefix);
	file = fopen(path, "re");
	if (file == NULL)
		return false;
	p->environment = true;
	while (fgets(line, sizeof(line), file) != NULL) {
		size_t key = strcspn(line, " \t=");
		char *value = strchr(line, '=');

		if (value == NULL)
			continue;
		value += 1 + strspn(value + 1, " \t");
		value[strcspn(value, "\r\n")] = 0;
		if ((key == 7 && memcmp(line, "version", 7) == 0) ||
		    (key == 12 && memcmp(line, "version_info", 12) == 0)) {
			set_version(p, value);
		} else if (key == 28 && memcmp(line, "include-system-site-packages", 28) == 0) {
			p->sees_base = strcasecmp(value, "true") == 0;
		} else if (key == 4 && memcmp(line, "home", 4) == 0) {
			char program[PATH_MAX];

			if (snprintf(program, sizeof(program), "%s/python3", value) < (int)sizeof(program))
				set_prefix(p->base, program);
		}
	}
	fclose(file);
	return true;
}

static bool learn(python *p, const char *path)
{
	char real[PATH_MAX], absolute[PATH_MAX];
	const char *name;

	memset(p, 0, sizeof(*p));
	if (realpath(path, real) == NULL)
		return false;
	name = strrchr(real, '/') + 1;
	set_version(p, name);
	/* An environment is told from the path before links are followed. */
	if (path[0] == '/') {
		if (!set_text(absolute, sizeof(absolute), path, strlen(path)))
			return false;
	} else {
		char here[PATH_MAX];

		if (getcwd(here, sizeof(here)) == NULL ||
		    snprintf(absolute, sizeof(absolute), "%s/%s", here, path) >= (int)sizeof(absolute))
			return false;
	}
	if (set_prefix(p->prefix, absolute) && read_environment(p))
		return true;
	if (!set_prefix(p->prefix, real))
		return false;
	strcpy(p->base, p->prefix);
	return true;
}

static bool has_mark(const char *folder)
{
	char path[PATH_MAX + 32];

	return snprintf(path, sizeof(path), "%s/" MARK, folder) < (int)sizeof(path) && access(path, R_OK) == 0;
}

/* PREFIX/LIB/pythonX.Y/KIND, for every X.Y that is there when it is not known. */
static bool in_lib(const char *prefix, const char *lib, const char *version, const char *kind)
{
	char folder[PATH_MAX + 64], library[PATH_MAX + 64];
	struct dirent *entry;
	bool found = false;
	DIR *dir;

	if (version[0] != 0) {
		return snprintf(folder, sizeof(folder), "%s/%s/python%s/%s", prefix, lib, version, kind) <
			       (int)sizeof(folder) &&
		       has_mark(folder);
	}
	snprintf(library, sizeof(library), "%s/%s", prefix, lib);
	dir = opendir(library);
	if (dir == NULL)
		return false;
	while (!found && (entry = readdir(dir)) != NULL)
		if (strncmp(entry->d_name, "python3.", 8) == 0 &&
		    snprintf(folder, sizeof(folder), "%s/%.32s/%s", library, entry->d_name, kind) < (int)sizeof(folder))
			found = has_mark(folder);
	closedir(dir);
	return found;
}

static bool in_prefix(const char *prefix, const char *version)
{
	return in_lib(prefix, "lib", version, "site-packages") || in_lib(prefix, "lib64", version, "site-packages") ||
	       in_lib(prefix, "lib", version, "dist-packages");
}

static bool in_base(const char *base, const char *version)
{
	if (in_prefix(base, version))
		return true;
	/* Debian keeps what pip installs apart from what its packages install. */
	return strcmp(base, "/usr") == 0 &&
	       (in_prefix("/usr/local", version) || has_mark("/usr/lib/python3/dist-packages"));
}

static bool in_user_site(const char *version)
{
	const char *base = secure_getenv("PYTHONUSERBASE"), *home = secure_getenv("HOME"),
		   *off = getenv("PYTHONNOUSERSITE");
	char prefix[PATH_MAX];

	if (off != NULL && off[0] != 0)
		return false;
	if (base != NULL && base[0] != 0)
		return in_lib(base, "lib", version, "site-packages");
	return home != NULL && home[0] != 0 &&
	       snprintf(prefix, sizeof(prefix), "%s/.local", home) < (int)sizeof(prefix) &&
	       in_lib(prefix, "lib", version, "site-packages");
}

bool isc_parts_python_has_package(const char *path, const isc_parts *parts)
{
	python p;

	(void)parts;
	if (!learn(&p, path))
		return false;
	if (p.environment && in_prefix(p.prefix, p.version))
		return true;
	if (p.environment && !p.sees_base)
		return false;
	return in_base(p.base, p.version) || in_user_site(p.version);
}

bool isc_parts_python_has_core(const char *path, const isc_parts *parts)
{
	char start[32], digits[16];
	struct dirent *entry;
	bool found = false;
	size_t n = 0;
	python p;
	DIR *dir;

	if (parts->inject[0] == 0)
		return false;
	if (!learn(&p, path) || p.version[0] == 0)
		return true;
	for (const char *at = p.version; *at != 0; at++)
		if (*at != '.')
			digits[n++] = *at;
	digits[n] = 0;
	snprintf(start, sizeof(start), "_core.cpython-%s-", digits);
	dir = opendir(parts->folder);
	while (dir != NULL && !found && (entry = readdir(dir)) != NULL)
		found = strncmp(entry->d_name, start, strlen(start)) == 0;
	if (dir != NULL)
		closedir(dir);
	return found;
}
