/*
 * kinds.h - events and waits by their names: of records as docs/trace-format.md has them, and of what dictionaries
 * call an event (event_type) as docs/ICD.md has it.
 */
#ifndef ISC_TRACE_KINDS_H
#define ISC_TRACE_KINDS_H

/* NULL: there is none of this number. */
const char *isc_kind_name(unsigned kind);
const char *isc_wait_name(unsigned call);    /* enum isc_wait_call */
const char *isc_syscall_name(unsigned call); /* enum isc_syscall */
const char *isc_memory_name(unsigned call);  /* enum isc_memory_call */

/* clang-format off */
#define ISC_EVENT_TYPES(TYPE) \
	TYPE(CPU_CALL, "cpu_call") \
	TYPE(CPU_SYSCALL, "cpu_syscall") \
	TYPE(CPU_SAMPLE, "cpu_sample") \
	TYPE(GC_PAUSE, "gc_pause") \
	TYPE(GIL_WAIT, "gil_wait") \
	TYPE(LOCK_WAIT, "lock_wait") \
	TYPE(MEMORY_ALLOC, "memory_alloc") \
	TYPE(MEMORY_FREE, "memory_free") \
	TYPE(NUMA_MIGRATION, "numa_migration") \
	TYPE(SCOPE_ENTER, "scope_enter") \
	TYPE(SCOPE_EXIT, "scope_exit") \
	TYPE(INSTANT, "instant") \
	TYPE(COUNTER, "counter") \
	TYPE(GPU_KERNEL, "gpu_kernel") \
	TYPE(H2D_COPY, "h2d_copy") \
	TYPE(D2H_COPY, "d2h_copy") \
	TYPE(D2D_COPY, "d2d_copy") \
	TYPE(P2P_COPY, "p2p_copy") \
	TYPE(MEMSET, "memset") \
	TYPE(GPU_SYNC, "gpu_sync") \
	TYPE(GPU_API, "gpu_api")
/* clang-format on */

#define ISC_EVENT_TYPE_ID_(id, name) ISC_EVENT_##id,
enum isc_event_type { ISC_EVENT_NONE, ISC_EVENT_TYPES(ISC_EVENT_TYPE_ID_) ISC_EVENT_TYPE_COUNT };

const char *isc_event_type_name(enum isc_event_type type); /* NULL: ISC_EVENT_NONE */

#endif
