/*
 * cmd_doctor.c - inferscope doctor: what can be recorded here, what cannot, why,
 * and the command that would change it.  Reads the remains of dead sessions into
 * their traces.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/path.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/selftest.h"
#include "session/probe.h"
#include "session/session.h"

/* Paths in here are data. */
static void print_line(const char *state, const char *name, const char *what)
{
	isc_buffer text = {0};

	isc_text_terminal(&text, what, strlen(what), 0);
	printf("%-8s %-17s %s\n", state, name, text.data ? text.data : "");
	isc_buffer_fini(&text);
}

static void print_result(const isc_probe *probe, const isc_probe_result *result)
{
	static const char *const states[] = {"ok", "limited", "missing"};

	print_line(states[result->state], probe->name, result->what);
	if (result->fix[0])
		print_line("", "", result->fix);
}

static void print_session(void *self, const char *folder, const char *trace, isc_status status)
{
	unsigned *seen = self;
	char what[2400];

	++*seen;
	if (status == ISC_OK && trace[0])
		snprintf(what, sizeof(what), "what a killed recorder left is now in %s", trace);
	else if (status == ISC_OK)
		snprintf(what, sizeof(what), "removed %s: it held nothing", folder);
	else if (status == ISC_ERR_EXISTS)
		snprintf(what, sizeof(what), "%s lost its recorder, its program still runs", folder);
	else
		snprintf(what, sizeof(what), "cannot clear %s: %s", folder, isc_status_text(status));
	print_line(status == ISC_OK ? "ok" : "limited", "dead session", what);
	if (status == ISC_ERR_EXISTS)
		print_line("", "", "when the program has ended: inferscope doctor");
}

static bool look_at_everything(const isc_settings *settings)
{
	isc_probe_context context = {settings, isc_cli_called_as, environ};
	char trace[PATH_MAX];
	bool possible = true;
	unsigned sessions = 0;

	for (size_t i = 0; i < isc_probes_count; i++) {
		isc_probe_result result = {0};

		isc_probes[i].look(&context, &result);
		print_result(&isc_probes[i], &result);
		possible = possible && !(isc_probes[i].needed && result.state == ISC_PROBE_MISSING);
	}
	/* Sessions that found no room in memory lie beside their trace. */
	if (isc_path_absolute(settings->trace, trace, sizeof(trace), NULL) == ISC_OK)
		isc_session_salvage(trace, print_session, &sessions);
	if (sessions == 0)
		print_line("ok", "dead session", "none");
	return possible;
}

typedef struct asked {
	isc_settings settings;
	bool selftest;
} asked;

static isc_status take_option(void *self, const isc_option *option, const char *value, isc_error *err)
{
	asked *a = self;
	isc_origin origin = {ISC_ORIGIN_OPTION, 0, false};

	if (value != NULL)
		return isc_settings_set(&a->settings, isc_settings_find(option->name), value, origin, err);
	a->selftest = true;
	return ISC_OK;
}

int cmd_doctor(int argc, char **argv)
{
	static const isc_option table[] = {
		{"python", "PATH", "the interpreter to look at", 0, false},
		{"gpu-selftest", NULL, "run kernels and copies on every CUDA device: is each one recorded?", 0, false},
	};
	const isc_options options = {
		.command = "doctor",
		.arguments = "",
		.about = "Say what can be recorded here, what cannot, why, and the command that would change it.",
		.table = table,
		.count = sizeof(table) / sizeof(table[0]),
		.option = take_option,
	};
	asked asked_for = {.selftest = false};
	isc_settings *settings = &asked_for.settings;
	isc_error err;
	bool helped, possible = false;
	int code = ISC_EXIT_OK;

	if (argc == 2 && strcmp(argv[1], ISC_SELFTEST_WORK) == 0)
		return isc_selftest_work();
	if (isc_settings_init(settings, &err) != ISC_OK)
		return isc_cli_fail(&err, ISC_EXIT_FAILED);
	if (isc_options_parse(&options, argc, argv, &asked_for, &helped, &err) != ISC_OK) {
		code = isc_cli_fail(&err, ISC_EXIT_USAGE);
		helped = true;
	}
	if (!helped && asked_for.selftest) {
		code = isc_selftest_run();
	} else if (!helped) {
		isc_status st = isc_settings_load(settings, NULL, environ, &err);

		for (size_t i = 0; i < settings->notes.count; i++)
			isc_log_write(&isc_cli_log, ISC_LOG_WARN, "%s", settings->notes.item[i]);
		/* A wrong file stops `run`, but not the doctor. */
		print_line(st == ISC_OK ? "ok" : "missing", "settings",
			   st == ISC_OK ? "inferscope config show" : err.what);
		if (st != ISC_OK && err.hint[0])
			print_line("", "", err.hint);
		possible = look_at_everything(settings) && st == ISC_OK;
		code = possible ? ISC_EXIT_OK : ISC_EXIT_FAILED;
	}
	isc_settings_fini(settings);
	return code;
}
