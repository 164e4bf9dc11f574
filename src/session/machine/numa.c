#include "session/machine/numa.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define EVERY_NS 2000000000ull
/* The kernel goes through all pages for it, and the program may have to wait: looks take a part in so many of the time. */
#define SELDOM 200u
#define LINE_BYTES 16384
#define PAGE_BYTES 4096u

static bool read_line(const char *folder, uint32_t node, const char *name, char *text, size_t room)
{
	char path[600];
	FILE *file;
	bool ok;

	snprintf(path, sizeof(path), "%s/node%u/%s", folder, node, name);
	file = fopen(path, "re");
	ok = file != NULL && fgets(text, (int)room, file) != NULL;
	if (file != NULL)
		fclose(file);
	text[ok ? strcspn(text, "\n") : 0] = 0;
	return ok;
}

/* Node 0 MemTotal:  1234 kB */
static uint64_t memory_of(const char *folder, uint32_t node)
{
	char text[256];
	unsigned long long kilobytes = 0;

	if (read_line(folder, node, "meminfo", text, sizeof(text)))
		sscanf(text, "Node %*u MemTotal: %llu", &kilobytes);
	return kilobytes * 1024;
}

/* "0-3,8" */
static void take_cpus(const char *list, uint8_t mark, uint8_t *node_of_cpu, size_t cpus)
{
	while (*list >= '0' && *list <= '9') {
		char *end;
		unsigned long from = strtoul(list, &end, 10), to = from;

		if (*end == '-')
			to = strtoul(end + 1, &end, 10);
		for (; from <= to && from < cpus; from++)
			node_of_cpu[from] = mark;
		list = *end == ',' ? end + 1 : end;
	}
}

void isc_numa_cpus(const char *folder, uint8_t *node_of_cpu, size_t cpus)
{
	uint32_t nodes = 0;
	char list[256];

	memset(node_of_cpu, 0, cpus);
	for (uint32_t node = 0; node < UINT8_MAX; node++) {
		if (!read_line(folder, node, "cpulist", list, sizeof(list)))
			continue;
		take_cpus(list, (uint8_t)(node + 1), node_of_cpu, cpus);
		nodes++;
	}
	if (nodes < 2)
		memset(node_of_cpu, 0, cpus);
}

void isc_numa_open(isc_numa *n, const char *folder, const char *proc)
{
	*n = (isc_numa){0};
	for (uint32_t node = 0; node < 1024 && n->nodes < ISC_NUMA_NODES; node++) {
		isc_numa_node *to = &n->node[n->nodes];

		if (!read_line(folder, node, "cpulist", to->cpus, sizeof(to->cpus)))
			continue;
		to->number = node;
		to->memory_bytes = memory_of(folder, node);
		n->nodes++;
	}
	if (n->nodes < 2)
		return;
	snprintf(n->maps, sizeof(n->maps), "%s/numa_maps", proc);
}

static int place_of(const isc_numa *n, unsigned long number)
{
	for (uint32_t i = 0; i < n->nodes; i++) {
		if (n->node[i].number == number)
			return (int)i;
	}
	return -1;
}

/* "7f01 default anon=3 dirty=3 N0=2 N1=1 kernelpagesize_kB=4" */
static bool take_line(const isc_numa *n, const char *line, isc_numa_mapping *m)
{
	const char *size = strstr(line, "kernelpagesize_kB=");
	uint64_t factor =
		size != NULL ? strtoull(size + strlen("kernelpagesize_kB="), NULL, 10) * 1024 / PAGE_BYTES : 1;
	char *end;

	*m = (isc_numa_mapping){.at = strtoull(line, &end, 16)};
	if (end == line || *end != ' ')
		return false;
	for (const char *at = end; (at = strstr(at, " N")) != NULL;) {
		unsigned long node = strtoul(at + 2, &end, 10);
		int place = end > at + 2 && *end == '=' ? place_of(n, node) : -1;

		if (place >= 0)
			m->pages[place] += (uint32_t)(strtoull(end + 1, NULL, 10) * (factor > 0 ? factor : 1));
		at = end > at + 2 ? end : at + 2;
	}
	return true;
}

/* What one node lost and another got, in a mapping that was there before: at least so much moved. */
static void compare(isc_numa *n, const isc_numa_mapping *was, const isc_numa_mapping *is)
{
	uint32_t lost[ISC_NUMA_NODES], got[ISC_NUMA_NODES];

	for (uint32_t i = 0; i < n->nodes; i++) {
		lost[i] = was->pages[i] > is->pages[i] ? was->pages[i] - is->pages[i] : 0;
		got[i] = is->pages[i] > was->pages[i] ? is->pages[i] - was->pages[i] : 0;
	}
	for (uint32_t from = 0; from < n->nodes; from++) {
		for (uint32_t to = 0; to < n->nodes; to++) {
			uint32_t pages = lost[from] < got[to] ? lost[from] : got[to];

			n->moved[from][to] += (uint64_t)pages * PAGE_BYTES;
			lost[from] -= pages;
			got[to] -= pages;
		}
	}
}

static bool read_maps(isc_numa *n, isc_numa_mapping *fresh, size_t *count, uint64_t *bytes)
{
	char line[LINE_BYTES];
	FILE *file = fopen(n->maps, "re");
	size_t old = 0;

	while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
		isc_numa_mapping m;

		if (!take_line(n, line, &m))
			continue;
		for (uint32_t i = 0; i < n->nodes; i++)
			bytes[i] += (uint64_t)m.pages[i] * PAGE_BYTES;
		if (*count < ISC_NUMA_MAPPINGS)
			fresh[(*count)++] = m;
		/* The kernel lists them by address. */
		while (old < n->known_count && n->known[old].at < m.at)
			old++;
		if (old < n->known_count && n->known[old].at == m.at)
			compare(n, &n->known[old], &m);
	}
	if (file != NULL)
		fclose(file);
	return *count > 0;
}

static void note_moves(isc_numa *n, uint64_t before[ISC_NUMA_NODES][ISC_NUMA_NODES], uint64_t since_ns, uint64_t at_ns)
{
	for (uint32_t from = 0; from < n->nodes; from++) {
		for (uint32_t to = 0; to < n->nodes; to++) {
			uint64_t bytes = n->moved[from][to] - before[from][to];

			if (bytes > 0 && n->moves < ISC_NUMA_MOVES)
				n->move[n->moves++] = (isc_numa_move){since_ns, at_ns, n->node[from].number,
								      n->node[to].number, bytes / PAGE_BYTES};
		}
	}
}

void isc_numa_look(isc_numa *n, uint64_t now_ns, bool now)
{
	uint64_t bytes[ISC_NUMA_NODES] = {0}, before[ISC_NUMA_NODES][ISC_NUMA_NODES], since_ns = n->looked_ns;
	isc_numa_mapping *fresh;
	size_t count = 0;
	uint64_t begin;
	bool read;

	if (n->maps[0] == 0 || (!now && n->looked_ns != 0 && now_ns < n->looked_ns + EVERY_NS + n->took_ns * SELDOM))
		return;
	n->looked_ns = now_ns;
	fresh = malloc(ISC_NUMA_MAPPINGS * sizeof(*fresh));
	begin = isc_clock_mono_ns();
	memcpy(before, n->moved, sizeof(before));
	read = fresh != NULL && read_maps(n, fresh, &count, bytes);
	n->took_ns = isc_clock_mono_ns() - begin;
	if (!read) {
		free(fresh); /* the process has ended: the last look counts */
		return;
	}
	note_moves(n, before, since_ns, now_ns);
	free(n->known);
	n->known = fresh;
	n->known_count = count;
	memcpy(n->last, bytes, sizeof(bytes));
	if (n->looks++ == 0)
		memcpy(n->first, bytes, sizeof(bytes));
}

void isc_numa_close(isc_numa *n)
{
	free(n->known);
	n->known = NULL;
	n->known_count = 0;
}

static void add_list(const isc_numa *n, const char *key, const uint64_t *bytes, isc_buffer *out)
{
	isc_buffer_format(out, ", \"%s\": [", key);
	for (uint32_t i = 0; i < n->nodes; i++)
		isc_buffer_format(out, "%s%" PRIu64, i > 0 ? ", " : "", bytes[i]);
	isc_buffer_text(out, "]");
}

/* Lists of CPUs are digits, commas and dashes; anything else would not be JSON. */
static bool is_list(const char *text)
{
	return text[strspn(text, "0123456789,-")] == 0;
}

void isc_numa_facts(const isc_numa *n, isc_buffer *out)
{
	const char *between = "";

	isc_buffer_text(out, "{\"numa\": {\"nodes\": [");
	for (uint32_t i = 0; i < n->nodes; i++)
		isc_buffer_format(out, "%s{\"node\": %u, \"memory_bytes\": %" PRIu64 ", \"cpus\": \"%s\"}",
				  i > 0 ? ", " : "", n->node[i].number, n->node[i].memory_bytes,
				  is_list(n->node[i].cpus) ? n->node[i].cpus : "");
	isc_buffer_format(out, "], \"looks\": %" PRIu64 "%s", n->looks, n->pretended ? ", \"pretended\": true" : "");
	if (n->looks > 0) {
		add_list(n, "first_bytes", n->first, out);
		add_list(n, "last_bytes", n->last, out);
		isc_buffer_text(out, ", \"moved\": [");
		for (uint32_t from = 0; from < n->nodes; from++) {
			for (uint32_t to = 0; to < n->nodes; to++) {
				if (n->moved[from][to] == 0)
					continue;
				isc_buffer_format(out, "%s[%u, %u, %" PRIu64 "]", between, n->node[from].number,
						  n->node[to].number, n->moved[from][to]);
				between = ", ";
			}
		}
		isc_buffer_text(out, "], \"moves\": [");
		for (uint32_t i = 0; i < n->moves; i++)
			isc_buffer_format(out, "%s[%" PRIu64 ", %" PRIu64 ", %u, %u, %" PRIu64 "]", i > 0 ? ", " : "",
					  n->move[i].since_ns, n->move[i].at_ns, n->move[i].from, n->move[i].to,
					  n->move[i].pages);
		isc_buffer_text(out, "]");
	}
	isc_buffer_text(out, "}}");
}
