/*
 * record_cost.c - what one record costs the program, warm.
 *
 *	record_cost drained|overrun [POOL_KIB [ROUNDS]]
 *
 * The runtime is compiled in, so that records are written as collectors inside it
 * write them: inlined.  "drained": the blocks of a batch are free again before the
 * next one, as when the recorder keeps up.  "overrun": nobody frees anything, so
 * that the thread looks for its own oldest block each time.  Every page has been
 * touched before.  Each line is a round, the fastest of its batches: nanoseconds a
 * record without the clock; with it; with it and the question whether events are
 * wanted before; and the clock alone.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "runtime/runtime.h"
#include "runtime/write.h"
#include "transport_session.h"

#define BATCH 50000u /* 99 blocks */
#define BATCHES 12u

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* What is timed.  Inlined into their loops: a collector has its own function around them. */
static inline void record_plain(uint64_t ticks)
{
	isc_write1(ticks, ISC_RECORD_WORD(7, ISC_KIND_INSTANT, 0));
}

static inline void record_timed(uint64_t unused)
{
	(void)unused;
	isc_write1(isc_ticks(), ISC_RECORD_WORD(7, ISC_KIND_INSTANT, 0));
}

static inline void record_asked(uint64_t unused)
{
	(void)unused;
	if (isc_rt_active())
		isc_write1(isc_ticks(), ISC_RECORD_WORD(7, ISC_KIND_INSTANT, 0));
}

static inline void read_clock(uint64_t unused)
{
	uint64_t ticks = isc_ticks();

	(void)unused;
	__asm__ volatile("" : : "r"(ticks));
}

/* What the recorder does, less the reading. */
static void drain(void)
{
	isc_producer *t = isc_producer_self;
	uint32_t n = atomic_load(&t->pool->nblocks);

	for (uint32_t i = 0; i < n; i++) {
		if ((atomic_load_explicit(&t->states[i], memory_order_relaxed) & ISC_BLOCK_PHASE) == ISC_BLOCK_FULL)
			atomic_store_explicit(&t->states[i], ISC_BLOCK_FREE, memory_order_relaxed);
	}
	atomic_store_explicit(&t->pool->hint, 0, memory_order_relaxed);
}

static inline __attribute__((always_inline)) double fastest(void (*record)(uint64_t), bool drained)
{
	double best = 1e18;

	for (unsigned b = 0; b < BATCHES; b++) {
		double begin, took;

		if (drained)
			drain();
		begin = now_ns();
		for (uint64_t i = 0; i < BATCH; i++)
			record(i);
		took = (now_ns() - begin) / BATCH;
		best = took < best ? took : best;
	}
	return best;
}

int main(int argc, char **argv)
{
	bool drained = argc > 1 && strcmp(argv[1], "drained") == 0;
	uint32_t blocks = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) * 1024 / ISC_BLOCK_SIZE : 1024;
	unsigned rounds = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 20;
	isc_control wish = {.first_blocks = blocks,
			    .max_blocks = blocks,
			    .max_slots = 16,
			    .clock_source = isc_clock_source(),
			    .flags = ISC_CONTROL_FOLLOW_ALL};
	transport_session session;

	if (argc < 2 || (!drained && strcmp(argv[1], "overrun") != 0)) {
		fprintf(stderr, "usage: record_cost drained|overrun [POOL_KIB [ROUNDS]]\n");
		return 2;
	}
	if (!transport_session_make(&session, &wish) || isc_rt_attach(session.folder) != 0)
		return 1;
	for (uint64_t i = 0; i < 2ull * blocks * ISC_BLOCK_SLOTS; i++)
		record_plain(i);
	for (unsigned r = 0; r < rounds && isc_producer_self != NULL; r++) {
		printf("%.3f ", fastest(record_plain, drained));
		printf("%.3f ", fastest(record_timed, drained));
		printf("%.3f ", fastest(record_asked, drained));
		printf("%.3f\n", fastest(read_clock, false));
	}
	transport_session_remove(&session);
	return isc_producer_self == NULL; /* nothing was written: nothing was measured */
}
