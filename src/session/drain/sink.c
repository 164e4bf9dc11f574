#include "session/drain/sink.h"

#include <stdlib.h>
#include <string.h>

#include "symbol/demangle.h"

void isc_event_sink_clock(isc_event_sink *s, isc_clock_pair pair)
{
	size_t at = s->pairs == 0 ? 0 : 1;

	s->pair[at] = pair;
	s->pairs = at + 1;
}

static void keep(isc_event_sink *s, isc_status st, const isc_error *err)
{
	if (st != ISC_OK && st != ISC_ERR_LIMIT && s->failed == ISC_OK) {
		s->failed = st;
		s->err = *err;
	}
}

static uint32_t on_pool(void *self, const void *pool_header)
{
	isc_event_sink *s = self;

	return isc_follow_pool(s->follow, pool_header);
}

static uint32_t on_thread(void *self, uint32_t process, uint32_t tid, uint64_t serial, uint64_t birth_ticks)
{
	isc_event_sink *s = self;
	uint64_t birth_ns = isc_clock_to_ns(s->pair, s->pairs, s->clock_source, birth_ticks);
	uint32_t thread = isc_follow_thread(s->follow, process, tid, serial, birth_ns);

	/* The writer knows who it is before it gets its events. */
	isc_follow_flush(s->follow);
	return thread;
}

/* Names of kernels are made once and read often: people get them as they were written. */
static isc_status define_kernel(isc_event_sink *s, uint32_t process, uint32_t id, const char *data, uint32_t len,
				isc_error *err)
{
	char *name = strndup(data, len), *plain = name != NULL ? isc_demangle_kernel(name) : NULL;
	size_t plain_len = plain != NULL ? strlen(plain) : 0;
	isc_status st;

	if (plain_len > 0 && plain_len <= ISC_DEF_MAX)
		st = isc_writer_define(s->writer, process, id, ISC_DEF_STRING, plain, (uint32_t)plain_len, err);
	else
		st = isc_writer_define(s->writer, process, id, ISC_DEF_STRING, data, len, err);
	free(plain);
	free(name);
	return st;
}

/* In a file every frame of a run is a node by itself: readers know no runs. */
static isc_status define_run(isc_event_sink *s, uint32_t process, uint32_t id, const char *data, uint32_t len,
			     isc_error *err)
{
	isc_def_run head;
	isc_status st = ISC_OK;

	if (len < sizeof(head))
		return ISC_OK;
	memcpy(&head, data, sizeof(head));
	/* What is not as the runtime writes it says nothing. */
	if (head.count == 0 || head.count > ISC_STACK_FRAMES_MAX ||
	    (len - sizeof(head)) / sizeof(uint32_t) < head.count || isc_def_bytes(len) / 16 < head.count)
		return ISC_OK;
	for (uint32_t i = 0; i < head.count && st == ISC_OK; i++) {
		isc_def_stack frame = {.parent = i == 0 ? head.parent : id + i - 1};

		memcpy(&frame.code, data + sizeof(head) + i * sizeof(frame.code), sizeof(frame.code));
		st = isc_writer_define(s->writer, process, id + i, ISC_DEF_STACK, &frame, sizeof(frame), err);
	}
	return st;
}

static void on_define(void *self, uint32_t process, uint32_t id, uint16_t type, const void *data, uint32_t len)
{
	isc_event_sink *s = self;
	isc_error err;

	if (s->namer != NULL)
		isc_namer_define(s->namer, process, id, type, data, len);
	if (type == ISC_DEF_KERNEL)
		keep(s, define_kernel(s, process, id, data, len, &err), &err);
	else if (type == ISC_DEF_RUN)
		keep(s, define_run(s, process, id, data, len, &err), &err);
	else
		keep(s, isc_writer_define(s->writer, process, id, type, data, len, &err), &err);
}

static void on_events(void *self, uint32_t process, uint32_t thread, uint8_t stream, uint64_t first, uint32_t events,
		      const void *slots, uint32_t n)
{
	isc_event_sink *s = self;
	isc_trace_run run = {
		.process = process, .thread = thread, .stream = stream, .first = first, .events = events, .slots = n};
	isc_error err;

	keep(s, isc_writer_events(s->writer, &run, slots, &err), &err);
}

/* A small file has no room for an account of each of thousands of threads; those
 * that found none share one, so that sums stay exact.  Its place is taken at the
 * start. */
static isc_status share_account(isc_event_sink *s, uint64_t key, const isc_trace_account *account, isc_error *err)
{
	uint64_t *stored = isc_hashmap_put(&s->shared_stored, key, NULL);
	uint64_t *lost = isc_hashmap_put(&s->shared_lost, key, NULL);

	if (stored == NULL || lost == NULL)
		return isc_fail(err, ISC_ERR_NOMEM, "no memory for accounts");
	s->shared.stored += account->stored - *stored;
	s->shared.lost += account->lost - *lost;
	s->shared.produced = s->shared.stored + s->shared.lost;
	*stored = account->stored;
	*lost = account->lost;
	return isc_writer_account(s->writer, &s->shared, err);
}

isc_status isc_event_sink_begin(isc_event_sink *s, isc_error *err)
{
	return isc_writer_account(s->writer, &s->shared, err);
}

static void on_account(void *self, uint32_t process, uint32_t thread, uint8_t stream, uint64_t produced,
		       uint64_t stored, uint64_t lost, bool final)
{
	isc_event_sink *s = self;
	isc_trace_account account = {.process = process,
				     .thread = thread,
				     .stream = stream,
				     .produced = produced,
				     .stored = stored,
				     .lost = lost};
	/* Threads are numbered over all processes; thread 0 stands once per process. */
	uint64_t key = (thread != 0 ? (uint64_t)thread : 1ull << 32 | process) * 4 + stream;
	uint64_t *latest = isc_hashmap_put(&s->latest, key, NULL);
	isc_error err;

	isc_status st;

	(void) final;
	if (latest != NULL) {
		s->produced += produced - *latest;
		*latest = produced;
	}
	st = isc_writer_account(s->writer, &account, &err);
	if (st == ISC_ERR_LIMIT)
		st = share_account(s, key, &account, &err);
	keep(s, st, &err);
}

static bool on_gone(void *self, uint32_t process)
{
	isc_event_sink *s = self;

	return isc_follow_image_gone(s->follow, process);
}

static uint64_t on_resume(void *self, uint32_t process, uint32_t thread, uint8_t stream)
{
	isc_event_sink *s = self;

	return s->resume ? isc_writer_next_number(s->writer, process, thread, stream) : 0;
}

static uint64_t on_resume_stored(void *self, uint32_t process, uint32_t thread, uint8_t stream)
{
	isc_event_sink *s = self;

	return s->resume ? isc_writer_stored(s->writer, process, thread, stream) : 0;
}

isc_drain_sink isc_event_sink_drain(isc_event_sink *s)
{
	return (isc_drain_sink){
		.self = s,
		.pool = on_pool,
		.thread = on_thread,
		.define = on_define,
		.events = on_events,
		.account = on_account,
		.gone = on_gone,
		.resume = on_resume,
		.resume_stored = on_resume_stored,
	};
}

void isc_event_sink_fini(isc_event_sink *s)
{
	isc_hashmap_fini(&s->latest);
	isc_hashmap_fini(&s->shared_stored);
	isc_hashmap_fini(&s->shared_lost);
}
