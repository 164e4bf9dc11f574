/*
 * recall_memory.c - memory, its nodes and system calls from the JSON report.
 */
#include "report/json/recall.h"
#include "report/json/recall_read.h"

#define TWO_SIDED_95 1.96
#define SITES_MOST 100000u /* that a report may say there are */
#define PAGE 4096.0

static void recall_sites(yyjson_val *memory, isc_analysis *a)
{
	yyjson_val *list = yyjson_obj_get(memory, "sites"), *o;
	size_t i, n, told = yyjson_arr_size(list), all = count_in(memory, "site_count");
	double bytes = real_in(memory, "site_bytes");

	/* The report has the first ones, and how many there are and what they took in sum. */
	all = all > told ? all : told;
	all = all < SITES_MOST ? all : told;
	a->memory.sites = all > 0 ? isc_arena_array(a->arena, all, sizeof(*a->memory.sites)) : NULL;
	if (a->memory.sites == NULL)
		return;
	a->memory.site_count = all;
	yyjson_arr_foreach(list, i, n, o)
	{
		double error = fmax(real_in(o, "error_bytes"), 0) / TWO_SIDED_95;

		a->memory.sites[i] = (isc_analysis_site){.at = frame_in(a->arena, o, "function"),
							 .pid = id_in(o, "process_id"),
							 .samples = count_in(o, "samples"),
							 .bytes = fmax(real_in(o, "bytes"), 0),
							 .count = fmax(real_in(o, "count"), 0),
							 .squares = error * error,
							 .live_bytes = fmax(real_in(o, "live_bytes"), 0),
							 .live_count = fmax(real_in(o, "live_count"), 0),
							 .peak_bytes = fmax(real_in(o, "peak_bytes"), 0)};
		bytes -= a->memory.sites[i].bytes;
	}
	if (all > told)
		a->memory.sites[told].bytes = fmax(bytes, 0);
}

static void recall_leaks(yyjson_val *list, isc_analysis *a)
{
	yyjson_val *o;
	size_t i, n;

	a->memory.leaks = room_for(a->arena, &list, sizeof(*a->memory.leaks), &a->memory.leak_count);
	yyjson_arr_foreach(list, i, n, o)
	{
		a->memory.leaks[i] = (isc_analysis_leak){.at = frame_in(a->arena, o, "function"),
							 .pid = id_in(o, "process_id"),
							 .samples = count_in(o, "samples"),
							 .bytes = real_in(o, "bytes"),
							 .from_us = real_in(o, "from_us"),
							 .to_us = real_in(o, "to_us"),
							 .bytes_per_s = real_in(o, "bytes_per_s")};
	}
}

static void recall_scopes(yyjson_val *list, isc_analysis *a)
{
	yyjson_val *o;
	size_t i, n;

	a->memory.scopes = room_for(a->arena, &list, sizeof(*a->memory.scopes), &a->memory.scope_count);
	yyjson_arr_foreach(list, i, n, o)
	{
		double growth = value_in(o, "growth_bytes");

		a->memory.scopes[i] = (isc_analysis_memory_scope){.name = text_in(a->arena, o, "name"),
								  .count = count_in(o, "count"),
								  .bytes = fmax(real_in(o, "bytes"), 0),
								  .growth = isfinite(growth) ? growth : 0,
								  .error = fmax(real_in(o, "error_bytes"), 0),
								  .samples = count_in(o, "samples"),
								  .grows = flag_in(o, "grows")};
	}
}

static void recall_usage(yyjson_val *memory, isc_analysis *a)
{
	yyjson_val *group = yyjson_obj_get(memory, "group");
	isc_analysis_usage *u = &a->usage;

	u->known = yyjson_is_obj(yyjson_obj_get(memory, "over_time"));
	u->peak_rss_bytes = real_in(memory, "peak_rss_bytes");
	u->swap_bytes = isc_arena_array(a->arena, 1, sizeof(*u->swap_bytes));
	if (u->swap_bytes != NULL && known_in(memory, "swap_bytes")) {
		/* What is said is the most of it. */
		u->swap_bytes[0] = real_in(memory, "swap_bytes");
		u->points = 1;
	}
	u->group_known = yyjson_is_obj(group);
	u->limit_bytes = real_in(group, "limit_bytes");
	u->group_bytes = real_in(group, "most_bytes");
	u->some_us = real_in(group, "some_stalled_us");
	u->full_us = real_in(group, "all_stalled_us");
	u->refused = real_in(group, "limit_met");
	u->killed = real_in(group, "killed");
}

static void recall_nodes(yyjson_val *numa, isc_analysis *a)
{
	yyjson_val *list = yyjson_obj_get(numa, "nodes"), *o;
	size_t i, n;

	a->numa.remote_pct = real_in(numa, "remote_pct");
	a->numa.looks = count_in(numa, "looks");
	a->numa.nodes = room_for(a->arena, &list, sizeof(*a->numa.nodes), &a->numa.count);
	yyjson_arr_foreach(list, i, n, o)
	{
		a->numa.nodes[i] = (isc_analysis_node_memory){.number = id_in(o, "node"),
							      .cpus = text_in(a->arena, o, "cpus"),
							      .memory_bytes = real_in(o, "memory_bytes"),
							      .first_bytes = real_in(o, "first_bytes"),
							      .last_bytes = real_in(o, "last_bytes"),
							      .cpu_us = real_in(o, "cpu_us"),
							      .taken_bytes = real_in(o, "taken_bytes"),
							      .samples = count_in(o, "samples")};
		a->numa.sampled |= known_in(o, "samples");
	}
	list = yyjson_obj_get(numa, "migrations");
	a->numa.moved = room_for(a->arena, &list, sizeof(*a->numa.moved), &a->numa.moved_count);
	yyjson_arr_foreach(list, i, n, o)
	{
		a->numa.moved[i] = (isc_analysis_moved){id_in(o, "from_node"), id_in(o, "to_node"),
							fmax(real_in(o, "pages"), 0) * PAGE};
	}
}

void isc_recall_memory(yyjson_val *report, isc_analysis *a)
{
	yyjson_val *o = yyjson_obj_get(report, "memory"), *peak = yyjson_obj_get(o, "peak");
	isc_analysis_memory *m = &a->memory;

	m->recorded = known_in(o, "samples");
	m->calls = count_in(o, "allocations");
	m->bytes = count_in(o, "allocated_bytes");
	m->frees = count_in(o, "frees");
	m->maps = count_in(o, "mappings");
	m->mapped_bytes = count_in(o, "mapped_bytes");
	m->samples = count_in(o, "samples");
	m->mean_bytes = count_in(o, "sample_bytes");
	m->live_bytes = fmax(real_in(o, "live_bytes"), 0);
	m->peak_bytes = fmax(real_in(peak, "bytes"), 0);
	m->peak_us = fmax(real_in(peak, "at_us"), 0);
	m->allocator = text_in(a->arena, o, "allocator");
	/* Only Python's own allocators know of no mappings. */
	m->python_told = known_in(o, "allocations") && !known_in(o, "mappings");
	m->hooks_told = !m->python_told;
	a->minor_faults = real_in(o, "minor_faults");
	a->major_faults = real_in(o, "major_faults");
	recall_sites(o, a);
	recall_leaks(yyjson_obj_get(o, "growing"), a);
	recall_scopes(yyjson_obj_get(o, "scopes"), a);
	recall_usage(o, a);
	recall_nodes(yyjson_obj_get(report, "numa"), a);
}

static void recall_syscall(isc_arena *arena, yyjson_val *o, isc_analysis_syscall *s)
{
	yyjson_val *list = yyjson_obj_get(o, "errnos"), *one;
	const char *name = words_in(arena, o, "name");
	size_t i, n;

	s->name = name != NULL ? name : "?";
	s->count = count_in(o, "count");
	s->total_us = real_in(o, "total_us");
	s->max_us = real_in(o, "max_us");
	s->bytes = count_in(o, "bytes");
	s->errors = count_in(o, "errors");
	s->slow = count_in(o, "slow");
	s->slow_told = count_in(o, "slow_told");
	s->samples = count_in(o, "samples");
	s->fails = room_for(arena, &list, sizeof(*s->fails), &s->fail_count);
	yyjson_arr_foreach(list, i, n, one)
	{
		s->fails[i] = (isc_analysis_syscall_fail){id_in(one, "errno"), count_in(one, "count")};
	}
	list = yyjson_obj_get(o, "sites");
	s->sites = room_for(arena, &list, sizeof(*s->sites), &s->site_count);
	yyjson_arr_foreach(list, i, n, one)
	{
		s->sites[i] = (isc_analysis_syscall_site){.where = frame_in(arena, one, "function"),
							  .count = count_in(one, "count"),
							  .total_us = real_in(one, "total_us"),
							  .max_us = real_in(one, "max_us"),
							  .bytes = count_in(one, "bytes"),
							  .errors = count_in(one, "errors"),
							  .about = text_in(arena, one, "about"),
							  .samples = count_in(one, "samples"),
							  .fast_count = (double)count_in(one, "fast_count"),
							  .fast_us = real_in(one, "fast_us")};
	}
}

void isc_recall_syscalls(yyjson_val *list, isc_analysis *a)
{
	yyjson_val *o;
	size_t i, n;

	a->syscalls = room_for(a->arena, &list, sizeof(*a->syscalls), &a->syscall_count);
	yyjson_arr_foreach(list, i, n, o) recall_syscall(a->arena, o, &a->syscalls[i]);
}
