/* report: rows over time in JSON and back, in Markdown when one is bad, and on the page. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "report/json/json.h"
#include "report/text/over_time_words.h"

static isc_analysis_period rows[] = {
	{.pid = 7,
	 .from_us = 0,
	 .to_us = 10e6,
	 .samples = 2000,
	 .sampled_us = 10e6,
	 .unattributed_us = 1e6,
	 .events = 9},
	{.pid = 7, .from_us = 10e6, .to_us = 20e6, .samples = 2000, .sampled_us = 10e6, .events = 5, .lost = 12},
	{.pid = 0,
	 .from_us = 20e6,
	 .to_us = 40e6,
	 .samples = 3,
	 .sampled_us = 15e3,
	 .unattributed_us = 15e3,
	 .thinned = 4},
};

static char *markdown(isc_analysis_period *list, size_t n)
{
	isc_analysis a = {.over_time = list, .over_time_count = n};
	isc_buffer out = {0};

	isc_buffer_text(&out, "");
	isc_over_time_markdown(&a, &out);
	CHECK(!out.failed);
	return out.data;
}

TEST(a_bad_period_is_a_line_and_a_good_one_none)
{
	char *text = markdown(rows, 3);

	CHECK_TEXT(text, "\nIn 2 of 3 periods recording missed something: up to 10.0% of the sampled time has no "
			 "known stack (process 7, from 0 to 10.0 s), up to 12 events were lost (process 7, from "
			 "10.0 s to 20.0 s).\n");
	free(text);
	/* A share of three samples says nothing. */
	text = markdown(rows + 2, 1);
	CHECK(text == NULL || text[0] == 0);
	free(text);
}

TEST(what_is_written_comes_back_and_is_on_the_page)
{
	isc_analysis a = {.over_time = rows, .over_time_count = 3}, *back;
	yyjson_mut_doc *tree = isc_json_tree(&a);
	yyjson_doc *doc = yyjson_mut_doc_imut_copy(tree, NULL);
	isc_buffer out = {0};

	CHECK_EQ(isc_json_read(yyjson_doc_get_root(doc), &back, NULL), ISC_OK);
	CHECK_EQ(back->over_time_count, 3);
	CHECK_BYTES(back->over_time, rows, sizeof(rows));
	isc_over_time_html(&out, yyjson_doc_get_root(doc));
	CHECK(!out.failed);
	CHECK(strstr(out.data, "Recording over time, 3 periods") != NULL);
	CHECK(strstr(out.data, "<td class=\"num\">10.0%</td>") != NULL);
	CHECK(strstr(out.data, "<td class=\"num\">several</td>") != NULL);
	isc_buffer_fini(&out);
	isc_analysis_free(back);
	yyjson_doc_free(doc);
	yyjson_mut_doc_free(tree);
}
