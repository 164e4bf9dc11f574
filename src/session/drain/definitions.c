/*
 * definitions.c - definitions, in the order of their places.
 *
 * Every head below the tail has a length, so the walk never stops at a
 * definition that its writer has not finished: its place is remembered and
 * looked at again.
 */
#include "session/drain/pool.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define ANCESTORS_MAX 64u
#define GROW_LEAST 4096u

static const char *defs_name(const isc_drain_pool *p, char *to)
{
	strcpy(to, p->name);
	to[0] = 'd';
	return to;
}

static int open_file(isc_drain *d, const isc_drain_pool *p)
{
	char name[sizeof(p->name)];

	return isc_seal_open(d->dir, defs_name(p, name), offsetof(isc_defs, seal), &d->seal, NULL);
}

void isc_drain_defs_open(isc_drain *d, isc_drain_pool *p)
{
	isc_drain_defs *defs = &p->defs;
	struct stat sb;
	isc_defs h;
	int fd = open_file(d, p);

	if (fd < 0 || fstat(fd, &sb) < 0)
		goto refuse;
	if (sb.st_size < (off_t)sizeof(h) || pread(fd, &h, sizeof(h), 0) != (ssize_t)sizeof(h) ||
	    atomic_load_explicit(&h.magic, memory_order_relaxed) != ISC_DEFS_MAGIC || h.gen != p->gen ||
	    h.base != p->defs_base * 16 || h.size < sizeof(h) || h.size > UINT32_MAX)
		goto refuse;
	defs->map = ISC_DRAIN_MMAP(NULL, h.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (defs->map == MAP_FAILED) {
		defs->map = NULL;
		goto refuse;
	}
	close(fd);
	defs->size = h.size;
	defs->base = h.base;
	defs->cursor = sizeof(isc_defs);
	defs->backed = atomic_load_explicit(&defs->map->backed, memory_order_acquire);
	if (defs->backed > (uint64_t)sb.st_size)
		defs->backed = (uint64_t)sb.st_size;
	if (defs->backed > defs->size)
		defs->backed = defs->size;
	d->stats.bytes += defs->backed;
	return;
refuse:
	if (fd >= 0)
		close(fd);
	d->stats.damaged++;
}

void isc_drain_defs_close(isc_drain *d, isc_drain_pool *p)
{
	isc_drain_defs *defs = &p->defs;

	if (defs->map != NULL) {
		d->stats.bytes -= defs->backed;
		ISC_DRAIN_MUNMAP(defs->map, defs->size);
	}
	free(defs->waiting);
}

static uint64_t head_at(const isc_drain_defs *defs, uint64_t at)
{
	return atomic_load_explicit(&((isc_def *)((char *)defs->map + at))->head, memory_order_acquire);
}

/* at + isc_def_bytes(len) was checked.  The sink gets a copy that stands still. */
static void give(isc_drain *d, isc_drain_pool *p, uint64_t at, uint64_t head)
{
	const isc_def *def = (const isc_def *)((char *)p->defs.map + at);
	uint64_t id = (p->defs.base + at) / 16;
	uint32_t len = ISC_DEF_LEN(head);

	if (id > UINT32_MAX)
		return;
	memcpy(d->def_copy, def->data, len);
	d->sink.define(d->sink.self, p->process, (uint32_t)id, ISC_DEF_TYPE(head), d->def_copy, len);
}

static bool wait_for(isc_drain_defs *defs, uint64_t at)
{
	if (defs->n_waiting == defs->room_waiting) {
		size_t room = defs->room_waiting != 0 ? defs->room_waiting * 2 : 16;
		uint64_t *grown = realloc(defs->waiting, room * sizeof(*grown));

		if (grown == NULL)
			return false;
		defs->waiting = grown;
		defs->room_waiting = room;
	}
	defs->waiting[defs->n_waiting++] = at;
	return true;
}

static void read_waiting(isc_drain *d, isc_drain_pool *p, uint64_t tail)
{
	isc_drain_defs *defs = &p->defs;
	size_t kept = 0;

	for (size_t i = 0; i < defs->n_waiting; i++) {
		uint64_t at = defs->waiting[i];
		uint64_t head = head_at(defs, at);
		uint32_t len = ISC_DEF_LEN(head);

		if (ISC_DEF_STATE(head) == ISC_DEF_RESERVED)
			defs->waiting[kept++] = at;
		else if (ISC_DEF_STATE(head) == ISC_DEF_COMMITTED && len <= ISC_DEF_MAX &&
			 at + isc_def_bytes(len) <= tail)
			give(d, p, at, head);
		else
			d->stats.damaged++;
	}
	defs->n_waiting = kept;
}

static void read_own(isc_drain *d, isc_drain_pool *p)
{
	isc_drain_defs *defs = &p->defs;
	uint64_t tail, lost;

	if (defs->map == NULL)
		return;
	tail = atomic_load_explicit(&defs->map->tail, memory_order_acquire);
	if (tail > defs->backed)
		tail = defs->backed;
	if (defs->n_waiting != 0)
		read_waiting(d, p, tail);
	while (!defs->damaged && defs->cursor + sizeof(isc_def) <= tail) {
		uint64_t head = head_at(defs, defs->cursor);
		uint32_t len = ISC_DEF_LEN(head);
		uint64_t need = isc_def_bytes(len);

		if (len > ISC_DEF_MAX || defs->cursor + need > tail ||
		    (ISC_DEF_STATE(head) != ISC_DEF_COMMITTED && ISC_DEF_STATE(head) != ISC_DEF_RESERVED)) {
			defs->damaged = true; /* somebody wrote over them: the rest cannot be found */
			d->stats.damaged++;
			break;
		}
		if (ISC_DEF_STATE(head) == ISC_DEF_COMMITTED)
			give(d, p, defs->cursor, head);
		else if (!wait_for(defs, defs->cursor))
			break; /* no memory: from here again next time */
		defs->cursor += need;
	}
	lost = atomic_load_explicit(&defs->map->lost, memory_order_relaxed);
	if (lost > defs->told_lost) {
		d->stats.defs_lost += lost - defs->told_lost;
		defs->told_lost = lost;
	}
}

void isc_drain_defs_read(isc_drain *d, isc_drain_pool *p)
{
	/* Ids from before a fork are the parent's, who may not have been read yet. */
	for (unsigned i = 0; i < ANCESTORS_MAX && p != NULL; i++) {
		uint64_t *parent = p->parent_gen != 0 ? isc_hashmap_find(&d->by_gen, p->parent_gen) : NULL;

		if (p->process != 0)
			read_own(d, p);
		p = parent != NULL && *parent > 1 ? (isc_drain_pool *)(uintptr_t)*parent : NULL;
	}
}

void isc_drain_defs_grow(isc_drain *d, isc_drain_pool *p)
{
	isc_drain_defs *defs = &p->defs;
	uint64_t tail, want;
	int fd;

	if (defs->map == NULL || p->grow_pause > 0)
		return;
	tail = atomic_load_explicit(&defs->map->tail, memory_order_relaxed);
	if (tail < defs->backed / 2 || defs->backed >= defs->size)
		return;
	want = defs->backed * 4 < defs->size ? defs->backed * 4 : defs->size;
	while (want > defs->backed && !isc_drain_room(d, want - defs->backed))
		want = (defs->backed + (want - defs->backed) / 2) & ~(uint64_t)(GROW_LEAST - 1);
	if (want <= defs->backed)
		return;
	fd = open_file(d, p);
	if (fd < 0 || posix_fallocate(fd, 0, (off_t)want) != 0) {
		d->stats.grow_failed++;
		p->grow_pause = 64;
	} else {
		d->stats.bytes += want - defs->backed;
		defs->backed = want;
		atomic_store_explicit(&defs->map->backed, want, memory_order_release);
	}
	if (fd >= 0)
		close(fd);
}
