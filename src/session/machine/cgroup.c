#include "session/machine/cgroup.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE_BYTES 8192

/* Is this word in a list with commas? */
static bool is_listed(const char *list, size_t len, const char *word)
{
	size_t size = strlen(word);

	for (size_t at = 0; at < len;) {
		size_t one = strcspn(list + at, ",");

		one = one < len - at ? one : len - at;
		if (one == size && memcmp(list + at, word, size) == 0)
			return true;
		at += one + 1;
	}
	return false;
}

static void copy(char *to, const char *from, size_t len)
{
	len = len < PATH_MAX - 1 ? len : PATH_MAX - 1;
	memcpy(to, from, len);
	to[len] = 0;
}

/* "4:cpu,cpuacct:/group", or of version 2 "0::/group", which counts where there is no other. */
static bool find_group(const char *proc, const char *controller, isc_cgroup *p)
{
	char path[PATH_MAX], line[LINE_BYTES];
	bool found = false;
	FILE *file;

	snprintf(path, sizeof(path), "%s/cgroup", proc);
	file = fopen(path, "re");
	while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
		char *list = strchr(line, ':'), *group = list != NULL ? strchr(list + 1, ':') : NULL;
		bool old;

		if (group == NULL)
			continue;
		old = is_listed(list + 1, (size_t)(group - list - 1), controller);
		if (!old && (found || strncmp(line, "0::", 3) != 0))
			continue;
		copy(p->group, group + 1, strcspn(group + 1, "\n"));
		p->old = old;
		found = true;
		if (old)
			break;
	}
	if (file != NULL)
		fclose(file);
	return found;
}

/* Blanks and the like are written as \040. */
static void unescape(char *text)
{
	char *to = text;

	for (const char *at = text; *at != 0; at++) {
		unsigned code = 0;

		if (at[0] == '\\' && sscanf(at + 1, "%3o", &code) == 1 && code > 0 && code < 256) {
			*to++ = (char)code;
			at += 3;
		} else {
			*to++ = *at;
		}
	}
	*to = 0;
}

/* "32 31 0:29 ROOT MOUNT rw,relatime ... - cgroup cgroup rw,cpu" */
static bool find_mount(const char *proc, const char *controller, isc_cgroup *p)
{
	char path[PATH_MAX], line[LINE_BYTES];
	bool found = false;
	FILE *file;

	snprintf(path, sizeof(path), "%s/mountinfo", proc);
	file = fopen(path, "re");
	while (file != NULL && !found && fgets(line, sizeof(line), file) != NULL) {
		const char *behind = strstr(line, " - ");
		char type[32], options[1024];

		if (behind == NULL || sscanf(behind, " - %31s %*s %1023s", type, options) != 2)
			continue;
		if (strcmp(type, p->old ? "cgroup" : "cgroup2") != 0 ||
		    (p->old && !is_listed(options, strlen(options), controller)))
			continue;
		found = sscanf(line, "%*s %*s %*s %4095s %4095s", p->root, p->mount) == 2;
	}
	if (file != NULL)
		fclose(file);
	if (found) {
		unescape(p->root);
		unescape(p->mount);
	}
	return found;
}

/* In a container the mount may begin at the group itself. */
static void strip_root(isc_cgroup *p)
{
	size_t len = strlen(p->root);

	if (len > 1 && strncmp(p->group, p->root, len) == 0 && (p->group[len] == '/' || p->group[len] == 0))
		memmove(p->group, p->group + len, strlen(p->group + len) + 1);
	/* A group outside of what this mount shows: "/../other". */
	if (strncmp(p->group, "/..", 3) == 0)
		p->group[0] = 0;
}

bool isc_cgroup_find(isc_cgroup *p, const char *proc, const char *controller)
{
	if (!find_group(proc, controller, p) || !find_mount(proc, controller, p))
		return false;
	strip_root(p);
	return true;
}

uint32_t isc_cgroup_open(const isc_cgroup *p, const char *name, int *fd, uint32_t most)
{
	char path[2 * PATH_MAX + 64], group[PATH_MAX];
	size_t len = strlen(p->group);
	uint32_t count = 0;

	memcpy(group, p->group, len + 1);
	for (;;) {
		while (len > 0 && group[len - 1] == '/')
			group[--len] = 0;
		snprintf(path, sizeof(path), "%s%s/%s", p->mount, group, name);
		if (count < most) {
			fd[count] = open(path, O_RDONLY | O_CLOEXEC);
			count += fd[count] >= 0;
		}
		if (len == 0)
			return count;
		while (len > 0 && group[len - 1] != '/')
			group[--len] = 0;
	}
}

bool isc_cgroup_read(int fd, char *text, size_t room)
{
	ssize_t len = fd >= 0 ? pread(fd, text, room - 1, 0) : -1;

	if (len <= 0)
		return false;
	text[len] = 0;
	return true;
}

uint64_t isc_cgroup_number(const char *text, const char *key)
{
	size_t len = strlen(key);

	for (const char *at = text; at != NULL && *at != 0; at = strchr(at, '\n')) {
		at += *at == '\n';
		if (strncmp(at, key, len) == 0 && at[len] == ' ')
			return strtoull(at + len + 1, NULL, 10);
	}
	return 0;
}
