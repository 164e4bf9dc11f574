#include "report/json/fields.h"

static val *whole_of(struct json *j, double n)
{
	return n >= 0 ? yyjson_mut_uint(j->doc, (uint64_t)n) : yyjson_mut_null(j->doc);
}

static val *number_of(struct json *j, enum isc_field_kind kind, double n)
{
	switch (kind) {
	case ISC_FIELD_US_POSITIVE:
		return us_of(j, n > 0 ? n : -1);
	case ISC_FIELD_REAL:
		return real_of(j, n);
	case ISC_FIELD_VALUE:
		return isfinite(n) ? yyjson_mut_real(j->doc, n) : yyjson_mut_null(j->doc);
	case ISC_FIELD_WHOLE:
		return whole_of(j, n);
	case ISC_FIELD_ROUNDED:
		return whole_of(j, n > 0 ? round(n) : 0);
	case ISC_FIELD_SIGNED:
		return yyjson_mut_sint(j->doc, (int64_t)round(n));
	default:
		return us_of(j, n);
	}
}

static val *code_of(struct json *j, int64_t code, int64_t least)
{
	return code >= least ? yyjson_mut_sint(j->doc, code) : yyjson_mut_null(j->doc);
}

static val *id_of(struct json *j, uint32_t id)
{
	return id != 0 ? yyjson_mut_uint(j->doc, id) : yyjson_mut_null(j->doc);
}

static val *string_of(struct json *j, const void *at, bool empty_is_null)
{
	isc_text text;

	memcpy(&text, at, sizeof(text));
	return text.len > 0 || !empty_is_null ? text_of(j, &text) : yyjson_mut_null(j->doc);
}

static val *member_words(struct json *j, const isc_field *f, const void *at)
{
	const char *words;

	memcpy(&words, at, sizeof(words));
	return words_of(j, words != NULL ? words : f->otherwise);
}

static val *enum_of(struct json *j, const isc_field *f, const void *at)
{
	int value = f->size == 1 ? *(const uint8_t *)at : *(const int *)at;

	return words_of(j, isc_field_name(f->names, (unsigned)value));
}

static val *list_of(struct json *j, const isc_field *f, const char *in)
{
	size_t count = *(const size_t *)(const void *)(in + f->count_at);
	val *list = yyjson_mut_arr(j->doc);
	const char *item;

	memcpy(&item, in + f->at, sizeof(item));
	for (size_t i = 0; i < count && (f->most == 0 || i < f->most); i++, item += f->size) {
		if (f->only_at == 0 || *(const bool *)(item + f->only_at - 1))
			add(j, list,
			    f->each != NULL ? isc_field_value(j, f->each, item) : isc_fields_object(j, f->of, item));
	}
	return list;
}

static void put_map(struct json *j, val *object, const isc_field *f, const char *at)
{
	unsigned count = isc_field_names_count(f->names);

	for (unsigned i = 0; i < count; i++)
		put(j, object, isc_field_name(f->names, i), isc_field_value(j, f->each, at + i * (f->size / count)));
}

static val *map_of(struct json *j, const isc_field *f, const char *at)
{
	val *object = yyjson_mut_obj(j->doc);

	put_map(j, object, f, at);
	return object;
}

val *isc_fields_object(struct json *j, const isc_field *rows, const void *from)
{
	val *object = yyjson_mut_obj(j->doc);

	isc_fields_write(j, object, rows, from);
	return object;
}

val *isc_field_value(struct json *j, const isc_field *f, const void *from)
{
	const void *at = (const char *)from + f->at;

	switch (f->kind) {
	case ISC_FIELD_NS:
		return us_of(j, (double)*(const int64_t *)at / 1e3);
	case ISC_FIELD_CODE:
		return code_of(j, *(const int *)at, 0);
	case ISC_FIELD_SIGNAL:
		return code_of(j, *(const int *)at, 1);
	case ISC_FIELD_DEVICE:
		return code_of(j, *(const int64_t *)at, 0);
	case ISC_FIELD_COUNT:
		return yyjson_mut_uint(j->doc, *(const uint64_t *)at);
	case ISC_FIELD_COUNT32:
		return yyjson_mut_uint(j->doc, *(const uint32_t *)at);
	case ISC_FIELD_ID:
		return id_of(j, *(const uint32_t *)at);
	case ISC_FIELD_FLAG:
		return yyjson_mut_bool(j->doc, *(const bool *)at);
	case ISC_FIELD_TEXT:
	case ISC_FIELD_NAME:
		return string_of(j, at, f->kind == ISC_FIELD_TEXT);
	case ISC_FIELD_WORDS:
		return member_words(j, f, at);
	case ISC_FIELD_ENUM:
		return enum_of(j, f, at);
	case ISC_FIELD_OBJECT:
		return isc_fields_object(j, f->of, at);
	case ISC_FIELD_LIST:
		return list_of(j, f, from);
	case ISC_FIELD_MAP:
		return map_of(j, f, at);
	default:
		return number_of(j, f->kind, *(const double *)at);
	}
}

/* ---- rows ---- */

static bool holds(const isc_field_condition *c, const void *in)
{
	const char *at = (const char *)in + c->at - 1;
	uint64_t count;

	if (c->at == 0)
		return true;
	if (c->kind == ISC_FIELD_FLAG)
		return *(const bool *)at;
	if (c->kind == ISC_FIELD_COUNT32)
		return *(const uint32_t *)(const void *)at > 0;
	if (c->kind == ISC_FIELD_US)
		return *(const double *)(const void *)at > 0;
	memcpy(&count, at, sizeof(count));
	return count > 0;
}

static bool is_known(const struct json *j, const isc_field *f, const char *in)
{
	return (f->known_at == 0 || *(const bool *)(in + f->known_at - 1)) && holds(&f->if_this, in) &&
	       holds(&f->and_this, in) && holds(&f->if_all, j->a) && (f->when == NULL || f->when(j->a));
}

static val *row_value(struct json *j, const isc_field *f, const char *in)
{
	if (!is_known(j, f, in))
		return yyjson_mut_null(j->doc);
	return f->value != NULL ? f->value(j, in + f->at) : isc_field_value(j, f, in);
}

/* A row without a key. */
static void write_around(struct json *j, val *object, const isc_field *f, const char *in)
{
	if (!is_known(j, f, in))
		return;
	if (f->write != NULL)
		f->write(j, object, in + f->at);
	else if (f->kind == ISC_FIELD_OBJECT)
		isc_fields_write(j, object, f->of, in + f->at);
	else if (f->kind == ISC_FIELD_MAP)
		put_map(j, object, f, in + f->at);
}

void isc_fields_write(struct json *j, val *object, const isc_field *rows, const void *from)
{
	for (const isc_field *f = rows; f->kind != ISC_FIELD_END; f++) {
		val *value = f->key != NULL ? row_value(j, f, from) : NULL;

		if (f->key == NULL)
			write_around(j, object, f, from);
		else if (!f->left_out || !yyjson_mut_is_null(value))
			put(j, object, f->key, value);
	}
}
