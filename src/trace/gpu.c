#include "trace/gpu.h"

#include <string.h>

static bool take(const isc_event *ev, unsigned kind, void *out, uint32_t size)
{
	if (ev->kind != kind || ev->extra_len < size)
		return false;
	memcpy(out, ev->extra, size);
	return true;
}

bool isc_trace_gpu_called(const isc_event *ev, isc_gpu_called *out)
{
	return take(ev, ISC_KIND_GPU_CALL, out, sizeof(*out));
}

bool isc_trace_gpu_work(const isc_event *ev, isc_gpu_work *out)
{
	return take(ev, ISC_KIND_GPU_WORK, out, sizeof(*out));
}

bool isc_trace_gpu_reading(const isc_event *ev, isc_gpu_reading *out)
{
	return take(ev, ISC_KIND_GPU_CLOCK, out, sizeof(*out));
}

bool isc_trace_gpu_source(const isc_event *ev, isc_gpu_source *out)
{
	return take(ev, ISC_KIND_GPU_SOURCE, out, sizeof(*out));
}

bool isc_trace_gpu_scope(const isc_event *ev, isc_gpu_scope *out)
{
	return take(ev, ISC_KIND_GPU_SCOPE, out, sizeof(*out));
}

bool isc_trace_gpu_device(const isc_trace *tr, uint32_t process, uint32_t id, isc_def_gpu *out, isc_text *name)
{
	uint32_t len = 0;
	const char *data = isc_trace_define(tr, process, id, ISC_DEF_GPU, &len);

	if (data == NULL || len < sizeof(*out))
		return false;
	memcpy(out, data, sizeof(*out));
	len -= (uint32_t)sizeof(*out);
	out->name_len = out->name_len < len ? out->name_len : len;
	*name = (isc_text){data + sizeof(*out), out->name_len};
	return true;
}

const char *isc_gpu_job_name(unsigned job)
{
	static const char *const names[ISC_JOBS] = {"kernel", "h2d",	"d2h",	"d2d",	  "p2p",
						    "copy",   "memset", "sync", "barrier"};

	return job < ISC_JOBS ? names[job] : NULL;
}

const char *isc_gpu_role_name(unsigned role)
{
	static const char *const names[] = {"other", "launch", "copy", "sync"};

	return role < sizeof(names) / sizeof(names[0]) ? names[role] : NULL;
}

const char *isc_gpu_news_name(unsigned news)
{
	static const char *const names[] = {[ISC_GPU_STARTED] = "started",   [ISC_GPU_ENDED] = "ended",
					    [ISC_GPU_ABSENT] = "absent",     [ISC_GPU_BUSY] = "busy",
					    [ISC_GPU_FAILED] = "failed",     [ISC_GPU_DROPPED] = "dropped",
					    [ISC_GPU_NO_CLOCK] = "no_clock", [ISC_GPU_REDUCED] = "reduced"};

	return news < sizeof(names) / sizeof(names[0]) ? names[news] : NULL;
}

const char *isc_gpu_time_name(unsigned time)
{
	static const char *const names[] = {"device", "monotonic", "ticks"};

	return time < sizeof(names) / sizeof(names[0]) ? names[time] : NULL;
}

enum isc_event_type isc_gpu_event_type(unsigned job)
{
	static const uint8_t types[ISC_JOBS] = {
		[ISC_JOB_KERNEL] = ISC_EVENT_GPU_KERNEL, [ISC_JOB_H2D] = ISC_EVENT_H2D_COPY,
		[ISC_JOB_D2H] = ISC_EVENT_D2H_COPY,	 [ISC_JOB_D2D] = ISC_EVENT_D2D_COPY,
		[ISC_JOB_P2P] = ISC_EVENT_P2P_COPY,	 [ISC_JOB_COPY] = ISC_EVENT_D2D_COPY,
		[ISC_JOB_MEMSET] = ISC_EVENT_MEMSET,	 [ISC_JOB_SYNC] = ISC_EVENT_GPU_SYNC};

	return job < ISC_JOBS ? (enum isc_event_type)types[job] : ISC_EVENT_NONE;
}
