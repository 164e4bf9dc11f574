/*
 * evaluate.c - calls by the frame evaluation hook of PEP 523, before Python 3.12.
 *
 * A governed function is evaluated at once and counted.  The hook is taken away for
 * a while in two cases: a stack is nearly used up (pointer.h), and the budget is spent
 * so far that even a hook which does nothing costs too much (window.h).
 */
#include "python/calls.h"

#if PY_VERSION_HEX < 0x030c0000

#include "python/budget/gate.h"
#include "python/budget/governor.h"
#include "python/native.h"
#include "python/pointer.h"
#include "python/budget/startup.h"
#include "python/task.h"
#include "python/budget/thinning.h"
#include "python/thread.h"
#include "python/budget/window.h"

/* Events of a burst at least, so that switching costs little beside them. */
#define BURST_EVENTS 8000
/* Leaving functions out was not enough when the budget of so much time is owed; and for how long everything is then
 * recorded in bursts, before it is tried again. */
#define LAST_RESORT_NS 140e6
#define BURSTS_NS 5e9

static uint64_t burst_spent; /* isc_budget_self.spent when this burst began */
static uint64_t bursts_from; /* ticks when the first one ended */
static bool told_pause;
static bool covered; /* somebody had put his hook over ours when we took it away */

/* ---- the frame -------------------------------------------------------- */

#if PY_VERSION_HEX >= 0x030b0000

#define RETURN_GENERATOR_OPCODE 75 /* of 3.11; the opcodes are in no header that can be had here */

static inline bool is_first(const isc_frame *f)
{
	return _Py_OPCODE(*f->prev_instr) == RETURN_GENERATOR_OPCODE;
}

static inline PyGenObject *generator_of(isc_frame *f)
{
	return (PyGenObject *)((char *)f - offsetof(PyGenObject, gi_iframe));
}

/* The caller of gen.send() holds the generator, so it is there even if its frame is not. */
static inline bool has_yielded(const void *generator)
{
	return ((const PyGenObject *)generator)->gi_frame_state == FRAME_SUSPENDED;
}

#else

static inline bool is_first(const isc_frame *f)
{
	return f->f_lasti < 0;
}

/* The frame itself: its generator keeps it until after the evaluation. */
static inline void *generator_of(isc_frame *f)
{
	return f;
}

static inline bool has_yielded(const void *generator)
{
#if PY_VERSION_HEX >= 0x030a0000
	return ((const PyFrameObject *)generator)->f_state == FRAME_SUSPENDED;
#else
	return ((const PyFrameObject *)generator)->f_stacktop != NULL;
#endif
}

#endif

/* ---- one in some sixty is timed ------------------------------------------ */

/* A call that is drawn: how long did the hook take, and how long does the call? */
typedef struct draw {
	isc_code *entry; /* NULL: it is not */
	uint64_t begin;
	uint32_t id;
} draw;

/* Written, at this time; the hook has been at it since begin. */
static inline draw drawn_in(isc_code *entry, uint32_t id, uint64_t begin, uint64_t ticks)
{
	draw d = {isc_governor_draws() ? entry : NULL, ticks, id};

	if (d.entry != NULL)
		isc_governor_timed(isc_calls_ticks() - begin);
	isc_governor_count(ticks);
	return d;
}

static inline void drawn_out(const draw *d, uint64_t ticks)
{
	if (isc_governor_draws())
		isc_governor_timed(isc_calls_ticks() - ticks);
	isc_governor_count(ticks);
	if (ISC_UNLIKELY(d->entry != NULL))
		isc_thinning_drawn(d->entry, d->id, ticks - d->begin, ticks);
}

/* ---- calls that are only counted ------------------------------------------ */

static inline void count_one(void)
{
	if (ISC_UNLIKELY(--isc_governor_self.skips <= 0))
		isc_governor_look(isc_calls_ticks());
}

/* One of a governed function. */
static inline void count_skipped(isc_code *entry)
{
	entry->skipped++;
	count_one();
}

/* One that comes while the gate is closed. */
static inline void count_passed(isc_code *entry)
{
	isc_thinning_pass(entry);
	count_one();
}

/* ---- a call -------------------------------------------------------------- */

static __attribute__((noinline)) PyObject *evaluate_generator(PyThreadState *ts, isc_frame *f, int thrown,
							      isc_code *entry, uint32_t id, uint64_t begin)
{
	const void *generator;
	PyObject *result;
	bool step;
	uint64_t ticks;
	draw d;

	if (isc_frame_makes_generator(f))
		return isc_pointer_go_on(ts, f, thrown);
	generator = generator_of(f);
	step = (f->f_code->co_flags & CO_COROUTINE) != 0 && isc_task_enter(ts);
	/* Without its steps nobody would know of the task. */
	entry->kept |= step;
	if (ISC_UNLIKELY(entry->unit) && is_first(f))
		isc_gate_unit(ISC_GATE_CALL);
	if (isc_gate_skips(entry)) {
		count_passed(entry);
		return isc_pointer_go_on(ts, f, thrown);
	}
	ticks = isc_calls_ticks();
	if (thrown)
		isc_calls_write(ticks, id, ISC_KIND_CALL_RESUME, ISC_CALL_THROWN);
	else
		isc_calls_write(ticks, id, is_first(f) ? ISC_KIND_CALL_ENTER : ISC_KIND_CALL_RESUME, ISC_CALL_SENT);
	d = drawn_in(entry, id, begin, ticks);
	result = isc_pointer_go_on(ts, f, thrown);
	ticks = isc_calls_ticks();
	isc_calls_write(ticks, id, ISC_KIND_CALL_EXIT,
			result == NULL		 ? ISC_CALL_RAISED
			: has_yielded(generator) ? ISC_CALL_YIELDED
						 : ISC_CALL_RETURNED);
	if (ISC_UNLIKELY(step))
		isc_task_exit(ticks);
	drawn_out(&d, ticks);
	return result;
}

/* The code of a module: is it being imported? */
static __attribute__((noinline, cold)) PyObject *evaluate_module(PyThreadState *ts, isc_frame *f, int thrown,
								 isc_code *entry, uint32_t id)
{
	const PyCodeObject *code = f->f_code;
	uint64_t ticks;
	PyObject *result;

	isc_startup_module(entry, ts);
	ticks = isc_calls_ticks();
	isc_calls_write(ticks, id, ISC_KIND_CALL_ENTER, 0);
	isc_governor_count(ticks);
	result = isc_pointer_go_on(ts, f, thrown);
	ticks = isc_calls_ticks();
	isc_calls_write(ticks, id, ISC_KIND_CALL_EXIT, result != NULL ? ISC_CALL_RETURNED : ISC_CALL_RAISED);
	/* It is still there if its code is: whoever runs a module holds that. */
	if (entry->code == code)
		isc_startup_module_done(entry);
	isc_governor_count(ticks);
	return result;
}

static bool wanted(void)
{
	uint32_t mode = atomic_load(&isc_window_mode);

	return mode == ISC_WINDOW_TRACED || mode == ISC_WINDOW_COUNTING;
}

/* All that may come with a call. */
static __attribute__((noinline)) PyObject *evaluate_with_care(PyThreadState *ts, isc_frame *f, int thrown)
{
	uint64_t begin = isc_calls_ticks(), ticks;
	isc_code *entry;
	PyObject *result;
	uint32_t id;
	draw d;

	if (ISC_UNLIKELY(atomic_load_explicit(&isc_window_mode, memory_order_relaxed) != ISC_WINDOW_TRACED))
		return isc_window_frame(ts, f, thrown);
	entry = isc_code_of(f->f_code);
	if (isc_pointer_near_floor())
		return isc_pointer_step_aside(ts, f, thrown, wanted);
	if (ISC_UNLIKELY(entry == NULL || !isc_code_is_traced(entry))) {
		if (entry != NULL && entry->round != isc_calls_self.round && isc_calls_live())
			isc_code_review(entry);
		if (entry != NULL && isc_code_is_governed(entry) && isc_calls_live() &&
		    ((f->f_code->co_flags & ISC_CODE_GENERATORS) == 0 || !isc_frame_makes_generator(f))) {
			count_skipped(entry);
			return isc_pointer_go_on(ts, f, thrown);
		}
		if (entry == NULL || !isc_code_is_traced(entry))
			return isc_pointer_go_on(ts, f, thrown);
	}
	if (ISC_UNLIKELY(!isc_calls_live())) {
		if (isc_calls_over())
			isc_pointer_take();
		return isc_pointer_go_on(ts, f, thrown);
	}
	if (ISC_UNLIKELY(isc_calls_self.c_calls))
		isc_native_watch(ts);
	if (ISC_UNLIKELY(entry->naming != ISC_CODE_NAMES_NONE))
		isc_thread_named(entry, isc_frame_locals(f));
	else
		isc_thread_look(isc_calls_ticks());
	/* Kept here: the code object may be gone when its frame returns. */
	id = isc_code_id(entry);
	isc_code_give_ticket(entry, ISC_CODE_GENERATORS);
	if (ISC_UNLIKELY(f->f_code->co_flags & ISC_CODE_GENERATORS))
		return evaluate_generator(ts, f, thrown, entry, id, begin);
	if (ISC_UNLIKELY(entry->unit))
		isc_gate_unit(ISC_GATE_CALL);
	if (isc_gate_skips(entry)) {
		count_passed(entry);
		return isc_pointer_go_on(ts, f, thrown);
	}
	if (ISC_UNLIKELY(entry->module))
		return evaluate_module(ts, f, thrown, entry, id);
	ticks = isc_calls_ticks();
	isc_calls_write(ticks, id, ISC_KIND_CALL_ENTER, 0);
	d = drawn_in(entry, id, begin, ticks);
	result = isc_pointer_go_on(ts, f, thrown);
	ticks = isc_calls_ticks();
	isc_calls_write(ticks, id, ISC_KIND_CALL_EXIT, result != NULL ? ISC_CALL_RETURNED : ISC_CALL_RAISED);
	drawn_out(&d, ticks);
	return result;
}

static __attribute__((noinline, cold)) PyObject *leave_with_care(PyObject *result, uint64_t ticks, uint64_t word)
{
	const draw none = {NULL, 0, 0};

	isc_write1(ticks, word);
	drawn_out(&none, ticks);
	return result;
}

/* One that is drawn goes the short way too, from where nothing of it is in the caches yet, between two clock reads; of
 * which the hook takes one as well. */
static __attribute__((noinline)) PyObject *evaluate_drawn(PyThreadState *ts, isc_frame *f, int thrown)
{
	uint64_t ticks = isc_calls_ticks(), word;
	isc_code *entry = isc_code_get(f->f_code);
	PyObject *result;
	uint32_t id;
	draw d;

	if (!isc_code_has_ticket(entry) ||
	    atomic_load_explicit(&isc_window_mode, memory_order_relaxed) != ISC_WINDOW_TRACED ||
	    (uintptr_t)__builtin_frame_address(0) < isc_pointer_floor || !isc_calls_wanted())
		return evaluate_with_care(ts, f, thrown);
	id = entry->id;
	if (!isc_write1_usual(ticks, ISC_RECORD_WORD(id, ISC_KIND_CALL_ENTER, 0)))
		return evaluate_with_care(ts, f, thrown);
	d = drawn_in(entry, id, ticks, ticks);
	result = _PyEval_EvalFrameDefault(ts, f, thrown);
	ticks = isc_calls_tsc();
	word = ISC_RECORD_WORD(id, ISC_KIND_CALL_EXIT, result != NULL ? ISC_CALL_RETURNED : ISC_CALL_RAISED);
	isc_write1(ticks, word);
	drawn_out(&d, ticks);
	return result;
}

/* Governed, or the gate is closed: nothing is written.  False: it is not as simple as that. */
static inline bool is_skipped(isc_code *entry, const isc_frame *f)
{
	bool governed = entry != NULL && isc_code_is_governed(entry);

	if (entry == NULL || isc_calls_self.ticket == ISC_TICKET_NOBODYS ||
	    (!governed && !(isc_gate_skips(entry) && entry->ticket == isc_calls_self.round)) ||
	    (f->f_code->co_flags & ISC_CODE_GENERATORS) != 0 ||
	    ISC_UNLIKELY(atomic_load_explicit(&isc_window_mode, memory_order_relaxed) != ISC_WINDOW_TRACED) ||
	    ISC_UNLIKELY((uintptr_t)__builtin_frame_address(0) < isc_pointer_floor) || !isc_calls_wanted())
		return false;
	if (governed)
		count_skipped(entry);
	else
		count_passed(entry);
	return true;
}

/* The short way: what is not simple is left to others before anything has happened, so that
 * nothing but the id has to be kept over the call. */
static PyObject *evaluate(PyThreadState *ts, isc_frame *f, int thrown)
{
	isc_code *entry;
	PyObject *result;
	uint64_t ticks, word;
	uint32_t id;

	if (isc_governor_draws())
		return evaluate_drawn(ts, f, thrown);
	entry = isc_code_get(f->f_code);
	if (!isc_code_has_ticket(entry)) {
		if (is_skipped(entry, f))
			return _PyEval_EvalFrameDefault(ts, f, thrown);
		return evaluate_with_care(ts, f, thrown);
	}
	if (ISC_UNLIKELY(atomic_load_explicit(&isc_window_mode, memory_order_relaxed) != ISC_WINDOW_TRACED) ||
	    ISC_UNLIKELY((uintptr_t)__builtin_frame_address(0) < isc_pointer_floor) || !isc_calls_wanted())
		return evaluate_with_care(ts, f, thrown);
	id = entry->id;
	if (!isc_write1_usual(isc_calls_tsc(), ISC_RECORD_WORD(id, ISC_KIND_CALL_ENTER, 0)))
		return evaluate_with_care(ts, f, thrown);
	isc_governor_self.countdown--;
	result = _PyEval_EvalFrameDefault(ts, f, thrown);
	ticks = isc_calls_tsc();
	word = ISC_RECORD_WORD(id, ISC_KIND_CALL_EXIT, result != NULL ? ISC_CALL_RETURNED : ISC_CALL_RAISED);
	if (isc_governor_draws() || !isc_write1_usual(ticks, word))
		return leave_with_care(result, ticks, word);
	isc_governor_self.countdown--;
	return result;
}

/* ---- the budget ------------------------------------------------------- */

void isc_hook_resume(uint64_t ticks)
{
	burst_spent = atomic_load_explicit(&isc_budget_self.spent, memory_order_relaxed);
	told_pause = false;
	if (isc_calls_live())
		isc_calls_write(ticks, 0, ISC_KIND_GOVERNED, ISC_GOVERNED_TRACED);
}

void isc_hook_settle(uint64_t ticks)
{
	isc_governor *g = &isc_governor_self;
	double window = (double)isc_window_cost(), share, owed, rest;
	uint64_t spent;

	/* Frames that were entered before still leave. */
	if (atomic_load_explicit(&isc_window_mode, memory_order_relaxed) != ISC_WINDOW_TRACED)
		return;
	/* The helper thread went on, which cannot say so. */
	if (told_pause)
		isc_hook_resume(ticks);
	if (g->bursting && (double)(ticks - bursts_from) > BURSTS_NS * g->ticks_per_ns)
		g->bursting = false;
	spent = atomic_load_explicit(&isc_budget_self.spent, memory_order_relaxed) - burst_spent;
	share = isc_budget_share(g->budget_pct);
	owed = g->bursting ? 0 : LAST_RESORT_NS * g->ticks_per_ns * share;
	if (!g->bursting && (g->hooks_share < share || isc_startup_imports(ticks)))
		return;
	if (-(double)isc_budget_left() <= owed || (double)spent < (double)g->cost * BURST_EVENTS || share <= 0)
		return;
	/* The next burst has to be paid as well, before it begins. */
	rest = (double)g->cost * BURST_EVENTS + window - (double)isc_budget_left();
	if (!isc_window_close((uint64_t)(rest / share / g->ticks_per_ns)))
		return;
	isc_governor_spend((uint64_t)window);
	/* A burst shows everything, and what is left out of it would be found nowhere. */
	if (!g->bursting) {
		isc_gate_release(ticks);
		isc_thinning_release(ticks);
		bursts_from = ticks;
	}
	told_pause = g->bursting = true;
	isc_calls_write(ticks, 0, ISC_KIND_GOVERNED, ISC_GOVERNED_OFF);
}

void isc_hook_arm(isc_code *entry)
{
	(void)entry;
}

void isc_hook_mute(isc_code *entry)
{
	(void)entry;
}

void isc_hook_unmute_begin(void)
{
}

void isc_hook_unmute(isc_code *entry)
{
	isc_code_set_state(entry, ISC_CODE_TRACED);
}

void isc_hook_unmute_end(void)
{
}

void isc_hook_thinned(bool thinned)
{
	(void)thinned;
}

uint32_t isc_hook_governed_as(const isc_code *entry)
{
	(void)entry;
	return ISC_GOVERNED_COUNTED;
}

bool isc_hook_begin(void)
{
	isc_window_begin();
	return true;
}

bool isc_hook_on(void)
{
	_PyFrameEvalFunction now = _PyInterpreterState_GetEvalFrameFunc(PyInterpreterState_Get());

	told_pause = false;
	burst_spent = atomic_load_explicit(&isc_budget_self.spent, memory_order_relaxed);
	if (now == evaluate)
		return true;
	/* Whoever came while we were there calls us still, and with him below us as well
	 * there would be no end to it. */
	if (covered && now != _PyEval_EvalFrameDefault)
		return true;
	covered = false;
	if (!isc_pointer_find(evaluate))
		return false;
	isc_pointer_put();
	return true;
}

bool isc_hook_is_usual(void)
{
	return !isc_calls_self.c_calls && isc_pointer_self.previous == _PyEval_EvalFrameDefault;
}

bool isc_hook_is_watched(void)
{
	const PyThreadState *thread = PyThreadState_Get();

	return thread->c_profilefunc != NULL || thread->c_tracefunc != NULL;
}

void isc_hook_off(void)
{
	if (told_pause && isc_calls_live())
		isc_calls_write(isc_calls_ticks(), 0, ISC_KIND_GOVERNED, ISC_GOVERNED_TRACED);
	told_pause = false;
	isc_gate_release(isc_calls_ticks());
	isc_thinning_release(isc_calls_ticks());
	isc_window_stop();
	isc_pointer_take();
	covered = _PyInterpreterState_GetEvalFrameFunc(PyInterpreterState_Get()) != isc_pointer_self.previous;
}

#endif
