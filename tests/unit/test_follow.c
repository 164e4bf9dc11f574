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
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "session/follow.h"
#include "session/follow_proc.h"

#define ROOT 100u
#define MS 1000000ull

/* ---- a sink that keeps the last word on everything --------------------- */

typedef struct kept {
	isc_trace_process process[8192];
	char argv[8192][32];
	uint32_t processes;
	isc_trace_thread thread[8192];
	uint32_t threads;
	uint64_t writes;
} kept;

static isc_status keep_process(void *self, const isc_trace_process *p, isc_error *err)
{
	kept *k = self;

	(void)err;
	k->writes++;
	if (p->process >= 8192)
		return ISC_OK;
	k->process[p->process] = *p;
	snprintf(k->argv[p->process], sizeof(k->argv[0]), "%.*s", (int)p->argv_len, p->argv);
	if (p->process > k->processes)
		k->processes = p->process;
	return ISC_OK;
}

static isc_status keep_thread(void *self, const isc_trace_thread *t, isc_error *err)
{
	kept *k = self;

	(void)err;
	k->writes++;
	if (t->thread >= 8192)
		return ISC_OK;
	k->thread[t->thread] = *t;
	if (t->thread > k->threads)
		k->threads = t->thread;
	return ISC_OK;
}

/* ---- a tree of told news ----------------------------------------------- */

typedef struct tree {
	isc_control *control;
	isc_follow *follow;
	kept *kept;
	uint64_t zero_ns;	/* time 0 of the scripts below */
} tree;

static void tree_open(tree *t, uint32_t roster_entries, bool blind, pid_t root)
{
	isc_error err;

	t->control = calloc(1, sizeof(*t->control) + ISC_ROSTER_ENTRIES * sizeof(isc_roster_entry));
	t->control->roster_entries = roster_entries;
	t->kept = calloc(1, sizeof(*t->kept));
	isc_follow_options options = {.sink = {.self = t->kept, .process = keep_process, .thread = keep_thread},
				      .control = t->control, .clock_source = ISC_CLOCK_MONOTONIC, .root = root,
				      .blind = blind};
	/* Announcements of the future are not believed: the scripts play in the last 900 ms. */
	t->zero_ns = isc_clock_mono_ns() - 900 * MS;
	assert_int_equal(isc_follow_open(&options, &t->follow, &err), ISC_OK);
}

static void tree_close(tree *t)
{
	isc_follow_free(t->follow);
	free(t->kept);
	free(t->control);
}

static uint64_t at(const tree *t, double ms)
{
	return t->zero_ns + (uint64_t)(ms * 1e6);
}

static void announce(tree *t, uint32_t pid, uint32_t ppid, int birth, double ms, const char *name)
{
	uint64_t n = atomic_fetch_add(&t->control->roster_tail, 1);
	isc_roster_entry *e = &t->control->roster[n % t->control->roster_entries];

	e->ticks = at(t, ms);
	e->pid = pid;
	e->ppid = ppid;
	e->birth = (uint16_t)birth;
	e->traced = 1;
	e->argv_cut = 0;
	e->argv_len = (uint16_t)(name[0] ? strlen(name) + 1 : 0);
	strcpy(e->argv, name);
	atomic_store(&e->seq, n + 1);
}

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

	return (*x)->start_ns != (*y)->start_ns ? ((*x)->start_ns > (*y)->start_ns) - ((*x)->start_ns < (*y)->start_ns) :
						  (int)(*x)->pid - (int)(*y)->pid;
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
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%.0f", (double)(p->end_ns - t->zero_ns) / 1e6);
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
	static const char *const roster[] = {"roster program 100 from 1 sh at 2", "roster program 101 from 100 ls at 12", NULL};
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
		"101 from 101 15..20 ls exec traced\n"), 35);
}

static void a_worker_that_never_execs_is_one_image(void **state)
{
	static const char *const perf[] = {"perf exec 100 python3 at 1", "perf fork 101 from 100 at 10",
					   "perf exit 101 of 101 at 20", NULL};
	static const char *const roster[] = {"roster program 100 from 1 python3 at 2", "roster copy 101 from 100 at 11", NULL};
	static const char *const pool[] = {"pool of 101 from 100 parent 1 at 12", NULL};

	(void)state;
	in_every_order(perf, roster, pool,
		"100 from 0 1.. python3 root traced\n"
		"101 from 100 10..20 python3 traced pool\n");
}

static void a_program_without_the_runtime_between_two_with_it_is_an_image(void **state)
{
	static const char *const perf[] = {"perf exec 100 sh at 1", "perf exec 100 static at 5", "perf exec 100 ls at 8", NULL};
	static const char *const roster[] = {"roster program 100 from 1 sh at 2", "roster program 100 from 1 ls at 9", NULL};

	(void)state;
	assert_int_equal(in_every_order(perf, roster, nothing,
		"100 from 0 1..5 sh root traced\n"
		"100 from 100 5..8 static exec\n"
		"100 from 100 8.. ls exec traced\n"), 10);
}

static void the_roster_alone_gives_the_same_images(void **state)
{
	static const char *const roster[] = {
		"roster program 100 from 1 sh at 2", "roster copy 101 from 100 at 11",
		"roster program 101 from 100 ls at 16", "roster program 102 from 100 cat at 20",
		"roster program 100 from 1 python3 at 30", "roster copy 103 from 100 at 31", NULL};

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
	static const char *const perf[] = {"perf exec 100 sh at 1", "perf fork 101 from 100 at 10",
					   "perf fork 102 from 101 at 12", "perf exit 101 of 101 at 13",
					   "perf exit 102 of 102 at 40", NULL};
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
	static const char *const perf[] = {"perf exec 100 sh at 1", "perf fork 101 from 100 at 10",
					   "perf exit 101 of 101 at 20", "perf fork 101 from 100 at 700",
					   "perf exec 101 ls at 701", "perf exit 101 of 101 at 720", NULL};
	static const char *const roster[] = {"roster program 100 from 1 sh at 2", "roster copy 101 from 100 at 11",
					     "roster program 101 from 100 ls at 702", NULL};
	const char *expected = "100 from 0 1.. sh root traced\n"
			       "101 from 100 10..20 sh traced\n"
			       "101 from 100 700..720 ls traced\n";
	const char *late[9] = {perf[0], perf[1], perf[2], roster[0], roster[1], perf[3], roster[2], perf[4], perf[5]};

	(void)state;
	play(late, 9, expected, "perf and roster together");
	const char *perf_first[9] = {perf[0], perf[1], perf[2], perf[3], perf[4], perf[5], roster[0], roster[1], roster[2]};
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
		"101 from 101 1500.. ls exec\n", "perf alone");
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
	uint64_t hole = atomic_fetch_add(&t.control->roster_tail, 1), dead = atomic_fetch_add(&t.control->roster_tail, 1);
	announce(&t, 103, ROOT, ISC_BIRTH_FORK, 5, "x");
	isc_follow_poll(t.follow, now);
	isc_follow_stats_get(t.follow, &stats);
	assert_int_equal(stats.processes, 2);
	t.control->roster[hole] = (isc_roster_entry){.ticks = at(&t, 4), .pid = 101, .ppid = ROOT, .birth = ISC_BIRTH_FORK};
	atomic_store(&t.control->roster[hole].seq, hole + 1);
	isc_follow_poll(t.follow, now + MS);
	isc_follow_stats_get(t.follow, &stats);
	assert_int_equal(stats.processes, 3);
	assert_int_equal(stats.roster_lost, 0);
	isc_follow_poll(t.follow, now + 1100 * MS);	/* the taker of the other one is dead */
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
				e->birth = (uint16_t)(1 + rand_r(&seed) % 2);
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
	tell(&t, "thread 105 of image 1 serial 3 at 31");	/* drained before perf tells of it */
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
		uint32_t pid = 1000 + i % 30000;	/* numbers come back */

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

/* ---- looking ----------------------------------------------------------- */

static void what_proc_says_is_parsed_with_odd_names(void **state)
{
	isc_proc_stat st;
	const char *line = "42 (a) b (c) S 7 1 1 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 250 100 10\n";

	(void)state;
	assert_true(isc_proc_stat_parse(line, strlen(line), 100, 500000000, &st));
	assert_int_equal(st.state, 'S');
	assert_int_equal(st.ppid, 7);
	assert_int_equal(st.start_ns, 2000000000);
	assert_string_equal(st.comm, "a) b (c");
	for (size_t cut = 0; cut <= strlen(line); cut++)
		isc_proc_stat_parse(line, cut, 100, 0, &st);
	assert_false(isc_proc_stat_parse(line, 30, 100, 0, &st));
	assert_false(isc_proc_stat_parse("42 (x)", 6, 100, 0, &st));
}

/* Polls until the table has so many images and so many alive, or 5 s have passed. */
static bool reaches(tree *t, uint32_t processes, uint32_t alive)
{
	isc_follow_stats stats;

	for (int i = 0; i < 1000; i++) {
		isc_follow_poll(t->follow, isc_clock_mono_ns());
		isc_follow_stats_get(t->follow, &stats);
		if (stats.processes == processes && stats.alive == alive)
			return true;
		usleep(5000);
	}
	print_message("# %u processes, %u alive\n", stats.processes, stats.alive);
	return false;
}

static void without_any_news_proc_shows_children_and_their_ends(void **state)
{
	tree t;
	int go[2];
	char c = 0;

	(void)state;
	assert_int_equal(pipe(go), 0);
	pid_t root = fork();
	if (root == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);	/* a failed test leaves nobody behind */
		char *const args[] = {"sleep", "60", NULL};
		pid_t child;

		if (read(go[0], &c, 1) != 1 || posix_spawnp(&child, "sleep", NULL, NULL, args, environ) != 0)
			_exit(1);
		if (read(go[0], &c, 1) == 1)
			kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		execlp("sleep", "sleep", "60", NULL);
		_exit(1);
	}
	tree_open(&t, ISC_ROSTER_ENTRIES, false, root);
	/* It looks like a child that launch holds back; it is told to be more. */
	announce(&t, (uint32_t)root, (uint32_t)getpid(), ISC_BIRTH_IMAGE, 899, "self");
	assert_true(reaches(&t, 1, 1));
	assert_int_equal(write(go[1], &c, 1), 1);
	assert_true(reaches(&t, 2, 2));
	assert_false(isc_follow_image_gone(t.follow, 2));
	/* Its parent's arguments until somebody looks after the exec. */
	for (int i = 0; i < 500 && strcmp(t.kept->argv[2], "sleep") != 0; i++, usleep(5000))
		isc_follow_poll(t.follow, isc_clock_mono_ns());
	assert_string_equal(t.kept->argv[2], "sleep");
	assert_int_equal(write(go[1], &c, 1), 1);
	assert_true(reaches(&t, 3, 1));	/* the child is gone, and the root runs another program */
	assert_true(isc_follow_image_gone(t.follow, 1));
	assert_true(isc_follow_image_gone(t.follow, 2));
	assert_false(isc_follow_image_gone(t.follow, 3));
	assert_int_equal(t.kept->process[3].flags & ISC_PROCESS_EXEC, ISC_PROCESS_EXEC);
	kill(root, SIGKILL);
	assert_true(reaches(&t, 3, 0));
	int status;
	assert_int_equal(waitpid(root, &status, 0), root);
	isc_follow_root_status(t.follow, status, isc_clock_mono_ns());
	isc_follow_poll(t.follow, isc_clock_mono_ns());
	assert_int_equal(t.kept->process[3].flags & ISC_PROCESS_STATUS, ISC_PROCESS_STATUS);
	assert_int_equal(WTERMSIG(t.kept->process[3].wait_status), SIGKILL);
	tree_close(&t);
	close(go[0]);
	close(go[1]);
}

static void a_process_that_was_told_dead_but_lives_is_not_gone(void **state)
{
	tree t;
	pid_t root = fork();

	(void)state;
	if (root == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	tree_open(&t, ISC_ROSTER_ENTRIES, false, root);
	/* A thread that perf's lost records hid goes on: its memory must stay. */
	isc_follow_exited(t.follow, (uint32_t)root, (uint32_t)root, isc_clock_mono_ns());
	assert_false(isc_follow_image_gone(t.follow, 1));
	kill(root, SIGKILL);
	waitpid(root, NULL, 0);
	assert_true(isc_follow_image_gone(t.follow, 1));
	tree_close(&t);
}

/* A process that is number 1 in a pid namespace of its own, with a thread. */
static void *idle(void *out)
{
	*(uint32_t *)out = (uint32_t)gettid();
	pause();
	return NULL;
}

static void a_process_in_its_own_pid_namespace_is_found_by_ours(void **state)
{
	tree t;
	int told[2], go[2];
	uint32_t own[2];
	char c = 0;

	(void)state;
	assert_int_equal(pipe(told), 0);
	assert_int_equal(pipe(go), 0);
	pid_t root = fork();
	if (root == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (read(go[0], &c, 1) != 1 || unshare(CLONE_NEWPID) != 0) {
			memset(own, 0xff, sizeof(own));
			_exit(write(told[1], own, sizeof(own)) != sizeof(own));
		}
		pid_t child = fork();
		if (child == 0) {
			pthread_t thread;

			prctl(PR_SET_PDEATHSIG, SIGKILL);
			memset(own, 0, sizeof(own));
			if (pthread_create(&thread, NULL, idle, &own[1]) != 0)
				_exit(1);
			while (*(volatile uint32_t *)&own[1] == 0)
				usleep(100);
			own[0] = (uint32_t)getpid();
			if (write(told[1], own, sizeof(own)) != sizeof(own))
				_exit(1);
			pause();
			_exit(0);
		}
		pause();
		_exit(0);
	}
	tree_open(&t, ISC_ROSTER_ENTRIES, false, root);
	announce(&t, (uint32_t)root, (uint32_t)getpid(), ISC_BIRTH_IMAGE, 899, "self");
	assert_int_equal(write(go[1], &c, 1), 1);
	assert_int_equal(read(told[0], own, sizeof(own)), sizeof(own));
	if (own[0] == UINT32_MAX) {
		waitpid(root, NULL, 0);
		tree_close(&t);
		print_message("# skipped: no right to make a pid namespace\n");
		skip();
	}
	assert_int_equal(own[0], 1);
	/* Before anybody has looked: the line in the roster says 1, as our own init does. */
	t.zero_ns = isc_clock_mono_ns();
	announce(&t, own[0], 0, ISC_BIRTH_FORK, 0, "");
	isc_follow_poll(t.follow, isc_clock_mono_ns());
	pid_t host = isc_follow_host_pid(t.follow, 2);
	assert_true(host > 1);
	assert_int_equal(t.kept->process[2].pid, host);
	assert_int_equal(t.kept->process[2].ppid, root);
	assert_int_equal(t.kept->process[2].parent, 1);
	assert_true(reaches(&t, 2, 2));
	/* Its threads have two numbers as well; switches know ours. */
	uint32_t thread = isc_follow_thread(t.follow, 2, own[1], 1, isc_clock_mono_ns());
	isc_follow_poll(t.follow, isc_clock_mono_ns());
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/task/%u", (int)host, t.kept->thread[thread].tid);
	assert_int_equal(access(path, F_OK), 0);
	assert_int_not_equal(t.kept->thread[thread].tid, host);
	kill(host, SIGKILL);
	assert_true(reaches(&t, 2, 1));
	kill(root, SIGKILL);
	waitpid(root, NULL, 0);
	tree_close(&t);
	for (int i = 0; i < 2; i++) {
		close(told[i]);
		close(go[i]);
	}
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
		cmocka_unit_test(threads_are_told_apart_by_process_and_life),
		cmocka_unit_test(a_process_outlives_its_main_thread),
		cmocka_unit_test(a_fork_storm_stays_small),
		cmocka_unit_test(what_proc_says_is_parsed_with_odd_names),
		cmocka_unit_test(without_any_news_proc_shows_children_and_their_ends),
		cmocka_unit_test(a_process_that_was_told_dead_but_lives_is_not_gone),
		cmocka_unit_test(a_process_in_its_own_pid_namespace_is_found_by_ours),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
