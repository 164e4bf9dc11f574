/*
 * transport_sink.h - a sink that remembers what it was given, for tests of one
 * process with few threads.
 */
#ifndef ISC_TESTS_TRANSPORT_SINK_H
#define ISC_TESTS_TRANSPORT_SINK_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/record.h"
#include "runtime/layout.h"
#include "session/drain/drain.h"

#define TRANSPORT_SINK_EVENTS 4096u
#define TRANSPORT_SINK_DEFS 32768u

typedef struct transport_sink {
	unsigned pools, threads, n_events, n_defs, finals;
	isc_pool header[8];			 /* of the first pools */
	isc_record event[TRANSPORT_SINK_EVENTS]; /* slots, in order */
	uint32_t def_id[TRANSPORT_SINK_DEFS], def_process[TRANSPORT_SINK_DEFS];
	uint16_t def_type[TRANSPORT_SINK_DEFS];
	char def_text[TRANSPORT_SINK_DEFS][32];	 /* cut */
	uint64_t events, produced, stored, lost; /* sums of last words */
	bool gone;
} transport_sink;

static inline uint32_t transport_sink_pool(void *self, const void *header)
{
	transport_sink *s = self;

	if (s->pools < 8)
		memcpy(&s->header[s->pools], header, sizeof(isc_pool));
	return ++s->pools;
}

static inline uint32_t transport_sink_thread(void *self, uint32_t process, uint32_t tid, uint64_t serial,
					     uint64_t birth)
{
	(void)process;
	(void)tid;
	(void)serial;
	(void)birth;
	return ++((transport_sink *)self)->threads;
}

static inline void transport_sink_define(void *self, uint32_t process, uint32_t id, uint16_t type, const void *data,
					 uint32_t len)
{
	transport_sink *s = self;
	uint32_t n = s->n_defs;

	if (n == TRANSPORT_SINK_DEFS)
		return;
	s->def_process[n] = process;
	s->def_id[n] = id;
	s->def_type[n] = type;
	memcpy(s->def_text[n], data, len < 31 ? len : 31);
	s->n_defs++;
}

static inline void transport_sink_events(void *self, uint32_t process, uint32_t thread, uint8_t stream, uint64_t first,
					 uint32_t events, const void *slots, uint32_t n)
{
	transport_sink *s = self;

	(void)process;
	(void)thread;
	(void)stream;
	(void)first;
	s->events += events;
	if (n > TRANSPORT_SINK_EVENTS - s->n_events)
		n = TRANSPORT_SINK_EVENTS - s->n_events;
	memcpy(&s->event[s->n_events], slots, n * sizeof(isc_record));
	s->n_events += n;
}

static inline void transport_sink_account(void *self, uint32_t process, uint32_t thread, uint8_t stream,
					  uint64_t produced, uint64_t stored, uint64_t lost, bool final)
{
	transport_sink *s = self;

	(void)process;
	(void)thread;
	(void)stream;
	if (!final)
		return;
	s->finals++;
	s->produced += produced;
	s->stored += stored;
	s->lost += lost;
}

static inline bool transport_sink_gone(void *self, uint32_t process)
{
	(void)process;
	return ((transport_sink *)self)->gone;
}

static inline uint64_t transport_sink_resume(void *self, uint32_t process, uint32_t thread, uint8_t stream)
{
	(void)self;
	(void)process;
	(void)thread;
	(void)stream;
	return 0;
}

static inline isc_drain_sink transport_sink_face(transport_sink *s)
{
	return (isc_drain_sink){.self = s,
				.pool = transport_sink_pool,
				.thread = transport_sink_thread,
				.define = transport_sink_define,
				.events = transport_sink_events,
				.account = transport_sink_account,
				.gone = transport_sink_gone,
				.resume = transport_sink_resume};
}

/* The text of an id that a process gave; NULL when it never did. */
static inline const char *transport_sink_text(const transport_sink *s, uint32_t process, uint32_t id)
{
	for (unsigned i = 0; i < s->n_defs; i++)
		if (s->def_process[i] == process && s->def_id[i] == id)
			return s->def_text[i];
	return NULL;
}

/* Everything in the folder, whose processes are gone, through a drain of its own. */
static inline isc_status transport_sink_drain(transport_sink *s, const char *folder, isc_drain_stats *stats)
{
	isc_drain_options options = {.folder = folder};
	isc_drain_sink face = transport_sink_face(s);
	isc_drain *d;
	isc_status st = isc_drain_new(&options, &face, &d, NULL);

	if (st != ISC_OK)
		return st;
	s->gone = true;
	st = isc_drain_finish(d, NULL);
	if (stats != NULL)
		isc_drain_stats_get(d, stats);
	isc_drain_free(d);
	return st;
}

#endif
