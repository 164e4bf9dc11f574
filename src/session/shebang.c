#include "session/shebang.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"

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
	char *word, *rest;

	out[0] = 0;
	if (!look_up(command, path, sizeof(path)))
		return false;
	if (is_python(path))
		return (size_t)snprintf(out, room, "%s", path) < room;
	if (!first_line(path, line, sizeof(line)))
		return false;
	word = strtok_r(line + 2, " \t", &rest);
	if (word != NULL && strcmp(isc_path_name(word), "env") == 0)
		do
			word = strtok_r(NULL, " \t", &rest);
		while (word != NULL && (word[0] == '-' || strchr(word, '=') != NULL));
	if (word != NULL && is_python(word) && look_up(word, out, room))
		return true;
	out[0] = 0;
	return false;
}
