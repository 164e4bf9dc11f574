#include "report/text/words.h"

#include <math.h>
#include <string.h>

#include "base/units.h"

#define JUDGED_LESS 0.995 /* of its own time: a column that repeats another says nothing */

/* A program that mostly waits pays little of its wall time, and much of its CPU time. */
#define COSTS_APART_POINTS 1

static bool needs_quotes(const isc_text *arg)
{
	for (size_t i = 0; i < arg->len; i++) {
		if (strchr(" \t\n\"'`$;&|<>()*?#~", arg->at[i]) != NULL)
			return true;
	}
	return arg->len == 0;
}

static void add_quoted(isc_buffer *out, const isc_text *arg)
{
	isc_buffer_text(out, "'");
	for (size_t i = 0; i < arg->len; i++) {
		if (arg->at[i] == '\'')
			isc_buffer_text(out, "'\\''");
		else
			isc_buffer_add(out, &arg->at[i], 1);
	}
	isc_buffer_text(out, "'");
}

void isc_words_command(isc_buffer *out, const isc_text *argv, size_t argc, bool cut)
{
	for (size_t i = 0; i < argc; i++) {
		isc_buffer_text(out, i > 0 ? " " : "");
		if (needs_quotes(&argv[i]))
			add_quoted(out, &argv[i]);
		else
			isc_buffer_add(out, argv[i].at, argv[i].len);
	}
	if (argc == 0)
		isc_buffer_text(out, "?");
	if (cut)
		isc_buffer_text(out, " ...");
}

void isc_words_end(isc_buffer *out, bool known, int exit_code, int signal)
{
	isc_units u;

	if (!known)
		isc_buffer_text(out, "was not seen to end");
	else if (signal != 0)
		isc_buffer_format(out, "was ended by %s", isc_units_signal(&u, signal));
	else
		isc_buffer_format(out, "exited with %d", exit_code);
}

void isc_words_plural(isc_buffer *out, uint64_t n, const char *one, const char *many)
{
	isc_units u;

	isc_buffer_format(out, "%s %s", isc_units_count(&u, n), n == 1 ? one : many);
}

bool isc_words_costs_apart(const isc_analysis *a)
{
	return a->measured_pct >= 0 && a->measured_cpu_pct >= 0 &&
	       fabs(a->measured_cpu_pct - a->measured_pct) > COSTS_APART_POINTS;
}

const isc_analysis_thread *isc_words_busiest(const isc_analysis *a)
{
	/* They are sorted by it. */
	return a->thread_count > 0 && a->threads[0].on_cpu_us >= 0 ? &a->threads[0] : NULL;
}

const isc_analysis_scope *isc_words_slowest(const isc_analysis *a)
{
	const isc_analysis_scope *slowest = NULL;

	for (size_t i = 0; i < a->scope_count; i++) {
		const isc_analysis_scope *s = &a->scopes[i];
		bool again = s->count > 1, found_again = slowest != NULL && slowest->count > 1;

		if (s->max_us < 0 || (found_again && !again))
			continue;
		if (slowest == NULL || (again && !found_again) || s->max_us > slowest->max_us)
			slowest = s;
	}
	return slowest;
}

bool isc_words_has_judged(const isc_analysis *a)
{
	for (size_t i = 0; i < a->function_count; i++) {
		const isc_analysis_function *f = &a->functions[i];

		if (f->judged.known && f->judged.us < f->self_us * JUDGED_LESS)
			return true;
	}
	return false;
}
