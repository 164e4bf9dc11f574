#include "session/machine/usage.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "session/machine/cgroup.h"

#define TEXT_BYTES 8192
#define GROUPS_MOST 16u
#define NO_LIMIT (1ull << 62) /* version 1 says so with a number about as large */

static bool read_file(const isc_usage *u, const char *name, char *text, size_t room)
{
	char path[sizeof(u->proc) + 32];
	FILE *file;
	size_t len = 0;

	snprintf(path, sizeof(path), "%s/%s", u->proc, name);
	file = fopen(path, "re");
	if (file != NULL) {
		len = fread(text, 1, room - 1, file);
		fclose(file);
	}
	text[len] = 0;
	return len > 0;
}

/* Bytes of a line like "VmHWM:   1234 kB". */
static uint64_t kilobytes(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at != NULL ? strtoull(at + strlen(key), NULL, 10) * 1024 : 0;
}

/* "pid (name) S ppid ..."; names hold anything, so the last bracket counts. */
static bool look_process(isc_usage *u, isc_usage_point *p)
{
	char text[TEXT_BYTES], *at;
	uint64_t peak;

	if (!read_file(u, "stat", text, sizeof(text)) || (at = strrchr(text, ')')) == NULL ||
	    sscanf(at, ") %*c %*d %*d %*d %*d %*d %*u %" SCNu64 " %*u %" SCNu64, &p->minor_faults, &p->major_faults) !=
		    2)
		return false;
	if (!read_file(u, "status", text, sizeof(text)) || strstr(text, "VmRSS:") == NULL)
		return false;
	p->rss_bytes = kilobytes(text, "VmRSS:");
	p->swap_bytes = kilobytes(text, "VmSwap:");
	peak = kilobytes(text, "VmHWM:");
	u->peak_bytes = peak > u->peak_bytes ? peak : u->peak_bytes;
	return true;
}

static uint64_t read_number(int fd, uint64_t otherwise)
{
	char text[64];

	return isc_cgroup_read(fd, text, sizeof(text)) && text[0] >= '0' && text[0] <= '9' ? strtoull(text, NULL, 10)
											   : otherwise;
}

/* "some avg10=0.00 avg60=0.00 avg300=0.00 total=123" and the same with full. */
static uint64_t stalled_us(const char *text, const char *kind)
{
	const char *at = strstr(text, kind), *total = at != NULL ? strstr(at, "total=") : NULL;

	return total != NULL ? strtoull(total + strlen("total="), NULL, 10) : 0;
}

static uint64_t since(uint64_t now, uint64_t first)
{
	return now > first ? now - first : 0;
}

static void look_group(isc_usage *u)
{
	uint64_t used = read_number(u->current, 0);
	char text[TEXT_BYTES];

	u->group.most_bytes = used > u->group.most_bytes ? used : u->group.most_bytes;
	if (isc_cgroup_read(u->pressure, text, sizeof(text))) {
		u->group.some_us = since(stalled_us(text, "some"), u->first_some_us);
		u->group.full_us = since(stalled_us(text, "full"), u->first_full_us);
	}
	if (isc_cgroup_read(u->events, text, sizeof(text))) {
		u->group.refused = since(isc_cgroup_number(text, "max"), u->first_refused);
		u->group.killed = since(isc_cgroup_number(text, "oom_kill"), u->first_killed);
	} else if (u->failures >= 0) {
		u->group.refused = since(read_number(u->failures, 0), u->first_refused);
	}
}

static int first_of(const isc_cgroup *p, const char *name)
{
	int fd[1];

	return isc_cgroup_open(p, name, fd, 1) > 0 ? fd[0] : -1;
}

static void open_group(isc_usage *u, const isc_cgroup *p)
{
	int limit[GROUPS_MOST];
	uint32_t n = isc_cgroup_open(p, p->old ? "memory.limit_in_bytes" : "memory.max", limit, GROUPS_MOST);

	for (uint32_t i = 0; i < n; i++) {
		uint64_t bytes = read_number(limit[i], UINT64_MAX);

		if (bytes < NO_LIMIT && (u->group.limit_bytes == 0 || bytes < u->group.limit_bytes))
			u->group.limit_bytes = bytes;
		close(limit[i]);
	}
	u->current = first_of(p, p->old ? "memory.usage_in_bytes" : "memory.current");
	u->failures = p->old ? first_of(p, "memory.failcnt") : -1;
	u->events = p->old ? -1 : first_of(p, "memory.events");
	u->pressure = p->old ? -1 : first_of(p, "memory.pressure");
	u->group.known = u->current >= 0;
	u->group.stalls_known = u->pressure >= 0;
}

void isc_usage_open(isc_usage *u, const char *proc, uint64_t begin_ns)
{
	isc_cgroup *p = calloc(1, sizeof(*p));

	*u = (isc_usage){.begin_ns = begin_ns, .every_ns = ISC_USAGE_EVERY_NS};
	u->current = u->pressure = u->events = u->failures = -1;
	snprintf(u->proc, sizeof(u->proc), "%s", proc);
	if (p != NULL && isc_cgroup_find(p, proc, "memory"))
		open_group(u, p);
	free(p);
	/* What was counted before is not the program's. */
	look_group(u);
	u->first_some_us = u->group.some_us;
	u->first_full_us = u->group.full_us;
	u->first_refused = u->group.refused;
	u->first_killed = u->group.killed;
	look_group(u);
}

/* Half as many points, twice as far apart. */
static void thin(isc_usage *u)
{
	for (uint32_t i = 0; i < u->count / 2; i++)
		u->point[i] = u->point[2 * i];
	u->count /= 2;
	u->every_ns *= 2;
}

void isc_usage_look(isc_usage *u, uint64_t now_ns)
{
	isc_usage_point p = {.ns = now_ns};

	if (u->proc[0] == 0 || (u->looked_ns != 0 && now_ns < u->looked_ns + u->every_ns))
		return;
	u->looked_ns = now_ns;
	look_group(u);
	if (!look_process(u, &p))
		return;
	if (u->count == ISC_USAGE_POINTS)
		thin(u);
	u->point[u->count++] = p;
}

void isc_usage_close(isc_usage *u)
{
	int *const fd[] = {&u->current, &u->pressure, &u->events, &u->failures};

	if (u->proc[0] == 0)
		return; /* never opened */
	for (size_t i = 0; i < sizeof(fd) / sizeof(fd[0]); i++) {
		if (*fd[i] >= 0)
			close(*fd[i]);
		*fd[i] = -1;
	}
}

enum { RSS, MINOR, MAJOR, SWAP, COLUMNS };

static uint64_t value_of(const isc_usage_point *p, int column)
{
	switch (column) {
	case RSS:
		return p->rss_bytes;
	case MINOR:
		return p->minor_faults;
	case MAJOR:
		return p->major_faults;
	default:
		return p->swap_bytes;
	}
}

void isc_usage_facts(const isc_usage *u, isc_buffer *out)
{
	static const char *const names[COLUMNS] = {"rss_bytes", "minor_faults", "major_faults", "swap_bytes"};
	const isc_usage_group *g = &u->group;

	isc_buffer_format(out, "{\"usage\": {\"peak_rss_bytes\": %" PRIu64 ", \"at_us\": [", u->peak_bytes);
	for (uint32_t i = 0; i < u->count; i++)
		isc_buffer_format(out, "%s%" PRIu64, i > 0 ? ", " : "", since(u->point[i].ns, u->begin_ns) / 1000);
	for (int c = 0; c < COLUMNS; c++) {
		isc_buffer_format(out, "], \"%s\": [", names[c]);
		for (uint32_t i = 0; i < u->count; i++)
			isc_buffer_format(out, "%s%" PRIu64, i > 0 ? ", " : "", value_of(&u->point[i], c));
	}
	isc_buffer_text(out, "]");
	if (u->pretended)
		isc_buffer_text(out, ", \"pretended\": true");
	if (u->fault_ns > 0)
		isc_buffer_format(out, ", \"fault_ns\": %" PRIu64, u->fault_ns);
	if (g->known) {
		isc_buffer_format(out, ", \"group_bytes\": %" PRIu64 ", \"refused\": %" PRIu64 ", \"killed\": %" PRIu64,
				  g->most_bytes, g->refused, g->killed);
		if (g->limit_bytes > 0)
			isc_buffer_format(out, ", \"limit_bytes\": %" PRIu64, g->limit_bytes);
		if (g->stalls_known)
			isc_buffer_format(out, ", \"some_us\": %" PRIu64 ", \"full_us\": %" PRIu64, g->some_us,
					  g->full_us);
	}
	isc_buffer_text(out, "}}");
}
