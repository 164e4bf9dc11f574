/*
 * forged_pool.h - a session with a pool that is written by hand, well or with malice, for
 * tests of the recorder's side.
 */
#ifndef ISC_TESTS_FORGED_POOL_H
#define ISC_TESTS_FORGED_POOL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "transport_session.h"
#include "transport_sink.h"

#define GEN 0x1234567ull
#define BLOCKS 8u
#define SLOTS 16u
#define DEFS_BYTES 65536u

typedef struct forged {
	isc_pool *pool;
	isc_defs *defs;
	size_t pool_size, defs_size;
} forged;

static transport_session session;
static transport_sink the_sink;
static transport_sink *const sink = &the_sink;

static int make_session(void **state)
{
	isc_control wish = {.flags = 0};

	(void)state;
	memset(sink, 0, sizeof(*sink));
	return !transport_session_make(&session, &wish);
}

static int remove_session(void **state)
{
	(void)state;
	transport_session_remove(&session);
	return 0;
}

static void *make_file(char letter, uint32_t pid, size_t size)
{
	char path[300];
	void *at;
	int fd;

	snprintf(path, sizeof(path), "%s/%c%u.%llx", session.folder, letter, pid, GEN);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(at != MAP_FAILED);
	close(fd);
	return at;
}

/* A healthy pool with one thread and no event. */
static forged forge_with(uint32_t pid, size_t defs_bytes)
{
	forged f;

	f.pool_size = isc_pool_backed_bytes(BLOCKS, SLOTS, BLOCKS);
	f.pool = make_file('p', pid, f.pool_size);
	f.defs_size = defs_bytes;
	f.defs = make_file('d', pid, f.defs_size);
	transport_seal(&f.pool->seal, session.control);
	transport_seal(&f.defs->seal, session.control);
	f.defs->gen = f.pool->gen = GEN;
	f.defs->size = f.defs_size;
	atomic_store(&f.defs->tail, sizeof(isc_defs));
	atomic_store(&f.defs->backed, f.defs_size);
	atomic_store(&f.defs->magic, ISC_DEFS_MAGIC);
	f.pool->abi = ISC_RT_ABI;
	f.pool->block_size = ISC_BLOCK_SIZE;
	f.pool->max_blocks = BLOCKS;
	f.pool->max_slots = SLOTS;
	f.pool->pid = pid;
	f.pool->off_state = sizeof(isc_pool);
	f.pool->off_slot = isc_pool_off_slot(BLOCKS);
	f.pool->off_block = isc_pool_off_block(BLOCKS, SLOTS);
	f.pool->size = f.pool_size;
	atomic_store(&f.pool->seq, 100);
	atomic_store(&f.pool->serial, 1);
	atomic_store(&f.pool->nblocks, BLOCKS);
	atomic_store(&f.pool->magic, ISC_POOL_MAGIC);
	ISC_POOL_SLOTS(f.pool)[0].serial = 1;
	atomic_store(&ISC_POOL_SLOTS(f.pool)[0].tid, 77);
	atomic_store(&ISC_POOL_SLOTS(f.pool)[0].phase, ISC_SLOT_LIVE);
	return f;
}

static forged forge(uint32_t pid)
{
	return forge_with(pid, DEFS_BYTES);
}

static void forget(forged *f)
{
	munmap(f->pool, f->pool_size);
	munmap(f->defs, f->defs_size);
}

static isc_block *fill_block(forged *f, uint32_t i, uint64_t seq, uint64_t first, uint32_t events)
{
	isc_block *b = ISC_POOL_BLOCK(f->pool, i);

	b->first = first;
	b->seq = seq;
	b->serial = 1;
	b->tid = 77;
	for (uint32_t k = 0; k < events; k++)
		b->record[k] = (isc_record){first + k, 0, ISC_KIND_INSTANT, 1, 0};
	atomic_store(&b->committed, (uint64_t)events << 32 | events);
	atomic_store(&ISC_POOL_STATES(f->pool)[i], ISC_STATE(seq, 0, 0, ISC_BLOCK_FULL));
	return b;
}

static void drain(isc_drain_stats *stats)
{
	assert_int_equal(transport_sink_drain(sink, session.folder, stats), ISC_OK);
}

#define JOINED(test) cmocka_unit_test_setup_teardown(test, make_session, remove_session)

#endif
