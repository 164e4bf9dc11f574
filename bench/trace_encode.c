/*
 * trace_encode.c - what a record costs on its way into the file, and how much of
 * the file it takes.
 *
 *	trace_encode [MILLION_RECORDS [calls]]
 *
 * The stream is a call tree of an inference loop: a request calls layers, layers
 * call small functions, times scatter as they do on a busy machine.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "trace/reader.h"
#include "trace/totals_lane.h"
#include "trace/writer.h"

#define BATCH 508u	/* a block of the transport */

static uint64_t state = 1;

static uint64_t draw(void)
{
	uint64_t z = state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static bool calls; /* of functions, instead of scopes */

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

struct generator {
	uint64_t ticks;
	uint32_t stack[64];
	unsigned depth;
};

/* ids are places in a definitions file: a few hundred, far apart. */
static uint32_t id_of(uint32_t parent, uint32_t which)
{
	return (parent * 31 + which * 7 + 11) % 400 * 3 + 100;
}

static isc_record step(struct generator *g)
{
	uint64_t r = draw();
	unsigned deep = g->depth;
	/* 90 ns and up at 2.4 GHz, with a long tail. */
	g->ticks += 220 + (r & 255) + ((r >> 8 & 15) == 0 ? r >> 16 & 8191 : 0);
	if (deep == 0 || (deep < 12 && (r >> 32) % 16 < (deep < 6 ? 9u : 7u))) {
		uint32_t id = id_of(deep ? g->stack[deep - 1] : 1, (uint32_t)(r >> 40) % 4);

		g->stack[g->depth++] = id;
		return (isc_record){g->ticks, id, calls ? ISC_KIND_CALL_ENTER : ISC_KIND_SCOPE_ENTER, 1, 0};
	}
	return (isc_record){g->ticks, g->stack[--g->depth], calls ? ISC_KIND_CALL_EXIT : ISC_KIND_SCOPE_EXIT, 1, 0};
}

int main(int argc, char **argv)
{
	uint64_t records = (argc > 1 ? strtoull(argv[1], NULL, 10) : 8) * 1000000;
	isc_record *all = malloc(records * sizeof(*all));
	char path[] = "/tmp/trace_encode.XXXXXX";
	int fd = mkstemp(path);
	isc_writer_options options = {.clock_source = 1, .start_ticks = 1000, .start_ns = 1000};
	isc_writer *w;
	struct generator g = {.ticks = 1000};
	struct stat sb;
	isc_error err;
	isc_trace *tr;
	isc_totals_lane *lane;
	isc_totals *totals;
	isc_event ev;
	uint64_t seen = 0;
	double start, end;

	if (fd < 0 || all == NULL || isc_writer_open(fd, &options, &w, &err) != ISC_OK)
		return 1;
	calls = argc > 2 && strcmp(argv[2], "calls") == 0;
	for (uint64_t i = 0; i < records; i++)
		all[i] = step(&g);
	if (isc_totals_new(&totals, &err) != ISC_OK)
		return 1;
	lane = isc_totals_lane_of(totals, 1, 1, 0);
	start = now_ns();
	for (uint64_t i = 0; i < records; i++) {
		if (!isc_totals_lane_feed(totals, lane, &all[i], NULL, 0))
			return 1;
	}
	printf("count %.1f ns a record\n", (now_ns() - start) / (double)records);
	isc_totals_free(totals);
	isc_writer_clock(w, g.ticks, g.ticks, NULL);
	start = now_ns();
	for (uint64_t i = 0; i < records; i += BATCH) {
		uint32_t n = records - i < BATCH ? (uint32_t)(records - i) : BATCH;
		isc_trace_run run = {.process = 1, .thread = 1, .first = i, .events = n, .slots = n};

		if (isc_writer_events(w, &run, all + i, &err) != ISC_OK)
			return 1;
	}
	isc_writer_flush(w, NULL);
	end = now_ns();
	fstat(fd, &sb);
	printf("write %.1f ns a record, %.2f bytes a call\n", (end - start) / (double)records,
	       2.0 * (double)(sb.st_size - 4096) / (double)records);
	start = now_ns();
	if (isc_writer_close(w, &(isc_trace_end){.end_ns = 2000}, &err) != ISC_OK)
		return 1;
	printf("close %.2f ms\n", (now_ns() - start) / 1e6);
	start = now_ns();
	if (isc_trace_open(path, &tr, &err) != ISC_OK)
		return 1;
	end = now_ns();
	printf("open %.2f ms\n", (end - start) / 1e6);
	start = end;
	while (isc_trace_next(tr, &ev))
		seen++;
	printf("read %.1f ns a record, %" PRIu64 " of them\n", (now_ns() - start) / (double)records, seen);
	start = now_ns();
	if (isc_trace_totals(tr, &totals, &err) != ISC_OK || isc_totals_events(totals) != records || seen != records)
		return 1;
	printf("totals %.2f ms\n", (now_ns() - start) / 1e6);
	isc_totals_free(totals);
	isc_trace_close(tr);
	unlink(path);
	free(all);
	return 0;
}
