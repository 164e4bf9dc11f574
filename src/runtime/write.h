/*
 * write.h - the hot path: an event into the thread's open block.
 *
 * For collectors inside this library, and for _core, which is linked to it.  About
 * 3 ns; no lock, no system call.
 * Ask isc_rt_active() first.  Signal-safe, like everything here.
 *
 * busy holds the frame address of the writer, so that a frame abandoned by
 * siglongjmp is recognised as dead by whoever writes next.
 */
#ifndef ISC_RUNTIME_WRITE_H
#define ISC_RUNTIME_WRITE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "base/record.h"
#include "base/syscall.h"
#include "runtime/image.h"
#include "runtime/layout.h"

#ifdef ISC_CHAOS /* tests: yield inside the windows */
#include <sched.h>
#define ISC_WINDOW(often) \
	do { \
		static _Atomic unsigned passed_; \
		if (atomic_fetch_add(&passed_, 1) % (often) == 0) \
			sched_yield(); \
	} while (0)
#else
#define ISC_WINDOW(often) (void)0
#endif

/* Private to the thread; the recorder never sees it. */
typedef struct isc_stream {
	_Atomic uintptr_t busy; /* frame address of the writer inside, or 0 */
	isc_block *block;
	uint64_t commit; /* private copy of block->committed */
	uint32_t limit;	 /* slots usable; 0 without a block */
	uint32_t index;	 /* of block */
	uint64_t next;	 /* number of the first event of the next block */
	uint32_t skip;	 /* events to drop before the next try to take a block */
	uint32_t which;
} isc_stream;

/* Errors of one kind that are not told yet. */
typedef struct isc_syscall_failed {
	uint32_t key; /* call << 16 | errno; 0: none */
	uint32_t count;
} isc_syscall_failed;
#define ISC_SYSCALL_FAILED 8u /* kinds of errors; programs meet two or three at once */

/* Holds its own way to the pool: a write that a fork interrupts goes on in the
 * child with the producer it began with, never with the child's new pool. */
typedef struct isc_producer {
	_Alignas(64) uint64_t gen;
	isc_stream stream[ISC_STREAMS];
	isc_pool *pool;
	_Atomic uint64_t *states;
	isc_slot *slots;
	char *blocks;
	uint32_t slot;
	uint32_t task; /* name of the asyncio task that runs on this thread; 0: none */
	/* Of waits, see collect/hooks/blocked.h: */
	uint32_t tid;
	uint32_t unlike;  /* calls whose last wait was not as one would expect */
	uint64_t yielded; /* ticks of the last yield */
	isc_wait_brief brief[ISC_WAIT_CALLS];
	/* Of system calls, see collect/hooks/syscall.h: */
	uint64_t summed; /* ticks when the sums were last told */
	uint64_t looked; /* ticks when one was last looked at */
	uint32_t passed; /* calls up to the next that is looked at */
	uint32_t owed;	 /* calls that would have been, had there been anything to spend */
	isc_syscall_failed failed[ISC_SYSCALL_FAILED];
	isc_syscall_sum calls[ISC_SYSCALL_COUNT];
	uint64_t in_calls; /* ticks that all of them took, so far */
	uint32_t moved;	   /* records of channels whose cost was not taken yet */
} isc_producer;

/* One event on its way: the first slot, then body bytes, after their length if asked. */
typedef struct isc_parcel {
	uint64_t head[2];
	const void *body;
	uint32_t body_len;
	uint32_t slots; /* of the whole event */
	bool length_first;
} isc_parcel;

ISC_SHARED extern __thread isc_producer *isc_producer_self __attribute__((tls_model("initial-exec")));

/* stream.c: of a slot, whether it is in use or not; NULL: nobody ever had it. */
isc_producer *isc_producer_at(uint32_t slot);

/* stream.c: no producer yet, fork child, or nested. */
void isc_stream_slow(const isc_parcel *parcel, uintptr_t frame);
ISC_SHARED void isc_stream_slow1(uint64_t ticks, uint64_t word, uintptr_t frame);
/* busy is held by the caller. */
void isc_stream_refill(isc_producer *t, isc_stream *s, const isc_parcel *parcel);
ISC_SHARED void isc_stream_refill1(isc_producer *t, isc_stream *s, uint64_t ticks, uint64_t word);
void isc_parcel_copy(isc_record *to, const isc_parcel *parcel);

static inline uint64_t isc_ticks(void)
{
	struct timespec now;

#ifdef __x86_64__
	if (__builtin_expect(isc_image_self.clock_source == ISC_CLOCK_TSC, 1))
		return __builtin_ia32_rdtsc();
#endif
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* May this thread go on with its open block?  Not in a fork child, not when nested. */
static inline bool isc_producer_ready(const isc_producer *t)
{
	return __builtin_expect(t != NULL, 1) &&
	       __builtin_expect(t->gen == atomic_load_explicit(&isc_wiped_page->gen, memory_order_relaxed), 1) &&
	       __builtin_expect(atomic_load_explicit(&t->stream[0].busy, memory_order_relaxed) == 0, 1);
}

/*
 * The record is whole; publish it.  The generation is looked at again, for a
 * handler may have interrupted this write and forked: the child must not
 * commit, and leaves busy set in a producer that nobody uses again.
 */
static inline bool isc_stream_publish(isc_producer *t, isc_stream *s, isc_block *block, uint64_t commit)
{
	if (__builtin_expect(t->gen != atomic_load_explicit(&isc_wiped_page->gen, memory_order_relaxed), 0))
		return false;
	atomic_signal_fence(memory_order_seq_cst);
	s->commit = commit;
	atomic_store_explicit(&block->committed, commit, memory_order_release);
	return true;
}

#define ISC_COMMIT_ONE(slots) ((1ull << 32) + (slots)) /* what one event adds to `committed` */

/* One slot, passed as two words so that nothing goes through the stack: a
 * record built from small fields fails store forwarding and costs 5 ns more. */
static inline void isc_write1(uint64_t ticks, uint64_t word)
{
	uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
	isc_producer *t = isc_producer_self;
	isc_stream *s;
	uint64_t commit;

	if (!isc_producer_ready(t)) {
		isc_stream_slow1(ticks, word, frame);
		return;
	}
	s = &t->stream[0];
	atomic_store_explicit(&s->busy, frame, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
	commit = s->commit;
	if (__builtin_expect((uint32_t)commit >= s->limit, 0)) {
		isc_stream_refill1(t, s, ticks, word);
	} else {
		isc_block *block = s->block;
		uint64_t *to = (uint64_t *)(void *)&block->record[(uint32_t)commit];

		to[0] = ticks;
		to[1] = word;
		if (!isc_stream_publish(t, s, block, commit + ISC_COMMIT_ONE(1)))
			return;
	}
	atomic_signal_fence(memory_order_seq_cst);
	atomic_store_explicit(&s->busy, 0, memory_order_relaxed);
}

/*
 * The usual case of isc_write1() alone, without a call: false when this is not it,
 * and nothing has happened.
 */
static inline bool isc_write1_usual(uint64_t ticks, uint64_t word)
{
	isc_producer *t = isc_producer_self;
	isc_stream *s;
	isc_block *block;
	uint64_t commit, *to;

	if (!isc_producer_ready(t))
		return false;
	s = &t->stream[0];
	atomic_store_explicit(&s->busy, (uintptr_t)__builtin_frame_address(0), memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
	commit = s->commit;
	if (__builtin_expect((uint32_t)commit >= s->limit, 0)) {
		atomic_store_explicit(&s->busy, 0, memory_order_relaxed);
		return false;
	}
	block = s->block;
	to = (uint64_t *)(void *)&block->record[(uint32_t)commit];
	to[0] = ticks;
	to[1] = word;
	if (isc_stream_publish(t, s, block, commit + ISC_COMMIT_ONE(1))) {
		atomic_signal_fence(memory_order_seq_cst);
		atomic_store_explicit(&s->busy, 0, memory_order_relaxed);
	}
	return true;
}

/* n slots; record[0].slots == n. */
static inline void isc_write(const isc_record *record, uint32_t n)
{
	uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
	isc_producer *t = isc_producer_self;
	isc_parcel parcel;
	isc_stream *s;
	uint64_t commit;

	if (isc_producer_ready(t)) {
		s = &t->stream[0];
		atomic_store_explicit(&s->busy, frame, memory_order_relaxed);
		atomic_signal_fence(memory_order_seq_cst);
		commit = s->commit;
		if (__builtin_expect((uint32_t)commit + n <= s->limit, 1)) {
			isc_block *block = s->block;
			isc_record *to = &block->record[(uint32_t)commit];

			for (uint32_t k = 0; k < n; k++)
				to[k] = record[k];
			if (!isc_stream_publish(t, s, block, commit + ISC_COMMIT_ONE(n)))
				return;
			atomic_signal_fence(memory_order_seq_cst);
			atomic_store_explicit(&s->busy, 0, memory_order_relaxed);
			return;
		}
	} else {
		s = NULL;
	}
	memcpy(parcel.head, record, sizeof(parcel.head));
	parcel.body = record + 1;
	parcel.body_len = (n - 1) * (uint32_t)sizeof(isc_record);
	parcel.slots = n;
	parcel.length_first = false;
	if (s == NULL) {
		isc_stream_slow(&parcel, frame);
		return;
	}
	isc_stream_refill(t, s, &parcel);
	atomic_signal_fence(memory_order_seq_cst);
	atomic_store_explicit(&s->busy, 0, memory_order_relaxed);
}

#endif
