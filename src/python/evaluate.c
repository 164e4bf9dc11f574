/*
 * evaluate.c - calls by the frame evaluation hook of PEP 523, before Python 3.12.
 *
 * The hook is taken away for a while in two cases: a stack is nearly used up
 * (pointer.h), and the budget is spent (window.h).
 */
#include "python/calls.h"

#if PY_VERSION_HEX < 0x030c0000

#include "python/governor.h"
#include "python/native.h"
#include "python/pointer.h"
#include "python/task.h"
#include "python/thread.h"
#include "python/window.h"

/* Events of a burst at least, so that switching costs little beside them. */
#define BURST_EVENTS 8000

static uint32_t burst; /* events of this burst, in strides */
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

static __attribute__((noinline)) PyObject *evaluate_generator(PyThreadState *ts, isc_frame *f, int thrown, uint32_t id)
{
	const void *generator;
	PyObject *result;
	bool step;
	uint64_t ticks;

	if (isc_frame_makes_generator(f))
		return isc_pointer_go_on(ts, f, thrown);
	generator = generator_of(f);
	step = (f->f_code->co_flags & CO_COROUTINE) != 0 && isc_task_enter(ts);
	ticks = isc_calls_ticks();
	if (thrown)
		isc_calls_write(ticks, id, ISC_KIND_CALL_RESUME, ISC_CALL_THROWN);
	else
		isc_calls_write(ticks, id, is_first(f) ? ISC_KIND_CALL_ENTER : ISC_KIND_CALL_RESUME, ISC_CALL_SENT);
	isc_governor_count(ticks);
	result = isc_pointer_go_on(ts, f, thrown);
	ticks = isc_calls_ticks();
	isc_calls_write(ticks, id, ISC_KIND_CALL_EXIT,
			result == NULL		 ? ISC_CALL_RAISED
			: has_yielded(generator) ? ISC_CALL_YIELDED
						 : ISC_CALL_RETURNED);
	if (ISC_UNLIKELY(step))
		isc_task_exit(ticks);
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
	isc_code *entry;
	PyObject *result;
	uint64_t ticks;
	uint32_t id;

	if (ISC_UNLIKELY(atomic_load_explicit(&isc_window_mode, memory_order_relaxed) != ISC_WINDOW_TRACED))
		return isc_window_frame(ts, f, thrown);
	entry = isc_code_of(f->f_code);
	if (isc_pointer_near_floor())
		return isc_pointer_step_aside(ts, f, thrown, wanted);
	if (ISC_UNLIKELY(entry == NULL || !isc_code_is_traced(entry))) {
		if (entry != NULL && entry->round != isc_calls_self.round && isc_calls_live())
			isc_code_review(entry);
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
		return evaluate_generator(ts, f, thrown, id);
	ticks = isc_calls_ticks();
	isc_calls_write(ticks, id, ISC_KIND_CALL_ENTER, 0);
	isc_governor_count(ticks);
	result = isc_pointer_go_on(ts, f, thrown);
	ticks = isc_calls_ticks();
	isc_calls_write(ticks, id, ISC_KIND_CALL_EXIT, result != NULL ? ISC_CALL_RETURNED : ISC_CALL_RAISED);
	isc_governor_count(ticks);
	return result;
}

static __attribute__((noinline, cold)) PyObject *leave_with_care(PyObject *result, uint64_t ticks, uint64_t word)
{
	isc_write1(ticks, word);
	isc_governor_count(ticks);
	return result;
}

/* The short way: what is not simple is left to others before anything has happened, so that
 * nothing but the id has to be kept over the call. */
static PyObject *evaluate(PyThreadState *ts, isc_frame *f, int thrown)
{
	const isc_code *entry = isc_code_get(f->f_code);
	PyObject *result;
	uint64_t ticks, word;
	uint32_t id;

	if (!isc_code_has_ticket(entry) ||
	    ISC_UNLIKELY(atomic_load_explicit(&isc_window_mode, memory_order_relaxed) != ISC_WINDOW_TRACED) ||
	    ISC_UNLIKELY((uintptr_t)__builtin_frame_address(0) < isc_pointer_floor) || !isc_calls_wanted() ||
	    ISC_UNLIKELY(isc_governor_self.countdown <= 1))
		return evaluate_with_care(ts, f, thrown);
	id = entry->id;
	if (!isc_write1_usual(isc_calls_tsc(), ISC_RECORD_WORD(id, ISC_KIND_CALL_ENTER, 0)))
		return evaluate_with_care(ts, f, thrown);
	isc_governor_self.countdown--;
	result = _PyEval_EvalFrameDefault(ts, f, thrown);
	ticks = isc_calls_tsc();
	word = ISC_RECORD_WORD(id, ISC_KIND_CALL_EXIT, result != NULL ? ISC_CALL_RETURNED : ISC_CALL_RAISED);
	if (ISC_UNLIKELY(isc_governor_self.countdown <= 1) || !isc_write1_usual(ticks, word))
		return leave_with_care(result, ticks, word);
	isc_governor_self.countdown--;
	return result;
}

/* ---- the budget ------------------------------------------------------- */

void isc_hook_resume(uint64_t ticks)
{
	burst = 0;
	told_pause = false;
	if (isc_calls_live())
		isc_calls_write(ticks, 0, ISC_KIND_GOVERNED, ISC_GOVERNED_TRACED);
}

void isc_hook_settle(uint64_t ticks)
{
	isc_governor *g = &isc_governor_self;
	double window = (double)isc_window_cost(), rest;

	/* Frames that were entered before still leave. */
	if (atomic_load_explicit(&isc_window_mode, memory_order_relaxed) != ISC_WINDOW_TRACED)
		return;
	/* The helper thread went on, which cannot say so. */
	if (told_pause)
		isc_hook_resume(ticks);
	burst += ISC_GOVERNOR_STRIDE;
	if (!g->empty || burst < BURST_EVENTS || g->share <= 0)
		return;
	/* The next burst has to be paid as well, before it begins. */
	rest = (double)g->cost * BURST_EVENTS + window - (double)isc_budget_left();
	if (!isc_window_close((uint64_t)(rest / g->share / g->ticks_per_ns)))
		return;
	isc_governor_spend((uint64_t)window);
	told_pause = true;
	isc_calls_write(ticks, 0, ISC_KIND_GOVERNED, ISC_GOVERNED_OFF);
}

void isc_hook_arm(isc_code *entry)
{
	(void)entry;
}

void isc_hook_count(isc_code *entry)
{
	(void)entry;
}

void isc_governor_forget(isc_code *entry)
{
	(void)entry;
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
	burst = 0;
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
	isc_window_stop();
	isc_pointer_take();
	covered = _PyInterpreterState_GetEvalFrameFunc(PyInterpreterState_Get()) != isc_pointer_self.previous;
}

#endif
