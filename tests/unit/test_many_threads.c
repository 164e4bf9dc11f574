/* many_threads: what an analysis takes of memory when a program starts thousands of short threads. */
#include "check.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analyze/analysis.h"
#include "sample_trace.h"

#define SCOPE 10u
#define CODE 11u
#define DEPTH 20u
#define ROUNDS 10u
#define FLUSH_EVERY 200u /* threads: a quarter of a second of a program that starts 800 in each */

static void define(isc_writer *w)
{
	static const char text[] = "work/srv/app.py";
	struct {
		isc_def_code head;
		char text[sizeof(text)];
	} code = {.head = {.line = 3, .name_len = 4, .file_len = sizeof(text) - 5}};

	CHECK_OK(isc_writer_define(w, 1, SCOPE, ISC_DEF_STRING, "request", 7, NULL));
	for (uint32_t i = 0; i < DEPTH; i++) {
		memcpy(code.text, text, sizeof(text));
		code.head.line = 3 + i;
		CHECK_OK(isc_writer_define(w, 1, CODE + i, ISC_DEF_CODE, &code, sizeof(code.head) + sizeof(text) - 1,
					   NULL));
	}
}

static void put(isc_record *r, uint32_t *n, uint64_t ticks, uint32_t id, uint8_t kind, uint16_t arg, const void *extra,
		size_t len)
{
	r[*n] = (isc_record){ticks, id, kind, (uint8_t)(1 + len / sizeof(*r)), arg};
	if (len > 0)
		memcpy(&r[*n + 1], extra, len);
	*n += 1 + (uint32_t)(len / sizeof(*r));
}

/* Requests of a thread: calls inside each other, a sample and a wait. */
static uint32_t live_of_thread(isc_record *r, uint64_t ticks, uint32_t *events)
{
	isc_sample sample = {.period_ns = 10000};
	isc_wait wait = {.ticks = 2000};
	uint32_t n = 0;

	for (uint32_t i = 0; i < ROUNDS; i++) {
		put(r, &n, ticks += 1000, SCOPE, ISC_KIND_SCOPE_ENTER, 0, NULL, 0);
		for (uint32_t d = 0; d < DEPTH; d++)
			put(r, &n, ticks += 100, CODE + d, ISC_KIND_CALL_ENTER, 0, NULL, 0);
		put(r, &n, ticks += 10000, 0, ISC_KIND_SAMPLE, 1, &sample, sizeof(sample));
		put(r, &n, ticks += 3000, 0, ISC_KIND_WAIT_EXIT, ISC_WAIT_RECV, &wait, sizeof(wait));
		for (uint32_t d = DEPTH; d-- > 0;)
			put(r, &n, ticks += 100, CODE + d, ISC_KIND_CALL_EXIT, 0, NULL, 0);
		put(r, &n, ticks += 1000, SCOPE, ISC_KIND_SCOPE_EXIT, 0, NULL, 0);
		*events += 2 * DEPTH + 4;
	}
	return n;
}

static void write_threads(int fd, uint32_t threads)
{
	isc_writer_options options = {.start_ns = 1000, .start_ticks = 1000};
	isc_trace_process process = {
		.process = 1, .pid = 100, .flags = ISC_PROCESS_ROOT | ISC_PROCESS_TRACED, .start_ns = 1000};
	isc_trace_end end = {.known = 1};
	static isc_record r[ROUNDS * (2 * DEPTH + 8)];
	uint64_t ticks = 2000;
	isc_writer *w = NULL;

	CHECK_OK(isc_writer_open(fd, &options, &w, NULL));
	CHECK_OK(isc_writer_meta(w, "{\"argv\":[\"serve\"]}", 18, NULL));
	CHECK_OK(isc_writer_process(w, &process, NULL));
	define(w);
	for (uint32_t t = 1; t <= threads; t++) {
		isc_trace_run run = {.process = 1, .thread = t};
		isc_trace_thread thread = {.thread = t,
					   .process = 1,
					   .tid = 1000 + t,
					   .serial = t,
					   .flags = ISC_THREAD_ENDED,
					   .start_ns = ticks};
		isc_trace_switch sw[2] = {{.time_ns = ticks, .pid = 100, .tid = 1000 + t, .kind = ISC_SWITCH_IN}};

		run.slots = live_of_thread(r, ticks, &run.events);
		ticks = r[run.slots - 1].ticks + 1000;
		thread.end_ns = ticks;
		sw[1] = (isc_trace_switch){.time_ns = ticks, .pid = 100, .tid = 1000 + t, .kind = ISC_SWITCH_OUT};
		snprintf(thread.name, sizeof(thread.name), "worker %u", t % 7);
		CHECK_OK(isc_writer_thread(w, &thread, NULL));
		CHECK_OK(isc_writer_events(w, &run, r, NULL));
		CHECK_OK(isc_writer_switches(w, sw, 2, NULL));
		if (t % FLUSH_EVERY == 0)
			CHECK_OK(isc_writer_flush(w, NULL));
	}
	end.end_ns = ticks;
	CHECK_OK(isc_writer_close(w, &end, NULL));
}

/* In a process of its own: 0 when all threads are there. */
static int analyse(const char *path, uint32_t threads)
{
	const isc_analysis_options options = {.lanes = true};
	isc_trace *trace = NULL;
	isc_analysis *a = NULL;
	int wrong;

	if (isc_trace_open(path, &trace, NULL) != ISC_OK || isc_analysis_new(trace, &options, &a, NULL) != ISC_OK)
		return 1;
	wrong = a->thread_count != threads || a->lanes == NULL;
	isc_analysis_free(a);
	isc_trace_close(trace);
	return wrong;
}

/* In MB, of a report with lanes. */
static double peak_of(uint32_t threads)
{
	struct rusage used;
	char path[64];
	int fd = sample_file(path), status = -1;
	pid_t child;

	/* The recorder's memory is none of the report's. */
	child = fork();
	if (child == 0) {
		write_threads(dup(fd), threads);
		_exit(0);
	}
	CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
	child = fork();
	if (child == 0)
		_exit(analyse(path, threads));
	CHECK(child > 0 && wait4(child, &status, 0, &used) == child);
	CHECK_EQ(status, 0);
	close(fd);
	return (double)used.ru_maxrss / 1024;
}

TEST(ten_thousand_short_threads_stay_under_256_MB)
{
	double five = peak_of(5000), ten = peak_of(10000);

	print_message("# 5,000 threads: %.0f MB, 10,000: %.0f MB\n", five, ten);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	CHECK_IN(ten, 0, 256);
	/* And each further thread takes no more than each before. */
	CHECK_IN(ten, five, 2 * five + 8);
#endif
}
