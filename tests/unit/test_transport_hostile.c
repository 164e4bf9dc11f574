/*
 * transport: pools and definitions of broken programs, or of somebody else.  Whatever a
 * file says, the drain must not crash, and what it gives to the sink must be whole.
 */
#include "forged_pool.h"

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

static void another_session(forged *f)
{
	f->pool->seal.session_id[15] ^= 1;
}

static void no_seal(forged *f)
{
	f->pool->seal.magic = 0;
}

static void path_of(char letter, char *to, size_t room)
{
	snprintf(to, room, "%s/%c4242.%llx", session.folder, letter, GEN);
}

static void two_names(forged *f)
{
	char path[300], other[300];

	(void)f;
	path_of('p', path, sizeof(path));
	snprintf(other, sizeof(other), "%s/other", session.folder);
	assert_int_equal(link(path, other), 0);
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

static void a_pool_of_another_session_is_refused(void **state)
{
	(void)state;
	expect_refused(another_session);
	expect_refused(no_seal);
	expect_refused(two_names);
}

static void somebody_elses(forged *f)
{
	char path[300];

	(void)f;
	path_of('p', path, sizeof(path));
	assert_int_equal(chown(path, 65534, 65534), 0);
}

static void a_pool_of_another_user_is_refused(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	expect_refused(somebody_elses);
}

/* Events are there, and nobody can name them. */
static void definitions_of_another_user_are_not_read(void **state)
{
	isc_drain_stats stats;
	forged f = forge(4242);
	isc_def *def = (isc_def *)((char *)f.defs + 128);
	char path[300];

	(void)state;
	if (geteuid() != 0)
		skip();
	memcpy(def->data, "theirs", 6);
	atomic_store(&def->head, ISC_DEF_HEAD(6, ISC_DEF_STRING, ISC_DEF_COMMITTED));
	atomic_store(&f.defs->tail, 144);
	fill_block(&f, 0, 10, 0, 10);
	forget(&f);
	path_of('d', path, sizeof(path));
	assert_int_equal(chown(path, 65534, 65534), 0);
	drain(&stats);
	assert_int_equal(sink->events, 10);
	assert_int_equal(sink->n_defs, 0);
	assert_int_equal(access(path, F_OK), 0);
}

/* The pool is drained and goes; what only has the name of its definitions stays. */
static void a_file_without_our_seal_survives_its_pool(void **state)
{
	forged f = forge(4242);
	char path[300];

	(void)state;
	f.defs->seal.magic = 0;
	fill_block(&f, 0, 10, 0, 10);
	forget(&f);
	drain(NULL);
	assert_int_equal(sink->events, 10);
	path_of('d', path, sizeof(path));
	assert_int_equal(access(path, F_OK), 0);
	path_of('p', path, sizeof(path));
	assert_int_equal(access(path, F_OK), -1);
}

static char swapped[2][300];

/* The pool is open, and grows in the same turn: in between its names come to mean something else. */
static uint32_t swap_names(void *self, const void *header)
{
	for (unsigned k = 0; k < 2; k++) {
		int fd;

		snprintf(swapped[k], sizeof(swapped[k]), "%s/%c%u.%llx", session.folder, "pd"[k], (unsigned)getpid(),
			 GEN);
		assert_int_equal(unlink(swapped[k]), 0);
		fd = open(swapped[k], O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		assert_int_equal(write(fd, "theirs", 6), 6);
		close(fd);
	}
	return transport_sink_pool(self, header);
}

static void a_file_in_the_place_of_a_pool_is_not_written_to(void **state)
{
	isc_drain_options options = {.folder = session.folder, .limit_bytes = 64u << 20};
	isc_drain_sink face = transport_sink_face(sink);
	forged f = forge((uint32_t)getpid());
	isc_drain_stats stats;
	isc_drain_cycle cycle;
	isc_drain *d;

	(void)state;
	face.pool = swap_names;
	atomic_store(&f.pool->nblocks, 4);
	for (uint32_t i = 0; i < 4; i++)
		fill_block(&f, i, 10 + i, i * 10ull, 10);
	assert_int_equal(isc_drain_new(&options, &face, &d, NULL), ISC_OK);
	assert_int_equal(isc_drain_run(d, &cycle, NULL), ISC_OK);
	isc_drain_stats_get(d, &stats);
	assert_int_equal(stats.grow_failed, 1);
	sink->gone = true; /* and is removed in the next one */
	assert_int_equal(isc_drain_run(d, &cycle, NULL), ISC_OK);
	isc_drain_free(d);
	for (unsigned k = 0; k < 2; k++) {
		int fd = open(swapped[k], O_RDONLY | O_CLOEXEC);
		char text[8] = "";

		assert_int_equal(read(fd, text, sizeof(text)), 6);
		assert_memory_equal(text, "theirs", 6);
		close(fd);
	}
	forget(&f);
}

/* More than the file has would be a bus error, more than the limit a place outside. */
static void more_blocks_than_there_are_are_not_looked_at(void **state)
{
	static const uint32_t counts[] = {BLOCKS + 1, 1u << 16, UINT32_MAX};

	(void)state;
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		for (unsigned cut = 0; cut < 2; cut++) {
			isc_drain_stats stats;
			forged f = forge(4242);
			char path[300];

			fill_block(&f, 0, 10, 0, 10);
			if (cut) /* its state word is there, and it is not */
				fill_block(&f, 5, 20, 10, 10);
			/* What lies behind the state words would pass for one. */
			atomic_store(&f.pool->seq, 1ull << 40);
			atomic_store(&f.pool->nblocks, counts[i]);
			forget(&f);
			path_of('p', path, sizeof(path));
			/* Once as large as it says, and larger; once with a single block. */
			assert_int_equal(truncate(path, cut ? (off_t)isc_pool_backed_bytes(BLOCKS, SLOTS, 1)
							    : (off_t)isc_pool_backed_bytes(BLOCKS, SLOTS, 1u << 10)),
					 0);
			drain(&stats);
			assert_int_equal(sink->events, 10);
			assert_int_equal(stats.bytes, 0);
			assert_int_equal(stats.damaged, 0);
			transport_session_remove(&session);
			make_session(NULL);
		}
	}
}

/* No stream gets that far: sums of such numbers would run over. */
static void a_first_number_beyond_all_streams_is_damage(void **state)
{
	static const uint64_t firsts[] = {(1ull << 62) + 1, UINT64_MAX - 5, UINT64_MAX};

	(void)state;
	for (size_t i = 0; i < sizeof(firsts) / sizeof(firsts[0]); i++) {
		isc_drain_stats stats;
		forged f = forge(4242);

		fill_block(&f, 0, 10, 0, 10);
		fill_block(&f, 1, 20, firsts[i], 10);
		forget(&f);
		drain(&stats);
		assert_int_equal(sink->events, 10);
		assert_int_equal(sink->produced, 10);
		assert_int_equal(sink->lost, 0);
		assert_int_equal(stats.damaged, 1);
		transport_session_remove(&session);
		make_session(NULL);
	}
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

/* A whole one of this length would be there: it is longer than any that we write. */
static void a_definition_longer_than_any_is_not_copied(void **state)
{
	static const uint32_t lengths[] = {ISC_DEF_MAX + 1, 2 * ISC_DEF_MAX};

	(void)state;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		/* As it is met, and as one that was waited for. */
		for (unsigned waited = 0; waited < 2; waited++) {
			isc_drain_options options = {.folder = session.folder};
			isc_drain_sink face = transport_sink_face(sink);
			forged f = forge_with((uint32_t)getpid(), 4 * ISC_DEF_MAX);
			isc_def *def = (isc_def *)((char *)f.defs + 128);
			isc_drain_stats stats;
			isc_drain_cycle cycle;
			isc_drain *d;

			fill_block(&f, 0, 10, 0, 10);
			atomic_store(&def->head, waited ? ISC_DEF_HEAD(5, ISC_DEF_STRING, ISC_DEF_RESERVED)
							: ISC_DEF_HEAD(lengths[i], ISC_DEF_STRING, ISC_DEF_COMMITTED));
			atomic_store(&f.defs->tail, waited ? 144 : 4 * ISC_DEF_MAX);
			assert_int_equal(isc_drain_new(&options, &face, &d, NULL), ISC_OK);
			assert_int_equal(isc_drain_run(d, &cycle, NULL), ISC_OK);
			if (waited) {
				atomic_store(&def->head, ISC_DEF_HEAD(lengths[i], ISC_DEF_STRING, ISC_DEF_COMMITTED));
				atomic_store(&f.defs->tail, 4 * ISC_DEF_MAX);
				fill_block(&f, 1, 20, 10, 10);
				assert_int_equal(isc_drain_run(d, &cycle, NULL), ISC_OK);
			}
			isc_drain_stats_get(d, &stats);
			isc_drain_free(d);
			forget(&f);
			assert_int_equal(sink->n_defs, 0);
			assert_true(stats.damaged >= 1);
			transport_session_remove(&session);
			make_session(NULL);
		}
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		JOINED(a_header_that_does_not_fit_its_file_is_refused),
		JOINED(a_pool_that_is_no_file_of_ours_is_not_opened),
		JOINED(a_pool_of_another_session_is_refused),
		JOINED(a_pool_of_another_user_is_refused),
		JOINED(definitions_of_another_user_are_not_read),
		JOINED(a_file_without_our_seal_survives_its_pool),
		JOINED(a_file_in_the_place_of_a_pool_is_not_written_to),
		JOINED(more_blocks_than_there_are_are_not_looked_at),
		JOINED(a_first_number_beyond_all_streams_is_damage),
		JOINED(a_definition_longer_than_any_is_not_copied),
		JOINED(counts_beyond_the_block_are_cut),
		JOINED(an_event_that_runs_out_of_its_block_is_lost),
		JOINED(definitions_that_lead_outside_are_not_followed),
		JOINED(garbage_of_every_kind_does_no_harm),
	};

	return cmocka_run_group_tests_name("transport_hostile", tests, NULL, NULL);
}
