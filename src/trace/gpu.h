/*
 * gpu.h - records of GPUs in a trace, with every length checked.
 */
#ifndef ISC_TRACE_GPU_H
#define ISC_TRACE_GPU_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/frame.h"
#include "trace/kinds.h"
#include "trace/reader.h"

/* What is behind an event of that kind; false: it is of another, or cut short. */
bool isc_trace_gpu_called(const isc_event *ev, isc_gpu_called *out);
bool isc_trace_gpu_work(const isc_event *ev, isc_gpu_work *out);
bool isc_trace_gpu_reading(const isc_event *ev, isc_gpu_reading *out);
bool isc_trace_gpu_source(const isc_event *ev, isc_gpu_source *out);
bool isc_trace_gpu_scope(const isc_event *ev, isc_gpu_scope *out);

/* A device, and its name; false: there is no such definition. */
bool isc_trace_gpu_device(const isc_trace *tr, uint32_t process, uint32_t id, isc_def_gpu *out, isc_text *name);

/* "kernel", "h2d", ...; "launch", ...; "absent", ...; NULL: not known. */
const char *isc_gpu_job_name(unsigned job);
const char *isc_gpu_role_name(unsigned role);
const char *isc_gpu_news_name(unsigned news);
const char *isc_gpu_time_name(unsigned time);

/* What dictionaries call work of this kind; ISC_EVENT_NONE: none has it. */
enum isc_event_type isc_gpu_event_type(unsigned job);

#endif
