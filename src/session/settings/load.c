/*
 * Find the files and the variables that settings come from.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "base/suggest.h"
#include "runtime/layout.h"
#include "session/settings/settings.h"

#define FILE_NAME ".inferscope.yaml"

/* Two hundred settings fit into a tenth of this. */
#define FILE_MAX (64u << 10)

static void note(isc_settings *s, const char *format, const char *what, const char *more)
{
	char text[512];

	if (s->notes.count == ISC_SETTINGS_LIST_MAX)
		return;
	snprintf(text, sizeof(text), format, what, more);
	s->notes.item[s->notes.count] = strdup(text);
	/* A warning that has no room is not worth failing for. */
	if (s->notes.item[s->notes.count] != NULL)
		s->notes.count++;
}

static isc_status read_fd(isc_settings *s, int fd, const char *path, int kind, isc_error *err)
{
	struct stat sb;
	isc_status st;
	char *text;
	size_t len = 0;

	if (fstat(fd, &sb) < 0)
		return isc_fail_errno(err, "cannot read %.180s", path);
	if (!S_ISREG(sb.st_mode))
		return isc_fail(err, ISC_ERR_INVALID, "cannot read %.180s: it is not a file", path);
	text = malloc(FILE_MAX + 1);
	if (text == NULL)
		return isc_fail(err, ISC_ERR_NOMEM, "no memory to read %.180s", path);
	/* What is read counts, not what the file system says: one byte over the limit is enough. */
	while (len <= FILE_MAX) {
		ssize_t n = read(fd, text + len, FILE_MAX + 1 - len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			st = isc_fail_errno(err, "cannot read %.180s", path);
			goto out;
		}
		if (n == 0)
			break;
		len += (size_t)n;
	}
	if (len > FILE_MAX)
		st = isc_fail(err, ISC_ERR_LIMIT, "cannot read %.180s: a settings file has at most %u KiB", path,
			      FILE_MAX >> 10);
	else
		st = isc_settings_parse(s, text, len, path, kind, err);
out:
	free(text);
	return st;
}

/* Anyone can leave a file in a folder that everyone writes to, such as /tmp. */
static bool is_planted(const struct stat *file, const char *folder)
{
	struct stat sb;

	return file->st_uid != 0 && file->st_uid != geteuid() && stat(folder, &sb) == 0 && sb.st_mode & S_IWOTH;
}

/* ISC_ERR_ABSENT, with err untouched: there is none. */
static isc_status read_file(isc_settings *s, const char *path, int kind, char **kept, isc_error *err)
{
	char folder[PATH_MAX];
	struct stat sb;
	isc_status st;
	int fd;

	/* A folder that may not be searched holds nothing that we could read. */
	if (stat(path, &sb) < 0)
		return ISC_ERR_ABSENT;
	if (isc_path_folder(path, folder, sizeof(folder)) && is_planted(&sb, folder)) {
		note(s, "%s is ignored: another user put it into a folder that everyone may write to; %s", path,
		     "work in a folder of your own");
		return ISC_ERR_ABSENT;
	}
	/* O_NONBLOCK: opening a pipe would wait for its writer. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0) {
		isc_fail_errno(err, "cannot read %.180s", path);
		isc_hint(err, "make it readable, or remove it");
		return ISC_ERR_SYSTEM;
	}
	free(*kept);
	*kept = strdup(path);
	st = *kept ? read_fd(s, fd, path, kind, err) : isc_fail(err, ISC_ERR_NOMEM, "no memory to read %.180s", path);
	close(fd);
	return st;
}

static const char *variable(char *const *env, const char *name)
{
	size_t len = strlen(name);

	for (; env != NULL && *env != NULL; env++)
		if (strncmp(*env, name, len) == 0 && (*env)[len] == '=')
			return *env + len + 1;
	return NULL;
}

static isc_status load_user_file(isc_settings *s, char *const *env, isc_error *err)
{
	const char *base = variable(env, "XDG_CONFIG_HOME");
	const char *home = variable(env, "HOME");
	char folder[PATH_MAX], path[PATH_MAX];
	isc_status st;

	/* The convention: a relative one is as good as none. */
	if (base == NULL || base[0] != '/') {
		if (home == NULL || home[0] != '/' || !isc_path_join(folder, sizeof(folder), home, ".config"))
			return ISC_OK;
		base = folder;
	}
	if (!isc_path_join(path, sizeof(path), base, "inferscope/config.yaml"))
		return ISC_OK;
	st = read_file(s, path, ISC_ORIGIN_USER_FILE, &s->user_file, err);
	return st == ISC_ERR_ABSENT ? ISC_OK : st;
}

static isc_status load_project_file(isc_settings *s, const char *cwd, isc_error *err)
{
	char folder[PATH_MAX], path[PATH_MAX + sizeof(FILE_NAME)];

	if (cwd == NULL) {
		/* A working directory that was removed has no files either. */
		if (getcwd(folder, sizeof(folder)) == NULL)
			return ISC_OK;
	} else if (snprintf(folder, sizeof(folder), "%s", cwd) >= (int)sizeof(folder)) {
		return ISC_OK;
	}
	for (;;) {
		isc_status st;
		char *slash = strrchr(folder, '/');

		snprintf(path, sizeof(path), "%s/" FILE_NAME, folder);
		st = read_file(s, path, ISC_ORIGIN_PROJECT_FILE, &s->project_file, err);
		if (st != ISC_ERR_ABSENT)
			return st;
		if (slash == NULL)
			return ISC_OK;
		*slash = 0;
	}
}

/* Lists: labels are separated by commas, paths by colons. */
static isc_status set_variable(isc_settings *s, int row, const char *value, isc_error *err)
{
	isc_origin origin = {ISC_ORIGIN_VARIABLE, 0, false};
	int type = isc_settings_table[row].type;
	const char *separator = type == ISC_SETTING_LABELS ? "," : type == ISC_SETTING_PATHS ? ":" : NULL;
	isc_status st = ISC_OK;

	if (separator == NULL)
		return isc_settings_set(s, row, value, origin, err);
	while (st == ISC_OK && *value) {
		size_t len = strcspn(value, separator);
		char *item = len ? strndup(value, len) : NULL;

		if (len > 0 && item == NULL)
			return isc_fail(err, ISC_ERR_NOMEM, "no memory for the settings");
		if (item != NULL)
			st = isc_settings_set(s, row, item, origin, err);
		free(item);
		value += len + strspn(value + len, separator);
	}
	return st;
}

static isc_status load_variables(isc_settings *s, char *const *env, isc_error *err)
{
	for (int i = 0; i < ISC_SETTINGS_COUNT; i++) {
		const char *name = isc_settings_table[i].variable;
		const char *value = name ? variable(env, name) : NULL;
		isc_error why;

		/* An empty variable is the shell's way to unset one for a command. */
		if (value == NULL || value[0] == 0)
			continue;
		if (set_variable(s, i, value, &why) != ISC_OK) {
			isc_fail(err, why.status, "%s: %.200s", name, why.what);
			isc_hint(err, "%s", why.hint[0] ? why.hint : "give it another value, or unset it");
			return why.status;
		}
	}
	return ISC_OK;
}

/* A misspelt variable would be ignored in silence. */
static void note_unknown_variables(isc_settings *s, char *const *env)
{
	const char *names[ISC_SETTINGS_COUNT];

	for (int i = 0; i < ISC_SETTINGS_COUNT; i++)
		names[i] = isc_settings_table[i].variable;
	for (; env != NULL && *env != NULL; env++) {
		char name[64];
		const char *nearest;
		bool known = false;

		if (strncmp(*env, "INFERSCOPE_", 11) != 0 || strcspn(*env, "=") >= sizeof(name))
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(*env, "="), *env);
		known = strcmp(name, ISC_SESSION_VARIABLE) == 0 || strcmp(name, ISC_CUPTI_VARIABLE) == 0;
		for (int i = 0; i < ISC_SETTINGS_COUNT; i++)
			known = known || (names[i] != NULL && strcmp(names[i], name) == 0);
		if (known)
			continue;
		nearest = isc_suggest(name, names, ISC_SETTINGS_COUNT);
		if (nearest != NULL)
			note(s, "%s is no variable of InferScope and is ignored; did you mean %s?", name, nearest);
		else
			note(s, "%s is no variable of InferScope and is ignored%s", name, "");
	}
}

isc_status isc_settings_load(isc_settings *s, const char *cwd, char *const *env, isc_error *err)
{
	isc_status st = load_user_file(s, env, err);

	if (st == ISC_OK)
		st = load_project_file(s, cwd, err);
	if (st == ISC_OK)
		st = load_variables(s, env, err);
	if (st == ISC_OK)
		note_unknown_variables(s, env);
	return st;
}
