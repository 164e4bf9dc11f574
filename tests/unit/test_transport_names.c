/* transport: names keep their ids, over threads and forks, and marks become records. */
#include <pthread.h>

#include "inferscope/mark.h"
#include "transport_process.h"

/* ---- names ------------------------------------------------------------ */

static void intern_many(void)
{
	static uint32_t ids[12000];
	char text[64];

	session.control->first_defs_bytes = session.control->max_defs_bytes;
	join();
	for (unsigned i = 0; i < 12000; i++) {
		snprintf(text, sizeof(text), "function %u", i);
		ids[i] = isc_rt_name(text, strlen(text));
		HOLDS(ids[i] != 0 && (i == 0 || ids[i] > ids[i - 1]));
		HOLDS(isc_rt_name(text, strlen(text)) == ids[i]);
		isc_write1(1, ISC_RECORD_WORD(ids[i], ISC_KIND_INSTANT, 0));
	}
	/* The cache holds most of them still. */
	for (unsigned i = 11000; i < 12000; i++) {
		snprintf(text, sizeof(text), "function %u", i);
		HOLDS(isc_rt_name(text, strlen(text)) != 0);
	}
	HOLDS(isc_rt_name("", 0) != 0);
	HOLDS(isc_rt_name("", 0) == isc_rt_name("", 0));
}

static void a_name_keeps_its_id_and_every_id_its_text(void **state)
{
	(void)state;
	assert_int_equal(in_child(intern_many), 0);
	transport_sink_drain(sink, session.folder, NULL);
	assert_true(sink->n_defs >= 12001);
	for (unsigned i = 0; i < 12000; i++) {
		char text[64];

		snprintf(text, sizeof(text), "function %u", i);
		if (i < sink->n_defs)
			assert_string_equal(sink->def_text[i], text);
	}
}

static void *intern_shared(void *arg)
{
	uint32_t *ids = arg;

	for (unsigned round = 0; round < 50; round++)
		for (unsigned i = 0; i < 100; i++) {
			char text[32];
			uint32_t id;

			snprintf(text, sizeof(text), "shared %u", i);
			id = isc_rt_name(text, strlen(text));
			if (ids[i] == 0)
				ids[i] = id;
			HOLDS(ids[i] == id);
		}
	return NULL;
}

static void intern_from_threads(void)
{
	static uint32_t ids[4][100];
	pthread_t threads[4];

	join();
	HOLDS(isc_image_open());
	for (unsigned k = 0; k < 4; k++)
		HOLDS(pthread_create(&threads[k], NULL, intern_shared, ids[k]) == 0);
	for (unsigned k = 0; k < 4; k++)
		pthread_join(threads[k], NULL);
	for (unsigned k = 1; k < 4; k++)
		HOLDS(memcmp(ids[0], ids[k], sizeof(ids[0])) == 0);
}

static void threads_agree_on_the_id_of_a_name(void **state)
{
	(void)state;
	assert_int_equal(in_child(intern_from_threads), 0);
}

static void fill_definitions(void)
{
	uint64_t backed;
	char text[32];

	join();
	HOLDS(isc_image_open());
	backed = atomic_load(&isc_image_self.defs->backed);
	for (unsigned i = 0; isc_defs_roomy(); i++) {
		snprintf(text, sizeof(text), "sampled %u", i);
		HOLDS(isc_rt_name(text, strlen(text)) != 0);
	}
	HOLDS(atomic_load(&isc_image_self.defs->tail) >= backed - backed / 4);
	/* What happens once has the rest. */
	HOLDS(atomic_load(&isc_image_self.defs->tail) < backed - backed / 8);
	HOLDS(isc_rt_name("called", 6) != 0);
	/* A fork child's own file is a quarter as large. */
	if (fork() == 0) {
		HOLDS(isc_defs_roomy());
		HOLDS(atomic_load(&isc_image_self.defs->backed) <= (backed / 4 > 4096 ? backed / 4 : 4096));
		_exit(0);
	}
	HOLDS(wait(&(int){0}) > 0);
}

static void the_last_of_the_room_is_for_what_happens_once(void **state)
{
	(void)state;
	assert_int_equal(in_child(fill_definitions), 0);
}

static void use_names_across_forks(void)
{
	uint32_t id = 0, again;
	int status;
	pid_t child;

	join();
	id = isc_rt_name("before the fork", 15);
	HOLDS(id != 0);
	isc_write1(1, ISC_RECORD_WORD(id, ISC_KIND_SCOPE_ENTER, 0));
	child = fork();
	if (child == 0) {
		isc_write1(2, ISC_RECORD_WORD(id, ISC_KIND_SCOPE_EXIT, 0));
		again = isc_rt_name("before the fork", 15);
		HOLDS(again > id); /* its own place, behind the parent's */
		HOLDS(isc_rt_name("before the fork", 15) == again);
		isc_write1(3, ISC_RECORD_WORD(again, ISC_KIND_INSTANT, 0));
		/* A grandchild by two forks, of which the first writes nothing. */
		if (fork() == 0) {
			if (fork() == 0) {
				isc_write1(4, ISC_RECORD_WORD(id, ISC_KIND_INSTANT, 0));
				isc_write1(5, ISC_RECORD_WORD(again, ISC_KIND_INSTANT, 0));
				_exit(0);
			}
			wait(NULL);
			_exit(0);
		}
		wait(NULL);
		_exit(0);
	}
	waitpid(child, &status, 0);
	HOLDS(status == 0);
}

static void ids_from_before_a_fork_stay_true_in_the_child(void **state)
{
	uint32_t id, again;

	(void)state;
	assert_int_equal(in_child(use_names_across_forks), 0);
	transport_sink_drain(sink, session.folder, NULL);
	assert_int_equal(sink->pools, 3);
	assert_int_equal(sink->events, 5);
	/* Pools come oldest first: parent, child, grandchild. */
	assert_int_equal(sink->header[0].parent_gen, 0);
	assert_int_equal(sink->header[0].defs_base, 0);
	assert_int_equal(sink->header[1].parent_gen, sink->header[0].gen);
	assert_int_equal(sink->header[2].parent_gen, sink->header[1].gen);
	id = sink->event[0].id;
	again = sink->event[2].id;
	assert_string_equal(transport_sink_text(sink, 1, id), "before the fork");
	assert_string_equal(transport_sink_text(sink, 2, again), "before the fork");
	assert_int_equal(sink->event[1].id, id);
	assert_true(id < sink->header[1].defs_base);
	assert_true(again >= sink->header[1].defs_base);
	assert_int_equal(sink->event[3].id, id);
	assert_true(again < sink->header[2].defs_base);
	assert_int_equal(sink->event[4].id, again);
}

static void fill_the_definitions(void)
{
	char text[1000];

	memset(text, 'x', sizeof(text));
	join();
	for (unsigned i = 0; i < 200; i++)
		(void)isc_rt_define(ISC_DEF_STRING, text, sizeof(text));
	HOLDS(isc_rt_define(ISC_DEF_STRING, text, sizeof(text)) == 0);
	HOLDS(atomic_load(&isc_image_self.defs->lost) > 0);
	event();
}

static void a_definition_without_room_is_counted(void **state)
{
	isc_drain_stats stats;

	(void)state;
	assert_int_equal(in_child(fill_the_definitions), 0);
	transport_sink_drain(sink, session.folder, &stats);
	assert_int_equal(sink->n_defs + stats.defs_lost, 201);
	assert_int_equal(sink->events, 1);
}

/* ---- marks ------------------------------------------------------------ */

static void mark_everything(void)
{
	static char long_json[5000];
	const isc_mark_api *api = isc_rt_mark_api(ISC_MARK_API_VERSION);
	uint32_t scope;

	HOLDS(isc_rt_mark_api(ISC_MARK_API_VERSION + 1) == NULL);
	HOLDS(api->scope_enter("outside") == 0);
	api->scope_exit(9);
	api->instant("outside", NULL);
	join();
	HOLDS(api->active());
	scope = api->scope_enter("request");
	HOLDS(scope != 0);
	api->instant("plain", NULL);
	api->instant("token", "{\"n\": 12}");
	api->counter("depth", 2.5);
	memset(long_json, 'a', sizeof(long_json) - 1);
	api->instant("long", long_json);
	long_json[ISC_RECORD_TEXT_MAX] = '\0';
	api->instant("longest", long_json);
	api->thread_name("worker");
	api->scope_exit(scope);
	/* Rubbish in, nothing out that harms. */
	api->instant(NULL, NULL);
}

static void marks_become_the_records_they_should(void **state)
{
	const isc_record *r = sink->event;
	uint32_t len;
	double value;

	(void)state;
	assert_int_equal(in_child(mark_everything), 0);
	transport_sink_drain(sink, session.folder, NULL);
	assert_int_equal(sink->events, 9);
	assert_int_equal(r[0].kind, ISC_KIND_SCOPE_ENTER);
	assert_string_equal(transport_sink_text(sink, 1, r[0].id), "request");
	assert_int_equal(r[1].kind, ISC_KIND_INSTANT);
	assert_int_equal(r[1].slots, 1);
	assert_int_equal(r[2].slots, 2);
	memcpy(&len, &r[3], 4);
	assert_int_equal(len, 9);
	assert_memory_equal((const char *)&r[3] + 4, "{\"n\": 12}\0\0\0", 12);
	assert_int_equal(r[4].kind, ISC_KIND_COUNTER);
	memcpy(&value, &r[5], sizeof(value));
	assert_true(value == 2.5);
	assert_int_equal(r[6].slots, 1); /* what is too long is left out */
	assert_int_equal(r[6].arg, 1);
	assert_int_equal(r[7].slots, 255);
	memcpy(&len, &r[8], 4);
	assert_int_equal(len, ISC_RECORD_TEXT_MAX);
	assert_int_equal(r[262].kind, ISC_KIND_THREAD_NAME);
	assert_int_equal(r[263].kind, ISC_KIND_SCOPE_EXIT);
	assert_int_equal(r[263].id, r[0].id);
	assert_int_equal(r[264].id, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		JOINED(a_name_keeps_its_id_and_every_id_its_text),
		JOINED(threads_agree_on_the_id_of_a_name),
		JOINED(ids_from_before_a_fork_stay_true_in_the_child),
		JOINED(a_definition_without_room_is_counted),
		JOINED(marks_become_the_records_they_should),
		JOINED(the_last_of_the_room_is_for_what_happens_once),
	};

	return cmocka_run_group_tests_name("transport names", tests, NULL, NULL);
}
