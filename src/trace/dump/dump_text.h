/*
 * dump_text.h - the words that lines of a dump are made of.  Internal to dump*.c.
 */
#ifndef ISC_TRACE_DUMP_DUMP_TEXT_H
#define ISC_TRACE_DUMP_DUMP_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/buffer.h"
#include "trace/dump/dump.h"

struct dump {
	isc_trace *trace;
	const isc_dump_options *options;
	isc_buffer line;
	FILE *out;
};

void isc_dump_finish(struct dump *d); /* the line is whole: prints it */
void isc_dump_quoted(struct dump *d, const char *text, size_t len);
void isc_dump_code(struct dump *d, const void *data, uint32_t len);
/* native "name" "file":line, or the module and 0; false: this is no place in native code. */
bool isc_dump_native(struct dump *d, uint32_t process, uint32_t id);
void isc_dump_module(struct dump *d, const void *data, uint32_t len); /* "path" bias 0x... build ... */
void isc_dump_stack(struct dump *d, uint32_t process, uint32_t id);
void isc_dump_sample_flags(struct dump *d, uint32_t flags);
void isc_dump_name(struct dump *d, uint32_t process, uint32_t id);
void isc_dump_task(struct dump *d, uint32_t process, uint32_t task);
void isc_dump_time(struct dump *d, uint64_t ns); /* seconds since the start, to the nanosecond */

/* dump_waits.c: what a wait or a collection says, and the totals of them. */
void isc_dump_wait(struct dump *d, const isc_event *ev);
void isc_dump_waits(struct dump *d, const isc_totals *totals);

/* dump_channels.c: what a channel is, by its id with that, or by the bytes of its definition; and a record of one. */
void isc_dump_channel(struct dump *d, uint32_t process, uint32_t id);
void isc_dump_channel_definition(struct dump *d, const void *data, uint32_t len);
void isc_dump_moved(struct dump *d, const isc_event *ev);

/* dump_totals.c: the running totals; false: they cannot be read. */
bool isc_dump_totals(struct dump *d, isc_error *err);

/* dump_memory.c: what a record of memory says. */
void isc_dump_memory(struct dump *d, const isc_event *ev);
/* dump_syscalls.c: what a record of system calls says, and the totals of them. */
void isc_dump_syscall(struct dump *d, const isc_event *ev);
void isc_dump_syscalls(struct dump *d, const isc_totals *totals);

/* dump_gpu.c: what a record of a GPU says, and what a device is. */
void isc_dump_gpu(struct dump *d, const isc_event *ev);
void isc_dump_gpu_device(struct dump *d, uint32_t process, uint32_t id);

/* dump_chunks.c: what the file says of its chunks of events. */
void isc_dump_chunks(struct dump *d);

/* dump_over_time.c: rows over time and snapshots. */
void isc_dump_over_time(struct dump *d);

/* dump_units.c: units and gaps; false: no memory. */
bool isc_dump_units(struct dump *d, isc_error *err);

#endif
