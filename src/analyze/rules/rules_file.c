/*
 * rules_file.c - rules from a file, over those that are built in.
 *
 *	rules:
 *	  gil_contention: {threshold: 20}
 *	  sleeping: off
 *	  slow_tokeniser:
 *	    metric: stage_python_pct
 *	    threshold: 25
 *	    class: cpu_bound
 *	    title: Use the fast tokeniser
 *
 * Read event by event, so that nothing is built up that a hostile file could blow up.
 * Anchors, aliases, tags and further documents have no use here and are errors.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yaml.h>

#include "analyze/rules/rules_file.h"
#include "base/suggest.h"

#define TEXT_MAX 400u /* of a title and the like */
#define FILE_MAX (256u << 10)

typedef struct rules_reader {
	isc_rules *rules;
	const char *name; /* of the file */
	yaml_parser_t parser;
	isc_error *err;
} rules_reader;

/* What a rule of a file says; what it does not say keeps its value. */
struct said {
	bool threshold, metric;
};

static uint32_t line_of(const yaml_event_t *event)
{
	return (uint32_t)event->start_mark.line + 1;
}

static isc_status fail(rules_reader *r, uint32_t line, const char *key, const char *why, const char *hint)
{
	size_t len = strlen(r->name);
	const char *tail = len > 90 ? r->name + len - 87 : r->name;

	if (key != NULL)
		isc_fail(r->err, ISC_ERR_INVALID, "%s%s:%u: %.48s: %.100s", tail == r->name ? "" : "...", tail, line,
			 key, why);
	else
		isc_fail(r->err, ISC_ERR_INVALID, "%s%s:%u: %.140s", tail == r->name ? "" : "...", tail, line, why);
	isc_hint(r->err, "%s", hint != NULL ? hint : "docs/rules.md has the form of a rule");
	return ISC_ERR_INVALID;
}

static isc_status no_memory(rules_reader *r)
{
	return isc_fail(r->err, ISC_ERR_NOMEM, "no memory to read %.180s", r->name);
}

static isc_status fail_parse(rules_reader *r)
{
	const yaml_parser_t *p = &r->parser;
	char why[140];

	if (p->error == YAML_MEMORY_ERROR)
		return no_memory(r);
	snprintf(why, sizeof(why), "not YAML: %s", p->problem ? p->problem : "cannot be read");
	/* Bytes that are not UTF-8 have an offset and no mark. */
	return fail(r, (uint32_t)(p->error == YAML_READER_ERROR ? p->mark.line : p->problem_mark.line) + 1, NULL, why,
		    NULL);
}

/* The next event that may occur here; the caller deletes it on ISC_OK. */
static isc_status next(rules_reader *r, yaml_event_t *event)
{
	const yaml_char_t *anchor = NULL, *tag = NULL;
	bool alias;
	uint32_t line;

	if (!yaml_parser_parse(&r->parser, event))
		return fail_parse(r);
	alias = event->type == YAML_ALIAS_EVENT;
	if (event->type == YAML_SCALAR_EVENT)
		anchor = event->data.scalar.anchor, tag = event->data.scalar.tag;
	else if (event->type == YAML_SEQUENCE_START_EVENT)
		anchor = event->data.sequence_start.anchor, tag = event->data.sequence_start.tag;
	else if (event->type == YAML_MAPPING_START_EVENT)
		anchor = event->data.mapping_start.anchor, tag = event->data.mapping_start.tag;
	if (!alias && anchor == NULL && tag == NULL)
		return ISC_OK;
	line = line_of(event);
	yaml_event_delete(event);
	return fail(r, line, NULL,
		    alias	     ? "an alias (*name) is not allowed in rules"
		    : anchor != NULL ? "an anchor (&name) is not allowed in rules"
				     : "a tag (!name) is not allowed in rules",
		    "write the value itself");
}

/* Text of a scalar; NULL: it is none, or has a NUL inside. */
static const char *text_of(const yaml_event_t *event)
{
	const char *text;

	if (event->type != YAML_SCALAR_EVENT)
		return NULL;
	text = (const char *)event->data.scalar.value;
	return strlen(text) == event->data.scalar.length ? text : NULL;
}

static int switch_of(const char *text)
{
	static const char *const on[] = {"on", "true", "yes"}, *const off[] = {"off", "false", "no"};

	for (size_t i = 0; i < 3; i++) {
		if (strcmp(text, on[i]) == 0)
			return 1;
		if (strcmp(text, off[i]) == 0)
			return 0;
	}
	return -1;
}

static bool number_of(const char *text, double *out)
{
	char *end;

	errno = 0;
	*out = strtod(text, &end);
	return end != text && *end == 0 && isfinite(*out) && errno == 0;
}

static isc_status unknown(rules_reader *r, uint32_t line, const char *key, const char *why, const char *const *names,
			  size_t n)
{
	const char *nearest = isc_suggest(key, names, n);
	char hint[100];

	snprintf(hint, sizeof(hint), "did you mean %.60s?", nearest != NULL ? nearest : "");
	return fail(r, line, key, why, nearest != NULL ? hint : NULL);
}

static isc_status set_metric(rules_reader *r, uint32_t line, const char *value, isc_rule *rule)
{
	const char *names[ISC_RULES_MAX];
	size_t n = 0;

	rule->metric = isc_metric_named(value);
	if (rule->metric != NULL)
		return ISC_OK;
	for (const isc_metric *m; n < ISC_RULES_MAX && (m = isc_metric_at(n)) != NULL; n++)
		names[n] = m->name;
	return unknown(r, line, value, "there is no such metric", names, n);
}

static isc_status set_class(rules_reader *r, uint32_t line, const char *value, isc_rule *rule)
{
	static const enum isc_bound bounds[] = {ISC_BOUND_CPU, ISC_BOUND_GPU, ISC_BOUND_MEMORY};

	for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++) {
		if (strcmp(value, isc_bound_name(bounds[i])) == 0) {
			rule->bound = bounds[i];
			return ISC_OK;
		}
	}
	return fail(r, line, "class", "it is cpu_bound, gpu_bound or memory_bound", NULL);
}

static isc_status set_words(rules_reader *r, uint32_t line, const char *key, const char *value, const char **out)
{
	if (strlen(value) > TEXT_MAX)
		return fail(r, line, key, "the text is longer than 400 bytes", NULL);
	*out = isc_arena_copy(r->rules->arena, value, strlen(value));
	return *out != NULL ? ISC_OK : no_memory(r);
}

static isc_status set_number(rules_reader *r, uint32_t line, const char *key, const char *value, double *out)
{
	if (!number_of(value, out) || *out < 0)
		return fail(r, line, key, "it is a number from 0 on", NULL);
	return ISC_OK;
}

static isc_status set_field(rules_reader *r, uint32_t line, const char *key, const char *value, isc_rule *rule,
			    struct said *said)
{
	static const char *const keys[] = {"metric", "threshold", "weight", "class",
					   "title",  "fix",	  "check",  "enabled"};
	int on;

	if (strcmp(key, "metric") == 0) {
		said->metric = true;
		return set_metric(r, line, value, rule);
	}
	if (strcmp(key, "threshold") == 0) {
		said->threshold = true;
		return set_number(r, line, key, value, &rule->threshold);
	}
	if (strcmp(key, "weight") == 0)
		return set_number(r, line, key, value, &rule->weight);
	if (strcmp(key, "class") == 0)
		return set_class(r, line, value, rule);
	if (strcmp(key, "title") == 0)
		return set_words(r, line, key, value, &rule->own_title);
	if (strcmp(key, "fix") == 0)
		return set_words(r, line, key, value, &rule->own_fix);
	if (strcmp(key, "check") == 0)
		return set_words(r, line, key, value, &rule->own_check);
	if (strcmp(key, "enabled") == 0) {
		on = switch_of(value);
		rule->off = on == 0;
		return on >= 0 ? ISC_OK : fail(r, line, key, "it is on or off", NULL);
	}
	return unknown(r, line, key, "a rule has no such part", keys, sizeof(keys) / sizeof(keys[0]));
}

/* The parts of one rule, up to the end of its mapping. */
static isc_status read_parts(rules_reader *r, isc_rule *rule, struct said *said)
{
	char key[ISC_RULE_ID_MAX];

	for (;;) {
		yaml_event_t event;
		isc_status st = next(r, &event);
		bool end;

		if (st != ISC_OK)
			return st;
		end = event.type == YAML_MAPPING_END_EVENT;
		if (!end &&
		    (text_of(&event) == NULL || snprintf(key, sizeof(key), "%s", text_of(&event)) >= (int)sizeof(key)))
			st = fail(r, line_of(&event), NULL, "the name of a part of a rule is not short plain text",
				  NULL);
		yaml_event_delete(&event);
		if (st != ISC_OK || end)
			return st;
		st = next(r, &event);
		if (st != ISC_OK)
			return st;
		if (text_of(&event) == NULL)
			st = fail(r, line_of(&event), key, "a plain value is wanted", NULL);
		else
			st = set_field(r, line_of(&event), key, text_of(&event), rule, said);
		yaml_event_delete(&event);
		if (st != ISC_OK)
			return st;
	}
}

static bool good_id(const char *id)
{
	size_t len = strlen(id);

	if (len == 0 || len >= ISC_RULE_ID_MAX)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (!(id[i] >= 'a' && id[i] <= 'z') && !(id[i] >= '0' && id[i] <= '9') && id[i] != '_')
			return false;
	}
	return true;
}

/* One that is there, or a new one. */
static isc_status place_of(rules_reader *r, uint32_t line, const char *id, isc_rule **out, bool *fresh)
{
	isc_rule *rule = isc_rules_find(r->rules, id);

	*fresh = rule == NULL;
	*out = rule;
	if (rule != NULL)
		return ISC_OK;
	if (!good_id(id))
		return fail(r, line, NULL, "the id of a rule has letters a to z, digits and underscores, 47 at most",
			    NULL);
	if (r->rules->count == ISC_RULES_MAX)
		return fail(r, line, id, "more rules than there is room for (128)", NULL);
	rule = &r->rules->rule[r->rules->count];
	*rule = (isc_rule){.weight = 1, .bound = ISC_BOUND_CPU, .kind = ISC_CLAIM_FAULT};
	rule->id = isc_arena_copy(r->rules->arena, id, strlen(id));
	if (rule->id == NULL)
		return no_memory(r);
	rule->own_title = rule->id;
	r->rules->count++;
	*out = rule;
	return ISC_OK;
}

static isc_status read_rule(rules_reader *r, uint32_t line, const char *id)
{
	struct said said = {0};
	yaml_event_t event;
	isc_status st;
	isc_rule *rule;
	bool fresh;
	int on = -1;

	st = place_of(r, line, id, &rule, &fresh);
	if (st == ISC_OK)
		st = next(r, &event);
	if (st != ISC_OK)
		return st;
	if (event.type == YAML_MAPPING_START_EVENT) {
		st = read_parts(r, rule, &said);
	} else {
		on = text_of(&event) != NULL ? switch_of(text_of(&event)) : -1;
		rule->off = on == 0;
		if (on < 0)
			st = fail(r, line_of(&event), id, "a rule is off, on, or its parts as a mapping", NULL);
	}
	yaml_event_delete(&event);
	if (st == ISC_OK && fresh && (!said.metric || !said.threshold))
		st = fail(r, line, id, "there is no such rule, and a new one has a metric and a threshold", NULL);
	if (st == ISC_OK && !fresh && said.metric && !said.threshold)
		st = fail(r, line, id, "a rule with another metric has a threshold of its own", NULL);
	return st;
}

static isc_status read_rules(rules_reader *r)
{
	char seen[ISC_RULES_MAX][ISC_RULE_ID_MAX];
	size_t count = 0;

	for (;;) {
		char id[ISC_RULE_ID_MAX];
		yaml_event_t event;
		isc_status st = next(r, &event);
		uint32_t line;
		bool end;

		if (st != ISC_OK)
			return st;
		end = event.type == YAML_MAPPING_END_EVENT;
		line = line_of(&event);
		if (!end &&
		    (text_of(&event) == NULL || snprintf(id, sizeof(id), "%s", text_of(&event)) >= (int)sizeof(id)))
			st = fail(r, line, NULL, "the id of a rule is not short plain text", NULL);
		yaml_event_delete(&event);
		if (st != ISC_OK || end)
			return st;
		for (size_t i = 0; i < count; i++) {
			if (strcmp(seen[i], id) == 0)
				return fail(r, line, id, "this rule stands here twice", "remove one of the two");
		}
		if (count < ISC_RULES_MAX)
			memcpy(seen[count++], id, sizeof(id));
		st = read_rule(r, line, id);
		if (st != ISC_OK)
			return st;
	}
}

/* The one key of a file: rules. */
static isc_status read_file(rules_reader *r)
{
	bool documents = false, inside = false;

	for (;;) {
		yaml_event_t event;
		isc_status st = next(r, &event);
		const char *text;
		uint32_t line;
		int type;

		if (st != ISC_OK)
			return st;
		type = event.type;
		line = line_of(&event);
		text = text_of(&event);
		if (type == YAML_DOCUMENT_START_EVENT && documents)
			st = fail(r, line, NULL, "a second document (---) is not allowed", "remove it");
		else if (type == YAML_SEQUENCE_START_EVENT || (type == YAML_SCALAR_EVENT && !inside))
			st = fail(r, line, NULL, "this is not a mapping",
				  "begin with rules: and a rule on each line below");
		else if (type == YAML_SCALAR_EVENT && (text == NULL || strcmp(text, "rules") != 0))
			st = fail(r, line, text, "a file of rules has one name at its top, rules", NULL);
		documents |= type == YAML_DOCUMENT_START_EVENT;
		yaml_event_delete(&event);
		if (st != ISC_OK || type == YAML_STREAM_END_EVENT)
			return st;
		if (type == YAML_MAPPING_START_EVENT)
			inside = true;
		if (type != YAML_SCALAR_EVENT)
			continue;
		st = next(r, &event);
		if (st != ISC_OK)
			return st;
		type = event.type;
		line = line_of(&event);
		yaml_event_delete(&event);
		st = type == YAML_MAPPING_START_EVENT ? read_rules(r)
						      : fail(r, line, "rules", "rules are a mapping of ids", NULL);
		if (st != ISC_OK)
			return st;
	}
}

isc_status isc_rules_parse(isc_rules *rules, const char *text, size_t len, const char *name, isc_error *err)
{
	rules_reader r = {.rules = rules, .name = name, .err = err};
	isc_status st;

	if (rules->arena == NULL)
		rules->arena = isc_arena_new();
	if (rules->arena == NULL || !yaml_parser_initialize(&r.parser))
		return isc_fail(err, ISC_ERR_NOMEM, "no memory to read %.180s", name);
	yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, len);
	st = read_file(&r);
	yaml_parser_delete(&r.parser);
	return st;
}

isc_status isc_rules_read(isc_rules *rules, const char *path, isc_error *err)
{
	isc_buffer text = {0};
	struct stat sb;
	isc_status st;
	char *room = NULL;
	ssize_t n = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0 || fstat(fd, &sb) < 0) {
		st = isc_fail_errno(err, "cannot read the rules of %.160s", path);
		goto out;
	}
	if (!S_ISREG(sb.st_mode) || sb.st_size > FILE_MAX) {
		st = isc_fail(err, ISC_ERR_INVALID, "cannot read the rules of %.160s: it is no file of 256 KiB at most",
			      path);
		goto out;
	}
	room = isc_buffer_room(&text, (size_t)sb.st_size + 1);
	if (room == NULL) {
		st = isc_fail(err, ISC_ERR_NOMEM, "no memory to read %.160s", path);
		goto out;
	}
	n = pread(fd, room, (size_t)sb.st_size, 0);
	if (n < 0)
		st = isc_fail_errno(err, "cannot read the rules of %.160s", path);
	else
		st = isc_rules_parse(rules, room, (size_t)n, path, err);
out:
	if (fd >= 0)
		close(fd);
	isc_buffer_fini(&text);
	return st;
}
