/*
 * call_stream.h - the records that a traced inference loop would give: a request
 * runs its layers, a layer calls its functions in their order, now and then
 * something else happens, and times scatter as they do on a busy machine.
 *
 * The same seed gives the same stream.
 */
#ifndef ISC_BENCH_CALL_STREAM_H
#define ISC_BENCH_CALL_STREAM_H

#include <stdint.h>

#include "base/record.h"

#define CALL_STREAM_DEPTH 6u
#define CALL_STREAM_FIRST_ID 100u /* ids are places in a definitions file: every third */
#define CALL_STREAM_NAMES 400u

typedef struct call_stream {
	uint64_t ticks;
	uint64_t seed;
	struct {
		uint32_t id, left, turn;
	} stack[CALL_STREAM_DEPTH];
	uint32_t depth;
	int calls; /* of functions, instead of scopes */
} call_stream;

static inline uint64_t call_stream_draw(call_stream *s)
{
	uint64_t z = s->seed += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static inline uint32_t call_stream_children(uint32_t id, uint32_t depth)
{
	static const uint32_t usual[CALL_STREAM_DEPTH] = {12, 6, 3, 2, 1, 0};

	return depth < 2 ? usual[depth] : usual[depth] != 0 ? id / 3 % (usual[depth] + 1) : 0;
}

/* The next enter or leave. */
static inline isc_record call_stream_next(call_stream *s)
{
	uint64_t r = call_stream_draw(s);
	uint32_t deep = s->depth, id = CALL_STREAM_FIRST_ID;

	/* 60 ns and up at 2.4 GHz; rarely an interruption. */
	s->ticks += 150 + (deep > 0 ? s->stack[deep - 1].id % 97 * 4 : 0) + (r & 63);
	if ((r >> 8 & 63) == 0)
		s->ticks += r >> 16 & 16383;
	if (deep > 0 && s->stack[deep - 1].left == 0) {
		s->depth--;
		return (isc_record){s->ticks, s->stack[deep - 1].id,
				    s->calls ? ISC_KIND_CALL_EXIT : ISC_KIND_SCOPE_EXIT, 1, 0};
	}
	if (deep > 0) {
		uint32_t other = (r >> 40 & 31) == 0;

		s->stack[deep - 1].left--;
		id += (s->stack[deep - 1].id * 5 + 17 * s->stack[deep - 1].turn++ + other) % (3 * CALL_STREAM_NAMES) /
		      3 * 3;
	}
	s->stack[deep].id = id;
	s->stack[deep].turn = 0;
	s->stack[deep].left = call_stream_children(id, deep);
	s->depth++;
	return (isc_record){s->ticks, id, s->calls ? ISC_KIND_CALL_ENTER : ISC_KIND_SCOPE_ENTER, 1, 0};
}

#endif
