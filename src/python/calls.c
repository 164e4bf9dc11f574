#include "python/calls.h"

#include "python/collection.h"
#include "python/budget/governor.h"

/* Where every callback that is still on its way finds that all is over. */
static const isc_control nobody = {.phase = ISC_PHASE_DONE};

isc_calls isc_calls_self = {.control = &nobody, .ticket = ISC_TICKET_NOBODYS};

static enum { NEW, READY, UNFIT } state;
static bool for_session; /* the session wants calls */
static uint32_t wanted;	 /* by so many, the session included */

static bool prepare(PyObject *module)
{
	if (state != NEW)
		return state == READY;
	state = UNFIT;
	if (!isc_code_begin(module))
		return false;
	isc_calibration_prepare();
	if (!isc_hook_begin())
		return false;
	state = READY;
	return true;
}

static bool switch_on(PyObject *module, const isc_control *control, const isc_calls_wish *wish)
{
	PyObject *type, *value, *traceback;
	bool first = state == NEW, good;

	isc_calls_self.control = control;
	isc_calls_self.tsc = control->clock_source == ISC_CLOCK_TSC;
	isc_calls_self.all_frames = wish->all_frames;
	isc_calls_self.c_calls = wish->c_calls;
	isc_calls_self.round++;
	PyErr_Fetch(&type, &value, &traceback);
	good = prepare(module) && isc_hook_on();
	isc_calls_self.ticket =
		good && isc_calls_self.tsc && isc_hook_is_usual() ? isc_calls_self.round : ISC_TICKET_NOBODYS;
	if (good)
		isc_governor_begin(first, wish->budget_pct, wish->session);
	else
		isc_calls_self.control = &nobody;
	PyErr_Restore(type, value, traceback);
	return good;
}

static void switch_off(void)
{
	PyObject *type, *value, *traceback;

	PyErr_Fetch(&type, &value, &traceback);
	isc_collection_end();
	isc_hook_off();
	isc_calls_self.control = &nobody;
	PyErr_Restore(type, value, traceback);
}

static const char *why_not(const isc_control *control)
{
	if (control == NULL)
		return "no session records this process";
	/* Hooks belong to an interpreter, and the state here to the process. */
	if (PyInterpreterState_Get() != PyInterpreterState_Main())
		return "calls are traced in the main interpreter alone";
	if (atomic_load_explicit(&isc_wiped_page->following, memory_order_relaxed) == ISC_FOLLOWING_NO)
		return "the session does not follow this process";
	if (atomic_load_explicit(&control->phase, memory_order_relaxed) == ISC_PHASE_DONE)
		return "the session of this process has ended";
	return NULL;
}

const char *isc_calls_start(PyObject *module, const isc_calls_wish *wish)
{
	const isc_control *control = isc_rt_control();
	const char *reason = why_not(control);

	if (reason != NULL)
		return reason;
	if (wanted == 0) {
		/* Before calls are traced: it may import a module. */
		isc_collection_begin();
		if (!switch_on(module, control, wish)) {
			isc_collection_end();
			return "another tool holds what this Python has for tracing calls";
		}
	}
	wanted++;
	return NULL;
}

void isc_calls_stop(void)
{
	if (wanted > 0 && --wanted == 0)
		switch_off();
}

void isc_calls_forked(void)
{
	if (wanted > 0 && !for_session) {
		wanted = 0;
		switch_off();
	} else if (wanted > 0) {
		wanted = 1;
	}
}

void isc_calls_begin(PyObject *module)
{
	const isc_control *control = isc_rt_control();
	isc_calls_wish wish;

	if (for_session || control == NULL || (control->flags & ISC_CONTROL_CALLS) == 0)
		return;
	wish = (isc_calls_wish){.all_frames = (control->flags & ISC_CONTROL_ALL_FRAMES) != 0,
				.c_calls = (control->flags & ISC_CONTROL_C_CALLS) != 0,
				.session = true,
				.budget_pct = control->budget_pct};
	for_session = isc_calls_start(module, &wish) == NULL;
}
