/*
 * writing.h - the inside of a writer.  Internal to trace/.
 */
#ifndef ISC_TRACE_WRITING_H
#define ISC_TRACE_WRITING_H

#include "trace/file/chunk.h"
#include "trace/file/columns.h"
#include "trace/file/contents.h"
#include "trace/definitions.h"
#include "trace/kin.h"
#include "trace/totals/snapshot.h"
#include "trace/file/space.h"
#include "trace/session_state.h"
#include "trace/totals/totals_lane.h"
#include "trace/writer.h"

/* Events of one thread and stream that are not in the file yet. */
typedef struct isc_writer_stream {
	uint32_t process;
	uint32_t thread;
	uint8_t stream;
	uint64_t first; /* number of the first one here */
	uint64_t next;	/* number that may come next */
	uint64_t last;	/* ticks; what is lost next was lost after that.  0: not known */
	uint64_t told;	/* what is missing below this number is known as a loss */
	uint32_t events, slots;
	uint32_t room;	 /* slots */
	bool introduced; /* its process and thread are in the file */
	isc_record *record;
} isc_writer_stream;

/* Events were lost between two moments, in ticks; 0: not known yet. */
typedef struct isc_writer_loss {
	uint32_t process, thread;
	uint64_t from, to;
	uint64_t told; /* the clock was read before it was counted */
} isc_writer_loss;

struct isc_writer {
	isc_file_header header;
	isc_space space;
	isc_codec_state codec;
	isc_columns_encoder encoder;
	isc_session_state state;
	isc_totals *totals; /* of all events in the file */
	isc_writer_stream *streams;
	size_t stream_count, stream_room;
	isc_hashmap by_stream;
	size_t buffered_bytes; /* taken by all streams */
	isc_buffer defs;       /* of defs_process, not in the file yet */
	uint32_t defs_process, defs_count;
	isc_hashmap defs_known; /* after a resume: what the file had then */
	isc_kin kin;		/* of all that was defined */
	isc_trace_switch *switches;
	uint32_t switch_count;
	isc_contents_notes contents;
	isc_buffer payload; /* scratch */
	isc_writer_stats stats;
	uint64_t checkpoint;	      /* id of the last one */
	uint32_t checkpoint_segments; /* that it took */
	uint32_t covered;	      /* chunks up to this are in its totals */
	isc_snapshots snapshots;
	isc_period_sums periods; /* at the end of the last period */
	uint64_t cost_apart_ns;
	isc_unit_log *units;
	isc_writer_loss *losses; /* that have no gap yet */
	size_t loss_count, loss_room;
	bool resumed;		  /* another recorder began the file */
	isc_clock_pair last_pair; /* of the clock; 0: none yet */
};

/* Makes room, and writes.  Packed: stored is what isc_codec_pack() gave for raw. */
isc_status isc_writer_append(isc_writer *w, int use, isc_chunk_header *h, const void *raw, size_t len, isc_error *err);
isc_status isc_writer_append_packed(isc_writer *w, int use, isc_chunk_header *h, const void *stored, const void *raw,
				    size_t len, isc_error *err);

/* Into what others leave free in the segments that are kept: the last chunk of gaps, when there is room for no other. */
isc_status isc_writer_append_spared(isc_writer *w, isc_chunk_header *h, const void *raw, size_t len, isc_error *err);

/* Into the segments of the checkpoint that is being written: they come out of the reserve. */
isc_status isc_writer_append_reserved(isc_writer *w, isc_chunk_header *h, const void *raw, size_t len, isc_error *err);

/* Notes on chunks of events go into the file, once there are enough of them; all: if any. */
isc_status isc_writer_contents(isc_writer *w, bool all, isc_error *err);

/* All state and totals into fresh segments; then the old ones are free. */
isc_status isc_writer_checkpoint(isc_writer *w, isc_error *err);

/* What changed since, behind the last checkpoint. */
isc_status isc_writer_journal(isc_writer *w, isc_error *err);

/* Segments that must stay available for the next checkpoint and the end. */
uint32_t isc_writer_reserve(const isc_writer *w);

/* Retires old events until so many segments are available. */
isc_status isc_writer_make_room(isc_writer *w, uint32_t segments, isc_error *err);

/* Index and end. */
isc_status isc_writer_finish(isc_writer *w, const isc_trace_end *end, isc_error *err);

/* Found or added; borrowed until the next one is added.  NULL: no memory. */
isc_writer_stream *isc_writer_stream_of(isc_writer *w, uint32_t process, uint32_t thread, uint8_t stream);

/* losses.c.  Events of a stream were lost: from 0 means since its thread began, to 0 up to now. */
void isc_writer_lose(isc_writer *w, const isc_writer_stream *s, uint64_t from, uint64_t to);
/* Calls of a process may have been lost up to now; from as above. */
void isc_writer_lose_process(isc_writer *w, uint32_t process, uint64_t from);
/* When the first of those began that have no gap yet; UINT64_MAX: all have, 0: not known. */
uint64_t isc_writer_losses_since(const isc_writer *w);
/* An account counts losses, some of which may be new. */
void isc_writer_lose_counted(isc_writer *w, const isc_trace_account *account);
/* Losses whose moments are known by now become gaps; last: all do. */
void isc_writer_losses_flush(isc_writer *w, bool last);

/* Totals of this writer ask it what definitions belong to, and tell it of units. */
void isc_writer_relate(isc_writer *w);

isc_writer *isc_writer_new(int fd, const isc_file_header *header, isc_error *err);
void isc_writer_free(isc_writer *w); /* leaves fd open */

#endif
