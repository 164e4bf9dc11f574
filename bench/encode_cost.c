/*
 * encode_cost.c - what a record costs on its way into the file, and how much of
 * the file it takes.
 *
 *	encode_cost [MILLION_RECORDS [calls]]
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
#include "trace/totals/totals_lane.h"
#include "trace/writer.h"

#define BATCH 508u /* a block of the transport */

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

/* A request runs 12 layers, a layer calls its functions in their order, and now
 * and then something else happens.  ids are places in a definitions file. */
#define LAYERS 12u
#define DEPTH_MAX 6u

struct generator {
	uint64_t ticks;
	struct {
		uint32_t id, left, turn;
	} stack[DEPTH_MAX];
	unsigned depth;
};

static uint32_t children_of(uint32_t id, unsigned depth)
{
	static const uint32_t usual[DEPTH_MAX] = {LAYERS, 6, 3, 2, 1, 0};

	return depth + 1 >= DEPTH_MAX ? 0 : depth < 2 ? usual[depth] : id / 3 % (usual[depth] + 1);
}

static isc_record step(struct generator *g)
{
	uint64_t r = draw();
	unsigned deep = g->depth;
	uint32_t id;

	/* 60 ns and up at 2.4 GHz: what a step takes, scatter, and rarely an interruption. */
	g->ticks += 150 + (deep ? g->stack[deep - 1].id % 97 * 4 : 0) + (r & 63) +
		    ((r >> 8 & 63) == 0 ? r >> 16 & 16383 : 0);
	if (deep > 0 && g->stack[deep - 1].left == 0) {
		id = g->stack[--g->depth].id;
		return (isc_record){g->ticks, id, calls ? ISC_KIND_CALL_EXIT : ISC_KIND_SCOPE_EXIT, 1, 0};
	}
	id = 100;
	if (deep > 0) {
		g->stack[deep - 1].left--;
		id = 100 + (g->stack[deep - 1].id * 5 + 17 * g->stack[deep - 1].turn++ + ((r >> 40 & 31) == 0)) % 1200 /
				   3 * 3;
	}
	g->stack[deep].id = id;
	g->stack[deep].turn = 0;
	g->stack[deep].left = children_of(id, deep);
	g->depth++;
	return (isc_record){g->ticks, id, calls ? ISC_KIND_CALL_ENTER : ISC_KIND_SCOPE_ENTER, 1, 0};
}

/* The totals alone, over what is in the cache. */
static double count_ns(const isc_record *records, unsigned n, unsigned rounds)
{
	isc_totals *totals;
	isc_totals_lane *lane;
	double start;

	if (isc_totals_new(&totals, NULL) != ISC_OK)
		return -1;
	lane = isc_totals_lane_of(totals, 1, 1, 0);
	start = now_ns();
	for (unsigned i = 0; lane != NULL && i < n * rounds; i++) {
		if (!isc_totals_lane_feed(totals, lane, &records[i % n], NULL, 0))
			break;
	}
	start = now_ns() - start;
	isc_totals_free(totals);
	return start / n / rounds;
}

/* As the drain gives them: a few blocks that were written a moment ago. */
enum { ROUND = 64 };

int main(int argc, char **argv)
{
	uint64_t records = (argc > 1 ? strtoull(argv[1], NULL, 10) : 8) * 1000000 / (BATCH * ROUND) * (BATCH * ROUND);
	static isc_record blocks[ROUND][BATCH];
	char path[] = "/tmp/encode_cost.XXXXXX";
	int fd = mkstemp(path);
	isc_writer_options options = {.clock_source = 1, .start_ticks = 1000, .start_ns = 1000};
	struct generator g = {.ticks = 1000};
	double start, spent = 0;
	uint64_t seen = 0;
	isc_totals *totals;
	isc_writer *w;
	struct stat sb;
	isc_error err;
	isc_trace *tr;
	isc_event ev;

	if (fd < 0 || isc_writer_open(fd, &options, &w, &err) != ISC_OK)
		return 1;
	calls = argc > 2 && strcmp(argv[2], "calls") == 0;
	for (uint64_t done = 0; done < records;) {
		for (unsigned i = 0; i < ROUND * BATCH; i++)
			blocks[i / BATCH][i % BATCH] = step(&g);
		start = now_ns();
		for (unsigned i = 0; i < ROUND; i++, done += BATCH) {
			isc_trace_run run = {.process = 1, .thread = 1, .first = done, .events = BATCH, .slots = BATCH};

			if (isc_writer_events(w, &run, blocks[i], &err) != ISC_OK)
				return 1;
		}
		spent += now_ns() - start;
	}
	printf("count %.1f ns a record\n", count_ns(blocks[0], ROUND * BATCH, 100));
	isc_writer_clock(w, g.ticks, g.ticks, NULL);
	start = now_ns();
	isc_writer_flush(w, NULL);
	spent += now_ns() - start;
	fstat(fd, &sb);
	printf("write %.1f ns a record, %.2f bytes a call\n", spent / (double)records,
	       2.0 * (double)(sb.st_size - 4096) / (double)records);
	start = now_ns();
	if (isc_writer_close(w, &(isc_trace_end){.end_ns = 2000}, &err) != ISC_OK)
		return 1;
	printf("close %.2f ms\n", (now_ns() - start) / 1e6);
	start = now_ns();
	if (isc_trace_open(path, &tr, &err) != ISC_OK)
		return 1;
	printf("open %.2f ms\n", (now_ns() - start) / 1e6);
	start = now_ns();
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
	return 0;
}
