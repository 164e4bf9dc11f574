/* report: units in JSON and back, and in Markdown. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "report/json/json.h"
#include "report/text/unit_words.h"

#define TEXT(words) {words, sizeof(words) - 1}
#define STEP {.name = TEXT("step"), .file = TEXT("app/run.py"), .line = 12}
#define TIMES .p50_us = 14.7e3, .p90_us = 15e3, .p99_us = 20e3, .max_us = 21e3, .total_us = 1e6

static isc_analysis_unit_family families[] = {
	{.kind = "scope",
	 .at = {.name = TEXT("request")},
	 .pid = 7,
	 .count = 64,
	 .whole = 60,
	 .partial = 2,
	 .thinned = 1,
	 .none = 2,
	 TIMES},
	{.kind = "task", .at = STEP, .pid = 7, .count = 64, .whole = 64, TIMES},
	{.kind = "loop",
	 .at = STEP,
	 .looper = {.name = TEXT("Server.<locals>.main"), .file = TEXT("app/run.py"), .line = 40},
	 .pid = 7,
	 .count = 1,
	 .none = 1,
	 TIMES},
	{.kind = "item", .at = STEP, .looper = STEP, .pid = 8, .count = 2000, .partial = 2000, TIMES},
};

static char *markdown(isc_analysis_unit_family *list, size_t n)
{
	isc_analysis a = {.units = {.known = n > 0, .families = list, .family_count = n}};
	isc_buffer out = {0};

	isc_buffer_text(&out, "");
	isc_unit_markdown(&a, &out);
	CHECK(!out.failed);
	return out.data;
}

static void says(isc_analysis_unit_family *f, const char *wanted)
{
	char *text = markdown(f, 1);

	if (strstr(text, wanted) == NULL)
		fail_msg("%s\nhas no\n%s", text, wanted);
	free(text);
}

TEST(a_sentence_says_what_they_are_and_how_many_are_whole)
{
	char *text;

	says(&families[0],
	     "\n## Units of work\n\n64 scopes named `request`: 60 whole, 2 partial (1 only thinned out), 2 "
	     "without calls; p50 14.7 ms, p90 15.0 ms, p99 20.0 ms, max 21.0 ms.\nA whole unit has");
	says(&families[1], "64 tasks of `step (app/run.py:12)`: all whole; p50");
	says(&families[2],
	     "1 iteration of the loop in `Server.main (app/run.py:40)`, each with `step (app/run.py:12)`: "
	     "all without calls; p50");
	says(&families[3], "2,000 work items of a pool, each with `step (app/run.py:12)`: 2,000 partial; p50");
	/* Several families are a table; nothing is said of none. */
	text = markdown(families, 4);
	CHECK(strstr(text, "| 64 scopes named `request` ") != NULL);
	CHECK(strstr(text, "| 2,000 work items") != NULL);
	free(text);
	families[1].pid = 0;
	text = markdown(families, 2);
	CHECK(strstr(text, "|       ? |") != NULL);
	families[1].pid = 7;
	free(text);
	text = markdown(families, 0);
	CHECK(text == NULL || text[0] == 0);
	free(text);
}

static void same_frame(const isc_analysis_frame *x, const isc_analysis_frame *y)
{
	CHECK_EQ(x->name.len, y->name.len);
	CHECK_EQ(x->file.len, y->file.len);
	CHECK_EQ(x->line, y->line);
	CHECK(x->name.len == 0 || memcmp(x->name.at, y->name.at, x->name.len) == 0);
}

TEST(what_is_written_comes_back)
{
	isc_analysis a = {.units = {.known = true, .families = families, .family_count = 4, .unlisted = 9}}, *back;
	yyjson_mut_doc *tree = isc_json_tree(&a);
	yyjson_doc *doc = yyjson_mut_doc_imut_copy(tree, NULL);
	yyjson_val *units = yyjson_obj_get(yyjson_doc_get_root(doc), "units");

	CHECK_EQ(yyjson_get_uint(yyjson_obj_get(units, "whole")), 60);
	CHECK(yyjson_equals_str(yyjson_obj_get(units, "kind"), "scope"));
	CHECK_EQ(isc_json_read(yyjson_doc_get_root(doc), &back, NULL), ISC_OK);
	CHECK(back->units.known);
	CHECK_EQ(back->units.unlisted, 9);
	CHECK_EQ(back->units.family_count, 4);
	for (size_t i = 0; i < 4; i++) {
		const isc_analysis_unit_family *x = &families[i], *y = &back->units.families[i];

		CHECK_TEXT(x->kind, y->kind);
		same_frame(&x->at, &y->at);
		same_frame(&x->looper, &y->looper);
		CHECK_EQ(x->pid, y->pid);
		CHECK_EQ(x->count, y->count);
		CHECK_EQ(x->whole, y->whole);
		CHECK_EQ(x->partial, y->partial);
		CHECK_EQ(x->thinned, y->thinned);
		CHECK_EQ(x->none, y->none);
		CHECK(x->p50_us == y->p50_us && x->p90_us == y->p90_us && x->p99_us == y->p99_us);
		CHECK(x->max_us == y->max_us && x->total_us == y->total_us);
	}
	isc_analysis_free(back);
	yyjson_doc_free(doc);
	yyjson_mut_doc_free(tree);
}
