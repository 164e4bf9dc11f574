/* NVTX: names from messages of all kinds, handles that are not ours, loaders that lack what they should have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "collect/gpu/nvtx.h"

static isc_nvtx_name name;

static void assert_name(const char *expected)
{
	assert_int_equal(name.len, strlen(expected));
	assert_memory_equal(name.text, expected, name.len);
}

static void *domain_of(const char *text)
{
	isc_nvtx_name_bytes(&name, NULL, text);
	return isc_nvtx_domain_keep(&name);
}

static isc_nvtx_attributes registered(const void *handle)
{
	return (isc_nvtx_attributes){.size = sizeof(isc_nvtx_attributes),
				     .message_type = ISC_NVTX_MESSAGE_REGISTERED,
				     .message.registered = handle};
}

static void a_domain_stands_in_front_of_the_message(void **state)
{
	void *lib = domain_of("lib");
	void *same = domain_of("lib");
	void *nameless = domain_of("");
	isc_nvtx_attributes event;

	(void)state;
	assert_non_null(lib);
	assert_ptr_equal(same, lib);
	isc_nvtx_name_bytes(&name, lib, "step");
	assert_name("lib:step");
	event = registered(isc_nvtx_string_keep(&name));
	isc_nvtx_name_bytes(&name, NULL, "step");
	assert_name("step");
	isc_nvtx_name_bytes(&name, nameless, "step");
	assert_name("step");
	isc_nvtx_name_bytes(&name, lib, NULL);
	assert_name("lib:(no message)");
	isc_nvtx_name_event(&name, lib, &event);
	assert_name("lib:step");
}

static void wide_text_becomes_utf8(void **state)
{
	static const wchar_t odd[] = {L'a', 0xe9, 0x20ac, 0x1f600, 0xd800, 0x110000, -1, 0};

	(void)state;
	isc_nvtx_name_wide(&name, NULL, odd);
	assert_name("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
	isc_nvtx_name_wide(&name, NULL, NULL);
	assert_name("(no message)");
}

/* The longest text is an allocation of its own, so that a sanitizer sees a read behind it. */
static void long_text_is_cut_at_a_character(void **state)
{
	void *lib = domain_of("lib");

	(void)state;
	for (size_t len = ISC_NVTX_NAME_MAX - 8; len < ISC_NVTX_NAME_MAX + 8; len++) {
		char *text = malloc(len + 1);
		wchar_t *wide = malloc((len + 1) * sizeof(*wide));

		assert_true(text != NULL && wide != NULL);
		for (size_t i = 0; i < len; i++) {
			text[i] = (char)(i % 2 == 0 ? 0xc3 : 0xa9);
			wide[i] = 0x20ac;
		}
		text[len] = '\0';
		wide[len] = 0;
		isc_nvtx_name_bytes(&name, lib, text);
		assert_true(name.len <= ISC_NVTX_NAME_MAX && name.len >= ISC_NVTX_NAME_MAX - 5);
		if (name.len < len + 4)
			assert_int_equal((unsigned char)name.text[name.len - 1], 0xa9);
		isc_nvtx_name_wide(&name, lib, wide);
		assert_true(name.len <= ISC_NVTX_NAME_MAX && (name.len - 4) % 3 == 0);
		free(text);
		free(wide);
	}
}

static void handles_that_are_not_ours_are_none(void **state)
{
	char *lib = domain_of("lib");
	isc_nvtx_attributes event;
	char own[64] = {0};
	void *odd[] = {NULL, lib, lib + 1, lib - 16, lib + (4 << 20), own, (void *)16, (void *)UINTPTR_MAX};

	(void)state;
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		event = registered(odd[i]);
		isc_nvtx_name_event(&name, NULL, &event);
		assert_name("(no message)");
		if (odd[i] != lib) {
			isc_nvtx_name_bytes(&name, odd[i], "x");
			assert_name("x");
		}
	}
	event.size = sizeof(event) - 1;
	isc_nvtx_name_event(&name, NULL, &event);
	assert_name("(no message)");
	isc_nvtx_name_event(&name, NULL, NULL);
	assert_name("(no message)");
}

/* Nothing records here, so only the bookkeeping runs. */
static void stacks_survive_whatever_is_pushed_and_popped(void **state)
{
	char domains[3];

	(void)state;
	isc_nvtx_range_pop(NULL);
	for (unsigned i = 0; i < 5000; i++)
		isc_nvtx_range_push(&domains[i % 3], i % 7 == 0, 0);
	for (unsigned i = 0; i < 6000; i++)
		isc_nvtx_range_pop(&domains[i % 2]);
	for (unsigned i = 0; i < 6000; i++)
		isc_nvtx_range_pop(&domains[2]);
	assert_int_equal(isc_nvtx_range_start(0), 0);
	for (uint64_t id = 1, i = 0; i < 1000; i++, id *= 3)
		isc_nvtx_range_end(id);
}

static const void *given;
static int asked;

static const void *table_of(uint32_t id)
{
	asked++;
	return id == ISC_NVTX_TABLE_CALLBACKS ? given : NULL;
}

static void without_a_session_nobody_is_a_tool(void **state)
{
	static const isc_nvtx_callbacks small = {.size = 8}, empty = {.size = sizeof(empty)};

	(void)state;
	assert_null(isc_nvtx_path());
	assert_int_equal(InitializeInjectionNvtx2(NULL), 0);
	assert_int_equal(InitializeInjectionNvtx2(table_of), 0);
	given = &small;
	assert_int_equal(InitializeInjectionNvtx2(table_of), 0);
	given = &empty;
	assert_int_equal(InitializeInjectionNvtx2(table_of), 0);
	assert_int_equal(asked, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_domain_stands_in_front_of_the_message),
		cmocka_unit_test(wide_text_becomes_utf8),
		cmocka_unit_test(long_text_is_cut_at_a_character),
		cmocka_unit_test(handles_that_are_not_ours_are_none),
		cmocka_unit_test(stacks_survive_whatever_is_pushed_and_popped),
		cmocka_unit_test(without_a_session_nobody_is_a_tool),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
