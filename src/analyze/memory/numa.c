/*
 * numa.c - memory over time and over the nodes of the machine, as the recorder saw it from outside.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "analyze/build.h"
#include "trace/memory.h"

/* A recorder keeps a few hundred points and sixteen nodes; past these a trace is made to mislead. */
#define POINTS_MAX 65536u
#define NODES_MAX 1024u

static double number_at(yyjson_val *value)
{
	double number = yyjson_is_num(value) ? yyjson_get_num(value) : -1;

	return isfinite(number) && number >= 0 ? number : -1;
}

static double number_of(yyjson_val *object, const char *key)
{
	return number_at(yyjson_obj_get(object, key));
}

static bool take_column(isc_build *b, yyjson_val *usage, const char *key, size_t points, double **out)
{
	yyjson_val *list = yyjson_obj_get(usage, key), *value;
	size_t at, n;

	*out = isc_arena_array(b->arena, points > 0 ? points : 1, sizeof(**out));
	if (*out == NULL)
		return false;
	for (size_t i = 0; i < points; i++)
		(*out)[i] = -1;
	yyjson_arr_foreach(list, at, n, value)
	{
		if (at < points)
			(*out)[at] = number_at(value);
	}
	return true;
}

static bool take_usage(isc_build *b, yyjson_val *usage)
{
	isc_analysis_usage *u = &b->a->usage;

	*u = (isc_analysis_usage){.peak_rss_bytes = number_of(usage, "peak_rss_bytes"),
				  .limit_bytes = number_of(usage, "limit_bytes"),
				  .group_bytes = number_of(usage, "group_bytes"),
				  .some_us = number_of(usage, "some_us"),
				  .full_us = number_of(usage, "full_us"),
				  .refused = number_of(usage, "refused"),
				  .killed = number_of(usage, "killed"),
				  .fault_us = number_of(usage, "fault_ns") / 1e3};
	if (u->fault_us < 0)
		u->fault_us = -1;
	u->known = yyjson_is_obj(usage);
	u->pretended = yyjson_is_true(yyjson_obj_get(usage, "pretended"));
	u->group_known = u->group_bytes >= 0;
	u->points = yyjson_arr_size(yyjson_obj_get(usage, "at_us"));
	u->points = u->points < POINTS_MAX ? u->points : POINTS_MAX;
	/* Of a program that had ended before the first look nothing is known. */
	if (u->points == 0 && u->peak_rss_bytes <= 0)
		u->peak_rss_bytes = -1;
	return take_column(b, usage, "at_us", u->points, &u->at_us) &&
	       take_column(b, usage, "rss_bytes", u->points, &u->rss_bytes) &&
	       take_column(b, usage, "minor_faults", u->points, &u->minor_faults) &&
	       take_column(b, usage, "major_faults", u->points, &u->major_faults) &&
	       take_column(b, usage, "swap_bytes", u->points, &u->swap_bytes);
}

static bool take_nodes(isc_build *b, yyjson_val *numa, yyjson_val *list)
{
	yyjson_val *first = yyjson_obj_get(numa, "first_bytes"), *last = yyjson_obj_get(numa, "last_bytes"), *value;
	isc_analysis_numa *out = &b->a->numa;
	size_t at, n;

	out->nodes = isc_arena_array(b->arena, out->count, sizeof(*out->nodes));
	if (out->nodes == NULL)
		return false;
	yyjson_arr_foreach(list, at, n, value)
	{
		isc_analysis_node_memory *node = &out->nodes[at < out->count ? at : out->count - 1];
		yyjson_val *cpus = yyjson_obj_get(value, "cpus");

		*node = (isc_analysis_node_memory){.number = (uint32_t)fmax(number_of(value, "node"), 0),
						   .memory_bytes = number_of(value, "memory_bytes"),
						   .first_bytes = number_at(yyjson_arr_get(first, at)),
						   .last_bytes = number_at(yyjson_arr_get(last, at)),
						   .cpu_us = -1,
						   .taken_bytes = -1};
		if (yyjson_is_str(cpus)) {
			node->cpus.len = yyjson_get_len(cpus);
			node->cpus.at = isc_arena_copy(b->arena, yyjson_get_str(cpus), node->cpus.len);
			if (node->cpus.at == NULL)
				return false;
		}
	}
	return true;
}

static bool take_moved(isc_build *b, yyjson_val *list)
{
	isc_analysis_numa *out = &b->a->numa;
	size_t room = yyjson_arr_size(list), at, n;
	yyjson_val *value;

	room = room < (size_t)NODES_MAX * 16 ? room : (size_t)NODES_MAX * 16;
	out->moved = isc_arena_array(b->arena, room > 0 ? room : 1, sizeof(*out->moved));
	if (out->moved == NULL)
		return false;
	yyjson_arr_foreach(list, at, n, value)
	{
		double from = number_at(yyjson_arr_get(value, 0)), to = number_at(yyjson_arr_get(value, 1)),
		       bytes = number_at(yyjson_arr_get(value, 2));

		if (out->moved_count < room && from >= 0 && from <= UINT32_MAX && to >= 0 && to <= UINT32_MAX &&
		    bytes > 0)
			out->moved[out->moved_count++] = (isc_analysis_moved){(uint32_t)from, (uint32_t)to, bytes};
	}
	return true;
}

bool isc_build_usage(isc_build *b, yyjson_val *facts)
{
	yyjson_val *numa = yyjson_obj_get(facts, "numa"), *nodes = yyjson_obj_get(numa, "nodes");
	isc_analysis_numa *out = &b->a->numa;

	if (!take_usage(b, yyjson_obj_get(facts, "usage")))
		return false;
	out->remote_pct = -1;
	out->told = yyjson_is_arr(nodes);
	out->pretended = yyjson_is_true(yyjson_obj_get(numa, "pretended"));
	out->count = yyjson_arr_size(nodes);
	out->count = out->count < NODES_MAX ? out->count : NODES_MAX;
	out->looks = (uint64_t)fmax(number_of(numa, "looks"), 0);
	if (out->count < 2)
		return true;
	/* Which CPUs it ran on matters from here on. */
	b->cpu_since_ns = isc_arena_array(b->arena, ISC_ANALYSIS_CPUS, sizeof(*b->cpu_since_ns));
	b->a->cpu_us = isc_arena_array(b->arena, ISC_ANALYSIS_CPUS, sizeof(*b->a->cpu_us));
	return b->cpu_since_ns != NULL && b->a->cpu_us != NULL && take_nodes(b, numa, nodes) &&
	       take_moved(b, yyjson_obj_get(numa, "moved"));
}

void isc_build_on_cpu(isc_build *b, const isc_trace_switch *sw)
{
	uint64_t *since;

	if (b->cpu_since_ns == NULL || sw->cpu >= ISC_ANALYSIS_CPUS)
		return;
	since = &b->cpu_since_ns[sw->cpu];
	if (*since != 0)
		b->a->cpu_us[sw->cpu] += isc_build_inside_us(b, *since, sw->time_ns);
	*since = sw->kind == ISC_SWITCH_IN ? sw->time_ns : 0;
}

/* Is a CPU in a list like "0-3,8"?  The text is anybody's. */
static bool is_in(const isc_text *list, unsigned cpu)
{
	for (size_t at = 0; at < list->len;) {
		unsigned long from = 0, to;

		for (; at < list->len && list->at[at] >= '0' && list->at[at] <= '9' && from < 1000000; at++)
			from = from * 10 + (unsigned long)(list->at[at] - '0');
		to = from;
		if (at < list->len && list->at[at] == '-') {
			for (to = 0, at++; at < list->len && list->at[at] >= '0' && list->at[at] <= '9' && to < 1000000;
			     at++)
				to = to * 10 + (unsigned long)(list->at[at] - '0');
		}
		if (cpu >= from && cpu <= to)
			return true;
		at++;
	}
	return false;
}

static isc_analysis_node_memory *node_of(isc_analysis_numa *n, uint32_t number)
{
	for (size_t i = 0; i < n->count; i++) {
		if (n->nodes[i].number == number)
			return &n->nodes[i];
	}
	return NULL;
}

static void take_sample(isc_analysis_numa *n, const isc_event *ev)
{
	isc_analysis_node_memory *node;
	isc_sample body;

	if (ev->extra_len < sizeof(body))
		return;
	memcpy(&body, ev->extra, sizeof(body));
	node = node_of(n, ISC_SAMPLE_NODE(body.flags));
	if (node == NULL)
		return;
	n->sampled = true;
	node->samples++;
	node->cpu_us = fmax(node->cpu_us, 0) + (double)ev->arg * body.period_ns / 1e3;
}

static void take_memory(isc_analysis_numa *n, const isc_event *ev)
{
	isc_analysis_node_memory *node;
	isc_memory body;

	if (ev->extra_len < sizeof(body))
		return;
	memcpy(&body, ev->extra, sizeof(body));
	node = node_of(n, body.node);
	if (node != NULL)
		node->taken_bytes = fmax(node->taken_bytes, 0) + (double)body.bytes * isc_trace_memory_times(&body);
}

/* What records say of the CPUs that they were written on. */
static bool take_record(void *self, const isc_event *ev)
{
	const isc_build *b = self;

	if (ev->time_ns < b->from_ns || ev->time_ns > b->to_ns)
		return true;
	if (ev->kind == ISC_KIND_SAMPLE)
		take_sample(&b->a->numa, ev);
	else
		take_memory(&b->a->numa, ev);
	return true;
}

void isc_numa_join(isc_build *b, isc_walk *walk)
{
	if (b->a->numa.nodes != NULL)
		isc_walk_join(walk, ISC_KIND_BIT(ISC_KIND_SAMPLE) | ISC_KIND_BIT(ISC_KIND_MEMORY_ALLOC), take_record,
			      b);
}

/*
 * Who runs on a node finds the share of the memory that lies on the others far away, if all of it is
 * used alike.  That is an estimate: which pages are used, nobody counts.
 */
void isc_build_numa(isc_build *b)
{
	isc_analysis_numa *n = &b->a->numa;
	double cpu_us = 0, bytes = 0, near = 0;

	if (n->nodes == NULL)
		return;
	for (size_t i = 0; i < n->count && n->sampled; i++)
		n->nodes[i].cpu_us = fmax(n->nodes[i].cpu_us, 0);
	if (!b->a->switches_seen && !n->sampled)
		return;
	for (size_t i = 0; i < n->count; i++) {
		isc_analysis_node_memory *node = &n->nodes[i];

		node->cpu_us = b->a->switches_seen ? 0 : node->cpu_us;
		for (unsigned cpu = 0; cpu < ISC_ANALYSIS_CPUS; cpu++)
			node->cpu_us += b->a->cpu_us[cpu] > 0 && is_in(&node->cpus, cpu) ? b->a->cpu_us[cpu] : 0;
		cpu_us += node->cpu_us;
		bytes += fmax(node->last_bytes, 0);
	}
	if (cpu_us <= 0 || bytes <= 0)
		return;
	for (size_t i = 0; i < n->count; i++)
		near += n->nodes[i].cpu_us / cpu_us * fmax(n->nodes[i].last_bytes, 0) / bytes;
	n->remote_pct = (1 - near) * 100;
}
