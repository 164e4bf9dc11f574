/*
 * gpu_work.c - kernels and copies, and the GPU each ran on.
 */
#include <assert.h>

#include "report/json/tables.h"

#define SHARE 100000u /* a percent with three digits, as a part of so many */

static void write_device(struct json *j, val *object, const void *from)
{
	const isc_facts_gpu *g = &j->a->timeline->gpus[*(const size_t *)from];

	put_count(j, object, "device_id", g->number);
	isc_gpu_source_write(j, object, &g->source);
}

/* The number of GPUs: it ran on none of them. */
static void read_device(isc_reading in)
{
	const isc_timeline_facts *f = in.a->timeline;
	uint32_t number = id_in(in.value, "device_id"), source = isc_gpu_source_in(in.value);
	size_t i = 0;

	while (i < f->gpu_count && (f->gpus[i].number != number || f->gpus[i].source != source))
		i++;
	*(size_t *)in.into = i;
}

static val *kernel_mean(struct json *j, const void *from)
{
	const isc_facts_kernel *k = from;

	return us_of(j, (double)k->total_ns / 1e3 / (double)k->count);
}

/* A kernel that never ran is dropped like one without a GPU. */
static void read_ran(isc_reading in)
{
	isc_facts_kernel *k = in.into;

	if (k->count == 0 || k->count >= INT64_MAX)
		k->gpu = in.a->timeline->gpu_count;
}

#define KERNEL(as, member) ISC_AT(as, isc_facts_kernel, member)
static const isc_field kernel_rows[] = {
	{"name", KERNEL(NAME, name)},
	{"class", KERNEL(ENUM, class), .names = ISC_NAMES_CLASSES},
	{NULL, KERNEL(CUSTOM, gpu), .write = write_device, .read = read_device},
	{"count", KERNEL(COUNT, count)},
	{"total_us", KERNEL(NS, total_ns)},
	{"mean_us", .value = kernel_mean},
	{"min_us", KERNEL(NS, min_ns)},
	{"max_us", KERNEL(NS, max_ns)},
	{"launched_from", KERNEL(TEXT, launched_from)},
	{"scope", KERNEL(TEXT, scope)},
	{NULL, .read = read_ran},
	{.kind = ISC_FIELD_END},
};

static val *copy_rate(struct json *j, const void *from)
{
	const isc_facts_copy *c = from;

	return c->total_ns > 0 ? real_of(j, (double)c->bytes / (double)c->total_ns) : yyjson_mut_null(j->doc);
}

static val *pageable_pct(struct json *j, const void *from)
{
	const isc_facts_copy *c = from;
	uint64_t known = c->pageable + c->pinned;

	return us_of(j, known > 0 ? (double)c->pageable / (double)known * 100 : -1);
}

static void read_pageable(isc_reading in)
{
	double pageable = real_from(in.value);
	isc_facts_copy *c = in.into;

	if (pageable >= 0 && pageable <= 100) {
		c->pageable = (uint64_t)round(pageable / 100 * SHARE);
		c->pinned = SHARE - c->pageable;
	}
}

#define COPY(as, member) ISC_AT(as, isc_facts_copy, member)
static const isc_field copy_rows[] = {
	{"kind", COPY(ENUM, kind), .names = ISC_NAMES_KINDS},
	{NULL, COPY(CUSTOM, gpu), .write = write_device, .read = read_device},
	{"count", COPY(COUNT, count)},
	{"total_us", COPY(NS, total_ns)},
	{"bytes", COPY(COUNT, bytes)},
	{"gb_per_s", .value = copy_rate},
	{"pageable_pct", .value = pageable_pct, .read = read_pageable},
	{.kind = ISC_FIELD_END},
};

static const isc_field work_rows[] = {
	{"kernels", ISC_LIST(isc_timeline_facts, kernels, kernel_count, kernel_rows)},
	{"copies", ISC_LIST(isc_timeline_facts, copies, copy_count, copy_rows)},
	{.kind = ISC_FIELD_END},
};

void isc_gpu_work_write(struct json *j, val *report, const void *analysis)
{
	static const isc_timeline_facts none;
	const isc_analysis *a = analysis;

	isc_fields_write(j, report, work_rows, a->timeline != NULL ? a->timeline : &none);
}

/* Drops kernels or copies, which both begin with their GPU, whose GPU is not in the report. */
static void drop_strays(void *work, size_t *count, size_t size, size_t gpus)
{
	char *items = work;
	size_t kept = 0;

	for (size_t i = 0; i < *count; i++) {
		memmove(items + kept * size, items + i * size, size);
		kept += *(const size_t *)(void *)(items + kept * size) < gpus;
	}
	*count = kept;
}
static_assert(offsetof(isc_facts_kernel, gpu) == 0 && offsetof(isc_facts_copy, gpu) == 0,
	      "drop_strays() reads it there");

void isc_gpu_work_read(isc_reading in)
{
	/* isc_gpus_read() made them for this analysis. */
	isc_timeline_facts *f = (isc_timeline_facts *)(uintptr_t)in.a->timeline;

	if (f == NULL)
		return;
	isc_fields_read(in.a, in.value, work_rows, f);
	drop_strays(f->kernels, &f->kernel_count, sizeof(*f->kernels), f->gpu_count);
	drop_strays(f->copies, &f->copy_count, sizeof(*f->copies), f->gpu_count);
}
