/* trace: files that are cut, damaged or made to mislead. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/varint.h"
#include "sample_trace.h"
#include "trace/file/chunk.h"
#include "trace/opened.h"
#include "trace/records.h"

static uint8_t *reference; /* a whole trace */
static size_t reference_len;
static int scratch = -1;
static char scratch_path[64];

/* What the reference says of each event: damage may hide some of it, and never
 * makes anything else of it. */
static struct truth {
	uint32_t id;
	uint16_t arg;
	uint8_t kind;
	bool known;
} truth[3][2][4096];
static bool check_truth;

static bool is_true(const isc_event *ev)
{
	const struct truth *t = ev->thread < 3 && ev->stream < 2 && ev->number < 4096
					? &truth[ev->thread][ev->stream][ev->number]
					: NULL;

	return t != NULL && t->known && t->id == ev->id && t->arg == ev->arg && t->kind == ev->kind &&
	       ev->process == ev->thread;
}

static int learn_truth(const char *path)
{
	isc_trace *tr;
	isc_event ev;

	if (isc_trace_open(path, &tr, NULL) != ISC_OK)
		return 1;
	while (isc_trace_next(tr, &ev))
		truth[ev.thread][ev.stream][ev.number] = (struct truth){ev.id, ev.arg, ev.kind, true};
	isc_trace_close(tr);
	return 0;
}

static int make_reference(void **state)
{
	char path[64];
	int fd = sample_file(path);
	struct stat sb;

	(void)state;
	/* Without an end, as a killed recorder leaves it: the reader has to scan. */
	if (sample_write(dup(fd), 1 << 20, 400, false) != ISC_OK || fstat(fd, &sb) != 0)
		return 1;
	if (learn_truth(path) != 0)
		return 1;
	reference_len = (size_t)sb.st_size;
	reference = malloc(reference_len);
	if (reference == NULL || pread(fd, reference, reference_len, 0) != (ssize_t)reference_len)
		return 1;
	close(fd);
	scratch = sample_file(scratch_path);
	return scratch < 0;
}

static int drop_reference(void **state)
{
	(void)state;
	free(reference);
	return close(scratch);
}

static void put(const void *bytes, size_t len)
{
	/* Not written to any more, as it seems: nobody to wait for. */
	const struct timespec old[2] = {{1, 0}, {1, 0}};

	assert_int_equal(ftruncate(scratch, 0), 0);
	assert_int_equal(pwrite(scratch, bytes, len, 0), len);
	assert_int_equal(futimens(scratch, old), 0);
}

/* Of the CPU, since the machine may be busy with other things. */
static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Reads everything that there is; the events, or -1 when it does not open. */
static long read_all(isc_trace_stats *stats)
{
	isc_trace_switch sw;
	isc_totals *totals;
	volatile uint32_t sum = 0; /* so that every byte is read */
	isc_trace *tr;
	isc_event ev;
	long seen = 0;
	isc_status st = isc_trace_open(scratch_path, &tr, NULL);

	if (st != ISC_OK) {
		assert_true(st == ISC_ERR_CORRUPT || st == ISC_ERR_INVALID || st == ISC_ERR_VERSION);
		return -1;
	}
	while (isc_trace_next(tr, &ev)) {
		assert_non_null(isc_trace_name(tr, ev.process, ev.id).at);
		assert_true(!check_truth || is_true(&ev));
		for (uint32_t i = 0; i < ev.extra_len; i++)
			sum += ((const uint8_t *)ev.extra)[i];
		seen++;
	}
	while (isc_trace_next_switch(tr, &sw))
		;
	if (isc_trace_totals(tr, &totals, NULL) == ISC_OK)
		isc_totals_free(totals);
	*stats = *isc_trace_stats_get(tr);
	isc_trace_close(tr);
	return seen;
}

/* Events in whole chunks before the cut, by the places of all chunks. */
static long whole_before(size_t cut)
{
	long events = 0;

	for (size_t at = 4096; at + sizeof(isc_chunk_header) <= cut; at += 8) {
		isc_chunk_header h;

		memcpy(&h, reference + at, sizeof(h));
		if (isc_chunk_header_holds(&h) && at + sizeof(h) + h.stored_size <= cut && h.type == ISC_CHUNK_EVENTS)
			events += h.events;
	}
	return events;
}

static void check_cut(size_t cut, long want)
{
	isc_trace_stats stats;
	double start = now_s();
	long seen;

	put(reference, cut);
	seen = read_all(&stats);
	assert_true(now_s() - start < 1);
	if (cut < sizeof(isc_file_header)) {
		assert_int_equal(seen, -1);
		return;
	}
	assert_int_equal(seen, want);
	assert_int_equal(stats.damaged_chunks, 0);
	assert_false(stats.complete);
}

/* S2: cut at every byte of the first 64 KiB, and at random places. */
static void a_cut_trace_gives_every_whole_chunk_before_the_cut(void **state)
{
	size_t step = getenv("INFERSCOPE_LONG") ? 1 : 7, n = getenv("INFERSCOPE_LONG") ? 10000 : 400;
	uint64_t seed = 1;

	(void)state;
	for (size_t cut = 0; cut <= 65536 && cut < reference_len; cut += cut < 5120 ? 1 : step)
		check_cut(cut, whole_before(cut));
	for (size_t i = 0; i < n; i++) {
		size_t cut = sample_draw(&seed) % reference_len;

		check_cut(cut, whole_before(cut));
	}
}

/* S3: bits flipped and fields moved about; under the sanitizers no report. */
static void damage_is_stepped_over(void **state)
{
	const char *runs = getenv("ISC_RUNS");
	long n = runs ? atol(runs) : getenv("INFERSCOPE_LONG") ? 100000 : 3000, damaged = 0, opened = 0;
	uint8_t *copy = malloc(reference_len);
	uint64_t seed = 99;
	/* Where something is: the rest of the file is holes. */
	size_t *places = malloc(reference_len * sizeof(*places)), count = 0;

	(void)state;
	check_truth = true;
	for (size_t i = 0; i < reference_len; i++) {
		if (reference[i] != 0)
			places[count++] = i;
	}
	for (long i = 0; i < n; i++) {
		unsigned faults = 1 + sample_draw(&seed) % 3;
		isc_trace_stats stats = {0};

		memcpy(copy, reference, reference_len);
		for (unsigned k = 0; k < faults; k++) {
			size_t at = places[sample_draw(&seed) % count], from = places[sample_draw(&seed) % count];
			size_t len = (size_t)8 << sample_draw(&seed) % 6;

			switch (sample_draw(&seed) % 4) {
			case 0:
				copy[at] ^= (uint8_t)(1u << sample_draw(&seed) % 8);
				break;
			case 1: /* one field over another */
				at &= ~(size_t)7;
				from &= ~(size_t)7;
				len = len < reference_len - at ? len : reference_len - at;
				len = len < reference_len - from ? len : reference_len - from;
				memmove(copy + at, copy + from, len);
				break;
			case 2: /* a page that never reached the disk */
				at &= ~(size_t)4095;
				memset(copy + at, 0, reference_len - at < 4096 ? reference_len - at : 4096);
				break;
			default:
				memset(copy + at, sample_draw(&seed) % 2 ? 0xff : 0,
				       len < reference_len - at ? len : reference_len - at);
				break;
			}
		}
		put(copy, reference_len);
		if (read_all(&stats) >= 0) {
			opened++;
			damaged += stats.damaged_chunks > 0;
			assert_true(stats.lost_bytes <= reference_len * 2);
		}
	}
	/* The header is a small part of it; most damage is seen and said. */
	check_truth = false;
	assert_true(opened > n * 8 / 10);
	assert_true(damaged > n / 2);
	free(places);
	free(copy);
}

/* A file with these chunks, each with its payload, all hashes right. */
struct forged {
	uint8_t *bytes;
	size_t len, at;
	uint32_t sequence;
};

static struct forged forge(uint64_t limit)
{
	struct forged f = {.bytes = calloc(1, 4096 + (size_t)(4u << 20)), .at = 4096};
	isc_file_header h = {.version = 1,
			     .header_size = sizeof(h),
			     .segment_size = 4u << 20,
			     .segment_start = 4096,
			     .limit_bytes = limit};

	isc_file_header_seal(&h);
	memcpy(f.bytes, &h, sizeof(h));
	return f;
}

static void add_chunk(struct forged *f, isc_chunk_header h, const void *payload, size_t len)
{
	isc_codec_state codec = {0};
	const void *stored = isc_codec_pack(&codec, &h, payload, len);

	h.sequence = ++f->sequence;
	isc_chunk_seal(&h);
	memcpy(f->bytes + f->at, &h, sizeof(h));
	memcpy(f->bytes + f->at + sizeof(h), stored, h.stored_size);
	f->at += isc_chunk_extent(h.stored_size);
	isc_codec_fini(&codec);
}

/* Runs in a child, to see what it takes at most: seconds and bytes. */
static void read_within(double max_s, long max_kib)
{
	struct rusage before, after;
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		isc_trace_stats stats;
		double start = now_s();

		getrusage(RUSAGE_SELF, &before);
		read_all(&stats);
		getrusage(RUSAGE_SELF, &after);
		/* The child begins with what the test itself holds. */
		_exit((after.ru_maxrss - before.ru_maxrss > max_kib) | (now_s() - start > max_s) << 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* S5: small files that claim everything. */
static void small_files_with_huge_claims_cost_nothing(void **state)
{
	static const uint32_t huge[] = {0xffffffff, 0x7fffffff, 1u << 20, 0};
	uint8_t head[100];
	isc_trace *tr;

	(void)state;
	/* 100 bytes are less than a header. */
	for (int i = 0; i < 4; i++) {
		memset(head, 0xff, sizeof(head));
		memcpy(head, ISC_FILE_MAGIC, 8);
		memcpy(head + 8, &(uint32_t){1}, 4);
		memcpy(head + 12 + i * 4, &huge[i], 4);
		put(head, sizeof(head));
		assert_int_equal(isc_trace_open(scratch_path, &tr, NULL), ISC_ERR_CORRUPT);
		assert_null(tr);
	}
	/* A right header, and chunks of every type that claim the most and hold 10 bytes. */
	for (uint16_t type = 0; type < 18; type++) {
		for (int i = 0; i < 4; i++) {
			struct forged f = forge(0);
			isc_chunk_header h = {.type = type,
					      .events = huge[i],
					      .slots = huge[(i + 1) % 4],
					      .number = huge[i],
					      .process = huge[i]};

			add_chunk(&f, h, "\xff\xff\xff\xff\x0f\xff\xff\xff\xff\x0f", 10);
			add_chunk(&f, h, "", 0);
			put(f.bytes, f.at);
			read_within(1, 64 << 10);
			/* The same with sizes that lie, its check being right. */
			h = (isc_chunk_header){.type = type,
					       .events = huge[i],
					       .raw_size = huge[i],
					       .stored_size = huge[(i + 1) % 4],
					       .codec = 1};
			isc_chunk_seal(&h);
			memcpy(f.bytes + 4096, &h, sizeof(h));
			put(f.bytes, 4096 + 100);
			assert_true(isc_trace_open(scratch_path, &tr, NULL) != ISC_OK ||
				    isc_trace_stats_get(tr)->chunks <= 1);
			isc_trace_close(tr);
			read_within(1, 64 << 10);
			free(f.bytes);
		}
	}
	/* Nothing but garbage behind the header is no trace that could be read. */
	struct forged f = forge(0);

	memset(f.bytes + 4096, 0xa5, 1000);
	put(f.bytes, 4096 + 1000);
	assert_int_equal(isc_trace_open(scratch_path, &tr, NULL), ISC_ERR_CORRUPT);
	free(f.bytes);
}

struct seen_units {
	uint64_t count;
	isc_trace_unit last;
};

static bool see_unit(void *self, const isc_trace_unit *u)
{
	struct seen_units *seen = self;

	assert_true(u->end_ns >= u->begin_ns);
	seen->count++;
	seen->last = *u;
	return true;
}

/* One chunk of units in a trace with process 1: what of it is read. */
static struct seen_units units_of(isc_chunk_header h, const uint8_t *payload, size_t len, bool damaged)
{
	isc_trace_process process = {.process = 1, .pid = 100};
	struct forged f = forge(0);
	struct seen_units seen = {0};
	isc_buffer b = {0};
	isc_trace *tr;

	isc_record_put_process(&b, &process);
	add_chunk(&f, (isc_chunk_header){.type = ISC_CHUNK_PROCESS, .events = 1}, b.data, b.len);
	h.type = ISC_CHUNK_UNITS;
	add_chunk(&f, h, payload, len);
	put(f.bytes, f.at);
	read_within(1, 64 << 10);
	assert_int_equal(isc_trace_open(scratch_path, &tr, NULL), ISC_OK);
	assert_int_equal(isc_trace_units_each(tr, see_unit, &seen, NULL), ISC_OK);
	assert_int_equal(isc_trace_stats_get(tr)->damaged_chunks, damaged);
	if (h.events == 0)
		for (; isc_trace_gap_at(tr, seen.count) != NULL; seen.count++)
			assert_true(isc_trace_gap_at(tr, seen.count)->kind <= ISC_GAP_LOST);
	isc_trace_close(tr);
	isc_buffer_fini(&b);
	free(f.bytes);
	return seen;
}

#define UNITS_OF(header, damaged, ...) \
	units_of((isc_chunk_header)header, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}), \
		 damaged)
#define HEADER(...) {__VA_ARGS__}

static void units_that_make_no_sense_are_skipped(void **state)
{
	struct seen_units seen;

	(void)state;
	/* One kind (process 1, thread 2, loop, name 7, parent 5); its place, begin + 4, 3 long. */
	seen = UNITS_OF(HEADER(.events = 1, .time = 100), false, 1, 1, 2, 3, 7, 5, 0, 8, 3);
	assert_int_equal(seen.count, 1);
	assert_int_equal(seen.last.begin_ns, 104);
	assert_int_equal(seen.last.end_ns, 107);
	/* More rows than bytes; fewer than bytes; a place that there is not. */
	assert_int_equal(UNITS_OF(HEADER(.events = 9), true, 1, 1, 2, 3, 7, 5, 0, 8, 3).count, 0);
	assert_int_equal(UNITS_OF(HEADER(.events = 1), true, 1, 1, 2, 3, 7, 5, 0, 8, 3, 9).count, 0);
	assert_int_equal(UNITS_OF(HEADER(.events = 1), true, 1, 1, 2, 3, 7, 5, 1, 8, 3).count, 0);
	/* A source of a later version, a process that is none: the rest is read. */
	assert_int_equal(UNITS_OF(HEADER(.events = 2), false, 2, 1, 2, 9, 7, 5, 1, 2, 1, 7, 0, 0, 1, 8, 8, 3, 3).count,
			 1);
	assert_int_equal(UNITS_OF(HEADER(.events = 2), false, 2, 6, 2, 1, 7, 5, 1, 2, 1, 7, 0, 0, 1, 8, 8, 3, 3).count,
			 1);
	/* One that ends past the end of time, and so before it begins. */
	assert_int_equal(UNITS_OF(HEADER(.events = 1, .time = UINT64_MAX - 9), true, 1, 1, 2, 3, 7, 5, 0, 8, 20).count,
			 0);
	/* Gaps: process 1, kind, distance, 1 + length.  A kind of a later version; more than bytes; past the end of time. */
	assert_int_equal(UNITS_OF(HEADER(.slots = 2), false, 1, 3, 8, 4, 1, 9, 8, 4).count, 1);
	assert_int_equal(UNITS_OF(HEADER(.slots = 99), true, 1, 3, 8, 4, 1, 2, 8, 4).count, 0);
	assert_int_equal(UNITS_OF(HEADER(.slots = 1, .time = UINT64_MAX - 9), true, 1, 3, 8, 20).count, 0);
}

/* S5: processes that are each other's parents, definitions that are their own. */
static void circles_end(void **state)
{
	struct forged f = forge(0);
	isc_buffer b = {0};
	uint32_t len;
	isc_trace *tr;

	(void)state;
	for (uint32_t i = 1; i <= 1000; i++) {
		isc_trace_process p = {.process = i,
				       .parent = i % 1000 + 1,
				       .gen = i,
				       .defs_parent_gen = i % 1000 + 1,
				       .defs_base_id = UINT64_MAX};

		isc_record_put_process(&b, &p);
	}
	add_chunk(&f, (isc_chunk_header){.type = ISC_CHUNK_PROCESS, .events = 1000}, b.data, b.len);
	put(f.bytes, f.at);
	assert_int_equal(isc_trace_open(scratch_path, &tr, NULL), ISC_OK);
	assert_non_null(isc_trace_process_find(tr, 1000));
	assert_null(isc_trace_define(tr, 1, 5, ISC_DEF_STRING, &len));
	isc_trace_close(tr);
	isc_buffer_fini(&b);
	free(f.bytes);
}

/* S6: a chunk unpacks to at most 1 MiB and 1,024 times its bytes; all that is kept to 512 MiB. */
static void a_bomb_is_bounded(void **state)
{
	struct forged f = forge(0);
	uint8_t *zeros = calloc(1, 1 << 20);
	isc_chunk_header h;
	isc_trace *tr;

	(void)state;
	/* Our own packing stays within the ratio, whatever it is given. */
	add_chunk(&f, (isc_chunk_header){.type = ISC_CHUNK_DEFS, .process = 1}, zeros, 60000);
	memcpy(&h, f.bytes + 4096, sizeof(h));
	assert_true(isc_chunk_header_holds(&h));
	/* A header that claims more than the ratio does not hold. */
	h.raw_size = ISC_CHUNK_RATIO_MAX * (h.stored_size + 65);
	isc_chunk_seal(&h);
	assert_false(isc_chunk_header_holds(&h));
	h.raw_size = ISC_CHUNK_RAW_MAX + 1;
	h.stored_size = h.raw_size;
	h.codec = ISC_CODEC_RAW;
	isc_chunk_seal(&h);
	assert_false(isc_chunk_header_holds(&h));
	/* Definitions of nothing, 18 million in a file of 200 KB. */
	f.at = 4096;
	for (int i = 0; i < 900; i++) {
		isc_buffer b = {0};

		for (uint32_t k = 0; k < 20000; k++)
			isc_record_put_define(&b, 1, 1, "", 0);
		add_chunk(&f, (isc_chunk_header){.type = ISC_CHUNK_DEFS, .process = 1, .events = 20000}, b.data, b.len);
		isc_buffer_fini(&b);
	}
	assert_true(f.at < 200000);
	put(f.bytes, f.at);
	read_within(20, ISC_DEFINITIONS_MAX >> 10);
	assert_int_equal(isc_trace_open(scratch_path, &tr, NULL), ISC_OK);
	assert_in_range(tr->definitions.count, 1000000, 9000000);
	assert_true(isc_trace_stats_get(tr)->damaged_chunks > 0); /* what was left out */
	isc_trace_close(tr);
	free(zeros);
	free(f.bytes);
}

/* What an earlier use of a segment left behind its new chunks is not read again. */
static void remains_of_an_earlier_use_stay_unread(void **state)
{
	struct forged f = forge(0);
	size_t second;
	isc_trace *tr;

	(void)state;
	f.sequence = 50;
	add_chunk(&f, (isc_chunk_header){.type = ISC_CHUNK_SEGMENT, .slots = ISC_SEGMENT_TOTALS}, "", 0);
	second = f.at;
	add_chunk(&f, (isc_chunk_header){.type = ISC_CHUNK_META}, "{\"a\":1}", 7);
	f.sequence = 20;
	add_chunk(&f, (isc_chunk_header){.type = ISC_CHUNK_META}, "{\"a\":2}", 7);
	put(f.bytes, f.at);
	assert_int_equal(isc_trace_open(scratch_path, &tr, NULL), ISC_OK);
	assert_int_equal(isc_trace_stats_get(tr)->chunks, 2);
	assert_int_equal(isc_trace_stats_get(tr)->damaged_chunks, 0);
	isc_trace_close(tr);
	/* Also not when the chunk before them is broken. */
	f.bytes[second + 70] ^= 1;
	f.bytes[second + 3] ^= 1;
	put(f.bytes, f.at);
	assert_int_equal(isc_trace_open(scratch_path, &tr, NULL), ISC_OK);
	assert_int_equal(isc_trace_stats_get(tr)->chunks, 1);
	assert_int_equal(isc_trace_stats_get(tr)->damaged_chunks, 1);
	isc_trace_close(tr);
	free(f.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cut_trace_gives_every_whole_chunk_before_the_cut),
		cmocka_unit_test(damage_is_stepped_over),
		cmocka_unit_test(small_files_with_huge_claims_cost_nothing),
		cmocka_unit_test(units_that_make_no_sense_are_skipped),
		cmocka_unit_test(circles_end),
		cmocka_unit_test(a_bomb_is_bounded),
		cmocka_unit_test(remains_of_an_earlier_use_stay_unread),
	};

	return cmocka_run_group_tests_name("trace_hostile", tests, make_reference, drop_reference);
}
