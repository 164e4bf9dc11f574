/*
 * record.h - one thing that a GPU did, or that a program asked of it.
 *
 * Every source (the collectors, the importers) makes these, and nothing behind
 * them knows which source it was.  Numbers that a source does not know are
 * ISC_GPU_UNKNOWN; an end before the start, or both 0, says that the device had
 * no time stamp for it.
 */
#ifndef ISC_TIMELINE_GPU_RECORD_H
#define ISC_TIMELINE_GPU_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ISC_GPU_UNKNOWN UINT32_MAX

enum isc_gpu_kind {
	ISC_GPU_KERNEL,
	ISC_GPU_H2D,
	ISC_GPU_D2H,
	ISC_GPU_D2D,
	ISC_GPU_P2P,
	ISC_GPU_COPY, /* a copy between places that are not known */
	ISC_GPU_MEMSET,
	ISC_GPU_SYNC, /* a wait as the device's side tells of it; no work */
	ISC_GPU_API,  /* a call of the program, on a thread of the host */
	ISC_GPU_KINDS
};

/* What a kernel is for, as far as its name tells. */
enum isc_gpu_class {
	ISC_CLASS_ATTENTION,
	ISC_CLASS_GEMM,
	ISC_CLASS_CONV,
	ISC_CLASS_MOE,
	ISC_CLASS_COMM,
	ISC_CLASS_NORM,
	ISC_CLASS_ACTIVATION,
	ISC_CLASS_ROPE,
	ISC_CLASS_QUANT,
	ISC_CLASS_KV,
	ISC_CLASS_SAMPLING,
	ISC_CLASS_ELEMENTWISE,
	ISC_CLASS_REDUCE,
	ISC_CLASS_COPY,
	ISC_CLASS_OTHER,
	ISC_CLASSES
};

enum isc_gpu_memory { ISC_MEMORY_UNKNOWN, ISC_MEMORY_PINNED, ISC_MEMORY_PAGEABLE };

/* What the times of a record are measured with. */
enum isc_gpu_clock {
	ISC_CLOCK_HOST,	   /* the clock of the host, or made so by the source */
	ISC_CLOCK_DEVICE,  /* the device's own: to be turned into the host's */
	ISC_CLOCK_ESTIMATE /* the host's, by a guess with a stated bound */
};

typedef struct isc_gpu_record {
	int64_t start_ns, end_ns;
	uint64_t bytes;	      /* copied or set */
	uint64_t correlation; /* the same for a call and the work it asked for; 0: none */
	uint64_t stream;
	uint32_t device; /* isc_timeline_device(); of calls: ISC_GPU_UNKNOWN */
	uint32_t context;
	uint32_t domain; /* in which correlations are unique: isc_timeline_domain() */
	uint32_t thread; /* isc_timeline_thread(); of work: ISC_GPU_UNKNOWN, the call tells */
	uint32_t name;	 /* isc_timeline_name() */
	uint32_t stack;	 /* where it was asked for, as a name; 0: not known */
	uint32_t scope;	 /* name of the innermost scope that it was asked for in; 0: not known.  The call's counts */
	uint32_t grid[3], block[3];
	uint8_t kind;	/* enum isc_gpu_kind */
	uint8_t class;	/* enum isc_gpu_class, of kernels; the timeline finds it from the name */
	uint8_t memory; /* enum isc_gpu_memory, the host's side of a copy */
	uint8_t clock;	/* enum isc_gpu_clock */
} isc_gpu_record;

/* What a call does to the thread that makes it. */
enum isc_gpu_call { ISC_CALL_OTHER, ISC_CALL_SYNC, ISC_CALL_COPY, ISC_CALL_LAUNCH };

/* Names are any bytes. */
enum isc_gpu_class isc_gpu_class_of(const char *name, size_t len);
enum isc_gpu_call isc_gpu_call_of(const char *name, size_t len);
/* "Memcpy HtoD (Pageable -> Device)", "CopyHostToDevice", ...: the kind, and what the host's side is. */
enum isc_gpu_kind isc_gpu_copy_of(const char *name, size_t len, enum isc_gpu_memory *memory);

const char *isc_gpu_kind_name(enum isc_gpu_kind kind);	  /* "kernel", "h2d", ... */
const char *isc_gpu_class_name(enum isc_gpu_class class); /* "gemm", ... */

static inline bool isc_gpu_is_copy(unsigned kind)
{
	return kind >= ISC_GPU_H2D && kind <= ISC_GPU_COPY;
}

/* Time on the device, in which it is busy. */
static inline bool isc_gpu_is_work(unsigned kind)
{
	return kind <= ISC_GPU_MEMSET;
}

#endif
