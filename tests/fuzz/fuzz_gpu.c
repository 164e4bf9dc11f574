/*
 * fuzz_gpu.c - records of GPUs of any content: clocks are compared, work is put in
 * order, reports, exports and a dump are written.  What comes out must parse.
 *
 * Input: records, each a byte that says what it is, one for thread and device, two for its
 * argument, and as many bytes as that record has.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <yyjson.h>

#include "analyze/picture/excerpt.h"
#include "export_fuzz.h"
#include "report/report.h"
#include "trace/dump/dump.h"
#include "trace/gpu.h"
#include "trace/writer.h"

#define START_NS 1000000000ull
#define THREADS 4u
#define RECORDS_MAX 300u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint32_t sizes[] = {sizeof(isc_gpu_called), sizeof(isc_gpu_work), sizeof(isc_gpu_reading),
				 sizeof(isc_gpu_source), sizeof(isc_gpu_scope)};
#define KINDS (sizeof(sizes) / sizeof(sizes[0]))

/* Times near each other are where clocks are compared; any others must do no harm. */
static void tame(unsigned what, unsigned byte, uint64_t *words)
{
	unsigned n = what == 2 ? 3 : what >= 3 ? 0 : 2;

	for (unsigned i = 0; i < n && byte % 4 != 0; i++)
		words[i] = START_NS + words[i] % 1000000;
	if (what < 2 && byte % 4 != 0)
		words[2] %= 8; /* correlations that meet */
	if (what == 4 && byte % 4 != 0)
		words[0] %= 8;
}

static void write_one(isc_writer *w, const uint8_t *head, const uint8_t *body, uint64_t *next)
{
	unsigned what = head[0] % KINDS, thread = head[1] % THREADS;
	isc_trace_run run = {.process = 1 + thread % 2, .thread = 1 + thread, .events = 1};
	isc_record slot[8] = {{.kind = (uint8_t)(ISC_KIND_GPU_CALL + what), .id = 1 + head[1] % 6}};
	uint64_t words[10];

	memcpy(words, body, sizes[what]);
	tame(what, head[0] >> 4, words);
	if (what == 1)
		((isc_gpu_work *)(void *)words)->device = 1 + head[1] % 6;
	memcpy(&slot[0].arg, head + 2, sizeof(slot[0].arg));
	if (head[0] & 8)
		slot[0].arg %= 0x300; /* those that mean something */
	slot[0].ticks = START_NS + next[thread] * 1000;
	slot[0].slots = (uint8_t)(1 + sizes[what] / sizeof(isc_record));
	/* A body that is cut short is no record. */
	if (head[0] & 4)
		slot[0].slots--;
	run.slots = slot[0].slots;
	run.first = next[thread]++;
	memcpy(&slot[1], words, sizes[what]);
	isc_writer_events(w, &run, slot, NULL);
}

static void introduce(isc_writer *w)
{
	for (uint32_t i = 1; i <= THREADS; i++) {
		isc_trace_process p = {.process = i, .pid = 100 + i, .flags = ISC_PROCESS_TRACED, .start_ns = START_NS};
		isc_trace_thread t = {.thread = i, .process = 1 + (i - 1) % 2, .tid = 100 + i, .start_ns = START_NS};

		if (i <= 2)
			isc_writer_process(w, &p, NULL);
		isc_writer_thread(w, &t, NULL);
		for (uint32_t id = 1; id <= 3 && i <= 2; id++) {
			struct {
				isc_def_gpu head;
				char name[4];
			} def = {{id - 1, id, 0, 4}, "\x1b]0"};

			isc_writer_define(w, i, id, ISC_DEF_GPU, &def, sizeof(def), NULL);
			isc_writer_define(w, i, id + 3, id == 1 ? ISC_DEF_GPU_SOURCE : ISC_DEF_STRING, "<b>", 3, NULL);
		}
	}
}

static bool write_trace(const uint8_t *data, size_t size, int fd)
{
	isc_writer_options options = {.start_ns = START_NS, .start_ticks = START_NS};
	isc_trace_end end = {.end_ns = START_NS + 1000000, .known = 1};
	uint64_t next[THREADS] = {0};
	isc_writer *w = NULL;
	unsigned count = 0;

	if (isc_writer_open(fd, &options, &w, NULL) != ISC_OK) {
		close(fd);
		return false;
	}
	introduce(w);
	for (size_t at = 0; at + 4 <= size && count < RECORDS_MAX; count++) {
		uint32_t body = sizes[data[at] % KINDS];

		if (at + 4 + body > size)
			break;
		write_one(w, data + at, data + at + 4, next);
		at += 4 + body;
	}
	return isc_writer_close(w, &end, NULL) == ISC_OK;
}

static void require(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "%s\n", what);
	abort();
}

static void check_json(isc_buffer *text, const char *what)
{
	yyjson_doc *doc = yyjson_read(text->data, text->len, 0);

	require(doc != NULL, what);
	yyjson_doc_free(doc);
	isc_buffer_clear(text);
}

/* A piece is exported in one format. */
static void check(isc_trace *trace, int piece)
{
	isc_excerpt_options part = {.to_ticks = UINT64_MAX, .gpu = true};
	FILE *out = fopen("/dev/null", "w");
	isc_analysis *a = NULL;
	isc_buffer text = {0};
	isc_excerpt excerpt;

	if (isc_analysis_new(trace, NULL, &a, NULL) == ISC_OK) {
		require(isc_report_write(a, ISC_REPORT_JSON, &text, NULL) == ISC_OK, "no JSON");
		check_json(&text, "the report is no JSON");
		require(isc_report_write(a, ISC_REPORT_MARKDOWN, &text, NULL) == ISC_OK, "no Markdown");
		for (size_t i = 0; i < text.len; i++)
			require(text.data[i] != '\x1b', "a control in Markdown");
		isc_buffer_clear(&text);
	}
	isc_analysis_free(a);
	for (int i = 0; i < ISC_EXPORT_FORMATS; i++)
		export_check(trace, &(isc_export_options){.format = i});
	export_check(trace, &(isc_export_options){.format = piece, .from_us = 100, .to_us = 400});
	isc_excerpt_read(trace, &part, &excerpt, NULL);
	isc_excerpt_fini(&excerpt);
	isc_dump_write(trace, &(isc_dump_options){.definitions = true}, out, NULL);
	fclose(out);
	isc_buffer_fini(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("trace", MFD_CLOEXEC), kept = dup(fd);
	isc_trace *trace = NULL;
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", kept);
	if (write_trace(data, size, fd) && isc_trace_open(path, &trace, NULL) == ISC_OK)
		check(trace, (int)(size % ISC_EXPORT_FORMATS));
	isc_trace_close(trace);
	close(kept);
	return 0;
}
