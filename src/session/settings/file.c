/*
 * One settings file: a flat mapping of names to plain values, read event by
 * event, so that nothing is built up that a hostile file could blow up.
 *
 *	rate: 500
 *	report: [report.md, report.json]
 *	labels:
 *	  model: minilm
 *
 * Anchors, aliases, tags and further documents have no use here and are errors.
 */
#include <stdio.h>
#include <string.h>
#include <yaml.h>

#include "base/suggest.h"
#include "session/settings/settings.h"

typedef struct reader {
	isc_settings *settings;
	const char *name; /* of the file */
	int kind;	  /* enum isc_origin_kind */
	yaml_parser_t parser;
	uint32_t line_of[ISC_SETTINGS_COUNT]; /* where a key was seen; 0: not */
	isc_error *err;
} reader;

static uint32_t line_of(const yaml_event_t *event)
{
	return (uint32_t)event->start_mark.line + 1;
}

/* "FILE:LINE: KEY: WHY": a long path loses its beginning, never the rest. */
static isc_status fail(reader *r, uint32_t line, const char *key, isc_status status, const char *why, const char *hint)
{
	size_t len = strlen(r->name);
	const char *tail = len > 90 ? r->name + len - 87 : r->name;

	if (key != NULL)
		isc_fail(r->err, status, "%s%s:%u: %.40s: %.100s", tail == r->name ? "" : "...", tail, line, key, why);
	else
		isc_fail(r->err, status, "%s%s:%u: %.140s", tail == r->name ? "" : "...", tail, line, why);
	isc_hint(r->err, "%s", hint != NULL && hint[0] ? hint : "correct the line, or remove it");
	return status;
}

static isc_status fail_parse(reader *r)
{
	const yaml_parser_t *p = &r->parser;
	uint32_t line = (uint32_t)p->problem_mark.line + 1;
	char why[140];

	if (p->error == YAML_MEMORY_ERROR)
		return isc_fail(r->err, ISC_ERR_NOMEM, "no memory to read %.180s", r->name);
	/* Bytes that are not UTF-8 have an offset and no mark. */
	if (p->error == YAML_READER_ERROR)
		line = (uint32_t)p->mark.line + 1;
	snprintf(why, sizeof(why), "not YAML: %s", p->problem ? p->problem : "cannot be read");
	return fail(r, line, NULL, ISC_ERR_INVALID, why, "settings are lines of the form NAME: VALUE");
}

/* The next event that may occur here; the caller deletes it on ISC_OK. */
static isc_status next(reader *r, yaml_event_t *event)
{
	const char *what = NULL;
	uint32_t line;

	if (!yaml_parser_parse(&r->parser, event))
		return fail_parse(r);
	if (event->type == YAML_ALIAS_EVENT)
		what = "an alias (*name)";
	else if (event->type == YAML_SCALAR_EVENT)
		what = event->data.scalar.anchor ? "an anchor (&name)"
		       : event->data.scalar.tag	 ? "a tag (!name)"
						 : NULL;
	else if (event->type == YAML_SEQUENCE_START_EVENT)
		what = event->data.sequence_start.anchor ? "an anchor (&name)"
		       : event->data.sequence_start.tag	 ? "a tag (!name)"
							 : NULL;
	else if (event->type == YAML_MAPPING_START_EVENT)
		what = event->data.mapping_start.anchor ? "an anchor (&name)"
		       : event->data.mapping_start.tag	? "a tag (!name)"
							: NULL;
	else if (event->type == YAML_DOCUMENT_START_EVENT &&
		 event->data.document_start.tag_directives.start != event->data.document_start.tag_directives.end)
		what = "a %TAG directive";
	if (what == NULL)
		return ISC_OK;
	line = line_of(event);
	yaml_event_delete(event);
	char why[80];

	snprintf(why, sizeof(why), "%s is not allowed in settings", what);
	return fail(r, line, NULL, ISC_ERR_INVALID, why, "write the value itself");
}

static isc_status set(reader *r, int row, const char *value, uint32_t line)
{
	isc_error why;
	isc_status st = isc_settings_set(r->settings, row, value, (isc_origin){r->kind, line, false}, &why);

	if (st == ISC_OK || st == ISC_ERR_NOMEM)
		return st == ISC_OK ? st : isc_fail(r->err, st, "%s", why.what);
	return fail(r, line, isc_settings_table[row].key, st, why.what, why.hint);
}

/* Text of a scalar; NULL when it has a NUL inside. */
static const char *text_of(const yaml_event_t *event)
{
	const char *text = (const char *)event->data.scalar.value;

	return strlen(text) == event->data.scalar.length ? text : NULL;
}

static bool is_null(const yaml_event_t *event)
{
	const char *text = (const char *)event->data.scalar.value;

	return event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
	       (text[0] == 0 || strcmp(text, "~") == 0 || strcmp(text, "null") == 0);
}

static isc_status set_scalar(reader *r, int row, const char *key, const yaml_event_t *event)
{
	const char *value = text_of(event), *name = isc_settings_table[row].key;
	char label[1100];

	if (value == NULL)
		return fail(r, line_of(event), name, ISC_ERR_INVALID, "the value has a NUL character", "");
	if (is_null(event))
		return fail(r, line_of(event), name, ISC_ERR_INVALID, "the value is missing",
			    "write one behind the colon, or remove the line");
	if (key != NULL) {
		if (snprintf(label, sizeof(label), "%s=%s", key, value) >= (int)sizeof(label))
			return fail(r, line_of(event), name, ISC_ERR_LIMIT, "a label is too long", "");
		value = label;
	}
	return set(r, row, value, line_of(event));
}

/* The items of a list, up to its end. */
static isc_status read_list(reader *r, int row)
{
	for (;;) {
		yaml_event_t event;
		isc_status st = next(r, &event);
		bool end;

		if (st != ISC_OK)
			return st;
		end = event.type == YAML_SEQUENCE_END_EVENT;
		if (!end && event.type == YAML_SCALAR_EVENT)
			st = set_scalar(r, row, NULL, &event);
		else if (!end)
			st = fail(r, line_of(&event), isc_settings_table[row].key, ISC_ERR_INVALID,
				  "an item of the list is not a plain value", "write one value per item");
		yaml_event_delete(&event);
		if (st != ISC_OK || end)
			return st;
	}
}

/* Labels as KEY: VALUE, up to the end of the mapping. */
static isc_status read_labels(reader *r, int row)
{
	char key[64];

	for (bool have_key = false;; have_key = !have_key) {
		yaml_event_t event;
		isc_status st = next(r, &event);
		bool end;

		if (st != ISC_OK)
			return st;
		end = event.type == YAML_MAPPING_END_EVENT;
		if (!end && event.type != YAML_SCALAR_EVENT)
			st = fail(r, line_of(&event), isc_settings_table[row].key, ISC_ERR_INVALID,
				  "a label is not a plain value", "write KEY: VALUE");
		else if (!end && have_key)
			st = set_scalar(r, row, key, &event);
		else if (!end && (text_of(&event) == NULL || text_of(&event)[0] == 0 || strchr(text_of(&event), '=') ||
				  snprintf(key, sizeof(key), "%s", text_of(&event)) >= (int)sizeof(key)))
			st = fail(r, line_of(&event), isc_settings_table[row].key, ISC_ERR_INVALID,
				  "the name of a label is empty, longer than 63 bytes or has an equals sign", "");
		yaml_event_delete(&event);
		if (st != ISC_OK || end)
			return st;
	}
}

static isc_status fail_unknown(reader *r, uint32_t line, const char *key)
{
	const char *keys[ISC_SETTINGS_COUNT], *nearest;
	char hint[80] = "inferscope config show lists all settings";

	for (int i = 0; i < ISC_SETTINGS_COUNT; i++)
		keys[i] = isc_settings_table[i].flags & ISC_SETTING_NOT_IN_FILE ? NULL : isc_settings_table[i].key;
	nearest = isc_suggest(key, keys, ISC_SETTINGS_COUNT);
	if (nearest != NULL)
		snprintf(hint, sizeof(hint), "did you mean %s?", nearest);
	return fail(r, line, key, ISC_ERR_INVALID, "there is no such setting", hint);
}

/* The row of a key that may stand in this file. */
static isc_status find_row(reader *r, const yaml_event_t *event, int *row)
{
	uint32_t line = line_of(event);
	const char *key;
	char why[64];

	if (event->type != YAML_SCALAR_EVENT || text_of(event) == NULL)
		return fail(r, line, NULL, ISC_ERR_INVALID, "the name of a setting is not plain text",
			    "settings are lines of the form NAME: VALUE");
	key = text_of(event);
	*row = isc_settings_find(key);
	if (*row < 0)
		return fail_unknown(r, line, key);
	if (isc_settings_table[*row].flags & ISC_SETTING_NOT_IN_FILE) {
		const isc_setting *setting = &isc_settings_table[*row];

		if (setting->option != NULL)
			snprintf(why, sizeof(why), "use --%s on the command line", setting->option);
		else
			snprintf(why, sizeof(why), "use the variable %s", setting->variable);
		return fail(r, line, key, ISC_ERR_DENIED, "a file cannot set this, for safety", why);
	}
	if (r->line_of[*row] != 0) {
		snprintf(why, sizeof(why), "it is already set in line %u", r->line_of[*row]);
		return fail(r, line, key, ISC_ERR_INVALID, why, "remove one of the two");
	}
	r->line_of[*row] = line;
	return ISC_OK;
}

static isc_status read_value(reader *r, int row)
{
	int type = isc_settings_table[row].type;
	yaml_event_t event;
	isc_status st = next(r, &event);

	if (st != ISC_OK)
		return st;
	if (event.type == YAML_SCALAR_EVENT)
		st = set_scalar(r, row, NULL, &event);
	else if (event.type == YAML_SEQUENCE_START_EVENT && (type == ISC_SETTING_PATHS || type == ISC_SETTING_LABELS))
		st = read_list(r, row);
	else if (event.type == YAML_MAPPING_START_EVENT && type == ISC_SETTING_LABELS)
		st = read_labels(r, row);
	else
		st = fail(r, line_of(&event), isc_settings_table[row].key, ISC_ERR_INVALID,
			  "a plain value is wanted, not a list or a mapping", "write NAME: VALUE");
	yaml_event_delete(&event);
	return st;
}

static isc_status read_mapping(reader *r)
{
	for (;;) {
		yaml_event_t event;
		isc_status st = next(r, &event);
		int row = -1;
		bool end;

		if (st != ISC_OK)
			return st;
		end = event.type == YAML_MAPPING_END_EVENT;
		if (!end)
			st = find_row(r, &event, &row);
		yaml_event_delete(&event);
		if (st == ISC_OK && !end)
			st = read_value(r, row);
		if (st != ISC_OK || end)
			return st;
	}
}

static isc_status read_stream(reader *r)
{
	bool documents = false;

	for (;;) {
		yaml_event_t event;
		isc_status st = next(r, &event);
		uint32_t line;
		int type;
		bool nothing;

		if (st != ISC_OK)
			return st;
		type = event.type;
		line = line_of(&event);
		nothing = type == YAML_SCALAR_EVENT && is_null(&event);
		yaml_event_delete(&event);
		if (type == YAML_STREAM_END_EVENT)
			return ISC_OK;
		if (type == YAML_DOCUMENT_START_EVENT && documents)
			return fail(r, line, NULL, ISC_ERR_INVALID, "a second document (---) is not allowed",
				    "remove it");
		documents = documents || type == YAML_DOCUMENT_START_EVENT;
		if (type == YAML_MAPPING_START_EVENT)
			st = read_mapping(r);
		else if (type == YAML_SEQUENCE_START_EVENT || (type == YAML_SCALAR_EVENT && !nothing))
			st = fail(r, line, NULL, ISC_ERR_INVALID, "this is not a mapping",
				  "settings are lines of the form NAME: VALUE");
		if (st != ISC_OK)
			return st;
	}
}

isc_status isc_settings_parse(isc_settings *s, const char *text, size_t len, const char *name, int kind, isc_error *err)
{
	reader r = {.settings = s, .name = name, .kind = kind, .err = err};
	isc_status st;

	if (!yaml_parser_initialize(&r.parser))
		return isc_fail(err, ISC_ERR_NOMEM, "no memory to read %.180s", name);
	yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, len);
	st = read_stream(&r);
	yaml_parser_delete(&r.parser);
	return st;
}
