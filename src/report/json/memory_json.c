#include "report/json/memory_json.h"

#include <math.h>
#include <stdlib.h>

#include "report/json/json_tree.h"
#include "report/text/memory_words.h"

/* Of all sites the report has so many; the others are in the sums. */
#define SITES_MAX 200u
#define PEAK_MAX 20u

static void put_bytes(struct json *j, val *o, const char *key, bool known, double bytes)
{
	put(j, o, key,
	    known ? yyjson_mut_uint(j->doc, bytes > 0 ? (uint64_t)round(bytes) : 0) : yyjson_mut_null(j->doc));
}

static void put_site(struct json *j, val *o, const isc_analysis_frame *at, uint32_t pid)
{
	isc_buffer words = {0};

	isc_memory_words_where(&words, at);
	j->failed |= words.failed;
	put(j, o, "where", text_of(j, &(isc_text){words.data != NULL ? words.data : "", words.len}));
	isc_buffer_fini(&words);
	put_text(j, o, "function", &at->name);
	put_text(j, o, "file", &at->file);
	put(j, o, "line", at->line != 0 ? yyjson_mut_uint(j->doc, at->line) : yyjson_mut_null(j->doc));
	put_text(j, o, "module", &at->module);
	put(j, o, "process_id", pid != 0 ? yyjson_mut_uint(j->doc, pid) : yyjson_mut_null(j->doc));
}

/* In the order of the nodes of numa; null with one node. */
static void put_nodes(struct json *j, val *site, const isc_analysis *a, const isc_analysis_site *s)
{
	val *list;

	if (s->node_bytes == NULL) {
		put_null(j, site, "node_bytes");
		return;
	}
	list = list_in(j, site, "node_bytes");
	for (size_t i = 0; i < a->numa.count; i++)
		add(j, list, yyjson_mut_uint(j->doc, (uint64_t)round(s->node_bytes[i])));
}

static void put_sites(struct json *j, val *memory, const isc_analysis *a)
{
	const isc_analysis_memory *m = &a->memory;
	val *list = list_in(j, memory, "sites");
	double all = 0;

	for (size_t i = 0; i < m->site_count && i < SITES_MAX; i++) {
		const isc_analysis_site *s = &m->sites[i];
		val *o = add(j, list, yyjson_mut_obj(j->doc));

		put_site(j, o, &s->at, s->pid);
		put_bytes(j, o, "bytes", true, s->bytes);
		put_bytes(j, o, "count", true, s->count);
		put_bytes(j, o, "live_bytes", true, s->live_bytes);
		put_bytes(j, o, "live_count", true, s->live_count);
		put_bytes(j, o, "peak_bytes", true, s->peak_bytes);
		put_count(j, o, "samples", s->samples);
		put_bytes(j, o, "error_bytes", true, isc_memory_words_error(s));
		put_nodes(j, o, a, s);
	}
	for (size_t i = 0; i < m->site_count; i++)
		all += m->sites[i].bytes;
	put_count(j, memory, "site_count", m->site_count);
	put_bytes(j, memory, "site_bytes", m->recorded, all);
}

static int most_at_peak(const void *x, const void *y)
{
	const isc_analysis_site *a = *(const isc_analysis_site *const *)x, *b = *(const isc_analysis_site *const *)y;

	if (a->peak_bytes < b->peak_bytes || a->peak_bytes > b->peak_bytes)
		return a->peak_bytes > b->peak_bytes ? -1 : 1;
	return a < b ? -1 : a > b;
}

static void put_peak(struct json *j, val *memory, const isc_analysis_memory *m)
{
	const isc_analysis_site **order = calloc(m->site_count + 1, sizeof(*order));
	val *o, *list;

	if (order == NULL || m->peak_bytes <= 0) {
		j->failed |= order == NULL;
		free(order);
		put_null(j, memory, "peak");
		return;
	}
	for (size_t i = 0; i < m->site_count; i++)
		order[i] = &m->sites[i];
	qsort(order, m->site_count, sizeof(*order), most_at_peak);
	o = object_in(j, memory, "peak");
	put_us(j, o, "at_us", m->peak_us);
	put_bytes(j, o, "bytes", true, m->peak_bytes);
	list = list_in(j, o, "sites");
	for (size_t i = 0; i < m->site_count && i < PEAK_MAX && order[i]->peak_bytes > 0; i++) {
		val *site = add(j, list, yyjson_mut_obj(j->doc));

		put_site(j, site, &order[i]->at, order[i]->pid);
		put_bytes(j, site, "bytes", true, order[i]->peak_bytes);
	}
	free(order);
}

static void put_leaks(struct json *j, val *memory, const isc_analysis_memory *m)
{
	val *list = list_in(j, memory, "growing");

	for (size_t i = 0; i < m->leak_count; i++) {
		const isc_analysis_leak *l = &m->leaks[i];
		val *o = add(j, list, yyjson_mut_obj(j->doc));

		put_site(j, o, &l->at, l->pid);
		put_bytes(j, o, "bytes", true, l->bytes);
		put_us(j, o, "from_us", l->from_us);
		put_us(j, o, "to_us", l->to_us);
		put_bytes(j, o, "bytes_per_s", true, l->bytes_per_s);
		put_count(j, o, "samples", l->samples);
	}
}

static void put_scopes(struct json *j, val *memory, const isc_analysis_memory *m)
{
	val *list = list_in(j, memory, "scopes");

	for (size_t i = 0; i < m->scope_count && i < SITES_MAX; i++) {
		const isc_analysis_memory_scope *s = &m->scopes[i];
		val *o = add(j, list, yyjson_mut_obj(j->doc));

		put_text(j, o, "name", &s->name);
		put_count(j, o, "count", s->count);
		put_bytes(j, o, "bytes", true, s->bytes);
		put(j, o, "growth_bytes", yyjson_mut_sint(j->doc, (int64_t)round(s->growth)));
		put_bytes(j, o, "error_bytes", true, s->error);
		put_count(j, o, "samples", s->samples);
		put(j, o, "grows", yyjson_mut_bool(j->doc, s->grows));
	}
}

void isc_memory_json(struct json *j, val *memory, const isc_analysis *a)
{
	const isc_analysis_memory *m = &a->memory;
	bool known = m->recorded && m->calls + m->maps > 0, mapped = known && (m->hooks_told || !m->python_told);

	put_sites(j, memory, a);
	put_bytes(j, memory, "allocations", known, (double)m->calls);
	put(j, memory, "allocated_bytes", known ? yyjson_mut_uint(j->doc, m->bytes) : yyjson_mut_null(j->doc));
	put_bytes(j, memory, "frees", known, (double)m->frees);
	put_bytes(j, memory, "mappings", mapped, (double)m->maps);
	put(j, memory, "mapped_bytes", mapped ? yyjson_mut_uint(j->doc, m->mapped_bytes) : yyjson_mut_null(j->doc));
	put_bytes(j, memory, "samples", m->recorded, (double)m->samples);
	put_bytes(j, memory, "sample_bytes", known, (double)m->mean_bytes);
	put_bytes(j, memory, "live_bytes", known, m->live_bytes);
	put_peak(j, memory, m);
	put_leaks(j, memory, m);
	put_scopes(j, memory, m);
	put_text(j, memory, "allocator", &m->allocator);
}
