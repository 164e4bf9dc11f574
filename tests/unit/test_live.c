/* live: a report of a trace whose recorder goes on writing, over what is being read. */
#include "check.h"

#include <string.h>
#include <unistd.h>

#include "analyze/analysis.h"
#include "sample_trace.h"

#define LIMIT (1u << 20)
#define THREADS 3u
#define BATCH 400u

struct recorder {
	isc_writer *w;
	uint64_t seed, ticks, number[THREADS], given;
	uint64_t batches; /* written whenever the reader looks; 0: it waits */
	uint64_t looks;
};

static void put_slots(isc_record *r, uint32_t *n, uint64_t ticks, uint8_t kind, uint16_t arg, const void *extra,
		      uint8_t slots)
{
	r[*n] = (isc_record){ticks, kind == ISC_KIND_SAMPLE || kind == ISC_KIND_WAIT_EXIT ? 0 : 10, kind, slots, arg};
	if (slots > 1)
		memcpy(&r[*n + 1], extra, (slots - 1u) * sizeof(*r));
	*n += slots;
}

/* A request: a scope with a call, a sample and a wait in it. */
static uint32_t request(struct recorder *rec, isc_record *r)
{
	isc_sample sample = {.period_ns = 1000000};
	isc_wait wait = {.ticks = 1000};
	uint32_t n = 0;

	rec->ticks += 1000 + sample_draw(&rec->seed) % 4096;
	put_slots(r, &n, rec->ticks, ISC_KIND_SCOPE_ENTER, 0, NULL, 1);
	put_slots(r, &n, rec->ticks += 100, ISC_KIND_CALL_ENTER, 0, NULL, 1);
	put_slots(r, &n, rec->ticks += 1000, ISC_KIND_SAMPLE, 1, &sample, 1 + sizeof(sample) / sizeof(*r));
	put_slots(r, &n, rec->ticks += 3000, ISC_KIND_WAIT_EXIT, ISC_WAIT_RECV, &wait, 1 + sizeof(wait) / sizeof(*r));
	put_slots(r, &n, rec->ticks += 200, ISC_KIND_CALL_EXIT, 0, NULL, 1);
	put_slots(r, &n, rec->ticks += 100, ISC_KIND_SCOPE_EXIT, 0, NULL, 1);
	return n;
}

static void record_batches(struct recorder *rec, uint64_t batches)
{
	static isc_record r[BATCH * 16];

	for (uint64_t i = 0; i < batches; i++) {
		uint32_t thread = (uint32_t)sample_draw(&rec->seed) % THREADS, slots = 0;
		isc_trace_run run = {.process = 1, .thread = thread + 1, .first = rec->number[thread]};

		for (uint32_t k = 0; k < BATCH; k++, run.events += 6)
			slots += request(rec, &r[slots]);
		run.slots = slots;
		CHECK_OK(isc_writer_events(rec->w, &run, r, NULL));
		rec->number[thread] += run.events;
		rec->given += run.events;
	}
	CHECK_OK(isc_writer_flush(rec->w, NULL));
}

static void start(struct recorder *rec, int fd)
{
	isc_writer_options options = {.limit_bytes = LIMIT, .start_ns = 1000, .start_ticks = 1000};
	isc_trace_process process = {
		.process = 1, .pid = 100, .flags = ISC_PROCESS_ROOT | ISC_PROCESS_TRACED, .start_ns = 1000};

	CHECK_OK(isc_writer_open(fd, &options, &rec->w, NULL));
	CHECK_OK(isc_writer_meta(rec->w, "{\"argv\":[\"serve\"]}", 18, NULL));
	CHECK_OK(isc_writer_process(rec->w, &process, NULL));
	CHECK_OK(isc_writer_define(rec->w, 1, 10, ISC_DEF_STRING, "request", 7, NULL));
	for (uint32_t t = 1; t <= THREADS; t++) {
		isc_trace_thread thread = {.thread = t, .process = 1, .tid = 99 + t, .serial = t, .start_ns = 1000};

		CHECK_OK(isc_writer_thread(rec->w, &thread, NULL));
	}
	rec->ticks = 2000;
}

/* The reader is between two walks, or in the middle of one. */
static void go_on(void *self, uint64_t done, uint64_t total)
{
	struct recorder *rec = self;

	CHECK(done <= total);
	rec->looks++;
	record_batches(rec, rec->batches);
}

static const isc_analysis_warning *find_warning(const isc_analysis *a, const char *id)
{
	for (size_t i = 0; i < a->warning_count; i++) {
		if (strcmp(a->warnings[i].id, id) == 0)
			return &a->warnings[i];
	}
	return NULL;
}

static void check_states(const isc_analysis *a)
{
	for (size_t i = 0; i < a->thread_count; i++) {
		const isc_analysis_thread *t = &a->threads[i];
		double sum = 0;

		for (size_t k = 0; k < ISC_STATES; k++)
			sum += t->state_us[k] > 0 ? t->state_us[k] : 0;
		CHECK(sum <= t->wall_us * 1.001 + 1);
	}
}

/* The recorder has written so many batches when the trace is opened, and writes further ones each time that the reader
 * tells how far it is: at the beginning of the main walk and in it.  Events that were gone when all was read. */
static uint64_t analyse(uint64_t seed, uint64_t before, uint64_t batches)
{
	struct recorder rec = {.seed = seed};
	const isc_analysis_options options = {.live = true, .lanes = true, .progress = go_on, .progress_self = &rec};
	isc_trace *trace = NULL;
	isc_analysis *a = NULL;
	isc_error err = {0};
	uint64_t retired;
	char path[64];
	int fd = sample_file(path);

	start(&rec, dup(fd));
	record_batches(&rec, before);
	CHECK_OK(isc_trace_open(path, &trace, &err), &err);
	rec.batches = batches;
	CHECK_OK(isc_analysis_new(trace, &options, &a, &err), &err);
	CHECK(rec.looks > 0);
	CHECK(!a->damaged);
	CHECK_EQ(a->events, before * BATCH * 6);
	CHECK_IN(a->retired, 0, a->events);
	CHECK_EQ(find_warning(a, "retired_events") != NULL, a->retired > 0);
	check_states(a);
	retired = a->retired;
	isc_analysis_free(a);
	isc_trace_close(trace);
	CHECK_OK(isc_writer_close(rec.w, NULL, NULL));
	close(fd);
	return retired;
}

/* The survey has seen what the main walk does not find any more. */
TEST(a_report_says_what_was_written_over_between_its_walks)
{
	CHECK_EQ(analyse(1, 8, 0), 0);
	CHECK_EQ(analyse(1, 8, 1000), 8 * BATCH * 6);
}

TEST(a_report_of_a_file_that_changes_all_the_time_is_consistent)
{
	for (uint64_t seed = 1; seed <= 12; seed++)
		analyse(seed, 8 + seed % 3 * 100, 1 + seed * 5);
}
