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
#include "session/probe/probe.h"
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

static void describe(const isc_remains *r, char *out, size_t room)
{
	switch (r->state) {
	case ISC_REMAINS_SALVAGED:
		snprintf(out, room, "what a killed recorder left is now in %s", r->trace);
		break;
	case ISC_REMAINS_EMPTY:
		snprintf(out, room, "removed %s: it held nothing", r->folder);
		break;
	case ISC_REMAINS_HOMELESS:
		snprintf(out, room, "removed %s: its trace %s is gone", r->folder, r->trace);
		break;
	case ISC_REMAINS_RUNNING:
		snprintf(out, room, "%s lost its recorder, its program still runs", r->folder);
		break;
	case ISC_REMAINS_ELSEWHERE:
		snprintf(out, room, "%s has the rest of %s: run inferscope doctor in the folder of that trace",
			 r->folder, r->trace);
		break;
	case ISC_REMAINS_FOREIGN:
		snprintf(out, room, "left %s alone: %s; move or remove it yourself", r->folder, r->why);
		break;
	case ISC_REMAINS_FAILED:
		if (r->status == ISC_ERR_VERSION)
			snprintf(
				out, room,
				"left %s alone: another version of InferScope made it; run the doctor of that version, "
				"or remove it",
				r->folder);
		else if (r->trace[0] != 0)
			snprintf(out, room, "cannot append the rest in %s to %s: %s", r->folder, r->trace,
				 isc_status_text(r->status));
		else
			snprintf(out, room, "cannot clear %s: %s", r->folder, isc_status_text(r->status));
		break;
	}
}

static void print_session(void *self, const isc_remains *r)
{
	unsigned *seen = self;
	char what[4096];

	++*seen;
	describe(r, what, sizeof(what));
	print_line(r->state <= ISC_REMAINS_HOMELESS ? "ok" : "limited", "dead session", what);
	if (r->state == ISC_REMAINS_RUNNING)
		print_line("", "", "when the program has ended: inferscope doctor");
	if (r->left == 0)
		return;
	snprintf(what, sizeof(what),
		 "%s stays: it holds %s%s, which InferScope did not make; move or remove it yourself", r->folder,
		 r->left_name, r->left > 1 ? " and more" : "");
	print_line("limited", "dead session", what);
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
