/*
 * columns.h - events and switches by column: the payloads of the chunks that
 * make up most of a trace.  Internal to trace/.
 *
 * Like stands beside like, so that a general compressor finds it: kinds, ids as
 * places in a dictionary of the chunk, times as distances.
 */
#ifndef ISC_TRACE_FILE_COLUMNS_H
#define ISC_TRACE_FILE_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "trace/file/contents.h"
#include "trace/model.h"

#define ISC_COLUMNS_SLOTS_MAX 16384u /* slots in one chunk, as written */
#define ISC_COLUMNS_SWITCHES_MAX 8192u

/* Kept between chunks so that a chunk costs no allocation. */
typedef struct isc_columns_encoder {
	void *place; /* id -> place in the dictionary; entries of earlier chunks have another stamp */
	uint32_t stamp;
	uint8_t *scratch;
	isc_buffer out;
	isc_contents contents; /* of what was encoded last */
} isc_columns_encoder;

bool isc_columns_encoder_init(isc_columns_encoder *e);
void isc_columns_encoder_fini(isc_columns_encoder *e);

/* The slots must be whole events, at most ISC_COLUMNS_SLOTS_MAX.  The result is
 * in e->out; false when there is no memory. */
bool isc_columns_encode(isc_columns_encoder *e, const isc_record *slots, uint32_t events, uint32_t n,
			uint32_t tick_shift);

/* A decoded chunk of events. */
typedef struct isc_columns {
	uint32_t events;
	uint64_t *ticks; /* as recorded, less the bits that were dropped */
	uint32_t *id;
	uint16_t *arg;
	uint8_t *kind;
	uint8_t *slots;
	const uint8_t *extra; /* into the payload: bytes behind first slots, in order */
	size_t room;
} isc_columns;

void isc_columns_fini(isc_columns *c);

enum isc_columns_result { ISC_COLUMNS_OK, ISC_COLUMNS_BAD, ISC_COLUMNS_NOMEM };

/* events, slots and time are those of the chunk header; nothing is believed. */
int isc_columns_decode(isc_columns *c, const uint8_t *raw, size_t len, uint32_t events, uint32_t slots, uint64_t time,
		       uint32_t tick_shift);

/* Of a decoded chunk; times have the tick_shift that it was decoded with. */
isc_contents isc_columns_contents(const isc_columns *c, uint32_t tick_shift);

bool isc_switches_encode(isc_buffer *out, const isc_trace_switch *switches, uint32_t n);
int isc_switches_decode(isc_trace_switch **out, size_t *room, const uint8_t *raw, size_t len, uint32_t n,
			uint64_t time);

#endif
