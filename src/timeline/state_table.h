/*
 * state_table.h - the states of a thread, and their names.  A thread is in one of them at each moment.
 */
#ifndef ISC_TIMELINE_STATE_TABLE_H
#define ISC_TIMELINE_STATE_TABLE_H

/* In the order of reports. */
enum isc_state {
	ISC_STATE_PYTHON,
	ISC_STATE_NATIVE,
	ISC_STATE_ON_CPU, /* python and native together, where native frames were not asked for */
	ISC_STATE_SPIN,
	ISC_STATE_UNATTRIBUTED, /* on a CPU, and no stack says where */
	ISC_STATE_GIL_WAIT,
	ISC_STATE_LOCK_WAIT,
	ISC_STATE_IO_WAIT,
	ISC_STATE_SLEEP,
	ISC_STATE_IDLE,
	ISC_STATE_SYSCALL,
	ISC_STATE_GC,
	ISC_STATE_PAGE_FAULT,
	ISC_STATE_GPU_WAIT,
	ISC_STATE_RUN_QUEUE,
	ISC_STATE_THROTTLED,
	ISC_STATE_OTHER,
	ISC_STATES
};

const char *isc_state_name(enum isc_state state);

#endif
