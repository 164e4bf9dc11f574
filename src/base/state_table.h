/*
 * state_table.h - what a thread can be doing, a row each: its names, words and colours are made from nothing else.
 *
 *	ROW(id, name, words, kind, one, several, drawn, light, dark)
 *
 * In C the rows become enum isc_state, isc_state_name() and the names of figures to compare by; in the page of a report
 * states.py makes STATES and colours of them; and tests/project/test_states.py holds the schemas to them.
 *
 *	id		ISC_STATE_<id>; the order of rows is that of reports
 *	name		in JSON, in conditions and in classes of the style
 *	words		in the page
 *	kind		WORK, WAIT or NOTHING: drawn solid, hatched or left out of what a thread is busy with
 *	one, several	of what stops a thread: one time of it, and more; "" where nobody counts them
 *	drawn		where its piece of a bar comes, from the left; in tens, so that another can come between
 *	light, dark	its colour in a page of that look
 */
#ifndef ISC_BASE_STATE_TABLE_H
#define ISC_BASE_STATE_TABLE_H

/* clang-format off */
#define ISC_STATE_TABLE(ROW) \
	ROW(PYTHON, "python", "Python", WORK, "", "", 10, "#2b62b0", "#74a9f7") \
	ROW(NATIVE, "native", "native code", WORK, "", "", 20, "#5aa3d6", "#3d7ab5") \
	/* Python and native together, where native frames were not asked for. */ \
	ROW(ON_CPU, "on_cpu", "on a CPU", WORK, "", "", 30, "#5aa3d6", "#3d7ab5") \
	ROW(SPIN, "spin", "spins", WORK, "", "", 40, "#0f8b8d", "#35c2c0") \
	/* On a CPU, and no stack says where. */ \
	ROW(UNATTRIBUTED, "unattributed", "unattributed", NOTHING, "", "", 50, "#b9a6a0", "#6d5f5a") \
	ROW(GIL_WAIT, "gil_wait", "waits for the GIL", WAIT, \
	    "wait for the GIL", "waits for the GIL", 90, "#cb4206", "#ff7a3d") \
	ROW(LOCK_WAIT, "lock_wait", "waits for a lock", WAIT, \
	    "wait for a lock", "waits for a lock", 100, "#d29500", "#ffd25e") \
	ROW(IO_WAIT, "io_wait", "waits for I/O", WAIT, \
	    "wait for I/O", "waits for I/O", 120, "#3b7d5e", "#6cc29b") \
	ROW(SLEEP, "sleep", "sleeps", NOTHING, "sleep", "sleeps", 150, "#8d97a5", "#616c7a") \
	ROW(IDLE, "idle", "no work", NOTHING, "", "", 160, "#d9dde3", "#2b333d") \
	ROW(SYSCALL, "syscall", "system call", WORK, "", "", 70, "#7f9020", "#d3e07a") \
	ROW(GC, "gc", "garbage collection", WORK, \
	    "garbage collection", "garbage collections", 60, "#b5176a", "#f472b6") \
	ROW(PAGE_FAULT, "page_fault", "page fault", WAIT, "page fault", "page faults", 80, "#5a3a10", "#a9783a") \
	ROW(GPU_WAIT, "gpu_wait", "waits for the GPU", WAIT, \
	    "wait for the GPU", "waits for the GPU", 110, "#7b4bb3", "#b794f4") \
	ROW(RUN_QUEUE, "run_queue", "waits for a CPU", WAIT, \
	    "wait for a CPU", "waits for a CPU", 130, "#475569", "#c3cedb") \
	ROW(THROTTLED, "throttled", "throttled", WAIT, "", "", 140, "#5c3a2e", "#b58573") \
	ROW(OTHER, "other", "not told apart", NOTHING, "", "", 170, "#7c8490", "#8a94a3")
/* clang-format on */

#endif
