/* namer: places get their names while the program runs, and the rest at its end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <unistd.h>

#include "named_function.h"
#include "base/clock.h"
#include "session/namer.h"
#include "symbol/elf.h"
#include "trace/reader.h"

#define PROCESS 3u
#define MODULE 7u
#define FIRST 100u
#define SECOND_NS 1000000000u

/* This program, as one that is traced tells of it. */
static void define_self(isc_namer *n)
{
	char def[sizeof(isc_def_module) + ISC_ELF_BUILD_MAX + 4096];
	isc_def_module head = {.bias = 0};
	const uint8_t *build;
	ssize_t path;
	isc_elf *e;

	assert_int_equal(isc_elf_open("/proc/self/exe", &e, NULL), ISC_OK);
	head.build_len = (uint32_t)isc_elf_build(e, &build);
	memcpy(def + sizeof(head), build, head.build_len);
	isc_elf_close(e);
	path = readlink("/proc/self/exe", def + sizeof(head) + head.build_len, 4096);
	assert_true(path > 0);
	head.path_len = (uint32_t)path;
	memcpy(def, &head, sizeof(head));
	isc_namer_define(n, PROCESS, MODULE, ISC_DEF_MODULE, def,
			 (uint32_t)sizeof(head) + head.build_len + head.path_len);
}

static void define_place(isc_namer *n, uint32_t id)
{
	isc_def_native place = {.module = MODULE, .offset = named_function_offset()};

	isc_namer_define(n, PROCESS, id, ISC_DEF_NATIVE, &place, sizeof(place));
}

static isc_writer *make_writer(char *path)
{
	isc_writer_options options = {.start_ticks = 1000, .start_ns = 1000};
	isc_writer *w;
	int fd;

	strcpy(path, "/tmp/test-namer-XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(isc_writer_open(fd, &options, &w, NULL), ISC_OK);
	return w;
}

/* How many of so many places are named in what was written so far. */
static uint32_t named(isc_writer *w, const char *path, uint32_t count)
{
	const char *name;
	isc_def_code head;
	uint32_t len, have = 0;
	isc_trace *tr;

	assert_int_equal(isc_writer_flush(w, NULL), ISC_OK);
	assert_int_equal(isc_trace_open(path, &tr, NULL), ISC_OK);
	for (uint32_t i = 0; i < count; i++) {
		name = isc_trace_define(tr, PROCESS, (FIRST + i) | ISC_DEF_NAMED, ISC_DEF_CODE, &len);
		if (name == NULL)
			continue;
		memcpy(&head, name, sizeof(head));
		assert_int_equal(head.name_len, strlen("isc_test_named_function"));
		assert_memory_equal(name + sizeof(head), "isc_test_named_function", head.name_len);
		have++;
	}
	isc_trace_close(tr);
	return have;
}

static void names_are_found_while_the_program_runs(void **state)
{
	uint64_t until = isc_clock_mono_ns() + 20ull * SECOND_NS;
	isc_namer *n = isc_namer_new();
	char path[64];
	isc_writer *w = make_writer(path);

	(void)state;
	define_self(n);
	for (uint32_t i = 0; i < 50; i++)
		define_place(n, FIRST + i);
	while (named(w, path, 50) < 50 && isc_clock_mono_ns() < until) {
		assert_int_equal(isc_namer_write(n, w, NULL), ISC_OK);
		usleep(2000);
	}
	assert_int_equal(named(w, path, 50), 50);
	isc_namer_free(n);
	isc_writer_close(w, NULL, NULL);
	unlink(path);
}

static void what_waits_is_named_at_the_end(void **state)
{
	enum { PLACES = 20000 };
	isc_namer *n = isc_namer_new();
	char path[64];
	isc_writer *w = make_writer(path);

	(void)state;
	define_self(n);
	for (uint32_t i = 0; i < PLACES; i++)
		define_place(n, FIRST + i);
	assert_int_equal(isc_namer_finish(n, w, isc_clock_mono_ns() + 60ull * SECOND_NS, NULL), ISC_OK);
	assert_int_equal(named(w, path, PLACES), PLACES);
	isc_namer_free(n);
	isc_writer_close(w, NULL, NULL);
	unlink(path);
}

static void without_time_the_rest_stays_without_a_name(void **state)
{
	isc_namer *n = isc_namer_new();
	char path[64];
	isc_writer *w = make_writer(path);

	(void)state;
	/* Of a module that nobody told of: the reader says its offset. */
	define_place(n, FIRST);
	assert_int_equal(isc_namer_finish(n, w, isc_clock_mono_ns(), NULL), ISC_OK);
	assert_int_equal(named(w, path, 1), 0);
	isc_namer_free(n);
	isc_namer_free(NULL);
	isc_writer_close(w, NULL, NULL);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_found_while_the_program_runs),
		cmocka_unit_test(what_waits_is_named_at_the_end),
		cmocka_unit_test(without_time_the_rest_stays_without_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
