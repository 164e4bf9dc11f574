/*
 * recall_gpus.c - GPUs, their work, and the files of other tools from the JSON report.
 */
#include "import/import.h"
#include "report/json/recall.h"
#include "report/json/recall_read.h"

#define SOURCES_MAX 4096u /* files of one trace: the number of one is anybody's */
#define SHARE 100000u	  /* a percent with three digits, as a part of so many */

static isc_string string_in(isc_arena *arena, yyjson_val *o, const char *key)
{
	isc_text text = text_in(arena, o, key);

	return (isc_string){text.at, text.len};
}

/* Its place in the list of sources: 0 when there is one. */
static uint32_t source_in(yyjson_val *o)
{
	uint32_t n = id_in(o, "source_number");

	return n > 0 && n <= SOURCES_MAX ? n - 1 : 0;
}

static void recall_idle(isc_arena *arena, yyjson_val *causes, isc_facts_gpu *g)
{
	for (int i = 0; i < ISC_IDLE_CAUSES; i++) {
		yyjson_val *o = yyjson_obj_get(causes, isc_idle_cause_name((enum isc_idle_cause)i));

		g->idle[i] = (isc_facts_idle){.ns = ns_in(o, "us"),
					      .gaps = count_in(o, "gaps"),
					      .where = string_in(arena, o, "where"),
					      .where_ns = ns_in(o, "where_us")};
	}
}

static void recall_delay(yyjson_val *o, isc_facts_gpu *g)
{
	g->delays = count_in(o, "count");
	g->delay_mean_ns = ns_in(o, "mean_us");
	g->delay_p50_ns = ns_in(o, "p50_us");
	g->delay_p90_ns = ns_in(o, "p90_us");
	g->delay_p99_ns = ns_in(o, "p99_us");
	g->delay_max_ns = ns_in(o, "max_us");
}

static void recall_gpu(isc_arena *arena, yyjson_val *o, isc_facts_gpu *g)
{
	g->source = source_in(o);
	g->number = id_in(o, "device_id");
	g->name = string_in(arena, o, "name");
	g->seen = true;
	g->first_ns = ns_in(o, "first_us");
	g->last_ns = g->first_ns + ns_in(o, "span_us");
	g->busy_ns = ns_in(o, "busy_us");
	g->kernel_ns = ns_in(o, "kernel_us");
	g->compute_ns = ns_in(o, "compute_us");
	g->comm_ns = ns_in(o, "comm_us");
	g->copy_ns = ns_in(o, "copy_us");
	g->set_ns = ns_in(o, "memset_us");
	g->kernels = count_in(o, "kernel_count");
	g->copies = count_in(o, "copy_count");
	g->sets = count_in(o, "memset_count");
	g->syncs = count_in(o, "sync_count");
	g->h2d_bytes = count_in(o, "h2d_bytes");
	g->d2h_bytes = count_in(o, "d2h_bytes");
	recall_delay(yyjson_obj_get(o, "queue_delay"), g);
	recall_idle(arena, yyjson_obj_get(o, "idle_causes"), g);
	for (int i = 0; i < ISC_CLASSES; i++) {
		yyjson_val *class = yyjson_obj_get(yyjson_obj_get(o, "kernels_by_class"),
						   isc_gpu_class_name((enum isc_gpu_class)i));

		g->class_ns[i] = ns_in(class, "total_us");
		g->class_count[i] = count_in(class, "count");
	}
}

/* Its place; the number of GPUs when it is of none of them. */
static size_t gpu_of(const isc_timeline_facts *f, yyjson_val *o)
{
	size_t i = 0;

	while (i < f->gpu_count && (f->gpus[i].number != id_in(o, "device_id") || f->gpus[i].source != source_in(o)))
		i++;
	return i;
}

static void recall_kernels(isc_arena *arena, yyjson_val *list, isc_timeline_facts *f)
{
	size_t i, n, room;
	yyjson_val *o;

	f->kernels = room_for(arena, &list, sizeof(*f->kernels), &room);
	yyjson_arr_foreach(list, i, n, o)
	{
		isc_facts_kernel *k = &f->kernels[f->kernel_count];

		k->gpu = gpu_of(f, o);
		k->name = string_in(arena, o, "name");
		k->class = ISC_CLASS_OTHER;
		for (int c = 0; c < ISC_CLASSES; c++) {
			if (yyjson_equals_str(yyjson_obj_get(o, "class"), isc_gpu_class_name((enum isc_gpu_class)c)))
				k->class = (uint8_t)c;
		}
		k->count = count_in(o, "count");
		k->total_ns = ns_in(o, "total_us");
		k->max_ns = ns_in(o, "max_us");
		k->min_ns = ns_in(o, "min_us");
		k->launched_from = string_in(arena, o, "launched_from");
		/* One that never ran, or on no GPU of the report, says nothing. */
		f->kernel_count += k->count > 0 && k->count < INT64_MAX && k->gpu < f->gpu_count;
	}
}

static void recall_copies(isc_arena *arena, yyjson_val *list, isc_timeline_facts *f)
{
	size_t i, n, room;
	yyjson_val *o;

	f->copies = room_for(arena, &list, sizeof(*f->copies), &room);
	yyjson_arr_foreach(list, i, n, o)
	{
		isc_facts_copy *c = &f->copies[f->copy_count];
		double pageable = real_in(o, "pageable_pct");

		c->gpu = gpu_of(f, o);
		c->kind = ISC_GPU_COPY;
		for (int k = 0; k < ISC_GPU_KINDS; k++) {
			if (yyjson_equals_str(yyjson_obj_get(o, "kind"), isc_gpu_kind_name((enum isc_gpu_kind)k)))
				c->kind = (uint8_t)k;
		}
		c->count = count_in(o, "count");
		c->total_ns = ns_in(o, "total_us");
		c->bytes = count_in(o, "bytes");
		if (pageable >= 0 && pageable <= 100) {
			c->pageable = (uint64_t)round(pageable / 100 * SHARE);
			c->pinned = SHARE - c->pageable;
		}
		f->copy_count += c->gpu < f->gpu_count;
	}
}

static void recall_sources(yyjson_val *list, isc_arena *arena, isc_timeline_facts *f)
{
	size_t i, n, most = 1;
	yyjson_val *o;

	yyjson_arr_foreach(list, i, n, o)
	{
		if (known_in(o, "source_number"))
			most = most > source_in(o) + 1 ? most : source_in(o) + 1;
	}
	/* The number of a file is there when there are several, and none of the others needs a GPU. */
	if (most == 1 && yyjson_arr_size(list) > 0 && known_in(yyjson_arr_get_first(list), "source_number"))
		most = 2;
	f->sources = isc_arena_array(arena, most, sizeof(*f->sources));
	f->source_count = f->sources != NULL ? most : 0;
	for (i = 0; i < f->source_count; i++)
		f->sources[i].rank = ISC_GPU_UNKNOWN;
	yyjson_arr_foreach(list, i, n, o)
	{
		if (f->source_count > 0 && known_in(o, "rank"))
			f->sources[source_in(o)].rank = id_in(o, "rank");
	}
}

/* What an imported trace is called by. */
static void recall_input(yyjson_val *o, isc_analysis *a)
{
	isc_import *import = isc_arena_alloc(a->arena, sizeof(*import));
	isc_import_file *file = isc_arena_alloc(a->arena, sizeof(*file));
	const char *format = words_in(a->arena, o, "format");
	char *name = words_in(a->arena, o, "name");

	if (!yyjson_is_obj(o) || import == NULL || file == NULL)
		return;
	file->path = name != NULL ? name : isc_arena_copy(a->arena, "?", 1);
	file->format = format != NULL ? format : "unknown";
	import->files = file;
	import->file_count = count_in(o, "files");
	a->import = file->path != NULL ? import : NULL;
}

void isc_recall_gpus(yyjson_val *report, isc_analysis *a)
{
	isc_timeline_facts *f = isc_arena_alloc(a->arena, sizeof(*f));
	yyjson_val *list = yyjson_obj_get(report, "gpus"), *o;
	size_t i, n;

	if (f == NULL)
		return;
	recall_sources(list, a->arena, f);
	f->gpus = room_for(a->arena, &list, sizeof(*f->gpus), &f->gpu_count);
	yyjson_arr_foreach(list, i, n, o) recall_gpu(a->arena, o, &f->gpus[i]);
	recall_kernels(a->arena, yyjson_obj_get(report, "kernels"), f);
	recall_copies(a->arena, yyjson_obj_get(report, "copies"), f);
	a->timeline = f;
	recall_input(yyjson_obj_get(yyjson_obj_get(report, "program"), "input"), a);
}
