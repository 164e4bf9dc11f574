/* lanes: however much happens, so many pieces and no more; what is put together still adds up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/picture/lanes.h"

#define MOST 1000u

static isc_lane_piece piece(uint64_t start, uint64_t end, uint32_t name)
{
	return (isc_lane_piece){.start_ns = start, .end_ns = end, .name = name, .launch_ns = UINT64_MAX};
}

static isc_lane *lane_of(isc_lanes *l, uint64_t key)
{
	return isc_lanes_lane(l, key, &(isc_lane){.kind = ISC_LANE_THREAD, .number = key});
}

static uint64_t busy(const isc_lane_row *row, uint64_t *count)
{
	uint64_t sum = 0;

	*count = 0;
	for (size_t i = 0; i < row->count; i++) {
		sum += row->piece[i].busy_ns;
		*count += row->piece[i].count;
		assert_true(row->piece[i].start_ns <= row->piece[i].end_ns);
		assert_true(row->piece[i].busy_ns <= row->piece[i].end_ns - row->piece[i].start_ns);
		if (i > 0)
			assert_true(row->piece[i - 1].end_ns <= row->piece[i].start_ns);
	}
	return sum;
}

static void a_million_pieces_fit_and_add_up(void **state)
{
	isc_arena *arena = isc_arena_new();
	isc_lanes *l = isc_lanes_new(arena, MOST);
	isc_lane *lane = lane_of(l, 1);
	uint64_t count;

	(void)state;
	for (uint64_t i = 0; i < 1000000; i++) {
		isc_lane_piece p = piece(i * 1000, i * 1000 + 400, (uint32_t)(i % 3));

		isc_lanes_add(l, lane, ISC_ROW_CALL, 0, &p);
	}
	assert_false(l->failed);
	assert_true(l->pieces <= MOST && l->pieces >= MOST / 8);
	assert_int_equal(l->pieces, lane->rows[0].count);
	assert_int_equal(busy(&lane->rows[0], &count), 400000000);
	assert_int_equal(count, 1000000);
	assert_int_equal(l->events, 1000000);
	isc_lanes_free(l);
	isc_arena_free(arena);
}

static void what_is_longer_than_the_grain_stays_as_it_was(void **state)
{
	isc_arena *arena = isc_arena_new();
	isc_lanes *l = isc_lanes_new(arena, MOST);
	isc_lane *lane = lane_of(l, 1);
	size_t whole = 0;

	(void)state;
	for (uint64_t i = 0; i < 200000; i++) {
		bool is_long = i % 10000 == 5000;
		isc_lane_piece p = piece(i * 1000000, i * 1000000 + (is_long ? 900000000 : 300), is_long ? 7 : 1);

		if (i > 5000 && i % 10000 > 5000 && i % 10000 < 6000)
			continue;
		isc_lanes_add(l, lane, ISC_ROW_CALL, 0, &p);
	}
	assert_true(l->grain_ns > 1000000 && l->grain_ns < 900000000);
	for (size_t i = 0; i < lane->rows[0].count; i++) {
		const isc_lane_piece *p = &lane->rows[0].piece[i];

		if (p->name == 7 && p->count == 1 && p->end_ns - p->start_ns == 900000000)
			whole++;
	}
	assert_int_equal(whole, 20);
	isc_lanes_free(l);
	isc_arena_free(arena);
}

static void stretches_that_are_asked_for_stay_fine(void **state)
{
	isc_arena *arena = isc_arena_new();
	isc_lanes *l = isc_lanes_new(arena, MOST);
	isc_lane *lane = lane_of(l, 1);
	size_t single = 0;

	(void)state;
	isc_lanes_keep(l, 50000000, 50100000);
	for (uint64_t i = 0; i < 100000; i++) {
		isc_lane_piece p = piece(i * 1000, i * 1000 + 400, 1);

		isc_lanes_add(l, lane, ISC_ROW_CALL, 0, &p);
	}
	for (size_t i = 0; i < lane->rows[0].count; i++) {
		const isc_lane_piece *p = &lane->rows[0].piece[i];

		single += p->count == 1 && p->start_ns > 50000000 && p->start_ns < 50100000;
	}
	assert_int_equal(single, 99);
	assert_true(l->grain_ns > 10000);
	isc_lanes_free(l);
	isc_arena_free(arena);
}

/* Even when all of it is asked for. */
static void a_stretch_that_is_too_much_gives_way(void **state)
{
	isc_arena *arena = isc_arena_new();
	isc_lanes *l = isc_lanes_new(arena, MOST);
	isc_lane *lane = lane_of(l, 1);
	uint64_t count;

	(void)state;
	isc_lanes_keep(l, 0, UINT64_MAX);
	for (uint64_t i = 0; i < 100000; i++) {
		isc_lane_piece p = piece(i * 1000, i * 1000 + 400, 1);

		isc_lanes_add(l, lane, ISC_ROW_CALL, 0, &p);
	}
	assert_true(l->pieces <= MOST);
	assert_int_equal(busy(&lane->rows[0], &count), 40000000);
	assert_int_equal(count, 100000);
	isc_lanes_free(l);
	isc_arena_free(arena);
}

static void the_longest_gives_its_name(void **state)
{
	isc_arena *arena = isc_arena_new();
	isc_lanes *l = isc_lanes_new(arena, 4);
	isc_lane *lane = lane_of(l, 1);

	(void)state;
	for (uint64_t i = 0; i < 64; i++) {
		isc_lane_piece p = piece(i * 1000, i * 1000 + (i % 4 == 2 ? 900 : 100), (uint32_t)(i % 4));

		isc_lanes_add(l, lane, ISC_ROW_CALL, 0, &p);
	}
	for (size_t i = 0; i < lane->rows[0].count; i++) {
		if (lane->rows[0].piece[i].count > 3)
			assert_int_equal(lane->rows[0].piece[i].name, 2);
	}
	isc_lanes_free(l);
	isc_arena_free(arena);
}

static void what_overlaps_or_goes_too_deep_is_counted(void **state)
{
	isc_arena *arena = isc_arena_new();
	isc_lanes *l = isc_lanes_new(arena, MOST);
	isc_lane *lane = lane_of(l, 1);
	isc_lane_piece p = piece(1000, 2000, 1), inside = piece(1200, 1800, 1), across = piece(1500, 2500, 1);

	(void)state;
	isc_lanes_add(l, lane, ISC_ROW_CALL, 0, &p);
	isc_lanes_add(l, lane, ISC_ROW_CALL, 0, &inside);
	isc_lanes_add(l, lane, ISC_ROW_CALL, 0, &across);
	isc_lanes_add(l, lane, ISC_ROW_CALL, ISC_LANES_DEEPEST, &p);
	isc_lanes_add(l, NULL, ISC_ROW_CALL, 0, &p);
	assert_int_equal(lane->rows[0].count, 2);
	assert_int_equal(lane->rows[0].piece[1].start_ns, 2000);
	assert_int_equal(l->left_out, 3);
	for (uint64_t i = 0; i < ISC_LANES_MOST + 5; i++)
		lane_of(l, i);
	assert_int_equal(l->lane_count, ISC_LANES_MOST);
	assert_null(lane_of(l, 1u << 20));
	isc_lanes_free(l);
	isc_arena_free(arena);
}

static void names_are_kept_once(void **state)
{
	isc_arena *arena = isc_arena_new();
	isc_lanes *l = isc_lanes_new(arena, MOST);
	char text[] = "forward";
	isc_piece_name a = {.name = {text, 7}, .file = {"m.py", 4}, .line = 3}, b = a;

	(void)state;
	b.line = 4;
	assert_int_equal(isc_lanes_name(l, &a), 0);
	assert_int_equal(isc_lanes_name(l, &b), 1);
	text[0] = 'x';
	a.name.at = "forward";
	assert_int_equal(isc_lanes_name(l, &a), 0);
	assert_memory_equal(l->names[0].name.at, "forward", 7);
	assert_memory_equal(l->names[1].file.at, "m.py", 4);
	isc_lanes_free(l);
	isc_arena_free(arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_million_pieces_fit_and_add_up),
		cmocka_unit_test(what_is_longer_than_the_grain_stays_as_it_was),
		cmocka_unit_test(stretches_that_are_asked_for_stay_fine),
		cmocka_unit_test(a_stretch_that_is_too_much_gives_way),
		cmocka_unit_test(the_longest_gives_its_name),
		cmocka_unit_test(what_overlaps_or_goes_too_deep_is_counted),
		cmocka_unit_test(names_are_kept_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
