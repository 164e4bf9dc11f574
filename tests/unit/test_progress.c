/* cli: the progress bar, on a terminal of our own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/progress.h"

#define SECOND 1000000000ull

static int terminal, watcher;

static int open_terminal(void **state)
{
	(void)state;
	watcher = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
	if (watcher < 0 || grantpt(watcher) < 0 || unlockpt(watcher) < 0)
		return -1;
	terminal = open(ptsname(watcher), O_RDWR | O_NOCTTY);
	return terminal >= 0 ? 0 : -1;
}

static int close_terminal(void **state)
{
	(void)state;
	return close(terminal) | close(watcher);
}

/* What was drawn since the last look. */
static const char *drawn(void)
{
	static char text[512];
	ssize_t n = read(watcher, text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = 0;
	return text;
}

static void nothing_is_drawn_in_the_first_second(void **state)
{
	isc_bar bar;

	(void)state;
	isc_bar_start(&bar, terminal, true, "reading trace");
	isc_bar_step(&bar, 1, 2);
	isc_bar_end(&bar);
	assert_string_equal(drawn(), "");
}

static void after_a_second_a_bar_is_drawn_and_wiped(void **state)
{
	isc_bar bar;

	(void)state;
	isc_bar_start(&bar, terminal, true, "reading trace");
	bar.start_ns -= 2 * SECOND;
	isc_bar_step(&bar, 1, 2);
	assert_string_equal(drawn(), "\rinferscope: reading trace [###############...............]  50%");
	isc_bar_step(&bar, 2, 2); /* too soon after the last */
	assert_string_equal(drawn(), "");
	bar.drawn_ns -= SECOND;
	isc_bar_step(&bar, 5, 2); /* more than all is all */
	assert_non_null(strstr(drawn(), "100%"));
	isc_bar_end(&bar);
	assert_string_equal(drawn(), "\r\033[K");
}

static void a_file_or_an_unwanted_bar_stays_clean(void **state)
{
	isc_bar bar;
	int ends[2];
	char byte;

	(void)state;
	assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
	for (int unwanted = 0; unwanted < 2; unwanted++) {
		isc_bar_start(&bar, unwanted ? terminal : ends[1], !unwanted, "reading trace");
		bar.start_ns -= 2 * SECOND;
		isc_bar_step(&bar, 1, 2);
		isc_bar_end(&bar);
	}
	assert_string_equal(drawn(), "");
	assert_true(read(ends[0], &byte, 1) < 0);
	close(ends[0]);
	close(ends[1]);
}

#define T(name) cmocka_unit_test_setup_teardown(name, open_terminal, close_terminal)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(nothing_is_drawn_in_the_first_second),
		T(after_a_second_a_bar_is_drawn_and_wiped),
		T(a_file_or_an_unwanted_bar_stays_clean),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
