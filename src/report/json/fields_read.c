#include "report/json/fields.h"

#define CODE_MOST 1e6

static double number_from(yyjson_val *value, enum isc_field_kind kind)
{
	double n = value_from(value), known = real_from(value);

	switch (kind) {
	case ISC_FIELD_US_0:
	case ISC_FIELD_US_POSITIVE:
		return fmax(known, 0);
	case ISC_FIELD_REAL:
	case ISC_FIELD_VALUE:
		return n;
	case ISC_FIELD_WHOLE:
		return fmin(known, ISC_JSON_MOST);
	case ISC_FIELD_ROUNDED:
		return fmin(fmax(known, 0), ISC_JSON_MOST);
	case ISC_FIELD_SIGNED:
		return isfinite(n) ? fmin(fmax(n, -ISC_JSON_MOST), ISC_JSON_MOST) : 0;
	default:
		return known;
	}
}

static uint32_t count32_from(yyjson_val *value, unsigned most)
{
	uint32_t n = id_from(value);

	return most == 0 || n < most ? n : most;
}

static void read_words(isc_analysis *a, yyjson_val *value, const isc_field *f, void *at)
{
	const char *words = words_from(a->arena, value);

	words = words != NULL ? words : f->otherwise;
	memcpy(at, &words, sizeof(words));
}

static void read_text(isc_analysis *a, yyjson_val *value, void *at)
{
	isc_text text = text_from(a->arena, value);

	memcpy(at, &text, sizeof(text));
}

static void read_enum(yyjson_val *name, const isc_field *f, void *at)
{
	unsigned value = isc_field_named(f->names, name);

	if (f->size == 1)
		*(uint8_t *)at = (uint8_t)value;
	else
		*(int *)at = (int)value;
}

static void read_list(isc_analysis *a, yyjson_val *list, const isc_field *f, char *in)
{
	char *items = room_for(a->arena, &list, f->size, (size_t *)(void *)(in + f->count_at)), *at;
	yyjson_val *item;
	size_t i, n;

	memcpy(in + f->at, &items, sizeof(items));
	yyjson_arr_foreach(list, i, n, item)
	{
		at = items + i * f->size;
		if (f->each != NULL)
			isc_field_read(a, item, f->each, at);
		else
			isc_fields_read(a, item, f->of, at);
		if (f->only_at != 0)
			*(bool *)(at + f->only_at - 1) = true;
	}
}

static void read_map(isc_analysis *a, yyjson_val *object, const isc_field *f, char *at)
{
	unsigned count = isc_field_names_count(f->names);

	for (unsigned i = 0; i < count; i++)
		isc_field_read(a, yyjson_obj_get(object, isc_field_name(f->names, i)), f->each,
			       at + i * (f->size / count));
}

void isc_field_read(isc_analysis *a, yyjson_val *value, const isc_field *f, void *into)
{
	void *at = (char *)into + f->at;

	switch (f->kind) {
	case ISC_FIELD_CUSTOM:
	case ISC_FIELD_END:
		break;
	case ISC_FIELD_NS:
		*(int64_t *)at = ns_from(value);
		break;
	case ISC_FIELD_CODE:
		*(int *)at = (int)fmin(fmax(real_from(value), -1), CODE_MOST);
		break;
	case ISC_FIELD_SIGNAL:
		*(int *)at = (int)fmin(fmax(real_from(value), 0), CODE_MOST);
		break;
	case ISC_FIELD_DEVICE:
		*(int64_t *)at = yyjson_is_num(value) ? (int64_t)id_from(value) : -1;
		break;
	case ISC_FIELD_COUNT:
		*(uint64_t *)at = count_from(value);
		break;
	case ISC_FIELD_COUNT32:
	case ISC_FIELD_ID:
		*(uint32_t *)at = count32_from(value, f->most);
		break;
	case ISC_FIELD_FLAG:
		*(bool *)at = yyjson_get_bool(value);
		break;
	case ISC_FIELD_TEXT:
	case ISC_FIELD_NAME:
		read_text(a, value, at);
		break;
	case ISC_FIELD_WORDS:
		read_words(a, value, f, at);
		break;
	case ISC_FIELD_ENUM:
		read_enum(value, f, at);
		break;
	case ISC_FIELD_OBJECT:
		isc_fields_read(a, value, f->of, at);
		break;
	case ISC_FIELD_LIST:
		read_list(a, value, f, into);
		break;
	case ISC_FIELD_MAP:
		read_map(a, value, f, at);
		break;
	default:
		*(double *)at = number_from(value, f->kind);
	}
}

void isc_fields_read(isc_analysis *a, yyjson_val *object, const isc_field *rows, void *into)
{
	for (const isc_field *f = rows; f->kind != ISC_FIELD_END; f++) {
		yyjson_val *value = f->key != NULL ? yyjson_obj_get(object, f->key) : object;

		if (f->read != NULL)
			f->read((isc_reading){a, value, (char *)into + f->at});
		else
			isc_field_read(a, value, f, into);
		if (f->known_at != 0)
			*(bool *)((char *)into + f->known_at - 1) |= yyjson_is_num(value) || yyjson_is_obj(value);
	}
}
