/* follow: several sources tell of one tree, in any order, and give one list. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <malloc.h>

#include "follow_tree.h"

#define ROOT 100u

/* One piece of news as a line: "perf fork 101 from 100 at 10". */
static void tell(tree *t, const char *line)
{
	unsigned pid, other, gen, parent_gen;
	double ms;
	char name[16];

	if (sscanf(line, "perf fork %u from %u at %lf", &pid, &other, &ms) == 3) {
		isc_follow_forked(t->follow, pid, pid, other, at(t, ms));
	} else if (sscanf(line, "perf thread %u of %u at %lf", &other, &pid, &ms) == 3) {
		isc_follow_forked(t->follow, pid, other, pid, at(t, ms));
	} else if (sscanf(line, "perf exec %u %15s at %lf", &pid, name, &ms) == 3) {
		isc_follow_execed(t->follow, pid, name, at(t, ms));
	} else if (sscanf(line, "perf exit %u of %u at %lf", &other, &pid, &ms) == 3) {
		isc_follow_exited(t->follow, pid, other, at(t, ms));
	} else if (sscanf(line, "roster copy %u from %u at %lf", &pid, &other, &ms) == 3) {
		announce(t, pid, other, ISC_BIRTH_FORK, ms, "");
		isc_follow_poll(t->follow, isc_clock_mono_ns());
	} else if (sscanf(line, "roster program %u from %u %15s at %lf", &pid, &other, name, &ms) == 4) {
		announce(t, pid, other, ISC_BIRTH_IMAGE, ms, name);
		isc_follow_poll(t->follow, isc_clock_mono_ns());
	} else if (sscanf(line, "pool of %u from %u parent %u at %lf", &pid, &other, &parent_gen, &ms) == 4) {
		isc_pool *pool = aligned_alloc(4096, sizeof(isc_pool));

		memset(pool, 0, sizeof(*pool));
		pool->pid = pid;
		pool->ppid = other;
		pool->gen = at(t, ms) | 1;
		pool->parent_gen = parent_gen;
		uint32_t process = isc_follow_pool(t->follow, pool);
		assert_int_not_equal(process, 0);
		assert_int_equal(isc_follow_pool(t->follow, pool), process);
		free(pool);
	} else if (sscanf(line, "thread %u of image %u serial %u at %lf", &other, &pid, &gen, &ms) == 4) {
		assert_int_not_equal(isc_follow_thread(t->follow, pid, other, gen, at(t, ms)), 0);
	} else {
		fail_msg("no such news: %s", line);
	}
}

static int by_start(const void *a, const void *b)
{
	const isc_trace_process *const *x = a, *const *y = b;

	return (*x)->start_ns != (*y)->start_ns ? ((*x)->start_ns > (*y)->start_ns) - ((*x)->start_ns < (*y)->start_ns)
						: (int)(*x)->pid - (int)(*y)->pid;
}

/* All images by start: "101 from 100 10..20 ls traced pool". */
static const char *images(tree *t)
{
	static char text[4096];
	const isc_trace_process *list[64];
	uint32_t n = 0;
	size_t len = 0;

	isc_follow_poll(t->follow, isc_clock_mono_ns());
	for (uint32_t i = 1; i <= t->kept->processes && n < 64; i++)
		if (t->kept->process[i].process != 0)
			list[n++] = &t->kept->process[i];
	qsort(list, n, sizeof(list[0]), by_start);
	text[0] = '\0';
	for (uint32_t i = 0; i < n; i++) {
		const isc_trace_process *p = list[i];

		len += (size_t)snprintf(text + len, sizeof(text) - len, "%u from %u %.0f..", p->pid,
					p->parent ? t->kept->process[p->parent].pid : 0,
					(double)(int64_t)(p->start_ns - t->zero_ns) / 1e6);
		if (p->flags & ISC_PROCESS_ENDED)
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%.0f",
						(double)(p->end_ns - t->zero_ns) / 1e6);
		len += (size_t)snprintf(text + len, sizeof(text) - len, " %s%s%s%s%s\n", t->kept->argv[p->process],
					p->flags & ISC_PROCESS_ROOT ? " root" : "",
					p->flags & ISC_PROCESS_EXEC ? " exec" : "",
					p->flags & ISC_PROCESS_TRACED ? " traced" : "", p->gen ? " pool" : "");
	}
	return text;
}

static void play(const char *const *news, size_t n, const char *expected, const char *order)
{
	tree t;

	tree_open(&t, ISC_ROSTER_ENTRIES, true, ROOT);
	for (size_t i = 0; i < n; i++)
		tell(&t, news[i]);
	const char *found = images(&t);
	if (strcmp(found, expected) != 0) {
		for (size_t i = 0; i < n; i++)
			print_message("# %s\n", news[i]);
		fail_msg("%s:\n%swanted:\n%s", order, found, expected);
	}
	tree_close(&t);
}

/* Every order in which the sources can be heard; each keeps its own order. */
static unsigned interleave(const char *const *const *source, size_t sources, size_t *taken, const char **so_far,
			   size_t n, const char *expected)
{
	unsigned orders = 0;
	bool any = false;

	for (size_t s = 0; s < sources; s++) {
		if (source[s][taken[s]] == NULL)
			continue;
		any = true;
		so_far[n] = source[s][taken[s]++];
		orders += interleave(source, sources, taken, so_far, n + 1, expected);
		taken[s]--;
	}
	if (any)
		return orders;
	play(so_far, n, expected, "in one of all orders");
	return 1;
}

static unsigned in_every_order(const char *const *perf, const char *const *roster, const char *const *pool,
			       const char *expected)
{
	const char *const *sources[3] = {perf, roster, pool};
	size_t taken[3] = {0};
	const char *so_far[32];

	return interleave(sources, 3, taken, so_far, 0, expected);
}

static const char *const nothing[] = {NULL};

/* ---- claims ------------------------------------------------------------ */

static void a_spawned_child_is_one_image_whoever_tells_first(void **state)
{
	static const char *const perf[] = {"perf exec 100 sh at 1", "perf fork 101 from 100 at 10",
					   "perf exec 101 ls at 11", "perf exit 101 of 101 at 20", NULL};
	static const char *const roster[] = {"roster program 100 from 1 sh at 2",
					     "roster program 101 from 100 ls at 12", NULL};
	static const char *const pool[] = {"pool of 101 from 100 parent 0 at 13", NULL};

	(void)state;
	/* A pool cannot be found before its line can be read, but the line may be late in the ring. */
	unsigned orders = in_every_order(perf, roster, nothing,
					 "100 from 0 1.. sh root traced\n"
					 "101 from 100 10..20 ls traced\n");
	assert_int_equal(orders, 15);
	in_every_order(perf, roster, pool,
		       "100 from 0 1.. sh root traced\n"
		       "101 from 100 10..20 ls traced pool\n");
}

static void a_fork_that_announces_itself_and_execs_is_two_images(void **state)
{
	static const char *const perf[] = {"perf exec 100 sh at 1", "perf fork 101 from 100 at 10",
					   "perf exec 101 ls at 15", "perf exit 101 of 101 at 20", NULL};
	static const char *const roster[] = {"roster program 100 from 1 sh at 2", "roster copy 101 from 100 at 11",
					     "roster program 101 from 100 ls at 16", NULL};

	(void)state;
	assert_int_equal(in_every_order(perf, roster, nothing,
					"100 from 0 1.. sh root traced\n"
					"101 from 100 10..15 sh traced\n"
					"101 from 101 15..20 ls exec traced\n"),
			 35);
}

static void a_worker_that_never_execs_is_one_image(void **state)
{
	static const char *const perf[] = {"perf exec 100 python3 at 1", "perf fork 101 from 100 at 10",
					   "perf exit 101 of 101 at 20", NULL};
	static const char *const roster[] = {"roster program 100 from 1 python3 at 2", "roster copy 101 from 100 at 11",
					     NULL};
	static const char *const pool[] = {"pool of 101 from 100 parent 1 at 12", NULL};

	(void)state;
	in_every_order(perf, roster, pool,
		       "100 from 0 1.. python3 root traced\n"
		       "101 from 100 10..20 python3 traced pool\n");
}

static void a_program_without_the_runtime_between_two_with_it_is_an_image(void **state)
{
	static const char *const perf[] = {"perf exec 100 sh at 1", "perf exec 100 static at 5",
					   "perf exec 100 ls at 8", NULL};
	static const char *const roster[] = {"roster program 100 from 1 sh at 2", "roster program 100 from 1 ls at 9",
					     NULL};

	(void)state;
	assert_int_equal(in_every_order(perf, roster, nothing,
					"100 from 0 1..5 sh root traced\n"
					"100 from 100 5..8 static exec\n"
					"100 from 100 8.. ls exec traced\n"),
			 10);
}

static void the_roster_alone_gives_the_same_images(void **state)
{
	static const char *const roster[] = {"roster program 100 from 1 sh at 2",
					     "roster copy 101 from 100 at 11",
					     "roster program 101 from 100 ls at 16",
					     "roster program 102 from 100 cat at 20",
					     "roster program 100 from 1 python3 at 30",
					     "roster copy 103 from 100 at 31",
					     NULL};

	(void)state;
	in_every_order(nothing, roster, nothing,
		       "100 from 0 2..30 sh root traced\n"
		       "101 from 100 11..16 sh traced\n"
		       "101 from 101 16.. ls exec traced\n"
		       "102 from 100 20.. cat traced\n"
		       "100 from 100 30.. python3 exec traced\n"
		       "103 from 100 31.. python3 traced\n");
}

static void three_generations_know_their_parents(void **state)
{
	static const char *const perf[] = {"perf exec 100 sh at 1",	   "perf fork 101 from 100 at 10",
					   "perf fork 102 from 101 at 12", "perf exit 101 of 101 at 13",
					   "perf exit 102 of 102 at 40",   NULL};
	static const char *const roster[] = {"roster program 100 from 1 sh at 2", "roster copy 101 from 100 at 11",
					     "roster copy 102 from 101 at 12.5", NULL};

	(void)state;
	in_every_order(perf, roster, nothing,
		       "100 from 0 1.. sh root traced\n"
		       "101 from 100 10..13 sh traced\n"
		       "102 from 101 12..40 sh traced\n");
}

static void a_pid_that_comes_back_is_another_process(void **state)
{
	static const char *const perf[] = {"perf exec 100 sh at 1",
					   "perf fork 101 from 100 at 10",
					   "perf exit 101 of 101 at 20",
					   "perf fork 101 from 100 at 700",
					   "perf exec 101 ls at 701",
					   "perf exit 101 of 101 at 720",
					   NULL};
	static const char *const roster[] = {"roster program 100 from 1 sh at 2", "roster copy 101 from 100 at 11",
					     "roster program 101 from 100 ls at 702", NULL};
	const char *expected = "100 from 0 1.. sh root traced\n"
			       "101 from 100 10..20 sh traced\n"
			       "101 from 100 700..720 ls traced\n";
	const char *late[9] = {perf[0], perf[1], perf[2], roster[0], roster[1], perf[3], roster[2], perf[4], perf[5]};

	(void)state;
	play(late, 9, expected, "perf and roster together");
	const char *perf_first[9] = {perf[0], perf[1],	 perf[2],   perf[3],  perf[4],
				     perf[5], roster[0], roster[1], roster[2]};
	/* The second line of the first life comes when the pid is used again. */
	play(perf_first, 9, expected, "perf first");
}

static void a_copy_that_lived_long_is_an_image_of_its_own(void **state)
{
	static const char *const perf[] = {"perf exec 100 sh at 1", "perf fork 101 from 100 at 10",
					   "perf exec 101 ls at 1500"};

	(void)state;
	play(perf, 3,
	     "100 from 0 1.. sh root\n"
	     "101 from 100 10..1500 sh\n"
	     "101 from 101 1500.. ls exec\n",
	     "perf alone");
}

/* ---- roster ------------------------------------------------------------ */

static void overwritten_lines_are_counted_exactly(void **state)
{
	tree t;
	isc_follow_stats stats;

	(void)state;
	tree_open(&t, 16, true, ROOT);
	for (unsigned i = 0; i < 100; i++)
		announce(&t, 200 + i, ROOT, ISC_BIRTH_FORK, 1 + i, "x");
	isc_follow_poll(t.follow, isc_clock_mono_ns());
	isc_follow_stats_get(t.follow, &stats);
	assert_int_equal(stats.roster_lost, 84);
	assert_int_equal(stats.processes, 1 + 16);
	tree_close(&t);
}

static void an_unfinished_line_waits_and_is_read_later(void **state)
{
	tree t;
	isc_follow_stats stats;
	uint64_t now = isc_clock_mono_ns();

	(void)state;
	tree_open(&t, ISC_ROSTER_ENTRIES, true, ROOT);
	uint64_t hole = atomic_fetch_add(&t.control->roster_tail, 1),
		 dead = atomic_fetch_add(&t.control->roster_tail, 1);
	announce(&t, 103, ROOT, ISC_BIRTH_FORK, 5, "x");
	isc_follow_poll(t.follow, now);
	isc_follow_stats_get(t.follow, &stats);
	assert_int_equal(stats.processes, 2);
	t.control->roster[hole] =
		(isc_roster_entry){.ticks = at(&t, 4), .pid = 101, .ppid = ROOT, .birth = ISC_BIRTH_FORK};
	atomic_store(&t.control->roster[hole].seq, hole + 1);
	isc_follow_poll(t.follow, now + MS);
	isc_follow_stats_get(t.follow, &stats);
	assert_int_equal(stats.processes, 3);
	assert_int_equal(stats.roster_lost, 0);
	isc_follow_poll(t.follow, now + 1100 * MS); /* the taker of the other one is dead */
	isc_follow_stats_get(t.follow, &stats);
	assert_int_equal(stats.roster_lost, 1);
	(void)dead;
	tree_close(&t);
}

static void garbage_in_the_roster_is_not_believed(void **state)
{
	tree t;
	isc_follow_stats stats;
	unsigned seed = 7;

	(void)state;
	tree_open(&t, 64, true, ROOT);
	for (unsigned round = 0; round < 200; round++) {
		for (size_t i = 0; i < 64 * sizeof(isc_roster_entry); i++)
			((char *)t.control->roster)[i] = (char)rand_r(&seed);
		uint64_t tail = atomic_load(&t.control->roster_tail) + (unsigned)rand_r(&seed) % 200;
		for (uint64_t n = tail > 64 ? tail - 64 : 0; n < tail; n++) {
			isc_roster_entry *e = &t.control->roster[n % 64];

			/* Half of them are true but for the lengths. */
			if (rand_r(&seed) % 2) {
				e->pid = 1 + (unsigned)rand_r(&seed) % 1000;
				e->birth = (uint16_t)(1 + rand_r(&seed) % 3);
			}
			atomic_store(&e->seq, n + (unsigned)rand_r(&seed) % 2);
		}
		atomic_store(&t.control->roster_tail, tail);
		isc_follow_poll(t.follow, isc_clock_mono_ns());
	}
	atomic_store(&t.control->roster_tail, UINT64_MAX);
	isc_follow_poll(t.follow, isc_clock_mono_ns());
	atomic_store(&t.control->roster_tail, 3);
	isc_follow_poll(t.follow, isc_clock_mono_ns());
	isc_follow_stats_get(t.follow, &stats);
	assert_true(stats.roster_lost > 0);
	tree_close(&t);
}

static void an_image_that_finds_no_memory_is_not_called_traced(void **state)
{
	isc_follow_stats stats;
	tree t;

	(void)state;
	tree_open(&t, ISC_ROSTER_ENTRIES, true, ROOT);
	announce(&t, 101, ROOT, ISC_BIRTH_FORK, 10, "one");
	announce(&t, 102, ROOT, ISC_BIRTH_FORK, 11, "two");
	announce(&t, 101, ROOT, ISC_BIRTH_BARREN, 12, "one");
	announce(&t, 999, ROOT, ISC_BIRTH_BARREN, 13, "never heard of");
	isc_follow_poll(t.follow, isc_clock_mono_ns());
	isc_follow_stats_get(t.follow, &stats);
	assert_int_equal(stats.traced, 1);
	for (uint32_t i = 1; i <= t.kept->processes; i++) {
		const isc_trace_process *p = &t.kept->process[i];

		assert_int_not_equal(p->pid, 999);
		if (p->pid == 101)
			assert_int_equal(p->flags & (ISC_PROCESS_TRACED | ISC_PROCESS_FAILED), ISC_PROCESS_FAILED);
		if (p->pid == 102)
			assert_int_equal(p->flags & (ISC_PROCESS_TRACED | ISC_PROCESS_FAILED), ISC_PROCESS_TRACED);
	}
	tree_close(&t);
}

/* ---- threads ----------------------------------------------------------- */

static void threads_are_told_apart_by_process_and_life(void **state)
{
	tree t;

	(void)state;
	tree_open(&t, ISC_ROSTER_ENTRIES, true, ROOT);
	tell(&t, "perf exec 100 python3 at 1");
	tell(&t, "perf thread 105 of 100 at 10");
	tell(&t, "thread 105 of image 1 serial 1 at 11");
	tell(&t, "thread 100 of image 1 serial 2 at 12");
	tell(&t, "perf exit 105 of 100 at 20");
	tell(&t, "thread 105 of image 1 serial 3 at 31"); /* drained before perf tells of it */
	tell(&t, "perf thread 105 of 100 at 30");
	tell(&t, "thread 105 of image 1 serial 1 at 11");
	isc_follow_poll(t.follow, isc_clock_mono_ns());
	assert_int_equal(t.kept->threads, 3);
	isc_trace_thread *main = &t.kept->thread[1], *first = &t.kept->thread[2], *second = &t.kept->thread[3];
	assert_int_equal(main->flags, 1);
	assert_int_equal(main->serial, 2);
	assert_string_equal(main->name, "python3");
	assert_int_equal(first->tid, 105);
	assert_int_equal(first->serial, 1);
	assert_int_equal(first->start_ns, at(&t, 10));
	assert_int_equal(first->end_ns, at(&t, 20));
	assert_int_equal(second->tid, 105);
	assert_int_equal(second->serial, 3);
	assert_int_equal(second->start_ns, at(&t, 30));
	assert_int_equal(second->flags, 0);
	assert_string_equal(second->name, "python3");
	tree_close(&t);
}

static void a_process_outlives_its_main_thread(void **state)
{
	tree t;

	(void)state;
	tree_open(&t, ISC_ROSTER_ENTRIES, true, ROOT);
	tell(&t, "perf exec 100 x at 1");
	tell(&t, "perf thread 105 of 100 at 10");
	tell(&t, "perf exit 100 of 100 at 20");
	assert_int_equal(isc_follow_poll(t.follow, isc_clock_mono_ns()), 1);
	assert_false(isc_follow_image_gone(t.follow, 1));
	tell(&t, "perf exit 105 of 100 at 30");
	assert_string_equal(images(&t), "100 from 0 1..30 x root\n");
	assert_true(isc_follow_image_gone(t.follow, 1));
	tree_close(&t);
}

static void a_fork_storm_stays_small(void **state)
{
	tree t;
	isc_follow_stats stats;
	size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;

	(void)state;
	tree_open(&t, ISC_ROSTER_ENTRIES, true, ROOT);
	size_t ours = mallinfo2().uordblks + mallinfo2().hblkhd - before;
	for (unsigned i = 0; i < 100000; i++) {
		uint32_t pid = 1000 + i % 30000; /* numbers come back */

		isc_follow_forked(t.follow, pid, pid, ROOT, at(&t, i * 1.0));
		isc_follow_execed(t.follow, pid, "true", at(&t, i * 1.0 + 0.2));
		isc_follow_exited(t.follow, pid, pid, at(&t, i * 1.0 + 0.7));
		if (i % 100 == 0)
			isc_follow_poll(t.follow, isc_clock_mono_ns());
	}
	size_t grown = mallinfo2().uordblks + mallinfo2().hblkhd - before - ours;
	isc_follow_stats_get(t.follow, &stats);
	assert_int_equal(stats.processes, 100001);
	assert_int_equal(stats.alive, 1);
	print_message("# %zu bytes a process\n", grown / 100000);
	assert_true(grown / 100000 < 700);
	tree_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_spawned_child_is_one_image_whoever_tells_first),
		cmocka_unit_test(a_fork_that_announces_itself_and_execs_is_two_images),
		cmocka_unit_test(a_worker_that_never_execs_is_one_image),
		cmocka_unit_test(a_program_without_the_runtime_between_two_with_it_is_an_image),
		cmocka_unit_test(the_roster_alone_gives_the_same_images),
		cmocka_unit_test(three_generations_know_their_parents),
		cmocka_unit_test(a_pid_that_comes_back_is_another_process),
		cmocka_unit_test(a_copy_that_lived_long_is_an_image_of_its_own),
		cmocka_unit_test(overwritten_lines_are_counted_exactly),
		cmocka_unit_test(an_unfinished_line_waits_and_is_read_later),
		cmocka_unit_test(garbage_in_the_roster_is_not_believed),
		cmocka_unit_test(an_image_that_finds_no_memory_is_not_called_traced),
		cmocka_unit_test(threads_are_told_apart_by_process_and_life),
		cmocka_unit_test(a_process_outlives_its_main_thread),
		cmocka_unit_test(a_fork_storm_stays_small),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
