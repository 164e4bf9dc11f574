/* totals: running totals and the histograms in them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/histogram.h"
#include "base/syscall.h"
#include "sample_trace.h"
#include "trace/totals/totals.h"
#include "trace/totals/totals_lane.h"

static void a_percentile_is_within_one_percent_of_the_number_itself(void **state)
{
	uint64_t seed = 7;

	(void)state;
	for (int bits = 1; bits <= 64; bits++) {
		for (int i = 0; i < 200; i++) {
			uint64_t v = sample_draw(&seed) >> (64 - bits), at;
			isc_histogram h = {0};

			assert_true(isc_histogram_add(&h, v));
			/* Two more far away, so that the ends do not help. */
			assert_true(isc_histogram_add(&h, 0));
			assert_true(isc_histogram_add(&h, UINT64_MAX));
			at = isc_histogram_percentile(&h, 0.5);
			assert_true((at > v ? at - v : v - at) <= v / 100);
			isc_histogram_fini(&h);
		}
	}
}

static void percentiles_of_a_known_row_come_out_right(void **state)
{
	isc_histogram h = {0};

	(void)state;
	assert_int_equal(isc_histogram_percentile(&h, 0.5), 0);
	for (uint64_t v = 1; v <= 100000; v++)
		assert_true(isc_histogram_add(&h, v));
	assert_int_equal(h.count, 100000);
	for (int p = 1; p < 100; p++) {
		uint64_t at = isc_histogram_percentile(&h, p / 100.0), want = (uint64_t)p * 1000;

		assert_true((at > want ? at - want : want - at) <= want / 100);
	}
	assert_int_equal(isc_histogram_percentile(&h, 0), 1);
	assert_int_equal(isc_histogram_percentile(&h, 1), 100000);
	/* 100,000 numbers in 17 rows of 512 bytes. */
	assert_true(__builtin_popcountll(h.octaves) <= 17);
	isc_histogram_fini(&h);
}

static void histograms_survive_merging_and_bytes(void **state)
{
	isc_histogram a = {0}, b = {0}, both = {0}, back;
	isc_buffer bytes = {0}, again = {0};
	uint64_t seed = 3;
	const uint8_t *at, *end;

	(void)state;
	for (int i = 0; i < 5000; i++) {
		uint64_t v = sample_draw(&seed) >> (i % 60);

		assert_true(isc_histogram_add(i % 2 ? &a : &b, v));
		assert_true(isc_histogram_add(&both, v));
	}
	assert_true(isc_histogram_merge(&a, &b));
	isc_histogram_write(&a, &bytes);
	isc_histogram_write(&both, &again);
	assert_int_equal(bytes.len, again.len);
	assert_memory_equal(bytes.data, again.data, bytes.len);
	at = (const uint8_t *)bytes.data;
	end = at + bytes.len;
	assert_true(isc_histogram_read(&back, &at, end));
	assert_ptr_equal(at, end);
	assert_int_equal(back.count, 5000);
	assert_int_equal(back.min, both.min);
	assert_int_equal(back.buckets, both.buckets);
	isc_histogram_fini(&back);
	for (size_t cut = 0; cut < bytes.len; cut++) {
		at = (const uint8_t *)bytes.data;
		assert_false(isc_histogram_read(&back, &at, at + cut));
		assert_null(back.rows);
	}
	isc_histogram_fini(&a);
	isc_histogram_fini(&b);
	isc_histogram_fini(&both);
	isc_buffer_fini(&bytes);
	isc_buffer_fini(&again);
}

static void feed(isc_totals *t, uint32_t thread, uint64_t ticks, uint8_t kind, uint32_t id, uint16_t arg)
{
	isc_record r = {ticks, id, kind, 1, arg};

	assert_int_equal(isc_totals_feed(t, 1, thread, 0, &r, NULL, 0, NULL), ISC_OK);
}

static void say_memory(isc_totals *t, uint32_t process, uint32_t thread, uint64_t taken, uint64_t given)
{
	isc_record r = {100, 0, ISC_KIND_MEMORY_TOTAL, 5, ISC_MEMORY_NOW};
	isc_memory_total total = {.calls = taken, .frees = given};

	assert_int_equal(isc_totals_feed(t, process, thread, 0, &r, &total, sizeof(total), NULL), ISC_OK);
}

static void use_cpu(isc_totals *t, uint32_t process, uint32_t thread, uint16_t ms)
{
	isc_record r = {100, 7, ISC_KIND_SAMPLE, 2, ms};
	isc_sample body = {.period_ns = 1000000};

	assert_int_equal(isc_totals_feed(t, process, thread, 0, &r, &body, sizeof(body), NULL), ISC_OK);
}

static void processes_at_work_at_once_are_told_by_their_samples(void **state)
{
	const uint64_t second_ns = 1000000000;
	isc_totals *t;

	(void)state;
	assert_int_equal(isc_totals_new(&t, NULL), ISC_OK);
	assert_float_equal(isc_totals_at_once(t, second_ns), 1, 0);
	use_cpu(t, 1, 1, 100);
	assert_float_equal(isc_totals_at_once(t, second_ns), 1, 0);
	/* Threads of one process are one at most. */
	use_cpu(t, 2, 2, 900);
	use_cpu(t, 2, 3, 800);
	assert_float_equal(isc_totals_at_once(t, second_ns), 1.1, 1e-9);
	use_cpu(t, 3, 4, 400);
	use_cpu(t, 3, 4, 500);
	assert_float_equal(isc_totals_at_once(t, second_ns), 2, 1e-9);
	assert_float_equal(isc_totals_at_once(t, 0), 1, 0);
	isc_totals_free(t);
}

/* Each process says it for all its threads, and late ones say less. */
static void hooks_cost_by_how_often_they_were_passed(void **state)
{
	isc_record r = {100, 0, ISC_KIND_SYSCALLS, 3, 1};
	isc_syscall_sum sum = {.count = 40};
	isc_totals_cost cost;
	isc_totals *t;

	(void)state;
	assert_int_equal(isc_totals_new(&t, NULL), ISC_OK);
	say_memory(t, 1, 1, 100, 50);
	say_memory(t, 1, 2, 300, 200);
	say_memory(t, 1, 1, 200, 100);
	say_memory(t, 2, 3, 10, 0);
	feed(t, 1, 110, ISC_KIND_MEMORY_ALLOC, 0, ISC_MEMORY_MALLOC);
	for (int i = 0; i < 2; i++)
		assert_int_equal(isc_totals_feed(t, 1, 1, 0, &r, &sum, sizeof(sum), NULL), ISC_OK);
	cost = isc_totals_calls_cost(t);
	assert_int_equal(cost.allocations, 510);
	assert_int_equal(cost.looked_at, 1);
	assert_int_equal(cost.syscalls, 80);
	isc_totals_free(t);
}

static void scopes_nest_and_cross_and_lose_their_partners(void **state)
{
	const isc_total_scope *s;
	isc_totals *t;

	(void)state;
	assert_int_equal(isc_totals_new(&t, NULL), ISC_OK);
	feed(t, 1, 100, ISC_KIND_SCOPE_ENTER, 5, 0);
	feed(t, 1, 110, ISC_KIND_SCOPE_ENTER, 6, 0);
	feed(t, 2, 111, ISC_KIND_SCOPE_EXIT, 6, 0); /* another thread's: not its partner */
	feed(t, 1, 120, ISC_KIND_SCOPE_EXIT, 6, 0);
	feed(t, 1, 130, ISC_KIND_SCOPE_ENTER, 6, 1);
	feed(t, 1, 140, ISC_KIND_SCOPE_EXIT, 5, 0); /* crosses the open 6 */
	feed(t, 1, 170, ISC_KIND_SCOPE_EXIT, 6, 1);
	feed(t, 1, 180, ISC_KIND_SCOPE_ENTER, 5, 0);
	s = isc_totals_scope_at(t, 0);
	assert_int_equal(s->name, 5);
	assert_int_equal(s->count, 1);
	assert_int_equal(s->open, 1);
	assert_int_equal(s->total_ticks, 40);
	s = isc_totals_scope_at(t, 1);
	assert_int_equal(s->count, 2);
	assert_int_equal(s->open, 0);
	assert_int_equal(s->unmatched, 1);
	assert_int_equal(s->min_ticks, 10);
	assert_int_equal(s->max_ticks, 40);
	assert_null(isc_totals_scope_at(t, 2));
	assert_int_equal(isc_totals_thread_at(t, 0)->events, 7);
	assert_int_equal(isc_totals_thread_at(t, 0)->first_ticks, 100);
	assert_int_equal(isc_totals_thread_at(t, 0)->last_ticks, 180);
	isc_totals_free(t);
}

static void counters_ignore_what_is_no_number(void **state)
{
	const double values[] = {3, -1.5, 0.0 / 0.0, 1.0 / 0.0, 8};
	isc_record r = {.ticks = 1, .id = 9, .kind = ISC_KIND_COUNTER, .slots = 2};
	const isc_total_counter *c;
	isc_totals *t;

	(void)state;
	assert_int_equal(isc_totals_new(&t, NULL), ISC_OK);
	for (size_t i = 0; i < 5; i++) {
		double extra[2] = {values[i], 0};

		assert_int_equal(isc_totals_feed(t, 1, 1, 0, &r, extra, sizeof(extra), NULL), ISC_OK);
	}
	assert_int_equal(isc_totals_feed(t, 1, 1, 0, &r, NULL, 0, NULL), ISC_OK); /* its value is missing */
	c = isc_totals_counter_at(t, 0);
	assert_int_equal(c->count, 3);
	assert_true(c->min == -1.5 && c->max == 8 && c->sum == 9.5 && c->last == 8);
	assert_int_equal(isc_totals_events(t), 6);
	isc_totals_free(t);
}

/* Snapshot bytes of totals, all parts one after the other. */
static isc_buffer bytes_of(const isc_totals *t)
{
	isc_buffer out = {0}, ends = {0};

	isc_totals_write(t, &(isc_totals_cover){7, 8}, &out, &ends);
	isc_buffer_fini(&ends);
	return out;
}

static void a_snapshot_goes_on_where_the_totals_stood(void **state)
{
	isc_totals *straight, *halted, *loaded;
	isc_buffer out = {0}, ends = {0}, a, b;
	uint64_t seed = 11;
	size_t start = 0;

	(void)state;
	isc_totals_new(&straight, NULL);
	isc_totals_new(&halted, NULL);
	isc_totals_new(&loaded, NULL);
	for (int i = 0; i < 20000; i++) {
		uint64_t r = sample_draw(&seed);
		isc_totals *second = i < 10000 ? halted : loaded;

		if (i == 10000) {
			isc_totals_write(halted, &(isc_totals_cover){7, 8}, &out, &ends);
			assert_true(ends.len / sizeof(size_t) > 1);
			for (size_t p = 0; p < ends.len / sizeof(size_t); p++) {
				size_t end = ((size_t *)(void *)ends.data)[p];

				assert_int_equal(isc_totals_read(loaded, (uint8_t *)out.data + start, end - start),
						 ISC_OK);
				start = end;
			}
		}
		for (int w = 0; w < 2; w++)
			feed(w ? second : straight, 1 + r % 3, (uint64_t)i * 50, (uint8_t)(1 + (r >> 8) % 3),
			     (uint32_t)(r >> 16) % 300, 0);
	}
	a = bytes_of(straight);
	b = bytes_of(loaded);
	assert_int_equal(a.len, b.len);
	assert_memory_equal(a.data, b.data, a.len);
	isc_buffer_fini(&a);
	isc_buffer_fini(&b);
	isc_buffer_fini(&out);
	isc_buffer_fini(&ends);
	isc_totals_free(straight);
	isc_totals_free(halted);
	isc_totals_free(loaded);
}

static void totals_stay_within_their_bound_and_sums_stay_exact(void **state)
{
	const isc_total_scope *s;
	uint64_t count = 0, open = 0, unmatched = 0, threads = 0, seed = 5;
	const isc_total_thread *th;
	isc_totals *t;
	isc_buffer bytes;

	(void)state;
	isc_totals_new(&t, NULL);
	isc_totals_bound(t, 40 << 10);
	for (uint32_t i = 0; i < 50000; i++) {
		uint32_t name = (uint32_t)sample_draw(&seed) % 20000, thread = 1 + i / 100;

		feed(t, thread, i * 1000ull, ISC_KIND_SCOPE_ENTER, name, 0);
		if (i % 10)
			feed(t, thread, i * 1000ull + sample_draw(&seed) % 900, ISC_KIND_SCOPE_EXIT, name, 0);
	}
	assert_true(t->weight <= t->weight_max + 1024);
	assert_true(isc_totals_folded(t, ISC_FOLDED_SCOPES) > 15000);
	for (size_t i = 0; (s = isc_totals_scope_at(t, i)) != NULL; i++) {
		count += s->count;
		open += s->open;
		unmatched += s->unmatched;
		assert_int_equal(s->histogram.count, s->count);
	}
	/* Every enter is open or closed, every leave closed one or is said to have none. */
	assert_int_equal(count + open, 50000);
	assert_int_equal(count + unmatched, 45000);
	for (size_t i = 0; (th = isc_totals_thread_at(t, i)) != NULL; i++)
		threads += th->events;
	assert_int_equal(threads, 95000);
	bytes = bytes_of(t);
	assert_true(bytes.len <= t->weight + 1024);
	isc_buffer_fini(&bytes);
	isc_totals_free(t);
}

static void a_broken_snapshot_is_refused_wherever_it_breaks(void **state)
{
	isc_totals *t, *back;
	isc_buffer bytes;
	uint64_t seed = 2;

	(void)state;
	isc_totals_new(&t, NULL);
	for (uint32_t i = 0; i < 60; i++)
		feed(t, 1 + i % 2, i * 10, (uint8_t)(1 + i % 3), i % 5, 0);
	bytes = bytes_of(t);
	for (size_t i = 0; i < bytes.len * 40; i++) {
		size_t len = i < bytes.len ? i : bytes.len;
		uint8_t *copy = malloc(len + 1);

		memcpy(copy, bytes.data, len);
		if (i >= bytes.len)
			copy[sample_draw(&seed) % len] = (uint8_t)sample_draw(&seed);
		isc_totals_new(&back, NULL);
		isc_totals_read(back, copy, len); /* whatever it says: no report of a sanitizer */
		isc_totals_free(back);
		free(copy);
	}
	isc_buffer_fini(&bytes);
	isc_totals_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_percentile_is_within_one_percent_of_the_number_itself),
		cmocka_unit_test(percentiles_of_a_known_row_come_out_right),
		cmocka_unit_test(histograms_survive_merging_and_bytes),
		cmocka_unit_test(scopes_nest_and_cross_and_lose_their_partners),
		cmocka_unit_test(counters_ignore_what_is_no_number),
		cmocka_unit_test(a_snapshot_goes_on_where_the_totals_stood),
		cmocka_unit_test(processes_at_work_at_once_are_told_by_their_samples),
		cmocka_unit_test(hooks_cost_by_how_often_they_were_passed),
		cmocka_unit_test(totals_stay_within_their_bound_and_sums_stay_exact),
		cmocka_unit_test(a_broken_snapshot_is_refused_wherever_it_breaks),
	};

	return cmocka_run_group_tests_name("totals", tests, NULL, NULL);
}
