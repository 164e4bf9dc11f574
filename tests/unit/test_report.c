/* report: every writer over models made by hand, and names that try to be more than names (TRUST X3). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <yyjson.h>

#include "base/text.h"
#include "base/units.h"
#include "payloads.h"
#include "report/report.h"

/* A model in which every text that came from outside is this one. */
struct model {
	isc_analysis a;
	isc_text text[2];
	isc_analysis_process process;
	isc_analysis_thread thread;
	isc_analysis_scope scope;
	isc_analysis_bin bin;
	isc_analysis_mark mark;
	isc_analysis_counter counter;
	isc_analysis_function function;
	isc_analysis_frame frame[6];
	isc_analysis_line line;
	isc_analysis_stack stack;
	isc_analysis_path path[2];
	isc_analysis_warning warning[2];
	isc_analysis_evidence evidence;
	isc_analysis_suggestion suggestion;
	isc_analysis_change change;
	isc_analysis_phase phase;
	isc_analysis_import import;
	char sentence[128];
};

static void fill(struct model *m, const char *at, size_t len)
{
	memset(m, 0, sizeof(*m));
	m->text[0] = m->text[1] = (isc_text){at, len};
	m->process = (isc_analysis_process){.pid = 7,
					    .ppid = 1,
					    .argv = m->text,
					    .argc = 2,
					    .wall_us = 1e6,
					    .wall_known = true,
					    .traced = true,
					    .exit_known = true,
					    .images = 1,
					    .events = 4};
	m->thread = (isc_analysis_thread){.tid = 7,
					  .pid = 7,
					  .name = m->text[0],
					  .wall_us = 1e6,
					  .on_cpu_us = 5e5,
					  .run_queue_us = 1e5,
					  .waiting_us = 4e5,
					  .switches = 3,
					  .events = 4};
	m->bin = (isc_analysis_bin){10, 20, 2};
	m->scope = (isc_analysis_scope){.name = m->text[0],
					.count = 2,
					.total_us = 30,
					.mean_us = 15,
					.p50_us = 14,
					.p90_us = 16,
					.p99_us = 16,
					.max_us = 16,
					.bins = &m->bin,
					.bin_count = 1};
	m->phase = (isc_analysis_phase){.phase = ISC_PHASE_SERVING, .pid = 7, .to_us = 1e6, .why = m->text[0]};
	m->import = (isc_analysis_import){m->text[0], m->text[0], 1e6};
	m->evidence = (isc_analysis_evidence){"gil_contention", "gil_wait_pct", 41, 10, -1};
	m->suggestion = (isc_analysis_suggestion){.claim = {.finding = "lock_wait_pct",
							    .cause = "gil_contention",
							    .kind = ISC_CLAIM_FAULT,
							    .subject = {ISC_CLAIM_OF_SCOPES, m->text[0], 0, -1, 0},
							    .share = 41,
							    .place = {m->text[0], m->text[0], 12, {0}},
							    .holder = {m->text[0], m->text[0], 0, m->text[0]},
							    .own_title = m->text[0],
							    .own_fix = m->text[0],
							    .own_check = m->text[0]},
						  .saves_at_most_us = 41e4};
	m->change = (isc_analysis_change){.told = m->text[0]};
	m->mark = (isc_analysis_mark){m->text[0], 1};
	m->counter = (isc_analysis_counter){m->text[0], 1, 1, 2, 1.5, 2};
	m->function = (isc_analysis_function){.name = m->text[0],
					      .file = m->text[0],
					      .line = 12,
					      .pid = 7,
					      .calls = 3,
					      .resumes = 1,
					      .self_us = 10,
					      .total_us = 20,
					      .estimated = true,
					      .governed = true,
					      .recorded = 2};
	m->function.module = m->text[0];
	m->function.traced = true;
	m->function.samples = 250;
	m->function.cpu_self_us = 1e5;
	for (size_t i = 0; i < 6; i++)
		m->frame[i] = (isc_analysis_frame){.python = i % 3 == 0,
						   .native = i % 3 == 1,
						   .name = m->text[0],
						   .file = i % 2 == 0 ? m->text[0] : (isc_text){0},
						   .module = m->text[0],
						   .line = 3};
	m->line = (isc_analysis_line){.at = m->frame[0], .pid = 7, .samples = 250, .self_us = 1e5};
	m->stack = (isc_analysis_stack){.frames = m->frame, .frame_count = 6, .pid = 7, .samples = 250, .us = 1e5};
	m->path[0] = (isc_analysis_path){.frames = m->frame, .frame_count = 6, .samples = 250, .us = 1e5};
	m->path[1] = (isc_analysis_path){.frames = m->frame, .frame_count = 2, .depth = 1, .us = 5e4};
	/* A warning is text of ours that may quote a name; a NUL ends it. */
	memcpy(m->sentence, at, strnlen(at, len) < 100 ? strnlen(at, len) : 100);
	m->warning[0] = (isc_analysis_warning){"recorder", m->sentence, m->sentence, true};
	m->warning[1] = (isc_analysis_warning){"note", m->sentence, NULL, false};
	m->a = (isc_analysis){.argv = m->text,
			      .argc = 2,
			      .exit_known = true,
			      .wall_us = 1e6,
			      .host = m->text[0],
			      .python = m->text[0],
			      .python_path = m->text[0],
			      .label_keys = m->text,
			      .label_values = m->text,
			      .labels = 1,
			      .to_us = 1e6,
			      .why = "the whole run",
			      .verdict = {.bottleneck = "cpu_bound",
					  .claim = {.cause = "gil_contention", .share = 41},
					  .told = m->text[0],
					  .confidence = 0.5,
					  .evidence = &m->evidence,
					  .evidence_count = 1,
					  .would_change = &m->change,
					  .would_change_count = 1},
			      .suggestions = &m->suggestion,
			      .suggestion_count = 1,
			      .processes = &m->process,
			      .process_count = 1,
			      .threads = &m->thread,
			      .thread_count = 1,
			      .scopes = &m->scope,
			      .scope_count = 1,
			      .marks = &m->mark,
			      .mark_count = 1,
			      .counters = &m->counter,
			      .counter_count = 1,
			      .functions = &m->function,
			      .function_count = 1,
			      .governed_count = 1,
			      .samples = {.count = 250, .steps = 250, .us = 1e5, .covered_pct = 99, .lines = 1},
			      .lines = &m->line,
			      .line_count = 1,
			      .stacks = &m->stack,
			      .stack_count = 1,
			      .paths = m->path,
			      .path_count = 2,
			      .budget_pct = 5,
			      .budget_known = true,
			      .measured_pct = 1,
			      .recorder_cpu_pct = 2,
			      .switches_pct = 0.5,
			      .events = 4,
			      .clock_source = "tsc",
			      .switches_seen = true,
			      .complete = true,
			      .warnings = m->warning,
			      .warning_count = 2};
	m->a.phases = &m->phase;
	m->a.phase_count = 1;
	m->a.startup = (isc_analysis_startup){true, 7, 2e6, 1e6, 1e6, &m->import, 1};
}

static void write_report(const isc_analysis *a, int format, isc_buffer *out)
{
	isc_buffer_clear(out);
	assert_int_equal(isc_report_write(a, format, out, NULL), ISC_OK);
}

/* Does a block of code begin or end with the line that starts here? */
static bool is_fence(const isc_buffer *in, size_t i)
{
	size_t blanks = strspn(in->data + i, " ");

	return (i == 0 || in->data[i - 1] == '\n') && blanks <= 3 && strncmp(in->data + i + blanks, "```", 3) == 0;
}

/* What a Markdown parser acts upon, and nothing else: line ends, cell borders,
 * tags, code spans and blocks of code. */
static void skeleton(const isc_buffer *in, isc_buffer *out)
{
	bool span = false, block = false;

	isc_buffer_clear(out);
	for (size_t i = 0; i < in->len; i++) {
		char c = in->data[i];

		if (is_fence(in, i)) {
			block = !block;
			isc_buffer_text(out, "F");
			i += strcspn(in->data + i, "\n") - 1;
		} else if (block) {
			isc_buffer_text(out, c == '\n' ? "\n" : "");
		} else if (c == '`') {
			span = !span;
			isc_buffer_text(out, span ? "N" : "");
		} else if (strncmp(in->data + i, "<code>", 6) == 0) {
			isc_buffer_text(out, "N");
		} else if (c == '<' && strncmp(in->data + i, "</code>", 7) != 0 &&
			   strncmp(in->data + i, "<!-- -->", 8) != 0) {
			isc_buffer_text(out, "<");
		} else if (strchr("|\n#[]*", c) != NULL && !span && !(c == '#' && i > 0 && in->data[i - 1] == '&')) {
			isc_buffer_add(out, &c, 1);
		}
	}
	assert_false(out->failed || span || block);
}

static void payloads_leave_the_shape_of_markdown_alone(void **state)
{
	isc_buffer plain = {0}, odd = {0}, text = {0};
	struct model m;

	(void)state;
	fill(&m, "name", 4);
	write_report(&m.a, ISC_REPORT_MARKDOWN, &text);
	skeleton(&text, &plain);
	for (size_t i = 0; i < PAYLOADS; i++) {
		fill(&m, payloads[i].text, payloads[i].len);
		write_report(&m.a, ISC_REPORT_MARKDOWN, &text);
		skeleton(&text, &odd);
		if (strcmp(plain.data, odd.data) != 0)
			fail_msg("payload %zu changes the shape:\n%s\n%s\n%s", i, plain.data, odd.data, text.data);
	}
	isc_buffer_fini(&plain);
	isc_buffer_fini(&odd);
	isc_buffer_fini(&text);
}

/* The report as a writer without escaping would make it: each "Qzq" becomes that. */
static void without_escaping(const isc_buffer *text, const char *with, isc_buffer *out)
{
	isc_buffer_clear(out);
	for (size_t i = 0; i < text->len; i++) {
		bool name = text->len - i >= 3 && memcmp(text->data + i, "Qzq", 3) == 0;

		isc_buffer_add(out, name ? with : text->data + i, name ? strlen(with) : 1);
		i += name ? 2 : 0;
	}
}

static void the_checks_see_names_that_are_not_escaped(void **state)
{
	static const char *const active[] = {"<b>", "`|`", "`\n# y`", "`[x](y)`"};
	isc_buffer plain = {0}, odd = {0}, text = {0}, raw = {0};
	struct model m;

	(void)state;
	fill(&m, "Qzq", 3);
	write_report(&m.a, ISC_REPORT_MARKDOWN, &text);
	skeleton(&text, &plain);
	without_escaping(&text, "name", &raw);
	skeleton(&raw, &odd);
	assert_string_equal(plain.data, odd.data);
	for (size_t i = 0; i < sizeof(active) / sizeof(active[0]); i++) {
		without_escaping(&text, active[i], &raw);
		skeleton(&raw, &odd);
		assert_string_not_equal(plain.data, odd.data);
	}
	write_report(&m.a, ISC_REPORT_JSON, &text);
	without_escaping(&text, "x\", \"y\": \"\n", &raw);
	assert_null(yyjson_read(raw.data, raw.len, 0));
	isc_buffer_fini(&plain);
	isc_buffer_fini(&odd);
	isc_buffer_fini(&text);
	isc_buffer_fini(&raw);
}

static void payloads_reach_json_readers_as_data(void **state)
{
	isc_buffer text = {0}, name = {0};
	struct model m;

	(void)state;
	for (size_t i = 0; i < PAYLOADS; i++) {
		yyjson_doc *doc;
		yyjson_val *root, *scope;

		fill(&m, payloads[i].text, payloads[i].len);
		write_report(&m.a, ISC_REPORT_JSON, &text);
		doc = yyjson_read(text.data, text.len, 0);
		assert_non_null(doc);
		root = yyjson_doc_get_root(doc);
		assert_int_equal(yyjson_obj_size(root), 29);
		scope = yyjson_ptr_get(root, "/scopes/0/name");
		isc_buffer_clear(&name);
		isc_text_utf8(&name, payloads[i].text, payloads[i].len);
		assert_int_equal(yyjson_get_len(scope), name.len);
		assert_memory_equal(yyjson_get_str(scope), name.data, name.len);
		assert_true(
			yyjson_equals_strn(yyjson_ptr_get(root, "/program/processes/0/argv/1"), name.data, name.len));
		assert_true(yyjson_equals_strn(yyjson_ptr_get(root, "/threads/0/name"), name.data, name.len));
		assert_true(yyjson_equals_strn(yyjson_ptr_get(root, "/stacks/0/frames/5/name"), name.data, name.len));
		assert_true(yyjson_equals_strn(yyjson_ptr_get(root, "/lines/0/function"), name.data, name.len));
		assert_true(yyjson_equals_strn(yyjson_ptr_get(root, "/verdict/headline"), name.data, name.len) ||
			    name.len == 0);
		assert_true(yyjson_equals_strn(yyjson_ptr_get(root, "/verdict/would_change/0"), name.data, name.len));
		assert_true(yyjson_equals_strn(yyjson_ptr_get(root, "/suggestions/0/title"), name.data, name.len));
		assert_true(
			yyjson_equals_strn(yyjson_ptr_get(root, "/suggestions/0/place/function"), name.data, name.len));
		assert_true(
			yyjson_equals_strn(yyjson_ptr_get(root, "/suggestions/0/holder/thread"), name.data, name.len));
		assert_true(
			yyjson_equals_strn(yyjson_ptr_get(root, "/suggestions/0/subject/name"), name.data, name.len));
		assert_int_equal(yyjson_obj_size(yyjson_ptr_get(root, "/program/labels")), 1);
		yyjson_doc_free(doc);
	}
	isc_buffer_fini(&text);
	isc_buffer_fini(&name);
}

static void payloads_never_steer_the_terminal_through_the_summary(void **state)
{
	isc_buffer text = {0};
	struct model m;

	(void)state;
	for (size_t i = 0; i < PAYLOADS; i++) {
		size_t lines = 0;

		fill(&m, payloads[i].text, payloads[i].len);
		isc_buffer_clear(&text);
		assert_int_equal(isc_report_summary(&m.a, m.sentence, m.sentence, &text, NULL), ISC_OK);
		for (size_t at = 0; at < text.len; lines++) {
			const char *line = text.data + at, *end = memchr(line, '\n', text.len - at);
			uint32_t c;

			assert_non_null(end);
			assert_int_equal(strncmp(line, "inferscope: ", 12), 0);
			for (const char *s = line; s < end;) {
				size_t n = isc_text_decode(s, (size_t)(end - s), &c);

				assert_true(n > 0 && !isc_text_is_control(c));
				s += n;
			}
			at = (size_t)(end - text.data) + 1;
		}
		assert_true(lines >= 4 && lines <= 12);
	}
	isc_buffer_fini(&text);
}

static void a_megabyte_of_name_stays_out_of_people_s_way(void **state)
{
	enum { LONG = 1 << 20 };
	isc_buffer text = {0};
	struct model m;
	char *name = malloc(LONG);

	(void)state;
	assert_non_null(name);
	memset(name, 'x', LONG);
	fill(&m, name, LONG);
	write_report(&m.a, ISC_REPORT_MARKDOWN, &text);
	assert_true(text.len < 16384);
	isc_buffer_clear(&text);
	isc_report_summary(&m.a, NULL, NULL, &text, NULL);
	assert_true(text.len < 4096);
	write_report(&m.a, ISC_REPORT_JSON, &text);
	assert_true(text.len > LONG);
	free(name);
	isc_buffer_fini(&text);
}

static void the_summary_of_a_bad_day_has_twelve_lines_at_most(void **state)
{
	isc_analysis_warning warnings[40];
	isc_buffer text = {0};
	struct model m;
	size_t lines = 0;

	(void)state;
	fill(&m, "name", 4);
	for (size_t i = 0; i < 40; i++)
		warnings[i] = m.warning[0];
	m.a.warnings = warnings;
	m.a.warning_count = 40;
	m.a.retired = m.a.lost = 9;
	isc_report_summary(&m.a, "report.md, report.json", "inferscope.isc", &text, NULL);
	for (size_t i = 0; i < text.len; i++)
		lines += text.data[i] == '\n';
	assert_int_equal(lines, 12);
	assert_non_null(strstr(text.data, "inferscope: 38 more warnings are in the report"));
	isc_buffer_fini(&text);
}

static void unknown_is_null_and_never_a_number(void **state)
{
	isc_buffer text = {0};
	struct model m;
	yyjson_doc *doc;
	yyjson_val *root;

	(void)state;
	fill(&m, "name", 4);
	m.thread.on_cpu_us = m.thread.run_queue_us = m.thread.waiting_us = m.thread.unwatched_us = -1;
	for (int i = 0; i < ISC_STATES; i++)
		m.thread.state_us[i] = -1;
	m.scope.p50_us = m.a.measured_pct = -1;
	m.counter.max = (double)INFINITY;
	m.a.verdict = (isc_analysis_verdict){.bottleneck = "unknown", .claim.share = -1, .withheld = "too little"};
	m.a.exit_known = false;
	write_report(&m.a, ISC_REPORT_JSON, &text);
	doc = yyjson_read(text.data, text.len, 0);
	root = yyjson_doc_get_root(doc);
	assert_true(yyjson_is_null(yyjson_ptr_get(root, "/threads/0/on_cpu_us")));
	assert_true(yyjson_is_null(yyjson_ptr_get(root, "/threads/0/run_queue")));
	assert_true(yyjson_is_null(yyjson_ptr_get(root, "/threads/0/gil_wait")));
	assert_true(yyjson_is_null(yyjson_ptr_get(root, "/scopes/0/p50_us")));
	assert_true(yyjson_is_null(yyjson_ptr_get(root, "/counters/0/max")));
	assert_true(yyjson_is_null(yyjson_ptr_get(root, "/overhead/measured_pct")));
	assert_true(yyjson_is_null(yyjson_ptr_get(root, "/program/exit_code")));
	assert_true(yyjson_is_null(yyjson_ptr_get(root, "/breakdown")));
	assert_true(yyjson_equals_str(yyjson_ptr_get(root, "/verdict/bottleneck"), "unknown"));
	assert_true(yyjson_is_null(yyjson_ptr_get(root, "/verdict/share")));
	assert_true(yyjson_is_null(yyjson_ptr_get(root, "/verdict/device_id")));
	yyjson_doc_free(doc);
	write_report(&m.a, ISC_REPORT_MARKDOWN, &text);
	assert_null(strstr(strchr(text.data, '\n'), "-1"));
	assert_non_null(strstr(text.data, "was not seen to end"));
	isc_buffer_fini(&text);
}

static void our_own_files_are_known_by_their_mark(void **state)
{
	isc_buffer text = {0};
	struct model m;

	(void)state;
	fill(&m, "name", 4);
	write_report(&m.a, ISC_REPORT_MARKDOWN, &text);
	assert_true(isc_report_is_ours(text.data, text.len));
	write_report(&m.a, ISC_REPORT_JSON, &text);
	assert_true(isc_report_is_ours(text.data, text.len));
	isc_buffer_fini(&text);
	assert_true(isc_report_is_ours("{\"schema\":\"inferscope-report-1\"}", 32));
	assert_false(isc_report_is_ours("", 0));
	assert_false(isc_report_is_ours("# My notes\n", 11));
	assert_false(isc_report_is_ours("{\"schema\"", 9));
	assert_false(isc_report_is_ours("{\"a\": 1, \"schema\": \"inferscope-report-1\"}", 42));
	assert_false(isc_report_is_ours("see <!-- inferscope-report-1 -->", 32));
}

static void a_format_goes_by_name_or_ending(void **state)
{
	isc_error err;
	int format;

	(void)state;
	assert_int_equal(isc_report_format_named("markdown"), ISC_REPORT_MARKDOWN);
	assert_int_equal(isc_report_format_named("JSON"), ISC_REPORT_JSON);
	assert_int_equal(isc_report_format_of("a.b/report.md"), ISC_REPORT_MARKDOWN);
	assert_int_equal(isc_report_format_of("a.json/report"), ISC_REPORT_UNKNOWN);
	assert_int_equal(isc_report_choose("x.txt", "json", &format, &err), ISC_OK);
	assert_int_equal(format, ISC_REPORT_JSON);
	assert_int_equal(isc_report_choose("x.html", NULL, &format, &err), ISC_OK);
	assert_int_equal(format, ISC_REPORT_HTML);
	assert_int_equal(isc_report_choose("x.pdf", NULL, &format, &err), ISC_ERR_INVALID);
	assert_string_equal(err.what, "the ending of \"x.pdf\" names no report format that this build writes");
	assert_string_equal(err.hint, "give a path ending in .md, .html or .json, or --format markdown, html or json");
	assert_int_equal(isc_report_choose("x.md", "pdf", &format, &err), ISC_ERR_INVALID);
	assert_string_equal(err.what, "\"pdf\" is not a report format that this build writes");
}

static void numbers_come_in_units_for_people(void **state)
{
	isc_units u;

	(void)state;
	assert_string_equal(isc_units_count(&u, 0), "0");
	assert_string_equal(isc_units_count(&u, 999), "999");
	assert_string_equal(isc_units_count(&u, 1234567), "1,234,567");
	assert_string_equal(isc_units_count(&u, UINT64_MAX), "18,446,744,073,709,551,615");
	assert_string_equal(isc_units_signal(&u, 9), "SIGKILL, signal 9");
	assert_string_equal(isc_units_signal(&u, 11), "SIGSEGV, signal 11");
	assert_string_equal(isc_units_signal(&u, 64), "signal 64");
	assert_string_equal(isc_units_signal(&u, -1), "signal -1");
	assert_string_equal(isc_units_time(&u, 0), "0");
	assert_string_equal(isc_units_time(&u, 0.412), "412 ns");
	assert_string_equal(isc_units_time(&u, 0.9999), "1.00 us");
	assert_string_equal(isc_units_time(&u, 8.125), "8.12 us");
	assert_string_equal(isc_units_time(&u, 99.96), "100 us");
	assert_string_equal(isc_units_time(&u, 999.6), "1.00 ms");
	assert_string_equal(isc_units_time(&u, 81234), "81.2 ms");
	assert_string_equal(isc_units_time(&u, 1234567), "1.23 s");
	assert_string_equal(isc_units_time(&u, 123e6), "2 min 03 s");
	assert_string_equal(isc_units_time(&u, 12000e6), "3 h 20 min");
	assert_string_equal(isc_units_time(&u, -1), "?");
	assert_string_equal(isc_units_time(&u, (double)NAN), "?");
	assert_string_equal(isc_units_time(&u, 1e300), "2.78e+290 h");
	assert_string_equal(isc_units_percent(&u, 12.34), "12.3%");
	assert_string_equal(isc_units_percent(&u, 0.034), "0.03%");
	assert_string_equal(isc_units_percent(&u, 0.004), "<0.01%");
	assert_string_equal(isc_units_percent(&u, 0), "0.0%");
	assert_string_equal(isc_units_number(&u, 3.5), "3.5");
	assert_string_equal(isc_units_number(&u, -1024), "-1,024");
	assert_string_equal(isc_units_number(&u, 123456.7), "123,457");
	assert_string_equal(isc_units_number(&u, 1e300), "1e+300");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(payloads_leave_the_shape_of_markdown_alone),
		cmocka_unit_test(the_checks_see_names_that_are_not_escaped),
		cmocka_unit_test(payloads_reach_json_readers_as_data),
		cmocka_unit_test(payloads_never_steer_the_terminal_through_the_summary),
		cmocka_unit_test(a_megabyte_of_name_stays_out_of_people_s_way),
		cmocka_unit_test(the_summary_of_a_bad_day_has_twelve_lines_at_most),
		cmocka_unit_test(unknown_is_null_and_never_a_number),
		cmocka_unit_test(our_own_files_are_known_by_their_mark),
		cmocka_unit_test(a_format_goes_by_name_or_ending),
		cmocka_unit_test(numbers_come_in_units_for_people),
	};

	return cmocka_run_group_tests_name("report", tests, NULL, NULL);
}
