/* cli: the progress bar, on a terminal of our own. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
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

AROUND_EACH(open_terminal, close_terminal);

/* What was drawn since the last look. */
static const char *drawn(void)
{
	static char text[512];
	ssize_t n = read(watcher, text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = 0;
	return text;
}

TEST(nothing_is_drawn_in_the_first_second)
{
	isc_bar bar;

	isc_bar_start(&bar, terminal, true, "reading trace");
	isc_bar_step(&bar, 1, 2);
	isc_bar_end(&bar);
	CHECK_TEXT(drawn(), "");
}

TEST(after_a_second_a_bar_is_drawn_and_wiped)
{
	isc_bar bar;

	isc_bar_start(&bar, terminal, true, "reading trace");
	bar.start_ns -= 2 * SECOND;
	isc_bar_step(&bar, 1, 2);
	CHECK_TEXT(drawn(), "\rinferscope: reading trace [###############...............]  50%");
	isc_bar_step(&bar, 2, 2); /* too soon after the last */
	CHECK_TEXT(drawn(), "");
	bar.drawn_ns -= SECOND;
	isc_bar_step(&bar, 5, 2); /* more than all is all */
	CHECK(strstr(drawn(), "100%") != NULL);
	isc_bar_end(&bar);
	CHECK_TEXT(drawn(), "\r\033[K");
}

TEST(a_file_or_an_unwanted_bar_stays_clean)
{
	isc_bar bar;
	int ends[2];
	char byte;

	CHECK_EQ(pipe2(ends, O_NONBLOCK), 0);
	for (int unwanted = 0; unwanted < 2; unwanted++) {
		isc_bar_start(&bar, unwanted ? terminal : ends[1], !unwanted, "reading trace");
		bar.start_ns -= 2 * SECOND;
		isc_bar_step(&bar, 1, 2);
		isc_bar_end(&bar);
	}
	CHECK_TEXT(drawn(), "");
	CHECK(read(ends[0], &byte, 1) < 0);
	close(ends[0]);
	close(ends[1]);
}
