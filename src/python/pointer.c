#include "python/pointer.h"

#include <pthread.h>

/* Left of a stack when ours goes, or a quarter of a smaller one. */
#define FLOOR_BYTES (128u << 10)

isc_pointer isc_pointer_self;
__thread uintptr_t isc_pointer_floor = UINTPTR_MAX;

/* The interpreter's own pointer, changed by CAS: the helper thread has no GIL. */
static _Atomic(_PyFrameEvalFunction) *pointer;
static _PyFrameEvalFunction absent; /* what stands there for the default function */
static _PyFrameEvalFunction ours;

static _PyFrameEvalFunction below(void)
{
	return isc_pointer_self.previous == _PyEval_EvalFrameDefault ? absent : isc_pointer_self.previous;
}

void isc_pointer_put(void)
{
	_PyFrameEvalFunction was = below();

	/* The frame that holds it away puts it back itself. */
	if (isc_pointer_self.found && isc_pointer_self.holders == 0)
		atomic_compare_exchange_strong(pointer, &was, ours);
}

void isc_pointer_take(void)
{
	_PyFrameEvalFunction was = ours;

	if (isc_pointer_self.found)
		atomic_compare_exchange_strong(pointer, &was, below());
}

bool isc_pointer_find(_PyFrameEvalFunction hook)
{
	PyInterpreterState *interp = PyInterpreterState_Get();
	_PyFrameEvalFunction before = _PyInterpreterState_GetEvalFrameFunc(interp);

	pointer = (_Atomic(_PyFrameEvalFunction) *)(void *)&interp->eval_frame;
	ours = hook;
	isc_pointer_self.previous = before;
	absent = before == _PyEval_EvalFrameDefault ? atomic_load(pointer) : before;
	_PyInterpreterState_SetEvalFrameFunc(interp, hook);
	/* Is it where the headers say? */
	isc_pointer_self.found = atomic_load(pointer) == hook && _PyInterpreterState_GetEvalFrameFunc(interp) == hook;
	_PyInterpreterState_SetEvalFrameFunc(interp, before);
	return isc_pointer_self.found;
}

__attribute__((noinline, cold)) uintptr_t isc_pointer_find_floor(void)
{
	pthread_attr_t attr;
	size_t size = 0;
	void *low = NULL;

	isc_pointer_floor = 1;
	if (pthread_getattr_np(pthread_self(), &attr) != 0)
		return isc_pointer_floor;
	if (pthread_attr_getstack(&attr, &low, &size) == 0 && low != NULL)
		isc_pointer_floor = (uintptr_t)low + (size / 4 < FLOOR_BYTES ? size / 4 : FLOOR_BYTES);
	pthread_attr_destroy(&attr);
	return isc_pointer_floor;
}

__attribute__((noinline, cold)) PyObject *isc_pointer_step_aside(PyThreadState *ts, isc_frame *f, int thrown,
								 bool (*put_back)(void))
{
	PyObject *result;

	isc_pointer_self.holders++;
	isc_pointer_take();
	if (isc_calls_live())
		isc_calls_write(isc_calls_ticks(), 0, ISC_KIND_MISSED, 1);
	result = isc_pointer_self.previous(ts, f, thrown);
	if (isc_calls_live())
		isc_calls_write(isc_calls_ticks(), 0, ISC_KIND_MISSED, 0);
	if (--isc_pointer_self.holders == 0 && put_back() && !isc_calls_over())
		isc_pointer_put();
	return result;
}
