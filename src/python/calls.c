#include "python/calls.h"

#include "python/governor.h"

isc_calls isc_calls_self;

void isc_calls_begin(PyObject *module)
{
	static bool begun;
	const isc_control *control = isc_rt_control();
	PyObject *type, *value, *traceback;

	if (begun || control == NULL || (control->flags & ISC_CONTROL_CALLS) == 0)
		return;
	/* Hooks belong to an interpreter, and the state here to the process. */
	if (PyInterpreterState_Get() != PyInterpreterState_Main())
		return;
	isc_calls_self.control = control;
	isc_calls_self.tsc = control->clock_source == ISC_CLOCK_TSC;
	isc_calls_self.all_frames = (control->flags & ISC_CONTROL_ALL_FRAMES) != 0;
	isc_calls_self.c_calls = (control->flags & ISC_CONTROL_C_CALLS) != 0;
	if (isc_calls_over())
		return;
	begun = true;
	PyErr_Fetch(&type, &value, &traceback);
	if (isc_code_begin(module)) {
		isc_governor_prepare();
		if (isc_hook_begin())
			isc_governor_begin();
	}
	PyErr_Restore(type, value, traceback);
}
