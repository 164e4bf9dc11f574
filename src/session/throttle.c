#include "session/throttle.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STAT_BYTES 4096
#define LINE_BYTES 8192

/* Where the groups of a hierarchy are, and which is the program's. */
struct place {
	char group[PATH_MAX]; /* from the root of the hierarchy */
	char root[PATH_MAX];  /* what of it is mounted */
	char mount[PATH_MAX]; /* and where */
	bool old;	      /* version 1: a hierarchy of its own for CPU time */
};

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
static bool find_group(const char *proc, struct place *p)
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
		old = is_listed(list + 1, (size_t)(group - list - 1), "cpu");
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
static bool find_mount(const char *proc, struct place *p)
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
		    (p->old && !is_listed(options, strlen(options), "cpu")))
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
static void strip_root(struct place *p)
{
	size_t len = strlen(p->root);

	if (len > 1 && strncmp(p->group, p->root, len) == 0 && (p->group[len] == '/' || p->group[len] == 0))
		memmove(p->group, p->group + len, strlen(p->group + len) + 1);
	/* A group outside of what this mount shows: "/../other". */
	if (strncmp(p->group, "/..", 3) == 0)
		p->group[0] = 0;
}

static void open_groups(isc_throttle *t, struct place *p)
{
	char path[2 * PATH_MAX + sizeof("/cpu.stat")];
	size_t len = strlen(p->group);

	for (;;) {
		while (len > 0 && p->group[len - 1] == '/')
			p->group[--len] = 0;
		snprintf(path, sizeof(path), "%s%s/cpu.stat", p->mount, p->group);
		if (t->count < ISC_THROTTLE_GROUPS) {
			int fd = open(path, O_RDONLY | O_CLOEXEC);

			if (fd >= 0)
				t->fd[t->count++] = fd;
		}
		if (len == 0)
			break;
		while (len > 0 && p->group[len - 1] != '/')
			p->group[--len] = 0;
	}
}

static uint64_t number_of(const char *text, const char *key)
{
	size_t len = strlen(key);

	for (const char *at = text; at != NULL && *at != 0; at = strchr(at, '\n')) {
		at += *at == '\n';
		if (strncmp(at, key, len) == 0 && at[len] == ' ')
			return strtoull(at + len + 1, NULL, 10);
	}
	return 0;
}

/* A group that has no limit does not say anything, or says 0. */
static void count(const isc_throttle *t, uint64_t *us, uint64_t *times)
{
	*us = *times = 0;
	for (uint32_t i = 0; i < t->count; i++) {
		char text[STAT_BYTES];
		ssize_t len = pread(t->fd[i], text, sizeof(text) - 1, 0);

		if (len <= 0)
			continue;
		text[len] = 0;
		*us += number_of(text, "throttled_usec") + number_of(text, "throttled_time") / 1000;
		*times += number_of(text, "nr_throttled");
	}
}

isc_status isc_throttle_open(isc_throttle *t, const char *proc, uint64_t now_ns, isc_error *err)
{
	struct place *p = calloc(1, sizeof(*p));

	*t = (isc_throttle){.looked_ns = now_ns};
	if (p == NULL)
		return isc_fail(err, ISC_ERR_NOMEM, "no memory for the control groups");
	if (find_group(proc, p) && find_mount(proc, p)) {
		strip_root(p);
		open_groups(t, p);
	}
	free(p);
	if (t->count == 0)
		return isc_fail(err, ISC_ERR_UNSUPPORTED,
				"the program is in no control group whose counters can be read");
	count(t, &t->counted_us, &t->counted_times);
	return ISC_OK;
}

void isc_throttle_look(isc_throttle *t, uint64_t now_ns)
{
	uint64_t us, times, since = now_ns > t->looked_ns ? (now_ns - t->looked_ns) / 1000 : 0, more;

	if (t->count == 0)
		return;
	count(t, &us, &times);
	more = us > t->counted_us ? us - t->counted_us : 0;
	t->us += more < since ? more : since;
	t->times += times > t->counted_times ? times - t->counted_times : 0;
	t->counted_us = us;
	t->counted_times = times;
	t->looked_ns = now_ns;
}

void isc_throttle_close(isc_throttle *t)
{
	for (uint32_t i = 0; i < t->count; i++)
		close(t->fd[i]);
	t->count = 0;
}
