/*
 * analysis_text.h - analyses of traces written as text, and ways to ask them.
 * For one test program each: everything is static.
 */
#ifndef ISC_TESTS_ANALYSIS_TEXT_H
#define ISC_TESTS_ANALYSIS_TEXT_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/analysis.h"
#include "trace_text.h"

#define META \
	"meta {\"argv\": [\"serve\"], \"perf\": \"ok\", \"budget_pct\": 5, \"measured_pct\": 1.5, \"host\": \"h\"}\n"
#define ONE_THREAD \
	"p1 pid=100 root traced end=10ms status=0 argv serve\n" \
	"t1 p1 tid=100 main name=main end=10ms\n"

static isc_analysis *analysis_with(const char *text, const isc_analysis_options *options)
{
	isc_trace *trace = NULL;
	isc_analysis *a = NULL;
	isc_error err = {0};

	if (trace_text_open(text, &trace, &err) != ISC_OK || isc_analysis_new(trace, options, &a, &err) != ISC_OK)
		fail_msg("%s", err.what);
	/* The analysis must outlive the trace. */
	isc_trace_close(trace);
	return a;
}

static isc_analysis *analysis_of(const char *text)
{
	return analysis_with(text, NULL);
}

static const isc_analysis_warning *warning_of(const isc_analysis *a, const char *id)
{
	for (size_t i = 0; i < a->warning_count; i++) {
		if (strcmp(a->warnings[i].id, id) == 0)
			return &a->warnings[i];
	}
	return NULL;
}

static bool text_is(const isc_text *text, const char *wanted)
{
	return text->len == strlen(wanted) && (text->len == 0 || memcmp(text->at, wanted, text->len) == 0);
}

#define assert_near(value, wanted) \
	do { \
		if (!(fabs((value) - (wanted)) <= 1e-6 + 0.01 * fabs((double)(wanted)))) \
			fail_msg("%s is %f, not %f", #value, (double)(value), (double)(wanted)); \
	} while (0)

#endif
