/*
 * golden: tests/golden/NAME.events gives exactly NAME.report.md, NAME.report.json
 * and NAME.summary, byte for byte.  ISC_GOLDEN_UPDATE=1 writes them anew: then
 * read the difference.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <glob.h>

#include "analyze/rules/rule.h"
#include "report/from_json.h"
#include "report/json/json.h"
#include "report/report.h"
#include "trace_text.h"

#define SPOILED 12u /* reports of each case with odd values in them */

static char *read_all(const char *path, size_t *len)
{
	isc_buffer b = {0};
	FILE *f = fopen(path, "rb");
	char part[4096];
	size_t n;

	if (f == NULL)
		return NULL;
	while ((n = fread(part, 1, sizeof(part), f)) > 0)
		isc_buffer_add(&b, part, n);
	fclose(f);
	isc_buffer_add(&b, "", 0);
	*len = b.len;
	return b.data;
}

static void compare(const char *events, const char *ending, const isc_buffer *got)
{
	char path[4096];
	size_t len = 0, line = 1;
	char *wanted;

	snprintf(path, sizeof(path), "%.*s%s", (int)(strlen(events) - strlen(".events")), events, ending);
	if (getenv("ISC_GOLDEN_UPDATE") != NULL) {
		FILE *f = fopen(path, "wb");

		assert_non_null(f);
		assert_int_equal(fwrite(got->data, 1, got->len, f), got->len);
		assert_int_equal(fclose(f), 0);
		return;
	}
	wanted = read_all(path, &len);
	if (wanted == NULL)
		fail_msg("%s is missing", path);
	for (size_t i = 0; i < len && i < got->len && wanted[i] == got->data[i]; i++)
		line += wanted[i] == '\n';
	if (len != got->len || memcmp(wanted, got->data, len) != 0)
		fail_msg("%s differs from line %zu on; now it is:\n%s", path, line, got->data);
	free(wanted);
}

static void same_text(const char *events, const char *what, const isc_buffer *wanted, const isc_buffer *got)
{
	size_t line = 1;

	for (size_t i = 0; i < wanted->len && i < got->len && wanted->data[i] == got->data[i]; i++)
		line += wanted->data[i] == '\n';
	if (wanted->len != got->len || memcmp(wanted->data, got->data, got->len) != 0)
		fail_msg("%s: %s of its JSON report differs from line %zu on; it is:\n%s", events, what, line,
			 got->data);
}

/* The report as it is compared: without what is not read back. */
static yyjson_mut_doc *comparable(yyjson_mut_doc *report)
{
	yyjson_mut_val *root = yyjson_mut_doc_get_root(report);

	/* When GPUs were idle, and between how many calls a function has that was not always watched. */
	yyjson_mut_obj_remove_key(root, "gpus");
	yyjson_mut_obj_remove_key(yyjson_mut_obj_get(root, "overhead"), "governed");
	return report;
}

static void same_json(const char *events, yyjson_doc *wanted, const isc_analysis *got)
{
	yyjson_mut_doc *x = comparable(yyjson_doc_mut_copy(wanted, NULL)), *y = comparable(isc_json_tree(got));
	yyjson_mut_obj_iter at;
	yyjson_mut_val *key;

	yyjson_mut_obj_iter_init(yyjson_mut_doc_get_root(x), &at);
	while ((key = yyjson_mut_obj_iter_next(&at)) != NULL) {
		const char *name = yyjson_mut_get_str(key);

		if (!yyjson_mut_equals(yyjson_mut_obj_iter_get_val(key),
				       yyjson_mut_obj_get(yyjson_mut_doc_get_root(y), name)))
			fail_msg("%s: \"%s\" is another one once the report was read", events, name);
	}
	yyjson_mut_doc_free(x);
	yyjson_mut_doc_free(y);
}

/* Markdown and summary of the JSON report are those of the trace: there is one writer.  Bytes that are no UTF-8 are
 * U+FFFD in JSON, so the case that has such names is left out. */
static void same_from_json(const char *events, const isc_analysis *a, const isc_buffer *json)
{
	isc_buffer wanted = {0}, got = {0};
	yyjson_doc *doc = yyjson_read(json->data, json->len, 0);
	isc_analysis *again = NULL;
	isc_error err = {0};

	if (strstr(json->data, "\xef\xbf\xbd") == NULL) {
		assert_int_equal(isc_report_write(a, ISC_REPORT_MARKDOWN, &wanted, &err), ISC_OK);
		assert_int_equal(isc_report_from_json(json->data, json->len, ISC_REPORT_MARKDOWN, NULL, &got, &err),
				 ISC_OK);
		same_text(events, "Markdown", &wanted, &got);
		isc_buffer_clear(&wanted);
		isc_buffer_clear(&got);
		assert_int_equal(isc_json_read(yyjson_doc_get_root(doc), &again, &err), ISC_OK);
		assert_int_equal(isc_report_summary(a, NULL, NULL, &wanted, &err), ISC_OK);
		assert_int_equal(isc_report_summary(again, NULL, NULL, &got, &err), ISC_OK);
		same_text(events, "the summary", &wanted, &got);
		same_json(events, doc, again);
	}
	isc_analysis_free(again);
	yyjson_doc_free(doc);
	isc_buffer_fini(&wanted);
	isc_buffer_fini(&got);
}

/* ---- reports of anybody ---- */

static uint32_t dice(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 16;
}

static void make_odd(yyjson_mut_val *value, uint32_t *state)
{
	static const char *const texts[] = {"", "x", "scope", "gil_wait", "h2d", "sampled", "a|b`c"};
	static const double numbers[] = {-1, 0, 0.5, 1e15, 1e19, 1e300, -1e300};

	switch (dice(state) % 8) {
	case 0:
		yyjson_mut_set_null(value);
		break;
	case 1:
		yyjson_mut_set_bool(value, true);
		break;
	case 2:
		yyjson_mut_set_obj(value);
		break;
	case 3:
		yyjson_mut_set_arr(value);
		break;
	case 4:
		yyjson_mut_set_uint(value, UINT64_MAX);
		break;
	case 5:
		yyjson_mut_set_str(value, texts[dice(state) % 7]);
		break;
	default:
		yyjson_mut_set_real(value, numbers[dice(state) % 7]);
	}
}

/* Makes values in it odd, one in so many. */
static void spoil(yyjson_mut_val *in, unsigned rarely, uint32_t *state)
{
	yyjson_mut_val *key, *one;
	size_t i, n;

	yyjson_mut_arr_foreach(in, i, n, one)
	{
		spoil(one, rarely, state);
	}
	yyjson_mut_obj_foreach(in, i, n, key, one)
	{
		if (!yyjson_mut_equals_str(key, "schema"))
			spoil(one, rarely, state);
	}
	if (dice(state) % rarely == 0)
		make_odd(in, state);
}

static void spoiled_report(const char *json, size_t len, uint32_t seed)
{
	yyjson_doc *doc = yyjson_read(json, len, 0);
	yyjson_mut_doc *copy = yyjson_doc_mut_copy(doc, NULL);
	yyjson_mut_val *key, *one;
	uint32_t state = seed;
	isc_buffer out = {0};
	size_t i, n;
	char *text;

	yyjson_mut_obj_foreach(yyjson_mut_doc_get_root(copy), i, n, key, one)
	{
		if (!yyjson_mut_equals_str(key, "schema"))
			spoil(one, seed % 2 == 0 ? 6 : 60, &state);
	}
	text = yyjson_mut_write(copy, 0, &len);
	assert_non_null(text);
	for (int format = ISC_REPORT_MARKDOWN; format <= ISC_REPORT_HTML; format += ISC_REPORT_HTML) {
		isc_buffer_clear(&out);
		assert_int_equal(isc_report_from_json(text, len, format, NULL, &out, NULL), ISC_OK);
	}
	free(text);
	isc_buffer_fini(&out);
	yyjson_mut_doc_free(copy);
	yyjson_doc_free(doc);
}

static void whatever_a_json_report_says_it_is_read(void **state)
{
	char pattern[4096], *json;
	glob_t found;
	size_t len;

	(void)state;
	assert_non_null(getenv("ISC_GOLDEN"));
	snprintf(pattern, sizeof(pattern), "%s/*.report.json", getenv("ISC_GOLDEN"));
	assert_int_equal(glob(pattern, 0, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		json = read_all(found.gl_pathv[i], &len);
		for (uint32_t seed = 0; seed < SPOILED; seed++)
			spoiled_report(json, len, seed);
		free(json);
	}
	globfree(&found);
}

static isc_analysis *analysis_of(const char *events)
{
	isc_trace *trace = NULL;
	isc_analysis *a = NULL;
	isc_error err = {0};
	size_t len;
	char *text = read_all(events, &len);

	assert_non_null(text);
	if (trace_text_open(text, &trace, &err) != ISC_OK || isc_analysis_new(trace, NULL, &a, &err) != ISC_OK)
		fail_msg("%s: %s", events, err.what);
	isc_trace_close(trace);
	free(text);
	return a;
}

static void one_case(const char *events)
{
	isc_analysis *a = analysis_of(events);
	isc_buffer out = {0};
	isc_error err = {0};

	assert_int_equal(isc_report_write(a, ISC_REPORT_MARKDOWN, &out, &err), ISC_OK);
	compare(events, ".report.md", &out);
	isc_buffer_clear(&out);
	assert_int_equal(isc_report_write(a, ISC_REPORT_JSON, &out, &err), ISC_OK);
	compare(events, ".report.json", &out);
	same_from_json(events, a, &out);
	isc_buffer_clear(&out);
	assert_int_equal(isc_report_summary(a, "report.md", "inferscope.isc", &out, &err), ISC_OK);
	compare(events, ".summary", &out);
	isc_analysis_free(a);
	isc_buffer_fini(&out);
}

/* Which rule wins in this case; 0-terminated. */
static void cause_of(const char *events, char *out, size_t room)
{
	isc_analysis *a = analysis_of(events);

	snprintf(out, room, "%s", a->verdict.cause != NULL ? a->verdict.cause : "");
	isc_analysis_free(a);
}

static void every_rule_has_a_case_in_which_it_wins(void **state)
{
	char pattern[4096], cause[256][ISC_RULE_ID_MAX];
	isc_rules rules;
	glob_t found;

	(void)state;
	assert_non_null(getenv("ISC_GOLDEN"));
	snprintf(pattern, sizeof(pattern), "%s/verdict_*.events", getenv("ISC_GOLDEN"));
	assert_int_equal(glob(pattern, 0, NULL, &found), 0);
	assert_in_range(found.gl_pathc, 1, 256);
	for (size_t i = 0; i < found.gl_pathc; i++)
		cause_of(found.gl_pathv[i], cause[i], sizeof(cause[i]));
	isc_rules_init(&rules);
	for (size_t r = 0; r < rules.count; r++) {
		size_t i = 0;

		while (i < found.gl_pathc && strcmp(cause[i], rules.rule[r].id) != 0)
			i++;
		if (i == found.gl_pathc)
			fail_msg("no case has %s as its verdict", rules.rule[r].id);
	}
	isc_rules_fini(&rules);
	globfree(&found);
}

static void every_case_gives_its_reports_to_the_byte(void **state)
{
	char pattern[4096];
	glob_t found;

	(void)state;
	assert_non_null(getenv("ISC_GOLDEN"));
	snprintf(pattern, sizeof(pattern), "%s/*.events", getenv("ISC_GOLDEN"));
	assert_int_equal(glob(pattern, 0, NULL, &found), 0);
	assert_true(found.gl_pathc >= 4);
	for (size_t i = 0; i < found.gl_pathc; i++)
		one_case(found.gl_pathv[i]);
	globfree(&found);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_rule_has_a_case_in_which_it_wins),
		cmocka_unit_test(every_case_gives_its_reports_to_the_byte),
		cmocka_unit_test(whatever_a_json_report_says_it_is_read),
	};

	return cmocka_run_group_tests_name("golden", tests, NULL, NULL);
}
