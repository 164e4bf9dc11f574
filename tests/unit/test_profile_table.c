/* profile_table: a prefix tree that many threads add to, and that ends somewhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>

#include "profile_tree.h"

#define THREADS 4
#define ROUNDS 20000

static void stacks_share_what_they_have_in_common(void **state)
{
	isc_profile *p = profile_new();
	uint32_t leaf = profile_node(p, "main;work;leaf"), other = profile_node(p, "main;work;other");

	(void)state;
	assert_int_not_equal(leaf, other);
	assert_int_equal(leaf, profile_node(p, "main;work;leaf"));
	assert_int_equal(p->nodes, 4);
	assert_int_equal(p->frames, 4);
	assert_int_equal((uint32_t)(p->node[leaf - 1] >> 32), (uint32_t)(p->node[other - 1] >> 32));
	free(p);
}

static void a_stack_is_counted_by_thread(void **state)
{
	isc_profile *p = profile_new();
	uint64_t ns = 0;

	(void)state;
	profile_count(p, "main;work", 7, 3);
	profile_count(p, "main;work", 7, 4);
	profile_count(p, "main;work", 8, 1);
	assert_int_equal(p->stacks, 2);
	assert_int_equal(p->samples, 3);
	assert_int_equal(p->total_ns, 8000000);
	for (uint32_t i = 0; i < ISC_PROFILE_STACKS; i++)
		ns += p->stack[i].key == ((uint64_t)profile_node(p, "main;work") << 32 | 7) ? p->stack[i].ns : 0;
	assert_int_equal(ns, 7000000);
	free(p);
}

/* Every stack beyond the ten thousandth is there, under "(other)" of its thread. */
static void the_stack_after_ten_thousand_is_other(void **state)
{
	isc_profile *p = profile_new();
	uint32_t root = profile_frame(p, "root", 4, "x.py", 1);
	uint64_t ns = 0, other = 0;

	(void)state;
	for (uint32_t i = 0; i < 12000; i++) {
		uint32_t node = isc_profile_node(p, isc_profile_node(p, 0, root), 1 + i % 500);
		isc_profile_sample s = {.node = isc_profile_node(p, node, 1 + i / 500), .tid = 1 + i % 2, .ns = 1};

		assert_int_not_equal(s.node, 0);
		isc_profile_count(p, &s);
	}
	assert_int_equal(p->stacks, ISC_PROFILE_STACKS_MAX);
	assert_int_equal(p->other_ns, 2000);
	for (uint32_t i = 0; i < ISC_PROFILE_STACKS; i++) {
		ns += p->stack[i].ns;
		if (p->stack[i].key >> 32 == ISC_PROFILE_OTHER) {
			assert_int_equal(p->stack[i].ns, 1000);
			other++;
		}
	}
	assert_int_equal(ns, 12000);
	assert_int_equal(other, 2);
	assert_int_equal(p->unplaced_ns, 0);
	free(p);
}

static void a_full_tree_gives_no_more_nodes_and_loses_none(void **state)
{
	isc_profile *p = profile_new();
	uint32_t given = 0, refused = 0;

	(void)state;
	for (uint32_t i = 0; i < ISC_PROFILE_NODES + 1000; i++) {
		if (isc_profile_node(p, i / 64, 1 + i % 16000) != 0)
			given++;
		else
			refused++;
	}
	assert_true(refused > 0 && given == p->nodes);
	assert_true(given > ISC_PROFILE_NODES / 2 && given <= ISC_PROFILE_NODES / 4 * 3);
	assert_int_not_equal(isc_profile_node(p, 0, 1), 0);
	free(p);
}

static void more_threads_than_entries_lose_nothing(void **state)
{
	isc_profile *p = profile_new();
	isc_profile_sample s = {.node = 0, .ns = 1};

	(void)state;
	for (uint32_t i = 0; i < ISC_PROFILE_STACKS + 100; i++) {
		s.tid = 1 + i;
		isc_profile_count(p, &s);
	}
	assert_int_equal(p->total_ns, ISC_PROFILE_STACKS + 100);
	assert_int_equal(p->other_ns, ISC_PROFILE_STACKS + 100);
	assert_int_equal(p->unplaced_ns, 100);
	free(p);
}

static void text_ends_where_its_room_ends(void **state)
{
	static char block[4096];
	isc_profile *p = profile_new();
	uint32_t last = 0, n = 0, at;

	(void)state;
	while ((at = isc_profile_keep(p, block, sizeof(block))) != 0) {
		assert_true(at >= last + (n > 0 ? sizeof(block) : 1));
		assert_true(at + sizeof(block) <= ISC_PROFILE_TEXT_BYTES);
		last = at;
		n++;
	}
	assert_int_equal(n, ISC_PROFILE_TEXT_BYTES / sizeof(block) - 1);
	assert_int_not_equal(isc_profile_keep(p, block, 8), 0);
	free(p);
}

static void a_frame_is_filled_by_one(void **state)
{
	isc_profile *p = profile_new();
	bool first, second, third;
	uint32_t id = isc_profile_frame_of(p, 99, &first);

	(void)state;
	assert_int_equal(isc_profile_frame_of(p, 99, &second), id);
	isc_profile_frame_filled(p, id, false);
	assert_int_equal(isc_profile_frame_of(p, 99, &third), id);
	assert_true(first && !second && third);
	free(p);
}

struct race {
	isc_profile *p;
	uint32_t tid;
	uint32_t node[64];
};

static void *add(void *argument)
{
	struct race *r = argument;

	for (uint32_t i = 0; i < ROUNDS; i++) {
		uint32_t node = 0;
		isc_profile_sample s = {.tid = r->tid, .ns = 1, .counted = 2, .memory = -3};

		for (uint32_t depth = 0; depth < 6; depth++)
			node = isc_profile_node(r->p, node, 1 + (i % 64 >> depth));
		r->node[i % 64] = s.node = node;
		isc_profile_count(r->p, &s);
	}
	return NULL;
}

static void threads_that_add_at_once_agree(void **state)
{
	isc_profile *p = profile_new();
	struct race race[THREADS];
	pthread_t thread[THREADS];
	uint64_t ns = 0, counted = 0;
	int64_t memory = 0;

	(void)state;
	for (uint32_t i = 0; i < THREADS; i++) {
		race[i] = (struct race){.p = p, .tid = i + 1};
		assert_int_equal(pthread_create(&thread[i], NULL, add, &race[i]), 0);
	}
	for (uint32_t i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	for (uint32_t i = 1; i < THREADS; i++)
		assert_memory_equal(race[i].node, race[0].node, sizeof(race[0].node));
	for (uint32_t i = 0; i < ISC_PROFILE_STACKS; i++) {
		ns += p->stack[i].ns;
		counted += p->stack[i].counted;
		memory += p->stack[i].memory;
	}
	assert_int_equal(ns, THREADS * ROUNDS);
	assert_int_equal(counted, 2 * THREADS * ROUNDS);
	assert_int_equal(memory, -3 * THREADS * ROUNDS);
	assert_int_equal(p->stacks, THREADS * 64);
	free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks_share_what_they_have_in_common),
		cmocka_unit_test(a_stack_is_counted_by_thread),
		cmocka_unit_test(the_stack_after_ten_thousand_is_other),
		cmocka_unit_test(a_full_tree_gives_no_more_nodes_and_loses_none),
		cmocka_unit_test(more_threads_than_entries_lose_nothing),
		cmocka_unit_test(text_ends_where_its_room_ends),
		cmocka_unit_test(a_frame_is_filled_by_one),
		cmocka_unit_test(threads_that_add_at_once_agree),
	};

	return cmocka_run_group_tests_name("profile_table", tests, NULL, NULL);
}
