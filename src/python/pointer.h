/*
 * pointer.h - the interpreter's pointer to what evaluates frames (PEP 523).
 *
 * Whoever had it before us is called by us; who comes later finds ours and calls
 * it.  The pointer is changed only while it is what we left there, by one atomic
 * store that needs no GIL.
 *
 * With a function of ours in place every Python call takes some of the C stack,
 * from 3.11 on where it would have taken none.  So when a stack is nearly used up
 * the pointer is given back until that frame returns.
 */
#ifndef ISC_PYTHON_POINTER_H
#define ISC_PYTHON_POINTER_H

#include "python/calls.h"

#define Py_BUILD_CORE 1
#undef _PyGC_FINALIZED /* the public headers have another one */
#include <internal/pycore_interp.h>
#if PY_VERSION_HEX >= 0x030b0000
#include <internal/pycore_frame.h>
#else
#include <frameobject.h>
#endif
#undef Py_BUILD_CORE

#if PY_VERSION_HEX >= 0x030b0000
typedef struct _PyInterpreterFrame isc_frame;
#else
typedef PyFrameObject isc_frame;
#endif

typedef struct isc_pointer {
	bool found;
	_PyFrameEvalFunction previous;
	uint32_t holders; /* frames that ask for ours to be away */
} isc_pointer;

ISC_OWN extern isc_pointer isc_pointer_self;

/* Where is it?  What is put there is this.  False: not where the headers say. */
bool isc_pointer_find(_PyFrameEvalFunction ours);

/* Signal-safe, and without the GIL.  Put does nothing while a frame holds it away. */
void isc_pointer_put(void);
void isc_pointer_take(void);

/* Below the floor of this thread's stack?  Then the frame is evaluated here, without ours. */
ISC_OWN extern __thread uintptr_t isc_pointer_floor; /* UINTPTR_MAX: not yet known */
uintptr_t isc_pointer_find_floor(void);
PyObject *isc_pointer_step_aside(PyThreadState *ts, isc_frame *f, int thrown, bool (*put_back)(void));

static inline bool isc_pointer_near_floor(void)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);

	return ISC_UNLIKELY(here < isc_pointer_floor) &&
	       (isc_pointer_floor != UINTPTR_MAX || here < isc_pointer_find_floor());
}

/* Another function may be below ours; the default one is called directly. */
static inline PyObject *isc_pointer_go_on(PyThreadState *ts, isc_frame *f, int thrown)
{
	if (ISC_LIKELY(isc_pointer_self.previous == _PyEval_EvalFrameDefault))
		return _PyEval_EvalFrameDefault(ts, f, thrown);
	return isc_pointer_self.previous(ts, f, thrown);
}

static inline PyCodeObject *isc_frame_code(const isc_frame *f)
{
#if PY_VERSION_HEX >= 0x030d0000
	return (PyCodeObject *)f->f_executable;
#else
	return f->f_code;
#endif
}

/* What runs on the thread; NULL: nothing of Python. */
static inline isc_frame *isc_frame_current(const PyThreadState *ts)
{
#if PY_VERSION_HEX >= 0x030d0000
	return ts->current_frame;
#elif PY_VERSION_HEX >= 0x030b0000
	return ts->cframe->current_frame;
#else
	return ts->frame;
#endif
}

/* Arguments first. */
static inline PyObject *const *isc_frame_locals(const isc_frame *f)
{
#if PY_VERSION_HEX >= 0x030b0000
	return f->localsplus;
#else
	return f->f_localsplus;
#endif
}

/* window.c: counts it; from 3.12 on the function of ours. */
PyObject *isc_window_frame(PyThreadState *ts, isc_frame *f, int thrown);

#define ISC_CODE_GENERATORS (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)

/* Does this evaluation of a generator's code make the generator and no more?  It is no call of its body. */
static inline bool isc_frame_makes_generator(const isc_frame *f)
{
#if PY_VERSION_HEX >= 0x030b0000
	return f->owner != FRAME_OWNED_BY_GENERATOR;
#else
	return f->f_gen == NULL;
#endif
}

#endif
