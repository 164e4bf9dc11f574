/*
 * trace_make.c - a trace of many events, written as the recorder writes it.
 *
 *	trace_make PATH MILLION_RECORDS [THREADS [LIMIT_MB [calls]]]
 *
 * The records are scopes, or calls of functions.
 *
 * Counts on its own what it writes, reads the totals back from the file, and says
 * whether they are the same to the last tick.  The line on stdout is JSON: CPU time
 * a record in the writer, the time to close, and the size of the file.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "call_stream.h"
#include "trace/reader.h"
#include "trace/writer.h"

#define BATCH 508u	    /* a block of the transport */
#define FLUSH_BATCHES 4096u /* about 2 million records: a quarter of a second of a storm */
#define THREADS_MAX 64u
#define NAME_SPAN (3 * CALL_STREAM_NAMES)

typedef struct count {
	uint64_t calls;
	uint64_t ticks;
} count;

static count counted[NAME_SPAN];
static call_stream streams[THREADS_MAX];
static uint64_t entered[THREADS_MAX][CALL_STREAM_DEPTH];
static bool nested[THREADS_MAX][CALL_STREAM_DEPTH];
static uint64_t numbers[THREADS_MAX];
static double writer_ns;
static bool calls;

static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static bool begin(isc_writer *w, unsigned threads, isc_error *err)
{
	static const char argv[] = "trace_make";
	static const char facts[] = "{\"argv\": [\"trace_make\"]}";
	isc_trace_process process = {.process = 1,
				     .pid = 1000,
				     .flags = ISC_PROCESS_ROOT | ISC_PROCESS_TRACED,
				     .start_ns = 1,
				     .argv = argv,
				     .argv_len = sizeof(argv)};
	char name[64];

	if (isc_writer_meta(w, facts, sizeof(facts) - 1, err) != ISC_OK ||
	    isc_writer_process(w, &process, err) != ISC_OK)
		return false;
	for (unsigned t = 0; t < threads; t++) {
		isc_trace_thread thread = {.thread = t + 1,
					   .process = 1,
					   .tid = 1000 + t,
					   .flags = t == 0,
					   .serial = t + 1,
					   .start_ns = 1};

		snprintf(thread.name, sizeof(thread.name), "worker %u", t);
		if (isc_writer_thread(w, &thread, err) != ISC_OK)
			return false;
		streams[t] = (call_stream){.ticks = 1000, .seed = t + 1, .calls = calls};
	}
	for (uint32_t id = 0; id < NAME_SPAN; id += 3) {
		int len = snprintf(name, sizeof(name), "model.layers.%u.forward_%u", id / 60, id / 3);
		isc_def_code head = {.line = id + 1, .name_len = (uint32_t)len};
		char code[sizeof(head) + sizeof(name)];

		memcpy(code, &head, sizeof(head));
		memcpy(code + sizeof(head), name, (size_t)len);
		if (isc_writer_define(w, 1, CALL_STREAM_FIRST_ID + id, calls ? ISC_DEF_CODE : ISC_DEF_STRING,
				      calls ? code : name, (uint32_t)len + (calls ? sizeof(head) : 0), err) != ISC_OK)
			return false;
	}
	return true;
}

static void account(const isc_record *r, unsigned t)
{
	count *c = &counted[r->id - CALL_STREAM_FIRST_ID];
	unsigned depth = streams[t].depth;

	if (r->kind == ISC_KIND_SCOPE_ENTER || r->kind == ISC_KIND_CALL_ENTER) {
		entered[t][depth - 1] = r->ticks;
		/* A function inside itself adds nothing to its whole time. */
		nested[t][depth - 1] = false;
		for (unsigned i = 0; calls && i + 1 < depth; i++)
			nested[t][depth - 1] |= streams[t].stack[i].id == r->id;
		c->calls += calls;
	} else {
		c->calls += !calls;
		c->ticks += nested[t][depth] ? 0 : r->ticks - entered[t][depth];
	}
}

/* The thread came onto a CPU before its batch and left it after. */
static bool change(isc_writer *w, unsigned t, uint64_t from_ns, uint64_t to_ns, isc_error *err)
{
	isc_trace_switch s[2] = {
		{.time_ns = from_ns, .pid = 1000, .tid = 1000 + t, .cpu = (uint16_t)(t % 2), .kind = ISC_SWITCH_IN},
		{.time_ns = to_ns, .pid = 1000, .tid = 1000 + t, .cpu = (uint16_t)(t % 2), .kind = ISC_SWITCH_OUT},
	};

	return isc_writer_switches(w, s, 2, err) == ISC_OK;
}

static bool feed(isc_writer *w, uint64_t records, unsigned threads, isc_error *err)
{
	isc_record batch[BATCH];
	uint64_t batches = 0;

	for (uint64_t done = 0; done < records; batches++) {
		unsigned t = (unsigned)(batches % threads);
		uint32_t n = records - done < BATCH ? (uint32_t)(records - done) : BATCH;
		isc_trace_run run = {.process = 1, .thread = t + 1, .first = numbers[t], .events = n, .slots = n};
		double start;

		for (uint32_t i = 0; i < n; i++) {
			batch[i] = call_stream_next(&streams[t]);
			account(&batch[i], t);
		}
		start = cpu_ns();
		if (isc_writer_events(w, &run, batch, err) != ISC_OK)
			return false;
		if (batches % FLUSH_BATCHES == FLUSH_BATCHES - 1 && isc_writer_flush(w, err) != ISC_OK)
			return false;
		writer_ns += cpu_ns() - start;
		if (!change(w, t, batch[0].ticks, batch[n - 1].ticks, err))
			return false;
		numbers[t] += n;
		done += n;
	}
	return true;
}

static bool finish(isc_writer *w, unsigned threads, isc_error *err)
{
	uint64_t last = 0;

	for (unsigned t = 0; t < threads; t++) {
		isc_trace_account a = {.process = 1, .thread = t + 1, .produced = numbers[t], .stored = numbers[t]};

		if (isc_writer_account(w, &a, err) != ISC_OK)
			return false;
		last = streams[t].ticks > last ? streams[t].ticks : last;
	}
	return isc_writer_clock(w, last, last, err) == ISC_OK && isc_writer_flush(w, err) == ISC_OK;
}

/* Do the totals in the file say what was counted here? */
static bool exact(const char *path, uint64_t records, uint64_t *retired)
{
	const isc_total_scope *scope;
	const isc_total_function *f;
	isc_totals *totals = NULL;
	isc_trace *tr = NULL;
	uint64_t made = 0, found = 0;
	bool same = isc_trace_open(path, &tr, NULL) == ISC_OK && isc_trace_totals(tr, &totals, NULL) == ISC_OK &&
		    isc_totals_events(totals) == records && isc_totals_folded(totals, ISC_FOLDED_SCOPES) == 0;

	for (size_t i = 0; same && (scope = isc_totals_scope_at(totals, i)) != NULL; i++) {
		uint32_t at = scope->name - CALL_STREAM_FIRST_ID;

		same = at < NAME_SPAN && scope->count == counted[at].calls && scope->total_ticks == counted[at].ticks &&
		       scope->unmatched == 0;
		found += scope->count;
	}
	for (size_t i = 0; same && (f = isc_totals_function_at(totals, i)) != NULL; i++) {
		uint32_t at = f->code - CALL_STREAM_FIRST_ID;

		same = at < NAME_SPAN && f->calls == counted[at].calls && f->total_ticks == counted[at].ticks &&
		       !f->estimated;
		found += f->calls;
	}
	for (size_t i = 0; i < NAME_SPAN; i++)
		made += counted[i].calls;
	*retired = tr != NULL ? isc_trace_stats_get(tr)->retired_events : 0;
	isc_totals_free(totals);
	isc_trace_close(tr);
	return same && found == made;
}

int main(int argc, char **argv)
{
	uint64_t records = argc > 2 ? (uint64_t)(strtod(argv[2], NULL) * 1e6) : 0, retired = 0;
	unsigned threads = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 1;
	uint64_t limit_mb = argc > 4 ? strtoull(argv[4], NULL, 10) : 0;
	isc_writer_options options = {
		.limit_bytes = limit_mb << 20, .clock_source = 0, .start_ticks = 1, .start_ns = 1};
	isc_error err = {0};
	struct stat sb;
	isc_writer *w;
	double start;
	bool same;
	int fd;

	if (records == 0 || threads < 1 || threads > THREADS_MAX) {
		fprintf(stderr, "usage: trace_make PATH MILLION_RECORDS [THREADS [LIMIT_MB [calls]]]\n");
		return 2;
	}
	calls = argc > 5 && strcmp(argv[5], "calls") == 0;
	fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || isc_writer_open(fd, &options, &w, &err) != ISC_OK || !begin(w, threads, &err) ||
	    !feed(w, records, threads, &err) || !finish(w, threads, &err)) {
		fprintf(stderr, "trace_make: %s\n", err.what);
		return 1;
	}
	start = cpu_ns();
	if (isc_writer_close(w, &(isc_trace_end){.end_ns = streams[0].ticks, .known = 1}, &err) != ISC_OK) {
		fprintf(stderr, "trace_make: %s\n", err.what);
		return 1;
	}
	start = cpu_ns() - start;
	same = stat(argv[1], &sb) == 0 && exact(argv[1], records, &retired);
	printf("{\"records\": %" PRIu64
	       ", \"ns_a_record\": %.2f, \"close_ms\": %.3f, \"bytes\": %lld, \"bytes_a_call\": %.3f, "
	       "\"retired\": %" PRIu64 ", \"exact\": %s}\n",
	       records, writer_ns / (double)records, start / 1e6, (long long)sb.st_size,
	       2.0 * (double)sb.st_size / (double)records, retired, same ? "true" : "false");
	return 0;
}
