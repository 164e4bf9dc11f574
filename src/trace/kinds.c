#include "trace/kinds.h"

#include <stddef.h>

#include "base/record.h"
#include "base/syscall.h"

const char *isc_kind_name(unsigned kind)
{
	static const char *const names[] = {[ISC_KIND_INSTANT] = "instant",
					    [ISC_KIND_SCOPE_ENTER] = "scope_enter",
					    [ISC_KIND_SCOPE_EXIT] = "scope_exit",
					    [ISC_KIND_COUNTER] = "counter",
					    [ISC_KIND_THREAD_NAME] = "thread_name",
					    [ISC_KIND_CPU] = "cpu",
					    [ISC_KIND_SPAN_ENTER] = "scope_enter",
					    [ISC_KIND_SPAN_EXIT] = "scope_exit",
					    [ISC_KIND_CALL_ENTER] = "call_enter",
					    [ISC_KIND_CALL_RESUME] = "call_resume",
					    [ISC_KIND_CALL_EXIT] = "call_exit",
					    [ISC_KIND_C_ENTER] = "c_enter",
					    [ISC_KIND_C_EXIT] = "c_exit",
					    [ISC_KIND_TASK] = "task",
					    [ISC_KIND_GOVERNED] = "governed",
					    [ISC_KIND_MISSED] = "missed",
					    [ISC_KIND_BURST] = "burst",
					    [ISC_KIND_STARTUP] = "startup",
					    [ISC_KIND_SAMPLE] = "sample",
					    [ISC_KIND_SAMPLE_RATE] = "sample_rate",
					    [ISC_KIND_WAIT_ENTER] = "wait_enter",
					    [ISC_KIND_WAIT_EXIT] = "wait_exit",
					    [ISC_KIND_WAIT_BRIEF] = "wait_brief",
					    [ISC_KIND_GC] = "gc",
					    [ISC_KIND_SENT] = "sent",
					    [ISC_KIND_GOT] = "got",
					    [ISC_KIND_MEMORY_ALLOC] = "memory_alloc",
					    [ISC_KIND_MEMORY_FREE] = "memory_free",
					    [ISC_KIND_MEMORY_TOTAL] = "memory_total",
					    [ISC_KIND_MEMORY_SOURCE] = "memory_source",
					    [ISC_KIND_SYSCALLS] = "syscalls",
					    [ISC_KIND_SYSCALL] = "syscall",
					    [ISC_KIND_SYSCALL_SAMPLE] = "syscall_sample",
					    [ISC_KIND_SYSCALL_ERRORS] = "syscall_errors",
					    [ISC_KIND_GPU_CALL] = "gpu_call",
					    [ISC_KIND_GPU_WORK] = "gpu_work",
					    [ISC_KIND_GPU_CLOCK] = "gpu_clock",
					    [ISC_KIND_GPU_SOURCE] = "gpu_source",
					    [ISC_KIND_GPU_SCOPE] = "gpu_scope"};

	return kind < sizeof(names) / sizeof(names[0]) ? names[kind] : NULL;
}

const char *isc_memory_name(unsigned call)
{
	static const char *const names[] = {[ISC_MEMORY_MALLOC] = "malloc",   [ISC_MEMORY_CALLOC] = "calloc",
					    [ISC_MEMORY_REALLOC] = "realloc", [ISC_MEMORY_ALIGNED] = "aligned",
					    [ISC_MEMORY_MMAP] = "mmap",	      [ISC_MEMORY_MREMAP] = "mremap"};

	return call < sizeof(names) / sizeof(names[0]) ? names[call] : NULL;
}

const char *isc_wait_name(unsigned call)
{
	static const char *const names[] = {
		[ISC_WAIT_GIL] = "gil",	      [ISC_WAIT_MUTEX] = "mutex", [ISC_WAIT_RWLOCK] = "rwlock",
		[ISC_WAIT_SEM] = "sem",	      [ISC_WAIT_COND] = "cond",	  [ISC_WAIT_BARRIER] = "barrier",
		[ISC_WAIT_JOIN] = "join",     [ISC_WAIT_READ] = "read",	  [ISC_WAIT_WRITE] = "write",
		[ISC_WAIT_RECV] = "recv",     [ISC_WAIT_SEND] = "send",	  [ISC_WAIT_CONNECT] = "connect",
		[ISC_WAIT_ACCEPT] = "accept", [ISC_WAIT_SYNC] = "sync",	  [ISC_WAIT_POLL] = "poll",
		[ISC_WAIT_SELECT] = "select", [ISC_WAIT_EPOLL] = "epoll", [ISC_WAIT_SLEEP] = "sleep",
		[ISC_WAIT_SIGNAL] = "signal", [ISC_WAIT_CHILD] = "child", [ISC_WAIT_YIELD] = "yield",
		[ISC_WAIT_GC] = "gc"};

	return call < sizeof(names) / sizeof(names[0]) ? names[call] : NULL;
}

const char *isc_syscall_name(unsigned call)
{
#define NAME(name) [ISC_SYSCALL_##name] = #name,
	static const char *const names[] = {ISC_SYSCALLS(NAME)};

	return call < sizeof(names) / sizeof(names[0]) ? names[call] : NULL;
}
