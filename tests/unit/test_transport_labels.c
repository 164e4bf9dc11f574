/* transport: names that the program makes up are bounded, and what is folded keeps a name. */
#include "base/pattern.h"
#include "transport_process.h"

static void check_pattern(const char *text, const char *want)
{
	char got[ISC_PATTERN_MAX + 1] = {0};
	size_t n = isc_pattern_of(text, strlen(text), got);

	assert_true(n <= ISC_PATTERN_MAX);
	got[n] = '\0';
	assert_string_equal(got, want);
}

static void a_pattern_is_a_name_without_its_ids(void **state)
{
	char text[2000], got[ISC_PATTERN_MAX];

	(void)state;
	check_pattern("request-8231", "request-#");
	check_pattern("GET /v1/users/42/items", "GET /v#/users/#/items");
	check_pattern("job 3f9a2c11-4b1e-11ee-be56-0242ac120002 done", "job # done");
	check_pattern("trace 0000c0ffee00d00d", "trace #");
	check_pattern("session:x7Gk2pQ9", "session:#");
	check_pattern("layer12.attn", "layer#.attn");
	check_pattern("Thread-12 (worker)", "Thread-# (worker)");
	/* Words are no ids, nor are those that spell one. */
	check_pattern("prefill", "");
	check_pattern("deadbeef", "");
	check_pattern("h\xc3\xa4hnchen", "");
	check_pattern("", "");
	/* What is long is cut, and nothing is written behind the end. */
	memset(text, 'x', sizeof(text));
	text[3] = '7';
	assert_int_equal(isc_pattern_of(text, sizeof(text), got), ISC_PATTERN_MAX);
	memset(text, '7', sizeof(text));
	assert_int_equal(isc_pattern_of(text, sizeof(text), got), 1);
}

static uint32_t label(const char *format, unsigned i)
{
	char text[64];

	snprintf(text, sizeof(text), format, i);
	return isc_rt_label(text, strlen(text));
}

static void name_requests(void)
{
	uint32_t first, folded = 0;
	int status = -1;

	session.control->first_defs_bytes = session.control->max_defs_bytes;
	join();
	first = label("request-%u", 0);
	for (unsigned i = 0; i < 20000; i++) {
		uint32_t id = label("request-%u", i);

		HOLDS(id != 0);
		/* Two hundred keep to themselves, as layers of a model do; later ones are all the same. */
		HOLDS(i >= 200 || id == label("request-%u", i));
		HOLDS(i < 300 || folded == 0 || id == folded);
		folded = i >= 300 ? id : 0;
	}
	HOLDS(label("request-%u", 0) == first && folded != first);
	isc_write1(1, ISC_RECORD_WORD(folded, ISC_KIND_INSTANT, 0));
	HOLDS(label("layer.%u", 126) != label("layer.%u", 127));
	/* In a fork child all begins anew: its ids are its own. */
	if (fork() == 0) {
		HOLDS(label("request-%u", 7) != label("request-%u", 8));
		_exit(0);
	}
	HOLDS(wait(&status) > 0 && status == 0);
}

static void names_with_ids_fold_to_their_pattern(void **state)
{
	isc_def_folded last = {0};
	unsigned strings = 0;

	(void)state;
	assert_int_equal(in_child(name_requests), 0);
	transport_sink_drain(sink, session.folder, NULL);
	assert_string_equal(transport_sink_text(sink, 1, sink->event[0].id), "request-#");
	for (unsigned i = 0; i < sink->n_defs; i++) {
		if (sink->def_type[i] == ISC_DEF_FOLDED)
			memcpy(&last, sink->def_text[i], sizeof(last));
		else
			strings++;
	}
	assert_true(strings < 300);
	/* How many there were is known about. */
	assert_int_equal(last.name, sink->event[0].id);
	assert_in_range(last.count, 13000, 25000);
}

static void name_without_end(void)
{
	uint64_t tail;
	uint32_t id = 0;

	session.control->first_defs_bytes = session.control->max_defs_bytes;
	join();
	for (unsigned i = 0; i < 40000; i++) {
		char text[] = "user aaaaaaaa";

		for (unsigned k = 0, n = i; k < 8; k++, n /= 8)
			text[5 + k] = (char)('g' + n % 8);
		id = isc_rt_label(text, sizeof(text) - 1);
		HOLDS(id != 0);
	}
	isc_write1(1, ISC_RECORD_WORD(id, ISC_KIND_INSTANT, 0));
	tail = atomic_load(&isc_image_self.defs->tail);
	HOLDS(tail < (9u << 20));
}

static void names_without_ids_are_bounded_together(void **state)
{
	(void)state;
	assert_int_equal(in_child(name_without_end), 0);
	transport_sink_drain(sink, session.folder, NULL);
	assert_string_equal(transport_sink_text(sink, 1, sink->event[0].id), "(other names)");
}

static size_t make_code(char *to, const char *name, const char *file, unsigned i)
{
	isc_def_code *head = (isc_def_code *)(void *)to;

	*head = (isc_def_code){.line = 3, .name_len = (uint32_t)strlen(name)};
	memcpy(to + sizeof(*head), name, head->name_len);
	head->file_len = (uint32_t)sprintf(to + sizeof(*head) + head->name_len, file, i);
	return sizeof(*head) + head->name_len + head->file_len;
}

static void compile_for_hours(void)
{
	_Alignas(16) char code[256];
	uint32_t id = 0, last = 0;
	uint64_t tail;

	session.control->first_defs_bytes = session.control->max_defs_bytes;
	join();
	/* The same text is one definition, however many others there are between. */
	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < 60000; i++)
			HOLDS(isc_rt_code(code, make_code(code, "forward", "/app/module_%u.py", i)) != 0);
		if (round == 0)
			tail = atomic_load(&isc_image_self.defs->tail);
	}
	HOLDS(atomic_load(&isc_image_self.defs->tail) == tail);
	/* Code without a file folds. */
	for (unsigned i = 0; i < 2000; i++) {
		id = isc_rt_code(code, make_code(code, "forward", "<eval_with_key>.%u", i));
		HOLDS(id != 0 && (i < 300 || id == last));
		last = i >= 299 ? id : 0;
	}
}

static void code_that_is_made_again_and_again_is_one_function(void **state)
{
	(void)state;
	assert_int_equal(in_child(compile_for_hours), 0);
}

static void use_all_the_room(void)
{
	_Alignas(16) char code[256];
	static char text[1000];
	uint32_t name, function;

	memset(text, 'x', sizeof(text));
	join();
	while (isc_rt_define(ISC_DEF_STRING, text, sizeof(text)) != 0)
		;
	while (isc_rt_define(ISC_DEF_STRING, text, 1) != 0)
		;
	HOLDS(isc_rt_code(code, make_code(code, "late", "/app/late_%u.py", 1)) == 0);
	name = isc_rt_label("late", 4);
	function = isc_rt_rest(ISC_DEF_CODE);
	HOLDS(name != 0 && function != 0 && name == isc_rt_rest(ISC_DEF_STRING));
	HOLDS(isc_rt_is_rest(name) && isc_rt_is_rest(function) && !isc_rt_is_rest(0));
	isc_write1(1, ISC_RECORD_WORD(name, ISC_KIND_INSTANT, 0));
	isc_write1(2, ISC_RECORD_WORD(function, ISC_KIND_CALL_ENTER, 0));
	event();
}

static void without_room_there_is_still_a_name(void **state)
{
	isc_drain_stats stats;

	(void)state;
	assert_int_equal(in_child(use_all_the_room), 0);
	transport_sink_drain(sink, session.folder, &stats);
	assert_string_equal(transport_sink_text(sink, 1, sink->event[0].id), "(other names)");
	assert_memory_equal(transport_sink_text(sink, 1, sink->event[1].id) + sizeof(isc_def_code), "(other", 6);
	assert_true(stats.defs_lost > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pattern_is_a_name_without_its_ids),
		JOINED(names_with_ids_fold_to_their_pattern),
		JOINED(names_without_ids_are_bounded_together),
		JOINED(code_that_is_made_again_and_again_is_one_function),
		JOINED(without_room_there_is_still_a_name),
	};

	return cmocka_run_group_tests_name("transport labels", tests, NULL, NULL);
}
