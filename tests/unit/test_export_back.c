/* export and import: every slice of a trace, out to a file and back, one by one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "export/export.h"
#include "import/import.h"
#include "timeline/timeline.h"
#include "trace_text.h"

#define THREADS 3u
#define CALLS 40u
#define LINES_MOST 4096u

static isc_timeline *timeline;

struct seen {
	isc_buffer lines; /* "tid kind name start..end [call]", each with its NUL */
	size_t count;
};

static void add_line(struct seen *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add_line(struct seen *s, const char *format, ...)
{
	char line[256];
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	assert_in_range(len, 1, (int)sizeof(line) - 1);
	isc_buffer_add(&s->lines, line, (size_t)len + 1);
	s->count++;
}

static void take_span(void *self, const isc_timeline_seen *s)
{
	add_line(self, "%llu/%llu %u %s %lld..%lld", (unsigned long long)s->pid, (unsigned long long)s->tid, s->kind,
		 isc_timeline_text(timeline, s->name).at, (long long)s->start_ns, (long long)s->end_ns);
}

static void take_work(void *self, const isc_timeline_seen *s)
{
	add_line(self, "gpu %u stream %llu %s %lld..%lld asked for by %llu at %lld", s->number,
		 (unsigned long long)s->stream, isc_timeline_text(timeline, s->name).at, (long long)s->start_ns,
		 (long long)s->end_ns, (unsigned long long)s->tid, (long long)s->call_ns);
}

static isc_status gather(void *self, const void *data, size_t len, isc_error *err)
{
	(void)err;
	isc_buffer_add(self, data, len);
	return ISC_OK;
}

/* Out to a file of this format, and what a timeline sees of it. */
static void go_there_and_back(const char *text, int format, struct seen *seen)
{
	isc_timeline_watch watch = {.span = take_span, .work = take_work, .self = seen};
	isc_timeline_options options = {.watch = &watch};
	isc_export_options how = {.format = format};
	const isc_timeline_facts *facts;
	isc_export_result result;
	isc_trace *trace = NULL;
	isc_import import = {0};
	isc_buffer out = {0};
	isc_error err = {0};
	FILE *file = tmpfile();

	if (trace_text_open(text, &trace, &err) != ISC_OK ||
	    isc_export_run(trace, &how, gather, &out, &result, &err) != ISC_OK)
		fail_msg("%s", err.what);
	assert_non_null(file);
	assert_int_equal(fwrite(out.data, 1, out.len, file), out.len);
	rewind(file);
	assert_int_equal(isc_timeline_new(&options, &timeline, NULL), ISC_OK);
	assert_int_equal(isc_import_read_fd(&import, fileno(file), "trace", timeline, NULL), ISC_OK);
	assert_int_equal(isc_timeline_finish(timeline, NULL, &facts, NULL), ISC_OK);
	assert_int_equal(import.files[0].malformed + import.files[0].unmatched + import.files[0].loose, 0);
	fclose(file);
	isc_timeline_free(timeline);
	isc_import_fini(&import);
	isc_buffer_fini(&out);
	isc_trace_close(trace);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static size_t sorted(const struct seen *s, const char **line)
{
	const char *at = s->lines.data;

	assert_in_range(s->count, 1, LINES_MOST);
	for (size_t i = 0; i < s->count; i++, at += strlen(at) + 1)
		line[i] = at;
	qsort(line, s->count, sizeof(*line), by_text);
	return s->count;
}

static void check_same(const struct seen *got, const struct seen *wanted)
{
	static const char *a[LINES_MOST], *b[LINES_MOST];
	size_t n = sorted(got, a), m = sorted(wanted, b);

	for (size_t i = 0; i < n && i < m; i++)
		assert_string_equal(a[i], b[i]);
	assert_int_equal(n, m);
}

static void wanted_span(struct seen *wanted, unsigned tid, enum isc_host_kind kind, const char *name, uint64_t from,
			uint64_t to)
{
	add_line(wanted, "100/%u %u %s %llu..%llu", tid, kind, name, (unsigned long long)from, (unsigned long long)to);
}

/* Calls in calls, a wait and a scope in each, at times to the nanosecond; the first begins the timeline. */
static void add_thread(isc_buffer *text, struct seen *wanted, unsigned thread)
{
	uint64_t ns = thread * 37;
	unsigned tid = 99 + thread;

	for (unsigned i = 0; i < CALLS; i++) {
		uint64_t start = ns, inner = start + 101 + i, wait = inner + 211, end = wait + 307 + 3 * i;
		char name[32];

		snprintf(name, sizeof(name), "a.py(9): g%u", i % 7);
		isc_buffer_format(text,
				  "t%u %lluns call_enter f m.py 3\n"
				  "t%u %lluns scope_enter request\n"
				  "t%u %lluns call_enter g%u a.py 9\n"
				  "t%u %lluns wait_exit sleep %lluns 0\n"
				  "t%u %lluns call_exit g%u a.py 9\n"
				  "t%u %lluns scope_exit request\n"
				  "t%u %lluns call_exit f m.py 3\n",
				  thread, (unsigned long long)start, thread, (unsigned long long)start + 5, thread,
				  (unsigned long long)inner, i % 7, thread, (unsigned long long)wait,
				  (unsigned long long)(wait - inner - 10), thread, (unsigned long long)wait + 20, i % 7,
				  thread, (unsigned long long)end - 3, thread, (unsigned long long)end);
		start -= 37;
		inner -= 37;
		wait -= 37;
		end -= 37;
		wanted_span(wanted, tid, ISC_HOST_PYTHON, "m.py(3): f", start, end);
		wanted_span(wanted, tid, ISC_HOST_SCOPE, "request", start + 5, end - 3);
		wanted_span(wanted, tid, ISC_HOST_PYTHON, name, inner, wait + 20);
		wanted_span(wanted, tid, ISC_HOST_OP, "sleep", inner + 10, wait);
		ns = end + 37 + 17;
	}
}

static void every_slice_comes_back(void **state)
{
	static const int formats[] = {ISC_EXPORT_CHROME, ISC_EXPORT_EVENTS};
	struct seen wanted = {0};
	isc_buffer text = {0};

	(void)state;
	isc_buffer_text(&text, "meta {\"argv\": [\"x\"]}\np1 pid=100 root traced end=9ms status=0 argv x\n");
	for (unsigned t = 1; t <= THREADS; t++)
		isc_buffer_format(&text, "t%u p1 tid=%u name=t%u end=9ms\n", t, 99 + t, t);
	for (unsigned t = 1; t <= THREADS; t++)
		add_thread(&text, &wanted, t);
	isc_buffer_text(&text, "end 9ms status=0\n");
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		struct seen got = {0};

		go_there_and_back(text.data, formats[i], &got);
		check_same(&got, &wanted);
		isc_buffer_fini(&got.lines);
	}
	isc_buffer_fini(&wanted.lines);
	isc_buffer_fini(&text);
}

/* Which call asked for which work is an arrow in the file. */
static void every_arrow_comes_back(void **state)
{
	static const int formats[] = {ISC_EXPORT_CHROME, ISC_EXPORT_EVENTS};
	struct seen wanted = {0};
	isc_buffer text = {0};

	(void)state;
	isc_buffer_text(&text, "meta {\"argv\": [\"x\"]}\n"
			       "p1 pid=100 root traced end=90ms status=0 argv serve\n"
			       "t1 p1 tid=100 main name=main end=90ms\n"
			       "t2 p1 tid=101 name=other end=90ms\n");
	for (unsigned i = 0; i < CALLS; i++) {
		unsigned thread = 1 + i % 2, call = 1000 * i, work = 1000 * i + 400 + i;

		isc_buffer_format(&text, "t%u 80ms gpu_call launch clEnqueue %uns %uns %u\n", thread, call, call + 90,
				  i + 1);
		isc_buffer_format(&text, "t%u 81ms gpu_work kernel gemm%u 0 %uns %uns %u stream=%u\n", thread, i % 3,
				  work, work + 501, i + 1, i % 2);
		add_line(&wanted, "100/%u 3 clEnqueue %u..%u", 99 + thread, call, call + 90);
		add_line(&wanted, "gpu 0 stream %u gemm%u %u..%u asked for by %u at %u", i % 2, i % 3, work, work + 501,
			 99 + thread, call);
	}
	isc_buffer_text(&text, "end 90ms status=0\n");
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		struct seen got = {0};

		go_there_and_back(text.data, formats[i], &got);
		check_same(&got, &wanted);
		isc_buffer_fini(&got.lines);
	}
	isc_buffer_fini(&wanted.lines);
	isc_buffer_fini(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_slice_comes_back),
		cmocka_unit_test(every_arrow_comes_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
