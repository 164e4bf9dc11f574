/*
 * gpus.c - GPUs: how busy each one was, and why it was idle.
 */
#include "report/json/tables.h"

#define US 1e3		  /* nanoseconds */
#define SOURCES_MAX 4096u /* files of one trace; a larger number in a report is ignored */

static val *share_of(struct json *j, int64_t part, int64_t whole)
{
	/* Three digits of a percent is a nanosecond of 100 us. */
	return whole > 0 ? real_of(j, (double)part / (double)whole * 100) : yyjson_mut_null(j->doc);
}

static int64_t span_of(const isc_facts_gpu *g)
{
	return g->last_ns - g->first_ns;
}

/* ---- the file that describes it, when there are several ---- */

void isc_gpu_source_write(struct json *j, val *object, const void *from)
{
	const isc_timeline_facts *f = j->a->timeline;
	uint32_t source = *(const uint32_t *)from;
	const isc_facts_source *s = &f->sources[source];

	put_text(j, object, "source", &s->label);
	put(j, object, "source_number",
	    f->source_count > 1 ? yyjson_mut_uint(j->doc, source + 1) : yyjson_mut_null(j->doc));
	put(j, object, "rank", s->rank != ISC_GPU_UNKNOWN ? yyjson_mut_uint(j->doc, s->rank) : yyjson_mut_null(j->doc));
}

uint32_t isc_gpu_source_in(yyjson_val *o)
{
	uint32_t n = id_in(o, "source_number");

	return n > 0 && n <= SOURCES_MAX ? n - 1 : 0;
}

static void read_sources(yyjson_val *gpus, isc_arena *arena, isc_timeline_facts *f)
{
	size_t i, n, most = 1;
	yyjson_val *o;

	yyjson_arr_foreach(gpus, i, n, o)
	{
		if (known_in(o, "source_number"))
			most = most > isc_gpu_source_in(o) + 1 ? most : isc_gpu_source_in(o) + 1;
	}
	/* Numbers are only written when there are several files; the others may have no GPU. */
	if (most == 1 && yyjson_arr_size(gpus) > 0 && known_in(yyjson_arr_get_first(gpus), "source_number"))
		most = 2;
	f->sources = isc_arena_array(arena, most, sizeof(*f->sources));
	f->source_count = f->sources != NULL ? most : 0;
	for (i = 0; i < f->source_count; i++)
		f->sources[i].rank = ISC_GPU_UNKNOWN;
	yyjson_arr_foreach(gpus, i, n, o)
	{
		if (f->source_count > 0 && known_in(o, "rank"))
			f->sources[isc_gpu_source_in(o)].rank = id_in(o, "rank");
	}
}

static void read_source(isc_reading in)
{
	*(uint32_t *)in.into = isc_gpu_source_in(in.value);
}

/* ---- its span, and shares of it ---- */

static void write_span(struct json *j, val *object, const void *from)
{
	const isc_facts_gpu *g = from;
	int64_t span = span_of(g), window = j->a->timeline->to_ns - j->a->timeline->from_ns;

	put_us(j, object, "span_us", (double)span / US);
	put(j, object, "busy_pct", share_of(j, g->busy_ns, span));
	put(j, object, "idle_pct", share_of(j, span - g->busy_ns, span));
	put(j, object, "compute_pct", share_of(j, g->compute_ns, span));
	put(j, object, "comm_pct", share_of(j, g->comm_ns, span));
	put(j, object, "copy_pct", share_of(j, g->copy_ns, span));
	put(j, object, "window_idle_pct", share_of(j, window - g->busy_ns, window));
}

static void read_span(isc_reading in)
{
	isc_facts_gpu *g = in.into;

	g->last_ns = g->first_ns + ns_from(yyjson_obj_get(in.value, "span_us"));
}

static val *idle_us(struct json *j, const void *from)
{
	const isc_facts_gpu *g = from;

	return us_of(j, (double)(span_of(g) - g->busy_ns) / US);
}

/* The sum of both unions exceeds the union of all kernels by what they share. */
static val *comm_overlap(struct json *j, const void *from)
{
	const isc_facts_gpu *g = from;

	return share_of(j, g->compute_ns + g->comm_ns - g->kernel_ns, g->comm_ns);
}

static val *bottleneck_of(struct json *j, const void *from)
{
	const isc_facts_gpu *g = from;

	return words_of(j, j->a->gpu_bottleneck != NULL ? j->a->gpu_bottleneck[g - j->a->timeline->gpus] : NULL);
}

/* ---- why it was idle, and when ---- */

static val *over_time_of(struct json *j, const double *shares, size_t count)
{
	val *list = yyjson_mut_arr(j->doc);

	for (size_t i = 0; i < count; i++)
		add(j, list, real_of(j, shares[i] * 100));
	return list;
}

static val *idle_over_time(struct json *j, const void *from)
{
	return over_time_of(j, ((const isc_facts_gpu *)from)->idle_over_time, ISC_TIMELINE_BINS);
}

static val *idle_causes(struct json *j, const void *from)
{
	const isc_facts_gpu *g = from;
	val *causes = yyjson_mut_obj(j->doc);

	for (int i = 0; i < ISC_IDLE_CAUSES; i++) {
		const isc_facts_idle *idle = &g->idle[i];
		val *o = object_in(j, causes, isc_idle_cause_name((enum isc_idle_cause)i));

		put_us(j, o, "us", (double)idle->ns / US);
		put(j, o, "pct", share_of(j, idle->ns, span_of(g)));
		put_count(j, o, "gaps", idle->gaps);
		put_text(j, o, "where", &idle->where);
		put_us(j, o, "where_us", (double)idle->where_ns / US);
		put(j, o, "over_time", over_time_of(j, g->idle_why[i], idle->ns > 0 ? ISC_TIMELINE_BINS : 0));
	}
	return causes;
}

static void read_idle_causes(isc_reading in)
{
	isc_facts_gpu *g = in.into;

	for (int i = 0; i < ISC_IDLE_CAUSES; i++) {
		yyjson_val *o = yyjson_obj_get(in.value, isc_idle_cause_name((enum isc_idle_cause)i));
		isc_text where = text_from(in.a->arena, yyjson_obj_get(o, "where"));

		g->idle[i] = (isc_facts_idle){.ns = ns_in(o, "us"),
					      .gaps = count_in(o, "gaps"),
					      .where = {where.at, where.len},
					      .where_ns = ns_in(o, "where_us")};
	}
}

/* ---- its kernels by class: those that it had ---- */

static val *classes_of(struct json *j, const void *from)
{
	val *classes = yyjson_mut_obj(j->doc), *o;
	const isc_facts_gpu *g = from;
	int64_t all = 0;

	for (unsigned i = 0; i < ISC_CLASSES; i++)
		all += g->class_ns[i];
	for (unsigned i = 0; i < ISC_CLASSES; i++) {
		if (g->class_count[i] == 0)
			continue;
		o = object_in(j, classes, isc_gpu_class_name((enum isc_gpu_class)i));
		put_count(j, o, "count", g->class_count[i]);
		put_us(j, o, "total_us", (double)g->class_ns[i] / US);
		put(j, o, "pct", share_of(j, g->class_ns[i], all));
	}
	return classes;
}

static void read_classes(isc_reading in)
{
	isc_facts_gpu *g = in.into;

	for (unsigned i = 0; i < ISC_CLASSES; i++) {
		yyjson_val *o = yyjson_obj_get(in.value, isc_gpu_class_name((enum isc_gpu_class)i));

		g->class_ns[i] = ns_in(o, "total_us");
		g->class_count[i] = count_in(o, "count");
	}
}

/* ---- devices ---- */

#define GPU(as, member) ISC_AT(as, isc_facts_gpu, member)
#define IF_DELAYS ISC_IF(isc_facts_gpu, delays)
static const isc_field delay_rows[] = {
	{"count", GPU(COUNT, delays)},
	{"mean_us", GPU(NS, delay_mean_ns), IF_DELAYS},
	{"p50_us", GPU(NS, delay_p50_ns), IF_DELAYS},
	{"p90_us", GPU(NS, delay_p90_ns), IF_DELAYS},
	{"p99_us", GPU(NS, delay_p99_ns), IF_DELAYS},
	{"max_us", GPU(NS, delay_max_ns), IF_DELAYS},
	{.kind = ISC_FIELD_END},
};

#define STREAM(as, member) ISC_AT(as, isc_facts_stream, member)
static const isc_field stream_rows[] = {
	{"stream", STREAM(COUNT, stream)},
	{"count", STREAM(COUNT, count)},
	{"idle_us", STREAM(NS, idle_ns)},
	{"host_wait_us", STREAM(NS, host_wait_ns)},
	{"kernel_wait_us", STREAM(NS, kernel_wait_ns)},
	{"other_us", STREAM(NS, other_ns)},
	{.kind = ISC_FIELD_END},
};

static const isc_field gpu_rows[] = {
	{"device_id", GPU(COUNT32, number)},
	{"name", GPU(TEXT, name)},
	{NULL, GPU(CUSTOM, source), .write = isc_gpu_source_write, .read = read_source},
	{"first_us", GPU(NS, first_ns)},
	{NULL, .write = write_span, .read = read_span},
	{"busy_us", GPU(NS, busy_ns)},
	{"idle_us", .value = idle_us},
	{"kernel_us", GPU(NS, kernel_ns)},
	{"compute_us", GPU(NS, compute_ns)},
	{"comm_us", GPU(NS, comm_ns)},
	{"copy_us", GPU(NS, copy_ns)},
	{"memset_us", GPU(NS, set_ns)},
	{"comm_overlap_pct", .value = comm_overlap},
	{"kernel_count", GPU(COUNT, kernels)},
	{"copy_count", GPU(COUNT, copies)},
	{"memset_count", GPU(COUNT, sets)},
	{"sync_count", GPU(COUNT, syncs)},
	{"most_at_once", GPU(COUNT32, most_at_once)},
	{"h2d_bytes", GPU(COUNT, h2d_bytes)},
	{"d2h_bytes", GPU(COUNT, d2h_bytes)},
	{"idle_causes", .value = idle_causes, .read = read_idle_causes},
	{"drained_us", GPU(NS, drained_ns)},
	{"idle_over_time", .value = idle_over_time},
	{"kernels_by_class", .value = classes_of, .read = read_classes},
	{"queue_delay", .kind = ISC_FIELD_OBJECT, .of = delay_rows},
	{"streams", ISC_LIST(isc_facts_gpu, streams, stream_count, stream_rows)},
	{"bottleneck", .value = bottleneck_of},
	{.kind = ISC_FIELD_END},
};

static const isc_field list_rows[] = {
	{"gpus", ISC_LIST(isc_timeline_facts, gpus, gpu_count, gpu_rows), .only_at = ISC_FLAG_AT(isc_facts_gpu, seen)},
	{.kind = ISC_FIELD_END},
};

void isc_gpus_write(struct json *j, val *report, const void *analysis)
{
	static const isc_timeline_facts none;
	const isc_analysis *a = analysis;

	isc_fields_write(j, report, list_rows, a->timeline != NULL ? a->timeline : &none);
}

void isc_gpus_read(isc_reading in)
{
	isc_timeline_facts *f = isc_arena_alloc(in.a->arena, sizeof(*f));

	if (f == NULL)
		return;
	read_sources(yyjson_obj_get(in.value, "gpus"), in.a->arena, f);
	isc_fields_read(in.a, in.value, list_rows, f);
	in.a->timeline = f;
}
