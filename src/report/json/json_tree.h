/*
 * json_tree.h - the pieces of a JSON report: values that are put into objects
 * and lists.  A lack of memory is remembered, and looked at once at the end.
 */
#ifndef ISC_REPORT_JSON_JSON_TREE_H
#define ISC_REPORT_JSON_JSON_TREE_H

#include <math.h>
#include <string.h>
#include <yyjson.h>

#include "analyze/analysis.h"
#include "base/buffer.h"
#include "base/text.h"

typedef yyjson_mut_val val;

/* The document, and whether any piece of it found no memory. */
struct json {
	yyjson_mut_doc *doc;
	const isc_analysis *a; /* that it is of; NULL: of none, or of several */
	isc_buffer text;
	bool failed;
};

static inline val *put(struct json *j, val *object, const char *key, val *value)
{
	if (!yyjson_mut_obj_add(object, yyjson_mut_str(j->doc, key), value))
		j->failed = true;
	return value;
}

static inline val *add(struct json *j, val *array, val *value)
{
	if (!yyjson_mut_arr_append(array, value))
		j->failed = true;
	return value;
}

static inline val *object_in(struct json *j, val *object, const char *key)
{
	return put(j, object, key, yyjson_mut_obj(j->doc));
}

static inline val *list_in(struct json *j, val *object, const char *key)
{
	return put(j, object, key, yyjson_mut_arr(j->doc));
}

static inline void put_null(struct json *j, val *object, const char *key)
{
	put(j, object, key, yyjson_mut_null(j->doc));
}

/* Strict parsers want valid UTF-8, and a name is any bytes. */
static inline val *text_of(struct json *j, const isc_text *text)
{
	isc_buffer_clear(&j->text);
	isc_text_utf8(&j->text, text->at, text->len);
	if (j->text.failed)
		return NULL;
	return yyjson_mut_strncpy(j->doc, j->text.data != NULL ? j->text.data : "", j->text.len);
}

static inline void put_text(struct json *j, val *object, const char *key, const isc_text *text)
{
	put(j, object, key, text->len > 0 ? text_of(j, text) : yyjson_mut_null(j->doc));
}

static inline val *words_of(struct json *j, const char *words)
{
	return words != NULL ? text_of(j, &(isc_text){words, strlen(words)}) : yyjson_mut_null(j->doc);
}

static inline void put_words(struct json *j, val *object, const char *key, const char *words)
{
	put(j, object, key, words_of(j, words));
}

static inline void put_count(struct json *j, val *object, const char *key, uint64_t n)
{
	put(j, object, key, yyjson_mut_uint(j->doc, n));
}

static inline val *real_of(struct json *j, double value)
{
	/* To the nanosecond; what lies behind is the arithmetic's. */
	if (fabs(value) < 1e12)
		value = round(value * 1e3) / 1e3;
	return isfinite(value) ? yyjson_mut_real(j->doc, value) : yyjson_mut_null(j->doc);
}

/* Times and shares: negative means not known. */
static inline val *us_of(struct json *j, double us)
{
	return us >= 0 ? real_of(j, us) : yyjson_mut_null(j->doc);
}

static inline void put_us(struct json *j, val *object, const char *key, double us)
{
	put(j, object, key, us_of(j, us));
}

#endif
