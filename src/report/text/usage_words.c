#include "report/text/usage_words.h"

#include "base/text.h"
#include "base/units.h"
#include "report/markdown/grid.h"

#define NAME_MAX_LEN 100u

double isc_usage_words_most(const double *values, size_t n)
{
	double most = -1;

	for (size_t i = 0; i < n; i++)
		most = values[i] > most ? values[i] : most;
	return most;
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
		isc_grid_count(&t, n->nodes[i].number);
		isc_grid_name(&t, n->nodes[i].cpus, NAME_MAX_LEN);
		isc_grid_time(&t, n->nodes[i].cpu_us);
		add_bytes(&t, n->nodes[i].first_bytes);
		add_bytes(&t, n->nodes[i].last_bytes);
		add_bytes(&t, n->nodes[i].taken_bytes);
	}
	isc_grid_close(&t, out);
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
		add_bytes(&t, isc_usage_words_most(u->swap_bytes, u->points));
		if (u->limit_bytes >= 0)
			add_bytes(&t, u->limit_bytes);
		else
			isc_grid_cell(&t, u->group_known ? "none" : "?");
		isc_grid_time(&t, u->group_known ? u->some_us : -1);
		isc_grid_close(&t, out);
	}
	if (a->numa.nodes != NULL)
		write_nodes(a, out);
}
