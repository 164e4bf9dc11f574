#include "sample_trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "trace/dump/dump.h"

int sample_file(char *path)
{
	int fd = memfd_create("trace", MFD_CLOEXEC);

	snprintf(path, 64, "/proc/self/fd/%d", fd);
	return fd;
}

uint64_t sample_draw(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static isc_status define(isc_writer *w, uint32_t process, uint32_t id, const char *text)
{
	return isc_writer_define(w, process, id, ISC_DEF_STRING, text, (uint32_t)strlen(text), NULL);
}

/* One request: a scope, a mark with facts, a counter, a kind nobody knows. */
static uint32_t request(isc_record *r, uint64_t ticks, unsigned i)
{
	static const char facts[] = "{\"tokens\":7}";
	uint32_t n = 0, len = sizeof(facts) - 1;
	double value = 0.5 * i;

	r[n++] = (isc_record){ticks, 10, ISC_KIND_SCOPE_ENTER, 1, 0};
	r[n++] = (isc_record){ticks + 100, 11, ISC_KIND_INSTANT, 2, 0};
	memset(&r[n], 0, sizeof(*r));
	memcpy(&r[n], &len, sizeof(len));
	memcpy((char *)&r[n++] + sizeof(len), facts, len);
	r[n++] = (isc_record){ticks + 200, 12, ISC_KIND_COUNTER, 2, 0};
	memset(&r[n], 0, sizeof(*r));
	memcpy(&r[n++], &value, sizeof(value));
	r[n++] = (isc_record){ticks + 300, 0, ISC_KIND_CPU, 1, (uint16_t)(1 + i % 3)};
	r[n++] = (isc_record){ticks + 350, 77, 120, 1, 9};
	r[n++] = (isc_record){ticks + 2400 + 8 * (i % 5), 10, ISC_KIND_SCOPE_EXIT, 1, 0};
	return n;
}

static isc_status define_code(isc_writer *w, uint32_t process, uint32_t id, const char *name, const char *file,
			      uint32_t line)
{
	isc_def_code head = {.line = line, .name_len = (uint32_t)strlen(name), .file_len = (uint32_t)strlen(file)};
	char bytes[256];

	memcpy(bytes, &head, sizeof(head));
	memcpy(bytes + sizeof(head), name, head.name_len);
	memcpy(bytes + sizeof(head) + head.name_len, file, head.file_len);
	return isc_writer_define(w, process, id, ISC_DEF_CODE, bytes,
				 (uint32_t)sizeof(head) + head.name_len + head.file_len, NULL);
}

/* Every kind of call event: recursion, a generator, a C function, one that is
 * not watched and then counted for a moment, and one that stays open. */
static isc_status write_calls(isc_writer *w, uint64_t first, uint64_t ticks)
{
	const isc_burst since = {.begin_ns = 5000, .end_ns = 5000, .cost = 320, .least = 640};
	const isc_burst burst = {
		.begin_ns = 205000, .end_ns = 305000, .cost = 320, .least = 640, .calls = 1000, .resumes = 400};
	const isc_burst_calls counted[] = {{15, 900}, {0, 0}};
	isc_record calls[] = {
		{ticks, 800, ISC_KIND_GOVERNED, 1, ISC_GOVERNED_COST},
		{ticks, 13, ISC_KIND_CALL_ENTER, 1, 0},
		{ticks + 160, 14, ISC_KIND_TASK, 1, 0},
		{ticks + 240, 13, ISC_KIND_CALL_ENTER, 1, 0},
		{ticks + 400, 15, ISC_KIND_CALL_ENTER, 1, 0},
		{ticks + 480, 15, ISC_KIND_CALL_EXIT, 1, ISC_CALL_YIELDED},
		{ticks + 560, 15, ISC_KIND_CALL_RESUME, 1, ISC_CALL_THROWN},
		{ticks + 640, 12, ISC_KIND_C_ENTER, 1, 0},
		{ticks + 800, 12, ISC_KIND_C_EXIT, 1, 0},
		{ticks + 880, 15, ISC_KIND_CALL_EXIT, 1, ISC_CALL_RAISED},
		{ticks + 960, 13, ISC_KIND_CALL_EXIT, 1, 0},
		{ticks + 960, 0, ISC_KIND_MISSED, 1, 1},
		{ticks + 1040, 0, ISC_KIND_MISSED, 1, 0},
		{ticks + 1120, 15, ISC_KIND_GOVERNED, 1, ISC_GOVERNED_OFF},
		{ticks + 1200, 0, ISC_KIND_BURST, 3, ISC_BURST_SEEN},
		{0, 0, 0, 0, 0},
		{0, 0, 0, 0, 0},
		{ticks + 1600, 0, ISC_KIND_BURST, 4, 0},
		{0, 0, 0, 0, 0},
		{0, 0, 0, 0, 0},
		{0, 0, 0, 0, 0},
		{ticks + 2000, 13, ISC_KIND_CALL_EXIT, 1, 0},
		{ticks + 2080, 0, ISC_KIND_GOVERNED, 1, ISC_GOVERNED_OFF},
		{ticks + 2160, 0, ISC_KIND_GOVERNED, 1, ISC_GOVERNED_TRACED},
		{ticks + 2240, 13, ISC_KIND_CALL_ENTER, 1, 0},
	};
	const uint32_t n = sizeof(calls) / sizeof(calls[0]);
	isc_trace_run run = {.process = 1, .thread = 1, .first = first, .events = n - 5, .slots = n};

	memcpy(&calls[15], &since, sizeof(since));
	memcpy(&calls[18], &burst, sizeof(burst));
	memcpy(&calls[20], counted, sizeof(counted));

	return isc_writer_events(w, &run, calls, NULL);
}

static isc_status write_state(isc_writer *w)
{
	static const char argv[] = "python\0serve.py\0--name=\x1b[31m\"x\"";
	isc_trace_process root = {.process = 1,
				  .pid = 100,
				  .ppid = 99,
				  .flags = ISC_PROCESS_ROOT | ISC_PROCESS_TRACED | ISC_PROCESS_PYTHON,
				  .start_ns = 5000001000,
				  .gen = 41,
				  .argv = argv,
				  .argv_len = sizeof(argv)};
	isc_trace_process child = {.process = 2,
				   .parent = 1,
				   .pid = 101,
				   .ppid = 100,
				   .flags = ISC_PROCESS_TRACED | ISC_PROCESS_ENDED | ISC_PROCESS_STATUS,
				   .wait_status = 9,
				   .start_ns = 5000002000,
				   .end_ns = 5000900000,
				   .gen = 43,
				   .defs_parent_gen = 41,
				   .defs_base_id = 50,
				   .argv = "python\0-c\0",
				   .argv_len = 9,
				   .argv_cut = 1};
	isc_trace_thread main = {.thread = 1,
				 .process = 1,
				 .tid = 100,
				 .flags = 1,
				 .serial = 1,
				 .start_ns = 5000001000,
				 .name = "MainThread"};
	isc_trace_thread worker = {.thread = 2,
				   .process = 2,
				   .tid = 101,
				   .flags = 3,
				   .serial = 1,
				   .start_ns = 5000002000,
				   .end_ns = 5000900000,
				   .name = "worker\n1"};
	isc_trace_account account = {.process = 1, .thread = 1, .produced = 12, .stored = 9, .lost = 3};
	isc_status st = isc_writer_meta(w, "{\"host\":\"box\",\"labels\":{\"a\":1}}", 31, NULL);

	st = st ? st : isc_writer_meta(w, "{\"python\":\"3.11\",\"host\":\"other\"}", 32, NULL);
	st = st ? st : isc_writer_process(w, &root, NULL);
	st = st ? st : isc_writer_process(w, &child, NULL);
	st = st ? st : isc_writer_thread(w, &main, NULL);
	st = st ? st : isc_writer_thread(w, &worker, NULL);
	st = st ? st : isc_writer_account(w, &account, NULL);
	st = st ? st : define(w, 1, 10, "request");
	st = st ? st : define(w, 1, 11, "token \"\\\x1b]0;x\a");
	st = st ? st : define(w, 1, 12, "queue \xff depth");
	st = st ? st : define_code(w, 1, 13, "Model.forward", "/srv/model.py", 17);
	st = st ? st : define(w, 1, 14, "Task-1");
	st = st ? st : define_code(w, 1, 15, "tokens", "/srv/model.py", 40);
	return st ? st : define(w, 2, 60, "only in the child");
}

isc_status sample_write(int fd, uint64_t limit_bytes, unsigned scale, bool ended)
{
	/* 2 ticks a ns. */
	isc_writer_options options = {.limit_bytes = limit_bytes,
				      .session_id = {1, 2, 3, 255},
				      .clock_source = 1,
				      .start_ticks = 8000000,
				      .start_ns = 5000000000,
				      .start_unix_ns = 1700000000123456789};
	isc_trace_switch switches[] = {{5000001500, 100, 100, 0, ISC_SWITCH_IN},
				       {5000001700, 100, 100, 0, ISC_SWITCH_OUT},
				       {5000001600, 100, 101, 1, ISC_SWITCH_OUT_PREEMPT},
				       {5000001800, 0, 0, 0, ISC_SWITCH_GAP_BEGIN}};
	isc_trace_run child = {.process = 2, .thread = 2, .stream = 1, .first = 3, .events = 2, .slots = 2};
	isc_record nested[] = {{8004000, 10, ISC_KIND_SCOPE_ENTER, 1, 5}, {8005000, 60, ISC_KIND_SCOPE_EXIT, 1, 0}};
	isc_record slots[16];
	isc_writer *w;
	isc_status st = isc_writer_open(fd, &options, &w, NULL);

	if (st != ISC_OK) {
		close(fd);
		return st;
	}
	st = write_state(w);
	st = st ? st : isc_writer_clock(w, 8000000 + 2000000, 5001000000, NULL);
	for (unsigned i = 0; i < scale && st == ISC_OK; i++) {
		isc_trace_run run = {
			.process = 1, .thread = 1, .first = (uint64_t)i * 6 + (i >= scale / 2 ? 3 : 0), .events = 6};

		run.slots = request(slots, 8000000 + (uint64_t)i * 8000, i);
		st = isc_writer_events(w, &run, slots, NULL);
		if (st == ISC_OK && i % 64 == 63)
			st = isc_writer_flush(w, NULL);
	}
	st = st ? st : write_calls(w, (uint64_t)scale * 6 + 3, 8000000 + (uint64_t)scale * 8000);
	st = st ? st : isc_writer_events(w, &child, nested, NULL);
	st = st ? st : isc_writer_switches(w, switches, sizeof(switches) / sizeof(switches[0]), NULL);
	st = st ? st : isc_writer_flush(w, NULL);
	isc_status closed = isc_writer_close(
		w, ended ? &(isc_trace_end){.end_ns = 5002000000, .wait_status = 3 << 8, .known = 1} : NULL, NULL);
	return st ? st : closed;
}

void sample_scopes(isc_writer *w, uint32_t process, uint32_t thread, uint64_t first, uint32_t pairs, uint64_t ticks,
		   uint32_t id)
{
	isc_record r[2 * 256];
	isc_trace_run run = {
		.process = process, .thread = thread, .first = first, .events = 2 * pairs, .slots = 2 * pairs};
	uint64_t seed = first;
	isc_error err = {0};

	for (uint32_t i = 0; i < pairs; i++) {
		r[2 * i] = (isc_record){ticks + 1000 * i + sample_draw(&seed) % 400, id, ISC_KIND_SCOPE_ENTER, 1, 0};
		r[2 * i + 1] =
			(isc_record){ticks + 1000 * i + 500 + sample_draw(&seed) % 400, id, ISC_KIND_SCOPE_EXIT, 1, 0};
	}
	if (pairs > 256 || isc_writer_events(w, &run, r, &err) != ISC_OK) {
		fprintf(stderr, "%s\n", err.what);
		abort();
	}
}

char *sample_dump(const char *path, bool definitions)
{
	isc_dump_options options = {.definitions = definitions};
	isc_trace *tr;
	char *text = NULL;
	size_t len;
	FILE *out;

	if (isc_trace_open(path, &tr, NULL) != ISC_OK)
		return NULL;
	out = open_memstream(&text, &len);
	if (!isc_dump_write(tr, &options, out, NULL))
		fputs("dump failed\n", out);
	fclose(out);
	isc_trace_close(tr);
	return text;
}
