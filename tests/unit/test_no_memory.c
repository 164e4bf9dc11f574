/* Settings, options, outputs and profiles when the n-th allocation fails (H8): a clean status each time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/output.h"
#include "cli/options.h"
#include "profile_tree.h"
#include "profiler/write.h"
#include "session/settings/settings.h"

/* glibc lets a program bring its own malloc, and libyaml and strdup take it when they can see it. */
#pragma GCC visibility push(default)
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *old, size_t size);

static unsigned long calls, fail_at; /* 0: none */

static bool fails(void)
{
	calls++;
	if (fail_at == 0 || calls != fail_at)
		return false;
	errno = ENOMEM;
	return true;
}

void *malloc(size_t size)
{
	return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	return fails() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *old, size_t size)
{
	return fails() ? NULL : __libc_realloc(old, size);
}

#pragma GCC visibility pop

static char folder[64];

static isc_status read_settings(isc_error *err)
{
	static const char text[] = "rate: 50\nreport: [a.md, b.md]\nlabels: {a: b, c: d}\ntrace: t.isc\nformat: json\n";
	char home[100];
	char *const env[] = {home, "INFERSCOPE_LABELS=x=1,y=2", "INFERSCOPE_TRACE=u.isc", "INFERSCOPE_REPORT=r.md",
			     NULL};
	isc_buffer shown = {0};
	isc_settings s;
	isc_status st;

	snprintf(home, sizeof(home), "HOME=%s", folder);
	st = isc_settings_init(&s, err);
	if (st != ISC_OK)
		return st;
	st = isc_settings_parse(&s, text, strlen(text), "x.yaml", ISC_ORIGIN_USER_FILE, err);
	if (st == ISC_OK)
		st = isc_settings_load(&s, folder, env, err);
	if (st == ISC_OK)
		st = isc_settings_show(&s, &shown, err);
	if (st == ISC_OK) {
		assert_int_equal(s.rate_hz, 60);
		assert_int_equal(s.labels.count, 2);
	}
	isc_buffer_fini(&shown);
	isc_settings_fini(&s);
	return st;
}

static isc_status read_options(isc_error *err)
{
	char *argv[] = {"run", "--rate", "70", "--report", "a.md", "--label", "a=b", "--no-gpu", "-m", "mod", NULL};
	isc_settings s;
	isc_target target;
	bool helped;
	isc_status st = isc_settings_init(&s, err);

	if (st != ISC_OK)
		return st;
	st = isc_options_run(10, argv, &s, &target, &helped, err);
	if (st == ISC_OK)
		assert_int_equal(s.rate_hz, 70);
	isc_settings_fini(&s);
	return st;
}

static isc_status write_output(isc_error *err)
{
	isc_status st = isc_output_save("report.md", true, NULL, "x", 1, err);
	int fd;

	if (st == ISC_OK)
		st = isc_output_create_trace("t.isc", true, NULL, &fd, err);
	if (st == ISC_OK)
		close(fd);
	return st;
}

static isc_profile *profile;

static isc_status write_profile(isc_error *err)
{
	void (*const write[])(isc_buffer *out, const isc_profile_model *m) = {isc_profile_json, isc_profile_summary};
	isc_profile_model m;
	isc_status st = isc_profile_model_init(&m, profile, err);

	for (size_t i = 0; i < 2 && st == ISC_OK; i++) {
		isc_buffer out = {0};

		write[i](&out, &m);
		if (out.failed)
			st = isc_fail(err, ISC_ERR_NOMEM, "no memory for the text");
		else
			assert_non_null(strstr(out.data, "leaf"));
		isc_buffer_fini(&out);
	}
	isc_profile_model_fini(&m);
	return st;
}

/* Every allocation fails once; the first run tells how many there are. */
static unsigned long fail_each(isc_status (*work)(isc_error *err))
{
	unsigned long total;
	isc_error err;

	fail_at = 0;
	calls = 0;
	assert_int_equal(work(&err), ISC_OK);
	total = calls;
	for (unsigned long n = 1; n <= total; n++) {
		isc_status st;

		memset(&err, 0, sizeof(err));
		calls = 0;
		fail_at = n;
		st = work(&err);
		fail_at = 0;
		/* A warning that has no room may be lost; a value may not. */
		if (st != ISC_OK && (st != ISC_ERR_NOMEM || err.what[0] == 0))
			fail_msg("allocation %lu of %lu: status %d, \"%s\"", n, total, st, err.what);
	}
	return total;
}

static void settings_survive_every_failed_allocation(void **state)
{
	FILE *f;

	(void)state;
	f = fopen(".inferscope.yaml", "w");
	assert_non_null(f);
	fputs("rate: 60\nlabels: [p=q]\n", f);
	fclose(f);
	assert_true(fail_each(read_settings) > 20);
}

static void options_survive_every_failed_allocation(void **state)
{
	(void)state;
	assert_true(fail_each(read_options) > 5);
}

static void outputs_survive_every_failed_allocation(void **state)
{
	(void)state;
	assert_true(fail_each(write_output) >= 3);
}

static void profiles_survive_every_failed_allocation(void **state)
{
	char stack[64];

	(void)state;
	profile = profile_new();
	for (unsigned i = 0; i < 500; i++) {
		snprintf(stack, sizeof(stack), "main;work%u;leaf%u", i % 50, i);
		profile_count(profile, stack, 7, i + 1);
	}
	assert_true(fail_each(write_profile) > 8);
	free(profile);
}

static int make_folder(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/inferscope-test-XXXXXX");
	return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int remove_folder(void **state)
{
	char command[100];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return chdir("/") == 0 ? system(command) : -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(settings_survive_every_failed_allocation, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(options_survive_every_failed_allocation, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(outputs_survive_every_failed_allocation, make_folder, remove_folder),
		cmocka_unit_test(profiles_survive_every_failed_allocation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
