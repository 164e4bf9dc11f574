/* text: names from the program stay data in every medium (TRUST X3). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <yyjson.h>

#include "base/text.h"
#include "payloads.h"

/* What is wrong with these bytes on a terminal, or NULL. */
static const char *terminal_fault(const char *at, size_t len)
{
	uint32_t c;
	size_t n;

	for (; len > 0; at += n, len -= n) {
		n = isc_text_decode(at, len, &c);
		if (n == 0)
			return "not UTF-8";
		if (c < 0x20 || (c >= 0x7f && c < 0xa0))
			return "a control byte";
		if ((c >= 0x200e && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069))
			return "a direction mark or separator";
	}
	return NULL;
}

/* Takes the tags and comments of our own away: nothing that is left may mean
 * anything to a Markdown or HTML parser. */
static const char *markdown_fault(const char *at, size_t len)
{
	const char *fault = terminal_fault(at, len);

	if (fault != NULL)
		return fault;
	if (at[0] == '`') {
		if (len < 3 || at[len - 1] != '`' || memchr(at + 1, '`', len - 2) != NULL)
			return "a code span that ends early";
		return strpbrk(at, "|<>\\") != NULL ? "a pipe, tag or escape in a code span" : NULL;
	}
	if (strncmp(at, "<code>", 6) != 0 || len < 13 || strcmp(at + len - 7, "</code>") != 0)
		return "neither a code span nor <code>";
	for (const char *s = at + 6; s < at + len - 7; s++) {
		if (strncmp(s, "<!-- -->", 8) == 0)
			s += 7;
		else if (strchr("`|\\<>*_[]()!#@:~$\"'.-={}", *s) != NULL && !(*s == '#' && s[-1] == '&'))
			return *s == '.' && strncmp(s, "...", 3) == 0 ? NULL : "a character with a meaning";
	}
	return NULL;
}

static void no_payload_steers_a_terminal(void **state)
{
	(void)state;
	assert_true(PAYLOADS >= 40);
	for (size_t i = 0; i < PAYLOADS; i++) {
		isc_buffer out = {0};

		isc_text_terminal(&out, payloads[i].text, payloads[i].len, 0);
		assert_false(out.failed);
		if (terminal_fault(out.data, out.len) != NULL)
			fail_msg("payload %zu as %s: %s", i, out.data, terminal_fault(out.data, out.len));
		isc_buffer_fini(&out);
	}
}

static void no_payload_means_anything_to_markdown(void **state)
{
	(void)state;
	for (size_t i = 0; i < PAYLOADS; i++) {
		isc_buffer out = {0};

		isc_text_markdown(&out, payloads[i].text, payloads[i].len, 0);
		if (markdown_fault(out.data, out.len) != NULL)
			fail_msg("payload %zu as %s: %s", i, out.data, markdown_fault(out.data, out.len));
		isc_buffer_fini(&out);
	}
}

static void a_strict_json_parser_reads_every_payload(void **state)
{
	(void)state;
	for (size_t i = 0; i < PAYLOADS; i++) {
		isc_buffer out = {0};
		yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
		yyjson_doc *back;
		char *json;
		size_t len;

		isc_text_utf8(&out, payloads[i].text, payloads[i].len);
		yyjson_mut_doc_set_root(doc, yyjson_mut_strn(doc, out.data, out.len));
		json = yyjson_mut_write(doc, 0, &len);
		assert_non_null(json);
		back = yyjson_read(json, len, 0);
		assert_non_null(back);
		assert_int_equal(yyjson_get_len(yyjson_doc_get_root(back)), out.len);
		yyjson_doc_free(back);
		free(json);
		yyjson_mut_doc_free(doc);
		isc_buffer_fini(&out);
	}
}

static void plain_names_stay_as_they_are(void **state)
{
	isc_buffer out = {0};

	(void)state;
	isc_text_terminal(&out, "na\303\257ve \344\270\255", 10, 0);
	assert_string_equal(out.data, "na\303\257ve \344\270\255");
	isc_buffer_clear(&out);
	isc_text_markdown(&out, "model.forward", 13, 0);
	assert_string_equal(out.data, "`model.forward`");
	isc_buffer_clear(&out);
	isc_text_markdown(&out, "a|b", 3, 0);
	assert_string_equal(out.data, "<code>a&#124;b</code>");
	isc_buffer_clear(&out);
	isc_text_utf8(&out, "\303\257", 2);
	assert_string_equal(out.data, "\303\257");
	isc_buffer_fini(&out);
}

static void a_sentence_reads_as_it_is(void **state)
{
	isc_buffer out = {0};
	static const char plain[] =
		"3 of 5 events (60.0%) were lost: see mark.h, clock.sync and slow_because; it's so.";
	static const char links[] = "www.a.b http://c.d e@f.g #1 _h_ WWW.i";

	(void)state;
	isc_text_prose(&out, plain, strlen(plain));
	assert_string_equal(out.data, plain);
	isc_buffer_clear(&out);
	isc_text_prose(&out, links, strlen(links));
	assert_string_equal(out.data,
			    "www&#46;a.b http&#58;//c.d e&#64;<!-- -->f.g &#35;<!-- -->1 &#95;h&#95; WWW&#46;i");
	isc_buffer_fini(&out);
}

static void what_cannot_be_shown_is_spelled_out(void **state)
{
	isc_buffer out = {0};

	(void)state;
	isc_text_terminal(&out, "\033[m\n\377\342\200\256\363\240\201\201\0", 13, 0);
	assert_string_equal(out.data, "\\x1b[m\\n\\xff\\u202e\\U000e0041\\x00");
	isc_buffer_clear(&out);
	isc_text_utf8(&out, "a\377b\355\240\200", 6);
	assert_string_equal(out.data, "a\357\277\275b\357\277\275\357\277\275\357\277\275");
	isc_buffer_fini(&out);
}

static void a_long_name_is_cut_between_characters(void **state)
{
	enum { LONG = 1 << 20 };
	isc_buffer out = {0};
	char *name = malloc(LONG);

	(void)state;
	assert_non_null(name);
	for (size_t i = 0; i < LONG; i += 2)
		memcpy(name + i, "\303\257", 2);
	isc_text_terminal(&out, name, LONG, 5);
	assert_string_equal(out.data, "\303\257\303\257\303\257\303\257\303\257...");
	isc_buffer_clear(&out);
	isc_text_markdown(&out, name, LONG, 5);
	assert_string_equal(out.data, "`\303\257\303\257\303\257\303\257\303\257...`");
	isc_buffer_clear(&out);
	isc_text_terminal(&out, "12345", 5, 5);
	assert_string_equal(out.data, "12345");
	free(name);
	isc_buffer_fini(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_payload_steers_a_terminal),
		cmocka_unit_test(no_payload_means_anything_to_markdown),
		cmocka_unit_test(a_strict_json_parser_reads_every_payload),
		cmocka_unit_test(plain_names_stay_as_they_are),
		cmocka_unit_test(a_sentence_reads_as_it_is),
		cmocka_unit_test(what_cannot_be_shown_is_spelled_out),
		cmocka_unit_test(a_long_name_is_cut_between_characters),
	};

	return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
