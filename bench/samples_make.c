/*
 * samples_make.c - a trace of many samples, written as the recorder writes it.
 *
 *	samples_make PATH MILLION_SAMPLES STACKS [LIMIT_MB]
 *
 * Stacks are of 30 frames that share their beginnings, of 2,000 functions with 20
 * lines each; few of them have most of the samples.  Reads the totals back and says
 * whether they are the same to the nanosecond.  The line on stdout is JSON: CPU time
 * a sample in the writer, and the size of the file.
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

#include "trace/reader.h"
#include "trace/writer.h"

#define BATCH 254u /* a block of the transport */
#define FLUSH_BATCHES 4096u
#define DEPTH 30u
#define FUNCTIONS 2000u
#define LINES 20u
#define THREADS 4u

static uint64_t *counted_ns; /* by stack */
static uint64_t seed = 88172645463325252ull;

static uint64_t draw(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Code i has the id 2 i + 1, its line table 2 i + 2; stacks come behind. */
static bool define_functions(isc_writer *w, isc_error *err)
{
	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		struct {
			isc_def_code head;
			char text[64];
		} code = {{.line = 1 + i % 300 * (LINES + 2)}, {0}};
		struct {
			isc_def_lines head;
			uint8_t table[2 * LINES];
		} lines = {{2 * i + 1, 0x030b, code.head.line, 2 * LINES}, {0}};
		int len = snprintf(code.text, sizeof(code.text), "Layer%u.forward/srv/app/model/layers_%03u.py", i,
				   i / 300);

		code.head.file_len = sizeof("/srv/app/model/layers_000.py") - 1;
		code.head.name_len = (uint32_t)len - code.head.file_len;
		for (unsigned line = 0; line < LINES; line++) {
			lines.table[2 * line] = 0x80 | 13 << 3 | 7; /* 16 bytes of code on the next line */
			lines.table[2 * line + 1] = 1 << 1;
		}
		if (isc_writer_define(w, 1, 2 * i + 1, ISC_DEF_CODE, &code, (uint32_t)(sizeof(code.head) + (size_t)len),
				      err) != ISC_OK ||
		    isc_writer_define(w, 1, 2 * i + 2, ISC_DEF_LINES, &lines, sizeof(lines), err) != ISC_OK)
			return false;
	}
	return true;
}

/* A stack is the one before it up to somewhere, and other frames from there on. */
static bool define_stacks(isc_writer *w, uint32_t *stack, uint32_t stacks, isc_error *err)
{
	uint32_t frames[DEPTH] = {0}, id = 2 * FUNCTIONS;

	for (uint32_t s = 0; s < stacks; s++) {
		/* Most differ in their newest frames. */
		unsigned keep = s == 0 ? 0 : DEPTH - 1 - (unsigned)(draw() % 4 * (draw() % 3));

		for (unsigned d = keep; d < DEPTH; d++) {
			uint32_t f = (uint32_t)(draw() % FUNCTIONS);
			isc_def_stack frame = {.parent = d > 0 ? frames[d - 1] : 0,
					       .code = 2 * f + 1,
					       .lines = 2 * f + 2,
					       .offset = (uint32_t)(draw() % (16 * LINES))};

			frames[d] = ++id;
			if (isc_writer_define(w, 1, id, ISC_DEF_STACK, &frame, sizeof(frame), err) != ISC_OK)
				return false;
		}
		stack[s] = id;
	}
	return true;
}

static bool begin(isc_writer *w, isc_error *err)
{
	static const char argv[] = "samples_make";
	static const char facts[] = "{\"argv\": [\"samples_make\"]}";
	isc_trace_process process = {.process = 1,
				     .pid = 1000,
				     .flags = ISC_PROCESS_ROOT | ISC_PROCESS_TRACED | ISC_PROCESS_PYTHON,
				     .start_ns = 1,
				     .argv = argv,
				     .argv_len = sizeof(argv)};

	if (isc_writer_meta(w, facts, sizeof(facts) - 1, err) != ISC_OK ||
	    isc_writer_process(w, &process, err) != ISC_OK)
		return false;
	for (unsigned t = 1; t <= THREADS; t++) {
		isc_trace_thread thread = {
			.thread = t, .process = 1, .tid = 999 + t, .flags = t == 1, .serial = t, .start_ns = 1};

		if (isc_writer_thread(w, &thread, err) != ISC_OK)
			return false;
	}
	return true;
}

/* A stack belongs to one thread, so that there are as many totals as stacks. */
static bool feed(isc_writer *w, const uint32_t *stack, uint32_t stacks, uint64_t samples, double *spent, isc_error *err)
{
	static isc_record batch[2 * BATCH];
	uint64_t number[THREADS] = {0}, batches = 0;

	for (uint64_t done = 0; done < samples; batches++) {
		unsigned t = (unsigned)(batches % THREADS);
		uint32_t n = samples - done < BATCH ? (uint32_t)(samples - done) : BATCH;
		isc_trace_run run = {.process = 1, .thread = t + 1, .first = number[t], .events = n, .slots = 2 * n};
		double start;

		for (uint32_t i = 0; i < n; i++) {
			/* Every stack at least once, and the first ones most of the time. */
			uint64_t r = draw(), s = done + i < stacks ? done + i : r % (1 + (r >> 32) % stacks);
			isc_sample body = {.period_ns = 5000000 + (uint32_t)(r % 3) * 1000};
			isc_record *slot = &batch[2 * (size_t)i];

			s = s - s % THREADS + t < stacks ? s - s % THREADS + t : t;
			slot[0] = (isc_record){1000 + (done + i) * 1250000, stack[s], ISC_KIND_SAMPLE, 2,
					       1 + r % 97 / 96};
			memcpy(&slot[1], &body, sizeof(body));
			counted_ns[s] += (uint64_t)slot[0].arg * body.period_ns;
		}
		start = cpu_ns();
		if (isc_writer_events(w, &run, batch, err) != ISC_OK ||
		    (batches % FLUSH_BATCHES == FLUSH_BATCHES - 1 && isc_writer_flush(w, err) != ISC_OK))
			return false;
		*spent += cpu_ns() - start;
		number[t] += n;
		done += n;
	}
	for (unsigned t = 0; t < THREADS; t++) {
		isc_trace_account a = {.process = 1, .thread = t + 1, .produced = number[t], .stored = number[t]};

		if (isc_writer_account(w, &a, err) != ISC_OK)
			return false;
	}
	return isc_writer_flush(w, err) == ISC_OK;
}

/* Do the totals in the file say what was counted here? */
static bool exact(const char *path, const uint32_t *stack, uint32_t stacks, uint64_t samples)
{
	const isc_total_stack *s;
	isc_totals *totals = NULL;
	isc_trace *tr = NULL;
	uint64_t found = 0;
	uint32_t at = 0;
	bool same = isc_trace_open(path, &tr, NULL) == ISC_OK && isc_trace_totals(tr, &totals, NULL) == ISC_OK &&
		    isc_totals_folded(totals, ISC_FOLDED_STACKS) == 0;

	for (size_t i = 0; same && (s = isc_totals_stack_at(totals, i)) != NULL; i++) {
		/* Ids rise with the stacks. */
		uint32_t low = 0, high = stacks;

		while (low < high) {
			at = low + (high - low) / 2;
			if (stack[at] < s->stack)
				low = at + 1;
			else
				high = at;
		}
		same = low < stacks && stack[low] == s->stack && counted_ns[low] == s->cpu_ns;
		found += s->samples;
	}
	isc_totals_free(totals);
	isc_trace_close(tr);
	return same && found == samples;
}

int main(int argc, char **argv)
{
	uint64_t samples = argc > 2 ? (uint64_t)(strtod(argv[2], NULL) * 1e6) : 0;
	uint32_t stacks = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 0;
	uint64_t limit_mb = argc > 4 ? strtoull(argv[4], NULL, 10) : 0;
	isc_writer_options options = {.limit_bytes = limit_mb << 20, .start_ticks = 1, .start_ns = 1};
	uint32_t *stack = calloc(stacks > 0 ? stacks : 1, sizeof(*stack));
	isc_trace_end end = {.end_ns = 2000 + samples * 1250000, .known = 1};
	isc_error err = {0};
	double spent = 0;
	struct stat sb;
	isc_writer *w;
	int fd;

	counted_ns = calloc(stacks > 0 ? stacks : 1, sizeof(*counted_ns));
	if (samples < stacks || stacks < THREADS || stack == NULL || counted_ns == NULL) {
		fprintf(stderr, "usage: samples_make PATH MILLION_SAMPLES STACKS [LIMIT_MB]\n");
		return 2;
	}
	fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || isc_writer_open(fd, &options, &w, &err) != ISC_OK || !begin(w, &err) ||
	    !define_functions(w, &err) || !define_stacks(w, stack, stacks, &err) ||
	    !feed(w, stack, stacks, samples, &spent, &err) || isc_writer_close(w, &end, &err) != ISC_OK) {
		fprintf(stderr, "samples_make: %s\n", err.what);
		return 1;
	}
	if (stat(argv[1], &sb) < 0)
		return 1;
	printf("{\"samples\": %" PRIu64 ", \"ns_a_sample\": %.2f, \"bytes\": %lld, \"exact\": %s}\n", samples,
	       spent / (double)samples, (long long)sb.st_size,
	       exact(argv[1], stack, stacks, samples) ? "true" : "false");
	free(stack);
	free(counted_ns);
	return 0;
}
