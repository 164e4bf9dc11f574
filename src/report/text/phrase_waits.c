/*
 * phrase_waits.c - the words of causes that a thread waits for.
 */
#include "report/text/phrase_parts.h"

/* "41.2% of each request", these words, and the place. */
static void share_is(isc_phrase *p, const isc_claim *c, const char *words)
{
	isc_phrase_share(p, c);
	isc_buffer_text(&p->text, words);
	isc_phrase_at(p, " in ", &c->place);
}

static void write_gil(isc_phrase *p, const isc_claim *c)
{
	isc_phrase_share(p, c);
	isc_buffer_text(&p->text, " waits for the GIL");
	isc_phrase_held(p, c);
}

static void write_lock(isc_phrase *p, const isc_claim *c)
{
	share_is(p, c, " waits for a lock");
	isc_phrase_held(p, c);
}

static void write_io(isc_phrase *p, const isc_claim *c)
{
	share_is(p, c, " waits for files");
}

static void write_downstream(isc_phrase *p, const isc_claim *c)
{
	share_is(p, c, " waits for answers from outside the program");
}

static void write_sleep(isc_phrase *p, const isc_claim *c)
{
	share_is(p, c, " is slept away");
}

static void write_gc(isc_phrase *p, const isc_claim *c)
{
	share_is(p, c, " goes to collecting garbage");
}

static void write_throttled(isc_phrase *p, const isc_claim *c)
{
	share_is(p, c, " has no CPU because the control group used up its share");
}

static void write_spin(isc_phrase *p, const isc_claim *c)
{
	share_is(p, c, " is spent waiting on a CPU (spinning)");
}

static void write_page_fault(isc_phrase *p, const isc_claim *c)
{
	share_is(p, c, " waits for memory to be read in (page faults)");
}

static void write_swap(isc_phrase *p, const isc_claim *c)
{
	isc_units u;

	isc_phrase_share(p, c);
	isc_buffer_format(&p->text, " waits for memory to come back from swap, where %s MiB of it are",
			  isc_phrase_mib(&u, c, ISC_DETAIL_SWAPPED_BYTES));
	if (isc_claim_number_of(c, ISC_DETAIL_MAJOR_FAULTS) >= 0)
		isc_buffer_format(&p->text, " (%s faults that had to read)",
				  isc_phrase_number(&u, c, ISC_DETAIL_MAJOR_FAULTS));
}

static void write_run_queue(isc_phrase *p, const isc_claim *c)
{
	isc_units u, v;

	isc_phrase_share(p, c);
	isc_buffer_format(&p->text, " waits for a CPU: %s threads of the program want to run at once, on %s %s",
			  isc_phrase_number(&u, c, ISC_DETAIL_WANTING_THREADS),
			  isc_phrase_number(&v, c, ISC_DETAIL_CPUS),
			  isc_claim_number_of(c, ISC_DETAIL_CPUS) == 1 ? "CPU" : "CPUs");
}

static void write_pool(isc_phrase *p, const isc_claim *c)
{
	bool one = isc_claim_number_of(c, ISC_DETAIL_WORKERS) == 1;
	isc_units u;

	isc_phrase_share(p, c);
	isc_buffer_format(&p->text, " waits for a pool of %s %s that %s busy all the time",
			  isc_phrase_number(&u, c, ISC_DETAIL_WORKERS), one ? "thread" : "threads", one ? "is" : "are");
	isc_phrase_at(p, " in ", &c->place);
}

/* Steps of the loop may be few and long, or many and short. */
static void write_loop(isc_phrase *p, const isc_claim *c)
{
	if (isc_claim_number_of(c, ISC_DETAIL_LOOP_WAIT_PCT) >= 0) {
		share_is(p, c, " waits for the event loop, which is busy with synchronous code");
		return;
	}
	isc_buffer_text(&p->text, "the event loop is blocked for ");
	share_is(p, c, " by synchronous code");
}

const isc_phrase_kind isc_phrase_waits[] = {
	{"gil_wait_pct", write_gil, true},
	{"lock_wait_pct", write_lock, true},
	{"io_wait_pct", write_io, false},
	{"downstream_pct", write_downstream, false},
	{"sleep_pct", write_sleep, false},
	{"gc_pct", write_gc, false},
	{"throttled_pct", write_throttled, false},
	{"spin_pct", write_spin, false},
	{"page_fault_pct", write_page_fault, false},
	{"swap_wait_pct", write_swap, false},
	{"oversubscribed_pct", write_run_queue, false},
	{"pool_wait_pct", write_pool, false},
	{"loop_blocked_pct", write_loop, false},
	{0},
};
