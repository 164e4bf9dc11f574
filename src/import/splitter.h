/*
 * splitter.h - the events of a JSON trace, one object at a time.
 *
 * The file is read through a window; where an object ends is found by counting
 * braces outside of strings, and only that object is parsed, into memory that is
 * used again for the next.  So a trace of any size takes the same few megabytes.
 *
 * Events are the objects of a list that is the whole file, of "traceEvents" in
 * an object, or that follow each other.  Where the text is damaged, the next
 * object that is an event is looked for, and what lies between is counted.
 */
#ifndef ISC_IMPORT_SPLITTER_H
#define ISC_IMPORT_SPLITTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yyjson.h>

#include "import/bytes.h"

/* Larger ones are left out and counted: a Python stack of a thousand frames takes 100 KiB. */
#define ISC_SPLITTER_EVENT_MOST (4u << 20)

typedef struct isc_splitter isc_splitter;

typedef struct isc_splitter_stats {
	uint64_t events;
	uint64_t damages;      /* places */
	uint64_t lost_bytes;   /* stepped over */
	uint64_t first_damage; /* byte of the unpacked text */
	uint64_t too_large;    /* of the damages: an object larger than the most */
	bool cut;	       /* the text ends before its end */
	bool open;	       /* a list without its closing bracket: allowed, and may be a cut */
	bool list;	       /* the whole file is one list, or a row of objects */
} isc_splitter_stats;

typedef struct isc_json_piece {
	const char *key; /* of a member of the outermost object; NULL: an event */
	size_t key_len;
	yyjson_val *value; /* numbers are raw text; until the next piece */
} isc_json_piece;

isc_status isc_splitter_new(isc_bytes *bytes, isc_splitter **out, isc_error *err);
void isc_splitter_free(isc_splitter *s); /* NULL is fine */

/* *more false: the end.  Damage is no failure. */
isc_status isc_splitter_next(isc_splitter *s, isc_json_piece *piece, bool *more, isc_error *err);

const isc_splitter_stats *isc_splitter_stats_get(const isc_splitter *s);

#endif
