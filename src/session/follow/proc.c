/* follow_proc.c - read /proc without stdio: it is done often, and for many. */
#include "session/follow/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static ssize_t read_file(const char *path, char *out, size_t room)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t n = 0;

	if (fd < 0)
		return -1;
	while (len < room && (n = read(fd, out + len, room - len)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			break;
		len += (size_t)n;
	}
	close(fd);
	return n < 0 ? -1 : (ssize_t)len;
}

bool isc_proc_stat_parse(const char *text, size_t len, uint64_t ticks_per_s, int64_t boot_minus_mono_ns,
			 isc_proc_stat *out)
{
	const char *open_at = memchr(text, '(', len);
	const char *close_at = memrchr(text, ')', len); /* the name may hold ')' and blanks */
	const char *p, *end = text + len;
	unsigned field = 3;
	uint64_t value = 0, start = 0;
	bool digits = false;

	if (open_at == NULL || close_at == NULL || close_at < open_at || end - close_at < 4 || ticks_per_s == 0)
		return false;
	memset(out, 0, sizeof(*out));
	size_t name = (size_t)(close_at - open_at - 1);
	memcpy(out->comm, open_at + 1, name < sizeof(out->comm) ? name : sizeof(out->comm) - 1);
	out->state = close_at[2];
	for (p = close_at + 4, field = 4; p <= end && field <= 22; p++) {
		if (p < end && *p >= '0' && *p <= '9') {
			value = value * 10 + (uint64_t)(*p - '0');
			digits = true;
			continue;
		}
		if (p < end && *p == '-')
			continue;
		if (p < end && *p != ' ' && *p != '\n')
			return false;
		if (digits && field == 4)
			out->ppid = (uint32_t)value;
		if (digits && field == 22)
			start = value;
		if (!digits)
			return false;
		field++;
		value = 0;
		digits = false;
	}
	if (field <= 22)
		return false;
	int64_t ns = (int64_t)(start / ticks_per_s * 1000000000u + start % ticks_per_s * 1000000000u / ticks_per_s) -
		     boot_minus_mono_ns;
	out->start_ns = ns > 0 ? (uint64_t)ns : 0;
	return true;
}

/* Start times count from boot, suspended time included; ours do not. */
static int64_t boot_minus_mono_ns(void)
{
	struct timespec boot, mono;

	clock_gettime(CLOCK_MONOTONIC, &mono);
	clock_gettime(CLOCK_BOOTTIME, &boot);
	int64_t ns = (int64_t)(boot.tv_sec - mono.tv_sec) * 1000000000 + (boot.tv_nsec - mono.tv_nsec);
	return ns > 1000000 ? ns : 0; /* the time between the two calls is not an offset */
}

bool isc_proc_stat_read(uint32_t pid, isc_proc_stat *out)
{
	char path[40], text[1024];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	n = read_file(path, text, sizeof(text));
	return n > 0 && isc_proc_stat_parse(text, (size_t)n, (uint64_t)sysconf(_SC_CLK_TCK), boot_minus_mono_ns(), out);
}

size_t isc_proc_argv(uint32_t pid, char *out, size_t room, bool *cut)
{
	char path[40], more;
	ssize_t n = 0;
	size_t len = 0;
	int fd;

	*cut = false;
	snprintf(path, sizeof(path), "/proc/%u/cmdline", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	while (len < room && (n = read(fd, out + len, room - len)) > 0)
		len += (size_t)n;
	if (len == room)
		*cut = read(fd, &more, 1) == 1;
	close(fd);
	return len;
}

uint64_t isc_proc_exe(uint32_t pid)
{
	char path[40];
	struct stat sb;

	snprintf(path, sizeof(path), "/proc/%u/exe", pid);
	return stat(path, &sb) == 0 ? (uint64_t)sb.st_ino ^ (uint64_t)sb.st_dev << 40 : 0;
}

bool isc_proc_own_pid(uint32_t pid, uint32_t tid, uint32_t *own, uint32_t *levels)
{
	char path[64], text[4096];
	ssize_t n;

	if (tid == 0)
		snprintf(path, sizeof(path), "/proc/%u/status", pid);
	else
		snprintf(path, sizeof(path), "/proc/%u/task/%u/status", pid, tid);
	n = read_file(path, text, sizeof(text) - 1);
	if (n <= 0)
		return false;
	text[n] = '\0';
	char *line = strstr(text, "\nNSpid:");
	if (line == NULL)
		return false;
	*own = *levels = 0;
	for (line += 7; *line != '\n' && *line != '\0';) {
		char *end;
		unsigned long value = strtoul(line, &end, 10);

		if (end == line)
			break;
		*own = (uint32_t)value;
		++*levels;
		line = end;
	}
	return *levels > 0 && *own != 0;
}

bool isc_proc_thread_name(uint32_t pid, uint32_t tid, char out[16])
{
	char path[64], text[32];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%u/task/%u/comm", pid, tid);
	n = read_file(path, text, sizeof(text));
	if (n <= 0)
		return false;
	if (text[n - 1] == '\n')
		n--;
	memset(out, 0, 16);
	memcpy(out, text, n < 15 ? (size_t)n : 15);
	return true;
}

bool isc_proc_thread_times(uint32_t pid, uint32_t tid, uint64_t *on_cpu_ns, uint64_t *run_queue_ns)
{
	char path[64], text[96];
	unsigned long long on_cpu, queued;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%u/task/%u/schedstat", pid, tid);
	n = read_file(path, text, sizeof(text) - 1);
	if (n <= 0)
		return false;
	text[n] = '\0';
	if (sscanf(text, "%llu %llu", &on_cpu, &queued) != 2)
		return false;
	*on_cpu_ns = on_cpu;
	*run_queue_ns = queued;
	return true;
}

static bool each_number(const char *path, isc_proc_visit visit, void *self)
{
	DIR *dir = opendir(path);
	struct dirent *entry;

	if (dir == NULL)
		return false;
	while ((entry = readdir(dir)) != NULL) {
		char *end;
		unsigned long id = strtoul(entry->d_name, &end, 10);

		if (entry->d_name[0] < '1' || entry->d_name[0] > '9' || *end != '\0' || id > UINT32_MAX)
			continue;
		if (!visit(self, (uint32_t)id))
			break;
	}
	closedir(dir);
	return true;
}

bool isc_proc_each(isc_proc_visit visit, void *self)
{
	return each_number("/proc", visit, self);
}

bool isc_proc_each_thread(uint32_t pid, isc_proc_visit visit, void *self)
{
	char path[40];

	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	return each_number(path, visit, self);
}

struct children {
	uint32_t pid;
	isc_proc_visit visit;
	void *self;
	bool there;
	bool cut; /* more children than the buffer holds */
};

static bool children_of_thread(void *self, uint32_t tid)
{
	struct children *c = self;
	char path[64], text[16384];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%u/task/%u/children", c->pid, tid);
	n = read_file(path, text, sizeof(text) - 1);
	if (n < 0)
		return errno != ENOENT; /* the file, or the thread, is not there */
	c->there = true;
	c->cut = (size_t)n == sizeof(text) - 1;
	if (c->cut)
		return false;
	text[n] = '\0';
	for (char *p = text, *end; *p != '\0'; p = end) {
		unsigned long id = strtoul(p, &end, 10);

		if (end == p)
			break;
		if (id > 0 && id <= UINT32_MAX && !c->visit(c->self, (uint32_t)id))
			return false;
		while (*end == ' ' || *end == '\n')
			end++;
	}
	return true;
}

bool isc_proc_each_child(uint32_t pid, isc_proc_visit visit, void *self)
{
	struct children c = {pid, visit, self, false, false};

	isc_proc_each_thread(pid, children_of_thread, &c);
	return c.there && !c.cut;
}
