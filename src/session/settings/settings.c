#include "session/settings/settings.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/suggest.h"

/* A value longer than a path can be is a mistake or mischief. */
#define VALUE_MAX 4095
#define LABEL_MAX 1024

static void *field(isc_settings *s, int row)
{
	return (char *)s + isc_settings_table[row].offset;
}

static void list_clear(isc_setting_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->item[i]);
	list->count = 0;
}

int isc_settings_find(const char *key)
{
	for (int i = 0; i < ISC_SETTINGS_COUNT; i++)
		if (strcmp(isc_settings_table[i].key, key) == 0)
			return i;
	return -1;
}

bool isc_settings_option(int row, bool negated, char *out, size_t room)
{
	const isc_setting *setting = &isc_settings_table[row];
	const char *name = negated ? setting->negated : setting->option;

	if (name != NULL)
		return snprintf(out, room, "%s", name) < (int)room;
	if (setting->type != ISC_SETTING_BOOL || (setting->option == NULL && setting->negated == NULL))
		return false;
	if (snprintf(out, room, "%s%s", negated ? "no-" : "", setting->key) >= (int)room)
		return false;
	for (; *out; out++)
		*out = *out == '_' ? '-' : *out;
	return true;
}

static isc_status no_memory(isc_error *err)
{
	return isc_fail(err, ISC_ERR_NOMEM, "no memory for the settings");
}

static isc_status bad(isc_error *err, const char *value, const char *wanted)
{
	return isc_fail(err, ISC_ERR_INVALID, "\"%.60s\" is not %s", value, wanted);
}

static isc_status set_bool(bool *out, const char *value, isc_error *err)
{
	static const char *const yes[] = {"true", "yes", "on", "1"};
	static const char *const no[] = {"false", "no", "off", "0"};

	for (size_t i = 0; i < 4; i++) {
		if (strcmp(value, yes[i]) == 0 || strcmp(value, no[i]) == 0) {
			*out = strcmp(value, yes[i]) == 0;
			return ISC_OK;
		}
	}
	return bad(err, value, "true or false");
}

/* strtod alone takes blanks, "inf", "nan" and hexadecimal numbers. */
static bool read_number(const char *value, double *out)
{
	char *end;

	if (value[0] == 0 || value[strspn(value, "0123456789.eE+-")] != 0)
		return false;
	errno = 0;
	*out = strtod(value, &end);
	return *end == 0 && errno == 0 && isfinite(*out);
}

static isc_status set_number(const isc_setting *row, void *out, const char *value, isc_error *err)
{
	double number;

	if (row->type == ISC_SETTING_BUDGET && strcmp(value, "off") == 0) {
		*(double *)out = -1;
		return ISC_OK;
	}
	if (!read_number(value, &number))
		return bad(err, value, row->type == ISC_SETTING_BUDGET ? "a number or off" : "a number");
	if (row->type == ISC_SETTING_BUDGET && number <= 0)
		return isc_fail(err, ISC_ERR_INVALID, "%.60s is not above 0 and at most 100", value);
	if (number < row->min || number > row->max)
		return isc_fail(err, ISC_ERR_INVALID, "%.60s is not between %.10g and %.10g", value, row->min,
				row->max);
	if (row->type != ISC_SETTING_COUNT)
		*(double *)out = number;
	else if (number == floor(number))
		*(uint32_t *)out = (uint32_t)number;
	else
		return bad(err, value, "a whole number");
	return ISC_OK;
}

static isc_status set_choice(const isc_setting *row, void *out, const char *value, isc_error *err)
{
	size_t n = 0, used = 0;
	char names[96] = "";
	const char *nearest;

	for (; row->choices[n] != NULL; n++) {
		if (strcmp(value, row->choices[n]) != 0) {
			size_t len = strlen(row->choices[n]);

			if (used + len + 3 < sizeof(names)) {
				memcpy(names + used, n ? ", " : "", n ? 2 : 0);
				used += n ? 2 : 0;
				memcpy(names + used, row->choices[n], len + 1);
				used += len;
			}
			continue;
		}
		if (row->type == ISC_SETTING_CHOICE) {
			*(int *)out = (int)n;
			return ISC_OK;
		}
		char *copy = strdup(value);

		if (copy == NULL)
			return no_memory(err);
		free(*(char **)out);
		*(char **)out = copy;
		return ISC_OK;
	}
	isc_fail(err, ISC_ERR_INVALID, "\"%.60s\" is none of %s", value, names);
	nearest = isc_suggest(value, row->choices, n);
	if (nearest != NULL)
		isc_hint(err, "did you mean %s?", nearest);
	return ISC_ERR_INVALID;
}

static isc_status check_label(const char *value, isc_error *err)
{
	const char *equals = strchr(value, '=');

	if (equals == NULL || equals == value)
		return bad(err, value, "KEY=VALUE");
	if (strlen(value) > LABEL_MAX)
		return isc_fail(err, ISC_ERR_LIMIT, "the label %.40s... is longer than %d bytes", value, LABEL_MAX);
	return ISC_OK;
}

static isc_status check_path(const char *value, int kind, isc_error *err)
{
	if (value[0] == 0)
		return isc_fail(err, ISC_ERR_INVALID, "the path is empty");
	if (kind == ISC_ORIGIN_PROJECT_FILE && !isc_path_is_below(value)) {
		isc_fail(err, ISC_ERR_DENIED, "%.60s leads out of the working directory", value);
		isc_hint(err, "a project's file cannot do that; use the option or the variable");
		return ISC_ERR_DENIED;
	}
	return ISC_OK;
}

/* A label given again replaces the earlier one of its key. */
static size_t list_slot(const isc_setting_list *list, int type, const char *value)
{
	size_t key = type == ISC_SETTING_LABELS ? (size_t)(strchr(value, '=') - value) + 1 : 0;

	for (size_t i = 0; key > 0 && i < list->count; i++)
		if (strncmp(list->item[i], value, key) == 0)
			return i;
	return list->count;
}

static isc_status set_item(isc_setting_list *list, const isc_setting *row, const char *value, bool fresh,
			   isc_error *err)
{
	size_t slot = fresh ? 0 : list_slot(list, row->type, value);
	char *copy;

	if (slot == ISC_SETTINGS_LIST_MAX)
		return isc_fail(err, ISC_ERR_LIMIT, "more than %d values", ISC_SETTINGS_LIST_MAX);
	copy = strdup(value);
	if (copy == NULL)
		return no_memory(err);
	if (fresh)
		list_clear(list);
	if (slot == list->count)
		list->count++;
	else
		free(list->item[slot]);
	list->item[slot] = copy;
	return ISC_OK;
}

static isc_status set_value(isc_settings *s, int at, const char *value, isc_origin origin, isc_error *err)
{
	const isc_setting *row = &isc_settings_table[at];
	void *out = field(s, at);
	isc_status st;
	char *copy;

	switch (row->type) {
	case ISC_SETTING_BOOL:
		return set_bool(out, value, err);
	case ISC_SETTING_COUNT:
	case ISC_SETTING_NUMBER:
	case ISC_SETTING_BUDGET:
		return set_number(row, out, value, err);
	case ISC_SETTING_CHOICE:
	case ISC_SETTING_WORD:
		return set_choice(row, out, value, err);
	case ISC_SETTING_PATH:
		st = check_path(value, origin.kind, err);
		if (st != ISC_OK)
			return st;
		copy = strdup(value);
		if (copy == NULL)
			return no_memory(err);
		free(*(char **)out);
		*(char **)out = copy;
		return ISC_OK;
	default:
		st = row->type == ISC_SETTING_LABELS ? check_label(value, err) : check_path(value, origin.kind, err);
		if (st != ISC_OK)
			return st;
		return set_item(out, row, value, s->origin[at].kind != origin.kind, err);
	}
}

isc_status isc_settings_set(isc_settings *s, int row, const char *value, isc_origin origin, isc_error *err)
{
	isc_status st;

	if (origin.kind < s->origin[row].kind)
		return ISC_OK;
	if (strlen(value) > VALUE_MAX)
		return isc_fail(err, ISC_ERR_LIMIT, "the value is longer than %d bytes", VALUE_MAX);
	st = set_value(s, row, value, origin, err);
	if (st != ISC_OK)
		return st;
	s->origin[row] = origin;
	/* Who names a report wants it, whatever a file said before. */
	if (field(s, row) == (void *)&s->reports && origin.kind >= ISC_ORIGIN_VARIABLE) {
		int report = isc_settings_find("write_report");

		s->report = true;
		s->origin[report] = origin;
	}
	return ISC_OK;
}

isc_status isc_settings_init(isc_settings *s, isc_error *err)
{
	*s = (isc_settings){0};
	for (int i = 0; i < ISC_SETTINGS_COUNT; i++) {
		const char *standard = isc_settings_table[i].standard;
		isc_status st = ISC_OK;

		if (standard != NULL)
			st = isc_settings_set(s, i, standard, (isc_origin){ISC_ORIGIN_DEFAULT, 0, false}, err);
		if (st != ISC_OK) {
			isc_settings_fini(s);
			return st;
		}
	}
	return ISC_OK;
}

void isc_settings_fini(isc_settings *s)
{
	list_clear(&s->reports);
	list_clear(&s->labels);
	list_clear(&s->notes);
	free(s->format);
	free(s->trace);
	free(s->python);
	free(s->user_file);
	free(s->project_file);
	*s = (isc_settings){0};
}
