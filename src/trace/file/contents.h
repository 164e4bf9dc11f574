/*
 * contents.h - which kinds and times a chunk of events holds, told apart from it, so that a chunk that nobody wants
 * stays shut.  Internal to trace/.
 *
 * The recorder notes every chunk of events, and writes the notes of the last 64 as one chunk behind them.  A reader
 * takes them into its table.  Chunks without a note, as in files of older versions and at the end of one that is
 * being written, are opened.  Notes are believed until somebody opens a chunk and finds that its note is wrong.
 */
#ifndef ISC_TRACE_FILE_CONTENTS_H
#define ISC_TRACE_FILE_CONTENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/record.h"

typedef struct isc_contents {
	isc_kinds kinds;      /* that it has events of; 0: not known */
	uint64_t first, last; /* stored ticks: of the first event, and the latest of all */
} isc_contents;

/* The kinds of so many events. */
isc_kinds isc_contents_kinds(const uint8_t *kind, uint32_t events);

/* Notes that are not in the file yet.  A zeroed struct has none. */
typedef struct isc_contents_notes {
	isc_buffer entries;
	uint32_t count;
	uint32_t sequence; /* of the last one */
	uint64_t first;	   /* and its first time */
} isc_contents_notes;

void isc_contents_notes_clear(isc_contents_notes *n);
void isc_contents_note(isc_contents_notes *n, uint32_t sequence, const isc_contents *contents);

/* The next note of a payload; before: zeroed at first, then what the last call gave. */
typedef struct isc_contents_entry {
	uint32_t sequence;
	isc_contents contents;
} isc_contents_entry;
bool isc_contents_get(const uint8_t **at, const uint8_t *end, isc_contents_entry *entry);

#endif
