/* trace: what is written is read, at any moment and after any end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "sample_trace.h"
#include "trace/meta.h"
#include "trace/sample.h"

/* A sample says in its flags, the second number behind it, what its stack lacks. */
static uint32_t id_of(const isc_record *rec)
{
	bool sample = rec->kind == ISC_KIND_SAMPLE && rec->slots > 1;

	return sample ? isc_trace_sample_stack(rec->id, ((const isc_sample *)(const void *)(rec + 1))->flags) : rec->id;
}

static isc_writer *begin(int fd, uint64_t limit)
{
	isc_writer_options options = {.limit_bytes = limit, .clock_source = 0, .start_ticks = 1000, .start_ns = 1000};
	isc_writer *w;
	isc_error err;

	if (isc_writer_open(fd, &options, &w, &err) != ISC_OK)
		fail_msg("%s", err.what);
	return w;
}

static isc_trace *opened(const char *path)
{
	isc_trace *tr;
	isc_error err;

	if (isc_trace_open(path, &tr, &err) != ISC_OK)
		fail_msg("%s", err.what);
	return tr;
}

/* Everything random that a recorder could give comes back, in order within a stream. */
static void events_come_back_as_they_were_given(void **state)
{
	enum { RUNS = 3000, STREAMS = 6 };
	static struct {
		isc_record slots[64];
		isc_trace_run run;
	} given[RUNS];
	uint64_t seed = 42, next[STREAMS] = {0}, ticks = 5000, event_count = 0;
	uint32_t last_run[STREAMS] = {0}, at_slot[STREAMS] = {0}, at_event[STREAMS] = {0};
	char path[64];
	int fd = sample_file(path);
	isc_writer *w = begin(dup(fd), 0);
	isc_trace *tr;
	isc_event ev;

	(void)state;
	for (int i = 0; i < RUNS; i++) {
		uint64_t r = sample_draw(&seed);
		unsigned s = r % STREAMS;
		isc_trace_run *run = &given[i].run;

		*run = (isc_trace_run){.process = 1 + s / 4, .thread = 1 + s / 2, .stream = s % 2};
		next[s] += (r >> 8) % 4 == 0 ? (r >> 16) % 1000 : 0; /* some were lost */
		run->first = next[s];
		for (uint32_t left = 1 + (uint32_t)(r >> 32) % 40; run->slots < left; run->events++) {
			isc_record *rec = &given[i].slots[run->slots];
			uint64_t q = sample_draw(&seed);

			/* Clocks of several CPUs may go back a little. */
			ticks += (q & 1023) - (q % 50 == 0 ? 700 : 0);
			*rec = (isc_record){ticks, (uint32_t)(q >> 10) >> (q >> 42) % 32, (uint8_t)(q >> 50), 1,
					    q % 7 ? 0 : (uint16_t)(q >> 20)};
			if ((q >> 60) == 0 && run->slots + 20 < 64)
				rec->slots = (uint8_t)(2 + q % 18);
			for (unsigned k = 1; k < rec->slots; k++)
				rec[k] = (isc_record){sample_draw(&seed), 1, 2, 0, 4};
			run->slots += rec->slots;
		}
		next[s] += run->events;
		event_count += run->events;
		assert_int_equal(isc_writer_events(w, run, given[i].slots, NULL), ISC_OK);
		if (i % 500 == 0)
			assert_int_equal(isc_writer_flush(w, NULL), ISC_OK);
	}
	assert_int_equal(isc_writer_close(w, &(isc_trace_end){.end_ns = 9}, NULL), ISC_OK);
	tr = opened(path);
	while (isc_trace_next(tr, &ev)) {
		unsigned s = (ev.thread - 1) * 2 + ev.stream;
		uint32_t *i = &last_run[s];
		const isc_record *rec;

		while (given[*i].run.thread != ev.thread || given[*i].run.stream != ev.stream ||
		       at_event[s] == given[*i].run.events) {
			++*i;
			at_event[s] = at_slot[s] = 0;
			assert_true(*i < RUNS);
		}
		rec = &given[*i].slots[at_slot[s]];
		assert_int_equal(ev.number, given[*i].run.first + at_event[s]);
		assert_int_equal(ev.process, given[*i].run.process);
		assert_int_equal(ev.time_ns, rec->ticks);
		assert_int_equal(ev.id, id_of(rec));
		assert_int_equal(ev.kind, rec->kind);
		assert_int_equal(ev.arg, rec->arg);
		assert_int_equal(ev.extra_len, (rec->slots - 1) * 16);
		if (ev.extra_len > 0)
			assert_memory_equal(ev.extra, rec + 1, ev.extra_len);
		at_slot[s] += rec->slots;
		at_event[s]++;
		event_count--;
	}
	assert_int_equal(event_count, 0);
	assert_int_equal(isc_trace_stats_get(tr)->damaged_chunks, 0);
	assert_true(isc_trace_stats_get(tr)->complete);
	isc_trace_close(tr);
	close(fd);
}

/* S8: a file of format version 1 reads for ever as it did when it was made. */
static void the_first_format_reads_as_it_always_did(void **state)
{
	const char *folder = getenv("ISC_GOLDEN");
	char path[512], *now, *want = NULL;
	size_t len = 0;
	FILE *f;

	(void)state;
	assert_non_null(folder);
	snprintf(path, sizeof(path), "%s/format-1.isc", folder);
	now = sample_dump(path, true);
	assert_non_null(now);
	snprintf(path, sizeof(path), "%s/format-1.txt", folder);
	f = fopen(path, "re");
	assert_non_null(f);
	assert_true(getdelim(&want, &len, 0, f) > 0);
	fclose(f);
	assert_string_equal(now, want);
	free(now);
	free(want);
}

/* What windows make of the calls that they did not see is arithmetic of the writer, which may get better. */
static void cut_bounds(char *text)
{
	for (char *at = strstr(text, " between "); at; at = strstr(at, " between ")) {
		const char *rest = at + strcspn(at, "\n");

		memmove(at, rest, strlen(rest) + 1);
	}
}

/* Snapshots, units, gaps and what is said of chunks came later, beside what the first format says. */
static void cut_later(char *dump)
{
	static const char *const begins[] = {"\nsnapshot ", "\nunit ", "\ngap ", "\nchunk "};

	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++) {
		char *at = dump;

		while ((at = strstr(at, begins[i])) != NULL)
			memmove(at, strchr(at + 1, '\n'), strlen(strchr(at + 1, '\n')) + 1);
	}
}

/* And what is written today says the same, bytes and places aside. */
static void what_is_written_today_says_the_same(void **state)
{
	char path[64], golden[512], *now, *then;
	int fd = sample_file(path);

	(void)state;
	snprintf(golden, sizeof(golden), "%s/format-1.isc", getenv("ISC_GOLDEN"));
	assert_int_equal(sample_write(dup(fd), 1 << 20, 3, true), ISC_OK);
	now = sample_dump(path, true);
	then = sample_dump(golden, true);
	*strstr(now, "stats bytes") = 0;
	*strstr(then, "stats bytes") = 0;
	cut_bounds(now);
	cut_bounds(then);
	assert_non_null(strstr(now, "\nsnapshot "));
	assert_non_null(strstr(now, "\nchunk p1 t1 s0 events "));
	cut_later(now);
	assert_string_equal(now, then);
	free(now);
	free(then);
	close(fd);
}

static void an_unknown_version_says_which_one_is_needed(void **state)
{
	char path[64];
	int fd = sample_file(path);
	isc_file_header h = {.magic = "INFERSC", .version = 2};
	isc_error err;
	isc_trace *tr;

	(void)state;
	h.magic[7] = '\n';
	assert_int_equal(write(fd, &h, sizeof(h)), sizeof(h));
	assert_int_equal(isc_trace_open(path, &tr, &err), ISC_ERR_VERSION);
	assert_non_null(strstr(err.what, "needs format version 2; this build reads 1 to 1"));
	assert_null(tr);
	close(fd);
}

static void what_is_not_a_trace_is_called_so(void **state)
{
	char path[64];
	int fd = sample_file(path);
	isc_error err;
	isc_trace *tr;

	(void)state;
	assert_int_equal(isc_trace_open(path, &tr, &err), ISC_ERR_INVALID); /* empty */
	assert_int_equal(write(fd, "{\"traceEvents\":[]}", 18), 18);
	assert_int_equal(isc_trace_open(path, &tr, &err), ISC_ERR_INVALID);
	assert_non_null(strstr(err.what, "is not an InferScope trace"));
	assert_int_equal(isc_trace_open("/nowhere/x.isc", &tr, &err), ISC_ERR_ABSENT);
	assert_int_equal(isc_trace_open("/", &tr, &err), ISC_ERR_INVALID);
	assert_int_equal(isc_trace_open("/dev/zero", &tr, &err), ISC_ERR_INVALID);
	close(fd);
}

static void definitions_of_a_fork_child_come_from_its_parents(void **state)
{
	isc_trace_process p[] = {{.process = 1, .gen = 11},
				 {.process = 2, .gen = 13, .defs_parent_gen = 11, .defs_base_id = 100},
				 {.process = 3, .gen = 15, .defs_parent_gen = 13, .defs_base_id = 200},
				 {.process = 4, .gen = 17, .defs_parent_gen = 19, .defs_base_id = 200},
				 {.process = 5, .gen = 19, .defs_parent_gen = 17, .defs_base_id = 200}};
	char path[64];
	int fd = sample_file(path);
	isc_writer *w = begin(dup(fd), 0);
	isc_trace *tr;
	uint32_t len;

	(void)state;
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(isc_writer_process(w, &p[i], NULL), ISC_OK);
	isc_writer_define(w, 1, 50, ISC_DEF_STRING, "root", 4, NULL);
	isc_writer_define(w, 1, 150, ISC_DEF_STRING, "after the fork", 14, NULL);
	isc_writer_define(w, 2, 150, ISC_DEF_STRING, "child", 5, NULL);
	isc_writer_define(w, 2, 160, 9, "no string", 9, NULL);
	assert_int_equal(isc_writer_close(w, NULL, NULL), ISC_OK);
	tr = opened(path);
	assert_memory_equal(isc_trace_name(tr, 3, 50).at, "root", 4);
	assert_memory_equal(isc_trace_name(tr, 3, 150).at, "child", 5);
	assert_int_equal(isc_trace_name(tr, 3, 150).len, 5);
	assert_memory_equal(isc_trace_name(tr, 1, 150).at, "after the fork", 14);
	assert_memory_equal(isc_trace_name(tr, 3, 199).at, "?", 1);
	assert_memory_equal(isc_trace_name(tr, 2, 160).at, "?", 1);
	assert_non_null(isc_trace_define(tr, 3, 160, 9, &len));
	assert_memory_equal(isc_trace_name(tr, 4, 50).at, "?", 1); /* its parents are each other's */
	assert_memory_equal(isc_trace_name(tr, 99, 50).at, "?", 1);
	isc_trace_close(tr);
	close(fd);
}

static void malformed_runs_are_refused_and_counted(void **state)
{
	isc_record r[4] = {{1, 1, 1, 1, 0}, {2, 1, 1, 3, 0}, {0}, {0}};
	const isc_trace_run bad[] = {{.process = 1, .thread = 1, .events = 1, .slots = 2},
				     {.process = 1, .thread = 1, .events = 2, .slots = 3},
				     {.process = 1, .thread = 1, .events = 3, .slots = 4},
				     {.process = 1, .thread = 1, .stream = 2, .events = 2, .slots = 4},
				     {.process = 1, .thread = 1u << 30, .events = 2, .slots = 4}};
	isc_trace_run good = {.process = 1, .thread = 1, .first = 10, .events = 2, .slots = 4};
	char path[64];
	int fd = sample_file(path);
	isc_writer *w = begin(dup(fd), 0);
	isc_writer_stats stats;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(isc_writer_events(w, &bad[i], r, NULL), ISC_ERR_INVALID);
	r[1].slots = 0;
	assert_int_equal(isc_writer_events(w, &good, r, NULL), ISC_ERR_INVALID);
	r[1].slots = 3;
	assert_int_equal(isc_writer_events(w, &good, r, NULL), ISC_OK);
	good.first = 11;
	assert_int_equal(isc_writer_events(w, &good, r, NULL), ISC_ERR_INVALID); /* 11 was given already */
	assert_int_equal(isc_writer_flush(w, NULL), ISC_OK);
	isc_writer_stats_get(w, &stats);
	assert_int_equal(stats.stored_events, 2);
	assert_int_equal(stats.refused_events, 1 + 2 + 3 + 2 + 2 + 2 + 2);
	assert_int_equal(isc_writer_meta(w, "[1]", 3, NULL), ISC_ERR_INVALID);
	assert_int_equal(isc_writer_meta(w, "{\"a\":1} x", 9, NULL), ISC_ERR_INVALID);
	assert_int_equal(isc_writer_close(w, NULL, NULL), ISC_OK);
	close(fd);
}

static void facts_given_again_replace_the_earlier_ones(void **state)
{
	const char *bad[] = {"",	 "{",	       "}",	"{\"a\"}",     "{\"a\":}",  "{\"a\":1,}",
			     "{\"a\":1", "{\"a\":[1}", "{a:1}", "{\"a\":\"x}", "{\"a\":1}}"};
	isc_buffer out = {0};
	char deep[300];

	(void)state;
	isc_meta_merge("{\"a\":1, \"b\" : [1,{\"x\":\"}\"}]}", 29, " {\"b\":\"q\\\"\",\"c\":null}\n", 22, &out);
	assert_string_equal(out.data, "{\"a\":1,\"b\":\"q\\\"\",\"c\":null}");
	assert_true(isc_meta_holds("{}", 2) && isc_meta_holds(" { } ", 5));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(isc_meta_holds(bad[i], strlen(bad[i])));
	memset(deep, '[', sizeof(deep));
	memcpy(deep, "{\"a\":", 5);
	assert_false(isc_meta_holds(deep, sizeof(deep)));
	isc_buffer_fini(&out);
}

/* A recorder that died is replaced: nothing is stored twice, totals go on. */
static void a_resumed_trace_goes_on_where_it_stopped(void **state)
{
	isc_trace_process p = {.process = 3, .gen = 77};
	isc_trace_thread t = {.thread = 8, .process = 3, .serial = 5};
	char path[64];
	int fd = sample_file(path);
	isc_writer *w = begin(dup(fd), 1 << 20);
	uint32_t processes, threads;
	isc_writer_stats stats;
	isc_totals *totals;
	isc_trace *tr;
	isc_event ev;
	uint64_t seen = 0, next = 0;

	(void)state;
	for (int round = 0; round < 6; round++) {
		for (uint32_t i = 0; i < 400; i++, next += 512)
			sample_scopes(w, 3, 8, next, 256, 1000000 * (next / 512), 1 + i % 3);
		assert_int_equal(isc_writer_process(w, &p, NULL), ISC_OK);
		assert_int_equal(isc_writer_thread(w, &t, NULL), ISC_OK);
		assert_int_equal(isc_writer_define(w, 3, 1 + (uint32_t)round, ISC_DEF_STRING, "name", 4, NULL), ISC_OK);
		assert_int_equal(isc_writer_flush(w, NULL), ISC_OK);
		/* Sometimes it was ended well before, sometimes in the middle of a chunk. */
		assert_int_equal(isc_writer_close(w, round == 2 ? &(isc_trace_end){.end_ns = 1} : NULL, NULL), ISC_OK);
		if (round == 3) {
			struct stat sb;

			assert_int_equal(fstat(fd, &sb), 0);
			assert_int_equal(pwrite(fd, "ISCc garbage", 12, sb.st_size - 8), 12);
		}
		assert_int_equal(isc_writer_resume(dup(fd), &w, NULL), ISC_OK);
		assert_int_equal(isc_writer_next_number(w, 3, 8, 0), next);
		assert_int_equal(isc_writer_next_number(w, 3, 9, 0), 0);
		isc_writer_indices(w, &processes, &threads);
		assert_int_equal(processes, 3);
		assert_int_equal(threads, 8);
		assert_int_equal(isc_writer_find_process(w, 77), 3);
		assert_int_equal(isc_writer_find_process(w, 78), 0);
		assert_int_equal(isc_writer_find_thread(w, 3, 5), 8);
		assert_int_equal(isc_writer_find_thread(w, 3, 6), 0);
		/* A replacement gives all definitions again. */
		assert_int_equal(isc_writer_define(w, 3, 1, ISC_DEF_STRING, "name", 4, NULL), ISC_OK);
	}
	isc_writer_stats_get(w, &stats);
	assert_int_equal(stats.stored_events, next);
	assert_int_equal(isc_writer_close(w, &(isc_trace_end){.end_ns = 5}, NULL), ISC_OK);
	tr = opened(path);
	while (isc_trace_next(tr, &ev))
		seen++;
	assert_int_equal(seen + isc_trace_stats_get(tr)->retired_events, next);
	assert_true(isc_trace_stats_get(tr)->complete);
	assert_int_equal(isc_trace_end_get(tr)->end_ns, 5);
	assert_memory_equal(isc_trace_name(tr, 3, 6).at, "name", 4);
	assert_int_equal(isc_trace_totals(tr, &totals, NULL), ISC_OK);
	assert_int_equal(isc_totals_events(totals), next);
	isc_totals_free(totals);
	isc_trace_close(tr);
	close(fd);
}

/* The file as a recorder leaves it that dies between two flushes. */
static void a_thread_is_known_again_as_soon_as_it_has_events(void **state)
{
	isc_trace_process p = {.process = 3, .gen = 77};
	isc_trace_thread t = {.thread = 8, .process = 3};
	char path[64], copy[64], bytes[65536];
	int fd = sample_file(path), left = sample_file(copy);
	isc_writer *w = begin(dup(fd), 8 << 20), *next = NULL;
	off_t at = 0;
	ssize_t n;

	(void)state;
	assert_int_equal(isc_writer_process(w, &p, NULL), ISC_OK);
	assert_int_equal(isc_writer_thread(w, &t, NULL), ISC_OK);
	assert_int_equal(isc_writer_flush(w, NULL), ISC_OK);
	/* It was heard of before; now it says which one it is, and writes. */
	t.serial = 5;
	assert_int_equal(isc_writer_thread(w, &t, NULL), ISC_OK);
	for (uint64_t i = 0; i < 400; i++)
		sample_scopes(w, 3, 8, i * 512, 256, 1000000 * i, 1);
	for (; (n = pread(fd, bytes, sizeof(bytes), at)) > 0; at += n)
		assert_int_equal(pwrite(left, bytes, (size_t)n, at), n);
	assert_int_equal(isc_writer_resume(dup(left), &next, NULL), ISC_OK);
	assert_true(isc_writer_next_number(next, 3, 8, 0) > 0);
	assert_int_equal(isc_writer_find_thread(next, 3, 5), 8);
	isc_writer_close(next, NULL, NULL);
	isc_writer_close(w, NULL, NULL);
	close(left);
	close(fd);
}

struct live {
	int fd;
	atomic_bool stop;
	_Atomic uint64_t flushed;
};

static void *write_on(void *arg)
{
	struct live *l = arg;
	isc_writer *w = begin(l->fd, 1 << 20);
	uint64_t next = 0;

	while (!atomic_load(&l->stop)) {
		for (int i = 0; i < 20; i++, next += 512)
			sample_scopes(w, 1, 1, next, 256, 1000000 * (next / 512), 1 + (next / 512) % 7);
		isc_trace_account a = {.process = 1, .thread = 1, .produced = next, .stored = next};
		isc_writer_account(w, &a, NULL);
		if (isc_writer_flush(w, NULL) != ISC_OK)
			abort();
		atomic_store(&l->flushed, next);
	}
	if (isc_writer_close(w, &(isc_trace_end){.end_ns = 1}, NULL) != ISC_OK)
		abort();
	return NULL;
}

/* A trace is analysed while its program runs and its oldest events are written over. */
static void a_trace_is_read_while_it_is_written(void **state)
{
	struct live l = {0};
	char path[64];
	int fd = sample_file(path);
	int rounds = getenv("INFERSCOPE_LONG") ? 2000 : 100;
	uint64_t retired = 0;
	pthread_t writer;

	(void)state;
	l.fd = dup(fd);
	assert_int_equal(pthread_create(&writer, NULL, write_on, &l), 0);
	while (atomic_load(&l.flushed) == 0)
		sched_yield();
	for (int i = 0; i < rounds; i++) {
		uint64_t before = atomic_load(&l.flushed), number = 0, seen = 0;
		isc_trace *tr = opened(path);
		isc_totals *totals;
		isc_event ev;

		while (isc_trace_next(tr, &ev)) {
			assert_true(seen == 0 || ev.number > number);
			number = ev.number;
			seen++;
		}
		assert_true(number + 1 >= before || isc_trace_stats_get(tr)->retired_events > 0);
		assert_int_equal(isc_trace_stats_get(tr)->damaged_chunks, 0);
		if (isc_trace_totals(tr, &totals, NULL) == ISC_OK) {
			/* Exact: whole chunks of what was given, and never less than was flushed. */
			assert_true(isc_totals_events(totals) >= before);
			assert_int_equal(isc_totals_events(totals) % 512, 0);
			isc_totals_free(totals);
		}
		assert_true(isc_trace_account_at(tr, 0)->produced + 10240 >= before);
		retired += isc_trace_stats_get(tr)->retired_events;
		isc_trace_close(tr);
	}
	atomic_store(&l.stop, true);
	pthread_join(writer, NULL);
	assert_true(retired > 0);
	close(fd);
}

static void a_finished_trace_that_was_cut_says_so(void **state)
{
	char path[64];
	int fd = sample_file(path);
	struct stat sb;
	isc_trace *tr;

	(void)state;
	assert_int_equal(sample_write(dup(fd), 1 << 20, 3, true), ISC_OK);
	assert_int_equal(fstat(fd, &sb), 0);
	tr = opened(path);
	assert_false(isc_trace_stats_get(tr)->truncated);
	isc_trace_close(tr);
	/* Its last segment is gone, and the end chunk lies before it. */
	assert_int_equal(ftruncate(fd, 4096 + (sb.st_size - 4096) / 65536 * 65536), 0);
	tr = opened(path);
	assert_true(isc_trace_stats_get(tr)->truncated);
	assert_int_equal(isc_trace_stats_get(tr)->damaged_chunks, 0);
	isc_trace_close(tr);
	close(fd);
}

static void an_index_that_lies_is_found_out(void **state)
{
	char path[64];
	int fd = sample_file(path);
	isc_trace *tr;
	isc_event ev;
	uint64_t seen = 0;

	(void)state;
	/* The events go after the index was made. */
	assert_int_equal(sample_write(dup(fd), 1 << 20, 200, true), ISC_OK);
	for (off_t at = 4096; at < 4096 + 65536 * 3; at += 4096)
		assert_int_equal(
			pwrite(fd, "destroyed destroyed destroyed destroyed destroyed destroyed destroyed ", 70, at),
			70);
	tr = opened(path);
	while (isc_trace_next(tr, &ev))
		seen++;
	assert_true(seen < 1200);
	assert_true(isc_trace_stats_get(tr)->damaged_chunks > 0);
	isc_trace_close(tr);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_come_back_as_they_were_given),
		cmocka_unit_test(the_first_format_reads_as_it_always_did),
		cmocka_unit_test(what_is_written_today_says_the_same),
		cmocka_unit_test(an_unknown_version_says_which_one_is_needed),
		cmocka_unit_test(what_is_not_a_trace_is_called_so),
		cmocka_unit_test(definitions_of_a_fork_child_come_from_its_parents),
		cmocka_unit_test(malformed_runs_are_refused_and_counted),
		cmocka_unit_test(facts_given_again_replace_the_earlier_ones),
		cmocka_unit_test(a_resumed_trace_goes_on_where_it_stopped),
		cmocka_unit_test(a_thread_is_known_again_as_soon_as_it_has_events),
		cmocka_unit_test(a_trace_is_read_while_it_is_written),
		cmocka_unit_test(a_finished_trace_that_was_cut_says_so),
		cmocka_unit_test(an_index_that_lies_is_found_out),
	};

	return cmocka_run_group_tests_name("trace", tests, NULL, NULL);
}
