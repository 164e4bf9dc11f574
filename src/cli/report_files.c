#include "cli/report_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/imported.h"
#include "base/output.h"
#include "base/path.h"
#include "cli/commands.h"
#include "cli/progress.h"
#include "import/import.h"
#include "report/report.h"
#include "session/renamer.h"
#include "trace/reader.h"

/* Paths are not const where they may also be arguments of the command. */
static char markdown_path[] = "report.md", json_path[] = "report.json", html_path[] = "report.html";
static char *const default_paths[] = {
	[ISC_REPORT_MARKDOWN] = markdown_path, [ISC_REPORT_JSON] = json_path, [ISC_REPORT_HTML] = html_path};

static char *const *default_path(const char *name)
{
	int format = name != NULL ? isc_report_format_named(name) : ISC_REPORT_MARKDOWN;

	return &default_paths[format != ISC_REPORT_UNKNOWN ? format : ISC_REPORT_MARKDOWN];
}

char *isc_report_default_path(const char *format)
{
	return *default_path(format);
}

static bool names_report(const isc_settings *s)
{
	return s->origin[isc_settings_find("report")].kind != ISC_ORIGIN_DEFAULT;
}

isc_report_request isc_report_request_of(const isc_settings *s, const char *trace)
{
	return (isc_report_request){.trace = trace,
				    .paths = names_report(s) ? s->reports.item : default_path(s->format),
				    .count = s->report ? s->reports.count : 0,
				    .format = s->format,
				    .force = s->force,
				    .quiet = s->quiet,
				    .no_bar = s->progress == ISC_PROGRESS_NEVER,
				    .margin_us = s->sync_error_margin_us,
				    .shown = s->trace};
}

static bool is_stdout(const isc_report_request *r, size_t i)
{
	return strcmp(r->paths[i], "-") == 0;
}

/* On stdout there is no ending to go by: people read there. */
static isc_status choose(const isc_report_request *r, size_t i, int *format, isc_error *err)
{
	if (is_stdout(r, i) && r->format == NULL && r->stdout_ours) {
		*format = ISC_REPORT_MARKDOWN;
		return ISC_OK;
	}
	return isc_report_choose(r->paths[i], r->format, format, err);
}

static isc_status refuse_stdout(isc_error *err)
{
	isc_fail(err, ISC_ERR_INVALID, "cannot write the report to -: stdout belongs to the program");
	isc_hint(err, "give a path; inferscope analyze TRACE --output - prints the report afterwards");
	return ISC_ERR_INVALID;
}

static isc_status refuse_input(const isc_report_request *r, const char *path, isc_error *err)
{
	size_t n = r->inputs != NULL ? r->input_count : 1;

	for (size_t i = 0; i < n; i++) {
		const char *input = r->inputs != NULL ? r->inputs[i] : r->trace;

		if (!isc_path_same(path, input))
			continue;
		isc_fail(err, ISC_ERR_INVALID, "the report and the trace are both to be %.150s", input);
		isc_hint(err, "choose another path for one of them");
		return ISC_ERR_INVALID;
	}
	return ISC_OK;
}

isc_status isc_report_request_open(isc_report_request *r, isc_error *err)
{
	isc_status st = ISC_OK;
	int format;

	for (size_t i = 0; st == ISC_OK && i < r->count; i++) {
		st = is_stdout(r, i) && !r->stdout_ours ? refuse_stdout(err) : choose(r, i, &format, err);
		if (st == ISC_OK && is_stdout(r, i))
			continue;
		if (st == ISC_OK)
			st = refuse_input(r, r->paths[i], err);
		if (st == ISC_OK)
			st = isc_output_open(r->paths[i], r->force, isc_report_is_ours, &r->output[i], err);
	}
	if (st != ISC_OK)
		isc_report_request_close(r);
	return st;
}

void isc_report_request_close(isc_report_request *r)
{
	for (size_t i = 0; i < r->count; i++) {
		isc_output_close(r->output[i]);
		r->output[i] = NULL;
	}
}

static isc_status print(const isc_buffer *text, isc_error *err)
{
	isc_status st;

	if (fwrite(text->data, 1, text->len, stdout) == text->len && fflush(stdout) == 0)
		return ISC_OK;
	st = isc_fail_errno(err, "cannot print the report");
	isc_hint(err, "see where the output goes");
	return st;
}

static isc_status save(isc_report_request *r, const isc_analysis *a, size_t i, isc_error *err)
{
	isc_buffer text = {0};
	int format;
	isc_status st = choose(r, i, &format, err);

	if (st == ISC_OK)
		st = isc_report_write(a, format, &text, err);
	if (st == ISC_OK && is_stdout(r, i)) {
		st = print(&text, err);
		isc_buffer_fini(&text);
		return st;
	}
	if (st == ISC_OK)
		st = isc_output_write(r->output[i], text.data, text.len, err);
	if (st == ISC_OK)
		st = isc_output_commit(r->output[i], err);
	isc_buffer_fini(&text);
	return st;
}

/* One write for each line, as every line of ours. */
static isc_status print_summary(const isc_report_request *r, const isc_analysis *a, size_t written, isc_error *err)
{
	isc_buffer text = {0}, names = {0};
	isc_status st;

	for (size_t i = 0; i < written; i++) {
		if (is_stdout(r, i))
			continue;
		isc_buffer_text(&names, names.len > 0 ? ", " : "");
		isc_buffer_text(&names, r->paths[i]);
	}
	st = isc_report_summary(a, names.len > 0 ? names.data : NULL, r->shown, &text, err);
	for (size_t at = 0; st == ISC_OK && at < text.len;) {
		const char *end = memchr(text.data + at, '\n', text.len - at);
		size_t len = (size_t)(end - (text.data + at)) + 1;

		if (isc_cli_log.level <= ISC_LOG_INFO)
			isc_cli_log.sink(isc_cli_log.self, ISC_LOG_INFO, text.data + at, len);
		at += len;
	}
	isc_buffer_fini(&names);
	isc_buffer_fini(&text);
	return st;
}

/* The recorder holds a lock on its trace for as long as it writes it. */
static bool is_being_written(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool locked;

	if (fd < 0)
		return false;
	locked = flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
	close(fd);
	return locked;
}

static void step_bar(void *self, uint64_t done, uint64_t total)
{
	isc_bar_step(self, done, total);
}

/* A trace of another tool?  What cannot be told is left to the reader of ours, which says what is wrong. */
static bool is_foreign(const char *path)
{
	enum isc_import_format format = ISC_IMPORT_UNKNOWN;
	struct stat sb;

	/* What comes through a pipe can be read once only. */
	if (stat(path, &sb) == 0 && S_ISFIFO(sb.st_mode))
		return true;
	return isc_import_sniff(path, &format, NULL) == ISC_OK && format != ISC_IMPORT_UNKNOWN &&
	       format != ISC_IMPORT_ISC;
}

static bool is_format(const char *path, enum isc_import_format wanted)
{
	enum isc_import_format format = ISC_IMPORT_UNKNOWN;
	struct stat sb;

	return stat(path, &sb) == 0 && S_ISREG(sb.st_mode) && isc_import_sniff(path, &format, NULL) == ISC_OK &&
	       format == wanted;
}

bool isc_report_request_pair(char *const *inputs, size_t count)
{
	return inputs != NULL && count == 2 && is_format(inputs[0], ISC_IMPORT_ISC) &&
	       is_format(inputs[1], ISC_IMPORT_SQLITE);
}

/* Only a page has a timeline. */
static bool has_page(const isc_report_request *r)
{
	isc_error err;
	int format;

	for (size_t i = 0; i < r->count; i++) {
		if (choose(r, i, &format, &err) == ISC_OK && format == ISC_REPORT_HTML)
			return true;
	}
	return false;
}

static isc_status analyse_foreign(const isc_report_request *r, isc_bar *bar, isc_analysis **a, bool *opened,
				  isc_error *err)
{
	char *const alone[] = {(char *)(uintptr_t)r->trace};
	const isc_imported_options options = {.scope = r->options.scope,
					      .from_us = r->options.from_us,
					      .to_us = r->options.to_us,
					      .margin_us = r->margin_us,
					      .rules = r->options.rules,
					      .lanes = has_page(r),
					      .progress = step_bar,
					      .progress_self = bar};

	return isc_imported_new(r->inputs != NULL ? r->inputs : alone, r->inputs != NULL ? r->input_count : 1, &options,
				a, opened, err);
}

/* A folder that has nothing of this program is most likely the wrong one. */
static isc_status use_symbols(const isc_report_request *r, isc_trace *trace, isc_error *err)
{
	size_t modules;
	isc_status st = isc_renamer_run(trace, r->symbols, &modules, err);

	if (st == ISC_OK && modules == 0)
		isc_log_write(&isc_cli_log, ISC_LOG_WARN,
			      "%s has no file of this trace's programs and libraries, by their build ids", r->symbols);
	return st;
}

static isc_status analyse(const isc_report_request *r, isc_trace **trace, isc_analysis **a, bool *opened,
			  isc_error *err)
{
	isc_analysis_options options = r->options;
	isc_status st;
	isc_bar bar;

	isc_bar_start(&bar, STDERR_FILENO, !r->quiet && !r->no_bar, "reading trace");
	if (isc_report_request_pair(r->inputs, r->input_count))
		options.gpu_file = r->inputs[1];
	else if (r->inputs != NULL && (r->input_count > 1 || is_foreign(r->trace))) {
		st = analyse_foreign(r, &bar, a, opened, err);
		isc_bar_end(&bar);
		return st;
	}
	options.live = is_being_written(r->trace);
	options.lanes = has_page(r);
	options.margin_us = r->margin_us;
	options.progress = step_bar;
	options.progress_self = &bar;
	st = isc_trace_open(r->trace, trace, err);
	*opened = *trace != NULL;
	if (st == ISC_ERR_INVALID && r->inputs != NULL)
		isc_hint(err, "give a trace of inferscope run, torch.profiler or other Chrome JSON, event JSON, or "
			      "Nsight Systems' .sqlite");
	if (st == ISC_OK && r->symbols != NULL)
		st = use_symbols(r, *trace, err);
	if (st == ISC_OK)
		st = isc_analysis_new(*trace, &options, a, err);
	isc_bar_end(&bar);
	return st;
}

isc_status isc_report_request_write(isc_report_request *r, bool *damaged, bool *opened, isc_error *err)
{
	isc_trace *trace = NULL;
	isc_analysis *a = NULL;
	size_t written = 0;
	isc_error failed;
	isc_status st, first = ISC_OK;

	*damaged = *opened = false;
	st = analyse(r, &trace, &a, opened, err);
	if (st != ISC_OK)
		goto out;
	*damaged = a->damaged;
	for (size_t i = 0; i < r->count; i++) {
		st = save(r, a, i, &failed);
		if (st != ISC_OK && first == ISC_OK) {
			first = st;
			if (err != NULL)
				*err = failed;
		}
		if (first == ISC_OK)
			written++;
	}
	st = first;
	if (!r->quiet && st == ISC_OK)
		st = print_summary(r, a, written, err);
out:
	isc_analysis_free(a);
	isc_trace_close(trace);
	return st;
}
