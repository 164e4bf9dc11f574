/*
 * chrome_work.c - what a GPU did, as Kineto tells it: a kernel, a copy, a set or
 * a wait, with its arguments.
 */
#include <string.h>

#include "import/reader.h"

static uint32_t small(yyjson_val *value)
{
	uint64_t n;

	return isc_reader_count(value, &n) && n < ISC_GPU_UNKNOWN ? (uint32_t)n : ISC_GPU_UNKNOWN;
}

static void take_sides(yyjson_val *list, uint32_t sides[3])
{
	yyjson_val *value;
	size_t at, n;

	if (!yyjson_is_arr(list) || yyjson_arr_size(list) != 3)
		return;
	yyjson_arr_foreach(list, at, n, value)
	{
		sides[at] = small(value);
	}
}

static bool is(yyjson_val *key, const char *name, size_t len)
{
	return yyjson_get_len(key) == len && memcmp(yyjson_get_str(key), name, len) == 0;
}

/* A process of which correlations are unique: Kineto's file is of one, ours says which. */
uint32_t isc_chrome_domain(isc_reader *r, yyjson_val *args)
{
	uint64_t process;

	return args != NULL && isc_reader_count(yyjson_obj_get(args, "process"), &process)
		       ? isc_timeline_domain(r->timeline, r->source, process)
		       : r->domain;
}

static void take_argument(isc_gpu_record *record, uint32_t *device, yyjson_val *key, yyjson_val *value)
{
	switch (yyjson_get_len(key)) {
	case 4:
		if (is(key, "grid", 4))
			take_sides(value, record->grid);
		break;
	case 5:
		if (is(key, "bytes", 5) || is(key, "Bytes", 5))
			isc_reader_count(value, &record->bytes);
		else if (is(key, "block", 5))
			take_sides(value, record->block);
		break;
	case 6:
		if (is(key, "device", 6))
			*device = small(value);
		else if (is(key, "stream", 6))
			isc_reader_id(value, &record->stream);
		break;
	case 7:
		if (is(key, "context", 7))
			record->context = small(value);
		break;
	case 8:
		if (is(key, "pageable", 8) && yyjson_is_bool(value))
			record->memory = yyjson_is_true(value) ? ISC_MEMORY_PAGEABLE : ISC_MEMORY_PINNED;
		break;
	case 11:
		if (is(key, "correlation", 11))
			isc_reader_count(value, &record->correlation);
		break;
	default:
		break;
	}
}

isc_status isc_chrome_work(isc_reader *r, enum isc_gpu_kind kind, yyjson_val *name, uint64_t pid, int64_t start_ns,
			   int64_t end_ns, yyjson_val *args, isc_error *err)
{
	isc_gpu_record record = {.start_ns = start_ns,
				 .end_ns = end_ns,
				 .context = ISC_GPU_UNKNOWN,
				 .domain = isc_chrome_domain(r, args),
				 .thread = ISC_GPU_UNKNOWN,
				 .kind = (uint8_t)kind,
				 .class = ISC_CLASS_OTHER,
				 .clock = ISC_CLOCK_HOST};
	enum isc_gpu_memory memory = ISC_MEMORY_UNKNOWN;
	/* Kineto's process of a device is its number. */
	uint32_t device = pid < ISC_GPU_UNKNOWN ? (uint32_t)pid : ISC_GPU_UNKNOWN;
	yyjson_val *key, *value;
	size_t at, n;

	yyjson_obj_foreach(args, at, n, key, value)
	{
		take_argument(&record, &device, key, value);
	}
	record.name = isc_reader_name(r, name);
	if (kind == ISC_GPU_COPY && yyjson_is_str(name))
		record.kind = (uint8_t)isc_gpu_copy_of(yyjson_get_str(name), yyjson_get_len(name), &memory);
	if (memory != ISC_MEMORY_UNKNOWN)
		record.memory = (uint8_t)memory;
	record.device = isc_timeline_device(r->timeline, r->source, device);
	return isc_timeline_add(r->timeline, &record, err);
}
