/*
 * evaluate.c - calls by the frame evaluation hook of PEP 523, before Python 3.12.
 *
 * Whoever had the hook before us is called by ours; who comes later finds ours
 * and calls it.  The pointer is changed only while it is what we left there.
 *
 * It is taken away for a while in two cases: a stack is nearly used up (with
 * the hook in place every Python call takes some of the C stack, on 3.11 where
 * it would have taken none), and the budget is spent.
 */
#include "python/calls.h"

#if PY_VERSION_HEX < 0x030c0000

#define Py_BUILD_CORE 1
#undef _PyGC_FINALIZED /* the public headers have another one */
#include <internal/pycore_interp.h>
#if PY_VERSION_HEX >= 0x030b0000
#include <internal/pycore_frame.h>
#else
#include <frameobject.h>
#endif
#undef Py_BUILD_CORE

#include <pthread.h>

#include "python/governor.h"
#include "python/native.h"
#include "python/task.h"
#include "python/waker.h"

/* Left of a stack when the hook goes, or a quarter of a smaller one. */
#define FLOOR_BYTES (128u << 10)

/* Events of a burst at least, so that switching costs little beside them. */
#define BURST_EVENTS 8000
/* Waking the helper thread, caches gone cold and, on 3.11, call sites that lose their specialisation. */
#define SWITCH_NS 150e3

#define GENERATORS (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)

#if PY_VERSION_HEX >= 0x030b0000
typedef struct _PyInterpreterFrame frame;
#else
typedef PyFrameObject frame;
#endif

static PyObject *evaluate(PyThreadState *ts, frame *f, int thrown);

static _PyFrameEvalFunction previous;
/* The interpreter's own pointer, changed by CAS: the helper thread has no GIL. */
static _Atomic(_PyFrameEvalFunction) *pointer;
static _PyFrameEvalFunction absent; /* what stands there for the default function */

static uint32_t holders;	/* frames that ask for the hook to be away */
static _Atomic uint32_t paused; /* by the governor */
static bool told_pause;
static bool covered;   /* somebody had put his hook over ours when we took it away */
static uint32_t burst; /* events of this burst, in strides */

static __thread uintptr_t floor_of_stack;

/* ---- the pointer ------------------------------------------------------ */

static _PyFrameEvalFunction below(void)
{
	return previous == _PyEval_EvalFrameDefault ? absent : previous;
}

/* Signal-safe, and without the GIL. */
static void put_hook(void)
{
	_PyFrameEvalFunction was = below();

	atomic_compare_exchange_strong(pointer, &was, evaluate);
}

static void take_hook(void)
{
	_PyFrameEvalFunction was = evaluate;

	atomic_compare_exchange_strong(pointer, &was, below());
}

/* From the helper thread or in a fork child. */
static void wake(void)
{
	/* The frame that holds it away puts it back itself. */
	if (atomic_exchange(&paused, 0) != 0 && holders == 0)
		put_hook();
}

static bool find_pointer(PyInterpreterState *interp)
{
	pointer = (_Atomic(_PyFrameEvalFunction) *)(void *)&interp->eval_frame;
	previous = _PyInterpreterState_GetEvalFrameFunc(interp);
	absent = previous == _PyEval_EvalFrameDefault ? atomic_load(pointer) : previous;
	_PyInterpreterState_SetEvalFrameFunc(interp, evaluate);
	/* Is it where the headers say? */
	if (atomic_load(pointer) == evaluate && _PyInterpreterState_GetEvalFrameFunc(interp) == evaluate)
		return true;
	_PyInterpreterState_SetEvalFrameFunc(interp, previous);
	return false;
}

/* ---- the stack -------------------------------------------------------- */

static __attribute__((noinline, cold)) uintptr_t find_floor(void)
{
	pthread_attr_t attr;
	size_t size = 0;
	void *low = NULL;

	floor_of_stack = 1;
	if (pthread_getattr_np(pthread_self(), &attr) != 0)
		return floor_of_stack;
	if (pthread_attr_getstack(&attr, &low, &size) == 0 && low != NULL)
		floor_of_stack = (uintptr_t)low + (size / 4 < FLOOR_BYTES ? size / 4 : FLOOR_BYTES);
	pthread_attr_destroy(&attr);
	return floor_of_stack;
}

static inline bool near_floor(void)
{
	uintptr_t limit = floor_of_stack;

	return ISC_UNLIKELY((uintptr_t)__builtin_frame_address(0) < (limit != 0 ? limit : find_floor()));
}

static __attribute__((noinline, cold)) PyObject *evaluate_at_floor(PyThreadState *ts, frame *f, int thrown)
{
	PyObject *result;

	holders++;
	take_hook();
	if (isc_calls_live())
		isc_calls_write(isc_calls_ticks(), 0, ISC_KIND_MISSED, 1);
	result = previous(ts, f, thrown);
	if (isc_calls_live())
		isc_calls_write(isc_calls_ticks(), 0, ISC_KIND_MISSED, 0);
	if (--holders == 0 && atomic_load(&paused) == 0 && !isc_calls_over())
		put_hook();
	return result;
}

/* ---- the frame -------------------------------------------------------- */

#if PY_VERSION_HEX >= 0x030b0000

#define RETURN_GENERATOR_OPCODE 75 /* of 3.11; the opcodes are in no header that can be had here */

/* Does this evaluation make the generator and no more?  It is no call of its body. */
static inline bool makes_generator(const frame *f)
{
	return f->owner != FRAME_OWNED_BY_GENERATOR;
}

static inline bool is_first(const frame *f)
{
	return _Py_OPCODE(*f->prev_instr) == RETURN_GENERATOR_OPCODE;
}

static inline PyGenObject *generator_of(frame *f)
{
	return (PyGenObject *)((char *)f - offsetof(PyGenObject, gi_iframe));
}

/* The caller of gen.send() holds the generator, so it is there even if its frame is not. */
static inline bool has_yielded(const void *generator)
{
	return ((const PyGenObject *)generator)->gi_frame_state == FRAME_SUSPENDED;
}

#else

static inline bool makes_generator(const frame *f)
{
	return f->f_gen == NULL;
}

static inline bool is_first(const frame *f)
{
	return f->f_lasti < 0;
}

/* The frame itself: its generator keeps it until after the evaluation. */
static inline void *generator_of(frame *f)
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

/* Another hook's frame function may be there; the default one is called directly. */
static inline PyObject *go_on(PyThreadState *ts, frame *f, int thrown)
{
	if (ISC_LIKELY(previous == _PyEval_EvalFrameDefault))
		return _PyEval_EvalFrameDefault(ts, f, thrown);
	return previous(ts, f, thrown);
}

static __attribute__((noinline)) PyObject *evaluate_generator(PyThreadState *ts, frame *f, int thrown, uint32_t id)
{
	const void *generator;
	PyObject *result;
	bool step;
	uint64_t ticks;

	if (makes_generator(f))
		return go_on(ts, f, thrown);
	generator = generator_of(f);
	step = (f->f_code->co_flags & CO_COROUTINE) != 0 && isc_task_enter(ts);
	ticks = isc_calls_ticks();
	if (thrown)
		isc_calls_write(ticks, id, ISC_KIND_CALL_RESUME, ISC_CALL_THROWN);
	else
		isc_calls_write(ticks, id, is_first(f) ? ISC_KIND_CALL_ENTER : ISC_KIND_CALL_RESUME, ISC_CALL_SENT);
	isc_governor_count(ticks);
	result = go_on(ts, f, thrown);
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

static PyObject *evaluate(PyThreadState *ts, frame *f, int thrown)
{
	isc_code *entry = isc_code_of(f->f_code);
	PyObject *result;
	uint64_t ticks;
	uint32_t id;

	if (near_floor())
		return evaluate_at_floor(ts, f, thrown);
	if (ISC_UNLIKELY(entry == NULL || !isc_code_is_traced(entry))) {
		if (entry != NULL && entry->round != isc_calls_self.round && isc_calls_live())
			isc_code_review(entry);
		if (entry == NULL || !isc_code_is_traced(entry))
			return go_on(ts, f, thrown);
	}
	if (ISC_UNLIKELY(!isc_calls_live())) {
		if (isc_calls_over())
			take_hook();
		return go_on(ts, f, thrown);
	}
	if (ISC_UNLIKELY(isc_calls_self.c_calls))
		isc_native_watch(ts);
	/* Kept here: the code object may be gone when its frame returns. */
	id = isc_code_id(entry);
	if (f->f_code->co_flags & GENERATORS)
		return evaluate_generator(ts, f, thrown, id);
	ticks = isc_calls_ticks();
	isc_calls_write(ticks, id, ISC_KIND_CALL_ENTER, 0);
	isc_governor_count(ticks);
	result = go_on(ts, f, thrown);
	ticks = isc_calls_ticks();
	isc_calls_write(ticks, id, ISC_KIND_CALL_EXIT, result != NULL ? ISC_CALL_RETURNED : ISC_CALL_RAISED);
	isc_governor_count(ticks);
	return result;
}

/* ---- the budget ------------------------------------------------------- */

void isc_hook_settle(uint64_t ticks)
{
	isc_governor *g = &isc_governor_self;
	double rest;

	if (told_pause && atomic_load_explicit(&paused, memory_order_relaxed) == 0) {
		told_pause = false;
		burst = 0;
		isc_calls_write(ticks, 0, ISC_KIND_GOVERNED, ISC_GOVERNED_TRACED);
	}
	burst += ISC_GOVERNOR_STRIDE;
	if (!g->empty || burst < BURST_EVENTS || told_pause || g->share <= 0)
		return;
	/* The next burst has to be paid as well, before it begins. */
	rest = (double)g->cost * BURST_EVENTS + SWITCH_NS * g->ticks_per_ns - (double)isc_budget_left();
	if (!isc_waker_ask((uint64_t)(rest / g->share / g->ticks_per_ns), wake, &paused))
		return;
	isc_governor_spend((uint64_t)(SWITCH_NS * g->ticks_per_ns));
	told_pause = true;
	take_hook();
	isc_calls_write(ticks, 0, ISC_KIND_GOVERNED, ISC_GOVERNED_OFF);
}

void isc_hook_arm(isc_code *entry)
{
	(void)entry;
}

void isc_governor_forget(isc_code *entry)
{
	(void)entry;
}

bool isc_hook_begin(void)
{
	isc_waker_begin();
	return true;
}

bool isc_hook_on(void)
{
	PyInterpreterState *interp = PyInterpreterState_Get();
	_PyFrameEvalFunction now = _PyInterpreterState_GetEvalFrameFunc(interp);

	told_pause = false;
	burst = 0;
	if (now == evaluate)
		return true;
	/* Whoever came while we were there calls us still, and with him below us as well
	 * there would be no end to it. */
	if (covered && now != _PyEval_EvalFrameDefault)
		return true;
	covered = false;
	return find_pointer(interp);
}

void isc_hook_off(void)
{
	if (told_pause && isc_calls_live())
		isc_calls_write(isc_calls_ticks(), 0, ISC_KIND_GOVERNED, ISC_GOVERNED_TRACED);
	told_pause = false;
	atomic_store(&paused, 0);
	take_hook();
	covered = _PyInterpreterState_GetEvalFrameFunc(PyInterpreterState_Get()) != previous;
}

#endif
