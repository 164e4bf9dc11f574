/* profiler: what is written of a profile, whatever names it holds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <yyjson.h>

#include "payloads.h"
#include "profile_tree.h"
#include "profiler/write.h"

static char *text_of(const isc_profile *p, void (*write)(isc_buffer *out, const isc_profile_model *m))
{
	isc_profile_model m;
	isc_buffer out = {0};

	assert_int_equal(isc_profile_model_init(&m, p, NULL), ISC_OK);
	write(&out, &m);
	assert_false(out.failed);
	isc_profile_model_fini(&m);
	return out.data;
}

static void the_json_is_as_promised(void **state)
{
	isc_profile *p = profile_new();
	char *text;

	(void)state;
	p->stop_ns = 5000000;
	profile_count(p, "main;work", 7, 3);
	profile_count(p, "main", 7, 1);
	text = text_of(p, isc_profile_json);
	assert_string_equal(text, "{\"interval_us\":1000,\"total_samples\":4,\"elapsed_us\":5000,\"stacks\":[\n"
				  "{\"frames\":[{\"symbol\":\"main\",\"file\":\"x.py\",\"line\":7},"
				  "{\"symbol\":\"work\",\"file\":\"x.py\",\"line\":7}],"
				  "\"count\":3,\"instructions\":30,\"memory_delta\":-4096,\"thread_id\":7},\n"
				  "{\"frames\":[{\"symbol\":\"main\",\"file\":\"x.py\",\"line\":7}],"
				  "\"count\":1,\"instructions\":10,\"memory_delta\":-4096,\"thread_id\":7}\n]}\n");
	free(text);
	free(p);
}

static void an_empty_profile_is_valid(void **state)
{
	isc_profile *p = profile_new();
	char *text = text_of(p, isc_profile_json);

	(void)state;
	assert_string_equal(text, "{\"interval_us\":1000,\"total_samples\":0,\"elapsed_us\":0,\"stacks\":[]}\n");
	free(text);
	text = text_of(p, isc_profile_summary);
	assert_non_null(strstr(text, "No samples"));
	free(text);
	free(p);
}

static void what_is_not_known_is_null_and_has_a_reason(void **state)
{
	isc_profile *p = profile_new();
	char *text;

	(void)state;
	p->count_error = ENOENT;
	p->memory_error = EACCES;
	profile_count(p, "main", 7, 1);
	text = text_of(p, isc_profile_json);
	assert_non_null(strstr(text, "\"instructions\":null,\"memory_delta\":null"));
	free(text);
	text = text_of(p, isc_profile_summary);
	assert_non_null(strstr(text, "Instructions are not counted: the hardware has no counter"));
	assert_non_null(strstr(text, "Changes of memory are not known: "));
	free(text);
	free(p);
	for (int error = 1; error < 140; error++)
		assert_true(strlen(isc_profile_why_no_count(error)) > 10);
	assert_null(isc_profile_why_no_count(0));
}

static void what_has_no_place_is_other_and_said(void **state)
{
	isc_profile *p = profile_new();
	isc_profile_sample full = {.node = 0, .tid = 7, .ns = 5000000},
			   gone = {.node = ISC_PROFILE_UNKNOWN, .tid = 8, .ns = 2000000};
	char *text;

	(void)state;
	profile_count(p, "main", 7, 1);
	isc_profile_count(p, &full);
	isc_profile_count(p, &gone);
	text = text_of(p, isc_profile_json);
	assert_non_null(strstr(text, "\"total_samples\":8"));
	assert_non_null(
		strstr(text, "{\"frames\":[{\"symbol\":\"(other)\",\"file\":null,\"line\":null}],\"count\":5,"));
	assert_non_null(strstr(text, "{\"symbol\":\"(unknown)\",\"file\":null,\"line\":null}],\"count\":2,"));
	free(text);
	text = text_of(p, isc_profile_summary);
	assert_non_null(strstr(text, "5 samples (62.5%) are under (other)"));
	assert_non_null(strstr(text, "2 samples (25.0%) are under (unknown)"));
	free(text);
	free(p);
}

/* Two instructions on a line, two calls of one function without lines. */
static void stacks_that_read_the_same_are_one(void **state)
{
	isc_profile *p = profile_new();
	uint32_t root = isc_profile_node(p, 0, profile_frame(p, "main", 4, "x.py", 7));
	char *text;
	bool fill;

	(void)state;
	for (uint64_t i = 0; i < 3; i++) {
		uint32_t id = isc_profile_frame_of(p, 1000 + i, &fill);
		isc_profile_sample s = {.node = isc_profile_node(p, root, id), .tid = 7, .ns = 1000000, .memory = 1};

		p->frame[id - 1].kind = ISC_PROFILE_NATIVE;
		isc_profile_frame_filled(p, id, true);
		isc_profile_count(p, &s);
	}
	assert_int_equal(p->stacks, 3);
	text = text_of(p, isc_profile_json);
	assert_non_null(strstr(text,
			       "{\"symbol\":\"[jit]\",\"file\":null,\"line\":null}],\"count\":3,\"instructions\":0,"
			       "\"memory_delta\":3,"));
	free(text);
	free(p);
}

static void names_reach_json_readers_as_data(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(payloads) / sizeof(payloads[0]); i++) {
		isc_profile *p = profile_new();
		isc_profile_sample s = {.tid = 7, .ns = 1000000};
		size_t len = payloads[i].len < 4000 ? payloads[i].len : 4000;
		yyjson_doc *doc;
		yyjson_val *stack;
		char *text;

		s.node = isc_profile_node(p, 0, profile_frame(p, payloads[i].text, len, "x.py", 7));
		isc_profile_count(p, &s);
		text = text_of(p, isc_profile_json);
		doc = yyjson_read(text, strlen(text), YYJSON_READ_NOFLAG);
		assert_non_null(doc);
		assert_int_equal(yyjson_obj_size(yyjson_doc_get_root(doc)), 4);
		stack = yyjson_arr_get_first(yyjson_obj_get(yyjson_doc_get_root(doc), "stacks"));
		assert_int_equal(yyjson_obj_size(stack), 5);
		assert_int_equal(yyjson_arr_size(yyjson_obj_get(stack, "frames")), 1);
		assert_int_equal(yyjson_obj_size(yyjson_arr_get_first(yyjson_obj_get(stack, "frames"))), 3);
		yyjson_doc_free(doc);
		free(text);
		text = text_of(p, isc_profile_summary);
		for (const char *c = text; *c != '\0'; c++)
			assert_true((unsigned char)*c >= 0x20 || *c == '\n');
		free(text);
		free(p);
	}
}

/* The program may have written over it. */
static void a_damaged_profile_is_written_all_the_same(void **state)
{
	isc_profile *p = profile_new();
	uint64_t random = 88172645463325252ull;
	char *text;

	(void)state;
	profile_count(p, "main;work;leaf", 7, 3);
	profile_count(p, "main;work", 7, 3);
	for (int i = 0; i < 200; i++) {
		char *bytes = (char *)p->stack;

		for (int k = 0; k < 2000; k++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			bytes[random % (sizeof(*p) - offsetof(isc_profile, stack))] = (char)(random >> 40);
		}
		text = text_of(p, i % 2 ? isc_profile_json : isc_profile_summary);
		free(text);
		if (i % 50 == 0) {
			free(p);
			p = profile_new();
			profile_count(p, "main;work;leaf", 7, 3);
		}
	}
	free(p);
}

/* A circle of parents ends. */
static void a_tree_that_bites_its_tail_ends(void **state)
{
	isc_profile *p = profile_new();
	uint32_t node = profile_node(p, "main");
	char *text;

	(void)state;
	profile_count(p, "main", 7, 1);
	p->node[node - 1] |= (uint64_t)node << 32;
	text = text_of(p, isc_profile_json);
	assert_true(strlen(text) < 100000);
	free(text);
	free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_json_is_as_promised),
		cmocka_unit_test(an_empty_profile_is_valid),
		cmocka_unit_test(what_is_not_known_is_null_and_has_a_reason),
		cmocka_unit_test(what_has_no_place_is_other_and_said),
		cmocka_unit_test(stacks_that_read_the_same_are_one),
		cmocka_unit_test(names_reach_json_readers_as_data),
		cmocka_unit_test(a_damaged_profile_is_written_all_the_same),
		cmocka_unit_test(a_tree_that_bites_its_tail_ends),
	};

	return cmocka_run_group_tests_name("profile_write", tests, NULL, NULL);
}
