#include "timeline/state_table.h"

const char *isc_state_name(enum isc_state state)
{
	static const char *const names[ISC_STATES] = {
		"python",     "native",	  "on_cpu",    "spin",	    "unattributed", "gil_wait",
		"lock_wait",  "io_wait",  "sleep",     "idle",	    "syscall",	    "gc",
		"page_fault", "gpu_wait", "run_queue", "throttled", "other"};

	return names[state];
}
