/*
 * channel.h - pipes, sockets and eventfds in a trace, and what went over them, with every length checked.
 */
#ifndef ISC_TRACE_CHANNEL_H
#define ISC_TRACE_CHANNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/frame.h"
#include "trace/reader.h"

typedef struct isc_trace_channel {
	isc_def_channel def;
	isc_text local, peer; /* addresses, empty: none; borrowed from the trace */
} isc_trace_channel;

/* What an id names; false: there is no such definition. */
bool isc_trace_channel_get(const isc_trace *tr, uint32_t process, uint32_t id, isc_trace_channel *out);

/* The same of the bytes of a definition. */
bool isc_trace_channel_read(const void *data, uint32_t len, isc_trace_channel *out);

/* What is behind the end of a wait, if it is known what ended it. */
bool isc_trace_waker(const isc_event *ev, isc_waker *out);

/* Calls that were left out before this record of a channel. */
uint64_t isc_trace_left_out(const isc_event *ev);

/* "pipe", "tcp", ...; NULL: not known. */
const char *isc_channel_kind_name(unsigned kind);

#endif
