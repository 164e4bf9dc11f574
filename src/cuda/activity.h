/*
 * activity.h - a buffer of CUPTI as work of GPUs.
 *
 * How long a record is, only the library knows, so it makes the steps; what it
 * gives is believed only inside the buffer.  Nothing here reads a name: they lie
 * in the library's memory.
 */
#ifndef ISC_CUDA_ACTIVITY_H
#define ISC_CUDA_ACTIVITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/record.h"
#include "cuda/cupti.h"

typedef struct isc_activity {
	uint32_t kind;	   /* enum isc_cupti_kind */
	uint16_t job;	   /* enum isc_gpu_job; not of a device */
	uint16_t page;	   /* enum isc_gpu_page */
	uint32_t number;   /* of the device; ISC_ACTIVITY_NO_DEVICE: the record does not say */
	const char *name;  /* of a kernel or a device; not read here */
	uint64_t scope;	   /* of a call in a scope: what was pushed */
	isc_gpu_work work; /* device is not set */
} isc_activity;

#define ISC_ACTIVITY_NO_DEVICE UINT32_MAX

typedef struct isc_activity_reader {
	uint8_t *buffer;
	size_t valid;
	uint32_t version; /* of CUPTI */
	isc_cupti_result (*next)(uint8_t *buffer, size_t valid, isc_cupti_record **record);
	isc_cupti_record *last;
	isc_cupti_result failed; /* why the last step was none; ISC_CUPTI_OK: the buffer has ended */
	bool damaged;		 /* a step went out of the buffer, or back: nothing behind it is read */
} isc_activity_reader;

/* The next record that tells of a device or of its work; false: there is none. */
bool isc_activity_next(isc_activity_reader *r, isc_activity *out);

#endif
