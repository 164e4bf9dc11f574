/* relay: which signals are passed on, told by a fake clock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <signal.h>

#include <cmocka.h>

#include "session/launch/signal_relay.h"

enum { SHELL = 50, OWN = 100, WATCHER = 101, PROGRAM = 102 };
static const uint64_t MS = 1000000;

static isc_signal sent(int signo, pid_t from)
{
	return (isc_signal){.signo = signo, .code = SI_USER, .from = from};
}

/* How many signals come out when the watcher answers every question at once,
 * with what it has been told of. */
static int passed_on(isc_relay *r, uint64_t from_ns, uint64_t to_ns)
{
	isc_signal out;
	uint32_t question;
	int n = 0;

	for (uint64_t now = from_ns; now <= to_ns; now += MS) {
		if (isc_relay_ask(r, now, &question))
			isc_relay_answered(r, question);
		while (isc_relay_take(r, now, &out))
			n++;
	}
	return n;
}

static void a_signal_sent_to_us_alone_is_passed_on_after_the_window(void **state)
{
	isc_signal s = sent(SIGTERM, SHELL), out;
	isc_relay r;
	uint32_t question;

	(void)state;
	isc_relay_init(&r, OWN, WATCHER, false);
	assert_int_equal(isc_relay_due_ns(&r), UINT64_MAX);
	assert_true(isc_relay_got(&r, &s, 10 * MS));
	assert_int_equal(isc_relay_due_ns(&r), 30 * MS);
	assert_false(isc_relay_ask(&r, 29 * MS, &question));
	assert_true(isc_relay_ask(&r, 30 * MS, &question));
	assert_false(isc_relay_ask(&r, 31 * MS, &question));
	assert_false(isc_relay_take(&r, 31 * MS, &out));
	isc_relay_answered(&r, question);
	assert_true(isc_relay_take(&r, 31 * MS, &out));
	assert_int_equal(out.signo, SIGTERM);
	assert_false(isc_relay_take(&r, 31 * MS, &out));
}

static void a_signal_that_the_watcher_got_too_is_not(void **state)
{
	static const int signals[] = {SIGTERM, SIGUSR1, SIGCONT, 40};
	isc_relay r;

	(void)state;
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		isc_signal s = sent(signals[i], SHELL);

		isc_relay_init(&r, OWN, WATCHER, false); /* the watcher's word first */
		isc_relay_seen(&r, signals[i], SHELL, 1 * MS);
		isc_relay_got(&r, &s, 2 * MS);
		assert_int_equal(passed_on(&r, 2 * MS, 2000 * MS), 0);
		isc_relay_got(&r, &s, 3000 * MS); /* ours first */
		isc_relay_seen(&r, signals[i], SHELL, 3015 * MS);
		assert_int_equal(passed_on(&r, 3015 * MS, 5000 * MS), 0);
		/* However late it answers, what it says before its answer counts. */
		isc_relay_got(&r, &s, 6000 * MS);
		uint32_t question;
		isc_signal out;
		assert_true(isc_relay_ask(&r, 6020 * MS, &question));
		isc_relay_seen(&r, signals[i], SHELL, 6500 * MS);
		isc_relay_answered(&r, question);
		assert_false(isc_relay_take(&r, 6500 * MS, &out));
	}
}

static void another_sender_or_another_signal_is_another_matter(void **state)
{
	isc_signal s = sent(SIGUSR1, SHELL);
	isc_relay r;

	(void)state;
	isc_relay_init(&r, OWN, WATCHER, false);
	isc_relay_seen(&r, SIGUSR1, SHELL + 1, 1 * MS);
	isc_relay_seen(&r, SIGUSR2, SHELL, 1 * MS);
	isc_relay_got(&r, &s, 1 * MS);
	assert_int_equal(passed_on(&r, 1 * MS, 100 * MS), 1);
}

static void signals_that_count_are_matched_one_by_one(void **state)
{
	isc_signal s = sent(40, SHELL);
	isc_relay r;

	(void)state;
	isc_relay_init(&r, OWN, WATCHER, false);
	for (int i = 0; i < 5; i++)
		isc_relay_got(&r, &s, 1 * MS);
	for (int i = 0; i < 3; i++)
		isc_relay_seen(&r, 40, SHELL, 2 * MS);
	assert_int_equal(passed_on(&r, 2 * MS, 100 * MS), 2);
}

static void an_end_told_to_process_and_group_is_told_once(void **state)
{
	isc_signal s = sent(SIGTERM, SHELL);
	isc_relay r;

	(void)state;
	isc_relay_init(&r, OWN, WATCHER, false);
	isc_relay_got(&r, &s, 1 * MS); /* to us */
	isc_relay_got(&r, &s, 2 * MS); /* to the group */
	isc_relay_seen(&r, SIGTERM, SHELL, 2 * MS);
	assert_int_equal(passed_on(&r, 2 * MS, 100 * MS), 0);
	isc_relay_seen(&r, SIGTERM, SHELL, 200 * MS);
	isc_relay_got(&r, &s, 200 * MS);
	isc_relay_got(&r, &s, 210 * MS);
	assert_int_equal(passed_on(&r, 210 * MS, 220 * MS), 0);
	isc_relay_got(&r, &s, 300 * MS); /* a second one by hand */
	assert_int_equal(passed_on(&r, 300 * MS, 400 * MS), 1);
}

static void what_the_watcher_got_long_ago_swallows_nothing(void **state)
{
	isc_signal s = sent(SIGUSR1, SHELL);
	isc_relay r;

	(void)state;
	isc_relay_init(&r, OWN, WATCHER, false);
	isc_relay_seen(&r, SIGUSR1, SHELL, 1 * MS);
	isc_relay_got(&r, &s, 100 * MS);
	assert_int_equal(passed_on(&r, 100 * MS, 200 * MS), 1);
}

static bool always_busy(pid_t pid)
{
	return pid == SHELL;
}

static void a_sender_that_still_runs_is_waited_for_up_to_a_limit(void **state)
{
	isc_signal s = sent(SIGTERM, SHELL), other = sent(SIGTERM, SHELL + 1);
	isc_relay r;

	(void)state;
	isc_relay_init(&r, OWN, WATCHER, false);
	r.busy = always_busy;
	isc_relay_got(&r, &s, 1 * MS);
	assert_int_equal(passed_on(&r, 1 * MS, 200 * MS), 0);
	isc_relay_seen(&r, SIGTERM, SHELL, 200 * MS);
	assert_int_equal(passed_on(&r, 200 * MS, 600 * MS), 0);
	isc_relay_seen(&r, SIGTERM, SHELL, 600 * MS);
	isc_relay_got(&r, &s, 800 * MS);
	assert_int_equal(passed_on(&r, 800 * MS, 2000 * MS), 0);
	isc_relay_got(&r, &s, 2000 * MS);
	assert_int_equal(passed_on(&r, 2000 * MS, 2300 * MS), 1);
	isc_relay_got(&r, &other, 3000 * MS);
	assert_int_equal(passed_on(&r, 3000 * MS, 3030 * MS), 1);
}

static void a_watcher_that_is_gone_or_silent_holds_nothing_up(void **state)
{
	isc_signal s = sent(SIGTERM, SHELL), out;
	isc_relay r;
	uint32_t question;

	(void)state;
	isc_relay_init(&r, OWN, WATCHER, false);
	isc_relay_got(&r, &s, 1 * MS);
	assert_true(isc_relay_ask(&r, 21 * MS, &question));
	assert_false(isc_relay_take(&r, 1020 * MS, &out));
	assert_int_equal(isc_relay_due_ns(&r), 1021 * MS);
	assert_true(isc_relay_take(&r, 1021 * MS, &out));
	isc_relay_got(&r, &s, 2000 * MS);
	isc_relay_alone(&r);
	assert_true(isc_relay_take(&r, 2000 * MS, &out));
	isc_relay_got(&r, &s, 2001 * MS);
	assert_true(isc_relay_take(&r, 2001 * MS, &out));
}

static void what_is_not_for_the_program_stays_here(void **state)
{
	isc_signal ours = sent(SIGPIPE, OWN), wake = sent(SIGCONT, WATCHER);
	isc_signal key = {.signo = SIGINT, .code = SI_KERNEL}, timer = {.signo = SIGUSR1, .code = SI_TIMER};
	isc_signal alarm = {.signo = SIGALRM, .code = SI_KERNEL}, hangup = {.signo = SIGHUP, .code = SI_KERNEL};
	isc_relay r;

	(void)state;
	isc_relay_init(&r, OWN, WATCHER, false);
	isc_relay_got(&r, &ours, 1 * MS);
	isc_relay_got(&r, &wake, 1 * MS);
	isc_relay_got(&r, &key, 1 * MS);
	isc_relay_got(&r, &timer, 1 * MS);
	isc_relay_got(&r, &hangup, 1 * MS);
	assert_int_equal(passed_on(&r, 1 * MS, 100 * MS), 0);
	isc_relay_got(&r, &alarm, 100 * MS);
	assert_int_equal(passed_on(&r, 100 * MS, 200 * MS), 1);
	isc_relay_init(&r, OWN, WATCHER, true);
	isc_relay_got(&r, &hangup, 1 * MS);
	assert_int_equal(passed_on(&r, 1 * MS, 100 * MS), 1);
	isc_relay_seen(&r, SIGHUP, 0, 200 * MS);
	isc_relay_got(&r, &hangup, 200 * MS);
	assert_int_equal(passed_on(&r, 200 * MS, 300 * MS), 0);
}

static void what_the_program_sends_to_its_parent_does_not_come_back_to_it(void **state)
{
	isc_signal up = sent(SIGUSR1, PROGRAM), down = sent(SIGUSR1, SHELL);
	isc_relay r;

	(void)state;
	isc_relay_init(&r, OWN, WATCHER, false);
	r.program = PROGRAM;
	isc_relay_got(&r, &up, 1 * MS);
	assert_int_equal(passed_on(&r, 1 * MS, 100 * MS), 0);
	isc_relay_got(&r, &down, 100 * MS);
	assert_int_equal(passed_on(&r, 100 * MS, 200 * MS), 1);
}

static void a_storm_loses_nothing(void **state)
{
	isc_signal s = sent(40, SHELL), out;
	isc_relay r;
	int n = 0;

	(void)state;
	isc_relay_init(&r, OWN, WATCHER, false);
	for (int i = 0; i < 1000; i++) {
		if (isc_relay_got(&r, &s, 1 * MS))
			continue;
		while (isc_relay_take(&r, 1 * MS, &out))
			n++;
		assert_true(isc_relay_got(&r, &s, 1 * MS));
	}
	assert_int_equal(n + passed_on(&r, 1 * MS, 100 * MS), 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_signal_sent_to_us_alone_is_passed_on_after_the_window),
		cmocka_unit_test(a_signal_that_the_watcher_got_too_is_not),
		cmocka_unit_test(another_sender_or_another_signal_is_another_matter),
		cmocka_unit_test(signals_that_count_are_matched_one_by_one),
		cmocka_unit_test(an_end_told_to_process_and_group_is_told_once),
		cmocka_unit_test(what_the_watcher_got_long_ago_swallows_nothing),
		cmocka_unit_test(a_sender_that_still_runs_is_waited_for_up_to_a_limit),
		cmocka_unit_test(a_watcher_that_is_gone_or_silent_holds_nothing_up),
		cmocka_unit_test(what_is_not_for_the_program_stays_here),
		cmocka_unit_test(what_the_program_sends_to_its_parent_does_not_come_back_to_it),
		cmocka_unit_test(a_storm_loses_nothing),
	};

	return cmocka_run_group_tests_name("relay", tests, NULL, NULL);
}
