/* drain_pool.c - open, check, grow and close one pool. */
#include "session/drain/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Larger than any session asks for; keeps sums far from overflow. */
#define BLOCKS_MAX (1u << 20)
#define GROW_STEP_BYTES (8u << 20) /* one cycle's worth: 3 ms */
#define GROW_PAUSE 64u
#define GROW_TARGET_BYTES (64u << 20)
#define BLOCKS_PER_THREAD 4u

static bool header_makes_sense(const isc_pool *h, uint64_t file_size, uint32_t pid, uint64_t gen)
{
	if (h->abi != ISC_RT_ABI || h->block_size != ISC_BLOCK_SIZE || h->pid != pid || h->gen != gen || gen == 0)
		return false;
	if (h->max_blocks == 0 || h->max_blocks > BLOCKS_MAX || h->max_slots == 0 || h->max_slots > ISC_MAX_SLOTS)
		return false;
	/* There is one way to lay these out, so anything else is not ours. */
	return h->off_state == sizeof(isc_pool) && h->off_slot == isc_pool_off_slot(h->max_blocks) &&
	       h->off_block == isc_pool_off_block(h->max_blocks, h->max_slots) &&
	       h->size == isc_pool_backed_bytes(h->max_blocks, h->max_slots, h->max_blocks) &&
	       file_size >= h->off_block && h->defs_base <= UINT32_MAX && h->parent_gen != gen;
}

/* A new descriptor of a file in the folder that may be a pool, or -1. */
static int open_file(isc_drain *d, const char *name, struct stat *sb)
{
	int fd = openat(d->dir, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (fd < 0)
		return -1;
	if (fstat(fd, sb) == 0 && S_ISREG(sb->st_mode) && sb->st_uid == geteuid() && sb->st_nlink == 1)
		return fd;
	close(fd);
	return -1;
}

/* Reads the header into h; 0 unfinished, 1 good, -1 not ours. */
static int read_header(const isc_drain *d, int fd, const struct stat *sb, uint32_t pid, uint64_t gen, isc_pool *h)
{
	if (sb->st_size < (off_t)sizeof(isc_pool))
		return 0;
	if (pread(fd, h, sizeof(*h), 0) != (ssize_t)sizeof(*h))
		return -1;
	if (atomic_load_explicit(&h->magic, memory_order_relaxed) == 0)
		return 0;
	/* The magic is stored last: seen, it vouches for what is read from now on. */
	if (pread(fd, h, sizeof(*h), 0) != (ssize_t)sizeof(*h) ||
	    atomic_load_explicit(&h->magic, memory_order_relaxed) != ISC_POOL_MAGIC ||
	    memcmp(&h->seal, &d->seal, sizeof(d->seal)) != 0)
		return -1;
	return header_makes_sense(h, (uint64_t)sb->st_size, pid, gen) ? 1 : -1;
}

static uint32_t count_slots_in_use(const isc_drain_pool *p)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->max_slots; i++)
		n += atomic_load_explicit(&p->slots[i].phase, memory_order_relaxed) != ISC_SLOT_FREE;
	return n;
}

static isc_drain_pool *adopt(isc_drain *d, const char *name, const isc_pool *h, uint64_t file_size, int fd)
{
	isc_drain_pool *p = calloc(1, sizeof(*p));
	uint64_t backed;

	if (p == NULL)
		return NULL;
	p->threads = calloc(h->max_slots, sizeof(*p->threads));
	p->map = p->threads != NULL ? ISC_DRAIN_MMAP(NULL, h->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
				    : MAP_FAILED;
	if (p->map == MAP_FAILED) {
		free(p->threads);
		free(p);
		return NULL;
	}
	strcpy(p->name, name);
	p->size = h->size;
	p->pid = h->pid;
	p->gen = h->gen;
	p->parent_gen = h->parent_gen;
	p->defs_base = h->defs_base;
	p->max_blocks = h->max_blocks;
	p->max_slots = h->max_slots;
	p->states = (_Atomic uint64_t *)((char *)p->map + h->off_state);
	p->slots = (isc_slot *)((char *)p->map + h->off_slot);
	p->blocks = (char *)p->map + h->off_block;
	p->off_block = h->off_block;
	backed = (file_size - h->off_block) / ISC_BLOCK_SIZE;
	p->nblocks = atomic_load_explicit(&p->map->nblocks, memory_order_acquire);
	if (p->nblocks > backed)
		p->nblocks = (uint32_t)backed;
	if (p->nblocks > p->max_blocks)
		p->nblocks = p->max_blocks;
	d->stats.bytes += p->off_block + (uint64_t)p->nblocks * ISC_BLOCK_SIZE;
	return p;
}

isc_drain_pool *isc_drain_pool_open(isc_drain *d, const char *name, uint32_t pid, uint64_t gen, bool *later)
{
	isc_drain_pool *p = NULL;
	struct stat sb;
	isc_pool header;
	int fd = open_file(d, name, &sb);
	int good;

	*later = false;
	if (fd < 0)
		return NULL;
	good = read_header(d, fd, &sb, pid, gen, &header);
	*later = good == 0;
	if (good == 1)
		p = adopt(d, name, &header, (uint64_t)sb.st_size, fd);
	close(fd);
	if (p == NULL)
		return NULL;
	if (d->options.takeover) {
		uint64_t serials = atomic_load_explicit(&p->map->serial, memory_order_relaxed);
		uint32_t in_use = count_slots_in_use(p);

		p->slots_freed = serials > in_use ? serials - in_use : 0;
	}
	isc_drain_defs_open(d, p);
	p->process = d->sink.pool(d->sink.self, &header);
	return p;
}

void isc_drain_pool_close(isc_drain *d, isc_drain_pool *p, bool remove)
{
	isc_drain_defs_close(d, p);
	d->stats.bytes -= p->off_block + (uint64_t)p->nblocks * ISC_BLOCK_SIZE;
	ISC_DRAIN_MUNMAP(p->map, p->size);
	if (remove) {
		isc_seal_remove(d->dir, p->name, offsetof(isc_pool, seal), &d->seal);
		p->name[0] = 'd';
		isc_seal_remove(d->dir, p->name, offsetof(isc_defs, seal), &d->seal);
	}
	free(p->threads);
	free(p);
}

/* At least four blocks per thread, and more while under half of them is free. */
static uint32_t blocks_wanted(const isc_drain_pool *p)
{
	uint64_t most = GROW_TARGET_BYTES / ISC_BLOCK_SIZE;
	uint64_t threads = (uint64_t)isc_drain_threads_alive(p) * BLOCKS_PER_THREAD;
	uint64_t want = p->nblocks;

	if (p->free_blocks < p->nblocks / 2)
		want = (uint64_t)p->nblocks * 2 < most ? (uint64_t)p->nblocks * 2 : most;
	if (want < threads)
		want = threads;
	if (want > p->max_blocks)
		want = p->max_blocks;
	return want > p->nblocks ? (uint32_t)want : p->nblocks;
}

/* A quarter is left for definitions: events that nobody can name are worth nothing. */
static bool has_room(const isc_drain *d, uint32_t blocks)
{
	return isc_drain_room(d, (uint64_t)blocks * ISC_BLOCK_SIZE + d->options.limit_bytes / 4);
}

void isc_drain_pool_grow(isc_drain *d, isc_drain_pool *p)
{
	uint32_t want = blocks_wanted(p);
	int fd, failed;

	if (p->grow_pause > 0) {
		p->grow_pause--;
		return;
	}
	if (want - p->nblocks > GROW_STEP_BYTES / ISC_BLOCK_SIZE)
		want = p->nblocks + GROW_STEP_BYTES / ISC_BLOCK_SIZE;
	while (want > p->nblocks && !has_room(d, want - p->nblocks))
		want = p->nblocks + (want - p->nblocks) / 2;
	if (want == p->nblocks)
		return;
	fd = isc_seal_open(d->dir, p->name, offsetof(isc_pool, seal), &d->seal, NULL);
	failed = fd < 0 ? ENOENT : posix_fallocate(fd, 0, (off_t)(p->off_block + (uint64_t)want * ISC_BLOCK_SIZE));
	if (fd >= 0)
		close(fd);
	if (failed) {
		d->stats.grow_failed++;
		p->grow_pause = GROW_PAUSE;
		return;
	}
	d->stats.bytes += (uint64_t)(want - p->nblocks) * ISC_BLOCK_SIZE;
	p->nblocks = want;
	atomic_store_explicit(&p->map->nblocks, want, memory_order_release);
}
