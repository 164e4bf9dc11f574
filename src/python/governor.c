#include "python/governor.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "python/thread.h"
#include "python/window.h"

#define BUCKET_NS 70e6	  /* the budget of so much time may be spent at once */
#define COST_NS_LEAST 8.0 /* of one event: what no machine goes below */
#define COUNT_NS_LEAST 1.0
#define COST_NS_MOST 400.0 /* what is measured above this was somebody else's time slice */
/* Where it cannot be measured because others watch calls too: as on machines of today. */
#define COST_NS_USUAL 30.0
#define COUNT_NS_USUAL 15.0
#define PLAIN_NS_USUAL 20.0
/* What an event costs later and no measurement of calls shows: a page touched first or a
 * line gone cold, and the recorder, which may share the core. */
#define LATER_NS 30.0
/* Before 3.12 the interpreter gives up its quick calls where it meets a hook, and takes a while to come back to them
 * when the hook is gone: by so much an event costs more than while it is there (bench/, call-dense Python in turns). */
#if PY_VERSION_HEX < 0x030c0000
#define AFTER 2.5
#else
#define AFTER 1.0
#endif
/* Events that come apart find our code and data gone from the caches.  What that adds to
 * one, and from which distance to the one before (bench/, a decoder). */
#define COLD_NS 85.0
#define COLD_GAP_NS 7500.0
#define MOVED_NS 7000.0	    /* and what all of it has to come from another core for, when threads take turns */
#define STRIDE_WITHOUT 1024 /* events between two looks where there is no budget to look after */
#define RUNS 12
#define CALLS 100 /* a run; its events fit into one block */

isc_governor isc_governor_self = {.countdown = ISC_GOVERNOR_STRIDE};

/* Call f, and g, CALLS times; only while measuring.  Call sites get used to hooks,
 * and are slower without them for a while: g never meets any. */
static PyObject *run, *run_plain;
static isc_code *called;     /* f */
static uint64_t plain_ticks; /* the quickest run of g */
static uint64_t begun_ticks;
static struct timespec begun;

/* Takes records like a thread's own, and keeps them from the trace. */
struct scratch {
	isc_producer producer;
	isc_slot slot;
	isc_block block;
};

static void scratch_init(struct scratch *s)
{
	memset(s, 0, sizeof(*s));
	s->producer.gen = atomic_load_explicit(&isc_wiped_page->gen, memory_order_relaxed);
	s->producer.slots = &s->slot;
	s->producer.stream[0].block = &s->block;
	s->producer.stream[0].limit = ISC_BLOCK_SLOTS;
	/* A handler that interrupts us must not write into the second stream, which has no pool. */
	atomic_store_explicit(&s->producer.stream[1].busy, UINTPTR_MAX, memory_order_relaxed);
}

/* One run, which may be the quickest, in ticks. */
static bool is_run(PyObject *function, struct scratch *s, uint64_t *best)
{
	isc_producer *own = isc_producer_self;
	uint64_t from, took;
	PyObject *done;

	s->producer.stream[0].commit = 0;
	isc_producer_self = &s->producer;
	from = isc_calls_ticks();
	done = PyObject_CallObject(function, NULL);
	took = isc_calls_ticks() - from;
	isc_producer_self = own;
	if (done == NULL)
		PyErr_Clear();
	Py_XDECREF(done);
	*best = took < *best ? took : *best;
	return done != NULL;
}

/*
 * What a call takes without hooks, and with what this mode adds, in ticks of the
 * quickest run; false: it cannot be told.  In turn, for the machine may be
 * quicker at one time than at another.
 */
static bool compare(enum isc_window_mode mode, uint64_t *plain, uint64_t *hooked)
{
	struct scratch *s = aligned_alloc(64, (sizeof(*s) + 63) / 64 * 64);
	bool good = s != NULL;

	*plain = *hooked = UINT64_MAX;
	if (good)
		scratch_init(s);
	for (int i = 0; i < RUNS && good; i++) {
		isc_window_try(ISC_WINDOW_OFF);
		good = is_run(run_plain, s, plain);
		isc_window_try(mode);
		good = good && is_run(run, s, hooked);
	}
	isc_window_try(ISC_WINDOW_TRACED);
	free(s);
	return good;
}

static isc_code *see(PyObject *function, enum isc_code_state state)
{
	isc_code *entry = NULL;

	if (function != NULL && PyFunction_Check(function))
		entry = isc_code_see((PyCodeObject *)PyFunction_GET_CODE(function));
	if (entry != NULL) {
		entry->id = UINT32_MAX; /* never written to the trace */
		isc_code_set_state(entry, state);
	}
	return entry;
}

bool isc_governor_prepare(void)
{
	static const char source[] = "def f(): pass\ndef g(): pass\n"
				     "def run():\n for _ in calls: f()\ndef run_plain():\n for _ in calls: g()\n";
	PyObject *names = PyDict_New(), *code = NULL, *done = NULL, *calls = NULL;
	bool good = false;

	clock_gettime(CLOCK_MONOTONIC, &begun);
	begun_ticks = isc_calls_ticks();
	if (names == NULL)
		goto out;
	code = Py_CompileString(source, "<inferscope>", Py_file_input);
	calls = PyObject_CallFunction((PyObject *)&PyRange_Type, "i", CALLS);
	if (code == NULL || calls == NULL || PyDict_SetItemString(names, "calls", calls) < 0 ||
	    PyDict_SetItemString(names, "__builtins__", PyEval_GetBuiltins()) < 0)
		goto out;
	done = PyEval_EvalCode(code, names, names);
	run = PyDict_GetItemString(names, "run");
	run_plain = PyDict_GetItemString(names, "run_plain");
	Py_XINCREF(run);
	Py_XINCREF(run_plain);
	called = see(PyDict_GetItemString(names, "f"), ISC_CODE_TRACED);
	good = done != NULL && called != NULL && see(PyDict_GetItemString(names, "g"), ISC_CODE_SKIPPED) != NULL &&
	       see(run, ISC_CODE_SKIPPED) != NULL && see(run_plain, ISC_CODE_SKIPPED) != NULL;
out:
	if (!good) {
		PyErr_Clear();
		Py_CLEAR(run);
		Py_CLEAR(run_plain);
	}
	Py_XDECREF(done);
	Py_XDECREF(calls);
	Py_XDECREF(code);
	Py_XDECREF(names);
	return good;
}

static double ns_since(const struct timespec *from)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - from->tv_sec) * 1e9 + (double)(now.tv_nsec - from->tv_nsec);
}

/* What the hooks of this mode add to a call, in ticks; 0: it cannot be told. */
static double added(enum isc_window_mode mode)
{
	uint64_t hooked;

	return compare(mode, &plain_ticks, &hooked) && hooked > plain_ticks ? (double)(hooked - plain_ticks) / CALLS
									    : 0;
}

static double between(double value, double least, double most)
{
	return value < least ? least : value > most ? most : value;
}

/* What hooks add to a call, traced and counted, in ticks; 0: it cannot be told. */
static void try_hooks(double *per_event, double *per_count)
{
	isc_hook_arm(called);
	*per_event = added(ISC_WINDOW_TRACED) / 2;
	isc_hook_count(called);
	*per_count = added(ISC_WINDOW_COUNTING);
}

/* What an event costs, and how long a tick is. */
static void measure(void)
{
	isc_governor *g = &isc_governor_self;
	double per_event = 0, per_count = 0, ns, cost_ns, count_ns, plain_ns;
	/* A profiler or debugger of the program must not see calls that the program did not make. */
	bool alone = run != NULL && !isc_hook_is_watched();
	uint64_t now;

	if (alone)
		try_hooks(&per_event, &per_count);
	else if (run != NULL)
		isc_hook_count(called);
	Py_CLEAR(run);
	Py_CLEAR(run_plain);
	now = isc_calls_ticks();
	ns = ns_since(&begun);
	g->ticks_per_ns = ns > 0 && now > begun_ticks ? (double)(now - begun_ticks) / ns : 1;
	cost_ns = alone ? between(per_event / g->ticks_per_ns, COST_NS_LEAST, COST_NS_MOST) * AFTER : COST_NS_USUAL;
	count_ns = alone ? between(per_count / g->ticks_per_ns, COUNT_NS_LEAST, COST_NS_MOST) : COUNT_NS_USUAL;
	plain_ns = alone ? (double)plain_ticks / CALLS / g->ticks_per_ns : PLAIN_NS_USUAL;
	isc_window_calibrate(count_ns, plain_ns);
	g->cost = (int64_t)((cost_ns + LATER_NS) * g->ticks_per_ns) + 1;
	if (isc_calls_live())
		isc_calls_write(now, (uint32_t)(cost_ns * 2 * 16), ISC_KIND_GOVERNED, ISC_GOVERNED_COST);
}

void isc_governor_begin(bool first, double budget_pct)
{
	isc_governor *g = &isc_governor_self;

	if (first)
		measure();
	g->on = budget_pct >= 0;
	g->share = budget_pct / 100;
	g->most = (int64_t)(BUCKET_NS * g->ticks_per_ns * g->share);
	/* Without a budget nobody looks into it. */
	if (g->on)
		isc_budget_set(g->most);
	g->worked = isc_budget_worked(isc_calls_ticks());
	g->watching = g->empty = false;
	g->countdown = g->on ? ISC_GOVERNOR_STRIDE : STRIDE_WITHOUT;
}

/* What so many events cost above warm ones when they come in so many ticks. */
static double cold(double events, double ticks)
{
	static const void *thread; /* at the last look */
	double per_ns = isc_governor_self.ticks_per_ns;
	double cost = between(ticks * (COLD_NS / COLD_GAP_NS), 0, events * COLD_NS * per_ns);

	if (thread != &isc_producer_self)
		cost += MOVED_NS * per_ns;
	thread = &isc_producer_self;
	return cost;
}

void isc_governor_look(uint64_t ticks)
{
	isc_governor *g = &isc_governor_self;
	double time, events = ISC_GOVERNOR_STRIDE - g->countdown;
	uint64_t worked;
	int64_t left;

	if (isc_calls_live())
		isc_thread_look(ticks);
	if (!g->on) {
		g->countdown = STRIDE_WITHOUT;
		return;
	}
	g->countdown = ISC_GOVERNOR_STRIDE;
	worked = isc_budget_worked(ticks);
	time = worked > g->worked ? (double)(worked - g->worked) : 0;
	g->worked = worked;
	isc_budget_take((int64_t)(events * (double)g->cost + cold(events, time)));
	left = isc_budget_fill((int64_t)(time * g->share));
	atomic_store_explicit(&isc_budget_self.filled, ticks, memory_order_relaxed);
	g->empty = left < 0;
	g->watching = left < g->most / 2;
	isc_hook_settle(ticks);
}
