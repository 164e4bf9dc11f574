/*
 * markdown.c - the report for a pull request.  One headline, then tables from
 * the whole to the parts, and at the end what to doubt.  Long lists are cut, and
 * say so: the JSON report has everything.
 */
#include "report/markdown/markdown.h"

#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "report/text/gpu_words.h"
#include "report/markdown/grid.h"
#include "report/markdown/hot_spots.h"
#include "report/text/memory_words.h"
#include "report/minor.h"
#include "report/text/over_time_words.h"
#include "report/text/phase_words.h"
#include "report/text/scope_words.h"
#include "report/text/syscall_words.h"
#include "report/text/unit_words.h"
#include "report/text/usage_words.h"
#include "report/text/verdict_words.h"
#include "report/text/words.h"

#define COMMAND_MAX 200u  /* characters of a command line */
#define NAME_MAX_LEN 100u /* of a name in a table */
#define ROWS_MAX 25u	  /* of a table */
#define TOP_MAX 3u	  /* functions that the headline names */
#define SHARE_SHOWN 0.05  /* percent: below, it would be shown as nothing */

static void add_name(isc_buffer *out, const isc_text *name)
{
	isc_text_markdown(out, name->at, name->len, NAME_MAX_LEN);
}

static void add_command(isc_buffer *out, const isc_text *argv, size_t argc, bool cut)
{
	isc_buffer raw = {0};

	isc_words_command(&raw, argv, argc, cut);
	if (raw.failed)
		out->failed = true;
	else
		isc_text_markdown(out, raw.data, raw.len, COMMAND_MAX);
	isc_buffer_fini(&raw);
}

/* The same, where some are left out for being minor. */
static void end_folded(isc_grid *t, isc_buffer *out, size_t shown, size_t minor, size_t all)
{
	isc_units u, v;

	isc_grid_close(t, out);
	if (minor == 0)
		isc_grid_more(out, shown, all);
	else if (all > shown + minor)
		isc_buffer_format(out,
				  "\n... and %s more, in the JSON report, and %s short ones that were not traced.\n",
				  isc_units_count(&u, all - shown - minor), isc_units_count(&v, minor));
	else
		isc_buffer_format(out, "\n... and %s short ones that were not traced, in the JSON report.\n",
				  isc_units_count(&v, minor));
}

static size_t rows(size_t count)
{
	return count < ROWS_MAX ? count : ROWS_MAX;
}

/* ---- what ran ---- */

static void write_top(const isc_analysis *a, isc_buffer *out)
{
	const isc_analysis_function *top[TOP_MAX];
	size_t n = isc_words_top(a, top, TOP_MAX);
	bool estimated = false;
	isc_units u;

	for (size_t i = 0; i < n; i++) {
		isc_buffer_text(out, i == 0 ? "Most time was spent in " : i + 1 < n ? ", " : " and ");
		isc_words_escaped(out, top[i], isc_words_function, isc_text_markdown, NAME_MAX_LEN);
		isc_buffer_format(out, i == 0 ? " (**%s** of its own)" : " (%s)", isc_units_time(&u, top[i]->self_us));
		estimated |= top[i]->estimated;
	}
	isc_buffer_text(out, n == 0 ? "" : estimated ? ", as estimated.\n" : ".\n");
}

static void write_hottest(const isc_analysis *a, isc_buffer *out)
{
	const isc_analysis_function *top[TOP_MAX];
	size_t n = isc_words_hottest(a, top, TOP_MAX);
	isc_units u, v;

	for (size_t i = 0; i < n; i++) {
		isc_buffer_text(out, i == 0 ? "CPU time went to " : i + 1 < n ? ", " : " and ");
		isc_words_escaped(out, top[i], isc_words_function, isc_text_markdown, NAME_MAX_LEN);
		isc_buffer_format(out, i == 0 ? " (**%s**)" : " (%s)",
				  isc_units_percent(&u, top[i]->cpu_self_us / a->samples.us * 100));
	}
	if (n > 0)
		isc_buffer_format(out, ", of %s by %s samples.\n", isc_units_time(&u, a->samples.us),
				  isc_units_count(&v, a->samples.count));
}

/* An imported trace: its file's name is anybody's too. */
static void add_input(const isc_analysis *a, isc_buffer *out)
{
	isc_buffer raw = {0};

	isc_gpu_words_input(a, &raw);
	out->failed |= raw.failed;
	isc_text_markdown(out, raw.data, raw.len, COMMAND_MAX);
	isc_buffer_fini(&raw);
}

static void write_headline(const isc_analysis *a, isc_buffer *out)
{
	const isc_analysis_thread *busiest = isc_words_busiest(a);
	const isc_analysis_scope *slowest = isc_words_slowest(a);
	isc_units u, v, w, x;

	isc_buffer_text(out, ISC_MARKDOWN_MARK "1 -->\n# ");
	if (a->import != NULL) {
		add_input(a, out);
	} else {
		add_command(out, a->argv, a->argc, false);
		isc_buffer_format(out, " took %s and ", isc_units_time(&u, a->wall_us));
		isc_words_end(out, a->exit_known, a->exit_code, a->signal);
	}
	isc_buffer_text(out, "\n\n");
	isc_verdict_markdown(a, out);
	if (busiest != NULL && busiest->wall_us > 0) {
		double all = busiest->wall_us / 100;

		isc_buffer_text(out, "The busiest thread, ");
		add_name(out, &busiest->name);
		isc_buffer_format(
			out,
			" (%u), was on a CPU for **%s** of its %s, ready but not running for %s and waiting for %s.\n",
			busiest->tid, isc_units_percent(&u, busiest->on_cpu_us / all),
			isc_units_time(&v, busiest->wall_us), isc_units_percent(&w, busiest->run_queue_us / all),
			isc_units_percent(&x, busiest->waiting_us / all));
	}
	if (a->samples.count >= ISC_SAMPLES_ENOUGH && a->samples.us > 0)
		write_hottest(a, out);
	else
		write_top(a, out);
	if (slowest != NULL) {
		isc_buffer_text(out, "The slowest scope, ");
		add_name(out, &slowest->name);
		if (slowest->count > 1)
			isc_buffer_format(out, ", took %s at its median, %s at p90, %s at p99 and",
					  isc_units_time(&u, slowest->p50_us), isc_units_time(&v, slowest->p90_us),
					  isc_units_time(&w, slowest->p99_us));
		isc_buffer_format(out, slowest->count > 1 ? " **%s** at its worst, of " : ", took **%s**.\n",
				  isc_units_time(&x, slowest->max_us));
		if (slowest->count > 1)
			isc_buffer_format(out, "%s times.\n", isc_units_count(&u, slowest->count));
	}
}

/* What the process that is judged did when, and why it took long to start. */
static void add_phases(const isc_analysis *a, isc_grid *t)
{
	isc_buffer words = {0};

	isc_phase_words_phases(a, &words);
	if (words.len > 0) {
		isc_grid_cell(t, "phases");
		isc_grid_cell(t, words.data);
	}
	if (isc_phase_words_is_long(a)) {
		isc_buffer_clear(&words);
		isc_phase_words_startup(&a->startup, &words);
		isc_grid_cell(t, "start-up");
		isc_text_prose(&t->text, words.data, words.len);
		isc_grid_end(t);
	}
	t->text.failed |= words.failed;
	isc_buffer_fini(&words);
}

static void write_facts(const isc_analysis *a, isc_buffer *out)
{
	static const char *const titles[] = {"session", "", NULL};
	isc_units u, v;
	isc_grid t;

	isc_grid_init(&t, titles);
	isc_grid_cell(&t, "looked at");
	isc_buffer_format(&t.text, "%s, %s to %s", a->why, isc_units_time(&u, a->from_us),
			  isc_units_time(&v, a->to_us));
	isc_grid_end(&t);
	if (a->window.judged_us > 0 && a->window.why != NULL) {
		isc_grid_cell(&t, "judged");
		isc_text_markdown(&t.text, a->window.why, strlen(a->window.why), NAME_MAX_LEN);
		isc_buffer_format(&t.text, ", %s", isc_units_time(&u, a->window.judged_us));
		if (a->window.start_up_us > 0)
			isc_buffer_format(&t.text, ", after %s of start-up", isc_units_time(&u, a->window.start_up_us));
		if (a->window.warm_ups > 0)
			isc_buffer_format(&t.text, ", without the first %s (%s) as warm-up",
					  isc_units_count(&u, a->window.warm_ups),
					  isc_units_time(&v, a->window.warm_up_us));
		isc_grid_end(&t);
	}
	add_phases(a, &t);
	if (a->host.len > 0) {
		isc_grid_cell(&t, "host");
		isc_grid_name(&t, a->host, NAME_MAX_LEN);
	}
	if (a->python.len > 0) {
		isc_grid_cell(&t, "Python");
		add_name(&t.text, &a->python);
		if (a->python_path.len > 0) {
			isc_buffer_text(&t.text, ", ");
			add_name(&t.text, &a->python_path);
		}
		isc_grid_end(&t);
	}
	for (size_t i = 0; i < rows(a->labels); i++) {
		isc_buffer_text(&t.text, "label ");
		isc_grid_name(&t, a->label_keys[i], NAME_MAX_LEN);
		isc_grid_name(&t, a->label_values[i], NAME_MAX_LEN);
	}
	isc_buffer_text(out, "\n");
	isc_grid_close(&t, out);
	isc_grid_more(out, rows(a->labels), a->labels);
}

static void write_processes(const isc_analysis *a, isc_buffer *out)
{
	static const char *const titles[] = {">process", ">parent", "command", ">wall",
					     "end",	 "traced",  ">events", NULL};
	size_t shown = 0, minor = 0;
	isc_grid t;

	isc_grid_init(&t, titles);
	isc_buffer_text(out, "\n## Processes\n\n");
	for (size_t i = 0; i < a->process_count; i++) {
		const isc_analysis_process *p = &a->processes[i];
		bool small = isc_minor_process(a, p);

		minor += small;
		if (small || shown == ROWS_MAX)
			continue;
		shown++;
		isc_grid_id(&t, p->pid);
		isc_buffer_format(&t.text, p->ppid != 0 ? "%u" : "?", p->ppid);
		isc_grid_end(&t);
		add_command(&t.text, p->argv, p->argc, p->argv_cut);
		isc_grid_end(&t);
		isc_grid_time(&t, p->wall_us);
		if (!p->wall_known)
			isc_buffer_text(&t.text, "still running");
		else if (p->exit_known)
			isc_words_end(&t.text, true, p->exit_code, p->signal);
		else
			isc_buffer_text(&t.text, "ended");
		isc_grid_end(&t);
		isc_grid_cell(&t, p->traced ? "yes" : p->failed ? "failed" : "no");
		isc_grid_count(&t, p->events);
	}
	end_folded(&t, out, shown, minor, a->process_count);
}

/* ---- where the time went ---- */

static void write_breakdown(const isc_analysis *a, isc_buffer *out)
{
	static const char *const titles[] = {"state", ">share", "seen by", NULL};
	const isc_analysis_breakdown *w = &a->breakdown;
	isc_grid t;

	if (!w->known)
		return;
	isc_grid_init(&t, titles);
	isc_buffer_text(out, "\n## Where the time went\n\n");
	isc_buffer_format(out, "Of thread %u", w->tid);
	if (w->name.len > 0) {
		isc_buffer_text(out, ", ");
		add_name(out, &w->name);
	}
	isc_buffer_text(out, ". It is always in one of these; what has no line was not seen to happen.\n\n");
	for (int s = 0; s < ISC_STATES; s++) {
		const char *source = isc_source_name((enum isc_source)w->source[s]);

		if (source == NULL || w->pct[s] < SHARE_SHOWN)
			continue;
		isc_grid_cell(&t, isc_state_name((enum isc_state)s));
		isc_grid_share(&t, w->pct[s], 100);
		isc_buffer_text(&t.text, source);
		if (s == ISC_STATE_UNATTRIBUTED)
			isc_buffer_format(&t.text, ", %s",
					  isc_unattributed_name((enum isc_unattributed)w->unattributed));
		isc_grid_end(&t);
	}
	isc_grid_close(&t, out);
}

/* The state that a thread was in for most of its time. */
static void add_main_state(isc_grid *t, const isc_analysis_thread *th)
{
	isc_units u;
	int most = ISC_STATE_OTHER;

	for (int s = 0; s < ISC_STATES; s++) {
		if (th->state_us[s] > th->state_us[most])
			most = s;
	}
	if (th->wall_us > 0 && th->state_us[most] > 0)
		isc_buffer_format(&t->text, "%s %s", isc_state_name((enum isc_state)most),
				  isc_units_percent(&u, th->state_us[most] / th->wall_us * 100));
	isc_grid_end(t);
}

static void write_threads(const isc_analysis *a, isc_buffer *out)
{
	static const char *const titles[] = {">process",  ">thread",	"name",	    ">wall",  ">on CPU",
					     ">share",	  ">run queue", ">waiting", "mostly", ">unwatched",
					     ">switches", ">events",	NULL};
	size_t shown = 0, minor = 0;
	isc_grid t;

	isc_grid_init(&t, titles);
	isc_buffer_text(out, "\n## Threads\n\n"
			     "Run queue is the time in which a thread was ready and had no CPU; waiting is asleep or "
			     "blocked.\n\n");
	for (size_t i = 0; i < a->thread_count; i++) {
		const isc_analysis_thread *th = &a->threads[i];
		bool small = isc_minor_thread(a, th);

		minor += small;
		if (small || shown == ROWS_MAX)
			continue;
		shown++;
		isc_grid_id(&t, th->pid);
		isc_grid_id(&t, th->tid);
		isc_grid_name(&t, th->name, NAME_MAX_LEN);
		isc_grid_time(&t, th->wall_us);
		isc_grid_time(&t, th->on_cpu_us);
		isc_grid_share(&t, th->on_cpu_us, th->wall_us);
		isc_grid_time(&t, th->run_queue_us);
		isc_grid_time(&t, th->waiting_us);
		add_main_state(&t, th);
		isc_grid_time(&t, th->unwatched_us);
		isc_grid_count(&t, th->switches);
		isc_grid_count(&t, th->events);
	}
	end_folded(&t, out, shown, minor, a->thread_count);
}

/* What the figures of the shown functions have in common, and what only some have. */
struct notes {
	size_t estimated, sampled, waits;
	bool all_estimated, all_sampled, any;
};

static struct notes notes_of(const isc_analysis *a)
{
	size_t n = rows(a->function_count);
	struct notes notes = {0};

	for (size_t i = 0; i < n; i++) {
		const isc_analysis_function *f = &a->functions[i];

		notes.estimated += f->estimated && !f->by_samples;
		notes.sampled += f->by_samples;
		notes.waits += isc_words_waits(f);
	}
	notes.all_estimated = notes.estimated == n;
	notes.all_sampled = notes.sampled == n;
	notes.any = notes.waits > 0 || (notes.estimated > 0 && !notes.all_estimated) ||
		    (notes.sampled > 0 && !notes.all_sampled);
	return notes;
}

static void add_note(isc_grid *t, const isc_analysis_function *f, const struct notes *notes)
{
	const char *what = f->by_samples ? "sampled" : f->estimated ? "estimated" : "";
	bool waits = isc_words_waits(f);

	if (notes->all_estimated || notes->all_sampled)
		what = "";
	isc_buffer_text(&t->text, waits ? "waits" : "");
	isc_buffer_text(&t->text, waits && what[0] != 0 ? ", " : "");
	isc_buffer_text(&t->text, what);
	isc_grid_end(t);
}

/* A count that is not exact says so itself. */
static void add_calls(isc_grid *t, const isc_analysis_function *f)
{

	isc_buffer_text(&t->text, f->governed ? "about " : "");
	isc_grid_count(t, f->calls);
}

static void write_function(const isc_analysis *a, const isc_analysis_function *f, isc_grid *t)
{
	isc_words_escaped(&t->text, f, isc_words_function, isc_text_markdown, NAME_MAX_LEN);
	isc_grid_end(t);
	if (isc_words_has_judged(a))
		isc_grid_time(t, f->judged.known ? f->judged.us : -1);
	isc_grid_time(t, f->self_us);
	isc_grid_share(t, f->self_us, a->to_us - a->from_us);
	isc_grid_time(t, f->total_us);
	if (a->samples.count > 0)
		isc_grid_time(t, f->cpu_self_us);
	if (f->traced)
		add_calls(t, f);
	else
		isc_grid_cell(t, "-");
	if (f->file.len > 0 || f->module.len > 0)
		isc_words_escaped(&t->text, f, isc_words_place, isc_text_markdown, NAME_MAX_LEN);
	isc_grid_end(t);
}

static void write_functions(const isc_analysis *a, isc_buffer *out)
{
	const char *titles[ISC_GRID_COLUMNS] = {"function"};
	size_t n = rows(a->function_count), column = 1;
	struct notes notes = notes_of(a);
	isc_grid t;

	if (n == 0)
		return;
	if (isc_words_has_judged(a))
		titles[column++] = ">judged";
	titles[column++] = ">self";
	titles[column++] = ">share";
	titles[column++] = ">total";
	if (a->samples.count > 0)
		titles[column++] = ">CPU";
	titles[column++] = ">calls";
	titles[column++] = "where";
	if (notes.any)
		titles[column++] = "note";
	isc_grid_init(&t, titles);
	isc_buffer_text(out,
			"\n## Functions\n\n"
			"Self is the time in a function itself, waiting included; total adds the functions that it "
			"called; share is self of the time looked at, all threads together.\n");
	if (isc_words_has_judged(a))
		isc_buffer_text(out, "Judged is self inside the judged time, which the table is sorted by.\n");
	if (a->samples.count > 0)
		isc_buffer_text(out, "CPU is the CPU time of a function itself by samples, with native code that "
				     "it called.\n");
	if (notes.sampled > 0)
		isc_buffer_format(out,
				  "%s self and total are CPU time by samples too, and calls that were not traced "
				  "are not known.\n",
				  notes.all_sampled ? "Here" : "Where the note says sampled,");
	if (notes.all_estimated)
		isc_buffer_text(out, "All figures are estimated: not every call was traced, to stay inside the "
				     "budget, or events were lost.\n");
	isc_buffer_text(out, "\n");
	for (size_t i = 0; i < n; i++) {
		write_function(a, &a->functions[i], &t);
		if (notes.any)
			add_note(&t, &a->functions[i], &notes);
	}
	isc_grid_close(&t, out);
	isc_grid_more(out, n, a->function_count);
}

static void write_marks(const isc_analysis *a, isc_buffer *out)
{
	static const char *const titles[] = {"mark", ">count", NULL};
	isc_grid t;

	if (a->mark_count == 0)
		return;
	isc_grid_init(&t, titles);
	isc_buffer_text(out, "\n## Marks\n\n");
	for (size_t i = 0; i < rows(a->mark_count); i++) {
		isc_grid_name(&t, a->marks[i].name, NAME_MAX_LEN);
		isc_grid_count(&t, a->marks[i].count);
	}
	isc_grid_close(&t, out);
	isc_grid_more(out, rows(a->mark_count), a->mark_count);
}

static void write_counters(const isc_analysis *a, isc_buffer *out)
{
	static const char *const titles[] = {"counter", ">samples", ">min", ">mean", ">max", ">last", NULL};
	isc_grid t;

	if (a->counter_count == 0)
		return;
	isc_grid_init(&t, titles);
	isc_buffer_text(out, "\n## Counters\n\n");
	for (size_t i = 0; i < rows(a->counter_count); i++) {
		const isc_analysis_counter *c = &a->counters[i];

		isc_grid_name(&t, c->name, NAME_MAX_LEN);
		isc_grid_count(&t, c->count);
		isc_grid_number(&t, c->min);
		isc_grid_number(&t, c->mean);
		isc_grid_number(&t, c->max);
		isc_grid_number(&t, c->last);
	}
	isc_grid_close(&t, out);
	isc_grid_more(out, rows(a->counter_count), a->counter_count);
}

/* ---- what it cost, what to doubt ---- */

static void write_overhead(const isc_analysis *a, isc_buffer *out)
{
	static const char *const titles[] = {">budget",		  ">of wall time",  ">of CPU time",
					     ">recorder CPU",	  ">events stored", ">lost",
					     ">dropped for size", "clock",	    NULL};
	isc_units u;
	isc_grid t;

	isc_grid_init(&t, titles);
	isc_buffer_text(out, "\n## What tracing cost\n\n");
	isc_grid_cell(&t, a->budget_known && a->budget_pct < 0 ? "off" : isc_units_percent(&u, a->budget_pct));
	isc_grid_percent(&t, a->measured_pct);
	isc_grid_percent(&t, a->measured_cpu_pct);
	isc_grid_percent(&t, a->recorder_cpu_pct);
	isc_grid_count(&t, a->events);
	if (a->lost_known) {
		isc_grid_count(&t, a->lost);
	} else {
		isc_buffer_text(&t.text, "not known");
		isc_grid_end(&t);
	}
	isc_grid_count(&t, a->retired);
	isc_grid_cell(&t, a->clock_source);
	isc_grid_close(&t, out);
	isc_over_time_markdown(a, out);
}

static void write_warnings(const isc_analysis *a, isc_buffer *out)
{
	isc_buffer_text(out, a->warning_count > 0 ? "\n## What to doubt\n\n" : "");
	for (size_t i = 0; i < a->warning_count; i++) {
		const isc_analysis_warning *w = &a->warnings[i];

		/* The id comes first: nothing that follows can then begin a list or a heading. */
		isc_buffer_format(out, w->grave ? "- **`%s`**: " : "- `%s`: ", w->id);
		isc_text_prose(out, w->text, strlen(w->text));
		isc_buffer_text(out, ".");
		if (w->remedy != NULL) {
			isc_buffer_text(out, " *What to do:* ");
			isc_text_prose(out, w->remedy, strlen(w->remedy));
			isc_buffer_text(out, ".");
		}
		isc_buffer_text(out, "\n");
	}
}

void isc_markdown_write(const isc_analysis *a, isc_buffer *out)
{
	write_headline(a, out);
	write_facts(a, out);
	isc_gpu_words_markdown(a, out);
	write_breakdown(a, out);
	isc_scope_words_markdown(a, out);
	isc_unit_markdown(a, out);
	isc_hot_spots_write(a, out);
	write_functions(a, out);
	isc_usage_markdown(a, out);
	isc_syscall_markdown(a, out);
	write_threads(a, out);
	write_processes(a, out);
	isc_memory_words_markdown(a, out);
	write_marks(a, out);
	write_counters(a, out);
	write_overhead(a, out);
	write_warnings(a, out);
}
