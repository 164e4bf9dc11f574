/* parts: our own files, the Python to run and the program's environment, in
 * trees made for each test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "session/launch/parts.h"

static char root[64];
static const char *const touched[] = {"PATH",	    "VIRTUAL_ENV",    "CONDA_PREFIX",
				      "HOME",	    "PYTHONUSERBASE", "PYTHONNOUSERSITE",
				      "LD_PRELOAD", "PYTHONPATH",     "INFERSCOPE_SESSION"};

static const char *at(const char *path)
{
	static char full[8][512];
	static unsigned turn;
	char *to = full[turn++ % 8];

	snprintf(to, sizeof(full[0]), "%s/%s", root, path);
	return to;
}

/* A file with its folders; programs are executable. */
static void make(const char *path, const char *text)
{
	char full[512];
	int fd;

	snprintf(full, sizeof(full), "%s/%s", root, path);
	for (char *slash = strchr(full + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		mkdir(full, 0700);
		*slash = '/';
	}
	fd = open(full, O_WRONLY | O_CREAT | O_TRUNC, 0755);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static int remove_one(const char *path, const struct stat *sb, int type, struct FTW *ftw)
{
	(void)sb;
	(void)type;
	(void)ftw;
	return remove(path);
}

static int fresh(void **state)
{
	(void)state;
	snprintf(root, sizeof(root), "/tmp/isc-parts-XXXXXX");
	if (mkdtemp(root) == NULL)
		return -1;
	for (size_t i = 0; i < sizeof(touched) / sizeof(touched[0]); i++)
		unsetenv(touched[i]);
	setenv("PATH", "/nowhere", 1);
	setenv("HOME", root, 1);
	return 0;
}

static int gone(void **state)
{
	(void)state;
	return nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void parts_are_found_in_every_layout(void **state)
{
	static const char *const layouts[][2] = {
		{"a/bin/inferscope", "a/lib/python3.11/site-packages/inferscope"},
		{"b/bin/inferscope", "b/lib/python3/dist-packages/inferscope"},
		{"c/bin/inferscope", "c/lib64/python3.13/site-packages/inferscope"},
		{"d/bin/inferscope", "d/inferscope"},
		{"e/bin/inferscope", "e/lib/inferscope"},
		{"f/src/inferscope", "f/src"},
	};
	char file[256];
	isc_parts parts;

	(void)state;
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
		make(layouts[i][0], "");
		snprintf(file, sizeof(file), "%s/libinferscope_rt.so", layouts[i][1]);
		make(file, "");
		assert_int_equal(isc_parts_find_from(at(layouts[i][0]), &parts, NULL), ISC_OK);
		assert_string_equal(parts.folder, at(layouts[i][1]));
		assert_string_equal(parts.runtime, at(file));
		assert_string_equal(parts.inject, "");
	}
	make("a/lib/python3.11/site-packages/inferscope/_inject/sitecustomize.py", "");
	assert_int_equal(isc_parts_find_from(at("a/bin/inferscope"), &parts, NULL), ISC_OK);
	assert_string_equal(parts.inject, at("a/lib/python3.11/site-packages/inferscope/_inject"));
}

static void of_two_installs_in_one_prefix_the_newer_one_counts(void **state)
{
	struct timespec old[2] = {{1000, 0}, {1000, 0}};
	isc_parts parts;

	(void)state;
	make("bin/inferscope", "");
	make("lib/python3.13/site-packages/inferscope/libinferscope_rt.so", "");
	make("lib/python3.9/site-packages/inferscope/libinferscope_rt.so", "");
	utimensat(AT_FDCWD, at("lib/python3.13/site-packages/inferscope/libinferscope_rt.so"), old, 0);
	assert_int_equal(isc_parts_find_from(at("bin/inferscope"), &parts, NULL), ISC_OK);
	assert_string_equal(parts.folder, at("lib/python3.9/site-packages/inferscope"));
}

static void missing_parts_are_an_error_with_a_remedy(void **state)
{
	isc_parts parts;
	isc_error err;

	(void)state;
	make("bin/inferscope", "");
	assert_int_equal(isc_parts_find_from(at("bin/inferscope"), &parts, &err), ISC_ERR_ABSENT);
	assert_string_equal(parts.runtime, "");
	assert_non_null(strstr(err.what, "libinferscope_rt.so"));
	assert_true(err.hint[0] != 0);
	assert_int_equal(isc_parts_find_from("inferscope", &parts, &err), ISC_ERR_INVALID);
}

static void a_path_that_cannot_be_preloaded_goes_through_a_link(void **state)
{
	isc_parts parts;
	char out[256], link[256];
	ssize_t n;

	(void)state;
	make("My Project/bin/inferscope", "");
	make("My Project/lib/inferscope/libinferscope_rt.so", "");
	make("plain/bin/inferscope", "");
	make("plain/lib/inferscope/libinferscope_rt.so", "");
	assert_int_equal(isc_parts_find_from(at("plain/bin/inferscope"), &parts, NULL), ISC_OK);
	assert_int_equal(isc_parts_preload_path(&parts, root, out, sizeof(out), NULL), ISC_OK);
	assert_string_equal(out, parts.runtime);
	assert_int_equal(access(at("rt.so"), F_OK), -1);
	assert_int_equal(isc_parts_find_from(at("My Project/bin/inferscope"), &parts, NULL), ISC_OK);
	assert_int_equal(isc_parts_preload_path(&parts, root, out, sizeof(out), NULL), ISC_OK);
	assert_string_equal(out, at("rt.so"));
	n = readlink(out, link, sizeof(link) - 1);
	assert_true(n > 0);
	link[n] = 0;
	assert_string_equal(link, parts.runtime);
	assert_int_equal(isc_parts_preload_path(&parts, at("My Project"), out, sizeof(out), NULL), ISC_ERR_UNSUPPORTED);
	assert_int_equal(isc_parts_preload_path(&parts, root, out, 4, NULL), ISC_ERR_LIMIT);
}

static const char *chosen(const char *asked, const char *called_as)
{
	static char out[512];

	return isc_parts_python(asked, called_as, out, sizeof(out), NULL) == ISC_OK ? out : "none";
}

static void the_python_is_chosen_in_the_documented_order(void **state)
{
	char path[512];

	(void)state;
	assert_string_equal(chosen(NULL, "inferscope"), "none");
	make("path/python3", "");
	make("empty/x", "");
	snprintf(path, sizeof(path), "%s:%s", at("empty"), at("path"));
	setenv("PATH", path, 1);
	assert_string_equal(chosen(NULL, "inferscope"), at("path/python3"));
	make("entry/inferscope", "");
	make("entry/python", "");
	snprintf(path, sizeof(path), "%s:%s", at("path"), at("entry"));
	setenv("PATH", path, 1);
	assert_string_equal(chosen(NULL, "inferscope"), at("entry/python"));
	make("conda/bin/python", "");
	setenv("CONDA_PREFIX", at("conda"), 1);
	assert_string_equal(chosen(NULL, "inferscope"), at("conda/bin/python"));
	make("venv/bin/python3", "");
	make("venv/bin/python", "");
	setenv("VIRTUAL_ENV", at("venv"), 1);
	assert_string_equal(chosen(NULL, "inferscope"), at("venv/bin/python3"));
	make("beside/bin/python3", "");
	assert_string_equal(chosen(NULL, at("beside/bin/inferscope")), at("beside/bin/python3"));
	/* Called by a link that lies elsewhere: its target's neighbour is not meant. */
	make("tools/x", "");
	assert_int_equal(symlink(at("beside/bin/inferscope"), at("tools/inferscope")), 0);
	assert_string_equal(chosen(NULL, at("tools/inferscope")), at("venv/bin/python3"));
	assert_string_equal(chosen(at("conda/bin/python"), at("beside/bin/inferscope")), at("conda/bin/python"));
	assert_string_equal(chosen("python3", "inferscope"), at("path/python3"));
	assert_string_equal(chosen("python9", "inferscope"), "none");
	assert_string_equal(chosen(at("tools"), "inferscope"), "none");
}

static bool has(const char *python)
{
	return isc_parts_python_has_package(at(python), NULL);
}

static void a_package_is_found_in_an_environment(void **state)
{
	(void)state;
	make("base/bin/python3.11", "");
	make("venv/x", "");
	make("venv/bin/x", "");
	assert_int_equal(symlink(at("base/bin/python3.11"), at("venv/bin/python")), 0);
	make("venv/pyvenv.cfg", "home = /nowhere/bin\ninclude-system-site-packages = false\nversion = 3.11.7\n");
	assert_false(has("venv/bin/python"));
	make("venv/lib/python3.9/site-packages/inferscope.pth", "");
	assert_false(has("venv/bin/python"));
	make("venv/lib/python3.11/site-packages/inferscope.pth", "");
	assert_true(has("venv/bin/python"));
}

static void an_environment_sees_its_base_only_when_it_says_so(void **state)
{
	char text[512];

	(void)state;
	make("base/bin/python3.11", "");
	make("base/lib/python3.11/site-packages/inferscope.pth", "");
	make("venv/bin/x", "");
	assert_int_equal(symlink(at("base/bin/python3.11"), at("venv/bin/python")), 0);
	snprintf(text, sizeof(text), "home = %s\nversion_info = 3.11.7.final.0\ninclude-system-site-packages = false\n",
		 at("base/bin"));
	make("venv/pyvenv.cfg", text);
	assert_false(has("venv/bin/python"));
	snprintf(text, sizeof(text), "home = %s\ninclude-system-site-packages = true\n", at("base/bin"));
	make("venv/pyvenv.cfg", text);
	assert_true(has("venv/bin/python"));
	assert_true(has("base/bin/python3.11"));
}

static void a_package_is_found_in_the_user_site(void **state)
{
	(void)state;
	make("usr/bin/python3.12", "");
	make("usr/bin/y", "");
	assert_int_equal(symlink("python3.12", at("usr/bin/python3")), 0);
	assert_false(has("usr/bin/python3"));
	make(".local/lib/python3.12/site-packages/inferscope.pth", "");
	assert_true(has("usr/bin/python3"));
	setenv("PYTHONNOUSERSITE", "1", 1);
	assert_false(has("usr/bin/python3"));
	unsetenv("PYTHONNOUSERSITE");
	setenv("PYTHONUSERBASE", at("elsewhere"), 1);
	assert_false(has("usr/bin/python3"));
	assert_false(has("usr/bin/nothing"));
}

static const char *of(char **env, const char *name)
{
	size_t n = strlen(name);
	const char *found = NULL;

	for (; *env != NULL; env++)
		if (strncmp(*env, name, n) == 0 && (*env)[n] == '=') {
			assert_null(found);
			found = *env + n + 1;
		}
	return found;
}

static void the_environment_is_ours_with_the_session_in_front(void **state)
{
	char **env;

	(void)state;
	setenv("LD_PRELOAD", "/theirs.so /more.so:/old/libinferscope_rt.so:/dev/shm/inferscope-0-x/rt.so", 1);
	setenv("PYTHONPATH", "/lib:/x", 1);
	setenv("INFERSCOPE_SESSION", "/outer", 1);
	setenv("OTHER", "stays", 1);
	env = isc_parts_environment("/session", "/rt.so", "/inject");
	assert_string_equal(of(env, "INFERSCOPE_SESSION"), "/session");
	assert_string_equal(of(env, "LD_PRELOAD"), "/rt.so:/theirs.so:/more.so");
	assert_string_equal(of(env, "PYTHONPATH"), "/inject:/lib:/x");
	assert_string_equal(of(env, "OTHER"), "stays");
	free(env);
	env = isc_parts_environment("/session", "", "");
	assert_string_equal(of(env, "LD_PRELOAD"), "/theirs.so:/more.so");
	assert_string_equal(of(env, "PYTHONPATH"), "/lib:/x");
	free(env);
	unsetenv("LD_PRELOAD");
	unsetenv("PYTHONPATH");
	unsetenv("INFERSCOPE_SESSION");
	env = isc_parts_environment("/session", "", "");
	assert_null(of(env, "LD_PRELOAD"));
	assert_null(of(env, "PYTHONPATH"));
	free(env);
	env = isc_parts_environment("/session", "/rt.so", "/inject");
	assert_string_equal(of(env, "LD_PRELOAD"), "/rt.so");
	assert_string_equal(of(env, "PYTHONPATH"), "/inject");
	free(env);
}

static void the_part_for_cuda_is_named_unless_another_tool_is(void **state)
{
	char folder[] = "/tmp/isc-parts-XXXXXX", path[64];
	FILE *made;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/libinferscope_cuda.so", folder);
	unsetenv("CUDA_INJECTION64_PATH");
	/* It is not there: nothing is named. */
	assert_true(isc_parts_cuda(folder));
	assert_null(getenv("CUDA_INJECTION64_PATH"));
	made = fopen(path, "we");
	assert_non_null(made);
	fclose(made);
	assert_true(isc_parts_cuda(folder));
	assert_string_equal(getenv("CUDA_INJECTION64_PATH"), path);
	/* Of an outer session: replaced, and taken out when it is not wanted. */
	setenv("CUDA_INJECTION64_PATH", "/outer/libinferscope_cuda.so", 1);
	assert_true(isc_parts_cuda(folder));
	assert_string_equal(getenv("CUDA_INJECTION64_PATH"), path);
	assert_true(isc_parts_cuda(NULL));
	assert_null(getenv("CUDA_INJECTION64_PATH"));
	setenv("CUDA_INJECTION64_PATH", "/opt/tool.so", 1);
	assert_false(isc_parts_cuda(folder));
	assert_true(isc_parts_cuda(NULL));
	assert_string_equal(getenv("CUDA_INJECTION64_PATH"), "/opt/tool.so");
	unsetenv("CUDA_INJECTION64_PATH");
	unlink(path);
	rmdir(folder);
}

int main(void)
{
#define IN_A_TREE(test) cmocka_unit_test_setup_teardown(test, fresh, gone)
	const struct CMUnitTest tests[] = {
		IN_A_TREE(parts_are_found_in_every_layout),
		IN_A_TREE(of_two_installs_in_one_prefix_the_newer_one_counts),
		IN_A_TREE(missing_parts_are_an_error_with_a_remedy),
		IN_A_TREE(a_path_that_cannot_be_preloaded_goes_through_a_link),
		IN_A_TREE(the_python_is_chosen_in_the_documented_order),
		IN_A_TREE(a_package_is_found_in_an_environment),
		IN_A_TREE(an_environment_sees_its_base_only_when_it_says_so),
		IN_A_TREE(a_package_is_found_in_the_user_site),
		IN_A_TREE(the_environment_is_ours_with_the_session_in_front),
		cmocka_unit_test(the_part_for_cuda_is_named_unless_another_tool_is),
	};

	return cmocka_run_group_tests_name("parts", tests, NULL, NULL);
}
