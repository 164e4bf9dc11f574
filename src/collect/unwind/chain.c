#include "collect/unwind/walk.h"

#include <stdatomic.h>

#define LINKS 16384u	  /* beginnings; 256 KiB, touched as it fills; a power of two */
#define PLACES 32768u	  /* frames; 1 MiB, touched as it fills */
#define LONGEST 240	  /* frames of one chain */
#define AT_BITS 20	  /* in a link: where its frames begin; the rest is how many */
#define LINE 64u	  /* bytes that come at once */
#define NOWHERE INT32_MIN /* instead of a distance */

/* key ^ data: what two threads wrote half each is a miss. */
static struct {
	_Atomic uint64_t key, data;
} links[LINKS];

/* Frames of chains, newest first.  Written once in an epoch. */
static struct {
	_Atomic uint64_t ip;
	_Atomic uint64_t key;  /* of this frame and those behind it; as of the next one: it does not count */
	_Atomic uint64_t from; /* from the target down, cfa:32 | rbp of who called the last frame:32 */
	_Atomic uint64_t bp; /* likewise, rbp in this frame:32 | where it was saved:32; 0: its rule has no use for it */
} places[PLACES];

/* Odd while everything is being voided. */
static _Atomic uint32_t epoch = 2;
static _Atomic uint32_t generation; /* of modules, that the frames are of; 0: none, or all is to be voided */
static _Atomic bool writing;
static uint32_t used;

static uint64_t link_key(uintptr_t ip, uintptr_t distance)
{
	uint64_t h = (ip ^ distance * 0x9e3779b97f4a7c15ull) * 0xff51afd7ed558ccdull;

	h ^= h >> 32;
	return h != 0 ? h : 1;
}

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0xff51afd7ed558ccdull;
	h ^= h >> 32;
	return h != 0 ? h : 1;
}

static bool begin_writing(void)
{
	return !atomic_exchange_explicit(&writing, true, memory_order_acquire);
}

static void end_writing(void)
{
	atomic_store_explicit(&writing, false, memory_order_release);
}

/* While writing. */
static void void_all(uint32_t of_generation)
{
	atomic_fetch_add_explicit(&epoch, 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	for (uint32_t i = 0; i < LINKS; i++) {
		atomic_store_explicit(&links[i].data, 0, memory_order_relaxed);
		atomic_store_explicit(&links[i].key, 0, memory_order_relaxed);
	}
	used = 0;
	atomic_store_explicit(&generation, of_generation, memory_order_relaxed);
	atomic_fetch_add_explicit(&epoch, 1, memory_order_release);
}

void isc_chain_begin(isc_unwind *u)
{
	uint32_t now = isc_unwind_generation();

	if (atomic_load_explicit(&generation, memory_order_relaxed) != now && begin_writing()) {
		void_all(now);
		end_writing();
	}
	u->chain_epoch = atomic_load_explicit(&epoch, memory_order_acquire);
	/* Odd: somebody is at it, and this walk goes without. */
	if (atomic_load_explicit(&generation, memory_order_relaxed) != now)
		u->chain_epoch |= 1;
}

void isc_chain_forked(void)
{
	end_writing();
	if (atomic_load(&epoch) & 1) {
		atomic_store(&generation, 0);
		atomic_fetch_add(&epoch, 1);
	}
}

static uint32_t slot_of(uint64_t key)
{
	return (uint32_t)(key >> 20) & (LINKS - 1);
}

/* at:20 | count:12; 0: not known. */
static uint32_t find_link(uint64_t key)
{
	uint32_t at = slot_of(key);
	uint64_t data = atomic_load_explicit(&links[at].data, memory_order_relaxed);

	return data != 0 && (atomic_load_explicit(&links[at].key, memory_order_relaxed) ^ data) == key ? (uint32_t)data
												       : 0;
}

void isc_chain_fetch_link(uintptr_t ip, uintptr_t sp, uintptr_t target)
{
	__builtin_prefetch(&links[slot_of(link_key(ip, target - sp))]);
}

void isc_chain_fetch_frames(uintptr_t ip, uintptr_t sp, uintptr_t target)
{
	uint32_t data = find_link(link_key(ip, target - sp)), at = data & ((1u << AT_BITS) - 1),
		 past = at + (data >> AT_BITS);

	for (; at < past && at < PLACES; at += LINE / (uint32_t)sizeof(places[0]))
		__builtin_prefetch(&places[at]);
}

static bool still_true(const isc_unwind *u)
{
	atomic_thread_fence(memory_order_acquire);
	return (u->chain_epoch & 1) == 0 && atomic_load_explicit(&epoch, memory_order_relaxed) == u->chain_epoch;
}

bool isc_chain_is_known(const isc_unwind *u, uintptr_t ip, uintptr_t sp, uintptr_t target)
{
	return u->key != NULL && target > sp && find_link(link_key(ip, target - sp)) != 0;
}

static uintptr_t ip_at(uint32_t at)
{
	return (uintptr_t)atomic_load_explicit(&places[at].ip, memory_order_relaxed);
}

static uintptr_t below(uintptr_t target, uint64_t distance)
{
	return target - (uintptr_t)(intptr_t)(int32_t)(uint32_t)distance;
}

static uintptr_t cfa_at(uint32_t at, uintptr_t target)
{
	return below(target, atomic_load_explicit(&places[at].from, memory_order_relaxed) >> 32);
}

/* Was rbp in this frame what it is now?  Of a chain that begins behind the frame which saved it, that is rbp as it
 * begins. */
static bool same_bp(const isc_unwind *u, uint64_t check, uintptr_t sp, uintptr_t bp, uintptr_t target)
{
	uintptr_t saved = below(target, check);

	if ((int32_t)(uint32_t)check != NOWHERE && saved >= sp)
		bp = isc_unwind_on_stack(u, saved) ? isc_unwind_word(saved) : 0;
	return bp == below(target, check >> 32);
}

/* Would CFI lead along these frames again? */
static bool matches(const isc_unwind *u, uint32_t at, uint32_t count, uintptr_t sp, uintptr_t bp, uintptr_t target)
{
	uintptr_t differs = 0;

	for (uint32_t i = 0; i < count; i++) {
		uintptr_t cfa = cfa_at(at + i, target);
		uint64_t check = atomic_load_explicit(&places[at + i].bp, memory_order_relaxed);

		if (check != 0 && !same_bp(u, check, sp, bp, target))
			return false;
		if (i + 1 == count)
			break;
		if (cfa <= sp || !isc_unwind_on_stack(u, cfa - 8))
			return false;
		differs |= isc_unwind_word(cfa - 8) ^ ip_at(at + i + 1);
	}
	return differs == 0;
}

bool isc_chain_follow(const isc_unwind *u, uintptr_t ip, uintptr_t sp, uintptr_t bp, uintptr_t target, isc_chain *out)
{
	uint32_t data, at, count, saved;

	if (u->key == NULL || target <= sp || (u->chain_epoch & 1) != 0)
		return false;
	data = find_link(link_key(ip, target - sp));
	at = data & ((1u << AT_BITS) - 1);
	count = data >> AT_BITS;
	if (count == 0 || at + count > PLACES || ip_at(at) != ip || !matches(u, at, count, sp, bp, target))
		return false;
	saved = (uint32_t)atomic_load_explicit(&places[at].from, memory_order_relaxed);
	*out = (isc_chain){.at = at,
			   .count = count,
			   .key = atomic_load_explicit(&places[at].key, memory_order_relaxed),
			   .cfa = cfa_at(at + count - 1, target),
			   .bp = (int32_t)saved != NOWHERE ? below(target, saved) : 0};
	if (!still_true(u))
		return false;
	if (target == u->high)
		return out->cfa == u->high ||
		       (isc_unwind_on_stack(u, out->cfa - 8) && isc_unwind_word(out->cfa - 8) == 0);
	return isc_unwind_on_stack(u, out->cfa - 8) && (out->bp == 0 || isc_unwind_on_stack(u, out->bp));
}

/* ---- keeping ----------------------------------------------------------------- */

static bool fits(uintptr_t target, uintptr_t at)
{
	intptr_t d = (intptr_t)(target - at);

	return d > INT32_MIN && d <= INT32_MAX;
}

static uint32_t distance_to(uintptr_t target, uintptr_t at)
{
	return (uint32_t)(int32_t)(intptr_t)(target - at);
}

/* A frame whose place says nothing about that of the next one cannot be part of a chain. */
static bool is_kept(const isc_native_frame *f, uintptr_t target)
{
	return f->module >= 0 &&
	       (f->flags & (ISC_NATIVE_CALLER | ISC_NATIVE_LATE | ISC_NATIVE_CHAIN)) == ISC_NATIVE_CALLER &&
	       f->saved != 1 && fits(target, f->cfa) && (f->saved == 0 || fits(target, f->saved)) &&
	       (f->bp == 0 || fits(target, f->bp));
}

static void put_link(uint64_t key, uint32_t at, uint32_t count)
{
	uint32_t slot = slot_of(key);
	uint64_t data = (uint64_t)1 << 32 | count << AT_BITS | at;

	atomic_store_explicit(&links[slot].data, data, memory_order_relaxed);
	atomic_store_explicit(&links[slot].key, key ^ data, memory_order_relaxed);
}

/* Frames of another chain, which is the older part of this one.  saved: where rbp was saved last before them. */
static void copy_tail(uint32_t to, uint32_t of, uint32_t count, uint32_t saved)
{
	for (uint32_t i = 0; i < count; i++) {
		uint64_t check = atomic_load_explicit(&places[of + i].bp, memory_order_relaxed);

		if (check != 0 && (int32_t)(uint32_t)check == NOWHERE)
			check = check >> 32 << 32 | saved;
		atomic_store_explicit(&places[to + i].ip, ip_at(of + i), memory_order_relaxed);
		atomic_store_explicit(&places[to + i].key,
				      atomic_load_explicit(&places[of + i].key, memory_order_relaxed),
				      memory_order_relaxed);
		atomic_store_explicit(&places[to + i].from,
				      atomic_load_explicit(&places[of + i].from, memory_order_relaxed),
				      memory_order_relaxed);
		atomic_store_explicit(&places[to + i].bp, check, memory_order_relaxed);
	}
}

/* What each frame's rbp was, from the newest on; where it was saved last. */
static uint32_t put_checks(const isc_unwind *u, int first, int past, uint32_t at, uintptr_t target)
{
	uint32_t saved = (uint32_t)NOWHERE;

	for (int i = first; i < past; i++) {
		const isc_native_frame *f = &u->frame[i];
		uint64_t check = f->bp != 0 ? (uint64_t)distance_to(target, f->bp) << 32 | saved : 0;

		atomic_store_explicit(&places[at + (uint32_t)(i - first)].bp, check, memory_order_relaxed);
		if (f->saved != 0)
			saved = distance_to(target, f->saved);
	}
	return saved;
}

/* From the oldest on: what a frame is known by holds all behind it, and so does where rbp was saved last. */
static void put_frames(const isc_unwind *u, int first, int past, uint32_t at, uint32_t tail, uintptr_t target)
{
	uint32_t behind = at + (uint32_t)(past - first), saved = (uint32_t)NOWHERE;
	uint64_t key = 0;

	if (tail > 0) {
		key = atomic_load_explicit(&places[behind].key, memory_order_relaxed);
		saved = (uint32_t)atomic_load_explicit(&places[behind].from, memory_order_relaxed);
	}
	for (int i = past - 1; i >= first; i--) {
		const isc_native_frame *f = &u->frame[i];
		uint32_t place = at + (uint32_t)(i - first);
		uint64_t own = u->key(u, f);

		if (own != 0 && own != ISC_UNWIND_APART)
			key = mix(key, own);
		if ((int32_t)saved == NOWHERE && f->saved != 0)
			saved = distance_to(target, f->saved);
		atomic_store_explicit(&places[place].ip, f->ip, memory_order_relaxed);
		atomic_store_explicit(&places[place].key, key, memory_order_relaxed);
		atomic_store_explicit(&places[place].from, (uint64_t)distance_to(target, f->cfa) << 32 | saved,
				      memory_order_relaxed);
		put_link(link_key(f->ip, target - f->sp), place, (uint32_t)(past - i) + tail);
	}
}

/* The newest frame from which on all can be kept.  end: the last one is the interpreter's, at its anchor. */
static int first_kept(const isc_unwind *u, int first, int past, uintptr_t target, bool end)
{
	int i = past;

	while (i > first && is_kept(&u->frame[i - 1], target) &&
	       ((end && i == past) || u->key(u, &u->frame[i - 1]) != ISC_UNWIND_APART))
		i--;
	return i;
}

void isc_chain_keep(const isc_unwind *u, int first, uintptr_t target)
{
	int past = u->n;
	const isc_native_frame *last = &u->frame[u->n - 1];
	uint32_t tail, need;

	if (u->key == NULL || (u->chain_epoch & 1) != 0 || u->n <= first)
		return;
	tail = (last->flags & ISC_NATIVE_CHAIN) != 0 ? last->count : 0;
	past -= tail > 0;
	first = first_kept(u, first, past, target, tail == 0 && target != u->high);
	if (first >= past || past - first + (int)tail > LONGEST || !begin_writing())
		return;
	need = (uint32_t)(past - first) + tail;
	if (!still_true(u)) {
		end_writing();
		return;
	}
	/* Not at once: this walk may still need what it has found. */
	if (used + need > PLACES) {
		atomic_store_explicit(&generation, 0, memory_order_relaxed);
		end_writing();
		return;
	}
	copy_tail(used + (uint32_t)(past - first), last->chain, tail, put_checks(u, first, past, used, target));
	put_frames(u, first, past, used, tail, target);
	used += need;
	end_writing();
}

int isc_chain_frames(const isc_unwind *u, const isc_native_frame *chain, uintptr_t *ips, int max)
{
	uint64_t behind;
	int n = 0;

	for (uint32_t i = 0; i < chain->count && n < max; i++) {
		uint64_t key = atomic_load_explicit(&places[chain->chain + i].key, memory_order_relaxed);

		behind = i + 1 < chain->count
				 ? atomic_load_explicit(&places[chain->chain + i + 1].key, memory_order_relaxed)
				 : 0;
		if (key != behind)
			ips[n++] = ip_at(chain->chain + i);
	}
	return still_true(u) ? n : -1;
}
