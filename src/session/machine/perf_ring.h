/*
 * perf_ring.h - the records in a perf ring, as a pure function over its bytes.
 *
 * The kernel writes them; still, nothing is believed: sizes and offsets are
 * checked, and bytes that make no sense end the reading of what is there now.
 */
#ifndef ISC_SESSION_MACHINE_PERF_RING_H
#define ISC_SESSION_MACHINE_PERF_RING_H

#include <stddef.h>
#include <stdint.h>

enum isc_perf_kind {
	ISC_PERF_SWITCH_IN = 1,
	ISC_PERF_SWITCH_OUT,
	ISC_PERF_SWITCH_PREEMPT,
	ISC_PERF_FORK, /* other: the parent's pid */
	ISC_PERF_EXIT, /* other: the parent's pid */
	ISC_PERF_COMM, /* name */
	ISC_PERF_EXEC, /* name */
	ISC_PERF_LOST, /* count */
	ISC_PERF_FAULT /* a page fault that had to read, and has ended */
};

typedef struct isc_perf_record {
	uint64_t time_ns;
	uint32_t pid; /* of the child, of a fork */
	uint32_t tid;
	uint32_t other;
	uint16_t cpu;
	uint8_t kind; /* enum isc_perf_kind */
	union {
		char name[16]; /* ends with a NUL */
		uint64_t count;
	};
} isc_perf_record;

typedef void (*isc_perf_visit)(void *self, const isc_perf_record *record);

typedef struct isc_perf_ring_stats {
	uint64_t records;
	uint64_t unknown; /* of a type that nobody asked for: skipped */
	uint64_t damaged; /* sizes that cannot be: the rest was thrown away */
} isc_perf_ring_stats;

/*
 * Gives every record between tail and head of the ring (size bytes, a power of
 * two) to visit, and returns the new tail.  Records end with the trailer of
 * sample_id_all for PERF_SAMPLE_TID, TIME and CPU; a sample is that and no more.
 */
uint64_t isc_perf_ring_read(const void *data, size_t size, uint64_t tail, uint64_t head, isc_perf_visit visit,
			    void *self, isc_perf_ring_stats *stats);

#endif
