/* transport: the recorder's side, as it reads pools of healthy programs. */
#include "forged_pool.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		JOINED(a_gap_in_the_numbers_is_what_was_lost),
		JOINED(the_recorder_looks_as_often_as_there_is_much_to_read),
		JOINED(an_unfinished_definition_stops_nobody),
		JOINED(pools_leave_a_quarter_of_the_limit_to_definitions),
		JOINED(definitions_grow_by_as_much_as_there_is_room_for),
		JOINED(a_pid_that_does_not_map_the_pool_says_nothing_about_its_threads),
	};

	return cmocka_run_group_tests_name("transport_drain", tests, NULL, NULL);
}
