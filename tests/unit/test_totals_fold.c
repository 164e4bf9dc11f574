/* totals_fold: what totals have no room for keeps a name, and sums stay exact. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/syscall.h"
#include "sample_trace.h"
#include "trace/kin.h"
#include "trace/file/plan.h"
#include "trace/reader.h"
#include "trace/totals/totals_lane.h"
#include "trace/writer.h"

enum { BOUND = 64 << 10, MODULE = 1, FIRST = 1000, IN_A_FILE = 100 };

/* Code 1 and 2 are bodies of modules; of the others a hundred are of one file.  A stack was called by the
 * one with half its number, and 1 is the root. */
static uint32_t kin_of(void *self, uint32_t process, uint32_t id)
{
	(void)process;
	if (self != NULL)
		return id / 2;
	if (id <= 2)
		return id | ISC_KIN_MODULE;
	return id < FIRST ? id : id / IN_A_FILE * IN_A_FILE;
}

static isc_totals *bounded(uint64_t weight, bool stacks)
{
	static int self;
	isc_totals *t;

	assert_int_equal(isc_totals_new(&t, NULL), ISC_OK);
	isc_totals_bound(t, weight);
	isc_totals_relate(t, kin_of, stacks ? &self : NULL);
	return t;
}

static uint64_t now;

static void feed(isc_totals *t, uint8_t kind, uint32_t id, const void *extra, uint32_t len)
{
	isc_record r = {now, id, kind, (uint8_t)(1 + len / sizeof(r)), 0};

	assert_int_equal(isc_totals_feed(t, 1, 1, 0, &r, extra, len, NULL), ISC_OK);
}

static void call(isc_totals *t, uint32_t code, uint64_t ticks)
{
	feed(t, ISC_KIND_CALL_ENTER, code, NULL, 0);
	now += ticks;
	feed(t, ISC_KIND_CALL_EXIT, code, NULL, 0);
	now += 1;
}

static const isc_total_function *find(const isc_totals *t, uint32_t code)
{
	const isc_total_function *f;

	for (size_t i = 0; (f = isc_totals_function_at(t, i)) != NULL; i++) {
		if (f->code == code)
			return f;
	}
	return NULL;
}

static void check_sums(const isc_totals *t, uint64_t calls, uint64_t self)
{
	const isc_total_function *f;

	for (size_t i = 0; (f = isc_totals_function_at(t, i)) != NULL; i++) {
		calls -= f->calls;
		self -= f->self_ticks;
		/* A row of its own, or that of a file. */
		assert_true(f->code != 0 && f->code != ISC_TOTAL_REST);
		if (f->code & ISC_TOTAL_REST)
			assert_int_equal(f->total_ticks, f->self_ticks);
	}
	assert_int_equal(calls, 0);
	assert_int_equal(self, 0);
	assert_true(t->weight <= t->weight_max + 1024);
}

static void functions_without_room_are_the_rest_of_their_file(void **state)
{
	isc_totals *t = bounded(BOUND, false);
	uint64_t self = 0, calls = 0;
	const isc_total_function *hot;
	uint32_t n = 10 * BOUND / ISC_WEIGHT_FUNCTION;

	(void)state;
	for (uint32_t i = 0; i < n; i++) {
		call(t, FIRST + i, 10 + i % 7);
		self += 10 + i % 7;
		calls++;
		if (i % 10 == 0) {
			call(t, 50, 400);
			self += 400;
			calls++;
		}
	}
	check_sums(t, calls, self);
	hot = find(t, 50);
	assert_non_null(hot);
	assert_int_equal(hot->calls, (n + 9) / 10);
	assert_int_equal(hot->self_ticks, (n + 9) / 10 * 400);
	assert_non_null(find(t, ISC_TOTAL_REST | FIRST));
	assert_int_equal(find(t, ISC_TOTAL_REST | FIRST)->calls, IN_A_FILE);
	/* How many there were is known within a few in a hundred, however often they came. */
	assert_in_range(isc_totals_folded(t, ISC_FOLDED_FUNCTIONS), n / 100 * 80, n / 100 * 110);
	isc_totals_free(t);
}

/* Calls inside each other, while rows move: every open call finds its function again. */
static void folding_does_not_disturb_what_is_open(void **state)
{
	isc_totals *t = bounded(BOUND, false);
	uint64_t seed = 11, calls = 0, from = now;
	uint32_t stack[20], depth = 0;

	(void)state;
	for (int i = 0; i < 200000; i++) {
		uint64_t r = sample_draw(&seed);

		now += 1 + r % 50;
		if (depth == 0 || (depth < 20 && r >> 20 & 1)) {
			stack[depth] = FIRST + (uint32_t)(r >> 32) % 20000;
			feed(t, ISC_KIND_CALL_ENTER, stack[depth++], NULL, 0);
			from = depth == 1 ? now : from;
			calls++;
		} else {
			feed(t, ISC_KIND_CALL_EXIT, stack[--depth], NULL, 0);
			assert_int_equal(t->lanes[0]->calls->depth, depth);
		}
		if (depth == 0 && i > 190000)
			break;
	}
	while (depth > 0)
		feed(t, ISC_KIND_CALL_EXIT, stack[--depth], NULL, 0);
	for (size_t i = 0; isc_totals_function_at(t, i) != NULL; i++) {
		calls -= isc_totals_function_at(t, i)->calls;
		assert_int_equal(isc_totals_function_at(t, i)->unmatched, 0);
	}
	assert_int_equal(calls, 0);
	for (size_t i = 0; i < (size_t)1 << t->lanes[0]->calls->bits; i++)
		assert_int_equal(t->lanes[0]->calls->cache[i].active, 0);
	assert_int_equal(isc_totals_missed(t), 0);
	isc_totals_free(t);
}

static void import(isc_totals *t, uint32_t from, uint32_t n)
{
	feed(t, ISC_KIND_CALL_ENTER, 2, NULL, 0);
	for (uint32_t i = 0; i < n; i++)
		call(t, from + i, 1000);
	feed(t, ISC_KIND_CALL_EXIT, 2, NULL, 0);
}

static uint32_t own_rows(const isc_totals *t, uint32_t from, uint32_t n)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < n; i++)
		found += find(t, from + i) != NULL;
	return found;
}

static void serving_pushes_imports_out_and_never_the_reverse(void **state)
{
	isc_totals *t = bounded(BOUND, false);
	uint32_t imports = 2 * BOUND / ISC_WEIGHT_BRIEF, serving = BOUND / ISC_WEIGHT_FUNCTION / 2, kept;

	(void)state;
	feed(t, ISC_KIND_CALL_ENTER, MODULE, NULL, 0);
	import(t, FIRST, imports);
	/* What serves is quick and called once: still it is worth more than what imports took long for. */
	for (uint32_t i = 0; i < serving; i++)
		call(t, 100000 + i, 1);
	assert_int_equal(own_rows(t, 100000, serving), serving);
	import(t, 200000, imports);
	assert_int_equal(own_rows(t, 100000, serving), serving);
	assert_true(own_rows(t, 200000, imports) < imports);
	/* Also when there is nothing else left to push out. */
	for (uint32_t i = 0; i < 4 * serving; i++)
		call(t, 300000 + i, 1);
	kept = own_rows(t, 300000, 4 * serving);
	import(t, 400000, imports);
	assert_int_equal(own_rows(t, 300000, 4 * serving), kept);
	feed(t, ISC_KIND_CALL_EXIT, MODULE, NULL, 0);
	for (size_t i = 0; isc_totals_function_at(t, i) != NULL; i++)
		assert_true(isc_totals_function_at(t, i)->code != 0);
	isc_totals_free(t);
}

static isc_totals *reloaded(const isc_totals *t, size_t *bytes)
{
	isc_buffer out = {0}, ends = {0};
	isc_totals *back = bounded(BOUND, false);
	size_t start = 0;

	isc_totals_write(t, &(isc_totals_cover){7, 8}, &out, &ends);
	for (size_t p = 0; p < ends.len / sizeof(size_t); p++) {
		size_t end = ((size_t *)(void *)ends.data)[p];

		assert_int_equal(isc_totals_read(back, (uint8_t *)out.data + start, end - start), ISC_OK);
		start = end;
	}
	*bytes = out.len;
	isc_buffer_fini(&out);
	isc_buffer_fini(&ends);
	return back;
}

static void a_function_of_imports_has_a_small_row_until_it_serves(void **state)
{
	isc_totals *t = bounded(BOUND, false), *back;
	size_t before, after;

	(void)state;
	feed(t, ISC_KIND_CALL_ENTER, MODULE, NULL, 0);
	import(t, FIRST, 500);
	assert_true(find(t, FIRST)->startup);
	assert_false(find(t, MODULE)->startup);
	back = reloaded(t, &before);
	assert_true(before < 500 * ISC_WEIGHT_BRIEF + 1024);
	assert_true(find(back, FIRST)->startup);
	assert_int_equal(find(back, FIRST)->self_ticks, 1000);
	assert_int_equal(back->part[ISC_PART_FUNCTIONS], t->part[ISC_PART_FUNCTIONS]);
	call(back, FIRST, 5);
	assert_false(find(back, FIRST)->startup);
	assert_int_equal(find(back, FIRST)->calls, 2);
	isc_totals_free(back);
	/* One that took long is worth a whole row at once. */
	feed(t, ISC_KIND_CALL_ENTER, 2, NULL, 0);
	call(t, 50, 400000);
	feed(t, ISC_KIND_CALL_EXIT, 2, NULL, 0);
	assert_false(find(t, 50)->startup);
	assert_int_equal(find(t, 50)->self_ticks, 400000);
	back = reloaded(t, &after);
	assert_int_equal(find(back, 50)->first_ticks, find(t, 50)->first_ticks);
	isc_totals_free(back);
	isc_totals_free(t);
}

static void stacks_without_room_are_counted_at_their_callers(void **state)
{
	isc_totals *t = bounded(BOUND, true);
	isc_sample body = {.period_ns = 1000};
	const isc_total_stack *s;
	uint64_t ns = 0, hot = 0, found = 0;

	(void)state;
	for (uint32_t i = 0; i < 20000; i++) {
		isc_record r = {i, i % 2 ? 4097 : 1024 + i, ISC_KIND_SAMPLE, 2, 3};

		hot += i % 2 ? 3000 : 0;
		assert_int_equal(isc_totals_feed(t, 1, 1, 0, &r, &body, sizeof(body), NULL), ISC_OK);
	}
	for (size_t i = 0; (s = isc_totals_stack_at(t, i)) != NULL; i++) {
		ns += s->cpu_ns;
		assert_true(s->stack != 0);
		found += s->stack == 4097 ? s->cpu_ns : 0;
	}
	assert_int_equal(ns, 20000 * 3000);
	/* Two that it called are with it now. */
	assert_in_range(found, hot, hot + 2 * 3 * 3000);
	assert_true(t->weight <= t->weight_max);
	assert_true(isc_totals_folded(t, ISC_FOLDED_STACKS) > 5000);
	isc_totals_free(t);
}

static void names_without_room_are_the_rest_of_their_kind(void **state)
{
	isc_totals *t = bounded(BOUND, true);
	uint64_t scopes = 0, ticks = 0, marks = 0, counters = 0;
	const isc_total_scope *s;
	bool rest[3] = {false, false, false};
	double sum = 0;

	(void)state;
	for (uint32_t i = 1; i <= 20000; i++) {
		double value[2] = {1, 0};

		feed(t, ISC_KIND_SCOPE_ENTER, i, NULL, 0);
		now += 100;
		feed(t, ISC_KIND_SCOPE_EXIT, i, NULL, 0);
		feed(t, ISC_KIND_INSTANT, i, NULL, 0);
		feed(t, ISC_KIND_COUNTER, i, value, sizeof(value));
	}
	for (size_t i = 0; (s = isc_totals_scope_at(t, i)) != NULL; i++) {
		scopes += s->count;
		ticks += s->total_ticks;
		rest[0] |= s->name == ISC_TOTAL_REST;
		assert_int_equal(s->histogram.count, s->count);
		assert_true(s->name != 0 && s->open == 0 && s->unmatched == 0);
	}
	for (size_t i = 0; isc_totals_mark_at(t, i) != NULL; i++) {
		marks += isc_totals_mark_at(t, i)->count;
		rest[1] |= isc_totals_mark_at(t, i)->name == ISC_TOTAL_REST;
		assert_true(isc_totals_mark_at(t, i)->name != 0);
	}
	for (size_t i = 0; isc_totals_counter_at(t, i) != NULL; i++) {
		counters += isc_totals_counter_at(t, i)->count;
		sum += isc_totals_counter_at(t, i)->sum;
		rest[2] |= isc_totals_counter_at(t, i)->name == ISC_TOTAL_REST;
	}
	assert_int_equal(scopes, 20000);
	assert_int_equal(ticks, 2000000);
	assert_int_equal(marks, 20000);
	assert_int_equal(counters, 20000);
	assert_true(sum == 20000 && rest[0] && rest[1] && rest[2]);
	assert_true(t->weight <= t->weight_max);
	isc_totals_free(t);
}

static void waits_and_system_calls_without_room_are_counted_at_their_callers(void **state)
{
	isc_totals *t = bounded(BOUND, true);
	uint64_t waited = 0, called = 0;

	(void)state;
	for (uint32_t i = 0; i < 20000; i++) {
		isc_record w = {i, 1024 + i, ISC_KIND_WAIT_EXIT, 2, ISC_WAIT_SLEEP};
		isc_record c = {i, 1024 + i, ISC_KIND_SYSCALL, 3, 1};
		isc_wait wait = {.ticks = 7};
		isc_syscall_slow slow = {.ticks = 5};

		assert_int_equal(isc_totals_feed(t, 1, 1, 0, &w, &wait, sizeof(wait), NULL), ISC_OK);
		assert_int_equal(isc_totals_feed(t, 1, 1, 0, &c, &slow, sizeof(slow), NULL), ISC_OK);
	}
	for (size_t i = 0; isc_totals_wait_at(t, i) != NULL; i++)
		waited += isc_totals_wait_at(t, i)->ticks;
	for (size_t i = 0; isc_totals_syscall_at(t, i) != NULL; i++)
		called += isc_totals_syscall_at(t, i)->ticks;
	assert_int_equal(waited, 140000);
	assert_int_equal(called, 100000);
	assert_true(isc_totals_folded(t, ISC_FOLDED_WAITS) > 0 && isc_totals_folded(t, ISC_FOLDED_SYSCALLS) > 0);
	assert_true(t->weight <= t->weight_max);
	isc_totals_free(t);
}

static void a_part_gives_back_what_it_borrowed(void **state)
{
	isc_totals *t = bounded(BOUND, false);
	uint64_t marks = 0;
	uint32_t functions = BOUND * 3 / 8 / ISC_WEIGHT_FUNCTION;

	(void)state;
	for (uint32_t i = 1; i <= 2000; i++)
		feed(t, ISC_KIND_INSTANT, i, NULL, 0);
	/* Nobody else was there, so they had much more than their eighth. */
	assert_true(t->part[ISC_PART_NAMES] > BOUND / 2);
	for (uint32_t i = 0; i < functions; i++)
		call(t, FIRST + i, 3);
	assert_int_equal(own_rows(t, FIRST, functions), functions);
	for (size_t i = 0; isc_totals_mark_at(t, i) != NULL; i++)
		marks += isc_totals_mark_at(t, i)->count;
	assert_int_equal(marks, 2000);
	assert_int_equal(isc_totals_folded(t, ISC_FOLDED_FUNCTIONS), 0);
	isc_totals_free(t);
}

static void a_plan_has_room_for_two_checkpoints_at_every_limit(void **state)
{
	(void)state;
	for (uint64_t mb = 2; mb < 3000; mb += mb < 200 ? 1 : 97) {
		isc_plan p = isc_plan_of(mb * 1000 * 1000);
		uint64_t checkpoint = (uint64_t)p.checkpoint_segments * p.segment_size;

		assert_true(p.totals_weight + p.state_weight + checkpoint / 16 <= checkpoint);
		assert_true(p.totals_weight >= (mb >= 64 ? 16u << 20 : 0));
		assert_true(p.keep_segments >= p.segments / 6);
		assert_true(2ull * p.checkpoint_segments + p.journal_segments + p.keep_segments + 3 <= p.segments);
	}
}

/* As many functions as there is room for, with times that do not pack, and all over again. */
static void a_file_whose_totals_are_full_stays_inside_its_limit(void **state)
{
	isc_writer_options options = {.limit_bytes = 64 * 1000 * 1000, .start_ticks = 1, .start_ns = 1};
	uint64_t seed = 9, first = 0, calls = 0;
	isc_writer_stats stats;
	isc_totals *totals;
	struct stat sb;
	char path[64];
	int fd = sample_file(path);
	isc_writer *w = NULL;
	isc_trace *tr = NULL;

	(void)state;
	assert_int_equal(isc_writer_open(dup(fd), &options, &w, NULL), ISC_OK);
	for (uint32_t i = 0; i < 6000; i++) {
		isc_trace_run run = {.process = 1, .thread = 1, .first = first, .events = 200, .slots = 200};
		isc_record r[200];

		for (uint32_t k = 0; k < 200; k += 2) {
			uint32_t code = 1 + (i * 100 + k / 2) % 400000;

			now += sample_draw(&seed) >> 30;
			r[k] = (isc_record){now, code, ISC_KIND_CALL_ENTER, 1, 0};
			now += sample_draw(&seed) >> 24;
			r[k + 1] = (isc_record){now, code, ISC_KIND_CALL_EXIT, 1, 0};
		}
		assert_int_equal(isc_writer_events(w, &run, r, NULL), ISC_OK);
		first += 200;
		if (i % 1000 == 0)
			assert_int_equal(isc_writer_forget(w, NULL), ISC_OK);
	}
	isc_writer_stats_get(w, &stats);
	assert_int_equal(stats.refused_events, 0);
	assert_int_equal(isc_writer_close(w, &(isc_trace_end){.end_ns = now}, NULL), ISC_OK);
	assert_int_equal(fstat(fd, &sb), 0);
	assert_true((uint64_t)sb.st_size <= options.limit_bytes);
	assert_int_equal(isc_trace_open(path, &tr, NULL), ISC_OK);
	assert_int_equal(isc_trace_totals(tr, &totals, NULL), ISC_OK);
	for (size_t i = 0; isc_totals_function_at(totals, i) != NULL; i++)
		calls += isc_totals_function_at(totals, i)->calls;
	assert_int_equal(calls, 600000);
	assert_true(totals->weight > 10u << 20);
	isc_totals_free(totals);
	isc_trace_close(tr);
	close(fd);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_without_room_are_the_rest_of_their_file),
		cmocka_unit_test(folding_does_not_disturb_what_is_open),
		cmocka_unit_test(serving_pushes_imports_out_and_never_the_reverse),
		cmocka_unit_test(a_function_of_imports_has_a_small_row_until_it_serves),
		cmocka_unit_test(stacks_without_room_are_counted_at_their_callers),
		cmocka_unit_test(names_without_room_are_the_rest_of_their_kind),
		cmocka_unit_test(waits_and_system_calls_without_room_are_counted_at_their_callers),
		cmocka_unit_test(a_part_gives_back_what_it_borrowed),
		cmocka_unit_test(a_plan_has_room_for_two_checkpoints_at_every_limit),
		cmocka_unit_test(a_file_whose_totals_are_full_stays_inside_its_limit),
	};

	return cmocka_run_group_tests_name("totals_fold", tests, NULL, NULL);
}
