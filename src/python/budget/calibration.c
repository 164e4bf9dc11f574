/*
 * calibration.c - what hooks cost on this machine, measured at the start with functions of our own.
 *
 * Against no hook at all: two functions that do nothing are called in turn, one that the hooks see and
 * one that they never do.  What a hook takes of that itself is timed as later in the program, and what is
 * left is the interpreter's part, which only shows here.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "python/glue.h"
#include "python/budget/governor.h"
#include "python/budget/window.h"

#define COST_NS_LEAST 8.0 /* of one event: what no machine goes below */
#define COUNT_NS_LEAST 1.0
#define COST_NS_MOST 400.0 /* what is measured above this was somebody else's time slice */
/* Where it cannot be measured because others watch calls too: as on machines of today. */
#define COST_NS_USUAL 30.0
#define SKIP_NS_USUAL 15.0
#define COUNT_NS_USUAL 15.0
#define PLAIN_NS_USUAL 20.0
#define INSIDE_NS_USUAL 12.0
#define RUNS 12
#define CALLS 100  /* a run; its events fit into one block */
#define TIMED_OF 8 /* one of so many events is timed, in runs that are for that */

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

bool isc_calibration_prepare(void)
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

/* What of an event is inside the hook, timed as later; in ticks. */
static double timed_inside(void)
{
	isc_governor *g = &isc_governor_self;
	int32_t stride = g->stride;
	uint64_t plain, hooked;

	g->quickest = INT64_MAX;
	g->stride = g->countdown = TIMED_OF;
	compare(ISC_WINDOW_TRACED, &plain, &hooked);
	g->stride = g->countdown = stride;
	return g->quickest < INT64_MAX ? (double)g->quickest : 0;
}

static double between(double value, double least, double most)
{
	return value < least ? least : value > most ? most : value;
}

isc_calibration isc_calibration_measure(void)
{
	isc_calibration c = {COST_NS_USUAL, INSIDE_NS_USUAL, SKIP_NS_USUAL, COUNT_NS_USUAL, PLAIN_NS_USUAL, 1};
	double event = 0, inside = 0, skip = 0, count = 0, ns;
	/* A profiler or debugger of the program must not see calls that the program did not make. */
	bool alone = run != NULL && !isc_hook_is_watched();
	uint64_t now;

	if (alone) {
		isc_glue_learn(true);
		isc_hook_arm(called);
		event = added(ISC_WINDOW_TRACED) / 2;
		inside = timed_inside();
	}
	if (run != NULL) {
		isc_hook_mute(called);
		isc_code_set_state(called, ISC_CODE_GOVERNED);
	}
	if (alone) {
		skip = added(ISC_WINDOW_TRACED);
		count = added(ISC_WINDOW_COUNTING);
	}
	Py_CLEAR(run);
	Py_CLEAR(run_plain);
	now = isc_calls_ticks();
	ns = ns_since(&begun);
	c.ticks_per_ns = ns > 0 && now > begun_ticks ? (double)(now - begun_ticks) / ns : 1;
	if (!alone)
		return c;
	c.event_ns = between(event / c.ticks_per_ns, COST_NS_LEAST, COST_NS_MOST);
	c.inside_ns = between(inside / c.ticks_per_ns, 1, c.event_ns);
	c.skip_ns = between(skip / c.ticks_per_ns, 0, COST_NS_MOST);
	c.count_ns = between(count / c.ticks_per_ns, COUNT_NS_LEAST, COST_NS_MOST);
	c.plain_ns = (double)plain_ticks / CALLS / c.ticks_per_ns;
	return c;
}
