/*
 * The options of `run`, made from the table of settings.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/options.h"

/* Both forms of each switch, and -m and -c. */
#define OPTIONS_MAX (2 * ISC_SETTINGS_COUNT + 2)
#define HELP_MAX 160u

typedef struct option_reading {
	isc_settings *settings;
	isc_target *target;
	int row[OPTIONS_MAX]; /* of the option */
	bool negated[OPTIONS_MAX];
	char name[OPTIONS_MAX][32];
	char help[OPTIONS_MAX][HELP_MAX];
	isc_option table[OPTIONS_MAX];
	size_t count;
} option_reading;

/* With the default of an option that takes a value: what happens without it. */
static const char *help_of(const isc_setting *setting, char *to, size_t room)
{
	bool tells = setting->type != ISC_SETTING_BOOL && setting->standard != NULL && setting->standard[0] != 0;

	snprintf(to, room, tells ? "%s (default: %s)" : "%s", setting->help, setting->standard);
	return to;
}

static void add(option_reading *r, int row, bool negated)
{
	const isc_setting *setting = &isc_settings_table[row];
	bool shown = negated ? setting->negated != NULL : setting->option != NULL;

	if (!isc_settings_option(row, negated, r->name[r->count], sizeof(r->name[0])))
		return;
	r->table[r->count] = (isc_option){
		.name = r->name[r->count],
		.argument = setting->type == ISC_SETTING_BOOL ? NULL : setting->argument,
		.help = shown ? help_of(setting, r->help[r->count], sizeof(r->help[0])) : NULL,
	};
	r->row[r->count] = row;
	r->negated[r->count] = negated;
	r->count++;
}

static void fill(option_reading *r)
{
	for (int i = 0; i < ISC_SETTINGS_COUNT; i++) {
		add(r, i, false);
		if (isc_settings_table[i].type == ISC_SETTING_BOOL)
			add(r, i, true);
	}
	if (r->target == NULL)
		return;
	r->table[r->count++] = (isc_option){NULL, "MODULE", "run a Python module", 'm', true};
	r->table[r->count++] = (isc_option){NULL, "CODE", "run Python code", 'c', true};
}

static isc_status take(void *self, const isc_option *option, const char *value, isc_error *err)
{
	option_reading *r = self;
	size_t i = (size_t)(option - r->table);
	isc_origin origin = {ISC_ORIGIN_OPTION, 0, r->negated[i]};
	isc_error why;
	isc_status st;

	if (value == NULL)
		value = r->negated[i] ? "false" : "true";
	st = isc_settings_set(r->settings, r->row[i], value, origin, &why);
	if (st == ISC_OK)
		return ISC_OK;
	isc_fail(err, st, "--%s: %.200s", option->name, why.what);
	isc_hint(err, "%s", why.hint[0] ? why.hint : "see inferscope run --help");
	return st;
}

static isc_status take_program(void *self, const isc_option *by, char **argv, int argc, bool dashes, isc_error *err)
{
	option_reading *r = self;

	(void)err;
	r->target->kind = by != NULL ? (by->letter == 'm' ? ISC_TARGET_MODULE : ISC_TARGET_CODE)
			  : dashes   ? ISC_TARGET_COMMAND
				     : ISC_TARGET_SCRIPT;
	r->target->argv = argv;
	r->target->argc = argc;
	return ISC_OK;
}

isc_status isc_options_run(int argc, char **argv, isc_settings *settings, isc_target *target, bool *helped,
			   isc_error *err)
{
	option_reading *r = calloc(1, sizeof(*r));
	isc_options options = {
		.command = target ? "run" : "config show",
		.arguments =
			target ? "SCRIPT [ARGS...]\n-m MODULE [ARGS...]\n-c CODE [ARGS...]\n-- COMMAND [ARGS...]" : "",
		.about = target ? "Run a program with tracing, write the trace and the report, print a summary."
				  "\vThe program keeps its input, output, terminal and exit code.  "
				  "Each switch has its opposite: --no-gpu and --gpu, --force and --no-force.\n\n"
				  "  inferscope run serve.py --port 8000\n"
				  "  inferscope run --report report.html -m pytest tests\n"
				  "  inferscope run --duration 30 -- vllm serve MODEL\n"
				: "Print every setting, its value and where it came from.\vTakes the options of run.",
		.option = take,
		.rest = target ? take_program : NULL,
	};
	isc_status st;

	*helped = false;
	if (r == NULL)
		return isc_fail(err, ISC_ERR_NOMEM, "no memory to read the options");
	if (target != NULL)
		*target = (isc_target){0};
	r->settings = settings;
	r->target = target;
	fill(r);
	options.table = r->table;
	options.count = r->count;
	st = isc_options_parse(&options, argc, argv, r, helped, err);
	free(r);
	if (st == ISC_OK && !*helped && target != NULL && (target->argc == 0 || target->argv[0][0] == 0)) {
		isc_fail(err, ISC_ERR_INVALID, "run: no program was given");
		isc_hint(err, "write inferscope run SCRIPT, -m MODULE, -c CODE or -- COMMAND");
		return ISC_ERR_INVALID;
	}
	return st;
}
