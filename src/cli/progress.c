#include "cli/progress.h"

#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"

#define FIRST_NS 1000000000ull /* shorter work needs no bar */
#define EVERY_NS 100000000ull
#define CELLS 30

/* Nothing depends on the bar: a terminal that takes no more is not an error. */
static void put(const isc_bar *bar, const char *text, int len)
{
	if (len > 0 && write(bar->fd, text, (size_t)len) < 0)
		return;
}

void isc_bar_start(isc_bar *bar, int fd, bool wanted, const char *what)
{
	*bar = (isc_bar){.what = what, .fd = wanted && isatty(fd) ? fd : -1};
	if (bar->fd >= 0)
		bar->start_ns = isc_clock_mono_ns();
}

void isc_bar_step(isc_bar *bar, uint64_t done, uint64_t total)
{
	char cells[CELLS + 1] = "", line[160];
	double share;
	uint64_t now;

	if (bar->fd < 0 || total == 0)
		return;
	now = isc_clock_mono_ns();
	if (now - bar->start_ns < FIRST_NS || (bar->drawn_ns != 0 && now - bar->drawn_ns < EVERY_NS))
		return;
	share = done < total ? (double)done / (double)total : 1;
	for (int i = 0; i < CELLS; i++)
		cells[i] = i < (int)(share * CELLS) ? '#' : '.';
	put(bar, line,
	    snprintf(line, sizeof(line), "\rinferscope: %.60s [%s] %3d%%", bar->what, cells, (int)(share * 100)));
	bar->drawn_ns = now;
}

void isc_bar_end(isc_bar *bar)
{
	if (bar->fd >= 0 && bar->drawn_ns != 0)
		put(bar, "\r\033[K", 4);
	bar->fd = -1;
}
