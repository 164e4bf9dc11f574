/* unit_processes: what the units of processes leave when these have ended. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "sample_trace.h"
#include "trace/writing.h"
#include "unit_text.h"

enum { PROCESSES = 3000, AT_ONCE = 10 };

/* One scope, then a function that is left out; then it has ended. */
static void run_process(isc_writer *w, uint32_t i)
{
	uint64_t ticks = 1000000ull * i;
	const isc_record off = {ticks, 5, ISC_KIND_GOVERNED, 1, ISC_GOVERNED_OFF};
	isc_trace_run run = {.process = i, .thread = i, .first = 2, .events = 1, .slots = 1};
	isc_trace_process p = {.process = i, .pid = i, .start_ns = ticks, .flags = ISC_PROCESS_TRACED};

	CHECK_OK(isc_writer_process(w, &p, NULL));
	sample_scopes(w, i, i, 0, 1, ticks, 7);
	CHECK_OK(isc_writer_events(w, &run, &off, NULL));
	p.flags |= ISC_PROCESS_ENDED;
	p.end_ns = ticks + 1000;
	CHECK_OK(isc_writer_process(w, &p, NULL));
}

TEST(a_process_that_has_ended_leaves_rows_gaps_and_a_count_and_takes_no_memory)
{
	struct listing l = {0};
	const isc_trace_period *row;
	uint64_t units = 0;
	char path[64];
	int fd = sample_file(path);
	isc_writer *w = begin(dup(fd), 0);

	for (uint32_t i = 2; i < PROCESSES + 2; i++) {
		run_process(w, i);
		if (i % AT_ONCE == 0)
			CHECK_OK(isc_writer_flush(w, NULL));
		CHECK(w->units->process_count < 20 * AT_ONCE);
	}
	CHECK_OK(isc_writer_flush(w, NULL));
	CHECK_OK(isc_writer_over_time(w, 1, 1000000ull * (PROCESSES + 2), NULL));
	CHECK_OK(isc_writer_close(w, &(isc_trace_end){.end_ns = 7}, NULL));
	CHECK_OK(isc_trace_open(path, &l.trace, NULL));
	list_trace(&l);
	CHECK_EQ(l.count, PROCESSES);
	CHECK(isc_trace_gap_at(l.trace, PROCESSES - 1) != NULL);
	CHECK_EQ(isc_trace_gap_at(l.trace, PROCESSES), NULL);
	for (size_t i = 0; (row = isc_trace_period_at(l.trace, i)) != NULL; i++)
		units += row->units;
	CHECK_EQ(units, PROCESSES);
	isc_buffer_fini(&l.text);
	isc_trace_close(l.trace);
	close(fd);
}

TEST(a_process_that_lives_keeps_what_is_open_while_it_is_quiet)
{
	struct listing l = {0};
	char path[64];
	int fd = sample_file(path);
	isc_writer *w = begin(dup(fd), 0);
	isc_record r = {1000001, 5, ISC_KIND_GOVERNED, 1, ISC_GOVERNED_OFF};
	isc_trace_run run = {.process = 1, .thread = 1, .events = 1, .slots = 1};

	CHECK_OK(isc_writer_events(w, &run, &r, NULL));
	for (int i = 0; i < 200; i++)
		CHECK_OK(isc_writer_flush(w, NULL));
	run.first = 1;
	r = (isc_record){9000001, 5, ISC_KIND_GOVERNED, 1, ISC_GOVERNED_TRACED};
	CHECK_OK(isc_writer_events(w, &run, &r, NULL));
	CHECK_OK(isc_writer_close(w, &(isc_trace_end){.end_ns = 7}, NULL));
	CHECK_OK(isc_trace_open(path, &l.trace, NULL));
	list_gaps(&l);
	CHECK_TEXT(l.text.data, "gap thinned 1..9\n");
	isc_buffer_fini(&l.text);
	isc_trace_close(l.trace);
	close(fd);
}
