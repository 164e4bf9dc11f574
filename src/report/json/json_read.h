/*
 * json_read.h - values of a JSON report, read back.  Anybody may have written it: a value that is missing or has the
 * wrong type counts as unknown.
 */
#ifndef ISC_REPORT_JSON_JSON_READ_H
#define ISC_REPORT_JSON_JSON_READ_H

#include <math.h>
#include <yyjson.h>

#include "analyze/analysis.h"
#include "base/arena.h"

#define ISC_JSON_MOST 9e15 /* of a count: what a double holds to the last digit */

static inline double real_from(yyjson_val *n)
{
	return yyjson_is_num(n) ? yyjson_get_num(n) : -1;
}

static inline double real_in(yyjson_val *object, const char *key)
{
	return real_from(yyjson_obj_get(object, key));
}

/* Of either sign; NAN: unknown. */
static inline double value_from(yyjson_val *n)
{
	return yyjson_is_num(n) ? yyjson_get_num(n) : NAN;
}

static inline uint64_t count_from(yyjson_val *n)
{
	double value = yyjson_is_num(n) ? yyjson_get_num(n) : 0;

	if (yyjson_is_uint(n))
		return yyjson_get_uint(n);
	return value > 0 ? (uint64_t)fmin(value, ISC_JSON_MOST) : 0;
}

static inline uint64_t count_in(yyjson_val *object, const char *key)
{
	return count_from(yyjson_obj_get(object, key));
}

static inline uint32_t id_from(yyjson_val *n)
{
	uint64_t id = count_from(n);

	return id <= UINT32_MAX ? (uint32_t)id : 0;
}

static inline uint32_t id_in(yyjson_val *object, const char *key)
{
	return id_from(yyjson_obj_get(object, key));
}

/* Microseconds as nanoseconds; 0 when they are not known. */
static inline int64_t ns_from(yyjson_val *n)
{
	double us = real_from(n);

	return us > 0 ? (int64_t)fmin(round(us * 1e3), ISC_JSON_MOST) : 0;
}

static inline int64_t ns_in(yyjson_val *object, const char *key)
{
	return ns_from(yyjson_obj_get(object, key));
}

static inline bool known_in(yyjson_val *object, const char *key)
{
	return yyjson_is_num(yyjson_obj_get(object, key));
}

static inline isc_text text_from(isc_arena *arena, yyjson_val *text)
{
	size_t len = yyjson_is_str(text) ? yyjson_get_len(text) : 0;
	const char *at = len > 0 ? isc_arena_copy(arena, yyjson_get_str(text), len) : NULL;

	return at != NULL ? (isc_text){at, len} : (isc_text){"", 0};
}

/* NULL: there are none. */
static inline char *words_from(isc_arena *arena, yyjson_val *text)
{
	return yyjson_is_str(text) ? isc_arena_copy(arena, yyjson_get_str(text), yyjson_get_len(text)) : NULL;
}

/* Room for the items of a list, and their number.  When it is not a list, or there is no memory (the arena remembers
 * that), *list becomes NULL and *count 0, so that a loop over it does nothing. */
static inline void *room_for(isc_arena *arena, yyjson_val **list, size_t size, size_t *count)
{
	size_t n = yyjson_is_arr(*list) ? yyjson_arr_size(*list) : 0;
	void *room = n > 0 ? isc_arena_array(arena, n, size) : NULL;

	*count = room != NULL ? n : 0;
	*list = room != NULL ? *list : NULL;
	return room;
}

#endif
