/*
 * transport: the recorder's side.  Pools are written by hand here, well or
 * with malice: whatever a file says, the drain must not crash, and what it
 * gives to the sink must be whole.
 */
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
static forged forge(uint32_t pid)
{
	forged f;

	f.pool_size = isc_pool_backed_bytes(BLOCKS, SLOTS, BLOCKS);
	f.pool = make_file('p', pid, f.pool_size);
	f.defs_size = 65536;
	f.defs = make_file('d', pid, f.defs_size);
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

/* ---- the healthy case ------------------------------------------------- */

static void a_gap_in_the_numbers_is_what_was_lost(void **state)
{
	isc_drain_stats stats;
	forged f = forge(4242);

	(void)state;
	fill_block(&f, 3, 10, 0, 100);
	fill_block(&f, 1, 20, 150, 50);
	atomic_store(&ISC_POOL_SLOTS(f.pool)[0].upto[0], 230);
	forget(&f);
	drain(&stats);
	assert_int_equal(sink->events, 150);
	assert_int_equal(sink->event[99].ticks, 99);
	assert_int_equal(sink->event[100].ticks, 150);
	assert_int_equal(sink->produced, 230);
	assert_int_equal(sink->lost, 80);
	assert_int_equal(stats.damaged + stats.refused_pools, 0);
	assert_int_equal(transport_session_files(&session, 'p') + transport_session_files(&session, 'd'), 0);
}

/* How long the recorder sleeps after each of so many cycles in which a thread wrote so much. */
static unsigned sleep_after(isc_drain *d, forged *f, uint32_t *seq, unsigned cycles, uint32_t events)
{
	isc_drain_cycle cycle;
	unsigned us = 0;

	for (unsigned i = 0; i < cycles; i++) {
		if (events > 0)
			fill_block(f, *seq % BLOCKS, 10 + *seq, (uint64_t)*seq * ISC_BLOCK_SLOTS, events);
		++*seq;
		assert_int_equal(isc_drain_run(d, &cycle, NULL), ISC_OK);
		us = isc_drain_sleep_us(d, &cycle);
	}
	return us;
}

static void the_recorder_looks_as_often_as_there_is_much_to_read(void **state)
{
	isc_drain_options options = {.folder = session.folder};
	isc_drain_sink face = transport_sink_face(sink);
	forged f = forge((uint32_t)getpid());
	uint32_t seq = 0, little = BLOCKS * ISC_BLOCK_SLOTS / 200, some = BLOCKS * ISC_BLOCK_SLOTS / 20;
	isc_drain *d;

	(void)state;
	assert_int_equal(isc_drain_new(&options, &face, &d, NULL), ISC_OK);
	assert_int_equal(sleep_after(d, &f, &seq, 1, 0), 1000); /* a pool is new */
	assert_in_range(sleep_after(d, &f, &seq, 1, little), 5000, 6000);
	assert_int_equal(sleep_after(d, &f, &seq, 40, little), 25000);
	assert_int_equal(sleep_after(d, &f, &seq, 1, some), 5000);
	assert_int_equal(sleep_after(d, &f, &seq, 40, 0), 25000);
	assert_int_equal(sleep_after(d, &f, &seq, 1, ISC_BLOCK_SLOTS), 1000);
	isc_drain_free(d);
	forget(&f);
}

static void an_unfinished_definition_stops_nobody(void **state)
{
	forged f = forge(4242);
	isc_def *first = (isc_def *)((char *)f.defs + 128);
	isc_def *second = (isc_def *)((char *)f.defs + 144);

	(void)state;
	atomic_store(&first->head, ISC_DEF_HEAD(5, ISC_DEF_STRING, ISC_DEF_RESERVED));
	memcpy(second->data, "second", 6);
	atomic_store(&second->head, ISC_DEF_HEAD(6, ISC_DEF_STRING, ISC_DEF_COMMITTED));
	atomic_store(&f.defs->tail, 160);
	forget(&f);
	drain(NULL);
	assert_int_equal(sink->n_defs, 1);
	assert_int_equal(sink->def_id[0], 9);
	assert_string_equal(sink->def_text[0], "second");
}

/* One round with so much memory for all; the events that it gave. */
static uint64_t drain_within(uint64_t limit_bytes, isc_drain_stats *stats)
{
	isc_drain_options options = {.folder = session.folder, .limit_bytes = limit_bytes};
	isc_drain_sink face = transport_sink_face(sink);
	isc_drain_cycle cycle;
	isc_drain *d;

	assert_int_equal(isc_drain_new(&options, &face, &d, NULL), ISC_OK);
	assert_int_equal(isc_drain_run(d, &cycle, NULL), ISC_OK);
	isc_drain_stats_get(d, stats);
	isc_drain_free(d);
	return cycle.events;
}

static void pools_leave_a_quarter_of_the_limit_to_definitions(void **state)
{
	forged f = forge((uint32_t)getpid());
	uint64_t three_quarters = isc_pool_backed_bytes(BLOCKS, SLOTS, 4) + f.defs_size + 2 * ISC_BLOCK_SIZE;
	isc_drain_stats stats;

	(void)state;
	/* Room for two blocks more; the pool, all of it full, would want eight. */
	atomic_store(&f.pool->nblocks, 4);
	for (uint32_t i = 0; i < 4; i++)
		fill_block(&f, i, 10 + i, i * 10ull, 10);
	assert_int_equal(drain_within((three_quarters + 2) / 3 * 4, &stats), 40);
	assert_in_range(atomic_load(&f.pool->nblocks), 5, 6);
	assert_true(stats.bytes <= three_quarters + 4);
	forget(&f);
}

/* What they would like to have is more than there is. */
static void definitions_grow_by_as_much_as_there_is_room_for(void **state)
{
	uint64_t limit = isc_pool_backed_bytes(BLOCKS, SLOTS, BLOCKS) + 16384 + 20480;
	forged f = forge((uint32_t)getpid());
	isc_drain_stats stats;

	(void)state;
	atomic_store(&f.defs->backed, 16384);
	atomic_store(&f.defs->tail, 12000);
	drain_within(limit, &stats);
	assert_in_range(atomic_load(&f.defs->backed), 16384 + 8192, 16384 + 20480);
	assert_true(stats.bytes <= limit);
	forget(&f);
}

/* In another PID namespace our numbers are somebody else's. */
static void a_pid_that_does_not_map_the_pool_says_nothing_about_its_threads(void **state)
{
	isc_drain_options options = {.folder = session.folder};
	isc_drain_sink face = transport_sink_face(sink);
	isc_drain_cycle cycle;
	forged f;
	isc_drain *d;
	int status;
	pid_t other = fork();

	(void)state;
	if (other == 0) {
		pause();
		_exit(0);
	}
	f = forge((uint32_t)other); /* lives, but has no thread 77 */
	assert_int_equal(isc_drain_new(&options, &face, &d, NULL), ISC_OK);
	for (unsigned i = 0; i < 20; i++)
		isc_drain_run(d, &cycle, NULL);
	assert_int_equal(atomic_load(&ISC_POOL_SLOTS(f.pool)[0].phase), ISC_SLOT_LIVE);
	assert_int_equal(sink->finals, 0);
	isc_drain_free(d);
	kill(other, SIGKILL);
	waitpid(other, &status, 0);
	forget(&f);
}

/* ---- malice ----------------------------------------------------------- */

static void expect_refused(void (*spoil)(forged *f))
{
	isc_drain_stats stats;
	forged f = forge(4242);

	fill_block(&f, 0, 10, 0, 10);
	spoil(&f);
	forget(&f);
	drain(&stats);
	assert_int_equal(sink->pools, 0);
	assert_int_equal(sink->events, 0);
	assert_int_equal(stats.refused_pools, 1);
	transport_session_remove(&session);
	make_session(NULL);
}

static void huge_offsets(forged *f)
{
	f->pool->off_block = UINT64_MAX - 4096;
}

static void huge_slots(forged *f)
{
	f->pool->max_slots = UINT32_MAX;
}

static void huge_blocks(forged *f)
{
	f->pool->max_blocks = UINT32_MAX;
}

static void huge_size(forged *f)
{
	f->pool->size = 1ull << 60;
}

static void states_over_slots(forged *f)
{
	f->pool->off_slot = f->pool->off_state;
}

static void blocks_over_slots(forged *f)
{
	f->pool->off_block = f->pool->off_slot;
}

static void other_blocks(forged *f)
{
	f->pool->block_size = 16;
}

static void other_pid(forged *f)
{
	f->pool->pid++;
}

static void own_parent(forged *f)
{
	f->pool->parent_gen = f->pool->gen;
}

static void short_file(forged *f)
{
	char path[300];

	(void)f;
	snprintf(path, sizeof(path), "%s/p4242.%llx", session.folder, GEN);
	assert_int_equal(truncate(path, 8192), 0);
}

static void a_header_that_does_not_fit_its_file_is_refused(void **state)
{
	(void)state;
	expect_refused(huge_offsets);
	expect_refused(huge_slots);
	expect_refused(huge_blocks);
	expect_refused(huge_size);
	expect_refused(states_over_slots);
	expect_refused(blocks_over_slots);
	expect_refused(other_blocks);
	expect_refused(other_pid);
	expect_refused(own_parent);
	expect_refused(short_file);
}

static void a_pool_that_is_no_file_of_ours_is_not_opened(void **state)
{
	isc_drain_stats stats;
	char path[300];

	(void)state;
	snprintf(path, sizeof(path), "%s/p1.1", session.folder);
	assert_int_equal(symlink("/dev/zero", path), 0);
	snprintf(path, sizeof(path), "%s/p2.1", session.folder);
	assert_int_equal(mkfifo(path, 0600), 0);
	snprintf(path, sizeof(path), "%s/p3.1", session.folder);
	assert_int_equal(mkdir(path, 0700), 0);
	drain(&stats);
	assert_int_equal(sink->pools, 0);
	assert_int_equal(stats.refused_pools, 3);
	assert_int_equal(rmdir(path), 0);
}

static void counts_beyond_the_block_are_cut(void **state)
{
	isc_drain_stats stats;
	forged f = forge(4242);
	isc_block *b = fill_block(&f, 0, 10, 0, 10);

	(void)state;
	atomic_store(&b->committed, UINT64_MAX);
	forget(&f);
	drain(&stats);
	/* The ten whole ones are given, and nothing behind them. */
	assert_int_equal(sink->events, 10);
	assert_true(stats.damaged > 0);
	assert_int_equal(sink->produced, sink->stored + sink->lost);
}

static void an_event_that_runs_out_of_its_block_is_lost(void **state)
{
	isc_drain_stats stats;
	forged f = forge(4242);
	isc_block *b = fill_block(&f, 0, 10, 0, 10);

	(void)state;
	b->record[5].slots = 200;
	forget(&f);
	drain(&stats);
	assert_int_equal(sink->events, 5);
	assert_int_equal(sink->produced, 10);
	assert_int_equal(sink->lost, 5);
	assert_int_equal(stats.damaged, 1);
}

static void definitions_that_lead_outside_are_not_followed(void **state)
{
	static const uint64_t heads[] = {
		ISC_DEF_HEAD(0xffffffffu, ISC_DEF_STRING, ISC_DEF_COMMITTED),
		ISC_DEF_HEAD(65537u, ISC_DEF_STRING, ISC_DEF_COMMITTED),
		ISC_DEF_HEAD(60000u, ISC_DEF_STRING, ISC_DEF_COMMITTED),
		ISC_DEF_HEAD(5u, ISC_DEF_STRING, 7),
		0,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		isc_drain_stats stats;
		forged f = forge(4242);
		isc_def *good = (isc_def *)((char *)f.defs + 128);

		memcpy(good->data, "good", 4);
		atomic_store(&good->head, ISC_DEF_HEAD(4, ISC_DEF_STRING, ISC_DEF_COMMITTED));
		atomic_store(&((isc_def *)((char *)f.defs + 144))->head, heads[i]);
		atomic_store(&f.defs->tail, i == 2 ? 1024 : UINT64_MAX);
		forget(&f);
		drain(&stats);
		assert_int_equal(sink->n_defs, 1);
		assert_int_equal(stats.damaged, 1);
		transport_session_remove(&session);
		make_session(NULL);
	}
}

static void garbage_of_every_kind_does_no_harm(void **state)
{
	uint64_t seed = 20260101;

	(void)state;
	for (unsigned round = 0; round < 300; round++) {
		isc_drain_stats stats;
		forged f = forge(4242);
		char *bytes = (char *)f.pool;
		/* Spare the header at first, then not. */
		size_t from = round % 3 == 0 ? 0 : sizeof(isc_pool);
		unsigned changes = 1u << round % 12;

		for (uint32_t i = 0; i < BLOCKS; i++)
			fill_block(&f, i, 10 + i, i * 10ull, 10);
		for (unsigned k = 0; k < changes; k++) {
			uint64_t where, what;

			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			what = seed;
			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			where = (seed >> 16) % (k % 4 ? f.pool_size - from - 8 : 4096) + from;
			memcpy(bytes + where, &what, 1 + what % 8);
			memcpy((char *)f.defs + (seed >> 20) % 1024, &what, what % 5);
		}
		forget(&f);
		drain(&stats);
		assert_int_equal(sink->produced, sink->stored + sink->lost);
		transport_session_remove(&session);
		make_session(NULL);
	}
}

#define JOINED(test) cmocka_unit_test_setup_teardown(test, make_session, remove_session)

int main(void)
{
	const struct CMUnitTest tests[] = {
		JOINED(a_gap_in_the_numbers_is_what_was_lost),
		JOINED(the_recorder_looks_as_often_as_there_is_much_to_read),
		JOINED(an_unfinished_definition_stops_nobody),
		JOINED(pools_leave_a_quarter_of_the_limit_to_definitions),
		JOINED(definitions_grow_by_as_much_as_there_is_room_for),
		JOINED(a_pid_that_does_not_map_the_pool_says_nothing_about_its_threads),
		JOINED(a_header_that_does_not_fit_its_file_is_refused),
		JOINED(a_pool_that_is_no_file_of_ours_is_not_opened),
		JOINED(counts_beyond_the_block_are_cut),
		JOINED(an_event_that_runs_out_of_its_block_is_lost),
		JOINED(definitions_that_lead_outside_are_not_followed),
		JOINED(garbage_of_every_kind_does_no_harm),
	};

	return cmocka_run_group_tests_name("transport_drain", tests, NULL, NULL);
}
