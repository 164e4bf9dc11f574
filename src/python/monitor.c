/*
 * monitor.c - calls through sys.monitoring, Python 3.12 and later.
 *
 * Starts are asked for everywhere, the other events of a code object when it
 * has started once and is not left out.  So what is left out costs nothing
 * after its first call.  A start that was disabled stays so, for restart_events()
 * would bring back everything everywhere: calls of governed code objects are
 * counted now and then in another way, window.h.
 */
#include "python/calls.h"

#if PY_VERSION_HEX >= 0x030c0000

#include "python/budget/gate.h"
#include "python/budget/governor.h"
#include "python/native.h"
#include "python/pointer.h"
#include "python/budget/startup.h"
#include "python/task.h"
#include "python/budget/thinning.h"
#include "python/thread.h"
#include "python/budget/window.h"

/* Of the budget, for counting what is not traced. */
#define WINDOWS_SHARE 0.2

enum { START, RESUME, RETURN, YIELD, THROW, UNWIND, CALL, C_RETURN, C_RAISE, EVENTS };

typedef struct callback {
	PyObject_HEAD vectorcallfunc call;
} callback;

static PyObject *disable;    /* sys.monitoring.DISABLE */
static PyObject *set_local;  /* sys.monitoring.set_local_events */
static PyObject *set_global; /* sys.monitoring.set_events */
static PyObject *tool, *no_events, *exit_events, *global_events;
static PyObject *local_events; /* one of these */
static PyObject *python_events, *all_events;
static bool is_on; /* between isc_hook_on() and off */

/* ---- one in some sixty is timed ------------------------------------------ */

/* The call that was drawn last, until it ends.  One at a time: its entry goes the long way meanwhile. */
static struct {
	isc_code *entry; /* NULL: none */
	const void *thread;
	uint64_t begin;
	uint32_t id;
	uint32_t depth; /* calls of the same entry inside it */
} drawn;

static void end_draw(uint64_t ticks)
{
	isc_code *entry = drawn.entry;

	drawn.entry = NULL;
	if (entry != NULL)
		isc_thinning_drawn(entry, drawn.id, ticks - drawn.begin, ticks);
}

/* Written, at this time; the hook has been at it since begin.  One that has not ended by the next draw is a long one. */
static void entered(isc_code *entry, uint64_t begin, uint64_t ticks)
{
	if (ISC_UNLIKELY(drawn.entry == entry) && drawn.thread == &isc_producer_self)
		drawn.depth++;
	if (isc_governor_draws()) {
		isc_governor_timed(isc_calls_ticks() - begin);
		end_draw(ticks);
		if (isc_code_is_traced(entry)) {
			drawn.entry = entry;
			drawn.thread = &isc_producer_self;
			drawn.begin = ticks;
			drawn.id = entry->id;
			drawn.depth = 0;
			entry->ticket = 0;
		}
	}
	isc_governor_count(ticks);
}

static void left(const isc_code *entry, uint64_t ticks)
{
	if (isc_governor_draws())
		isc_governor_timed(isc_calls_ticks() - ticks);
	if (ISC_UNLIKELY(drawn.entry == entry) && drawn.thread == &isc_producer_self && drawn.depth-- == 0)
		end_draw(ticks);
	isc_governor_count(ticks);
}

/* ---- switching -------------------------------------------------------- */

static bool set_events_of(PyCodeObject *code, PyObject *events)
{
	PyObject *args[] = {tool, (PyObject *)code, events};
	PyObject *type, *value, *traceback, *done;
	uint64_t from = isc_calls_ticks();

	PyErr_Fetch(&type, &value, &traceback);
	done = PyObject_Vectorcall(set_local, args, 3, NULL);
	if (done == NULL)
		PyErr_Clear(); /* somebody freed our tool: events have ended */
	Py_XDECREF(done);
	PyErr_Restore(type, value, traceback);
	isc_governor_spend(isc_calls_ticks() - from);
	return done != NULL;
}

void isc_hook_arm(isc_code *entry)
{
	set_events_of(entry->code, local_events);
}

void isc_hook_mute(isc_code *entry)
{
	set_events_of(entry->code, no_events);
}

static bool set_events_everywhere(PyObject *which)
{
	PyObject *args[] = {tool, which};
	PyObject *done = PyObject_Vectorcall(set_global, args, 2, NULL);

	if (done == NULL)
		PyErr_Clear();
	Py_XDECREF(done);
	return done != NULL;
}

/* While some get their events back: the exception that was on its way, and since when. */
static struct {
	PyObject *type, *value, *traceback;
	uint64_t ticks;
} aside;

/* Starts that were disabled come back only to code that was without any event in between, and those are asked for
 * everywhere.  Other code does not notice: it is looked at when it runs next, and has what it had. */
void isc_hook_unmute_begin(void)
{
	aside.ticks = isc_calls_ticks();
	PyErr_Fetch(&aside.type, &aside.value, &aside.traceback);
	set_events_everywhere(no_events);
}

void isc_hook_unmute(isc_code *entry)
{
	set_events_of(entry->code, exit_events);
	set_events_of(entry->code, no_events);
	isc_code_set_state(entry, ISC_CODE_SKIPPED); /* until it starts again */
	entry->round = 0;
}

void isc_hook_unmute_end(void)
{
	if (is_on)
		set_events_everywhere(global_events);
	PyErr_Restore(aside.type, aside.value, aside.traceback);
	isc_governor_spend(isc_calls_ticks() - aside.ticks);
}

/* Governed functions are counted in windows, as long as there are any. */
void isc_hook_thinned(bool thinned)
{
	isc_governor *g = &isc_governor_self;
	double share = isc_budget_share(g->budget_pct) * WINDOWS_SHARE;

	if (!thinned && g->windows > 0) {
		g->windows = 0;
		isc_window_stop();
	} else if (thinned && atomic_load(&isc_window_mode) == ISC_WINDOW_TRACED && share > 0 &&
		   isc_window_close((uint64_t)((double)isc_window_cost() / share / g->ticks_per_ns))) {
		g->windows = WINDOWS_SHARE;
	}
}

/* Making an object enters its __init__ without asking the pointer. */
uint32_t isc_hook_governed_as(const isc_code *entry)
{
	return PyUnicode_CompareWithASCIIString(entry->code->co_name, "__init__") == 0 ? ISC_GOVERNED_UNSEEN
										       : ISC_GOVERNED_OFF;
}

void isc_hook_settle(uint64_t ticks)
{
	(void)ticks;
}

void isc_hook_resume(uint64_t ticks)
{
	(void)ticks;
}

/* ---- the events ------------------------------------------------------- */

static inline PyObject *nothing(void)
{
	return Py_None; /* it is immortal */
}

static inline PyObject *no_more(void)
{
	return Py_NewRef(disable);
}

/* Not wanted now; not again either? */
static __attribute__((noinline, cold)) PyObject *not_live(void)
{
	return isc_calls_over() ? no_more() : nothing();
}

/* The first start of a code object in this round, or one of a kind that is not traced. */
static __attribute__((noinline, cold)) isc_code *first_start(PyCodeObject *code, isc_code *entry)
{
	uint64_t from = isc_calls_ticks();

	if (!PyCode_Check(code) || (entry != NULL && entry->round == isc_calls_self.round))
		return NULL;
	if (entry == NULL) {
		entry = isc_code_see(code);
	} else {
		/* Events that were disabled since come back only to code that had none. */
		set_events_of(code, no_events);
		isc_code_review(entry);
	}
	if (entry == NULL || entry->state != ISC_CODE_TRACED)
		return NULL;
	isc_hook_arm(entry);
	isc_governor_spend(isc_calls_ticks() - from);
	return entry;
}

/* A call begins or goes on, at this time. */
static inline uint64_t enter(const PyCodeObject *code, isc_code *entry)
{
	/* Without its steps nobody would know of a task. */
	if (ISC_UNLIKELY(code->co_flags & CO_COROUTINE) && isc_task_enter(PyThreadState_Get()))
		entry->kept = true;
	return isc_calls_ticks();
}

/* The gate is closed: a call is counted as it begins. */
static inline bool is_passed(isc_code *entry, bool begins)
{
	if (!isc_gate_skips(entry))
		return false;
	/* Its end may not be seen. */
	if (ISC_UNLIKELY(drawn.entry == entry))
		drawn.entry = NULL;
	if (begins)
		isc_thinning_pass(entry);
	if (begins && ISC_UNLIKELY(--isc_governor_self.skips <= 0))
		isc_governor_look(isc_calls_ticks());
	return true;
}

/* The frame that starts is the current one. */
static __attribute__((noinline, cold)) void name_thread(const isc_code *entry)
{
	const isc_frame *f = isc_frame_current(PyThreadState_Get());

	if (f != NULL && isc_frame_code(f) == entry->code)
		isc_thread_named(entry, isc_frame_locals(f));
}

/* All that may come with a start. */
static __attribute__((noinline)) PyObject *start_with_care(PyCodeObject *code, isc_code *entry)
{
	uint64_t begin = isc_calls_ticks(), ticks;
	uint32_t id;

	if (ISC_UNLIKELY(entry == NULL || !isc_code_is_traced(entry))) {
		entry = first_start(code, entry);
		if (entry == NULL)
			return no_more();
	}
	if (ISC_UNLIKELY(!isc_calls_live()))
		return not_live();
	if (ISC_UNLIKELY(entry->naming != ISC_CODE_NAMES_NONE))
		name_thread(entry);
	if (ISC_UNLIKELY(entry->module))
		isc_startup_module(entry, PyThreadState_Get());
	if (ISC_UNLIKELY(entry->unit))
		isc_gate_unit(ISC_GATE_CALL);
	ticks = enter(code, entry);
	isc_thread_look(ticks);
	id = isc_code_id(entry);
	if (entry != drawn.entry)
		isc_code_give_ticket(entry, CO_COROUTINE);
	if (is_passed(entry, true))
		return nothing();
	isc_calls_write(ticks, id, ISC_KIND_CALL_ENTER, 0);
	entered(entry, begin, ticks);
	return isc_code_is_governed(entry) ? no_more() : nothing();
}

/* One that is drawn goes the short way too, from where nothing of it is in the caches yet. */
static __attribute__((noinline)) PyObject *start_drawn(PyObject *code)
{
	uint64_t ticks = isc_calls_ticks();
	isc_code *entry = isc_code_seen(code);

	if (!isc_code_has_ticket(entry) || !isc_calls_wanted() ||
	    !isc_write1_usual(ticks, ISC_RECORD_WORD(entry->id, ISC_KIND_CALL_ENTER, 0)))
		return start_with_care((PyCodeObject *)code, entry);
	entered(entry, ticks, ticks);
	return isc_code_is_governed(entry) ? no_more() : nothing();
}

/* The short way: what is not simple is left to others before anything has happened. */
static PyObject *on_start(PyObject *self, PyObject *const *args, size_t n, PyObject *names)
{
	isc_code *entry;

	(void)self, (void)n, (void)names;
	if (isc_governor_draws())
		return start_drawn(args[0]);
	entry = isc_code_seen(args[0]);
	if (ISC_UNLIKELY(isc_gate_self.closed) && entry != NULL && entry->ticket == isc_calls_self.round &&
	    isc_calls_wanted() && is_passed(entry, true))
		return nothing();
	if (!isc_code_has_ticket(entry) || !isc_calls_wanted() ||
	    !isc_write1_usual(isc_calls_tsc(), ISC_RECORD_WORD(entry->id, ISC_KIND_CALL_ENTER, 0)))
		return start_with_care((PyCodeObject *)args[0], entry);
	isc_governor_self.countdown--;
	return nothing();
}

static inline PyObject *on_resume_by(PyCodeObject *code, uint32_t arg)
{
	isc_code *entry = isc_code_seen((PyObject *)code);
	uint64_t begin = isc_calls_ticks(), ticks;

	if (ISC_UNLIKELY(entry == NULL || !isc_code_is_traced(entry) || !isc_calls_live()))
		return nothing();
	ticks = enter(code, entry);
	if (is_passed(entry, true))
		return nothing();
	isc_calls_write(ticks, isc_code_id(entry), ISC_KIND_CALL_RESUME, arg);
	entered(entry, begin, ticks);
	return nothing();
}

/* Of an event that may be disabled: when tracing is over it comes once more at each place. */
static inline PyObject *local_result(PyObject *result)
{
	if (ISC_LIKELY(!isc_calls_over()))
		return result;
	Py_DECREF(result);
	return no_more();
}

static PyObject *on_resume(PyObject *self, PyObject *const *args, size_t n, PyObject *names)
{
	(void)self, (void)n, (void)names;
	return local_result(on_resume_by((PyCodeObject *)args[0], ISC_CALL_SENT));
}

static PyObject *on_throw(PyObject *self, PyObject *const *args, size_t n, PyObject *names)
{
	(void)self, (void)n, (void)names;
	return on_resume_by((PyCodeObject *)args[0], ISC_CALL_THROWN);
}

/* Never DISABLE: for some of these events that is an error in the program. */
static PyObject *on_exit_by(PyCodeObject *code, uint32_t arg, uint64_t ticks)
{
	isc_code *entry = isc_code_seen((PyObject *)code);

	if (ISC_UNLIKELY(entry == NULL || !isc_code_is_traced(entry)) || ISC_UNLIKELY(!isc_calls_live()) ||
	    is_passed(entry, false))
		return nothing();
	isc_calls_write(ticks, isc_code_id(entry), ISC_KIND_CALL_EXIT, arg);
	if (ISC_UNLIKELY(code->co_flags & CO_COROUTINE) && isc_task_is_step(PyThreadState_Get()))
		isc_task_exit(ticks);
	if (ISC_UNLIKELY(entry->module))
		isc_startup_module_done(entry);
	left(entry, ticks);
	return nothing();
}

static __attribute__((noinline)) PyObject *exit_with_care(PyObject *code, uint32_t arg, uint64_t ticks)
{
	return local_result(on_exit_by((PyCodeObject *)code, arg, ticks));
}

static PyObject *on_return(PyObject *self, PyObject *const *args, size_t n, PyObject *names)
{
	uint64_t ticks = isc_calls_ticks();
	const isc_code *entry = isc_code_seen(args[0]);

	(void)self, (void)n, (void)names;
	if (isc_governor_draws() || !isc_code_has_ticket(entry) || !isc_calls_wanted() ||
	    !isc_write1_usual(ticks, ISC_RECORD_WORD(entry->id, ISC_KIND_CALL_EXIT, ISC_CALL_RETURNED)))
		return exit_with_care(args[0], ISC_CALL_RETURNED, ticks);
	isc_governor_self.countdown--;
	return nothing();
}

static PyObject *on_yield(PyObject *self, PyObject *const *args, size_t n, PyObject *names)
{
	(void)self, (void)n, (void)names;
	return exit_with_care(args[0], ISC_CALL_YIELDED, isc_calls_ticks());
}

static PyObject *on_unwind(PyObject *self, PyObject *const *args, size_t n, PyObject *names)
{
	(void)self, (void)n, (void)names;
	return on_exit_by((PyCodeObject *)args[0], ISC_CALL_RAISED, isc_calls_ticks());
}

/* ---- C functions ------------------------------------------------------ */

static PyObject *on_call(PyObject *self, PyObject *const *args, size_t n, PyObject *names)
{
	(void)self, (void)names;
	isc_native_event(args, n, ISC_KIND_C_ENTER, 0);
	return nothing();
}

static PyObject *on_c_return(PyObject *self, PyObject *const *args, size_t n, PyObject *names)
{
	(void)self, (void)names;
	isc_native_event(args, n, ISC_KIND_C_EXIT, ISC_CALL_RETURNED);
	return nothing();
}

static PyObject *on_c_raise(PyObject *self, PyObject *const *args, size_t n, PyObject *names)
{
	(void)self, (void)names;
	isc_native_event(args, n, ISC_KIND_C_EXIT, ISC_CALL_RAISED);
	return nothing();
}

/* ---- beginning -------------------------------------------------------- */

/* A type of our own: builtin functions check the recursion depth at each call. */
static PyTypeObject callback_type = {
	PyVarObject_HEAD_INIT(NULL, 0).tp_name = "inferscope._core.callback",
	.tp_basicsize = sizeof(callback),
	.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION,
	.tp_call = PyVectorcall_Call,
	.tp_vectorcall_offset = offsetof(callback, call),
};

static const struct {
	const char *name;
	vectorcallfunc call;
	bool local;
	bool native;
} events[EVENTS] = {
	[START] = {"PY_START", on_start, false, false},	  [RESUME] = {"PY_RESUME", on_resume, true, false},
	[RETURN] = {"PY_RETURN", on_return, true, false}, [YIELD] = {"PY_YIELD", on_yield, true, false},
	[THROW] = {"PY_THROW", on_throw, false, false},	  [UNWIND] = {"PY_UNWIND", on_unwind, false, false},
	[CALL] = {"CALL", on_call, true, true},		  [C_RETURN] = {"C_RETURN", on_c_return, false, true},
	[C_RAISE] = {"C_RAISE", on_c_raise, false, true},
};

/* The first free of 5, 4 and 3; below are those of debuggers, coverage and profilers. */
static PyObject *take_tool(PyObject *monitoring)
{
	for (long id = 5; id >= 3; id--) {
		PyObject *done = PyObject_CallMethod(monitoring, "use_tool_id", "ls", id, "inferscope");

		if (done != NULL) {
			Py_DECREF(done);
			return PyLong_FromLong(id);
		}
		PyErr_Clear();
	}
	return NULL;
}

static bool connect(PyObject *monitoring, PyObject *numbers, int which, long *number)
{
	PyObject *event = PyObject_GetAttrString(numbers, events[which].name);
	callback *hook = PyObject_New(callback, &callback_type);
	PyObject *done = NULL;

	if (event != NULL && hook != NULL) {
		hook->call = events[which].call;
		*number = PyLong_AsLong(event);
		done = PyObject_CallMethod(monitoring, "register_callback", "OOO", tool, event, hook);
	}
	Py_XDECREF(done);
	Py_XDECREF(hook);
	Py_XDECREF(event);
	return done != NULL;
}

static bool begin(PyObject *monitoring, PyObject *numbers)
{
	long everywhere = 0, python = 0, native_too = 0, exits = 0, number = 0;

	for (int i = 0; i < EVENTS; i++) {
		if (!connect(monitoring, numbers, i, &number))
			return false;
		if (events[i].local)
			native_too |= number;
		else if (!events[i].native)
			everywhere |= number;
		if (events[i].local && !events[i].native)
			python |= number;
		if (i == RETURN || i == YIELD)
			exits |= number;
	}
	global_events = PyLong_FromLong(everywhere);
	python_events = PyLong_FromLong(python);
	all_events = PyLong_FromLong(native_too);
	exit_events = PyLong_FromLong(exits);
	no_events = PyLong_FromLong(0);
	return global_events != NULL && python_events != NULL && all_events != NULL && exit_events != NULL &&
	       no_events != NULL;
}

bool isc_hook_begin(void)
{
	PyObject *monitoring = PySys_GetObject("monitoring"); /* borrowed */
	PyObject *numbers = monitoring != NULL ? PyObject_GetAttrString(monitoring, "events") : NULL;
	bool good = false;

	if (numbers == NULL || PyType_Ready(&callback_type) < 0)
		goto out;
	disable = PyObject_GetAttrString(monitoring, "DISABLE");
	set_local = PyObject_GetAttrString(monitoring, "set_local_events");
	set_global = PyObject_GetAttrString(monitoring, "set_events");
	if (disable == NULL || set_local == NULL || set_global == NULL)
		goto out;
	tool = take_tool(monitoring);
	good = tool != NULL && begin(monitoring, numbers);
	if (!good && tool != NULL) {
		PyObject *done;

		PyErr_Clear();
		done = PyObject_CallMethod(monitoring, "free_tool_id", "O", tool);
		Py_XDECREF(done);
	}
	if (good) {
		isc_pointer_find(isc_window_frame);
		isc_window_begin();
	}
out:
	PyErr_Clear();
	Py_XDECREF(numbers);
	return good;
}

bool isc_hook_on(void)
{
	static bool all_frames; /* of the last round */

	local_events = isc_calls_self.c_calls ? all_events : python_events;
	isc_thinning_release(isc_calls_ticks());
	drawn.entry = NULL;
	if (!set_events_everywhere(global_events))
		return false;
	is_on = true;
	/* What was left out has its starts disabled, and is wanted now. */
	if (isc_calls_self.all_frames && !all_frames && isc_calls_self.round > 1) {
		PyObject *monitoring = PySys_GetObject("monitoring");
		PyObject *done = monitoring != NULL ? PyObject_CallMethod(monitoring, "restart_events", NULL) : NULL;

		PyErr_Clear();
		Py_XDECREF(done);
	}
	all_frames = isc_calls_self.all_frames;
	return true;
}

bool isc_hook_is_usual(void)
{
	return true;
}

bool isc_hook_is_watched(void)
{
	PyObject *monitoring = PySys_GetObject("monitoring"); /* borrowed */
	const PyThreadState *thread = PyThreadState_Get();
	bool watched = thread->c_profilefunc != NULL || thread->c_tracefunc != NULL;

	for (long id = 0; id <= 5 && monitoring != NULL && !watched; id++) {
		PyObject *events_of = NULL;

		/* An error is a tool that nobody uses. */
		if (id != PyLong_AsLong(tool))
			events_of = PyObject_CallMethod(monitoring, "get_events", "l", id);
		PyErr_Clear();
		watched = events_of != NULL && PyObject_IsTrue(events_of) > 0;
		Py_XDECREF(events_of);
	}
	return watched;
}

void isc_hook_off(void)
{
	is_on = false;
	isc_gate_release(isc_calls_ticks());
	isc_window_stop();
	set_events_everywhere(no_events);
}

#endif
