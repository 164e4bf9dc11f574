/*
 * cmd_diff.c - inferscope diff: what got slower between two traces, or two sets of them.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/output.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/ending.h"
#include "cli/options.h"
#include "cli/run_sets.h"
#include "report/diff/diff.h"
#include "report/report.h"

#define GATES_MAX 64u

struct diff_arguments {
	isc_run_files base, fresh;
	size_t plain; /* arguments without an option: the first is the base, the second is new */
	isc_diff_gate gates[GATES_MAX];
	size_t gate_count;
	const char *output; /* NULL: stdout */
	const char *format;
	isc_analysis_options options;
	bool any_machine, force, quiet, metrics;
};

static isc_status take_trace(isc_run_files *set, const char *value, isc_error *err)
{
	if (set->given_count == ISC_RUN_SET_MAX) {
		isc_fail(err, ISC_ERR_INVALID, "diff: more than %u traces on one side", ISC_RUN_SET_MAX);
		isc_hint(err, "put them into a folder, and give that");
		return ISC_ERR_INVALID;
	}
	set->given[set->given_count++] = value;
	return ISC_OK;
}

static isc_status take_gate(struct diff_arguments *args, const char *value, isc_error *err)
{
	if (args->gate_count == GATES_MAX) {
		isc_fail(err, ISC_ERR_INVALID, "diff: more than %u gates", GATES_MAX);
		isc_hint(err, "compare twice");
		return ISC_ERR_INVALID;
	}
	return isc_condition_parse(value, &args->gates[args->gate_count++].gate, err);
}

static isc_status take_option(void *self, const isc_option *option, const char *value, isc_error *err)
{
	struct diff_arguments *args = self;

	if (strcmp(option->name, "base") == 0)
		return take_trace(&args->base, value, err);
	if (strcmp(option->name, "new") == 0)
		return take_trace(&args->fresh, value, err);
	if (strcmp(option->name, "fail-if") == 0)
		return take_gate(args, value, err);
	if (strcmp(option->name, "output") == 0)
		args->output = value;
	else if (strcmp(option->name, "format") == 0)
		args->format = value;
	else if (strcmp(option->name, "scope") == 0)
		args->options.scope = value;
	else if (strcmp(option->name, "any-machine") == 0)
		args->any_machine = true;
	else if (strcmp(option->name, "force") == 0)
		args->force = true;
	else if (strcmp(option->name, "metrics") == 0)
		args->metrics = true;
	else
		args->quiet = true;
	return ISC_OK;
}

static isc_status take_argument(void *self, const char *value, isc_error *err)
{
	struct diff_arguments *args = self;

	if (args->plain == 2) {
		isc_fail(err, ISC_ERR_INVALID, "diff: two traces are compared, and %.80s is the third", value);
		isc_hint(err, "give more runs of a side by --base and --new, or as folders");
		return ISC_ERR_INVALID;
	}
	return take_trace(args->plain++ == 0 ? &args->base : &args->fresh, value, err);
}

static void print_metrics(void)
{
	static const char *const units[] = {"microseconds", "percent", ""};
	isc_figure m;

	for (size_t i = 0; isc_figure_at(i, &m); i++) {
		const char *of = isc_subject_name(m.subject);
		char name[64];

		snprintf(name, sizeof(name), "%s%s%s%s", m.name, of != NULL ? "(" : "", of != NULL ? of : "",
			 of != NULL ? ")" : "");
		printf(units[m.unit][0] != 0 ? "%-28s %s\n" : "%s\n", name, units[m.unit]);
	}
}

/* ISC_ERR_INVALID: nothing of that name is in any of the traces, so it is misspelt. */
static isc_status judge(struct diff_arguments *args, const isc_run_set *base, const isc_run_set *fresh, isc_error *err)
{
	for (size_t i = 0; i < args->gate_count; i++) {
		isc_diff_gate *g = &args->gates[i];
		isc_text subject = {g->gate.subject, strlen(g->gate.subject)};

		g->change = isc_compare_figure(base, fresh, &g->gate.metric, &subject);
		g->result = isc_condition_judge(&g->gate, g->change.base, g->change.fresh, g->change.noise);
		if (isnan(g->change.base) && isnan(g->change.fresh) && subject.len > 0) {
			isc_fail(err, ISC_ERR_INVALID, "--fail-if: no trace has a %s named \"%.80s\", or it has no %s",
				 isc_subject_name(g->gate.metric.subject), g->gate.subject, g->gate.metric.name);
			isc_hint(err, "inferscope analyze TRACE lists what there is");
			return ISC_ERR_INVALID;
		}
	}
	return ISC_OK;
}

static isc_status put_out(const isc_diff *d, isc_output *file, int format, isc_error *err)
{
	isc_buffer text = {0};
	isc_status st = isc_diff_write(d, format, &text, err);

	if (st == ISC_OK && file != NULL) {
		st = isc_output_write(file, text.data, text.len, err);
		if (st == ISC_OK)
			st = isc_output_commit(file, err);
	} else if (st == ISC_OK && (fwrite(text.data, 1, text.len, stdout) != text.len || fflush(stdout) != 0)) {
		st = isc_fail_errno(err, "cannot print the comparison");
	}
	isc_buffer_fini(&text);
	return st;
}

static void tell(const struct diff_arguments *args, const isc_diff *d)
{
	isc_buffer line = {0}, safe = {0};

	if (args->quiet)
		return;
	isc_diff_headline(d, &line);
	isc_text_terminal(&safe, line.data, line.len, 0);
	if (!safe.failed)
		isc_log_write(&isc_cli_log, ISC_LOG_INFO, "%s", safe.data);
	for (size_t i = 0; i < args->gate_count; i++)
		isc_log_write(&isc_cli_log, ISC_LOG_INFO, "gate %s: %.200s",
			      isc_diff_result_name(args->gates[i].result), args->gates[i].gate.text);
	isc_buffer_fini(&line);
	isc_buffer_fini(&safe);
}

static int outcome(const struct diff_arguments *args)
{
	bool fires = false, open = false;

	for (size_t i = 0; i < args->gate_count; i++) {
		fires |= args->gates[i].result == ISC_CONDITION_FIRES;
		open |= args->gates[i].result == ISC_CONDITION_UNDECIDED;
	}
	if (args->base.damaged || args->fresh.damaged)
		return ISC_EXIT_INPUT;
	return fires ? ISC_EXIT_GATE : open ? ISC_EXIT_INCONCLUSIVE : ISC_EXIT_OK;
}

static int compare(struct diff_arguments *args, isc_output *file, int format)
{
	isc_run_set base = {args->base.runs, args->base.count}, fresh = {args->fresh.runs, args->fresh.count};
	isc_diff d = {.gates = args->gates, .gate_count = args->gate_count};
	isc_error err = {0}, machines = {0};
	isc_arena *arena;
	isc_status st;

	if (isc_compare_machines(&base, &fresh, &machines) != ISC_OK) {
		if (!args->any_machine)
			return isc_cli_fail(&machines, ISC_EXIT_USAGE);
		d.machines = machines.what;
	}
	st = judge(args, &base, &fresh, &err);
	if (st != ISC_OK)
		return isc_cli_fail(&err, ISC_EXIT_USAGE);
	arena = isc_arena_new();
	st = arena == NULL ? isc_fail(&err, ISC_ERR_NOMEM, "no memory to compare the traces")
			   : isc_compare(&base, &fresh, arena, &d.comparison, &err);
	if (st == ISC_OK)
		st = put_out(&d, file, format, &err);
	if (st == ISC_OK)
		tell(args, &d);
	isc_arena_free(arena);
	return st == ISC_OK ? outcome(args) : isc_cli_fail(&err, ISC_EXIT_FAILED);
}

static int diff(struct diff_arguments *args)
{
	int format = ISC_REPORT_MARKDOWN, code;
	isc_output *file = NULL;
	bool unreadable = false, to_file = args->output != NULL && strcmp(args->output, "-") != 0;
	isc_error err = {0};
	isc_status st = ISC_OK;

	isc_ending_tidies_up();
	if (to_file || args->format != NULL)
		st = isc_report_choose(to_file ? args->output : "-", args->format, &format, &err);
	if (st == ISC_OK && to_file)
		st = isc_output_open(args->output, args->force, isc_report_is_ours, &file, &err);
	if (st != ISC_OK)
		return isc_cli_fail(&err, st == ISC_ERR_INVALID ? ISC_EXIT_USAGE : ISC_EXIT_FAILED);
	st = isc_run_files_read(&args->base, &args->options, &unreadable, &err);
	if (st == ISC_OK)
		st = isc_run_files_read(&args->fresh, &args->options, &unreadable, &err);
	code = st == ISC_OK ? compare(args, file, format)
			    : isc_cli_fail(&err, unreadable		 ? ISC_EXIT_INPUT
						 : st == ISC_ERR_INVALID ? ISC_EXIT_USAGE
									 : ISC_EXIT_FAILED);
	isc_run_files_fini(&args->base);
	isc_run_files_fini(&args->fresh);
	isc_output_close(file);
	return code;
}

int cmd_diff(int argc, char **argv)
{
	static const isc_option table[] = {
		{"base", "PATH", "one more trace, or folder of traces, of the old side; may be given again", 0, false},
		{"new", "PATH", "the same of the new side", 0, false},
		{"fail-if", "EXPR", "exit with 1 if this holds: p99_us(request) > +5%; may be given again", 0, false},
		{"metrics", NULL, "list what --fail-if can watch", 0, false},
		{"scope", "NAME", "look only inside this scope", 0, false},
		{"output", "PATH", "where it goes (default: to stdout)", 0, false},
		{"format", "FORMAT", "markdown, html or json (default: by the ending of PATH, else markdown)", 0,
		 false},
		{"any-machine", NULL, "compare traces of different machines too", 0, false},
		{"force", NULL, "replace a file that is not a report of ours", 0, false},
		{"quiet", NULL, "print no summary", 0, false},
	};
	const isc_options options = {
		.command = "diff",
		.arguments = "BASE NEW",
		.about = "Say what got slower between two traces, where and why. BASE and NEW are a "
			 "trace or a folder of traces each; with several runs noise is measured. Exit "
			 "code 1: a gate failed; 5: noise is too large to tell."
			 "\v  inferscope diff main.isc branch.isc\n"
			 "  inferscope diff runs/main runs/branch --fail-if 'p99_us(request) > +5%'\n",
		.table = table,
		.count = sizeof(table) / sizeof(table[0]),
		.option = take_option,
		.argument = take_argument};
	static struct diff_arguments args;
	bool helped = false;
	isc_error err;

	if (isc_options_parse(&options, argc, argv, &args, &helped, &err) != ISC_OK)
		return isc_cli_fail(&err, ISC_EXIT_USAGE);
	if (helped)
		return ISC_EXIT_OK;
	if (args.metrics) {
		print_metrics();
		return ISC_EXIT_OK;
	}
	if (args.base.given_count == 0 || args.fresh.given_count == 0) {
		isc_fail(&err, ISC_ERR_INVALID, "diff: the %s trace is missing",
			 args.base.given_count == 0 ? "old" : "new");
		isc_hint(&err, "write inferscope diff BASE NEW");
		return isc_cli_fail(&err, ISC_EXIT_USAGE);
	}
	return diff(&args);
}
