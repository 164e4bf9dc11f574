/* base: log, path and suggest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"
#include "base/path.h"
#include "base/suggest.h"

typedef struct seen {
	char text[ISC_LOG_LINE_MAX + 1];
	size_t len;
	int lines;
} seen;

static void keep(void *self, int level, const char *line, size_t len)
{
	seen *s = self;

	(void)level;
	assert_true(len <= ISC_LOG_LINE_MAX);
	memcpy(s->text, line, len);
	s->text[len] = 0;
	s->len = len;
	s->lines++;
}

static void an_error_is_one_line_with_what_to_do(void **state)
{
	seen s = {0};
	isc_log log = {ISC_LOG_INFO, keep, &s};
	isc_error err;

	(void)state;
	isc_fail(&err, ISC_ERR_ABSENT, "cannot read x: no such file");
	isc_hint(&err, "check the path");
	isc_log_error(&log, ISC_LOG_ERROR, &err);
	assert_string_equal(s.text, "inferscope: cannot read x: no such file; check the path\n");
	isc_fail(&err, ISC_ERR_ABSENT, "no hint");
	isc_log_error(&log, ISC_LOG_ERROR, &err);
	assert_string_equal(s.text, "inferscope: no hint\n");
}

static void lower_levels_are_dropped(void **state)
{
	seen s = {0};
	isc_log log = {ISC_LOG_WARN, keep, &s};

	(void)state;
	isc_log_write(&log, ISC_LOG_INFO, "not shown");
	assert_int_equal(s.lines, 0);
	isc_log_write(&log, ISC_LOG_WARN, "shown");
	assert_int_equal(s.lines, 1);
}

static void names_cannot_steer_a_terminal(void **state)
{
	seen s = {0};
	isc_log log = {ISC_LOG_INFO, keep, &s};

	(void)state;
	isc_log_write(&log, ISC_LOG_INFO, "%s",
		      "a\nb\033[2J\r\tc\177\xc2\x9b"
		      "d\xff\xe2\x80\xae"
		      "e\xc3\xa4");
	assert_string_equal(s.text, "inferscope: a\\nb\\x1b[2J\\r\\tc\\x7f\\x9bd\\xff\\u202ee\xc3\xa4\n");
	for (size_t i = 0; i + 1 < s.len; i++)
		assert_true((unsigned char)s.text[i] >= 0x20);
}

static void a_long_line_is_cut_and_still_a_line(void **state)
{
	static char name[10000];
	seen s = {0};
	isc_log log = {ISC_LOG_INFO, keep, &s};

	(void)state;
	memset(name, 1, sizeof(name) - 1);
	isc_log_write(&log, ISC_LOG_INFO, "%s", name);
	assert_int_equal(s.text[s.len - 1], '\n');
	assert_memory_equal(s.text, "inferscope: \\x01", 16);
	/* An escape is never cut in two. */
	assert_memory_equal(s.text + s.len - 5, "\\x01\n", 5);
}

static void a_line_reaches_a_descriptor_in_one_piece(void **state)
{
	char text[64];
	int ends[2];
	isc_log log = {ISC_LOG_INFO, isc_log_to_fd, &ends[1]};

	(void)state;
	assert_int_equal(pipe(ends), 0);
	isc_log_write(&log, ISC_LOG_INFO, "%d", 7);
	assert_int_equal(read(ends[0], text, sizeof(text)), 14);
	assert_memory_equal(text, "inferscope: 7\n", 14);
	close(ends[0]);
	close(ends[1]);
}

static void paths_are_taken_apart(void **state)
{
	char out[64];

	(void)state;
	assert_true(isc_path_folder("a/b/c.md", out, sizeof(out)));
	assert_string_equal(out, "a/b");
	assert_true(isc_path_folder("c.md", out, sizeof(out)));
	assert_string_equal(out, ".");
	assert_true(isc_path_folder("/c.md", out, sizeof(out)));
	assert_string_equal(out, "/");
	assert_false(isc_path_folder("aaaa/b", out, 4));
	assert_string_equal(isc_path_name("a/b/c.md"), "c.md");
	assert_string_equal(isc_path_name("a/"), "");
	assert_string_equal(isc_path_extension("a.b/c"), "");
	assert_string_equal(isc_path_extension("a/c.tar.md"), ".md");
	assert_string_equal(isc_path_extension("a/.md"), "");
}

static void paths_are_put_together(void **state)
{
	char out[64], small[4];
	isc_error err;

	(void)state;
	assert_true(isc_path_join(out, sizeof(out), "a", "b"));
	assert_string_equal(out, "a/b");
	assert_true(isc_path_join(out, sizeof(out), "a/", "b"));
	assert_string_equal(out, "a/b");
	assert_true(isc_path_join(out, sizeof(out), "a", "/b"));
	assert_string_equal(out, "/b");
	assert_false(isc_path_join(small, sizeof(small), "ab", "cd"));
	assert_int_equal(isc_path_absolute("/x", out, sizeof(out), &err), ISC_OK);
	assert_string_equal(out, "/x");
	assert_int_equal(isc_path_absolute("x", small, sizeof(small), &err), ISC_ERR_LIMIT);
}

static void only_paths_that_stay_are_below(void **state)
{
	(void)state;
	assert_true(isc_path_is_below("a/b"));
	assert_true(isc_path_is_below("..a/b..c/..."));
	assert_false(isc_path_is_below("/a"));
	assert_false(isc_path_is_below(".."));
	assert_false(isc_path_is_below("../a"));
	assert_false(isc_path_is_below("a/../../b"));
	assert_false(isc_path_is_below("a//.."));
}

static void the_nearest_word_is_suggested_and_a_far_one_is_not(void **state)
{
	static const char *const words[] = {"report", "rate", NULL, "trace", "trace-size-mb"};

	(void)state;
	assert_int_equal(isc_suggest_distance("kitten", "sitting"), 3);
	assert_int_equal(isc_suggest_distance("ab", "ba"), 1);
	assert_string_equal(isc_suggest("reprot", words, 5), "report");
	assert_string_equal(isc_suggest("trac", words, 5), "trace");
	assert_string_equal(isc_suggest("trace-size", words, 5), "trace-size-mb");
	assert_null(isc_suggest("zzzzzz", words, 5));
	assert_null(isc_suggest("", words, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_error_is_one_line_with_what_to_do),
		cmocka_unit_test(lower_levels_are_dropped),
		cmocka_unit_test(names_cannot_steer_a_terminal),
		cmocka_unit_test(a_long_line_is_cut_and_still_a_line),
		cmocka_unit_test(a_line_reaches_a_descriptor_in_one_piece),
		cmocka_unit_test(paths_are_taken_apart),
		cmocka_unit_test(paths_are_put_together),
		cmocka_unit_test(only_paths_that_stay_are_below),
		cmocka_unit_test(the_nearest_word_is_suggested_and_a_far_one_is_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
