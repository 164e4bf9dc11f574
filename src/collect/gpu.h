/*
 * gpu.h - records of GPUs, for the parts that watch a GPU's library: the OpenCL
 * layer and the CUDA injection, which are linked to the runtime by $ORIGIN.
 *
 *	isc_rt_gpu_spot spot;
 *
 *	if (isc_rt_gpu_enter(&spot))		around a call of the program
 *		...
 *	isc_rt_gpu_leave(&spot, &call);
 *	isc_rt_gpu_work(name, arg, &work);	when the device has told of it, from any thread
 *	isc_rt_gpu_clock(device, &reading);	now and then, when its clock is its own
 *
 * Names are those of isc_rt_name(), devices those of isc_rt_gpu_device(); arg is
 * ISC_GPU_ARG of base/record.h.  Everything here is signal-safe, takes no lock and
 * may be called from any thread, also from a callback of a driver.  errno stays.
 */
#ifndef ISC_COLLECT_GPU_H
#define ISC_COLLECT_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/record.h"
#include "inferscope/status.h"

/* Are records of GPUs wanted from this process now?  A part that is loaded asks first that
 * isc_rt_abi() is ISC_RT_ABI. */
ISC_API bool isc_rt_gpu_wanted(void);

/* Will they ever be: is there a session that did not switch them off?  Without it a
 * part subscribes to nothing. */
ISC_API bool isc_rt_gpu_asked(void);

/* The id of a device, the same for the same words as long as the cache holds; 0: no room. */
ISC_API uint32_t isc_rt_gpu_device(uint32_t number, enum isc_gpu_api api, uint32_t traits, const char *name,
				   size_t len);

/* Numbers for correlations, never 0 and never twice in a process, for sources whose library
 * has none of its own. */
ISC_API uint64_t isc_rt_gpu_correlation(void);

/* A call on its way; the caller's memory. */
typedef struct isc_rt_gpu_spot {
	uint64_t ticks; /* 0: nothing records */
	uint64_t spent; /* ticks that we took up to here */
	uint32_t stack; /* where, as far as the budget allows; 0: not known */
} isc_rt_gpu_spot;

/* The program calls.  False: nothing records, and there is nothing to leave. */
ISC_API bool isc_rt_gpu_enter(isc_rt_gpu_spot *spot);

/* And has come back.  Of *call only correlation, device and error count: times, thread and stack are the
 * spot's.  role: enum isc_gpu_role; holds: it returned only when all it asked for was done. */
ISC_API void isc_rt_gpu_leave(const isc_rt_gpu_spot *spot, uint32_t name, enum isc_gpu_role role, bool holds,
			      const isc_gpu_called *call);

/* What is done before a profiler of the program's own subscribes to CUPTI; NULL: nothing.  Not signal-safe. */
ISC_API void isc_rt_gpu_rival(void (*come)(void));

/* What a library tells of itself. */
ISC_API void isc_rt_gpu_call(uint32_t name, uint16_t arg, const isc_gpu_called *call);
ISC_API void isc_rt_gpu_work(uint32_t name, uint16_t arg, const isc_gpu_work *work);
ISC_API void isc_rt_gpu_clock(uint32_t device, const isc_gpu_reading *reading);
/* The call of this correlation was made in a scope: its name, and its instance or 0. */
ISC_API void isc_rt_gpu_scope(uint32_t name, uint64_t correlation, uint64_t instance);
/* source: "CUPTI", "OpenCL"; detail may be NULL. */
ISC_API void isc_rt_gpu_source(const char *source, enum isc_gpu_news news, uint32_t code, uint64_t count,
			       const char *detail);

#endif
