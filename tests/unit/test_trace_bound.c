/* trace: a file never grows past its limit, and totals stay exact. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "sample_trace.h"

enum { NAMES = 60, THREADS = 5 };

static isc_writer *begin(int fd, uint64_t limit)
{
	isc_writer_options options = {.limit_bytes = limit, .clock_source = 1, .start_ticks = 0, .start_ns = 1000};
	isc_writer *w;

	assert_int_equal(isc_writer_open(fd, &options, &w, NULL), ISC_OK);
	return w;
}

static void check_size(int fd, uint64_t limit)
{
	struct stat sb;

	assert_int_equal(fstat(fd, &sb), 0);
	assert_true((uint64_t)sb.st_size <= limit);
	assert_true((uint64_t)sb.st_blocks * 512 <= limit);
}

struct expected {
	uint64_t count[NAMES], ticks[NAMES], min[NAMES], max[NAMES], next[THREADS], events;
};

/* One block of events of one thread, counted beside the trace. */
static void give(isc_writer *w, struct expected *e, uint64_t *seed, uint64_t *ticks)
{
	unsigned thread = sample_draw(seed) % THREADS;
	isc_record r[508];
	uint32_t stack[64], depth = 0;
	uint64_t begun[64];
	isc_trace_run run = {.process = 1, .thread = 1 + thread, .first = e->next[thread]};

	while (run.slots < 508 - depth) {
		uint64_t q = sample_draw(seed);

		*ticks += 8 * (1 + q % 200);
		if (depth < 12 && (q >> 20) % 2 && run.slots + depth + 2 <= 508) {
			stack[depth] = (uint32_t)(q >> 32) % NAMES;
			begun[depth] = *ticks;
			r[run.slots++] = (isc_record){*ticks, stack[depth++], ISC_KIND_SCOPE_ENTER, 1, 0};
		} else if (depth > 0) {
			uint64_t took = *ticks - begun[--depth];
			uint32_t name = stack[depth];

			r[run.slots++] = (isc_record){*ticks, name, ISC_KIND_SCOPE_EXIT, 1, 0};
			e->min[name] = e->count[name] == 0 || took < e->min[name] ? took : e->min[name];
			e->max[name] = took > e->max[name] ? took : e->max[name];
			e->count[name]++;
			e->ticks[name] += took;
		}
	}
	while (depth > 0) {
		uint64_t took;
		uint32_t name = stack[--depth];

		*ticks += 8;
		took = *ticks - begun[depth];
		r[run.slots++] = (isc_record){*ticks, name, ISC_KIND_SCOPE_EXIT, 1, 0};
		e->min[name] = e->count[name] == 0 || took < e->min[name] ? took : e->min[name];
		e->max[name] = took > e->max[name] ? took : e->max[name];
		e->count[name]++;
		e->ticks[name] += took;
	}
	run.events = run.slots;
	assert_int_equal(isc_writer_events(w, &run, r, NULL), ISC_OK);
	e->next[thread] += run.events;
	e->events += run.events;
}

static void check_totals(isc_trace *tr, const struct expected *e)
{
	const isc_total_scope *s;
	isc_totals *totals;
	uint64_t names = 0;

	assert_int_equal(isc_trace_totals(tr, &totals, NULL), ISC_OK);
	assert_int_equal(isc_totals_events(totals), e->events);
	for (size_t i = 0; (s = isc_totals_scope_at(totals, i)) != NULL; i++, names++) {
		assert_int_equal(s->count, e->count[s->name]);
		assert_int_equal(s->total_ticks, e->ticks[s->name]);
		assert_int_equal(s->min_ticks, e->min[s->name]);
		assert_int_equal(s->max_ticks, e->max[s->name]);
		assert_int_equal(s->open + s->unmatched, 0);
		assert_int_equal(s->histogram.count, s->count);
	}
	assert_int_equal(names, NAMES);
	for (unsigned t = 0; t < THREADS; t++)
		assert_int_equal(isc_totals_thread_at(totals, t)->events,
				 e->next[isc_totals_thread_at(totals, t)->thread - 1]);
	isc_totals_free(totals);
}

/* A stream of 10 GB of records (INFERSCOPE_LONG; 64 MB otherwise) through a file of
 * 4 MiB: never larger, and every total exact, read in the middle and at the end. */
static void old_events_go_and_totals_stay_exact(void **state)
{
	const uint64_t limit = 4 << 20, records = getenv("INFERSCOPE_LONG") ? 625000000 : 4000000;
	static struct expected e;
	uint64_t seed = 1, ticks = 0, seen = 0, number[THREADS] = {0};
	char path[64];
	int fd = sample_file(path);
	isc_writer *w = begin(dup(fd), limit);
	isc_writer_stats stats;
	isc_trace *tr;
	isc_event ev;

	(void)state;
	for (unsigned i = 0; e.events < records; i++) {
		give(w, &e, &seed, &ticks);
		if (i % 100 == 0)
			check_size(fd, limit);
		if (i % 2000 == 1999) {
			assert_int_equal(isc_writer_flush(w, NULL), ISC_OK);
			if (i < 20000) {
				assert_int_equal(isc_trace_open(path, &tr, NULL), ISC_OK);
				check_totals(tr, &e);
				isc_trace_close(tr);
			}
		}
	}
	assert_int_equal(isc_writer_flush(w, NULL), ISC_OK);
	isc_writer_stats_get(w, &stats);
	assert_int_equal(stats.stored_events, e.events);
	assert_int_equal(stats.refused_events, 0);
	assert_true(stats.retired_events > e.events / 4);
	assert_int_equal(isc_writer_close(w, &(isc_trace_end){.end_ns = 7}, NULL), ISC_OK);
	check_size(fd, limit);
	assert_int_equal(isc_trace_open(path, &tr, NULL), ISC_OK);
	while (isc_trace_next(tr, &ev)) {
		/* What is left of each thread is the newest, without a gap. */
		assert_true(number[ev.thread - 1] == 0 || ev.number == number[ev.thread - 1] + 1);
		number[ev.thread - 1] = ev.number;
		seen++;
	}
	for (unsigned t = 0; t < THREADS; t++)
		assert_int_equal(number[t] + 1, e.next[t]);
	assert_int_equal(seen + isc_trace_stats_get(tr)->retired_events, e.events);
	assert_int_equal(isc_trace_stats_get(tr)->damaged_chunks, 0);
	/* Events take most of the room that there is. */
	assert_true(seen > (3u << 20) / 3);
	check_totals(tr, &e);
	isc_trace_close(tr);
	close(fd);
}

static void what_is_forgotten_is_not_read_past_and_totals_stay_exact(void **state)
{
	static struct expected e;
	uint64_t seed = 3, ticks = 0, before = 0, seen = 0;
	char path[64];
	int fd = sample_file(path);
	isc_writer *w = begin(dup(fd), 64 << 20);
	isc_trace *tr;
	isc_event ev;

	(void)state;
	assert_int_equal(isc_writer_define(w, 1, 7, ISC_DEF_STRING, "kept", 4, NULL), ISC_OK);
	for (unsigned round = 0; round < 20; round++) {
		for (unsigned i = 0; i < 50; i++) {
			give(w, &e, &seed, &ticks);
			assert_int_equal(isc_writer_flush(w, NULL), ISC_OK);
		}
		before = e.events;
		assert_int_equal(isc_writer_forget(w, NULL), ISC_OK);
	}
	give(w, &e, &seed, &ticks);
	assert_int_equal(isc_writer_flush(w, NULL), ISC_OK);
	assert_int_equal(isc_trace_open(path, &tr, NULL), ISC_OK);
	while (isc_trace_next(tr, &ev))
		seen++;
	assert_int_equal(seen, e.events - before);
	assert_int_equal(isc_trace_stats_get(tr)->retired_events, before);
	assert_int_equal(isc_trace_stats_get(tr)->damaged_chunks, 0);
	assert_false(isc_trace_stats_get(tr)->truncated);
	/* Chunks of events and of definitions would be thousands; a flush leaves one, of units. */
	assert_true(isc_trace_stats_get(tr)->chunks < 1000 + 60);
	check_size(fd, 4 << 20);
	assert_memory_equal(isc_trace_name(tr, 1, 7).at, "kept", 4);
	check_totals(tr, &e);
	isc_trace_close(tr);
	assert_int_equal(isc_writer_close(w, &(isc_trace_end){.end_ns = 7}, NULL), ISC_OK);
	close(fd);
}

/* Definitions are never dropped: past their share they are refused, and said. */
static void definitions_past_their_share_are_refused_and_events_go_on(void **state)
{
	const uint64_t limit = 1 << 20;
	char path[64], name[1000];
	int fd = sample_file(path);
	isc_writer *w = begin(dup(fd), limit);
	isc_writer_stats stats;
	uint64_t seed = 1, next = 0, seen = 0, known = 0;
	isc_trace *tr;
	isc_event ev;
	uint32_t len;

	(void)state;
	for (uint32_t i = 1; i < 3000; i++) {
		isc_status st;

		for (size_t k = 0; k < sizeof(name); k += 8)
			memcpy(name + k, &(uint64_t){sample_draw(&seed)}, 8);
		st = isc_writer_define(w, 1, i, ISC_DEF_STRING, name, sizeof(name), NULL);
		assert_true(st == ISC_OK || st == ISC_ERR_LIMIT);
		sample_scopes(w, 1, 1, next, 100, 1000000ull * i, i);
		next += 200;
		check_size(fd, limit);
	}
	/* The last ones are told when they are due, and only then. */
	assert_int_equal(isc_writer_flush(w, NULL), ISC_ERR_LIMIT);
	assert_int_equal(isc_writer_flush(w, NULL), ISC_OK);
	isc_writer_stats_get(w, &stats);
	assert_true(stats.refused_definitions > 1000);
	assert_int_equal(stats.stored_events, next);
	isc_writer_close(w, &(isc_trace_end){0}, NULL);
	check_size(fd, limit);
	assert_int_equal(isc_trace_open(path, &tr, NULL), ISC_OK);
	for (uint32_t i = 1; i < 3000; i++)
		known += isc_trace_define(tr, 1, i, ISC_DEF_STRING, &len) != NULL;
	assert_int_equal(known + stats.refused_definitions, 2999);
	while (isc_trace_next(tr, &ev))
		seen++;
	assert_true(seen > 10000);
	assert_int_equal(seen + isc_trace_stats_get(tr)->retired_events, next);
	assert_true(isc_trace_stats_get(tr)->complete);
	isc_trace_close(tr);
	close(fd);
}

/* H10, scaled: updates for hours take no more room than their last state. */
static void hours_of_updates_take_bounded_room(void **state)
{
	const uint64_t limit = 1 << 20;
	unsigned seconds = getenv("INFERSCOPE_LONG") ? 8 * 3600 : 1500;
	char path[64];
	int fd = sample_file(path);
	isc_writer *w = begin(dup(fd), limit);
	isc_trace *tr;

	(void)state;
	for (unsigned s = 0; s < seconds; s++) {
		assert_int_equal(isc_writer_clock(w, 2400000000ull * s, 1000 + 1000000000ull * s, NULL), ISC_OK);
		for (unsigned q = 0; q < 4; q++) {
			for (uint32_t t = 1; t <= 40; t++) {
				isc_trace_account a = {
					.process = 1, .thread = t, .produced = s * 4 + q, .stored = s * 4 + q};
				isc_trace_thread th = {.thread = t, .process = 1, .tid = t, .start_ns = s};

				assert_int_equal(isc_writer_account(w, &a, NULL), ISC_OK);
				assert_int_equal(isc_writer_thread(w, &th, NULL), ISC_OK);
			}
			assert_int_equal(isc_writer_flush(w, NULL), ISC_OK);
		}
		if (s % 10 == 0)
			check_size(fd, limit);
	}
	assert_int_equal(isc_writer_close(w, NULL, NULL), ISC_OK);
	assert_int_equal(isc_trace_open(path, &tr, NULL), ISC_OK);
	assert_int_equal(isc_trace_account_at(tr, 39)->produced, seconds * 4 - 1);
	assert_null(isc_trace_account_at(tr, 40));
	/* Thinned out, time still comes out right everywhere. */
	for (unsigned s = 1; s < seconds; s += 97)
		assert_in_range(isc_trace_ticks_to_ns(tr, 2400000000ull * s + 1200000000),
				1000 + 1000000000ull * s + 499999990, 1000 + 1000000000ull * s + 500000010);
	isc_trace_close(tr);
	close(fd);
}

/* Everything a program could throw at it at once: names, threads, processes and
 * arguments without end, in random order, at several limits. */
static void nothing_makes_the_file_grow_past_its_limit(void **state)
{
	static const uint64_t limits[] = {1 << 20, (1 << 20) + 77777, 3 << 20, 9 << 20};

	(void)state;
	for (size_t l = 0; l < 4; l++) {
		uint64_t seed = l, ticks = 0, events = 0, counted = 0, next[3000] = {0};
		char path[64], text[3000];
		int fd = sample_file(path);
		isc_writer *w = begin(dup(fd), limits[l]);
		const isc_total_thread *th;
		isc_trace_thread th_new;
		isc_writer_stats stats;
		isc_totals *totals;
		isc_trace *tr;
		isc_status st = ISC_OK;

		for (size_t i = 0; i < sizeof(text); i++)
			text[i] = (char)sample_draw(&seed);
		/* The smallest is brought to every bound that it has. */
		int steps = getenv("INFERSCOPE_LONG") ? 400000 : l == 0 ? 60000 : 15000;

		for (int i = 0; i < steps; i++) {
			uint64_t q = sample_draw(&seed);
			uint32_t thread = (uint32_t)(q >> 40) % 3000;
			isc_record r[40];
			isc_trace_run run = {.process = 1 + thread / 100, .thread = thread + 1, .first = next[thread]};

			switch (q % 16) {
			case 0:
				st = isc_writer_define(w, 1 + q % 5, (uint32_t)i, ISC_DEF_STRING, text,
						       (uint32_t)(q >> 20) % 300, NULL);
				break;
			case 1:
				th_new = (isc_trace_thread){.thread = (uint32_t)i + 1,
							    .process = 1,
							    .tid = (uint32_t)q,
							    .serial = q | 1,
							    .start_ns = q * 7,
							    .end_ns = q * 11};
				for (size_t k = 0; k < 31; k++)
					th_new.name[k] = (char)(1 + sample_draw(&seed) % 255);
				st = isc_writer_thread(w, &th_new, NULL);
				break;
			case 2:
				st = isc_writer_account(
					w, &(isc_trace_account){.process = 1, .thread = thread, .produced = q}, NULL);
				break;
			case 3:
				st = isc_writer_process(w,
							&(isc_trace_process){.process = 1 + (uint32_t)i / 20,
									     .gen = q | 1,
									     .argv = text,
									     .argv_len = (uint32_t)(q >> 8) % 3000},
							NULL);
				break;
			case 4:
				st = q >> 60 == 0 ? isc_writer_flush(w, NULL) : ISC_OK;
				break;
			default:
				while (run.slots < 36) {
					isc_record *rec = &r[run.slots];

					ticks += 8 * (sample_draw(&seed) >> (40 + q % 24));
					*rec = (isc_record){ticks, (uint32_t)(sample_draw(&seed) % 50000),
							    (uint8_t)(1 + sample_draw(&seed) % 4), 1,
							    (uint16_t)sample_draw(&seed)};
					if (rec->kind == ISC_KIND_COUNTER) {
						rec->slots = 2;
						memcpy(rec + 1, text, 16);
					}
					run.slots += rec->slots;
					run.events++;
				}
				next[thread] += run.events;
				events += run.events;
				st = isc_writer_events(w, &run, r, NULL);
				break;
			}
			/* A thing may have no room; the trace goes on. */
			assert_true(st == ISC_OK || st == ISC_ERR_LIMIT);
			if (i % 16 == 0)
				check_size(fd, limits[l]);
		}
		isc_writer_flush(w, NULL);
		isc_writer_stats_get(w, &stats);
		assert_int_equal(stats.refused_events, 0);
		assert_int_equal(stats.stored_events, events);
		st = isc_writer_close(w, &(isc_trace_end){0}, NULL);
		assert_true(st == ISC_OK || st == ISC_ERR_LIMIT);
		check_size(fd, limits[l]);
		assert_int_equal(isc_trace_open(path, &tr, NULL), ISC_OK);
		assert_int_equal(isc_trace_totals(tr, &totals, NULL), ISC_OK);
		assert_int_equal(isc_totals_events(totals), events);
		for (size_t i = 0; (th = isc_totals_thread_at(totals, i)) != NULL; i++)
			counted += th->events;
		assert_int_equal(counted, events);
		assert_true(isc_trace_stats_get(tr)->complete);
		assert_int_equal(isc_trace_stats_get(tr)->damaged_chunks, 0);
		isc_totals_free(totals);
		isc_trace_close(tr);
		close(fd);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(old_events_go_and_totals_stay_exact),
		cmocka_unit_test(what_is_forgotten_is_not_read_past_and_totals_stay_exact),
		cmocka_unit_test(definitions_past_their_share_are_refused_and_events_go_on),
		cmocka_unit_test(hours_of_updates_take_bounded_room),
		cmocka_unit_test(nothing_makes_the_file_grow_past_its_limit),
	};

	return cmocka_run_group_tests_name("trace_bound", tests, NULL, NULL);
}
