#include "python/native.h"

uint32_t isc_native_name(PyObject *callable)
{
	(void)callable;
	return 0;
}

void isc_native_watch(PyThreadState *ts)
{
	(void)ts;
}
