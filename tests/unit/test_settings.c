/* session: settings from files, variables and options (X7, X8), and the options of run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/options.h"
#include "session/settings/settings.h"

static isc_settings s;
static isc_error err;

static int fresh(void **state)
{
	(void)state;
	return isc_settings_init(&s, &err) == ISC_OK ? 0 : -1;
}

static int drop(void **state)
{
	(void)state;
	isc_settings_fini(&s);
	return 0;
}

static isc_status parse(const char *text)
{
	return isc_settings_parse(&s, text, strlen(text), "x.yaml", ISC_ORIGIN_PROJECT_FILE, &err);
}

static void assert_refused(const char *text, const char *what)
{
	isc_settings_fini(&s);
	assert_int_equal(isc_settings_init(&s, &err), ISC_OK);
	if (parse(text) == ISC_OK)
		fail_msg("accepted: %.80s", text);
	if (strstr(err.what, what) == NULL)
		fail_msg("%.80s: \"%s\" does not say \"%s\"", text, err.what, what);
}

static void defaults_are_those_of_the_contract(void **state)
{
	(void)state;
	assert_int_equal(s.reports.count, 1);
	assert_string_equal(s.reports.item[0], "report.md");
	assert_string_equal(s.trace, "inferscope.isc");
	assert_true(s.report && s.python_calls && s.sample && s.memory && s.syscalls && s.gpu && s.agent);
	assert_false(s.force || s.quiet || s.all_frames || s.c_calls || s.syscall_args || s.kernel_calls || s.enabled);
	assert_int_equal(s.log_level, ISC_LOG_INFO);
	assert_int_equal(s.follow, ISC_FOLLOW_PYTHON);
	assert_int_equal(s.trace_size_mb, 100);
	assert_int_equal(s.rate_hz, 200);
	assert_int_equal(s.sync_error_margin_us, 1000);
	assert_true(s.budget_pct == 5 && s.delay_s == 0 && s.duration_s == 0);
	assert_null(s.python);
	assert_null(s.format);
}

static void the_table_names_each_thing_once(void **state)
{
	(void)state;
	for (int i = 0; i < ISC_SETTINGS_COUNT; i++) {
		const isc_setting *a = &isc_settings_table[i];

		assert_non_null(a->key);
		assert_non_null(a->help);
		assert_int_equal(isc_settings_find(a->key), i);
		for (int j = 0; j < i; j++) {
			const isc_setting *b = &isc_settings_table[j];

			assert_int_not_equal(a->offset, b->offset);
			assert_false(a->option && b->option && strcmp(a->option, b->option) == 0);
			assert_false(a->variable && b->variable && strcmp(a->variable, b->variable) == 0);
		}
	}
}

static void a_file_sets_values_and_remembers_lines(void **state)
{
	isc_buffer b = {0};

	(void)state;
	s.project_file = strdup("x.yaml");
	assert_int_equal(parse("# ours\nrate: 500\nbudget: off\ngpu: no\nnative: off\n\ntrace: out/t.isc\n"
			       "report: [a.md, \"b.json\"]\nlabels:\n  model: mini lm\n  run: 7\ndelay: 1.5\n"),
			 ISC_OK);
	assert_int_equal(s.rate_hz, 500);
	assert_true(s.budget_pct < 0 && s.delay_s == 1.5);
	assert_false(s.gpu);
	assert_int_equal(s.native, ISC_NATIVE_OFF);
	assert_string_equal(s.trace, "out/t.isc");
	assert_int_equal(s.reports.count, 2);
	assert_string_equal(s.reports.item[1], "b.json");
	assert_int_equal(s.labels.count, 2);
	assert_string_equal(s.labels.item[0], "model=mini lm");
	isc_settings_origin(&s, isc_settings_find("trace"), &b);
	assert_string_equal(b.data, "x.yaml:7");
	isc_buffer_fini(&b);
}

static void an_empty_file_sets_nothing(void **state)
{
	(void)state;
	assert_int_equal(parse(""), ISC_OK);
	assert_int_equal(parse("# only this\n"), ISC_OK);
	assert_int_equal(parse("---\n"), ISC_OK);
	assert_int_equal(parse("\xef\xbb\xbfrate: 300\r\n"), ISC_OK);
	assert_int_equal(s.rate_hz, 300);
}

static void errors_name_file_line_and_key(void **state)
{
	(void)state;
	assert_refused("rate: 100\n\nrat: 5\n", "x.yaml:3: rat: there is no such setting");
	assert_string_equal(err.hint, "did you mean rate?");
	assert_refused("gpu: true\nrate: fast\n", "x.yaml:2: rate: \"fast\" is not a number");
	assert_refused("rate: 100\nrate: 200\n", "x.yaml:2: rate: it is already set in line 1");
	assert_refused("gpu:\n  - 1\n", "x.yaml:2: gpu: a plain value is wanted");
	assert_refused("trace: {a: b}\n", "x.yaml:1: trace: a plain value is wanted");
	assert_refused("gpu:\n", "x.yaml:1: gpu: the value is missing");
	assert_refused("native: lef\n", "x.yaml:1: native: \"lef\" is none of on, leaf, off");
	assert_refused("labels: [a=b, c]\n", "x.yaml:1: labels: \"c\" is not KEY=VALUE");
	assert_refused("rate: 100\n]\n", "x.yaml:2: not YAML");
	assert_refused("rate: \"100\n", "x.yaml:2: not YAML");
	assert_refused("- a\n", "x.yaml:1: this is not a mapping");
	assert_refused("hello\n", "x.yaml:1: this is not a mapping");
	assert_refused("trace: \"a\\0b\"\n", "x.yaml:1: trace: the value has a NUL");
	assert_refused("? [a]\n: b\n", "x.yaml:1: the name of a setting is not plain text");
}

static void a_long_path_does_not_hide_line_and_key(void **state)
{
	char name[2000];

	(void)state;
	memset(name, 'd', sizeof(name));
	strcpy(name + sizeof(name) - 8, "/x.yaml");
	assert_int_equal(isc_settings_parse(&s, "rat: 5", 6, name, ISC_ORIGIN_PROJECT_FILE, &err), ISC_ERR_INVALID);
	assert_non_null(strstr(err.what, "/x.yaml:1: rat: "));
}

static void values_out_of_range_are_refused(void **state)
{
	static const char *const wrong[] = {
		"rate: 9",	     "rate: 10001",
		"rate: 100.5",	     "rate: 0x64",
		"rate: -5",	     "rate: nan",
		"rate: 1e999",	     "rate: ''",
		"rate: 1 0",	     "trace_size_mb: 1048577",
		"trace_size_mb: -1", "budget: 0",
		"budget: -1",	     "budget: 100.1",
		"budget: inf",	     "budget: nan",
		"delay: -0.1",	     "delay: inf",
		"duration: 1e300",   "wait_children: x",
		"gpu: maybe",	     "follow: python3",
		"format: pdf",	     "log_level: verbose",
		"trace: ''",	     "labels: {'': x}",
		"labels: {a: }",     "labels: ['=b']",
		"labels: {a=b: c}",  "labels: [[a=b]]",
		"report: [{a: b}]",
	};
	static const char *const right[] = {
		"rate: 10",	 "rate: 10000", "rate: 1e3",	"trace_size_mb: 0", "trace_size_mb: 1048576",
		"budget: 0.001", "budget: 100", "delay: 0",	"duration: 86400",  "labels: {}",
		"labels: [a=]",	 "report: []",	"format: json", "format: html",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_refused(wrong[i], "x.yaml:1: ");
	for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++)
		if (parse(right[i]) != ISC_OK)
			fail_msg("refused %s: %s", right[i], err.what);
}

/* X7: the safe subset, and nothing that grows. */
static void yaml_tricks_are_refused_with_their_line(void **state)
{
	(void)state;
	assert_refused("rate: 10\ntrace: &a x\n", "x.yaml:2: an anchor (&name) is not allowed");
	assert_refused("trace: *a\n", "x.yaml:1: an alias (*name) is not allowed");
	assert_refused("labels: &a {b: c}\n", "an anchor (&name) is not allowed");
	assert_refused("report: &a [b]\n", "an anchor (&name) is not allowed");
	assert_refused("rate: 10\n\ntrace: !!python/object/apply:os.system [id]\n",
		       "x.yaml:3: a tag (!name) is not allowed");
	assert_refused("!!map {rate: 10}\n", "x.yaml:1: a tag (!name) is not allowed");
	assert_refused("!x rate: 10\n", "a tag (!name) is not allowed");
	assert_refused("%TAG ! tag:example.org,2000:\n---\nrate: 10\n", "a %TAG directive is not allowed");
	assert_refused("rate: 10\n---\nrate: 20\n", "x.yaml:2: a second document");
	assert_refused("<<: {rate: 10}\n", "x.yaml:1: <<: there is no such setting");
	assert_refused("rate: 10\ntrace: \xff\xfe\n", "not YAML");
}

static void nesting_and_bombs_end_at_once_and_small(void **state)
{
	static char text[65536];
	static const char *const openers[] = {"[", "{a: ", "- ", "? "};
	struct timespec a, b;
	struct rusage usage;
	long before;

	(void)state;
	getrusage(RUSAGE_SELF, &usage);
	before = usage.ru_maxrss;
	clock_gettime(CLOCK_MONOTONIC, &a);
	for (size_t i = 0; i < sizeof(openers) / sizeof(openers[0]); i++) {
		size_t n = strlen(openers[i]), at = (size_t)sprintf(text, "report: %s", i < 2 ? "" : "\n ");

		for (int depth = 0; depth < 1000 || at + n < sizeof(text) - 1; depth++, at += n)
			if (at + n < sizeof(text) - 1)
				memcpy(text + at, openers[i], n + 1);
		assert_refused(text, "x.yaml:");
	}
	/* Ten doublings of a list that holds the one before nine times. */
	size_t at = (size_t)sprintf(text, "a0: &a0 [lol]\n");
	for (int i = 1; i < 11; i++) {
		at += (size_t)sprintf(text + at, "a%d: &a%d [", i, i);
		for (int j = 0; j < 9; j++)
			at += (size_t)sprintf(text + at, "%s*a%d", j ? ", " : "", i - 1);
		at += (size_t)sprintf(text + at, "]\n");
	}
	assert_refused(text, "x.yaml:1: a0: there is no such setting");
	memcpy(text, "labels:", 8);
	assert_refused(strcat(strcpy(text, "labels: &x [a=b]\nreport: [*x, *x, *x]\n"), ""), "anchor");
	clock_gettime(CLOCK_MONOTONIC, &b);
	getrusage(RUSAGE_SELF, &usage);
	assert_true(b.tv_sec - a.tv_sec <= 1);
	assert_true(usage.ru_maxrss - before < 64 << 10);
}

/* X8: what a file in a folder that one merely visits must not do. */
static void a_file_cannot_run_or_destroy_anything(void **state)
{
	(void)state;
	assert_refused("python: ./evil\n", "x.yaml:1: python: a file cannot set this, for safety");
	assert_string_equal(err.hint, "use --python on the command line");
	assert_refused("force: true\n", "x.yaml:1: force: a file cannot set this, for safety");
	assert_refused("enabled: true\n", "x.yaml:1: enabled: a file cannot set this, for safety");
	assert_refused("trace: /etc/cron.d/x\n", "x.yaml:1: trace: /etc/cron.d/x leads out of the working directory");
	assert_refused("report: [ok.md, ../../.profile]\n", "leads out of the working directory");
	/* The user's own folder is the user's own word. */
	assert_int_equal(isc_settings_parse(&s, "trace: /data/t.isc", 18, "c.yaml", ISC_ORIGIN_USER_FILE, &err),
			 ISC_OK);
	assert_int_equal(isc_settings_parse(&s, "python: /x", 10, "c.yaml", ISC_ORIGIN_USER_FILE, &err),
			 ISC_ERR_DENIED);
}

static void a_list_has_an_end(void **state)
{
	isc_buffer b = {0};

	(void)state;
	isc_buffer_text(&b, "report: [");
	for (int i = 0; i <= ISC_SETTINGS_LIST_MAX; i++)
		isc_buffer_format(&b, "%d.md, ", i);
	isc_buffer_text(&b, "]\n");
	assert_refused(b.data, "x.yaml:1: report: more than 64 values");
	isc_buffer_fini(&b);
}

static char top[64];

static void put(const char *name, const char *text)
{
	char path[200];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", top, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static int make_tree(void **state)
{
	char path[200];

	strcpy(top, "/tmp/inferscope-test-XXXXXX");
	if (mkdtemp(top) == NULL)
		return -1;
	for (const char *const *d =
		     (const char *const[]){"own", "own/.config", "own/.config/inferscope", "own/p", "own/p/q", NULL};
	     *d != NULL; d++) {
		snprintf(path, sizeof(path), "%s/%s", top, *d);
		if (mkdir(path, 0700) < 0)
			return -1;
	}
	return fresh(state);
}

static int drop_tree(void **state)
{
	char command[100];

	snprintf(command, sizeof(command), "rm -rf %s", top);
	return drop(state) | system(command);
}

static isc_status load(const char *cwd, char *first, char *second)
{
	char path[200], home[200];

	snprintf(path, sizeof(path), "%s/%s", top, cwd);
	snprintf(home, sizeof(home), "HOME=%s/own", top);
	return isc_settings_load(&s, path, (char *const[]){home, first, second, NULL}, &err);
}

static void option_beats_variable_beats_project_beats_user_beats_default(void **state)
{
	isc_origin option = {ISC_ORIGIN_OPTION, 0, false};

	(void)state;
	put("own/.config/inferscope/config.yaml",
	    "rate: 11\ndelay: 1\nbudget: 1\ntrace_size_mb: 1\nlabels: [u=1, v=1]\n");
	put("own/p/.inferscope.yaml", "rate: 12\ndelay: 2\nbudget: 2\nlabels: [p=1]\n");
	assert_int_equal(isc_settings_set(&s, isc_settings_find("rate"), "14", option, &err), ISC_OK);
	assert_int_equal(load("own/p/q", "INFERSCOPE_RATE=13", "INFERSCOPE_BUDGET=3"), ISC_OK);
	assert_int_equal(s.rate_hz, 14);
	assert_true(s.budget_pct == 3 && s.delay_s == 2);
	assert_int_equal(s.trace_size_mb, 1);
	assert_int_equal(s.sync_error_margin_us, 1000);
	/* A list of a higher place replaces the whole of a lower one. */
	assert_int_equal(s.labels.count, 1);
	assert_string_equal(s.labels.item[0], "p=1");
}

static void the_nearest_file_upward_is_the_projects(void **state)
{
	(void)state;
	put(".inferscope.yaml", "rate: 20\nbudget: 20\n");
	put("own/p/.inferscope.yaml", "rate: 30\n");
	assert_int_equal(load("own/p/q", NULL, NULL), ISC_OK);
	assert_int_equal(s.rate_hz, 30);
	assert_true(s.budget_pct == 5);
}

static void variables_are_checked_and_misspelt_ones_noted(void **state)
{
	(void)state;
	assert_int_equal(load("own", "INFERSCOPE_RATE=5", NULL), ISC_ERR_INVALID);
	assert_string_equal(err.what, "INFERSCOPE_RATE: 5 is not between 10 and 10000");
	assert_int_equal(load("own", "INFERSCOPE_RATES=50", "INFERSCOPE_SESSION=/x"), ISC_OK);
	assert_int_equal(s.notes.count, 1);
	assert_non_null(strstr(s.notes.item[0], "did you mean INFERSCOPE_RATE?"));
	assert_int_equal(load("own", "INFERSCOPE_RATE=", "INFERSCOPE_LABELS=a=1,b=2,,a=3"), ISC_OK);
	assert_int_equal(s.rate_hz, 200);
	assert_int_equal(s.labels.count, 2);
	assert_string_equal(s.labels.item[0], "a=3");
	assert_int_equal(load("own", "INFERSCOPE_REPORT=x.md:y.json", "INFERSCOPE_ENABLED=1"), ISC_OK);
	assert_int_equal(s.reports.count, 2);
	assert_true(s.enabled);
}

static void a_report_asked_for_is_written_whatever_a_file_says(void **state)
{
	(void)state;
	put("own/p/.inferscope.yaml", "write_report: false\n");
	assert_int_equal(load("own/p", NULL, NULL), ISC_OK);
	assert_false(s.report);
	assert_int_equal(load("own/p", "INFERSCOPE_REPORT=x.md", NULL), ISC_OK);
	assert_true(s.report);
}

static void odd_files_are_refused_and_not_waited_for(void **state)
{
	char path[200];

	(void)state;
	snprintf(path, sizeof(path), "%s/own/p/.inferscope.yaml", top);
	alarm(10);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_not_equal(load("own/p", NULL, NULL), ISC_OK);
	assert_non_null(strstr(err.what, "it is not a file"));
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_not_equal(load("own/p", NULL, NULL), ISC_OK);
	assert_int_equal(rmdir(path), 0);
	put("own/p/.inferscope.yaml", "");
	assert_int_equal(truncate(path, 100 << 20), 0);
	assert_int_equal(load("own/p", NULL, NULL), ISC_ERR_LIMIT);
	assert_non_null(strstr(err.what, "at most 64 KiB"));
	alarm(0);
}

/* Only root can leave a file of another user. */
static void a_file_planted_by_another_user_in_an_open_folder_is_ignored(void **state)
{
	char path[200], folder[200];

	(void)state;
	if (geteuid() != 0)
		skip();
	put("own/p/.inferscope.yaml", "rate: 30\n");
	snprintf(path, sizeof(path), "%s/own/p/.inferscope.yaml", top);
	snprintf(folder, sizeof(folder), "%s/own/p", top);
	assert_int_equal(chown(path, 65534, 65534), 0);
	assert_int_equal(load("own/p", NULL, NULL), ISC_OK);
	assert_int_equal(s.rate_hz, 30);
	drop(state);
	fresh(state);
	assert_int_equal(chmod(folder, 01777), 0);
	assert_int_equal(load("own/p", NULL, NULL), ISC_OK);
	assert_int_equal(s.rate_hz, 200);
	assert_int_equal(s.notes.count, 1);
}

static void show_has_every_setting_with_value_and_origin(void **state)
{
	isc_buffer b = {0};

	(void)state;
	put("own/p/.inferscope.yaml", "\nlabels: {evil: \"a\\e[2J\\nb\"}\n");
	assert_int_equal(load("own/p", "INFERSCOPE_TRACE=t.isc", NULL), ISC_OK);
	isc_settings_set(&s, isc_settings_find("gpu"), "false", (isc_origin){ISC_ORIGIN_OPTION, 0, true}, &err);
	assert_int_equal(isc_settings_show(&s, &b, &err), ISC_OK);
	for (int i = 0; i < ISC_SETTINGS_COUNT; i++)
		assert_non_null(strstr(b.data, isc_settings_table[i].key));
	assert_non_null(strstr(b.data, "  --no-gpu\n"));
	assert_non_null(strstr(b.data, "  INFERSCOPE_TRACE\n"));
	assert_non_null(strstr(b.data, "own/p/.inferscope.yaml:2\n"));
	assert_non_null(strstr(b.data, "evil=a\\x1b[2J\\nb"));
	assert_null(strchr(b.data, '\033'));
	isc_buffer_fini(&b);
}

/* argv of up to 11 words, as main gives it. */
static isc_status run_options(const char *line, isc_target *target)
{
	static char copy[300];
	static char *argv[16];
	int argc = 0;
	bool helped;

	snprintf(copy, sizeof(copy), "run %s", line);
	for (char *word = strtok(copy, " "); word != NULL && argc < 15; word = strtok(NULL, " "))
		argv[argc++] = word;
	argv[argc] = NULL;
	return isc_options_run(argc, argv, &s, target, &helped, &err);
}

static void everything_behind_the_program_is_the_programs(void **state)
{
	static const struct {
		const char *line;
		int kind, argc;
		const char *first, *last;
	} cases[] = {
		{"--rate 50 a.py --rate 60 --help", ISC_TARGET_SCRIPT, 4, "a.py", "--help"},
		{"--rate=50 -m mod -m other", ISC_TARGET_MODULE, 3, "mod", "other"},
		{"--rate 50 -mmod -c x", ISC_TARGET_MODULE, 3, "mod", "x"},
		{"--rate 50 -c code -- --force", ISC_TARGET_CODE, 3, "code", "--force"},
		{"--rate 50 -- ls -l -- --rate", ISC_TARGET_COMMAND, 4, "ls", "--rate"},
		{"--rate 50 -- --odd", ISC_TARGET_COMMAND, 1, "--odd", "--odd"},
		{"--rate 50 a.py --", ISC_TARGET_SCRIPT, 2, "a.py", "--"},
		{"--rate 50 -m mod", ISC_TARGET_MODULE, 1, "mod", "mod"},
		{"--rate 50 - -x", ISC_TARGET_SCRIPT, 2, "-", "-x"},
	};
	isc_target t;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		drop(state);
		fresh(state);
		if (run_options(cases[i].line, &t) != ISC_OK)
			fail_msg("%s: %s", cases[i].line, err.what);
		assert_int_equal(t.kind, cases[i].kind);
		assert_int_equal(t.argc, cases[i].argc);
		assert_string_equal(t.argv[0], cases[i].first);
		assert_string_equal(t.argv[t.argc - 1], cases[i].last);
		assert_null(t.argv[t.argc]);
		assert_int_equal(s.rate_hz, 50);
		assert_false(s.force);
	}
}

static void every_option_of_run_is_taken(void **state)
{
	isc_target t;

	(void)state;
	assert_int_equal(
		run_options("--report a.md --report b.json --trace t.isc --force --log-level debug --quiet x", &t),
		ISC_OK);
	assert_int_equal(s.reports.count, 2);
	assert_true(s.force && s.quiet && s.log_level == ISC_LOG_DEBUG);
	assert_int_equal(
		run_options("--trace-size-mb 0 --budget off --rate 99 --native on --all-frames --c-calls x", &t),
		ISC_OK);
	assert_true(s.trace_size_mb == 0 && s.budget_pct < 0 && s.native == ISC_NATIVE_ON && s.all_frames && s.c_calls);
	assert_int_equal(run_options("--no-python --no-sample --no-memory --no-syscalls --syscall-args --kernel-calls "
				     "--no-gpu --no-agent "
				     "--no-report x",
				     &t),
			 ISC_OK);
	assert_false(s.python_calls || s.sample || s.memory || s.syscalls || s.gpu || s.agent || s.report);
	assert_true(s.syscall_args && s.kernel_calls);
	assert_int_equal(run_options("--follow all --wait-children 2 --delay 1 --duration 3 --python /p x", &t),
			 ISC_OK);
	assert_true(s.follow == ISC_FOLLOW_ALL && s.wait_children_s == 2 && s.delay_s == 1 && s.duration_s == 3);
	assert_string_equal(s.python, "/p");
	assert_int_equal(run_options("--label a=b --label c=d --progress never --format json --gpu --no-force x", &t),
			 ISC_OK);
	assert_int_equal(s.labels.count, 2);
	assert_true(s.gpu && !s.force && s.progress == ISC_PROGRESS_NEVER);
	assert_string_equal(s.format, "json");
}

static void wrong_options_are_named_and_the_nearest_suggested(void **state)
{
	static const char *const cases[][3] = {
		{"--reprot x", "unknown option --reprot", "did you mean --report?"},
		{"--forc x", "unknown option --forc", "did you mean --force?"}, /* a beginning is not enough */
		{"--he", "unknown option --he", ""},
		{"--no-gup=1 x", "unknown option --no-gup", "did you mean --no-gpu?"},
		{"-x", "unknown option -x", "see inferscope run --help"},
		{"--rate", "--rate needs a value", "write --rate HZ"},
		{"-m", "-m needs a value", "write -m MODULE"},
		{"--gpu=1 x", "--gpu takes no value", "write --gpu alone"},
		{"--rate 5 x", "--rate: 5 is not between 10 and 10000", ""},
		{"--rate 50", "no program was given", "write inferscope run SCRIPT"},
		{"--", "no program was given", ""},
	};
	isc_target t;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		drop(state);
		fresh(state);
		if (run_options(cases[i][0], &t) == ISC_OK)
			fail_msg("accepted %s", cases[i][0]);
		if (strstr(err.what, cases[i][1]) == NULL || strstr(err.hint, cases[i][2]) == NULL)
			fail_msg("%s: %s; %s", cases[i][0], err.what, err.hint);
	}
}

#define T(name) cmocka_unit_test_setup_teardown(name, fresh, drop)
#define TREE(name) cmocka_unit_test_setup_teardown(name, make_tree, drop_tree)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(defaults_are_those_of_the_contract),
		T(the_table_names_each_thing_once),
		T(a_file_sets_values_and_remembers_lines),
		T(an_empty_file_sets_nothing),
		T(errors_name_file_line_and_key),
		T(a_long_path_does_not_hide_line_and_key),
		T(values_out_of_range_are_refused),
		T(yaml_tricks_are_refused_with_their_line),
		T(nesting_and_bombs_end_at_once_and_small),
		T(a_file_cannot_run_or_destroy_anything),
		T(a_list_has_an_end),
		TREE(option_beats_variable_beats_project_beats_user_beats_default),
		TREE(the_nearest_file_upward_is_the_projects),
		TREE(variables_are_checked_and_misspelt_ones_noted),
		TREE(a_report_asked_for_is_written_whatever_a_file_says),
		TREE(odd_files_are_refused_and_not_waited_for),
		TREE(a_file_planted_by_another_user_in_an_open_folder_is_ignored),
		TREE(show_has_every_setting_with_value_and_origin),
		T(everything_behind_the_program_is_the_programs),
		T(every_option_of_run_is_taken),
		T(wrong_options_are_named_and_the_nearest_suggested),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
