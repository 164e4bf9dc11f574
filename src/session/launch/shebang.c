#include "session/launch/shebang.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"

#define ELF_MAGIC "\177ELF"

/* The kernel reads no more of the first line either. */
#define LINE_MAX_BYTES 256

static bool is_python(const char *path)
{
	return strncmp(isc_path_name(path), "python", 6) == 0;
}

static bool look_up(const char *command, char *out, size_t room)
{
	const char *path = getenv("PATH");
	char folder[PATH_MAX];

	if (strchr(command, '/') != NULL)
		return (size_t)snprintf(out, room, "%s", command) < room;
	while (path != NULL && *path != 0) {
		size_t n = strcspn(path, ":");

		snprintf(folder, sizeof(folder), "%.*s", (int)n, n > 0 ? path : ".");
		if (isc_path_join(out, room, folder, command) && access(out, X_OK) == 0)
			return true;
		path += n + (path[n] == ':');
	}
	return false;
}

/* The word that names the interpreter, in line behind "#!"; `env` is stepped over. */
static char *interpreter_of(char *line)
{
	char *rest, *word = strtok_r(line, " \t", &rest);

	if (word != NULL && strcmp(isc_path_name(word), "env") == 0)
		do
			word = strtok_r(NULL, " \t", &rest);
		while (word != NULL && (word[0] == '-' || strchr(word, '=') != NULL));
	return word;
}

static bool first_line(const char *path, char *line, size_t room)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n = fd < 0 ? -1 : read(fd, line, room - 1);

	if (fd >= 0)
		close(fd);
	if (n < 2 || line[0] != '#' || line[1] != '!')
		return false;
	line[n] = 0;
	line[strcspn(line, "\n")] = 0;
	return true;
}

bool isc_shebang_python(const char *command, char *out, size_t room)
{
	char path[PATH_MAX], line[LINE_MAX_BYTES];
	const char *word;

	out[0] = 0;
	if (!look_up(command, path, sizeof(path)))
		return false;
	if (is_python(path))
		return (size_t)snprintf(out, room, "%s", path) < room;
	if (!first_line(path, line, sizeof(line)))
		return false;
	word = interpreter_of(line + 2);
	if (word != NULL && is_python(word) && look_up(word, out, room))
		return true;
	out[0] = 0;
	return false;
}

/* The first bytes of a regular file; a pipe would lose what is read here. */
static ssize_t read_head(const char *path, char *head, size_t room)
{
	struct stat sb;
	ssize_t n = -1;
	int fd;

	if (stat(path, &sb) < 0 || !S_ISREG(sb.st_mode))
		return -1;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0) {
		n = read(fd, head, room - 1);
		close(fd);
	}
	if (n >= 0)
		head[n] = 0;
	return n;
}

bool isc_shebang_foreign(const char *path, char *what, size_t room)
{
	static const char *const others[] = {"sh",   "bash", "dash", "zsh",  "ksh", "ash", "fish",    "csh",
					     "tcsh", "perl", "ruby", "node", "lua", "php", "Rscript", "tclsh"};
	char head[LINE_MAX_BYTES];
	const char *name;

	if (strcmp(isc_path_extension(path), ".py") == 0 || read_head(path, head, sizeof(head)) < 4)
		return false;
	if (memcmp(head, ELF_MAGIC, 4) == 0)
		return snprintf(what, room, "a program") > 0;
	if (memcmp(head, "#!", 2) != 0 || strstr(head, "python") != NULL)
		return false;
	head[strcspn(head, "\n")] = 0;
	name = interpreter_of(head + 2);
	for (size_t i = 0; name != NULL && i < sizeof(others) / sizeof(others[0]); i++)
		if (strcmp(isc_path_name(name), others[i]) == 0)
			return snprintf(what, room, "a script for %s", others[i]) > 0;
	return false;
}
