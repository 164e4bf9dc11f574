/* Addresses that are looked at: found until they are taken out, by any thread, and never another's. */
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "collect/memory/memory.h"

#define EACH 2000u
#define THREADS 4u

static isc_memory_set set;

static void *address(uint64_t n)
{
	return (void *)(uintptr_t)(0x7f0000000000ull + n * 48);
}

static void what_was_put_in_comes_out_once(void **state)
{
	isc_memory_item item = {.bytes = 7, .mean = 5, .stack = 3, .call = ISC_MEMORY_MALLOC}, out;

	(void)state;
	assert_false(isc_memory_watched(address(1)));
	assert_false(isc_memory_set_take(&set, address(1), &out));
	assert_true(isc_memory_set_add(&set, address(1), &item));
	assert_true(isc_memory_watched(address(1)));
	assert_true(isc_memory_set_take(&set, address(1), &out));
	assert_int_equal(out.bytes, 7);
	assert_int_equal(out.stack, 3);
	assert_false(isc_memory_set_take(&set, address(1), &out));
	assert_false(isc_memory_watched(address(1)));
}

static void a_full_set_says_so_and_keeps_what_it_has(void **state)
{
	isc_memory_item item = {0}, out;
	uint64_t in = 0, found = 0;
	static bool had[3 * ISC_MEMORY_SET];

	(void)state;
	for (uint64_t i = 0; i < 3 * ISC_MEMORY_SET; i++) {
		item.bytes = i;
		had[i] = isc_memory_set_add(&set, address(i), &item);
		in += had[i];
	}
	/* Two buckets of eight for each: it is nearly full before one finds no place. */
	assert_true(in > ISC_MEMORY_SET * 9 / 10);
	assert_true(in <= ISC_MEMORY_SET);
	for (uint64_t i = 0; i < 3 * ISC_MEMORY_SET; i++) {
		bool there = isc_memory_set_take(&set, address(i), &out);

		assert_int_equal(there, had[i]);
		if (there)
			assert_int_equal(out.bytes, i);
		found += there;
	}
	assert_int_equal(found, in);
	assert_int_equal(atomic_load(&set.count), 0);
}

static void *storm(void *arg)
{
	uint64_t base = (uint64_t)(uintptr_t)arg * 1000000;
	isc_memory_item item = {0}, out;

	for (unsigned round = 0; round < 50; round++) {
		for (uint64_t i = 0; i < EACH; i++) {
			item.bytes = base + i;
			if (!isc_memory_set_add(&set, address(base + i), &item))
				return (void *)1;
		}
		for (uint64_t i = 0; i < EACH; i++)
			if (!isc_memory_set_take(&set, address(base + i), &out) || out.bytes != base + i)
				return (void *)2;
	}
	return NULL;
}

static void threads_do_not_lose_each_others(void **state)
{
	pthread_t id[THREADS];
	void *result;

	(void)state;
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&id[i], NULL, storm, (void *)(i + 1)), 0);
	for (unsigned i = 0; i < THREADS; i++) {
		pthread_join(id[i], &result);
		assert_null(result);
	}
	assert_int_equal(atomic_load(&set.count), 0);
	for (uint64_t i = 0; i < EACH; i++)
		assert_false(isc_memory_set_take(&set, address(1000000 + i), &(isc_memory_item){0}));
}

static void a_cleared_set_has_none(void **state)
{
	isc_memory_item item = {.bytes = 7}, out;

	(void)state;
	for (uint64_t i = 0; i < EACH; i++)
		assert_true(isc_memory_set_add(&set, address(i), &item));
	isc_memory_set_clear(&set);
	assert_int_equal(set.count, 0);
	for (uint64_t i = 0; i < EACH; i++) {
		assert_false(isc_memory_watched(address(i)));
		assert_false(isc_memory_set_take(&set, address(i), &out));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_put_in_comes_out_once),
		cmocka_unit_test(a_full_set_says_so_and_keeps_what_it_has),
		cmocka_unit_test(a_cleared_set_has_none),
		cmocka_unit_test(threads_do_not_lose_each_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
