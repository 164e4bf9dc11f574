/*
 * summary.c - a few lines on the terminal when a run or an analysis is done:
 * what ran, where the time went, what was not seen, where the report is.
 */
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "report/text/gpu_words.h"
#include "report/text/memory_words.h"
#include "report/text/phase_words.h"
#include "report/report.h"
#include "report/text/scope_words.h"
#include "report/text/verdict_words.h"
#include "report/text/words.h"

#define PREFIX "inferscope: "
#define COMMAND_MAX 60u
#define INPUT_MAX 160u /* of an imported trace's name and kind */
#define NAME_MAX_LEN 40u
#define START_MAX 160u
/* Warnings that are shown in full; the rest is counted: twelve lines at most. */
#define WARNINGS_MAX 3u
#define FUNCTIONS_MAX 3u

static void begin(isc_buffer *out)
{
	isc_buffer_text(out, PREFIX);
}

static void add_text(isc_buffer *out, const isc_text *text)
{
	isc_text_terminal(out, text->at, text->len, NAME_MAX_LEN);
}

static void write_program(const isc_analysis *a, isc_buffer *out)
{
	isc_buffer command = {0};
	isc_units u;

	begin(out);
	if (a->import != NULL) {
		isc_gpu_words_input(a, &command);
		out->failed |= command.failed;
		isc_text_terminal(out, command.data, command.len, INPUT_MAX);
		isc_buffer_text(out, "\n");
		isc_buffer_fini(&command);
		return;
	}
	isc_words_command(&command, a->argv, a->argc, false);
	out->failed |= command.failed;
	isc_text_terminal(out, command.data, command.len, COMMAND_MAX);
	isc_buffer_fini(&command);
	isc_buffer_format(out, " took %s and ", isc_units_time(&u, a->wall_us));
	isc_words_end(out, a->exit_known, a->exit_code, a->signal);
	isc_buffer_text(out, " (");
	isc_words_plural(out, a->process_count, "process", "processes");
	isc_buffer_text(out, ", ");
	isc_words_plural(out, a->thread_count, "thread", "threads");
	isc_buffer_text(out, ")\n");
}

static void write_start(const isc_analysis *a, isc_buffer *out)
{
	isc_buffer words = {0};

	if (!isc_phase_words_is_long(a))
		return;
	begin(out);
	isc_phase_words_startup(&a->startup, &words);
	out->failed |= words.failed;
	isc_text_terminal(out, words.data, words.len, START_MAX);
	isc_buffer_text(out, "\n");
	isc_buffer_fini(&words);
}

static void write_time(const isc_analysis *a, isc_buffer *out)
{
	const isc_analysis_thread *t = isc_words_busiest(a);
	isc_units u, v, w, x;

	if (t == NULL || t->wall_us <= 0)
		return;
	begin(out);
	isc_buffer_text(out, "busiest thread: ");
	add_text(out, &t->name);
	isc_buffer_format(out, " (%u): %s on CPU, %s ready but not running, %s waiting, of %s\n", t->tid,
			  isc_units_percent(&u, t->on_cpu_us / t->wall_us * 100),
			  isc_units_percent(&v, t->run_queue_us / t->wall_us * 100),
			  isc_units_percent(&w, t->waiting_us / t->wall_us * 100), isc_units_time(&x, t->wall_us));
}

/* The first of a list has its place too, unless its name says it: "(module infer.py)". */
static void add_function(isc_buffer *out, const isc_analysis_function *f, bool first)
{
	isc_buffer_text(out, first ? "" : ", ");
	isc_words_escaped(out, f, isc_words_function, isc_text_terminal, NAME_MAX_LEN);
	if (first && f->file.len > 0 && f->name.len > 0 && f->name.at[0] != '<') {
		isc_buffer_text(out, " (");
		isc_words_escaped(out, f, isc_words_place, isc_text_terminal, COMMAND_MAX);
		isc_buffer_text(out, ")");
	}
}

static void write_functions(const isc_analysis *a, isc_buffer *out)
{
	const isc_analysis_function *top[FUNCTIONS_MAX];
	size_t n = isc_words_top(a, top, FUNCTIONS_MAX);
	double all_us = a->to_us - a->from_us;
	bool estimated = false;
	isc_units u, v;

	if (n == 0)
		return;
	begin(out);
	isc_buffer_text(out, "most time in: ");
	for (size_t i = 0; i < n; i++) {
		add_function(out, top[i], i == 0);
		isc_buffer_format(out, " %s (%s)", isc_units_time(&u, top[i]->self_us),
				  isc_units_percent(&v, all_us > 0 ? top[i]->self_us / all_us * 100 : -1));
		if (i == 0 && top[i]->traced) {
			isc_buffer_text(out, " in ");
			isc_words_plural(out, top[i]->calls, "call", "calls");
		}
		estimated |= top[i]->estimated;
	}
	isc_buffer_text(out, estimated ? ", estimated\n" : "\n");
}

/* By samples: what a thread waits for is not in it. */
static void write_hottest(const isc_analysis *a, isc_buffer *out)
{
	const isc_analysis_function *top[FUNCTIONS_MAX];
	size_t n = isc_words_hottest(a, top, FUNCTIONS_MAX);
	isc_units u, v;

	begin(out);
	isc_buffer_text(out, "CPU time in: ");
	for (size_t i = 0; i < n; i++) {
		add_function(out, top[i], i == 0);
		isc_buffer_format(out, " %s", isc_units_percent(&u, top[i]->cpu_self_us / a->samples.us * 100));
	}
	isc_buffer_format(out, "%s of %s, by %s samples", n == 0 ? "nothing known" : "",
			  isc_units_time(&u, a->samples.us), isc_units_count(&v, a->samples.count));
	if (a->samples.covered_pct >= 0)
		isc_buffer_format(out, " that saw %s of it",
				  isc_units_percent(&u, a->samples.covered_pct < 100 ? a->samples.covered_pct : 100));
	isc_buffer_text(out, "\n");
}

static void write_events(const isc_analysis *a, isc_buffer *out)
{
	isc_units u, v;

	begin(out);
	isc_words_plural(out, a->events, "event", "events");
	if (a->lost_known)
		isc_buffer_format(out, ", %s lost", isc_units_count(&u, a->lost));
	else
		isc_buffer_text(out, ", how many were lost is not known");
	if (a->retired > 0)
		isc_buffer_format(out, ", %s dropped to hold the trace to its size", isc_units_count(&u, a->retired));
	if (a->samples.count > 0 && a->samples.count < ISC_SAMPLES_ENOUGH) {
		isc_buffer_text(out, ", only ");
		isc_words_plural(out, a->samples.count, "sample", "samples");
	}
	if (isc_words_costs_apart(a))
		isc_buffer_format(out, "; tracing cost the program %s of its wall time and %s of its CPU time",
				  isc_units_percent(&u, a->measured_pct), isc_units_percent(&v, a->measured_cpu_pct));
	else if (a->measured_pct >= 0)
		isc_buffer_format(out, "; tracing slowed the program by %s", isc_units_percent(&u, a->measured_pct));
	isc_buffer_text(out, "\n");
}

/* Sources that gave nothing have a warning each, "no_" and their name. */
static void write_unseen(const isc_analysis *a, isc_buffer *out)
{
	bool any = false;

	for (size_t i = 0; i < a->warning_count; i++) {
		if (strncmp(a->warnings[i].id, "no_", 3) != 0)
			continue;
		isc_buffer_format(out, "%s%s", any ? ", " : "not seen: ", a->warnings[i].id + 3);
		any = true;
	}
	isc_buffer_text(out, any ? "; " : "");
}

/* Of the warnings from this one on: with what to do, where something can be done. */
static void write_remedies(const isc_analysis *a, size_t from, isc_buffer *out)
{
	size_t remedies = 0;
	isc_units u;

	for (size_t i = from; i < a->warning_count; i++)
		remedies += a->warnings[i].remedy != NULL;
	if (remedies == a->warning_count - from)
		isc_buffer_text(out, ", with what to do");
	else if (remedies > 0)
		isc_buffer_format(out, ", with what to do about %s of them", isc_units_count(&u, remedies));
	isc_buffer_text(out, "\n");
}

static void write_warnings(const isc_analysis *a, isc_buffer *out)
{
	/* What is said of the start has the place of one. */
	size_t most = WARNINGS_MAX - isc_phase_words_is_long(a), shown = 0;

	for (size_t i = 0; i < a->warning_count && shown < most && a->warnings[i].grave; i++, shown++) {
		const isc_analysis_warning *w = &a->warnings[i];

		begin(out);
		isc_buffer_text(out, "warning: ");
		isc_text_terminal(out, w->text, strlen(w->text), 0);
		if (w->remedy != NULL) {
			isc_buffer_text(out, "; ");
			isc_text_terminal(out, w->remedy, strlen(w->remedy), 0);
		}
		isc_buffer_text(out, "\n");
	}
	if (a->warning_count == shown)
		return;
	begin(out);
	write_unseen(a, out);
	isc_words_plural(out, a->warning_count - shown, shown > 0 ? "more warning is" : "warning is",
			 shown > 0 ? "more warnings are" : "warnings are");
	isc_buffer_text(out, " in the report");
	write_remedies(a, shown, out);
}

isc_status isc_report_summary(const isc_analysis *a, const char *report, const char *trace, isc_buffer *out,
			      isc_error *err)
{
	write_program(a, out);
	isc_verdict_summary(a, PREFIX, out);
	write_start(a, out);
	isc_gpu_words_summary(a, PREFIX, out);
	write_time(a, out);
	if (a->samples.count >= ISC_SAMPLES_ENOUGH && a->samples.us > 0)
		write_hottest(a, out);
	else
		write_functions(a, out);
	isc_scope_words_summary(a, PREFIX, out);
	isc_memory_words_summary(a, PREFIX, out);
	write_events(a, out);
	write_warnings(a, out);
	if (report != NULL) {
		begin(out);
		isc_buffer_text(out, "report: ");
		isc_text_terminal(out, report, strlen(report), 0);
		isc_buffer_text(out, "\n");
	}
	if (trace != NULL) {
		begin(out);
		isc_buffer_text(out, "trace: ");
		isc_text_terminal(out, trace, strlen(trace), 0);
		isc_buffer_text(out, "\n");
	}
	return out->failed ? isc_fail(err, ISC_ERR_NOMEM, "no memory for the summary") : ISC_OK;
}
