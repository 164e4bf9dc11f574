/*
 * format.h - the .isc file, byte for byte.  docs/trace-format.md is its prose.
 *
 * A file header, then segments of one fixed size.  A segment is a row of chunks
 * and never shares a chunk with the next one.  Segments of old events are
 * written over when the file has reached its limit; a chunk in a reused segment
 * is told from the remains of the old use by its rising sequence number.
 * Little-endian.  Every chunk stands alone and carries a hash of its header and
 * one of its payload.
 */
#ifndef ISC_TRACE_FORMAT_H
#define ISC_TRACE_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define ISC_FILE_MAGIC "INFERSC\n" /* also our mark: a file that begins so is ours to replace */
#define ISC_FILE_VERSION 1u
#define ISC_FILE_VERSION_OLDEST 1u /* the oldest version this build reads */

typedef struct isc_file_header {
	char magic[8];
	uint32_t version;
	uint32_t header_size; /* of this struct; segments begin at segment_start */
	uint8_t session_id[16];
	uint32_t segment_size;	/* a power of two, ISC_SEGMENT_MIN to _MAX */
	uint32_t clock_source;	/* 0 CLOCK_MONOTONIC in ns, 1 time-stamp counter */
	uint64_t start_ticks;	/* the first calibration pair */
	uint64_t start_ns;	/* CLOCK_MONOTONIC */
	uint64_t start_unix_ns; /* CLOCK_REALTIME, for people */
	uint64_t limit_bytes;	/* --trace-size-mb, 0: none */
	uint32_t tick_shift;	/* stored ticks are ticks >> tick_shift */
	uint32_t segment_start; /* offset of the first segment */
	uint8_t pad[40];
	uint64_t hash; /* XXH3-64 of all bytes before it */
} isc_file_header;
_Static_assert(sizeof(isc_file_header) == 128, "file header");

/* Is a file that begins with these bytes a trace of ours, to be replaced without asking? */
static inline bool isc_trace_is_ours(const char *head, size_t len)
{
	return len >= sizeof(ISC_FILE_MAGIC) - 1 && memcmp(head, ISC_FILE_MAGIC, sizeof(ISC_FILE_MAGIC) - 1) == 0;
}

#define ISC_CHUNK_MAGIC 0x63435349u  /* "ISCc" */
#define ISC_CHUNK_RAW_MAX (1u << 20) /* a payload never unpacks to more */
#define ISC_CHUNK_RATIO_MAX 1024u    /* nor to more than this times its bytes in the file, header and all */
#define ISC_SEGMENT_MIN (64u << 10)
#define ISC_SEGMENT_MAX (4u << 20)

enum isc_chunk_type {
	ISC_CHUNK_SEGMENT = 1,	/* first in a segment; slots: enum isc_segment_use, number: checkpoint; no payload */
	ISC_CHUNK_META = 2,	/* session facts: one JSON object; a later one replaces it */
	ISC_CHUNK_PROCESS = 3,	/* isc_trace_process, packed; a later one of the same index replaces it */
	ISC_CHUNK_THREAD = 4,	/* isc_trace_thread, packed; likewise */
	ISC_CHUNK_CLOCK = 5,	/* calibration pairs */
	ISC_CHUNK_DEFS = 6,	/* definitions of one process */
	ISC_CHUNK_EVENTS = 7,	/* events of one thread and stream, by column */
	ISC_CHUNK_SWITCHES = 8, /* context switches, by column */
	ISC_CHUNK_ACCOUNT = 9,	/* produced, stored, lost per stream; a later one replaces */
	ISC_CHUNK_TOTALS = 10,	/* part `events` of the `slots` parts of checkpoint `number` */
	ISC_CHUNK_INDEX = 11,	/* where the chunks are */
	ISC_CHUNK_END = 12,	/* how the program ended; the file is complete */
	/* Part `events` of the `slots` parts of a snapshot of the totals; number: enum isc_boundary, time: its moment,
	 * thread: rises with every snapshot.  The newest whole one of a boundary counts. */
	ISC_CHUNK_SNAPSHOT = 13,
	ISC_CHUNK_OVER_TIME = 14, /* isc_trace_period, packed; a longer one of a process replaces those inside it */
	ISC_CHUNK_UNITS = 15,	/* `events` rows of units, by column, or `slots` gaps; never replaced.  number: all gaps
				   * that began before these ticks are in chunks before this one */
	ISC_CHUNK_PERIODS = 16, /* as ISC_CHUNK_OVER_TIME, which older versions write, with the units of each period */
	ISC_CHUNK_CONTENTS = 17 /* which kinds and times `events` chunks of events before it hold */
};

enum isc_segment_use {
	ISC_SEGMENT_EVENTS = 1, /* may be written over */
	ISC_SEGMENT_KEEP = 2,	/* never is: definitions */
	ISC_SEGMENT_TOTALS = 3, /* a checkpoint and what changed since; free once a newer one is whole */
	ISC_SEGMENT_INDEX = 4	/* written last: index and end */
};

enum isc_codec { ISC_CODEC_RAW = 0, ISC_CODEC_ZSTD = 1 };

typedef struct isc_chunk_header {
	uint32_t magic;
	uint16_t type;	   /* enum isc_chunk_type */
	uint8_t codec;	   /* enum isc_codec */
	uint8_t stream;	   /* of events: 0 or 1 */
	uint32_t process;  /* index, 0: the session */
	uint32_t thread;   /* index, 0: none */
	uint32_t sequence; /* rises by one with every chunk of the file */
	uint32_t check;	   /* low 32 bits of XXH3-64 of this header with check = 0 */
	uint64_t time;	   /* first time in it: ticks >> tick_shift of events, ns of switches */
	uint64_t number;   /* of the first event, or what the type says */
	uint32_t events;
	uint32_t slots; /* of events; what the type says elsewhere */
	uint32_t raw_size;
	uint32_t stored_size; /* payload bytes that follow; then zeros up to a multiple of 8, then the
				 * next chunk, or 8 zeros: nothing more in this segment */
	uint64_t hash;	      /* XXH3-64 of the stored payload */
} isc_chunk_header;
_Static_assert(sizeof(isc_chunk_header) == 64, "chunk header");

#endif
