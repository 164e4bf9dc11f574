/*
 * units.h - numbers for people: three figures that matter, a unit, and commas.
 * Each fills a small text and returns it.
 */
#ifndef ISC_BASE_UNITS_H
#define ISC_BASE_UNITS_H

#include <stdint.h>

typedef struct isc_units {
	char text[48];
} isc_units;

/* 1,234,567 */
const char *isc_units_count(isc_units *u, uint64_t n);

/* 412 ns, 8.12 us, 81.2 ms, 1.23 s, 2 min 03 s, 3 h 20 min; "?" when negative or not a number. */
const char *isc_units_time(isc_units *u, double us);

/* 12.3%; "?" when negative or not a number. */
const char *isc_units_percent(isc_units *u, double percent);

/* 3.5, 1,024, 1.25e+18: any number, four figures at least. */
const char *isc_units_number(isc_units *u, double value);

/* SIGKILL, signal 9; signal 35 when it has no name of its own. */
const char *isc_units_signal(isc_units *u, int number);

#endif
