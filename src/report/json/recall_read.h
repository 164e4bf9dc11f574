/*
 * recall_read.h - values of a JSON report, read back.  Whoever wrote it: what is
 * missing or of another type is as good as not known.
 */
#ifndef ISC_REPORT_JSON_RECALL_READ_H
#define ISC_REPORT_JSON_RECALL_READ_H

#include <math.h>
#include <yyjson.h>

#include "analyze/analysis.h"
#include "base/arena.h"

#define ISC_RECALL_MOST 9e15 /* of a count: what a double holds to the last digit */

static inline double real_in(yyjson_val *object, const char *key)
{
	yyjson_val *n = yyjson_obj_get(object, key);

	return yyjson_is_num(n) ? yyjson_get_num(n) : -1;
}

/* What may be negative. */
static inline double value_in(yyjson_val *object, const char *key)
{
	yyjson_val *n = yyjson_obj_get(object, key);

	return yyjson_is_num(n) ? yyjson_get_num(n) : NAN;
}

static inline uint64_t count_in(yyjson_val *object, const char *key)
{
	yyjson_val *n = yyjson_obj_get(object, key);
	double value = yyjson_is_num(n) ? yyjson_get_num(n) : 0;

	if (yyjson_is_uint(n))
		return yyjson_get_uint(n);
	return value > 0 ? (uint64_t)fmin(value, ISC_RECALL_MOST) : 0;
}

static inline uint32_t id_in(yyjson_val *object, const char *key)
{
	uint64_t n = count_in(object, key);

	return n <= UINT32_MAX ? (uint32_t)n : 0;
}

/* Microseconds as nanoseconds; 0 when they are not known. */
static inline int64_t ns_in(yyjson_val *object, const char *key)
{
	double us = real_in(object, key);

	return us > 0 ? (int64_t)fmin(round(us * 1e3), ISC_RECALL_MOST) : 0;
}

static inline bool flag_in(yyjson_val *object, const char *key)
{
	return yyjson_get_bool(yyjson_obj_get(object, key));
}

static inline bool known_in(yyjson_val *object, const char *key)
{
	return yyjson_is_num(yyjson_obj_get(object, key));
}

static inline isc_text text_as(isc_arena *arena, yyjson_val *text)
{
	size_t len = yyjson_is_str(text) ? yyjson_get_len(text) : 0;
	const char *at = len > 0 ? isc_arena_copy(arena, yyjson_get_str(text), len) : NULL;

	return at != NULL ? (isc_text){at, len} : (isc_text){"", 0};
}

static inline isc_text text_in(isc_arena *arena, yyjson_val *object, const char *key)
{
	return text_as(arena, yyjson_obj_get(object, key));
}

/* NULL when there are none. */
static inline char *words_in(isc_arena *arena, yyjson_val *object, const char *key)
{
	yyjson_val *text = yyjson_obj_get(object, key);

	return yyjson_is_str(text) ? isc_arena_copy(arena, yyjson_get_str(text), yyjson_get_len(text)) : NULL;
}

/* Room for each of a list, and how many there are.  What is no list, and one that there is no memory for, which the
 * arena remembers, has none: *list is then NULL, and nothing to go through. */
static inline void *room_for(isc_arena *arena, yyjson_val **list, size_t size, size_t *count)
{
	size_t n = yyjson_is_arr(*list) ? yyjson_arr_size(*list) : 0;
	void *room = n > 0 ? isc_arena_array(arena, n, size) : NULL;

	*count = room != NULL ? n : 0;
	*list = room != NULL ? *list : NULL;
	return room;
}

/* A function and where it is: a frame of a stack, or whatever else has these names. */
static inline isc_analysis_frame frame_in(isc_arena *arena, yyjson_val *o, const char *name)
{
	yyjson_val *kind = yyjson_obj_get(o, "kind");

	return (isc_analysis_frame){.python = yyjson_equals_str(kind, "python"),
				    .native = yyjson_equals_str(kind, "native"),
				    .name = text_in(arena, o, name),
				    .file = text_in(arena, o, "file"),
				    .module = text_in(arena, o, "module"),
				    .line = id_in(o, "line")};
}

#endif
