/* totals_calls in the file: snapshots, bounds, and what outlives the events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "call_totals.h"
#include "sample_trace.h"
#include "trace/reader.h"
#include "trace/writer.h"

static isc_buffer bytes_of(const isc_totals *t)
{
	isc_buffer out = {0}, ends = {0};

	isc_totals_write(t, &(isc_totals_cover){7, 8}, &out, &ends);
	isc_buffer_fini(&ends);
	return out;
}

static isc_totals *reloaded(const isc_totals *t)
{
	isc_buffer out = {0}, ends = {0};
	isc_totals *back = fresh();
	size_t start = 0;

	isc_totals_write(t, &(isc_totals_cover){7, 8}, &out, &ends);
	for (size_t p = 0; p < ends.len / sizeof(size_t); p++) {
		size_t end = ((size_t *)(void *)ends.data)[p];

		assert_int_equal(isc_totals_read(back, (uint8_t *)out.data + start, end - start), ISC_OK);
		start = end;
	}
	isc_buffer_fini(&out);
	isc_buffer_fini(&ends);
	return back;
}

/* Anything at all: exits that match and do not, losses, the governor. */
static void disorder(isc_totals *t, uint64_t i, uint64_t r)
{
	static const int kinds[] = {ENTER,	   ENTER,	   ENTER, RESUME,	    EXIT,
				    EXIT,	   EXIT,	   EXIT,  ISC_KIND_C_ENTER, ISC_KIND_C_EXIT,
				    ISC_KIND_TASK, ISC_KIND_MISSED};
	uint32_t thread = 1 + (uint32_t)(r % 3), id = (uint32_t)(r >> 8) % 200;

	if ((r >> 32 & 127) == 1)
		feed_window(t, i * 50000, (int)(r >> 60) & 5, (isc_burst_calls[]){{id, 900}, {id / 2, 20}}, 2);
	else if (r >> 32 & 127)
		feed_on(t, thread, r >> 40 & 1, i * 50, kinds[(r >> 16) % 12], id, 0);
	else if (r >> 40 & 1)
		assert_int_equal(isc_totals_lose(t, 1, thread, 0, NULL), ISC_OK);
	else
		feed_on(t, thread, 0, i * 50, ISC_KIND_GOVERNED, r >> 41 & 3 ? id : 0, (int)(r >> 50) % 4);
}

static void a_snapshot_goes_on_where_the_calls_stood(void **state)
{
	isc_totals *straight = fresh(), *halted = fresh(), *next;
	isc_buffer a, b;
	uint64_t seed = 21;

	(void)state;
	for (uint64_t i = 0; i < 60000; i++) {
		uint64_t r = sample_draw(&seed);

		if (i % 5000 == 4999) {
			next = reloaded(halted);
			isc_totals_free(halted);
			halted = next;
		}
		disorder(straight, i, r);
		disorder(halted, i, r);
	}
	a = bytes_of(straight);
	b = bytes_of(halted);
	assert_int_equal(a.len, b.len);
	assert_memory_equal(a.data, b.data, a.len);
	isc_buffer_fini(&a);
	isc_buffer_fini(&b);
	isc_totals_free(straight);
	isc_totals_free(halted);
}

static void a_broken_snapshot_of_calls_is_refused_wherever_it_breaks(void **state)
{
	isc_totals *t = fresh(), *back;
	isc_buffer bytes;
	uint64_t seed = 2;

	(void)state;
	for (uint64_t i = 0; i < 400; i++)
		disorder(t, i, sample_draw(&seed) & ~0xffc0ull);
	bytes = bytes_of(t);
	for (size_t i = 0; i < bytes.len * 20; i++) {
		size_t len = i < bytes.len ? i : bytes.len;
		uint8_t *copy = malloc(len + 1);

		memcpy(copy, bytes.data, len);
		if (i >= bytes.len)
			copy[sample_draw(&seed) % len] = (uint8_t)sample_draw(&seed);
		back = fresh();
		/* Whatever it says: no report of a sanitizer, also when it is fed. */
		if (isc_totals_read(back, copy, len) == ISC_OK) {
			for (uint64_t k = 0; k < 50; k++)
				disorder(back, 400 + k, sample_draw(&seed));
			isc_totals_settle(back, NULL, NULL);
		}
		isc_totals_free(back);
		free(copy);
	}
	isc_buffer_fini(&bytes);
	isc_totals_free(t);
}

static void functions_past_the_bound_are_counted_together(void **state)
{
	const isc_total_function *f;
	uint64_t calls = 0, total = 0;
	isc_totals *t = fresh();
	isc_buffer bytes;

	(void)state;
	isc_totals_bound(t, 20 << 10);
	for (uint32_t i = 0; i < 5000; i++) {
		feed(t, i * 10ull, ENTER, 1 + i);
		feed(t, i * 10ull + 4, EXIT, 1 + i);
	}
	for (uint32_t i = 0; i < 5000; i++)
		feed(t, 60000 + i, ENTER, 3);
	assert_true(t->weight <= t->weight_max + 1024);
	assert_true(isc_totals_folded(t, ISC_FOLDED_FUNCTIONS) > 4000);
	for (size_t i = 0; (f = isc_totals_function_at(t, i)) != NULL; i++) {
		calls += f->calls;
		total += f->self_ticks;
	}
	assert_int_equal(calls, 10000);
	assert_int_equal(total, 20000);
	bytes = bytes_of(t);
	assert_true(bytes.len <= t->weight + 1024);
	isc_buffer_fini(&bytes);
	isc_totals_free(t);
}

/* A file that drops its oldest events still knows every call. */
static void retention_keeps_functions_exact(void **state)
{
	static struct {
		uint32_t stack[40];
		size_t depth;
	} m;
	isc_writer_options options = {.limit_bytes = 1 << 20, .start_ticks = 1, .start_ns = 1};
	char path[64];
	int fd = sample_file(path);
	isc_totals *direct = fresh(), *stored = NULL;
	isc_record batch[256];
	isc_writer *w = NULL;
	isc_trace *tr = NULL;
	uint64_t seed = 4, ticks = 1000;
	const isc_total_function *f, *g;

	(void)state;
	memset(&m, 0, sizeof(m));
	assert_int_equal(isc_writer_open(dup(fd), &options, &w, NULL), ISC_OK);
	for (uint64_t first = 0; first < 2000000; first += 256) {
		isc_trace_run run = {.process = 1, .thread = 1, .first = first, .events = 256, .slots = 256};

		for (uint32_t i = 0; i < 256; i++) {
			uint64_t r = sample_draw(&seed);
			bool down = m.depth == 0 || (m.depth < 40 && r % 2);

			ticks += r >> 40 & 4095;
			if (down)
				m.stack[m.depth++] = (uint32_t)(r >> 8) % 100;
			else
				m.depth--;
			batch[i] =
				(isc_record){ticks, m.stack[down ? m.depth - 1 : m.depth], down ? ENTER : EXIT, 1, 0};
			feed(direct, ticks, batch[i].kind, batch[i].id);
		}
		assert_int_equal(isc_writer_events(w, &run, batch, NULL), ISC_OK);
	}
	assert_int_equal(isc_writer_close(w, &(isc_trace_end){.end_ns = 5}, NULL), ISC_OK);
	assert_int_equal(isc_trace_open(path, &tr, NULL), ISC_OK);
	assert_true(isc_trace_stats_get(tr)->retired_events > 1000000);
	assert_int_equal(isc_trace_totals(tr, &stored, NULL), ISC_OK);
	for (size_t i = 0; (f = isc_totals_function_at(direct, i)) != NULL; i++) {
		g = function(stored, f->code);
		assert_int_equal(f->calls, g->calls);
		assert_int_equal(f->self_ticks, g->self_ticks);
		assert_int_equal(f->total_ticks, g->total_ticks);
		assert_false(g->estimated);
	}
	isc_totals_free(direct);
	isc_totals_free(stored);
	isc_trace_close(tr);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_snapshot_goes_on_where_the_calls_stood),
		cmocka_unit_test(a_broken_snapshot_of_calls_is_refused_wherever_it_breaks),
		cmocka_unit_test(functions_past_the_bound_are_counted_together),
		cmocka_unit_test(retention_keeps_functions_exact),
	};

	return cmocka_run_group_tests_name("calls_stored", tests, NULL, NULL);
}
