#include "report/text/usage_words.h"

#include "base/units.h"
#include "report/markdown/grid.h"

#define NAME_MAX_LEN 100u

static void put_bytes(struct json *j, val *o, const char *key, double bytes)
{
	put(j, o, key, bytes >= 0 ? yyjson_mut_uint(j->doc, (uint64_t)bytes) : yyjson_mut_null(j->doc));
}

static void put_column(struct json *j, val *o, const char *key, const double *values, size_t n)
{
	val *list = list_in(j, o, key);

	for (size_t i = 0; i < n; i++)
		add(j, list, values[i] >= 0 ? yyjson_mut_uint(j->doc, (uint64_t)values[i]) : yyjson_mut_null(j->doc));
}

static double most_of(const double *values, size_t n)
{
	double most = -1;

	for (size_t i = 0; i < n; i++)
		most = values[i] > most ? values[i] : most;
	return most;
}

void isc_usage_json(struct json *j, val *memory, const isc_analysis *a)
{
	const isc_analysis_usage *u = &a->usage;
	val *o;

	put_bytes(j, memory, "peak_rss_bytes", u->known ? u->peak_rss_bytes : -1);
	put_bytes(j, memory, "swap_bytes", u->known ? most_of(u->swap_bytes, u->points) : -1);
	put_us(j, memory, "fault_us", u->fault_us > 0 ? u->fault_us : -1);
	put(j, memory, "fault_us_source",
	    u->fault_us > 0 ? yyjson_mut_str(j->doc, u->fault_sampled ? "samples" : "recorder")
			    : yyjson_mut_null(j->doc));
	if (!u->known)
		return;
	o = object_in(j, memory, "over_time");
	put_column(j, o, "at_us", u->at_us, u->points);
	put_column(j, o, "rss_bytes", u->rss_bytes, u->points);
	put_column(j, o, "minor_faults", u->minor_faults, u->points);
	put_column(j, o, "major_faults", u->major_faults, u->points);
	put_column(j, o, "swap_bytes", u->swap_bytes, u->points);
	if (!u->group_known) {
		put_null(j, memory, "group");
		return;
	}
	o = object_in(j, memory, "group");
	put_bytes(j, o, "limit_bytes", u->limit_bytes);
	put_bytes(j, o, "most_bytes", u->group_bytes);
	put_us(j, o, "some_stalled_us", u->some_us);
	put_us(j, o, "all_stalled_us", u->full_us);
	put_bytes(j, o, "limit_met", u->refused);
	put_bytes(j, o, "killed", u->killed);
}

void isc_numa_json(struct json *j, val *root, const isc_analysis *a)
{
	const isc_analysis_numa *n = &a->numa;
	val *o, *list, *one;

	if (n->nodes == NULL) {
		put_null(j, root, "numa");
		return;
	}
	o = object_in(j, root, "numa");
	list = list_in(j, o, "nodes");
	for (size_t i = 0; i < n->count; i++) {
		one = add(j, list, yyjson_mut_obj(j->doc));
		put_count(j, one, "node", n->nodes[i].number);
		put_text(j, one, "cpus", &n->nodes[i].cpus);
		put_bytes(j, one, "memory_bytes", n->nodes[i].memory_bytes);
		put_bytes(j, one, "first_bytes", n->nodes[i].first_bytes);
		put_bytes(j, one, "last_bytes", n->nodes[i].last_bytes);
		put_us(j, one, "cpu_us", n->nodes[i].cpu_us);
		put(j, one, "samples",
		    n->sampled ? yyjson_mut_uint(j->doc, n->nodes[i].samples) : yyjson_mut_null(j->doc));
		put_bytes(j, one, "taken_bytes", n->nodes[i].taken_bytes);
	}
	list = list_in(j, o, "pages_per_node");
	for (size_t i = 0; i < n->count; i++)
		add(j, list,
		    n->nodes[i].last_bytes >= 0 ? yyjson_mut_uint(j->doc, (uint64_t)(n->nodes[i].last_bytes / 4096))
						: yyjson_mut_null(j->doc));
	list = list_in(j, o, "migrations");
	for (size_t i = 0; i < n->moved_count; i++) {
		one = add(j, list, yyjson_mut_obj(j->doc));
		put_count(j, one, "from_node", n->moved[i].from);
		put_count(j, one, "to_node", n->moved[i].to);
		put_bytes(j, one, "pages", n->moved[i].bytes / 4096);
	}
	put_us(j, o, "remote_pct", n->remote_pct);
	put_count(j, o, "looks", n->looks);
}

/* 1,234 MiB */
static void add_bytes(isc_grid *t, double bytes)
{
	isc_units u;

	if (bytes < 0) {
		isc_grid_cell(t, "?");
		return;
	}
	isc_buffer_format(&t->text, "%s MiB", isc_units_number(&u, bytes / 1048576));
	isc_grid_end(t);
}

static void write_nodes(const isc_analysis *a, isc_buffer *out)
{
	static const char *const titles[] = {
		">node", "CPUs", ">CPU time on it", ">memory at first", ">at the end", ">taken there", NULL};
	const isc_analysis_numa *n = &a->numa;
	isc_units u;
	isc_grid t;

	isc_grid_init(&t, titles);
	isc_buffer_text(out, "\n## Memory nodes\n\n");
	for (size_t i = 0; i < n->count; i++) {
		isc_grid_cell(&t, isc_units_count(&u, n->nodes[i].number));
		isc_text_markdown(&t.text, n->nodes[i].cpus.at, n->nodes[i].cpus.len, NAME_MAX_LEN);
		isc_grid_end(&t);
		isc_grid_cell(&t, isc_units_time(&u, n->nodes[i].cpu_us));
		add_bytes(&t, n->nodes[i].first_bytes);
		add_bytes(&t, n->nodes[i].last_bytes);
		add_bytes(&t, n->nodes[i].taken_bytes);
	}
	isc_grid_write(&t, out);
	isc_grid_fini(&t);
	if (n->remote_pct >= 0)
		isc_buffer_format(
			out,
			"\nIf all of its memory is used alike, %s of what the program touches lies on another node "
			"than it runs on.\n",
			isc_units_percent(&u, n->remote_pct));
}

void isc_usage_markdown(const isc_analysis *a, isc_buffer *out)
{
	static const char *const titles[] = {">peak RSS", ">minor faults",	 ">major faults",
					     ">swap",	  ">limit of its group", ">its group stalled",
					     NULL};
	const isc_analysis_usage *u = &a->usage;
	isc_units n;
	isc_grid t;

	if (u->known && u->peak_rss_bytes >= 0) {
		isc_grid_init(&t, titles);
		isc_buffer_text(out, "\n## Memory in use\n\n");
		add_bytes(&t, u->peak_rss_bytes);
		isc_grid_cell(&t, a->minor_faults >= 0 ? isc_units_count(&n, (uint64_t)a->minor_faults) : "?");
		isc_grid_cell(&t, a->major_faults >= 0 ? isc_units_count(&n, (uint64_t)a->major_faults) : "?");
		add_bytes(&t, most_of(u->swap_bytes, u->points));
		if (u->limit_bytes >= 0)
			add_bytes(&t, u->limit_bytes);
		else
			isc_grid_cell(&t, u->group_known ? "none" : "?");
		isc_grid_cell(&t, isc_units_time(&n, u->group_known ? u->some_us : -1));
		isc_grid_write(&t, out);
		isc_grid_fini(&t);
	}
	if (a->numa.nodes != NULL)
		write_nodes(a, out);
}
