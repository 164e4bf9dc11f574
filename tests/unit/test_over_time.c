/* trace: rows of what recording saw outlive the events, add up to the totals and are bounded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "sample_trace.h"

#define SECOND 1000000000ull
#define LIMIT (1u << 20)
enum { KNOWN_STACK = 7 };

struct session {
	isc_writer *w;
	char path[64];
	int fd;
	uint64_t number[1200], lost[1200];
};

static void begin(struct session *s, uint64_t limit)
{
	isc_writer_options options = {.limit_bytes = limit, .start_ns = 1};

	memset(s, 0, sizeof(*s));
	s->fd = sample_file(s->path);
	assert_int_equal(isc_writer_open(dup(s->fd), &options, &s->w, NULL), ISC_OK);
}

/* So many samples of a process, some of them without a stack, and so many that were lost. */
static void sample(struct session *s, uint32_t process, uint64_t now, unsigned known, unsigned unknown, unsigned lost)
{
	isc_trace_run run = {.process = process, .thread = process, .first = s->number[process]};
	isc_trace_account account = {.process = process, .thread = process};
	isc_sample body = {.period_ns = 5000000, .cost_ns = 10000};
	isc_record slots[512];

	for (unsigned i = 0; i < known + unknown; i++) {
		body.flags = i < known ? 0 : ISC_SAMPLE_OTHER;
		slots[run.slots] = (isc_record){now + i, i < known ? KNOWN_STACK : 0, ISC_KIND_SAMPLE, 2, 1};
		memcpy(&slots[run.slots + 1], &body, sizeof(body));
		run.slots += 2;
		run.events++;
	}
	assert_int_equal(isc_writer_events(s->w, &run, slots, NULL), ISC_OK);
	s->number[process] += run.events + lost;
	s->lost[process] += lost;
	account.lost = s->lost[process];
	account.stored = s->number[process] - account.lost;
	account.produced = s->number[process];
	assert_int_equal(isc_writer_account(s->w, &account, NULL), ISC_OK);
}

static void period(struct session *s, uint64_t from, uint64_t to)
{
	assert_int_equal(isc_writer_flush(s->w, NULL), ISC_OK);
	assert_int_equal(isc_writer_over_time(s->w, from, to, NULL), ISC_OK);
	assert_int_equal(isc_writer_flush(s->w, NULL), ISC_OK);
}

/* Every row lies behind the one before it of its process; sums are those of the totals and accounts. */
static void check_sums(isc_trace *tr, size_t *rows)
{
	uint64_t events = 0, lost = 0, accounted = 0, ends[1200] = {0};
	const isc_trace_account *account;
	const isc_trace_period *row;
	isc_totals *totals;

	for (*rows = 0; (row = isc_trace_period_at(tr, *rows)) != NULL; (*rows)++) {
		assert_true(row->to_ns > row->from_ns);
		assert_true(row->process == 0 || row->from_ns >= ends[row->process]);
		ends[row->process] = row->to_ns;
		events += row->events;
		lost += row->lost;
	}
	for (size_t i = 0; (account = isc_trace_account_at(tr, i)) != NULL; i++)
		accounted += account->lost;
	assert_int_equal(isc_trace_totals(tr, &totals, NULL), ISC_OK);
	assert_int_equal(events, isc_totals_events(totals));
	assert_int_equal(lost, accounted);
	isc_totals_free(totals);
}

static isc_trace *opened(const struct session *s)
{
	isc_trace *tr;

	assert_int_equal(isc_trace_open(s->path, &tr, NULL), ISC_OK);
	return tr;
}

static void what_recording_took_beside_calls_and_samples_is_in_rows_of_all_processes(void **state)
{
	struct session s;
	const isc_trace_period *row;
	isc_trace *tr;
	size_t rows;

	(void)state;
	begin(&s, 0);
	sample(&s, 1, SECOND, 3, 0, 0);
	isc_writer_cost_apart(s.w, 7e6);
	period(&s, 1, 10 * SECOND);
	isc_writer_cost_apart(s.w, 6e6);
	period(&s, 10 * SECOND, 20 * SECOND);
	isc_writer_cost_apart(s.w, 9e6);
	period(&s, 20 * SECOND, 30 * SECOND);
	tr = opened(&s);
	check_sums(tr, &rows);
	assert_int_equal(rows, 3);
	row = isc_trace_period_at(tr, 0);
	assert_int_equal(row->process, 0);
	assert_int_equal(row->cost_ns, 7000000);
	row = isc_trace_period_at(tr, 2);
	assert_int_equal(row->process, 0);
	assert_int_equal(row->cost_ns, 2000000);
	isc_trace_close(tr);
	isc_writer_close(s.w, NULL, NULL);
	close(s.fd);
}

static void a_row_tells_what_its_period_saw_and_missed(void **state)
{
	struct session s;
	const isc_trace_period *row;
	isc_trace *tr;
	size_t rows;

	(void)state;
	begin(&s, 0);
	sample(&s, 1, SECOND, 30, 10, 5);
	sample(&s, 2, SECOND, 20, 0, 0);
	period(&s, 1, 10 * SECOND);
	sample(&s, 1, 11 * SECOND, 40, 0, 0);
	period(&s, 10 * SECOND, 20 * SECOND);
	/* Nobody ended it: what was written is there. */
	tr = opened(&s);
	check_sums(tr, &rows);
	assert_int_equal(rows, 3);
	row = isc_trace_period_at(tr, 0);
	assert_int_equal(row->process, 1);
	assert_int_equal(row->samples, 40);
	assert_int_equal(row->events, 40);
	assert_int_equal(row->lost, 5);
	assert_int_equal(row->sampled_ns, 40 * 5000000ull);
	assert_int_equal(row->unattributed_ns, 10 * 5000000ull);
	assert_int_equal(row->cost_ns, 40 * 10000);
	assert_int_equal(isc_trace_period_at(tr, 1)->process, 2);
	row = isc_trace_period_at(tr, 2);
	assert_int_equal(row->samples, 40);
	assert_int_equal(row->unattributed_ns, 0);
	assert_int_equal(row->lost, 0);
	isc_trace_close(tr);
	isc_writer_close(s.w, NULL, NULL);
	close(s.fd);
}

/* What one call costs in a loop of calls is the least that it costs; the process knows what all of them took. */
static void a_row_has_what_the_process_says_that_calls_took(void **state)
{
	struct session s;
	isc_record slots[] = {{SECOND, 20 * 16, ISC_KIND_GOVERNED, 1, ISC_GOVERNED_COST},
			      {SECOND, 9, ISC_KIND_CALL_ENTER, 1, 0},
			      {SECOND + 1, 9, ISC_KIND_CALL_EXIT, 1, 0},
			      {SECOND + 2, 700, ISC_KIND_GOVERNED, 1, ISC_GOVERNED_SPENT}};
	isc_trace_run run = {.process = 1, .thread = 1, .events = 4, .slots = 4};
	isc_trace *tr;

	(void)state;
	begin(&s, 0);
	assert_int_equal(isc_writer_events(s.w, &run, slots, NULL), ISC_OK);
	period(&s, 1, 10 * SECOND);
	tr = opened(&s);
	assert_int_equal(isc_trace_period_at(tr, 0)->cost_ns, 700);
	isc_trace_close(tr);
	isc_writer_close(s.w, NULL, NULL);
	close(s.fd);
	unlink(s.path);
}

/* Days: rows become longer instead of more, and outlive almost all events. */
static void a_long_run_has_longer_rows_and_the_same_sums(void **state)
{
	struct session s;
	isc_trace *tr;
	size_t rows;

	(void)state;
	begin(&s, LIMIT);
	for (uint64_t i = 0; i < 5000; i++) {
		sample(&s, 1, i * 10 * SECOND + 5, 200, i % 3 == 0, i % 7 == 0);
		sample(&s, 2, i * 10 * SECOND + 5, 150, 0, 0);
		period(&s, i * 10 * SECOND + 1, (i + 1) * 10 * SECOND + 1);
	}
	tr = opened(&s);
	check_sums(tr, &rows);
	assert_true(rows > 30 && rows <= 130);
	isc_trace_close(tr);
	assert_int_equal(isc_writer_close(s.w, &(isc_trace_end){0}, NULL), ISC_OK);
	tr = opened(&s);
	check_sums(tr, &rows);
	assert_true(isc_trace_stats_get(tr)->retired_events > 100000);
	assert_false(isc_trace_is_damaged(tr));
	isc_trace_close(tr);
	close(s.fd);
}

static void more_processes_than_rows_share_one(void **state)
{
	struct session s;
	isc_trace *tr;
	size_t rows;

	(void)state;
	begin(&s, LIMIT);
	for (uint64_t round = 0; round < 3; round++) {
		for (uint32_t p = 1; p < 200; p++)
			sample(&s, p, round * 10 * SECOND + 5, 3, 1, 0);
		period(&s, round * 10 * SECOND + 1, (round + 1) * 10 * SECOND + 1);
	}
	assert_int_equal(isc_writer_close(s.w, &(isc_trace_end){0}, NULL), ISC_OK);
	tr = opened(&s);
	check_sums(tr, &rows);
	assert_true(rows <= 130);
	isc_trace_close(tr);
	close(s.fd);
}

/* The next recorder's first row is what came after the last one of the dead. */
static void a_recorder_that_goes_on_counts_nothing_twice(void **state)
{
	struct session s;
	isc_trace *tr;
	size_t rows;

	(void)state;
	begin(&s, 0);
	sample(&s, 1, SECOND, 30, 0, 2);
	period(&s, 1, 10 * SECOND);
	sample(&s, 1, 11 * SECOND, 25, 0, 1);
	assert_int_equal(isc_writer_flush(s.w, NULL), ISC_OK);
	isc_writer_close(s.w, NULL, NULL);
	assert_int_equal(isc_writer_resume(dup(s.fd), &s.w, NULL), ISC_OK);
	sample(&s, 1, 21 * SECOND, 10, 0, 0);
	period(&s, 10 * SECOND, 30 * SECOND);
	assert_int_equal(isc_writer_close(s.w, &(isc_trace_end){0}, NULL), ISC_OK);
	tr = opened(&s);
	check_sums(tr, &rows);
	assert_int_equal(rows, 2);
	assert_int_equal(isc_trace_period_at(tr, 1)->events, 35);
	isc_trace_close(tr);
	close(s.fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_row_tells_what_its_period_saw_and_missed),
		cmocka_unit_test(what_recording_took_beside_calls_and_samples_is_in_rows_of_all_processes),
		cmocka_unit_test(a_row_has_what_the_process_says_that_calls_took),
		cmocka_unit_test(a_long_run_has_longer_rows_and_the_same_sums),
		cmocka_unit_test(more_processes_than_rows_share_one),
		cmocka_unit_test(a_recorder_that_goes_on_counts_nothing_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
