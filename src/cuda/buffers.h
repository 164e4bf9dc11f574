/*
 * buffers.h - the memory that CUPTI fills, on its way there and back.
 *
 * CUPTI asks for a buffer on whatever thread it is on, with locks of its own held,
 * and before 12.9 it cannot take no for an answer.  So asking never fails, takes no
 * lock that is held while CUPTI is called, and touches the program's heap not at
 * all.  Full buffers wait in a list for our thread.
 */
#ifndef ISC_CUDA_BUFFERS_H
#define ISC_CUDA_BUFFERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 6,000 kernels; what the header recommends begins here.  */
#define ISC_BUFFER_BYTES (1u << 20)

/* Zeroed and aligned; never NULL. */
uint8_t *isc_buffers_give(size_t *size);

/* Back from CUPTI with so many bytes in it; may be empty.  Wakes who waits. */
void isc_buffers_take(uint8_t *buffer, size_t valid);

typedef struct isc_buffer_full {
	uint8_t *at;
	size_t valid;
} isc_buffer_full;

/* The oldest that came back; false: there is none. */
bool isc_buffers_next(isc_buffer_full *out);

/* It is read: to be given again. */
void isc_buffers_reuse(const isc_buffer_full *full);

/* Buffers whose content could not be kept, since the last time. */
uint64_t isc_buffers_lost(void);

/* Until one comes back, isc_buffers_wake() or so long. */
void isc_buffers_wait(uint64_t ns);
void isc_buffers_wake(void);

#endif
