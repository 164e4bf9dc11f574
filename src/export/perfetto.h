/*
 * perfetto.h - what perfetto.c and perfetto_gpu.c share: the fields, and packets as they are put together.
 */
#ifndef ISC_EXPORT_PERFETTO_H
#define ISC_EXPORT_PERFETTO_H

#include "export/frames.h"
#include "export/gpu_rows.h"
#include "export/wire.h"

/* Fields, by the messages of perfetto_trace.proto. */
enum { TRACE_PACKET = 1 };
enum {
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE = 10,
	PACKET_TRACK_EVENT = 11,
	PACKET_INTERNED = 12,
	PACKET_FLAGS = 13,
	PACKET_TRACK = 60,
	PACKET_PERF_SAMPLE = 66
};
enum { FLAG_CLEARED = 1, FLAG_NEEDS_STATE = 2 };
enum { TRACK_UUID = 1, TRACK_NAME = 2, TRACK_PROCESS = 3, TRACK_THREAD = 4, TRACK_PARENT = 5, TRACK_COUNTER = 8 };
enum {
	EVENT_CATEGORY = 3,
	EVENT_NOTE = 4,
	EVENT_TYPE = 9,
	EVENT_NAME = 10,
	EVENT_TRACK = 11,
	EVENT_DOUBLE = 44,
	EVENT_FLOW = 47
};
enum { TYPE_BEGIN = 1, TYPE_END = 2, TYPE_INSTANT = 3, TYPE_COUNTER = 4 };
enum {
	INTERNED_CATEGORY = 1,
	INTERNED_NAME = 2,
	INTERNED_FUNCTION = 5,
	INTERNED_FRAME = 6,
	INTERNED_CALLSTACK = 7,
	INTERNED_MAPPING_PATH = 17,
	INTERNED_MAPPING = 19
};
enum { NOTE_BOOL = 2, NOTE_UINT = 3, NOTE_INT = 4, NOTE_TEXT = 6, NOTE_JSON = 9, NOTE_NAME = 10 };

typedef struct isc_perfetto {
	isc_sink sink;
	isc_frames frames;
	isc_buffer packet, event, interned, inner, clean;
	isc_hashmap names;     /* of slices, by frame + 1; of marks by process and id -> iid */
	isc_hashmap functions; /* frames that were told -> 1 */
	isc_hashmap stacks;    /* process and stack -> iid */
	isc_hashmap counters;  /* process and name -> track */
	isc_hashmap fixed;     /* frame and kind -> offset of its text + 1 */
	isc_buffer texts;      /* length, then the fields as they are written each time */
	isc_hashmap threads;   /* process and thread id -> track */
	isc_hashmap modules;   /* address of its text -> iid */
	uint64_t next_name, next_stack, next_module;
	isc_gpu_rows rows;
	bool begun;
} isc_perfetto;

/* The track of a thread. */
static inline uint64_t isc_perfetto_track(const isc_listener_thread *on)
{
	return 2ull << 32 | on->thread;
}

/* The packet that has gathered goes out, with the strings that it needs. */
void isc_perfetto_send(isc_perfetto *p, uint64_t ns, unsigned field, const isc_buffer *body);
void isc_perfetto_clean(isc_perfetto *p, isc_buffer *out, unsigned field, const isc_text *text);
/* iids: of a name of events, key tells it from all others; of a category. */
uint64_t isc_perfetto_name(isc_perfetto *p, uint64_t key, const isc_text *text);
uint64_t isc_perfetto_category(isc_perfetto *p, unsigned number);
void isc_perfetto_thread(isc_perfetto *p, const isc_listener_thread *t, uint64_t track);
/* p->event begins, and gets a note: a text, or else a number. */
void isc_perfetto_start(isc_perfetto *p, unsigned type, uint64_t track);
void isc_perfetto_note(isc_perfetto *p, const char *key, unsigned field, const isc_text *text, uint64_t number);

void isc_perfetto_gpu(isc_listener *self, const isc_listener_gpu *g);

#endif
