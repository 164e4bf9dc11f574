#include "report/json/gpu_json.h"

#include "import/import.h"
#include "report/json/json_tree.h"

#define US 1e3 /* nanoseconds */

static void put_string(struct json *j, val *object, const char *key, isc_string s)
{
	put_text(j, object, key, &(isc_text){s.at, s.len});
}

static void put_ns(struct json *j, val *object, const char *key, int64_t ns)
{
	put_us(j, object, key, (double)ns / US);
}

static void put_share(struct json *j, val *object, const char *key, int64_t part, int64_t whole)
{
	/* Three digits of a percent is a nanosecond of 100 us. */
	put(j, object, key, whole > 0 ? real_of(j, (double)part / (double)whole * 100) : yyjson_mut_null(j->doc));
}

/* A device number that the source did not say. */
static void put_device(struct json *j, val *object, const isc_facts_gpu *g)
{
	put_count(j, object, "device_id", g->number);
}

static void put_causes(struct json *j, val *object, const isc_facts_gpu *g)
{
	int64_t span = g->last_ns - g->first_ns;
	val *causes = object_in(j, object, "idle_causes"), *over;

	for (int i = 0; i < ISC_IDLE_CAUSES; i++) {
		val *cause = object_in(j, causes, isc_idle_cause_name((enum isc_idle_cause)i));

		put_ns(j, cause, "us", g->idle[i].ns);
		put_share(j, cause, "pct", g->idle[i].ns, span);
		put_count(j, cause, "gaps", g->idle[i].gaps);
		put_string(j, cause, "where", g->idle[i].where);
		put_ns(j, cause, "where_us", g->idle[i].where_ns);
		over = list_in(j, cause, "over_time");
		for (size_t k = 0; g->idle[i].ns > 0 && k < ISC_TIMELINE_BINS; k++)
			add(j, over, real_of(j, g->idle_why[i][k] * 100));
	}
}

static void put_classes(struct json *j, val *object, const isc_facts_gpu *g)
{
	val *classes = object_in(j, object, "kernels_by_class");
	int64_t all = 0;

	for (int i = 0; i < ISC_CLASSES; i++)
		all += g->class_ns[i];
	for (int i = 0; i < ISC_CLASSES; i++) {
		val *class;

		if (g->class_count[i] == 0)
			continue;
		class = object_in(j, classes, isc_gpu_class_name((enum isc_gpu_class)i));
		put_count(j, class, "count", g->class_count[i]);
		put_ns(j, class, "total_us", g->class_ns[i]);
		put_share(j, class, "pct", g->class_ns[i], all);
	}
}

static void put_streams(struct json *j, val *object, const isc_facts_gpu *g)
{
	val *streams = list_in(j, object, "streams");

	for (size_t i = 0; i < g->stream_count; i++) {
		const isc_facts_stream *s = &g->streams[i];
		val *o = add(j, streams, yyjson_mut_obj(j->doc));

		put_count(j, o, "stream", s->stream);
		put_count(j, o, "count", s->count);
		put_ns(j, o, "idle_us", s->idle_ns);
		put_ns(j, o, "host_wait_us", s->host_wait_ns);
		put_ns(j, o, "kernel_wait_us", s->kernel_wait_ns);
		put_ns(j, o, "other_us", s->other_ns);
	}
}

static void put_delay(struct json *j, val *object, const isc_facts_gpu *g)
{
	val *o = object_in(j, object, "queue_delay");
	bool any = g->delays > 0;

	put_count(j, o, "count", g->delays);
	put_us(j, o, "mean_us", any ? (double)g->delay_mean_ns / US : -1);
	put_us(j, o, "p50_us", any ? (double)g->delay_p50_ns / US : -1);
	put_us(j, o, "p90_us", any ? (double)g->delay_p90_ns / US : -1);
	put_us(j, o, "p99_us", any ? (double)g->delay_p99_ns / US : -1);
	put_us(j, o, "max_us", any ? (double)g->delay_max_ns / US : -1);
}

/* Which file it is of, when there are several. */
static void put_source(struct json *j, val *object, const isc_timeline_facts *f, uint32_t source)
{
	const isc_facts_source *s = &f->sources[source];

	put_string(j, object, "source", s->label);
	put(j, object, "source_number",
	    f->source_count > 1 ? yyjson_mut_uint(j->doc, source + 1) : yyjson_mut_null(j->doc));
	put(j, object, "rank", s->rank != ISC_GPU_UNKNOWN ? yyjson_mut_uint(j->doc, s->rank) : yyjson_mut_null(j->doc));
}

static void put_gpu(struct json *j, val *list, const isc_timeline_facts *f, const isc_facts_gpu *g,
		    const char *bottleneck)
{
	int64_t span = g->last_ns - g->first_ns, window = f->to_ns - f->from_ns;
	val *o = add(j, list, yyjson_mut_obj(j->doc)), *over;

	put_device(j, o, g);
	put_string(j, o, "name", g->name);
	put_source(j, o, f, g->source);
	put_ns(j, o, "first_us", g->first_ns);
	put_ns(j, o, "span_us", span);
	put_share(j, o, "busy_pct", g->busy_ns, span);
	put_share(j, o, "idle_pct", span - g->busy_ns, span);
	put_share(j, o, "compute_pct", g->compute_ns, span);
	put_share(j, o, "comm_pct", g->comm_ns, span);
	put_share(j, o, "copy_pct", g->copy_ns, span);
	put_share(j, o, "window_idle_pct", window - g->busy_ns, window);
	put_ns(j, o, "busy_us", g->busy_ns);
	put_ns(j, o, "idle_us", span - g->busy_ns);
	put_ns(j, o, "kernel_us", g->kernel_ns);
	put_ns(j, o, "compute_us", g->compute_ns);
	put_ns(j, o, "comm_us", g->comm_ns);
	put_ns(j, o, "copy_us", g->copy_ns);
	put_ns(j, o, "memset_us", g->set_ns);
	/* Both unions together are that of all kernels but for what they share. */
	put_share(j, o, "comm_overlap_pct", g->compute_ns + g->comm_ns - g->kernel_ns, g->comm_ns);
	put_count(j, o, "kernel_count", g->kernels);
	put_count(j, o, "copy_count", g->copies);
	put_count(j, o, "memset_count", g->sets);
	put_count(j, o, "sync_count", g->syncs);
	put_count(j, o, "most_at_once", g->most_at_once);
	put_count(j, o, "h2d_bytes", g->h2d_bytes);
	put_count(j, o, "d2h_bytes", g->d2h_bytes);
	put_causes(j, o, g);
	put_ns(j, o, "drained_us", g->drained_ns);
	over = list_in(j, o, "idle_over_time");
	for (size_t i = 0; i < ISC_TIMELINE_BINS; i++)
		add(j, over, real_of(j, g->idle_over_time[i] * 100));
	put_classes(j, o, g);
	put_delay(j, o, g);
	put_streams(j, o, g);
	put_words(j, o, "bottleneck", bottleneck);
}

void isc_gpu_json_input(struct json *j, yyjson_mut_val *program, const isc_analysis *a)
{
	const isc_import *import = a->import;
	const char *slash;
	val *o;

	if (import == NULL || import->file_count == 0) {
		put_null(j, program, "input");
		return;
	}
	o = object_in(j, program, "input");
	slash = strrchr(import->files[0].path, '/');
	put_words(j, o, "name", slash != NULL ? slash + 1 : import->files[0].path);
	put_words(j, o, "format", import->files[0].format);
	put_count(j, o, "files", import->file_count);
}

void isc_gpu_json_gpus(struct json *j, yyjson_mut_val *root, const isc_analysis *a)
{
	const isc_timeline_facts *f = a->timeline;
	val *list = list_in(j, root, "gpus");

	for (size_t i = 0; f != NULL && i < f->gpu_count; i++) {
		if (f->gpus[i].seen)
			put_gpu(j, list, f, &f->gpus[i], a->gpu_bottleneck != NULL ? a->gpu_bottleneck[i] : NULL);
	}
}

void isc_gpu_json_kernels(struct json *j, yyjson_mut_val *root, const isc_analysis *a)
{
	const isc_timeline_facts *f = a->timeline;
	val *list = list_in(j, root, "kernels");

	for (size_t i = 0; f != NULL && i < f->kernel_count; i++) {
		const isc_facts_kernel *k = &f->kernels[i];
		val *o = add(j, list, yyjson_mut_obj(j->doc));

		put(j, o, "name", text_of(j, &(isc_text){k->name.at, k->name.len}));
		put_words(j, o, "class", isc_gpu_class_name((enum isc_gpu_class)k->class));
		put_device(j, o, &f->gpus[k->gpu]);
		put_source(j, o, f, f->gpus[k->gpu].source);
		put_count(j, o, "count", k->count);
		put_ns(j, o, "total_us", k->total_ns);
		put_us(j, o, "mean_us", (double)k->total_ns / US / (double)k->count);
		put_ns(j, o, "min_us", k->min_ns);
		put_ns(j, o, "max_us", k->max_ns);
		put_string(j, o, "launched_from", k->launched_from);
		put_string(j, o, "scope", k->scope);
	}
}

void isc_gpu_json_copies(struct json *j, yyjson_mut_val *root, const isc_analysis *a)
{
	const isc_timeline_facts *f = a->timeline;
	val *list = list_in(j, root, "copies");

	for (size_t i = 0; f != NULL && i < f->copy_count; i++) {
		const isc_facts_copy *c = &f->copies[i];
		uint64_t known = c->pageable + c->pinned;
		val *o = add(j, list, yyjson_mut_obj(j->doc));

		put_words(j, o, "kind", isc_gpu_kind_name((enum isc_gpu_kind)c->kind));
		put_device(j, o, &f->gpus[c->gpu]);
		put_source(j, o, f, f->gpus[c->gpu].source);
		put_count(j, o, "count", c->count);
		put_ns(j, o, "total_us", c->total_ns);
		put_count(j, o, "bytes", c->bytes);
		put(j, o, "gb_per_s",
		    c->total_ns > 0 ? real_of(j, (double)c->bytes / (double)c->total_ns) : yyjson_mut_null(j->doc));
		put_us(j, o, "pageable_pct", known > 0 ? (double)c->pageable / (double)known * 100 : -1);
	}
}
