/*
 * A frame evaluation hook (PEP 523) that counts and goes on, as a compiler's would.
 * A shared object for ctypes.PyDLL, built for one Python.
 */
#include <Python.h>
#if PY_VERSION_HEX >= 0x030b0000
typedef struct _PyInterpreterFrame frame;
#else
#include <frameobject.h>
typedef PyFrameObject frame;
#endif

static _PyFrameEvalFunction before;
static long evaluated;

static PyObject *evaluate(PyThreadState *ts, frame *f, int thrown)
{
	evaluated++;
	return before(ts, f, thrown);
}

void install(void)
{
	before = _PyInterpreterState_GetEvalFrameFunc(PyInterpreterState_Get());
	_PyInterpreterState_SetEvalFrameFunc(PyInterpreterState_Get(), evaluate);
}

/* As those do that do not look who was there. */
void install_alone(void)
{
	before = _PyEval_EvalFrameDefault;
	_PyInterpreterState_SetEvalFrameFunc(PyInterpreterState_Get(), evaluate);
}

void restore(void)
{
	_PyInterpreterState_SetEvalFrameFunc(PyInterpreterState_Get(), before);
}

long count(void)
{
	return evaluated;
}
