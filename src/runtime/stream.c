/*
 * stream.c - everything of writing that is not the hot path: threads get their
 * slot, streams their blocks, and handlers their own stream.
 *
 * No lock, no allocation.  docs/transport.md has the states and why they are
 * enough; the recorder's side is session/drain/events.c.
 */
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>

#include "runtime/image.h"
#include "runtime/kernel.h"
#include "runtime/write.h"

/* After a block, or a slot, could not be had this many events are dropped without trying. */
#define SKIP 63u

__thread isc_producer *isc_producer_self __attribute__((tls_model("initial-exec")));

/* Same index as the slot, and no destructor.  The first ones are there; of a program with more threads others are mapped
 * as they are needed, for all of them would be 8 MiB that count against its limit of data (ulimit -d). */
#define PART 64u
static isc_producer first_part[PART];
static _Atomic(isc_producer *) parts[ISC_MAX_SLOTS / PART] = {first_part};

isc_producer *isc_producer_at(uint32_t slot)
{
	isc_producer *part = atomic_load_explicit(&parts[slot / PART], memory_order_acquire);

	return part != NULL ? &part[slot % PART] : NULL;
}

/* NULL: there is no memory for it, which is asked for once. */
static isc_producer *producer_for(uint32_t slot, bool *refused)
{
	isc_producer *none = NULL, *part, *its = isc_producer_at(slot);

	if (its != NULL || *refused)
		return its;
	part = isc_kernel_map(NULL, sizeof(first_part), PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
	*refused = (void *)part == MAP_FAILED;
	if (!*refused && !atomic_compare_exchange_strong(&parts[slot / PART], &none, part))
		syscall(SYS_munmap, part, sizeof(first_part));
	return isc_producer_at(slot);
}

void isc_parcel_copy(isc_record *to, const isc_parcel *parcel)
{
	char *at = (char *)(to + 1);
	char *end = (char *)(to + parcel->slots);

	memcpy(to, parcel->head, sizeof(parcel->head));
	if (parcel->length_first) {
		memcpy(at, &parcel->body_len, sizeof(parcel->body_len));
		at += sizeof(parcel->body_len);
	}
	if (parcel->body_len != 0)
		memcpy(at, parcel->body, parcel->body_len);
	at += parcel->body_len;
	memset(at, 0, (size_t)(end - at));
}

/* In a fork child that goes on with an interrupted write. */
static bool stale(const isc_producer *t)
{
	return t->gen != atomic_load_explicit(&isc_wiped_page->gen, memory_order_relaxed);
}

/* ---- threads ---------------------------------------------------------- */

static isc_producer *register_thread(uint64_t gen)
{
	static _Atomic uint64_t cursor_gen;
	static _Atomic uint32_t cursor;
	static _Atomic int32_t skip; /* events of any thread without a slot; below 0 when two take the last */
	isc_pool *p = isc_image_self.pool;
	isc_slot *slots = ISC_POOL_SLOTS(p);
	uint32_t max = p->max_slots;
	isc_guard guard;
	isc_producer *old, *t = NULL;
	bool refused = false;
	uint32_t at;

	/* A search of all slots takes 9 us, and in vain it would be paid with every event. */
	if (atomic_load_explicit(&cursor_gen, memory_order_relaxed) == gen &&
	    atomic_load_explicit(&skip, memory_order_relaxed) > 0) {
		atomic_fetch_sub_explicit(&skip, 1, memory_order_relaxed);
		atomic_fetch_add_explicit(&p->noslot, 1, memory_order_relaxed);
		return NULL;
	}
	isc_guard_enter(&guard);
	old = isc_producer_self;
	/* A handler that came before the guard has one for this thread. */
	if (old != NULL && old->gen == gen) {
		t = old;
		goto out;
	}
	/* A vfork child borrows its parent's thread, whose id it does not know.
	 * Registered under its own, the slot would be freed below a live thread. */
	if (isc_kernel_pid() != isc_image_self.pid)
		goto out;
	if (atomic_exchange_explicit(&cursor_gen, gen, memory_order_relaxed) != gen) {
		atomic_store_explicit(&cursor, 0, memory_order_relaxed);
		atomic_store_explicit(&skip, 0, memory_order_relaxed);
	}
	at = atomic_load_explicit(&cursor, memory_order_relaxed);
	for (uint32_t k = 0; k < max && t == NULL; k++) {
		uint32_t i = (at + k) % max;
		uint32_t was = ISC_SLOT_FREE;
		isc_producer *its;

		/* The frame below a handler that forked still holds the old one. */
		if (old != NULL && old == isc_producer_at(i) && old->gen != gen)
			continue;
		if (atomic_load_explicit(&slots[i].phase, memory_order_relaxed) != ISC_SLOT_FREE ||
		    (its = producer_for(i, &refused)) == NULL ||
		    !atomic_compare_exchange_strong_explicit(&slots[i].phase, &was, ISC_SLOT_INIT, memory_order_acquire,
							     memory_order_relaxed))
			continue;
		atomic_store_explicit(&cursor, i + 1, memory_order_relaxed);
		t = its;
		memset(t, 0, sizeof(*t));
		t->gen = gen;
		t->stream[1].which = 1;
		t->pool = p;
		t->states = ISC_POOL_STATES(p);
		t->slots = slots;
		t->blocks = (char *)p + p->off_block;
		t->slot = i;
		slots[i].serial = atomic_fetch_add_explicit(&p->serial, 1, memory_order_relaxed) + 1;
		slots[i].birth_ticks = isc_ticks();
		t->tid = isc_kernel_tid();
		atomic_store_explicit(&slots[i].tid, t->tid, memory_order_relaxed);
		for (uint32_t s = 0; s < ISC_STREAMS; s++)
			atomic_store_explicit(&slots[i].upto[s], 0, memory_order_relaxed);
		atomic_store_explicit(&slots[i].deep, 0, memory_order_relaxed);
		atomic_store_explicit(&slots[i].phase, ISC_SLOT_LIVE, memory_order_release);
		isc_producer_self = t;
	}
	if (t == NULL)
		atomic_store_explicit(&skip, SKIP, memory_order_relaxed);
out:
	if (t == NULL)
		atomic_fetch_add_explicit(&p->noslot, 1, memory_order_relaxed);
	isc_guard_leave(&guard);
	return t;
}

/* ---- blocks ----------------------------------------------------------- */

/* The lowest FREE block from the hint on: the touched set stays small. */
static bool take_free(isc_producer *t, uint32_t n, uint64_t mine, uint32_t *index)
{
	uint32_t hint = atomic_load_explicit(&t->pool->hint, memory_order_relaxed);

	for (uint32_t k = 0; k < n; k++) {
		uint32_t i = (hint < n ? hint : 0) + k;
		uint64_t was = 0;

		i = i < n ? i : i - n;
		if (atomic_load_explicit(&t->states[i], memory_order_relaxed) == ISC_BLOCK_FREE &&
		    atomic_compare_exchange_strong_explicit(&t->states[i], &was, mine, memory_order_acquire,
							    memory_order_relaxed)) {
			atomic_store_explicit(&t->pool->hint, i + 1, memory_order_relaxed);
			*index = i;
			return true;
		}
	}
	return false;
}

/* The stream's own oldest FULL block, or anybody's when it owns none: a new
 * thread must get in beside one that holds the whole pool.  Never a pinned one. */
static bool take_oldest(isc_producer *t, const isc_stream *s, uint32_t n, uint64_t mine, uint32_t *index)
{
	uint64_t owner = ISC_STATE_SLOT(t->slot) | (s->which ? ISC_STATE_STREAM : 0);

	for (int tries = 0; tries < 4; tries++) {
		uint64_t own = UINT64_MAX, any = UINT64_MAX;
		uint32_t own_at = 0, any_at = 0;

		for (uint32_t i = 0; i < n; i++) {
			uint64_t word = atomic_load_explicit(&t->states[i], memory_order_relaxed);

			if ((word & (ISC_BLOCK_PHASE | ISC_STATE_PIN)) != ISC_BLOCK_FULL)
				continue;
			if (word < any) {
				any = word;
				any_at = i;
			}
			if ((word & ISC_STATE_OWNER) == owner && word < own) {
				own = word;
				own_at = i;
			}
		}
		if (own == UINT64_MAX) {
			own = any;
			own_at = any_at;
		}
		if (own == UINT64_MAX)
			return false;
		ISC_WINDOW(5);
		if (stale(t))
			return false;
		if (atomic_compare_exchange_strong_explicit(&t->states[own_at], &own, mine, memory_order_acquire,
							    memory_order_relaxed)) {
			*index = own_at;
			return true;
		}
	}
	return false;
}

static bool take(isc_producer *t, isc_stream *s)
{
	uint32_t n = atomic_load_explicit(&t->pool->nblocks, memory_order_acquire);
	isc_slot *slot = &t->slots[t->slot];
	uint64_t seq, mine;
	isc_block *b;
	uint32_t i = 0;

	if (stale(t))
		return false;
	seq = atomic_fetch_add_explicit(&t->pool->seq, 1, memory_order_acq_rel);
	mine = ISC_STATE(seq, t->slot, s->which, ISC_BLOCK_INIT);
	if (!take_free(t, n, mine, &i) && !take_oldest(t, s, n, mine, &i))
		return false;
	ISC_WINDOW(5);
	b = (isc_block *)(t->blocks + (size_t)i * ISC_BLOCK_SIZE);
	atomic_store_explicit(&b->committed, 0, memory_order_relaxed);
	b->first = s->next;
	b->seq = seq;
	b->serial = slot->serial;
	b->tid = atomic_load_explicit(&slot->tid, memory_order_relaxed);
	b->stream = s->which;
	atomic_store_explicit(&t->states[i], ISC_STATE(seq, t->slot, s->which, ISC_BLOCK_WRITING),
			      memory_order_release);
	/* Abandoned before here by siglongjmp: an empty block is held until the thread dies. */
	atomic_signal_fence(memory_order_seq_cst);
	s->block = b;
	s->index = i;
	s->commit = 0;
	atomic_signal_fence(memory_order_seq_cst);
	s->limit = ISC_BLOCK_SLOTS;
	return true;
}

/* The number first, then FULL: who finds the block closed finds where it ends. */
static void close_block(isc_producer *t, isc_stream *s)
{
	uint32_t index = s->index;

	s->next = s->block->first + (s->commit >> 32);
	atomic_store_explicit(&t->slots[t->slot].upto[s->which], s->next, memory_order_release);
	s->limit = 0;
	s->block = NULL;
	s->commit = 0;
	ISC_WINDOW(5);
	atomic_signal_fence(memory_order_seq_cst);
	if (!stale(t))
		atomic_fetch_or_explicit(&t->states[index], 1, memory_order_release);
}

__attribute__((noinline, cold)) void isc_stream_refill(isc_producer *t, isc_stream *s, const isc_parcel *parcel)
{
	/* Nobody reads what a measurement writes: its one block begins again. */
	if (t->pool == NULL) {
		s->commit = 0;
		return;
	}
	if (s->block != NULL)
		close_block(t, s);
	if (parcel->slots <= ISC_BLOCK_SLOTS && s->skip == 0 && take(t, s)) {
		isc_parcel_copy(s->block->record, parcel);
		isc_stream_publish(t, s, s->block, s->commit + ISC_COMMIT_ONE(parcel->slots));
		return;
	}
	/* Numbered and dropped: the recorder sees a gap. */
	s->skip = s->skip != 0 ? s->skip - 1 : SKIP;
	s->next++;
	if (!stale(t))
		atomic_store_explicit(&t->slots[t->slot].upto[s->which], s->next, memory_order_release);
}

__attribute__((noinline, cold)) void isc_stream_refill1(isc_producer *t, isc_stream *s, uint64_t ticks, uint64_t word)
{
	isc_parcel parcel = {.head = {ticks, word}, .slots = 1};

	isc_stream_refill(t, s, &parcel);
}

/* ---- nested and first writes ------------------------------------------ */

/*
 * Is the frame in busy gone?  Then we stand at its depth or above it, and not on
 * the alternate stack, whose addresses say nothing.  Deeper writers count as
 * nested until someone shallower writes.
 */
static bool dead_frame(uintptr_t busy, uintptr_t frame)
{
	int error = errno;
	bool dead = false;
	stack_t now;

	if (frame >= busy && syscall(SYS_sigaltstack, NULL, &now) == 0)
		dead = (now.ss_flags & SS_ONSTACK) == 0;
	errno = error;
	return dead;
}

static void put(isc_producer *t, isc_stream *s, const isc_parcel *parcel, uintptr_t frame)
{
	uint64_t commit;

	atomic_store_explicit(&s->busy, frame, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
	commit = s->commit;
	if ((uint32_t)commit + parcel->slots > s->limit) {
		isc_stream_refill(t, s, parcel);
	} else {
		isc_parcel_copy(&s->block->record[(uint32_t)commit], parcel);
		if (!isc_stream_publish(t, s, s->block, commit + ISC_COMMIT_ONE(parcel->slots)))
			return;
	}
	atomic_signal_fence(memory_order_seq_cst);
	atomic_store_explicit(&s->busy, 0, memory_order_relaxed);
}

__attribute__((noinline)) void isc_stream_slow(const isc_parcel *parcel, uintptr_t frame)
{
	isc_producer *t = isc_producer_self;
	uint64_t gen;

	if (!isc_image_open_for_event())
		return;
	gen = atomic_load_explicit(&isc_wiped_page->gen, memory_order_acquire);
	if (t == NULL || t->gen != gen)
		t = register_thread(gen);
	if (t == NULL)
		return;
	for (uint32_t k = 0; k < ISC_STREAMS; k++) {
		uintptr_t busy = atomic_load_explicit(&t->stream[k].busy, memory_order_relaxed);

		if (busy == 0 || dead_frame(busy, frame)) {
			put(t, &t->stream[k], parcel, frame);
			return;
		}
	}
	atomic_fetch_add_explicit(&t->slots[t->slot].deep, 1, memory_order_relaxed);
}

__attribute__((noinline, cold)) void isc_stream_slow1(uint64_t ticks, uint64_t word, uintptr_t frame)
{
	isc_parcel parcel = {.head = {ticks, word}, .slots = 1};

	isc_stream_slow(&parcel, frame);
}
