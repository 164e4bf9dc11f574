/*
 * records.h - processes, threads, accounts, clock pairs and definitions as
 * bytes, many to a chunk, and back.  Internal to trace/.  Readers take untrusted
 * bytes and return false where they make no sense.
 */
#ifndef ISC_TRACE_RECORDS_H
#define ISC_TRACE_RECORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "trace/model.h"

typedef struct isc_byte_range {
	const uint8_t *at, *end;
} isc_byte_range;

void isc_record_put_process(isc_buffer *b, const isc_trace_process *p);
void isc_record_put_thread(isc_buffer *b, const isc_trace_thread *t);
void isc_record_put_account(isc_buffer *b, const isc_trace_account *a);
void isc_record_put_clock(isc_buffer *b, const isc_clock_pair *pair);
void isc_record_put_define(isc_buffer *b, uint32_t id, uint16_t type, const void *data, uint32_t len);
void isc_record_put_end(isc_buffer *b, const isc_trace_end *e);

bool isc_record_get_process(isc_byte_range *b, isc_trace_process *p); /* argv points into the bytes */
bool isc_record_get_thread(isc_byte_range *b, isc_trace_thread *t);
bool isc_record_get_account(isc_byte_range *b, isc_trace_account *a);
bool isc_record_get_clock(isc_byte_range *b, isc_clock_pair *pair);
bool isc_record_get_define(isc_byte_range *b, uint32_t *id, uint16_t *type, const void **data, uint32_t *len);
bool isc_record_get_end(isc_byte_range *b, isc_trace_end *e);

/* The key of a stream in maps; process and thread 0 included. */
static inline uint64_t isc_stream_key(uint32_t process, uint32_t thread, uint8_t stream)
{
	return (uint64_t)process << 32 | (uint32_t)(thread << 2) | (stream & 3);
}

#endif
