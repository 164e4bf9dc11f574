/* libinferscope: reading, analysing and reporting a trace, as a C program does it with nothing but the public headers. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "inferscope/inferscope.h"
#include "trace_text.h"

static char folder[] = "/tmp/isc-library-XXXXXX";
static char trace_path[64], report_path[64], export_path[64];

static const char program[] = "meta {\"argv\": [\"serve\"]}\n"
			      "p1 pid=100 root traced end=10ms status=0 argv serve\n"
			      "t1 p1 tid=100 main name=main end=10ms\n"
			      "t1 1ms call_enter work /x/app.py 7\n"
			      "t1 2ms scope_enter request\n"
			      "t1 2ms counter depth 3.5\n"
			      "t1 3ms scope_exit request\n"
			      "t1 6ms call_exit work /x/app.py 7\n"
			      "end 9ms status=0\n";

struct seen {
	int events, stop_at;
	inferscope_event call, counter, scope;
};

static int each(void *self, const inferscope_event *event)
{
	struct seen *s = self;

	s->events++;
	assert_int_equal(event->size, sizeof(*event));
	assert_int_equal(event->process_id, 100);
	if (strcmp(event->type, "cpu_call") == 0) {
		s->call = *event;
		assert_string_equal(event->name, "work");
		assert_string_equal(event->file, "/x/app.py");
	} else if (strcmp(event->type, "counter") == 0) {
		s->counter = *event;
	} else if (strcmp(event->type, "scope") == 0) {
		s->scope = *event;
		assert_string_equal(event->name, "request");
	}
	return s->events == s->stop_at;
}

static void events_come_with_names_times_and_places(void **state)
{
	struct seen s = {0};
	int damaged = 1;
	isc_error err;

	(void)state;
	assert_int_equal(inferscope_trace_read(trace_path, NULL, each, &s, &damaged, &err), ISC_OK);
	assert_int_equal(damaged, 0);
	assert_int_equal(s.events, 3);
	assert_int_equal(s.call.end_ns - s.call.start_ns, 5000000);
	assert_int_equal(s.call.line, 7);
	assert_int_equal(s.scope.end_ns - s.scope.start_ns, 1000000);
	assert_int_equal(s.scope.start_ns - s.call.start_ns, 1000000);
	assert_true(s.counter.value == 3.5);
}

static void a_reader_that_has_enough_ends_the_reading(void **state)
{
	struct seen s = {.stop_at = 1};
	isc_error err;

	(void)state;
	assert_int_equal(inferscope_trace_read(trace_path, NULL, each, &s, NULL, &err), ISC_OK);
	assert_int_equal(s.events, 1);
}

static void a_piece_is_read_alone(void **state)
{
	inferscope_read_options of_none = {.size = sizeof(of_none), .scope = "nothing"};
	struct seen s = {0};
	isc_error err;

	(void)state;
	assert_int_equal(inferscope_trace_read(trace_path, &of_none, each, &s, NULL, &err), ISC_ERR_INVALID);
	assert_int_equal(s.events, 0);
}

static void what_is_not_a_trace_is_told(void **state)
{
	const char *path = "/nonexistent/x.isc";
	inferscope_analysis *a = (inferscope_analysis *)1;
	isc_error err;

	(void)state;
	assert_int_not_equal(inferscope_trace_read(path, NULL, each, NULL, NULL, &err), ISC_OK);
	assert_non_null(strstr(err.what, path));
	assert_int_not_equal(inferscope_analysis_new(&path, 1, NULL, &a, &err), ISC_OK);
	assert_null(a);
	assert_int_equal(inferscope_analysis_new(NULL, 0, NULL, &a, &err), ISC_ERR_INVALID);
	inferscope_analysis_free(NULL);
}

static void an_analysis_has_a_verdict_and_reports(void **state)
{
	const char *path = trace_path;
	const inferscope_verdict *v;
	inferscope_analysis *a = NULL;
	char *text = NULL;
	size_t len = 0;
	isc_error err = {0};
	FILE *foreign;

	(void)state;
	if (inferscope_analysis_new(&path, 1, NULL, &a, &err) != ISC_OK)
		fail_msg("%s", err.what);
	v = inferscope_analysis_verdict(a);
	assert_string_equal(v->bottleneck, "unknown");
	assert_non_null(v->withheld); /* three events are too few */
	assert_int_equal(inferscope_report_text(a, "json", &text, &len, &err), ISC_OK);
	assert_int_equal(strlen(text), len);
	assert_non_null(strstr(text, "\"schema\": \"inferscope-report-1\""));
	free(text);
	assert_int_equal(inferscope_report_text(a, "pdf", &text, NULL, &err), ISC_ERR_INVALID);
	assert_null(text);
	assert_int_equal(inferscope_report_save(a, report_path, NULL, &err), ISC_OK);
	assert_int_equal(inferscope_report_save(a, report_path, NULL, &err), ISC_OK); /* ours is replaced */
	foreign = fopen(report_path, "w");
	fputs("mine\n", foreign);
	fclose(foreign);
	assert_int_equal(inferscope_report_save(a, report_path, NULL, &err), ISC_ERR_EXISTS);
	inferscope_analysis_free(a);
	unlink(report_path);
}

static void a_trace_is_exported(void **state)
{
	isc_error err;

	(void)state;
	assert_int_equal(inferscope_export(trace_path, "chrome", export_path, &err), ISC_OK);
	assert_int_equal(access(export_path, R_OK), 0);
	unlink(export_path);
	assert_int_equal(inferscope_export(trace_path, "chrom", export_path, &err), ISC_ERR_INVALID);
}

static int make_trace(void **state)
{
	isc_error err;
	int fd;

	(void)state;
	if (mkdtemp(folder) == NULL)
		return -1;
	snprintf(trace_path, sizeof(trace_path), "%s/x.isc", folder);
	snprintf(report_path, sizeof(report_path), "%s/x.html", folder);
	snprintf(export_path, sizeof(export_path), "%s/x.json", folder);
	fd = open(trace_path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return fd >= 0 && trace_text_write(program, fd, 0, &err) == ISC_OK ? 0 : -1;
}

static int remove_trace(void **state)
{
	(void)state;
	return unlink(trace_path) | rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_come_with_names_times_and_places),
		cmocka_unit_test(a_reader_that_has_enough_ends_the_reading),
		cmocka_unit_test(a_piece_is_read_alone),
		cmocka_unit_test(what_is_not_a_trace_is_told),
		cmocka_unit_test(an_analysis_has_a_verdict_and_reports),
		cmocka_unit_test(a_trace_is_exported),
	};

	return cmocka_run_group_tests(tests, make_trace, remove_trace);
}
