#include "timeline/thread_state.h"

const char *isc_state_name(enum isc_state state)
{
#define NAME(id, name, ...) name,
	static const char *const names[] = {ISC_STATE_TABLE(NAME)};

	return names[state];
}
