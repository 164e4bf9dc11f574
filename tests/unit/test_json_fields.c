/* json_fields: a JSON report is read back as it was written, and whatever it says, it is read. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

#include <glob.h>
#include <yyjson.h>

#include "report/from_json.h"
#include "report/json/json.h"
#include "scene.h"

#define SPOILED 12u /* reports of each scene with odd values in them */

/* Calls check for every scene of tests/golden. */
static void each_scene(void (*check)(const char *events, const isc_buffer *json))
{
	char pattern[4096];
	glob_t found;

	CHECK(getenv("ISC_GOLDEN") != NULL);
	snprintf(pattern, sizeof(pattern), "%s/*.events", getenv("ISC_GOLDEN"));
	CHECK_EQ(glob(pattern, 0, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		isc_error err = {0};
		scene s;

		CHECK_OK(scene_open(&s, found.gl_pathv[i], &err), &err);
		check(found.gl_pathv[i], &s.json);
		scene_close(&s);
	}
	globfree(&found);
}

/* ---- both directions agree ---- */

/* Without what is not read back: when GPUs were idle, and the bounds of calls that were thinned out. */
static yyjson_mut_doc *comparable(yyjson_mut_doc *report)
{
	yyjson_mut_val *root = yyjson_mut_doc_get_root(report);

	yyjson_mut_obj_remove_key(root, "gpus");
	yyjson_mut_obj_remove_key(yyjson_mut_obj_get(root, "overhead"), "governed");
	return report;
}

static void comes_back(const char *events, const isc_buffer *json)
{
	yyjson_doc *doc = yyjson_read(json->data, json->len, 0);
	yyjson_mut_doc *wanted = comparable(yyjson_doc_mut_copy(doc, NULL)), *got;
	yyjson_mut_val *key, *value;
	isc_analysis *a = NULL;
	size_t i, n;

	CHECK_OK(isc_json_read(yyjson_doc_get_root(doc), &a, NULL));
	got = comparable(isc_json_tree(a));
	yyjson_mut_obj_foreach(yyjson_mut_doc_get_root(wanted), i, n, key, value)
	{
		const char *name = yyjson_mut_get_str(key);

		if (!yyjson_mut_equals(value, yyjson_mut_obj_get(yyjson_mut_doc_get_root(got), name)))
			fail_msg("%s: \"%s\" is not read as it was written", events, name);
	}
	isc_analysis_free(a);
	yyjson_mut_doc_free(got);
	yyjson_mut_doc_free(wanted);
	yyjson_doc_free(doc);
}

TEST(a_report_that_was_read_is_written_as_it_was)
{
	each_scene(comes_back);
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

static void is_read(const char *json, size_t len)
{
	static const int formats[] = {ISC_REPORT_MARKDOWN, ISC_REPORT_HTML};
	isc_buffer out = {0};
	isc_error err = {0};

	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		isc_buffer_clear(&out);
		CHECK_OK(isc_report_from_json(json, len, formats[i], NULL, &out, &err), &err);
	}
	isc_buffer_fini(&out);
}

/* Few odd values leave most of the report to be read; many make odd neighbours meet. */
static void is_read_spoiled(const char *events, const isc_buffer *json)
{
	yyjson_doc *doc = yyjson_read(json->data, json->len, 0);

	(void)events;
	for (uint32_t seed = 0; seed < SPOILED; seed++) {
		yyjson_mut_doc *copy = yyjson_doc_mut_copy(doc, NULL);
		yyjson_mut_val *key, *part;
		uint32_t state = seed;
		size_t i, n;
		char *text;

		yyjson_mut_obj_foreach(yyjson_mut_doc_get_root(copy), i, n, key, part)
		{
			if (!yyjson_mut_equals_str(key, "schema"))
				spoil(part, seed % 2 == 0 ? 6 : 60, &state);
		}
		text = yyjson_mut_write(copy, 0, &n);
		CHECK(text != NULL);
		is_read(text, n);
		free(text);
		yyjson_mut_doc_free(copy);
	}
	yyjson_doc_free(doc);
}

TEST(whatever_a_json_report_says_it_is_read)
{
	each_scene(is_read_spoiled);
}
