/*
 * writer.h - append to a trace that can be read at any moment.
 *
 * Events are gathered per thread and written as chunks when there are enough of
 * them, or by isc_writer_flush(), which the recorder calls at least four times
 * a second.  Memory is bounded: past ISC_WRITER_BUFFER_MAX the fullest go first.
 *
 * When the disk is full or an I/O error comes, the writer stops storing, keeps
 * counting, and every later call returns the same status; what was written
 * stays readable.
 */
#ifndef ISC_TRACE_WRITER_H
#define ISC_TRACE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "trace/model.h"

#define ISC_WRITER_BUFFER_MAX (32u << 20)

typedef struct isc_writer isc_writer; /* opaque; one thread at a time */

typedef struct isc_writer_options {
	uint64_t limit_bytes; /* of the file; 0: none; at least 1 MiB otherwise */
	uint8_t session_id[16];
	uint32_t clock_source; /* enum isc_clock_source of runtime/layout.h */
	uint64_t start_ticks;
	uint64_t start_ns;
	uint64_t start_unix_ns;
} isc_writer_options;

/* Takes over fd, an empty regular file open for reading and writing; on failure
 * it stays the caller's. */
isc_status isc_writer_open(int fd, const isc_writer_options *options, isc_writer **out, isc_error *err);

/* Goes on where a dead recorder stopped: reads the file, keeps every whole
 * chunk, and remembers per thread and stream which number comes next. */
isc_status isc_writer_resume(int fd, isc_writer **out, isc_error *err);

/* After a resume: is the file this session's? */
bool isc_writer_is_session(const isc_writer *w, const uint8_t session_id[16]);

/* After a resume: the next number of a stream, 0 when none was stored; and the
 * highest process and thread index in use. */
uint64_t isc_writer_next_number(const isc_writer *w, uint32_t process, uint32_t thread, uint8_t stream);
/* After a resume: how many events of a stream are stored; those missing below the next number are lost. */
uint64_t isc_writer_stored(const isc_writer *w, uint32_t process, uint32_t thread, uint8_t stream);
void isc_writer_indices(const isc_writer *w, uint32_t *processes, uint32_t *threads);
/* After a resume: the process with this pool generation, the thread with this serial; 0 when unknown. */
uint32_t isc_writer_find_process(const isc_writer *w, uint64_t gen);
uint32_t isc_writer_find_thread(const isc_writer *w, uint32_t process, uint64_t serial);

/* Session facts as one JSON object; keys given again replace earlier ones.  From
 * here on ISC_ERR_LIMIT means that the file has no room for this one thing: it is
 * counted, and everything else goes on. */
isc_status isc_writer_meta(isc_writer *w, const char *json, size_t len, isc_error *err);

isc_status isc_writer_process(isc_writer *w, const isc_trace_process *process, isc_error *err);
isc_status isc_writer_thread(isc_writer *w, const isc_trace_thread *thread, isc_error *err);
isc_status isc_writer_clock(isc_writer *w, uint64_t ticks, uint64_t mono_ns, isc_error *err);

/* One definition: must be given before events that use its id. */
isc_status isc_writer_define(isc_writer *w, uint32_t process, uint32_t id, uint16_t type, const void *data,
			     uint32_t len, isc_error *err);

/* Copies the slots; numbers of one stream must rise. */
isc_status isc_writer_events(isc_writer *w, const isc_trace_run *run, const isc_record *slots, isc_error *err);
isc_status isc_writer_switches(isc_writer *w, const isc_trace_switch *switches, size_t n, isc_error *err);
isc_status isc_writer_account(isc_writer *w, const isc_trace_account *account, isc_error *err);

/* The running totals of everything before this moment are kept for ever, as far as they fit.  It is now, or was at
 * most a second ago. */
isc_status isc_writer_mark(isc_writer *w, uint32_t boundary, uint64_t ticks, isc_error *err);

/* What recording took so far beside calls and samples, in all processes together: the rows of process 0 have it. */
void isc_writer_cost_apart(isc_writer *w, double ns);

/* A period is over: what was seen and missed since the last one becomes a row for each process, which the next flush
 * writes and nothing writes over.  After a flush: what is not in the file yet is in the next period. */
isc_status isc_writer_over_time(isc_writer *w, uint64_t from_ns, uint64_t to_ns, isc_error *err);

/* Everything given so far is in the file when this returns. */
isc_status isc_writer_flush(isc_writer *w, isc_error *err);

/* Flushes, and drops all events that are in the file, as if it had been full; totals, definitions and all else stay. */
isc_status isc_writer_forget(isc_writer *w, isc_error *err);

typedef struct isc_writer_stats {
	uint64_t file_bytes;	      /* now */
	uint64_t stored_events;	      /* given to the writer and not refused by the disk */
	uint64_t retired_events;      /* of those, dropped since to stay under the limit */
	uint64_t refused_events;      /* not written: the disk was full, or an error */
	uint64_t refused_definitions; /* no room for them under the limit, or an error */
	uint64_t refused_records;     /* likewise processes, threads and accounts */
	uint64_t chunks;
	uint64_t call_events; /* of Python calls, as far as their cost is known */
	double call_ns;	      /* what those took in the program */
	double sample_ns;     /* what samples and waits took there */
	uint64_t collections; /* of garbage that were told of */
	uint64_t syscalls;    /* that were counted */
	uint64_t allocations; /* and what took memory or gave it back; of them looked at: */
	uint64_t looked_at;
	uint64_t cpu_ns; /* CPU time of the program that samples stand for */
} isc_writer_stats;
/* CPU time of the program that samples stand for, so far. */
uint64_t isc_writer_cpu_ns(const isc_writer *w);

void isc_writer_stats_get(const isc_writer *w, isc_writer_stats *out);

/* How many processes were at work at once in so much time; 1 at least, and where that is not known. */
double isc_writer_at_once(const isc_writer *w, uint64_t wall_ns);

/* Up to 8 codes that units of a process begin with or consist of, as far as they were found in its loops: the recorder
 * asks the process to go on recording their calls whatever the budget says. */
size_t isc_writer_unit_codes(const isc_writer *w, uint32_t process, uint32_t codes[8]);
/* How long units of the loop take that most of the time goes into: about nine of ten take no longer.  0: none is known. */
uint64_t isc_writer_unit_ns(const isc_writer *w, uint32_t process);

/* Writes totals, index and end, and closes the file.  end NULL: without an end
 * chunk, as after a crash.  w is gone in any case; NULL is fine. */
isc_status isc_writer_close(isc_writer *w, const isc_trace_end *end, isc_error *err);

#endif
