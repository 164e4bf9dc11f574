/*
 * double.h - a CUDA machine without a GPU: libcudart, libcuda and libcupti in one
 * library, over devices whose clocks and faults are scripted.
 *
 *	script.c	CUDA_DOUBLE, what is to happen
 *	device.c	clocks, streams, work, and what is true of it
 *	runtime_api.c	libcudart.so: cuda..., memory, kernels and copies
 *	graph_api.c	and of it: streams that are captured, graphs
 *	event_api.c	events, and streams that wait for them
 *	query_api.c	devices, streams and errors: what is asked and costs no work
 *	driver_api.c	libcuda.so.1: cu...
 *	cupti_api.c	libcupti.so: cupti...
 *	external.c	and of it: external correlation
 *
 * Programs run on it unchanged.  Kernels are not executed: they take time on a
 * device, "..._50us" fifty microseconds.  Copies copy.  Functions have the binary
 * interface of NVIDIA's, written from our own declarations (src/cuda/cupti.h).
 *
 * Where CUPTI is touchy it is so here as well: a NULL for a buffer ends the program
 * before 12.9, a second registration of the clock spoils records, and the lock is
 * held while it calls back.
 */
#ifndef ISC_TESTS_DOUBLE_H
#define ISC_TESTS_DOUBLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda/cupti.h"

#define API __attribute__((visibility("default")))
#define DEVICES_MAX 16
#define STREAMS_MAX 64

/* ---- script.c: "devices=2;drift_ppm=200/-120;zero_every=7" ---- */

typedef struct script {
	int devices;
	uint32_t version; /* of CUPTI; generation=11|12|13 chooses one too */
	double offset_us[DEVICES_MAX], drift_ppm[DEVICES_MAX], wander_us[DEVICES_MAX], wander_s, step_us, step_at_ms;
	double kernel_us, launch_us, gbps; /* launch_us: from the call to the start, at least */
	double call_us;			   /* that a call takes on the host */
	int zero_every, drop_every, early_every;
	bool late;   /* records come only when they are forced */
	bool held;   /* somebody has subscribed before us */
	bool nested; /* calls of the runtime call the driver, with a correlation of its own */
	int graph_kernels;
	char fail[64]; /* a function of CUPTI or the driver that fails */
	uint32_t fail_code;
	int fail_after;	 /* times that it works first */
	char truth[512]; /* a file */
	char log[512];	 /* a file: what was asked of CUPTI */
} script;

extern script scripted;

bool script_fails(const char *name); /* is this function to fail now?  Those that may ask first. */

/* ---- device.c ---- */

uint64_t host_ns(void);
int64_t real_ahead_ns(void); /* what CLOCK_REALTIME is ahead of it */
/* A moment of the host as CUPTI tells of it: with the errors of the device's clock. */
uint64_t stamp_ns(int device, uint64_t host);

typedef void *cuda_stream;
typedef struct dim3 {
	unsigned x, y, z;
} dim3;

static inline int number_of(cuda_stream s)
{
	return (int)((uintptr_t)s % STREAMS_MAX);
}

/* Takes its turn on a stream; its times of the host. */
void device_queue(int device, int stream, uint64_t dur_ns, uint64_t *start, uint64_t *end);
uint64_t device_free_at(int device, int stream);	  /* stream -1: all of them */
void device_hold(int device, int stream, uint64_t until); /* nothing begins there before */
void device_wait(uint64_t until);
double kernel_ns_of(const char *name);

typedef struct work {
	int kind; /* enum isc_cupti_kind */
	int copy; /* ISC_CUPTI_H2D... */
	int page; /* ISC_CUPTI_PAGEABLE... */
	int device, peer, stream;
	uint32_t correlation, graph;
	uint64_t called, start, end, bytes; /* called: when it was asked for */
	uint32_t grid[3], block[3];
	uint32_t sync_type;
	const char *name;
} work;

void truth_tell(const work *w);
void truth_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- calls, between the interfaces and CUPTI ---- */

typedef struct call {
	uint32_t domain, number, correlation;
	const char *name;
	const void *parameters;
	uint64_t began; /* of the host */
	uint64_t own;
	bool told;
} call;

extern __thread int device_now;

/* First thing in every function of CUDA: loads the library of CUDA_INJECTION64_PATH, once. */
void machine_start(void);
void call_begin(call *c, uint32_t domain, uint32_t number, const char *name, const void *parameters);
uint32_t call_end(call *c, uint32_t result);
/* Work that the call asked for: queued, told of in the truth, and to CUPTI. */
void call_work(const call *c, work *w);
void call_sync(const call *c, uint32_t type, int stream);
void call_sync_until(const call *c, uint32_t type, int stream, uint64_t until);

/* ---- graph_api.c ---- */

/* Work that waits in a graph, with what it does to memory. */
typedef struct node {
	work w;
	void *to;
	const void *from; /* NULL: it fills, with value */
	int value;
} node;

bool graph_takes(const node *n); /* its stream is captured: it is not done now */
bool graph_holds(int stream);	 /* is the stream captured? */

/* ---- cupti_api.c ---- */

void cupti_work(const work *w);
void cupti_call(uint32_t domain, uint32_t number, uint32_t site, call *c, const uint32_t *result);
bool cupti_has_clock(void);
bool cupti_is_on(uint32_t kind);
void cupti_put(const void *record, size_t bytes);
void cupti_forget(void); /* what has not been given back: the device is reset */

/* ---- external.c: numbers that threads push, and records of calls ---- */

void external_called(const call *c); /* a call ends */

#endif
