/*
 * random_run.h - a run of some threads that call, wait and collect at random, as a program could: nothing overlaps, and
 * what is open nests.
 */
#ifndef ISC_HARNESS_RANDOM_RUN_H
#define ISC_HARNESS_RANDOM_RUN_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "trace_text.h"

#define RANDOM_RUN_THREADS 3   /* their tids are 100 and so on */
#define RANDOM_RUN_FUNCTIONS 6 /* f0 and so on */
#define RANDOM_RUN_US 20000.0

static uint64_t random_state;

static inline uint32_t random_draw(uint32_t below)
{
	random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(random_state >> 33) % below;
}

/* Calls, waits and collections of a thread. */
static inline void random_run_thread(isc_buffer *text, int thread)
{
	static const char *const waits[] = {"sleep", "mutex", "poll"};
	int stack[16], depth = 0;
	double us = 100.0 + random_draw(300);

	while (us < RANDOM_RUN_US - 3000) {
		unsigned what = random_draw(10);

		us += 1 + random_draw(400);
		if (what < 4 && depth < 16) {
			stack[depth] = (int)random_draw(RANDOM_RUN_FUNCTIONS);
			isc_buffer_format(text, "t%d %.3fms call_enter f%d a.py %d\n", thread, us / 1e3, stack[depth],
					  stack[depth] + 1);
			depth++;
		} else if (what < 7 && depth > 0) {
			depth--;
			isc_buffer_format(text, "t%d %.3fms call_exit f%d a.py %d\n", thread, us / 1e3, stack[depth],
					  stack[depth] + 1);
		} else if (what < 9) {
			const char *wait = waits[random_draw(3)];
			unsigned long_us = 20 + random_draw(2500);

			isc_buffer_format(text, "t%d %.3fms wait_enter %s \"g a.py 1 3\"\n", thread, us / 1e3, wait);
			us += long_us;
			isc_buffer_format(text, "t%d %.3fms wait_exit %s %uus 0 \"g a.py 1 3\"\n", thread, us / 1e3,
					  wait, long_us);
		} else {
			unsigned long_us = 20 + random_draw(900);

			us += long_us;
			isc_buffer_format(text, "t%d %.3fms gc 2 %uus 0\n", thread, us / 1e3, long_us);
		}
	}
	/* Some end in the middle of a call, or of a wait. */
	if (random_draw(2) == 0)
		isc_buffer_format(text, "t%d %.3fms wait_enter poll \"g a.py 1 3\"\n", thread, us / 1e3 + 0.5);
}

/* The same for the same seed.  What is drawn afterwards follows from it too. */
static inline isc_trace *random_run(uint64_t seed)
{
	isc_buffer text = {0};
	isc_trace *trace = NULL;
	isc_error err = {0};

	random_state = seed;
	isc_buffer_format(&text,
			  "meta {\"argv\": [\"serve\"], \"perf\": \"ok\", \"waits\": true}\n"
			  "p1 pid=100 root traced python end=%.3fms status=0 argv serve\n",
			  RANDOM_RUN_US / 1e3);
	for (int t = 1; t <= RANDOM_RUN_THREADS; t++)
		isc_buffer_format(&text, "t%d p1 tid=%d%s name=n%d end=%.3fms\n", t, 99 + t, t == 1 ? " main" : "", t,
				  RANDOM_RUN_US / 1e3);
	for (int t = 1; t <= RANDOM_RUN_THREADS; t++)
		random_run_thread(&text, t);
	isc_buffer_format(&text, "end %.3fms status=0\n", RANDOM_RUN_US / 1e3);
	if (trace_text_open(text.data, &trace, &err) != ISC_OK)
		fail_msg("%s", err.what);
	isc_buffer_fini(&text);
	return trace;
}

#endif
