/*
 * threads.c - the threads behind the slots: who they are, when they die,
 * and what became of their events.
 *
 * A slot is freed only when its thread is gone for certain, and a whole read
 * has followed: otherwise two threads would number one stream.
 */
#include "session/drain/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PID_TRIES 16u

static void tell(isc_drain *d, const isc_drain_pool *p, uint32_t thread, uint8_t stream, const isc_drain_stream *s,
		 bool final)
{
	d->sink.account(d->sink.self, p->process, thread, stream, s->expected, s->stored, s->lost, final);
}

/* Whatever was numbered and not seen by now is lost. */
static void settle(isc_drain_stream *s, uint64_t upto)
{
	if (upto > s->expected && upto - s->expected < 1ull << 62) {
		s->lost += upto - s->expected;
		s->expected = upto;
	}
}

isc_drain_thread *isc_drain_thread_of(isc_drain *d, isc_drain_pool *p, uint32_t slot, uint64_t serial, uint32_t tid)
{
	isc_drain_thread *t = &p->threads[slot];
	isc_slot *shared = &p->slots[slot];
	uint64_t birth = 0;
	bool dead = t->dead;

	if (t->serial == serial)
		return t;
	if (t->serial != 0 && t->index != 0) /* by a wild write only: a freed slot has no serial */
		for (uint8_t k = 0; k < ISC_STREAMS; k++)
			tell(d, p, t->index, k, &t->stream[k], true);
	memset(t, 0, sizeof(*t));
	t->serial = serial;
	t->dead = dead;
	if (isc_drain_once64(&shared->serial) == serial) {
		tid = atomic_load_explicit(&shared->tid, memory_order_relaxed);
		birth = isc_drain_once64(&shared->birth_ticks);
	}
	t->index = d->sink.thread(d->sink.self, p->process, tid, serial, birth);
	for (uint8_t k = 0; k < ISC_STREAMS && d->options.takeover && t->index != 0; k++) {
		isc_drain_stream *s = &t->stream[k];

		s->expected = d->sink.resume(d->sink.self, p->process, t->index, k);
		s->stored = d->sink.resume_stored != NULL ? d->sink.resume_stored(d->sink.self, p->process, t->index, k)
							  : s->expected;
		s->lost = s->expected - s->stored;
	}
	return t;
}

uint32_t isc_drain_threads_alive(const isc_drain_pool *p)
{
	uint64_t serials = atomic_load_explicit(&p->map->serial, memory_order_relaxed);
	uint64_t alive = serials > p->slots_freed ? serials - p->slots_freed : 0;

	return alive < p->max_slots ? (uint32_t)alive : p->max_slots;
}

uint32_t isc_drain_slots_end(const isc_drain_pool *p)
{
	/* They are taken in turn from 0, one serial each; a fork child passes over one. */
	uint64_t end = atomic_load_explicit(&p->map->serial, memory_order_acquire);

	return end < p->max_slots - 1 ? (uint32_t)end + 1 : p->max_slots;
}

/*
 * The pid in the pool is the process's own view.  It is ours too only if our
 * /proc shows that process with this very file mapped; in another PID namespace
 * a stranger has the number, and none of his threads would be found alive.
 */
static bool pid_is_ours(isc_drain_pool *p)
{
	char path[64], line[512];
	FILE *maps;

	if (p->pid_known || p->pid_tries >= PID_TRIES)
		return p->pid_known;
	p->pid_tries++;
	snprintf(path, sizeof(path), "/proc/%u/maps", p->pid);
	maps = fopen(path, "re");
	if (maps == NULL)
		return false;
	while (!p->pid_known && fgets(line, sizeof(line), maps) != NULL)
		p->pid_known = strstr(line, p->name) != NULL;
	fclose(maps);
	return p->pid_known;
}

typedef struct living {
	uint32_t tid;
	uint32_t slot;
	uint64_t serial;
} living;

static int by_tid(const void *a, const void *b)
{
	const living *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->serial < y->serial ? -1 : x->serial > y->serial;
}

static bool thread_is_gone(const isc_drain_pool *p, uint32_t tid)
{
	return syscall(SYS_tgkill, (pid_t)p->pid, (pid_t)tid, 0) != 0 && errno == ESRCH;
}

static void check_threads(isc_drain_pool *p)
{
	uint32_t end = isc_drain_slots_end(p);
	living *all = malloc((end + 1) * sizeof(*all));
	uint32_t n = 0;

	if (all == NULL)
		return;
	for (uint32_t i = 0; i < end; i++)
		if (atomic_load_explicit(&p->slots[i].phase, memory_order_acquire) == ISC_SLOT_LIVE)
			all[n++] = (living){atomic_load_explicit(&p->slots[i].tid, memory_order_relaxed), i,
					    isc_drain_once64(&p->slots[i].serial)};
	if (n > 1)
		qsort(all, n, sizeof(*all), by_tid);
	for (uint32_t i = 0; i < n; i++) {
		/* A thread has one slot: where two claim an id, the older owner is dead and its id used again. */
		bool older = i + 1 < n && all[i + 1].tid == all[i].tid;

		if (older || thread_is_gone(p, all[i].tid)) {
			p->threads[all[i].slot].dead = true;
			p->any_dead = true;
		}
	}
	free(all);
}

void isc_drain_deaths_learn(isc_drain *d, isc_drain_pool *p)
{
	uint32_t alive = isc_drain_threads_alive(p);

	if (d->sink.gone(d->sink.self, p->process)) {
		p->gone = p->any_dead = true;
		for (uint32_t i = 0; i < p->max_slots; i++)
			p->threads[i].dead = true;
	} else if (alive != 0 && (d->cycle % 8 == 0 || alive > p->max_slots / 4 * 3) && pid_is_ours(p)) {
		check_threads(p);
	}
}

static void account_slot(isc_drain *d, isc_drain_pool *p, uint32_t slot, bool final)
{
	isc_slot *shared = &p->slots[slot];
	isc_drain_thread *t;
	uint64_t serial = isc_drain_once64(&shared->serial);
	isc_drain_stream deep = {0};

	if (serial == 0)
		return;
	t = isc_drain_thread_of(d, p, slot, serial, atomic_load_explicit(&shared->tid, memory_order_relaxed));
	for (uint8_t k = 0; k < ISC_STREAMS; k++) {
		settle(&t->stream[k], atomic_load_explicit(&shared->upto[k], memory_order_acquire));
		if (t->index != 0 && (k == 0 || t->stream[k].expected != 0))
			tell(d, p, t->index, k, &t->stream[k], final);
		t->stream[k].told = t->stream[k].lost;
	}
	deep.expected = deep.lost = atomic_load_explicit(&shared->deep, memory_order_relaxed);
	if (t->index != 0 && deep.lost != 0)
		tell(d, p, t->index, ISC_STREAMS, &deep, final);
}

static void account_noslot(isc_drain *d, isc_drain_pool *p, bool final)
{
	isc_drain_stream s = {0};

	s.expected = s.lost = atomic_load_explicit(&p->map->noslot, memory_order_relaxed);
	if (s.lost != p->noslot_told || (final && s.lost != 0))
		tell(d, p, 0, 0, &s, final);
	p->noslot_told = s.lost;
}

void isc_drain_deaths_close(isc_drain *d, isc_drain_pool *p)
{
	uint32_t end = p->gone ? p->max_slots : isc_drain_slots_end(p);

	for (uint32_t i = 0; i < end && p->any_dead; i++) {
		if (!p->threads[i].dead)
			continue;
		if (atomic_load_explicit(&p->slots[i].phase, memory_order_acquire) == ISC_SLOT_LIVE) {
			account_slot(d, p, i, true);
			atomic_store_explicit(&p->slots[i].phase, ISC_SLOT_FREE, memory_order_release);
			p->slots_freed++;
		}
		memset(&p->threads[i], 0, sizeof(p->threads[i]));
	}
	p->any_dead = false;
	if (p->gone)
		account_noslot(d, p, true);
}

void isc_drain_account(isc_drain *d, isc_drain_pool *p, bool last)
{
	uint32_t end = isc_drain_slots_end(p);

	for (uint32_t i = 0; i < end; i++) {
		isc_drain_thread *t = &p->threads[i];

		if (last && atomic_load_explicit(&p->slots[i].phase, memory_order_acquire) == ISC_SLOT_LIVE)
			account_slot(d, p, i, false);
		else if (t->serial != 0 && t->index != 0)
			for (uint8_t k = 0; k < ISC_STREAMS; k++)
				if (t->stream[k].lost != t->stream[k].told) {
					tell(d, p, t->index, k, &t->stream[k], false);
					t->stream[k].told = t->stream[k].lost;
				}
	}
	account_noslot(d, p, false);
}
