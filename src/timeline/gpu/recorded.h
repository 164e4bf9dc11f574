/*
 * recorded.h - what GPUs did, as a trace of ours has it, on the clock of the host.
 *
 * Devices have clocks of their own.  One pass over the events finds how each runs
 * against the host's (clock_sync.h): from readings of it, else from calls and the
 * work they asked for; then every record can be turned on its own, in any order.
 */
#ifndef ISC_TIMELINE_GPU_RECORDED_H
#define ISC_TIMELINE_GPU_RECORDED_H

#include "timeline/gpu/causality.h"
#include "timeline/gpu/clock_sync.h"
#include "trace/frame.h"
#include "trace/gpu.h"
#include "trace/reader.h"
#include "timeline/walk.h"

/* One device of one process. */
typedef struct isc_recorded_device {
	uint32_t process, id; /* of its definition */
	uint32_t number;      /* over all interfaces: those of CUDA first, then OpenCL's */
	uint32_t api;	      /* enum isc_gpu_api */
	uint32_t traits;      /* enum isc_gpu_trait */
	isc_text name;
	bool own;	   /* some of its work is told in times of its own clock */
	uint64_t read;	   /* how often that was read */
	uint64_t compared; /* if never: work that was compared with its call */
	isc_clock_sync *sync;
	isc_causality *told; /* of work in times of the host: how well its library made them; NULL: not known */
	int64_t told_error_ns;
} isc_recorded_device;

typedef struct isc_recorded_item {
	uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC; both 0: the device had no time stamp */
	int64_t error_ns;	   /* what the device's clock may be off; 0: it is the host's */
	uint64_t correlation, bytes, stream;
	const isc_recorded_device *device; /* NULL: not known */
	uint32_t context;
	uint32_t tid;	/* of a call: who made it; 0: who wrote it */
	uint32_t stack; /* of a call: where; 0: not known */
	uint32_t scope; /* name of the scope that its library says it was asked for in; 0: it does not say */
	uint32_t grid[3], block[3];
	uint32_t error;
	uint8_t job;  /* enum isc_gpu_job, of work */
	uint8_t role; /* enum isc_gpu_role, of calls */
	uint8_t page; /* enum isc_gpu_page */
	bool holds;   /* the call returned when all was done */
	bool mended;  /* as it was told the work began before its call, and here it does not */
} isc_recorded_item;

typedef struct isc_recorded isc_recorded;

/* *out is NULL when the trace says nothing of GPUs.  Goes through the events: rewinds the trace.  margin_ns: the error
 * of a clock that nothing is known of. */
isc_status isc_recorded_new(isc_trace *trace, int64_t margin_ns, isc_recorded **out, isc_error *err);

/* The same in steps, for who reads the events anyway: what is known is complete after isc_recorded_end(), which goes
 * through the events once more where clocks have to be compared. */
isc_status isc_recorded_begin(isc_trace *trace, isc_recorded **out, isc_error *err);
void isc_recorded_join(isc_recorded *r, isc_walk *walk);
isc_status isc_recorded_end(isc_recorded *r, int64_t margin_ns, isc_error *err);
void isc_recorded_free(isc_recorded *r); /* NULL is fine */

/* Devices by rank from 0; NULL past the end. */
const isc_recorded_device *isc_recorded_device_at(const isc_recorded *r, size_t i);

/* An event of the trace as work or as a call; false: it is none, or cannot be told in times of the host. */
bool isc_recorded_work(const isc_recorded *r, const isc_event *ev, isc_recorded_item *out);
bool isc_recorded_call(const isc_recorded *r, const isc_event *ev, isc_recorded_item *out);

/* Is there anything of a GPU in the trace at all, if only that there is none? */
bool isc_recorded_any(const isc_trace *trace);

#endif
