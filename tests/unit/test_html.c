/* html: a page from reports written by hand, and names that try to be more than names (TRUST X1). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>
#include <yyjson.h>

#include "analyze/rules/rule.h"
#include "base/text.h"
#include "payloads.h"
#include "report/from_json.h"
#include "report/html/html_metric.h"
#include "report/report.h"

/* A claim with a place, somebody who holds what is waited for, and what a change saves. */
#define CLAIM \
	"\"finding\":\"lock_wait_pct\",\"kind\":\"fault\",\"subject\":{\"kind\":\"each_scope\",\"name\":\"@\"}," \
	"\"share\":41.0," \
	"\"place\":{\"function\":\"@\",\"file\":\"@\",\"line\":12},\"holder\":{\"function\":\"@\",\"file\":\"@\"," \
	"\"thread\":\"@\"},\"saving_us\":200000.0,\"of_us\":500000.0,\"fix\":null,\"fix_words\":\"@\",\"details\":{" \
	"\"@\":\"@\"}"

/* Every text that can reach the plain part of a page is "@". */
static const char everything[] =
	"{\"schema\":\"inferscope-report-1\",\"program\":{\"argv\":[\"@\",\"@\"],\"wall_us\":2500000.0,\"host\":\"@\","
	"\"python\":\"@\",\"labels\":{\"@\":\"@\"},\"processes\":[{\"argv\":[\"@\"]}]},"
	"\"verdict\":{\"bottleneck\":\"@\",\"cause\":\"@\",\"confidence\":0.93,\"headline\":\"@\"," CLAIM ","
	"\"evidence\":[{\"rule\":\"@\",\"metric\":\"@\",\"value\":41.5,\"threshold\":10.0}],"
	"\"would_change\":[\"@\"],\"withheld\":null},"
	"\"suggestions\":[{\"title\":\"@\",\"where\":\"@\",\"why\":\"@\",\"check\":\"@\",\"saves_at_most_us\":600000."
	"0," CLAIM "},{\"title\":\"@\",\"where\":\"@\",\"why\":\"@\",\"check\":\"@\",\"saves_at_most_us\":1.0}],"
	"\"window\":{\"from_us\":0.0,\"to_us\":1800000.0,\"why\":\"@\",\"judged_us\":1500000.0,\"each_us\":500000.0,"
	"\"scope\":\"@\","
	"\"scopes\":3},"
	"\"breakdown\":{\"sources\":{\"@\":\"estimated\"}},\"gpus\":[{}],"
	"\"functions\":[{\"name\":\"@\"}],\"overhead\":{\"measured_pct\":1.8,\"budget_pct\":5.0,\"events\":1234567,"
	"\"lost\":0,\"retired\":0,\"governed\":[]},\"clock\":{\"sync\":\"@\",\"error_bound_us\":1.6,\"causality_"
	"fixes\":0},"
	"\"warnings\":[{\"id\":\"@\",\"text\":\"@\",\"remedy\":\"@\",\"grave\":true}]}";

/* The same with another text for each "@", as JSON writes it. */
static void with_text(isc_buffer *out, const char *text, size_t len)
{
	isc_buffer utf8 = {0};
	yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
	char *json;

	isc_text_utf8(&utf8, text, len);
	yyjson_mut_doc_set_root(doc, yyjson_mut_strn(doc, utf8.data != NULL ? utf8.data : "", utf8.len));
	json = yyjson_mut_write(doc, 0, NULL);
	assert_non_null(json);
	isc_buffer_clear(out);
	for (const char *at = everything; *at != 0; at++) {
		if (strncmp(at, "\"@\"", 3) != 0) {
			isc_buffer_add(out, at, 1);
			continue;
		}
		isc_buffer_text(out, json);
		at += 2;
	}
	free(json);
	yyjson_mut_doc_free(doc);
	isc_buffer_fini(&utf8);
}

static void page_of(const char *text, size_t len, isc_buffer *page)
{
	isc_buffer json = {0};

	with_text(&json, text, len);
	isc_buffer_clear(page);
	assert_int_equal(isc_report_from_json(json.data, json.len, ISC_REPORT_HTML, NULL, page, NULL), ISC_OK);
	isc_buffer_fini(&json);
}

/* What an HTML parser acts upon: its tags with their attributes, in order, and entities that are not numbers.
 * What blocks of data hold is another matter, and so is the script. */
static void skeleton(const isc_buffer *page, isc_buffer *out)
{
	const char *end = strstr(page->data, "<script type=\"text/plain\" id=\"report\">");

	assert_non_null(end);
	isc_buffer_clear(out);
	for (const char *at = page->data; at < end; at++) {
		if (*at == '<') {
			const char *close = strchr(at, '>');

			assert_non_null(close);
			/* A long headline is set smaller. */
			if (strncmp(at, "<h1 ", 4) == 0)
				isc_buffer_text(out, "<h1>");
			else
				isc_buffer_add(out, at, (size_t)(close - at) + 1);
			at = close;
		} else if (*at == '&' && at[1] != '#') {
			isc_buffer_text(out, "&");
		}
	}
}

static void payloads_leave_the_shape_of_a_page_alone(void **state)
{
	isc_buffer page = {0}, plain = {0}, odd = {0};

	(void)state;
	page_of("name", 4, &page);
	skeleton(&page, &plain);
	assert_non_null(strstr(plain.data, "<h1>"));
	for (size_t i = 0; i < sizeof(payloads) / sizeof(payloads[0]); i++) {
		page_of(payloads[i].text, payloads[i].len, &page);
		skeleton(&page, &odd);
		assert_string_equal(odd.data, plain.data);
	}
	isc_buffer_fini(&page);
	isc_buffer_fini(&plain);
	isc_buffer_fini(&odd);
}

static void a_megabyte_of_name_is_cut(void **state)
{
	size_t len = 1u << 20;
	char *name = malloc(len);
	isc_buffer page = {0}, plain = {0};

	(void)state;
	assert_non_null(name);
	memset(name, '<', len);
	page_of("x", 1, &plain);
	page_of(name, len, &page);
	assert_true(page.len < plain.len + 200000);
	free(name);
	isc_buffer_fini(&page);
	isc_buffer_fini(&plain);
}

static int letter(char c)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	return c == '=' ? 0 : (int)(strchr(letters, c) - letters);
}

/* The JSON of a block of the page, with a NUL behind it; to be freed. */
static char *unpack(const isc_buffer *page, const char *id)
{
	char opening[64];
	const char *at, *end;
	unsigned char *packed;
	char *text = malloc(1u << 22);
	uLongf room = (1u << 22) - 1;
	size_t n = 0;

	snprintf(opening, sizeof(opening), "id=\"%s\">", id);
	at = strstr(page->data, opening);
	assert_non_null(at);
	at += strlen(opening);
	end = strchr(at, '<');
	packed = malloc((size_t)(end - at));
	for (; at + 4 <= end; at += 4) {
		unsigned three =
			(unsigned)(letter(at[0]) << 18 | letter(at[1]) << 12 | letter(at[2]) << 6 | letter(at[3]));

		packed[n++] = (unsigned char)(three >> 16);
		packed[n++] = (unsigned char)(three >> 8);
		packed[n++] = (unsigned char)three;
	}
	assert_int_equal(uncompress((Bytef *)text, &room, packed, n), Z_OK);
	text[room] = 0;
	free(packed);
	return text;
}

static void the_page_holds_the_report_as_it_is(void **state)
{
	isc_buffer json = {0}, page = {0};
	yyjson_doc *was, *is;
	char *text;

	(void)state;
	with_text(&json, "a\"b</script>", 12);
	assert_int_equal(isc_report_from_json(json.data, json.len, ISC_REPORT_HTML, NULL, &page, NULL), ISC_OK);
	text = unpack(&page, "report");
	was = yyjson_read(json.data, json.len, 0);
	is = yyjson_read(text, strlen(text), 0);
	assert_non_null(is);
	for (size_t i = 0; i < yyjson_obj_size(yyjson_doc_get_root(was)); i++) {
		yyjson_obj_iter iter = yyjson_obj_iter_with(yyjson_doc_get_root(was));
		yyjson_val *key;

		while ((key = yyjson_obj_iter_next(&iter)) != NULL)
			assert_true(yyjson_equals(yyjson_obj_iter_get_val(key),
						  yyjson_obj_get(yyjson_doc_get_root(is), yyjson_get_str(key))));
	}
	yyjson_doc_free(was);
	yyjson_doc_free(is);
	free(text);
	isc_buffer_fini(&json);
	isc_buffer_fini(&page);
}

static void long_lists_are_cut_and_counted(void **state)
{
	isc_buffer json = {0}, page = {0};
	yyjson_val *root;
	yyjson_doc *doc;
	char *text;

	(void)state;
	isc_buffer_text(&json, "{\"schema\":\"inferscope-report-1\",\"functions\":[0");
	for (int i = 1; i < 2500; i++)
		isc_buffer_format(&json, ",%d", i);
	isc_buffer_text(&json, "]}");
	assert_int_equal(isc_report_from_json(json.data, json.len, ISC_REPORT_HTML, NULL, &page, NULL), ISC_OK);
	text = unpack(&page, "report");
	doc = yyjson_read(text, strlen(text), 0);
	root = yyjson_doc_get_root(doc);
	assert_int_equal(yyjson_arr_size(yyjson_obj_get(root, "functions")), 2000);
	assert_int_equal(yyjson_get_int(yyjson_arr_get_last(yyjson_obj_get(root, "functions"))), 1999);
	assert_int_equal(yyjson_get_int(yyjson_obj_get(yyjson_obj_get(root, "left_out"), "functions")), 500);
	yyjson_doc_free(doc);
	free(text);
	isc_buffer_fini(&json);
	isc_buffer_fini(&page);
}

static void figures_at_the_top_are_those_of_the_report(void **state)
{
	static const char *const said[] = {
		"Judged: name, 1.50 s",
		"Confidence 0.93 of 1.",
		"Strong evidence",
		"<b>41.5</b> over 10",
		"<b>200 ms <small>of 500 ms</small></b>",
		"name would take 300 ms or more",
		"<b>1.8%</b>",
		"<b>1,234,567, 0 lost</b>",
		"within 1.60 us",
		"1 limit of this recording",
		"The run took 2.50 s on name, Python name.",
	};
	isc_buffer page = {0};

	(void)state;
	page_of("name", 4, &page);
	for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
		if (strstr(page.data, said[i]) == NULL)
			print_message("missing: %s\n", said[i]);
		assert_non_null(strstr(page.data, said[i]));
	}
	isc_buffer_fini(&page);
}

/* The page of a report whose texts are all given. */
static void page_from(const char *json, isc_buffer *page)
{
	isc_buffer_clear(page);
	assert_int_equal(isc_report_from_json(json, strlen(json), ISC_REPORT_HTML, NULL, page, NULL), ISC_OK);
}

static void has(const isc_buffer *page, const char *said)
{
	if (strstr(page->data, said) == NULL)
		print_message("missing: %s\n", said);
	assert_non_null(strstr(page->data, said));
}

#define VERDICT(parts, metric) \
	"{\"schema\":\"inferscope-report-1\",\"verdict\":{\"bottleneck\":\"cpu_bound\",\"cause\":\"mine\"," \
	"\"confidence\":0.9," parts ",\"evidence\":[{\"rule\":\"mine\",\"metric\":\"" metric \
	"\",\"value\":60.04,\"threshold\":10.0}]}}"

static void the_headline_is_what_happens_and_the_rest_stands_below(void **state)
{
	isc_buffer page = {0};

	(void)state;
	page_from(VERDICT("\"finding\":\"gil_wait_pct\",\"share\":60.04,\"subject\":{\"kind\":\"each_scope\",\"name\":"
			  "\"request\"},\"holder\":{\"function\":\"work.<locals>.<listcomp>\",\"file\":"
			  "\"/srv/app/metrics.py\",\"line\":12,\"thread\":\"metrics\"},\"saving_us\":60000.0,\"of_us\":"
			  "100000.0,\"fix_words\":\"running it elsewhere\"",
			  "gil_wait_pct"),
		  &page);
	has(&page,
	    "<h1 class=\"long\"><span class=\"lit u-gil_wait\">60.0%</span> of each request waits for the GIL, held by "
	    "<code>work.(listcomp)</code> in thread metrics</h1>");
	has(&page, "<p class=\"dek\">At most <b>60.0 ms of 100 ms</b> can be saved by running it elsewhere.</p>");
	has(&page, "<p class=\"at mono\">app/metrics.py:12</p>");
	has(&page, "<td>GIL wait</td>");
	has(&page, "<b>60.0%</b> over 10%");
	page_from(VERDICT("\"finding\":\"gpu_idle_pct\",\"share\":68.9,\"subject\":{\"kind\":\"gpu\",\"device_id\":0},"
			  "\"place\":{\"function\":\"forward (/app/model.py:9)\"},\"details\":{\"idle_cause\":"
			  "\"host_wait\",\"idle_cause_pct\":99.9},\"saving_us\":1330000.0,\"of_us\":1930000.0,"
			  "\"fix_words\":\"larger batches (2 GB/s)\"",
			  "gpu_idle_pct"),
		  &page);
	has(&page,
	    "<h1>GPU 0 is idle for <span class=\"lit u-gpu\">68.9%</span> of its time, 99.9% of that waiting for the "
	    "host</h1>");
	has(&page, "<p class=\"dek\">Most of all before forward (/app/model.py:9). At most <b>1.33 s of 1.93 s</b> can "
		   "be saved "
		   "by larger batches (2 GB/s).</p>");
	/* Without parts it is one sentence. */
	page_from(VERDICT("\"headline\":\"Slow; at most times\"", "mine"), &page);
	has(&page, "<h1>Slow; at most times</h1></div>");
	has(&page, "<b>60.04</b> over 10<");
	isc_buffer_fini(&page);
}

static void what_would_change_it_is_in_words(void **state)
{
	static const char json[] =
		"{\"schema\":\"inferscope-report-1\",\"verdict\":{\"would_change\":[\"told\",\"as it "
		"is\"],\"changes\":["
		"{\"kind\":\"falls\",\"metric\":\"gil_wait_pct\",\"every_gpu\":false,\"limit\":10.0,\"value\":60.04,"
		"\"then\":\"io_wait\"}]}}";
	isc_buffer page = {0};

	(void)state;
	page_from(json, &page);
	has(&page, "<li>GIL wait at or below 10.0% (it is 60.0%): then it would be io_wait</li>");
	has(&page, "<li>as it is</li>");
	isc_buffer_fini(&page);
}

static void a_bound_is_a_part_of_what_its_claim_is_about(void **state)
{
	static const char json[] =
		"{\"schema\":\"inferscope-report-1\",\"suggestions\":["
		"{\"rule\":\"gpu_idle\",\"subject\":{\"kind\":\"gpu\",\"device_id\":3},\"saves_at_most_us\":500.0,"
		"\"saving_us\":500.0,\"of_us\":2000.0},"
		"{\"rule\":\"gil\",\"subject\":{\"kind\":\"thread\",\"name\":\"step\"},\"saves_at_most_us\":300.0,"
		"\"saving_us\":30.0,\"of_us\":400.0},"
		"{\"rule\":\"old\",\"saves_at_most_us\":700.0}]}";
	isc_buffer page = {0};

	(void)state;
	page_from(json, &page);
	has(&page, "<b>500 us <small>of 2.00 ms</small></b>");
	has(&page, "it would take 1.50 ms or more");
	has(&page, "<b>30.0 us <small>of 400 us</small></b>");
	has(&page, "step would take 370 us or more");
	has(&page, "<b>700 us</b></div>");
	isc_buffer_fini(&page);
}

static void every_metric_has_words_and_a_colour_of_the_page(void **state)
{
	isc_buffer page = {0};
	const isc_metric *metric;
	char class[64];

	(void)state;
	page_of("name", 4, &page);
	for (size_t i = 0; (metric = isc_metric_at(i)) != NULL; i++) {
		const isc_html_metric *m = isc_html_metric_named(metric->name, strlen(metric->name));

		if (m == NULL)
			print_message("no words for %s\n", metric->name);
		assert_non_null(m);
		snprintf(class, sizeof(class), ".u-%s {", m->colour);
		has(&page, class);
	}
	isc_buffer_fini(&page);
}

static void a_trace_of_another_tool_is_known_by_its_file(void **state)
{
	isc_buffer page = {0};

	(void)state;
	page_from("{\"schema\":\"inferscope-report-1\",\"program\":{\"argv\":[],\"input\":{\"name\":\"runs/"
		  "step.json.gz\","
		  "\"format\":\"Kineto\",\"files\":3}},\"verdict\":{\"bottleneck\":\"gpu_bound\"}}",
		  &page);
	has(&page, "<title>step.json.gz: gpu_bound - InferScope</title>");
	has(&page, "<div class=\"argv mono\">runs/step.json.gz and 2 more, Kineto</div>");
	isc_buffer_fini(&page);
}

static void what_is_withheld_is_said_in_the_place_of_a_verdict(void **state)
{
	static const char json[] = "{\"schema\":\"inferscope-report-1\",\"verdict\":{\"bottleneck\":\"unknown\","
				   "\"confidence\":0.0,\"headline\":null,\"withheld\":\"too little was seen\"}}";
	isc_buffer page = {0};

	(void)state;
	assert_int_equal(isc_report_from_json(json, strlen(json), ISC_REPORT_HTML, NULL, &page, NULL), ISC_OK);
	assert_non_null(strstr(page.data, "<h1>No verdict is given</h1>"));
	assert_non_null(strstr(page.data, "Withheld: too little was seen."));
	assert_null(strstr(page.data, "class=\"sure\""));
	assert_null(strstr(page.data, "<ol class=\"sug\">"));
	isc_buffer_fini(&page);
}

static void what_is_no_report_is_refused(void **state)
{
	static const char *const wrong[] = {"", "{", "[]", "{}", "{\"schema\":1}", "{\"schema\":\"other\"}"};
	isc_buffer page = {0};
	isc_error err;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(isc_report_from_json(wrong[i], strlen(wrong[i]), ISC_REPORT_HTML, NULL, &page, &err),
				 ISC_ERR_INVALID);
		assert_non_null(strstr(err.what, "inferscope-report-1"));
		assert_int_equal(page.len, 0);
	}
	isc_buffer_fini(&page);
}

/* Reports are replaced without --force, other pages are not. */
static void a_page_carries_our_mark(void **state)
{
	static const char other[] = "<!doctype html>\n<html><!-- inferscope-report-1 -->";
	isc_buffer page = {0};

	(void)state;
	page_of("name", 4, &page);
	assert_true(isc_report_is_ours(page.data, 256));
	assert_false(isc_report_is_ours(other, strlen(other)));
	isc_buffer_fini(&page);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(payloads_leave_the_shape_of_a_page_alone),
		cmocka_unit_test(a_megabyte_of_name_is_cut),
		cmocka_unit_test(the_page_holds_the_report_as_it_is),
		cmocka_unit_test(long_lists_are_cut_and_counted),
		cmocka_unit_test(figures_at_the_top_are_those_of_the_report),
		cmocka_unit_test(the_headline_is_what_happens_and_the_rest_stands_below),
		cmocka_unit_test(what_would_change_it_is_in_words),
		cmocka_unit_test(a_bound_is_a_part_of_what_its_claim_is_about),
		cmocka_unit_test(every_metric_has_words_and_a_colour_of_the_page),
		cmocka_unit_test(a_trace_of_another_tool_is_known_by_its_file),
		cmocka_unit_test(what_is_withheld_is_said_in_the_place_of_a_verdict),
		cmocka_unit_test(what_is_no_report_is_refused),
		cmocka_unit_test(a_page_carries_our_mark),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
