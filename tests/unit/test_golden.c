/*
 * golden: tests/golden/NAME.events gives exactly the reports that lie beside it, byte
 * for byte; harness/scene.h says which.  `make golden` writes them anew, and shows the
 * difference.
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
#include "scene.h"

static void compare(const char *events, const char *ending, const isc_buffer *got)
{
	char path[4096];
	size_t len = 0, line = 1;
	char *wanted;

	scene_path(events, ending, path, sizeof(path));
	if (getenv("ISC_GOLDEN_UPDATE") != NULL) {
		FILE *f = fopen(path, "wb");

		assert_non_null(f);
		assert_int_equal(fwrite(got->data, 1, got->len, f), got->len);
		assert_int_equal(fclose(f), 0);
		return;
	}
	wanted = scene_read(path, &len);
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
	}
	isc_analysis_free(again);
	yyjson_doc_free(doc);
	isc_buffer_fini(&wanted);
	isc_buffer_fini(&got);
}

static void open_scene(const char *events, scene *s)
{
	isc_error err = {0};

	if (scene_open(s, events, &err) != ISC_OK)
		fail_msg("%s: %s", events, err.what);
}

static void one_case(const char *events)
{
	isc_buffer verdict = {0};
	isc_error err = {0};
	scene s;

	open_scene(events, &s);
	same_from_json(events, s.analysis, &s.json);
	if (scene_is_whole(&s)) {
		compare(events, ".report.json", &s.json);
		compare(events, ".report.md", &s.markdown);
		compare(events, ".summary", &s.summary);
	} else {
		if (scene_verdict(&s, &verdict, &err) != ISC_OK)
			fail_msg("%s: %s", events, err.what);
		compare(events, ".verdict", &verdict);
	}
	isc_buffer_fini(&verdict);
	scene_close(&s);
}

/* Which rule wins in this case; 0-terminated. */
static void cause_of(const char *events, char *out, size_t room)
{
	scene s;

	open_scene(events, &s);
	snprintf(out, room, "%s", s.analysis->verdict.cause != NULL ? s.analysis->verdict.cause : "");
	scene_close(&s);
}

static void find_files(const char *pattern, glob_t *found)
{
	char path[4096];

	assert_non_null(getenv("ISC_GOLDEN"));
	snprintf(path, sizeof(path), "%s/%s", getenv("ISC_GOLDEN"), pattern);
	assert_int_equal(glob(path, 0, NULL, found), 0);
}

static void every_rule_has_a_case_in_which_it_wins(void **state)
{
	char cause[256][ISC_RULE_ID_MAX];
	isc_rules rules;
	glob_t found;

	(void)state;
	find_files("verdict_*.events", &found);
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
	glob_t found;

	(void)state;
	find_files("*.events", &found);
	assert_true(found.gl_pathc >= 4);
	for (size_t i = 0; i < found.gl_pathc; i++)
		one_case(found.gl_pathv[i]);
	globfree(&found);
}

/* A file that no test compares looks as if one did. */
static void no_report_is_kept_that_is_not_compared(void **state)
{
	static const char *const endings[] = {".report.json", ".report.md", ".summary", ".verdict"};

	(void)state;
	for (size_t e = 0; e < 4; e++) {
		char pattern[32];
		glob_t found;

		snprintf(pattern, sizeof(pattern), "*%s", endings[e]);
		find_files(pattern, &found);
		for (size_t i = 0; i < found.gl_pathc; i++) {
			char *path = found.gl_pathv[i], events[4096];
			bool whole;
			scene s;

			snprintf(events, sizeof(events), "%.*s.events", (int)(strlen(path) - strlen(endings[e])), path);
			open_scene(events, &s);
			whole = scene_is_whole(&s);
			scene_close(&s);
			if (whole == (strcmp(endings[e], ".verdict") == 0))
				fail_msg("%s is compared with nothing; make golden removes it", path);
		}
		globfree(&found);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_rule_has_a_case_in_which_it_wins),
		cmocka_unit_test(every_case_gives_its_reports_to_the_byte),
		cmocka_unit_test(no_report_is_kept_that_is_not_compared),
	};

	return cmocka_run_group_tests_name("golden", tests, NULL, NULL);
}
