/*
 * source_lines.h - file and line of an address, by the debug information of a file.
 *
 * Through libdw of elfutils, where that is installed; it is looked for when it is
 * first needed.  Without it nothing is found.
 */
#ifndef ISC_SYMBOL_SOURCE_LINES_H
#define ISC_SYMBOL_SOURCE_LINES_H

#include <stdbool.h>
#include <stdint.h>

typedef struct isc_source_lines isc_source_lines;

/* debug: a separate file with the debug information, or NULL.  NULL: there is none to be had. */
isc_source_lines *isc_source_lines_open(const char *path, const char *debug);
void isc_source_lines_close(isc_source_lines *s); /* NULL is fine */

/* *file is borrowed until close. */
bool isc_source_lines_find(isc_source_lines *s, uint64_t address, const char **file, uint32_t *line);

#endif
