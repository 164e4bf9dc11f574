/*
 * event_api.c - events: moments on streams, which other streams and the host wait for.
 */
#include "double.h"

#include <stdlib.h>

#define RUNTIME ISC_CUPTI_DOMAIN_RUNTIME
#define NS_PER_MS 1e6

enum { OK = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, INVALID_HANDLE = 400, NOT_READY = 600 };

typedef struct event {
	uint64_t at; /* of the host; 0: never recorded */
	int stream;
} event;

API uint32_t cudaEventCreateWithFlags(event **out, unsigned flags)
{
	(void)flags;
	machine_start();
	*out = calloc(1, sizeof(**out));
	return *out != NULL ? OK : OUT_OF_MEMORY;
}

API uint32_t cudaEventCreate(event **out)
{
	return cudaEventCreateWithFlags(out, 0);
}

API uint32_t cudaEventDestroy(event *e)
{
	free(e);
	return OK;
}

/* In a stream that is captured it orders work, which is in order here anyway. */
API uint32_t cudaEventRecord(event *e, cuda_stream s)
{
	uint64_t now = host_ns(), done = device_free_at(device_now, number_of(s));

	machine_start();
	if (!graph_holds(number_of(s)))
		*e = (event){done > now ? done : now, number_of(s)};
	return OK;
}

API uint32_t cudaEventRecordWithFlags(event *e, cuda_stream s, unsigned flags)
{
	(void)flags;
	return cudaEventRecord(e, s);
}

API uint32_t cudaEventQuery(const event *e)
{
	return e->at <= host_ns() ? OK : NOT_READY;
}

API uint32_t cudaEventSynchronize(const event *e)
{
	call c;

	call_begin(&c, RUNTIME, 137, "cudaEventSynchronize", NULL);
	if (e->at != 0)
		call_sync_until(&c, ISC_CUPTI_SYNC_EVENT, e->stream, e->at);
	return call_end(&c, OK);
}

API uint32_t cudaEventElapsedTime(float *ms, const event *from, const event *to)
{
	if (from->at == 0 || to->at == 0)
		return INVALID_HANDLE;
	if (cudaEventQuery(from) != OK || cudaEventQuery(to) != OK)
		return NOT_READY;
	*ms = (float)((double)(int64_t)(to->at - from->at) / NS_PER_MS);
	return OK;
}

/* The name that newer headers give it. */
API uint32_t cudaEventElapsedTime_v2(float *ms, const event *from, const event *to)
{
	return cudaEventElapsedTime(ms, from, to);
}

API uint32_t cudaStreamWaitEvent(cuda_stream s, const event *e, unsigned flags)
{
	(void)flags;
	machine_start();
	if (!graph_holds(number_of(s)))
		device_hold(device_now, number_of(s), e->at);
	return OK;
}

API uint32_t cudaStreamQuery(cuda_stream s)
{
	machine_start();
	return device_free_at(device_now, number_of(s)) <= host_ns() ? OK : NOT_READY;
}
