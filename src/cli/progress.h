/*
 * progress.h - a bar on the terminal for what takes longer than a second.
 */
#ifndef ISC_CLI_PROGRESS_H
#define ISC_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct isc_bar {
	const char *what; /* "reading trace" */
	int fd;		  /* -1: never drawn */
	uint64_t start_ns;
	uint64_t drawn_ns; /* 0: not yet */
} isc_bar;

/* Drawn on fd when that is a terminal and wanted. */
void isc_bar_start(isc_bar *bar, int fd, bool wanted, const char *what);
/* Cheap enough to call often; draws at most ten times a second. */
void isc_bar_step(isc_bar *bar, uint64_t done, uint64_t total);
/* Wipes the bar. */
void isc_bar_end(isc_bar *bar);

#endif
