/* samples: lines of instructions, stacks out of a trace, and their totals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/lines.h"
#include "sample_trace.h"
#include "trace/reader.h"
#include "trace/sample.h"
#include "trace/stack.h"
#include "trace/totals/totals.h"
#include "trace/totals/totals_lane.h"
#include "trace/writer.h"

#define PROCESS 1
#define THREAD 1

static size_t lines_def(char *to, uint32_t version, uint32_t first, const char *hex)
{
	isc_def_lines head = {.code = 1, .version = version, .first_line = first};
	unsigned byte;

	for (; sscanf(hex, "%2x", &byte) == 1; hex += 2)
		to[sizeof(head) + head.length++] = (char)byte;
	memcpy(to, &head, sizeof(head));
	return sizeof(head) + head.length;
}

/* golden/lines.txt: tables of real interpreters, and what their co_lines() says of them. */
static void lines_are_those_that_the_interpreter_names(void **state)
{
	char path[4096], text[8192], hex[4096], def[4096];
	unsigned version, first, from, to, line;
	int codes = 0, skip;
	FILE *f;

	(void)state;
	snprintf(path, sizeof(path), "%s/lines.txt", getenv("ISC_GOLDEN"));
	f = fopen(path, "r");
	assert_non_null(f);
	while (fgets(text, sizeof(text), f) != NULL) {
		const char *at = text;
		size_t len;

		assert_int_equal(sscanf(at, "%x %u %4095s%n", &version, &first, hex, &skip), 3);
		len = lines_def(def, version, first, hex);
		for (at += skip; sscanf(at, " %u:%u:%u%n", &from, &to, &line, &skip) == 3; at += skip) {
			for (unsigned offset = from; offset < to; offset += 2)
				assert_int_equal(isc_lines_at(def, len, offset), line);
		}
		assert_int_equal(isc_lines_at(def, len, ISC_STACK_NOT_BEGUN), first);
		codes++;
	}
	fclose(f);
	assert_true(codes >= 25);
}

static void a_broken_table_gives_some_line_or_none(void **state)
{
	uint64_t seed = 3;

	(void)state;
	assert_int_equal(isc_lines_at(NULL, 0, 0), 0);
	for (int i = 0; i < 200000; i++) {
		/* Its own memory, so that a read past the end is seen. */
		size_t len = sample_draw(&seed) % 48;
		char *def = malloc(len + 1);
		uint32_t version = 0x0309 + (uint32_t)(sample_draw(&seed) % 5), line;

		for (size_t k = 0; k < len; k++)
			def[k] = (char)(sample_draw(&seed) >> 11);
		if (len >= sizeof(isc_def_lines)) {
			memcpy(def + offsetof(isc_def_lines, version), &version, sizeof(version));
			if (i % 2)
				memset(def + offsetof(isc_def_lines, first_line), 0, 8);
		}
		line = isc_lines_at(def, len, (uint32_t)(sample_draw(&seed) % 300));
		assert_true(line <= INT32_MAX);
		free(def);
	}
}

static void define_stack(isc_writer *w, uint32_t id, uint32_t parent, uint32_t code, uint32_t offset)
{
	isc_def_stack def = {parent, code, offset, 50};

	assert_int_equal(isc_writer_define(w, PROCESS, id, ISC_DEF_STACK, &def, sizeof(def), NULL), ISC_OK);
}

static isc_trace *written(void (*fill)(isc_writer *w))
{
	isc_writer_options options = {.start_ticks = 1000, .start_ns = 1000};
	char path[64], def[64];
	int fd = sample_file(path);
	isc_trace *tr;
	isc_writer *w;
	size_t len;

	assert_int_equal(isc_writer_open(fd, &options, &w, NULL), ISC_OK);
	len = lines_def(def, 0x030a, 10, "04010401");
	assert_int_equal(isc_writer_define(w, PROCESS, 50, ISC_DEF_LINES, def, (uint32_t)len, NULL), ISC_OK);
	fill(w);
	assert_int_equal(isc_writer_flush(w, NULL), ISC_OK);
	assert_int_equal(isc_trace_open(path, &tr, NULL), ISC_OK);
	isc_writer_close(w, NULL, NULL);
	return tr;
}

static void fill_chain(isc_writer *w)
{
	define_stack(w, 60, 0, 7, 0);
	define_stack(w, 61, 60, 8, 4);
	define_stack(w, 62, 61, 0, 900);
}

static void a_stack_is_the_chain_of_its_parents_root_first(void **state)
{
	isc_trace *tr = written(fill_chain);
	isc_stack_frame frames[8];

	(void)state;
	assert_int_equal(isc_trace_stack(tr, PROCESS, 62, frames, 8), 3);
	assert_true(frames[0].code == 7 && frames[0].line == 11);
	assert_true(frames[1].code == 8 && frames[1].line == 12);
	assert_true(frames[2].code == 0 && frames[2].line == 0);
	assert_int_equal(isc_trace_stack(tr, PROCESS, 62, frames, 2), 2);
	assert_int_equal(frames[1].code, 0);
	assert_int_equal(isc_trace_stack(tr, PROCESS, 50, frames, 8), 0);
	assert_int_equal(isc_trace_stack(tr, PROCESS, 99, frames, 8), 0);
	isc_trace_close(tr);
}

static void fill_circle(isc_writer *w)
{
	define_stack(w, 60, 61, 7, 0);
	define_stack(w, 61, 60, 8, 0);
	define_stack(w, 62, 62, 9, 0);
}

static void S5_stacks_that_go_round_end(void **state)
{
	isc_trace *tr = written(fill_circle);
	isc_stack_frame frames[ISC_STACK_FRAMES_MAX];

	(void)state;
	assert_int_equal(isc_trace_stack(tr, PROCESS, 61, frames, ISC_STACK_FRAMES_MAX), 2);
	assert_int_equal(isc_trace_stack(tr, PROCESS, 60, frames, ISC_STACK_FRAMES_MAX), 1);
	assert_int_equal(isc_trace_stack(tr, PROCESS, 62, frames, ISC_STACK_FRAMES_MAX), 1);
	isc_trace_close(tr);
}

static void feed(isc_totals *t, uint32_t thread, uint32_t stack, uint16_t steps, uint32_t period_ns, uint32_t flags)
{
	isc_record r = {.ticks = 5, .id = stack, .kind = ISC_KIND_SAMPLE, .slots = 2, .arg = steps};
	isc_sample body = {.period_ns = period_ns, .flags = flags};

	assert_int_equal(isc_totals_feed(t, PROCESS, thread, 1, &r, &body, sizeof(body), NULL), ISC_OK);
}

static void totals_add_up_time_and_not_samples(void **state)
{
	isc_buffer out = {0}, ends = {0};
	const isc_total_stack *s;
	isc_totals *t, *again;

	(void)state;
	isc_totals_new(&t, NULL);
	feed(t, THREAD, 60, 1, 5000000, 0);
	feed(t, THREAD, 60, 3, 10000000, ISC_SAMPLE_CUT);
	feed(t, THREAD + 1, 60, 2, 5000000, 0);
	feed(t, THREAD, 0, 1, 5000000, ISC_SAMPLE_OTHER);
	isc_totals_write(t, &(isc_totals_cover){7, 8}, &out, &ends);
	isc_totals_new(&again, NULL);
	assert_int_equal(isc_totals_read(again, (uint8_t *)out.data, out.len), ISC_OK);
	for (int i = 0; i < 2; i++) {
		isc_totals *which = i ? again : t;

		s = isc_totals_stack_at(which, 0);
		assert_true(s->process == PROCESS && s->thread == THREAD && s->stack == 60);
		assert_int_equal(s->samples, 2);
		assert_int_equal(s->steps, 4);
		assert_int_equal(s->cpu_ns, 35000000);
		assert_int_equal(s->flags, ISC_SAMPLE_CUT);
		s = isc_totals_stack_at(which, 1);
		assert_true(s->thread == THREAD + 1 && s->cpu_ns == 10000000);
		s = isc_totals_stack_at(which, 2);
		assert_int_equal(s->stack, ISC_STACK_NONE | ISC_STACK_NONE_TABLE);
		assert_int_equal(s->flags, ISC_SAMPLE_OTHER);
		assert_null(isc_totals_stack_at(which, 3));
	}
	/* What was read goes on. */
	feed(again, THREAD, 60, 1, 5000000, 0);
	assert_int_equal(isc_totals_stack_at(again, 0)->samples, 3);
	isc_buffer_fini(&out);
	isc_buffer_fini(&ends);
	isc_totals_free(t);
	isc_totals_free(again);
}

static void past_the_bound_the_time_of_all_stacks_is_still_exact(void **state)
{
	uint64_t sum = 0;
	size_t n = 0;
	isc_totals *t;

	(void)state;
	isc_totals_new(&t, NULL);
	isc_totals_bound(t, 4096);
	for (uint32_t i = 1; i <= 1000; i++)
		feed(t, THREAD, i, 1, 1000, 0);
	for (const isc_total_stack *s; (s = isc_totals_stack_at(t, n)) != NULL; n++)
		sum += s->cpu_ns;
	assert_int_equal(sum, 1000000);
	assert_true(n < 100);
	assert_in_range(isc_totals_folded(t, ISC_FOLDED_STACKS), 820, 1020);
	isc_totals_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_those_that_the_interpreter_names),
		cmocka_unit_test(a_broken_table_gives_some_line_or_none),
		cmocka_unit_test(a_stack_is_the_chain_of_its_parents_root_first),
		cmocka_unit_test(S5_stacks_that_go_round_end),
		cmocka_unit_test(totals_add_up_time_and_not_samples),
		cmocka_unit_test(past_the_bound_the_time_of_all_stacks_is_still_exact),
	};

	return cmocka_run_group_tests_name("samples", tests, NULL, NULL);
}
