/*
 * proc.h - what /proc says of processes.  Every call may find the
 * process gone; nothing is cached.
 */
#ifndef ISC_SESSION_FOLLOW_PROC_H
#define ISC_SESSION_FOLLOW_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct isc_proc_stat {
	char state; /* 'Z', 'X': dead */
	uint32_t ppid;
	uint64_t start_ns; /* CLOCK_MONOTONIC, to 10 ms: never later than the truth */
	char comm[16];
} isc_proc_stat;

bool isc_proc_stat_read(uint32_t pid, isc_proc_stat *out);

/* Arguments with their NULs; returns their length, 0 when there are none.
 * *cut: there were more than room. */
size_t isc_proc_argv(uint32_t pid, char *out, size_t room, bool *cut);

/* Inode and device of the program file, mixed; 0 when unknown. */
uint64_t isc_proc_exe(uint32_t pid);

/* The pid as the process itself sees it; levels: how many namespaces lie
 * between, 1 for none.  tid 0: of the process, else of that thread. */
bool isc_proc_own_pid(uint32_t pid, uint32_t tid, uint32_t *own, uint32_t *levels);

bool isc_proc_thread_name(uint32_t pid, uint32_t tid, char out[16]);

/* Time on a CPU and in the queue for one since the thread began; false when the
 * kernel does not count it. */
bool isc_proc_thread_times(uint32_t pid, uint32_t tid, uint64_t *on_cpu_ns, uint64_t *run_queue_ns);

typedef bool (*isc_proc_visit)(void *self, uint32_t id); /* false: stop */
bool isc_proc_each(isc_proc_visit visit, void *self);
bool isc_proc_each_thread(uint32_t pid, isc_proc_visit visit, void *self);

/* The children of all threads of a process; false when this kernel has no such
 * file, or there are too many: then isc_proc_each() and ppid tell. */
bool isc_proc_each_child(uint32_t pid, isc_proc_visit visit, void *self);

/* Pure: a line of /proc/PID/stat. */
bool isc_proc_stat_parse(const char *text, size_t len, uint64_t ticks_per_s, int64_t boot_minus_mono_ns,
			 isc_proc_stat *out);

#endif
