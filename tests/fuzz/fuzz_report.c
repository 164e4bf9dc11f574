/*
 * fuzz_report.c - facts and records of any content, through the analysis into
 * every report.  What comes out must parse, and must not steer a terminal.
 *
 * Input: two bytes length of the facts, the facts, then records of 24 bytes.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <yyjson.h>

#include "base/text.h"
#include "report/report.h"
#include "trace/writer.h"

#define START_NS 1000000000ull
#define RECORDS_MAX 200u
#define THREADS 8u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct step {
	uint8_t what, process, thread, kind;
	uint32_t small;
	uint64_t time, wide;
};
_Static_assert(sizeof(struct step) == 24, "step");

static void write_name(isc_writer *w, const struct step *s)
{
	isc_writer_define(w, s->process % 4, s->small % 16, ISC_DEF_STRING, &s->time, s->kind % 17, NULL);
}

/* Calls, tasks, waits, collections and channels, in any order. */
static uint8_t kind_of(const struct step *s)
{
	static const uint8_t more[] = {ISC_KIND_CALL_ENTER, ISC_KIND_CALL_RESUME, ISC_KIND_CALL_EXIT,  ISC_KIND_TASK,
				       ISC_KIND_WAIT_ENTER, ISC_KIND_WAIT_EXIT,	  ISC_KIND_WAIT_BRIEF, ISC_KIND_GC};

	if ((s->kind & 0xc0) == 0x40)
		return s->kind % 2 ? ISC_KIND_SENT : ISC_KIND_GOT;
	return s->kind & 0x80 ? more[s->kind % sizeof(more)] : s->kind % 9;
}

/* Under any id, cut anywhere; a record of it may say what was left out. */
static void write_channel(isc_writer *w, const struct step *s, isc_record *slot, isc_trace_run *run)
{
	struct {
		isc_def_channel head;
		uint64_t text;
	} def = {{.kind = s->thread,
		  .inode = s->wide,
		  .local_len = (uint16_t)s->time,
		  .peer_len = (uint16_t)(s->time >> 16)},
		 s->wide};

	isc_writer_define(w, s->process % 4, s->small % 16, ISC_DEF_CHANNEL, &def, s->small % (sizeof(def) + 1), NULL);
	slot[0].arg = (uint16_t)s->wide;
	memcpy(&slot[1], &s->time, sizeof(s->time));
	slot[0].slots = s->kind & 2 ? 2 : 1;
	run->slots = slot[0].slots;
}

static void write_event(isc_writer *w, const struct step *s, uint64_t *next)
{
	isc_trace_run run = {.process = s->process % 4, .thread = s->thread % THREADS, .events = 1, .slots = 1};
	isc_record slot[3] = {
		{.ticks = START_NS + s->time % 1000000, .id = s->small % 16, .kind = kind_of(s), .slots = 1}};

	if (slot[0].kind == ISC_KIND_COUNTER) {
		memcpy(&slot[1], &s->wide, sizeof(s->wide));
		slot[0].slots = 2;
		run.slots = 2;
	}
	if (slot[0].kind >= ISC_KIND_WAIT_EXIT && slot[0].kind <= ISC_KIND_GC) {
		isc_wait wait = {s->wide % 5 == 0 ? s->wide : s->wide % 100000, s->small % 8, s->small % 16};

		memcpy(&slot[1], &wait, sizeof(wait));
		slot[0].arg = (uint16_t)(s->wide % 24);
		/* With a channel and a thread that posted, or without. */
		memcpy(&slot[2], &s->time, sizeof(s->time));
		slot[0].slots = s->kind & 0x20 ? 3 : 2;
		run.slots = slot[0].slots;
	}
	if (slot[0].kind == ISC_KIND_SENT || slot[0].kind == ISC_KIND_GOT)
		write_channel(w, s, slot, &run);
	if (slot[0].kind == ISC_KIND_SPAN_ENTER || slot[0].kind == ISC_KIND_SPAN_EXIT) {
		isc_span span = {s->small % 8, s->wide % 3 == 0 ? s->wide : s->wide % 8};

		memcpy(&slot[1], &span, sizeof(span));
		slot[0].arg = s->wide % 2;
		slot[0].slots = 2;
		run.slots = 2;
	}
	run.first = next[run.thread] += 1 + (s->wide % 7 == 0 ? s->wide % 1000 : 0);
	isc_writer_events(w, &run, slot, NULL);
}

/* Stacks and what they are made of, any of them under any id; or a sample. */
static void write_sample(isc_writer *w, const struct step *s, uint64_t *next)
{
	isc_trace_run run = {.process = s->process % 4, .thread = s->thread % THREADS, .events = 1, .slots = 2};
	isc_record slot[2] = {{.ticks = START_NS + s->time % 1000000,
			       .id = s->small % 16,
			       .kind = ISC_KIND_SAMPLE,
			       .slots = 2,
			       .arg = (uint16_t)s->wide}};
	isc_sample body = {.period_ns = (uint32_t)(s->wide >> 32), .flags = (uint32_t)s->time % 128};
	uint32_t frame[8] = {s->time % 16, s->wide % 16, (uint32_t)(s->wide >> 32), (s->wide >> 8) % 16, s->small};

	if (s->kind % 3 != 0) {
		isc_writer_define(w, s->process % 4, s->small % 16, s->kind % 11, frame, s->kind % sizeof(frame), NULL);
		return;
	}
	memcpy(&slot[1], &body, sizeof(body));
	run.first = next[run.thread] += 1;
	isc_writer_events(w, &run, slot, NULL);
}

static void take_step(isc_writer *w, const struct step *s, uint64_t *next)
{
	isc_trace_process p = {.process = s->process % 8,
			       .parent = s->thread % 8,
			       .pid = s->kind % 4,
			       .flags = s->small,
			       .wait_status = (int32_t)s->wide,
			       .start_ns = s->time,
			       .end_ns = s->wide,
			       .argv = (const char *)&s->time,
			       .argv_len = s->small % 17};
	isc_trace_thread t = {.thread = s->thread % THREADS,
			      .process = s->process % 8,
			      .tid = s->kind % 8,
			      .flags = s->small,
			      .start_ns = s->time,
			      .end_ns = s->wide};
	isc_trace_switch sw = {
		.time_ns = START_NS + s->time, .pid = s->process % 4, .tid = s->thread % 8, .kind = s->kind % 7};
	isc_trace_account account = {.process = s->process % 4,
				     .thread = s->thread % THREADS,
				     .produced = s->time,
				     .stored = s->wide,
				     .lost = s->small};

	memcpy(t.name, &s->wide, sizeof(s->wide));
	if (s->what >= 128) {
		write_sample(w, s, next);
		return;
	}
	switch (s->what % 8) {
	case 0:
		isc_writer_process(w, &p, NULL);
		break;
	case 1:
		isc_writer_thread(w, &t, NULL);
		break;
	case 2:
		write_name(w, s);
		break;
	case 3:
		isc_writer_account(w, &account, NULL);
		break;
	case 4:
	case 5:
		isc_writer_switches(w, &sw, 1, NULL);
		break;
	default:
		write_event(w, s, next);
	}
}

static bool write_trace(const uint8_t *data, size_t size, int fd)
{
	isc_writer_options options = {.start_ns = START_NS, .start_ticks = START_NS};
	size_t meta = size >= 2 ? data[0] | (size_t)data[1] << 8 : 0, at;
	isc_trace_end end = {.end_ns = START_NS + 1000000, .known = size % 2, .wait_status = (int32_t)size};
	uint64_t next[THREADS] = {0};
	isc_writer *w = NULL;
	struct step s;

	if (isc_writer_open(fd, &options, &w, NULL) != ISC_OK) {
		close(fd);
		return false;
	}
	meta = meta > size - 2 || size < 2 ? 0 : meta;
	if (meta > 0)
		isc_writer_meta(w, (const char *)data + 2, meta, NULL);
	for (at = 2 + meta; at + sizeof(s) <= size && at < RECORDS_MAX * sizeof(s); at += sizeof(s)) {
		memcpy(&s, data + at, sizeof(s));
		take_step(w, &s, next);
	}
	return isc_writer_close(w, meta % 3 != 0 ? &end : NULL, NULL) == ISC_OK;
}

static void require(bool holds, const char *what, const isc_buffer *text)
{
	if (holds)
		return;
	fprintf(stderr, "%s:\n%s\n", what, text->data);
	abort();
}

static void check_text(const isc_buffer *text)
{
	uint32_t c = 0;
	size_t n;

	for (size_t i = 0; i < text->len; i += n) {
		n = isc_text_decode(text->data + i, text->len - i, &c);
		require(n > 0 && (c == '\n' || !isc_text_is_control(c)), "a control in a text", text);
	}
}

static size_t count_of(const isc_buffer *text, const char *what)
{
	size_t n = 0, len = strlen(what);
	const char *at = text->data, *end = text->data + text->len;

	while ((at = memmem(at, (size_t)(end - at), what, len)) != NULL) {
		at += len;
		n++;
	}
	return n;
}

/* Whatever names there are, the page has the scripts that it always has, and nothing behind its end. */
static void check_page(const isc_buffer *text)
{
	static size_t scripts;

	require(isc_report_is_ours(text->data, text->len), "a page without its mark", text);
	scripts = scripts == 0 ? count_of(text, "<script") : scripts;
	require(count_of(text, "<script") == scripts && count_of(text, "</script>") == scripts, "another script", text);
	require(count_of(text, "</html>") == 1 && count_of(text, "<!--") == 1, "another end, or a comment", text);
}

static void check_reports(const isc_analysis *a)
{
	isc_buffer text = {0};
	yyjson_doc *doc;
	size_t lines = 0;

	require(isc_report_write(a, ISC_REPORT_JSON, &text, NULL) == ISC_OK, "no JSON", &text);
	doc = yyjson_read(text.data, text.len, 0);
	require(doc != NULL, "not JSON", &text);
	yyjson_doc_free(doc);
	isc_buffer_clear(&text);
	require(isc_report_write(a, ISC_REPORT_MARKDOWN, &text, NULL) == ISC_OK, "no Markdown", &text);
	check_text(&text);
	isc_buffer_clear(&text);
	require(isc_report_write(a, ISC_REPORT_HTML, &text, NULL) == ISC_OK, "no page", &text);
	check_page(&text);
	isc_buffer_clear(&text);
	require(isc_report_summary(a, "r", "t", &text, NULL) == ISC_OK, "no summary", &text);
	check_text(&text);
	for (size_t i = 0; i < text.len; i++)
		lines += text.data[i] == '\n';
	require(lines <= 12, "a long summary", &text);
	isc_buffer_fini(&text);
}

static void look(const char *path, const isc_analysis_options *options)
{
	isc_trace *trace = NULL;
	isc_analysis *a = NULL;

	if (isc_trace_open(path, &trace, NULL) == ISC_OK && isc_analysis_new(trace, options, &a, NULL) == ISC_OK)
		check_reports(a);
	isc_analysis_free(a);
	isc_trace_close(trace);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("trace", MFD_CLOEXEC), kept = dup(fd);
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", kept);
	if (write_trace(data, size, fd)) {
		look(path, NULL);
		if (size % 4 == 0)
			look(path, &(isc_analysis_options){.from_us = (double)(size % 100)});
		if (size % 4 == 1)
			look(path, &(isc_analysis_options){.scope = "?"});
		if (size % 4 == 2)
			look(path, &(isc_analysis_options){.lanes = true});
	}
	close(kept);
	return 0;
}
