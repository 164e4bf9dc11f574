/*
 * cupti.h - as much of NVIDIA's CUPTI as is used here, in declarations of our own.
 *
 * One library serves CUPTI 11, 12 and 13: nothing is linked, functions are found
 * by name, and of records only the part is declared that all versions have.  A
 * record of a later version is longer, never different in front; how long it is,
 * only the library knows.  tests/unit/test_cupti_layout.c compares every number
 * here with NVIDIA's headers where they are installed.
 */
#ifndef ISC_CUDA_CUPTI_H
#define ISC_CUDA_CUPTI_H

#include <stddef.h>
#include <stdint.h>

typedef uint32_t isc_cupti_result;

enum {
	ISC_CUPTI_OK = 0,
	ISC_CUPTI_INVALID_PARAMETER = 1,
	ISC_CUPTI_INVALID_OPERATION = 7,
	ISC_CUPTI_AT_END = 12,
	ISC_CUPTI_NOT_INITIALIZED = 15,
	ISC_CUPTI_QUEUE_EMPTY = 18,
	ISC_CUPTI_INVALID_KIND = 21,
	ISC_CUPTI_NO_RIGHTS = 35,
	ISC_CUPTI_HELD = 39, /* another subscriber has it */
	ISC_CUPTI_UNKNOWN = 999
};

/* What cuptiGetVersion() says: counted up to 12.9, and from 13.0 on the release itself. */
enum {
	ISC_CUPTI_11_0 = 13,
	ISC_CUPTI_11_8 = 18, /* records of kernels have their graph */
	ISC_CUPTI_12_5 = 23,
	ISC_CUPTI_12_9 = 27,
	ISC_CUPTI_13_0 = 130000,
	ISC_CUPTI_13_0_1 = 130001
};

enum isc_cupti_kind {
	ISC_CUPTI_MEMCPY = 1,
	ISC_CUPTI_MEMSET = 2,
	ISC_CUPTI_SERIAL_KERNEL = 3, /* enabled, kernels would run one after the other */
	ISC_CUPTI_DRIVER = 4,
	ISC_CUPTI_RUNTIME = 5,
	ISC_CUPTI_DEVICE = 8,
	ISC_CUPTI_KERNEL = 10,
	ISC_CUPTI_OVERHEAD = 17,
	ISC_CUPTI_MEMCPY2 = 22, /* between devices */
	ISC_CUPTI_SYNC = 38,
	ISC_CUPTI_EXTERNAL = 39,
	ISC_CUPTI_GRAPH = 51, /* enabled, a graph is one record */
	ISC_CUPTI_KINDS = 56
};

/* Whose numbers are pushed: the first two are PyTorch's. */
enum { ISC_CUPTI_EXTERNAL_CUSTOM2 = 5 };
enum { ISC_CUPTI_FLUSH_ALL = 1 };	 /* also what has not ended */
enum { ISC_CUPTI_ATTRIBUTE_ZEROED = 5 }; /* buffers are given full of zeros */
enum { ISC_CUPTI_PAGEABLE = 1, ISC_CUPTI_PINNED = 2, ISC_CUPTI_ON_DEVICE = 3 };
enum {
	ISC_CUPTI_H2D = 1,
	ISC_CUPTI_D2H = 2,
	ISC_CUPTI_H2A = 3,
	ISC_CUPTI_A2H = 4,
	ISC_CUPTI_A2A = 5,
	ISC_CUPTI_A2D = 6,
	ISC_CUPTI_D2A = 7,
	ISC_CUPTI_D2D = 8,
	ISC_CUPTI_H2H = 9,
	ISC_CUPTI_P2P = 10
};
enum {
	ISC_CUPTI_SYNC_EVENT = 1,
	ISC_CUPTI_SYNC_STREAM_WAIT = 2,
	ISC_CUPTI_SYNC_STREAM = 3,
	ISC_CUPTI_SYNC_CONTEXT = 4
};

/* ---- records: what all versions have of them ---- */

typedef struct isc_cupti_record {
	uint32_t kind;
} isc_cupti_record;

typedef struct isc_cupti_kernel {
	uint32_t kind;
	uint32_t pad0[3];
	uint64_t start, end; /* both 0: not known */
	uint64_t completed;
	uint32_t device, context, stream;
	uint32_t grid[3], block[3];
	uint32_t pad1[4];
	uint32_t correlation;
	uint64_t grid_id;
	const char *name;
	uint64_t pad2[4];
} isc_cupti_kernel;
_Static_assert(sizeof(isc_cupti_kernel) == 144 && offsetof(isc_cupti_kernel, correlation) == 92 &&
		       offsetof(isc_cupti_kernel, name) == 104,
	       "kernel");

/* Behind it since ISC_CUPTI_11_8, and before that not in all. */
typedef struct isc_cupti_kernel_graph {
	uint64_t node;
	uint32_t pad0;
	uint32_t graph; /* 0: none */
} isc_cupti_kernel_graph;

typedef struct isc_cupti_memcpy {
	uint32_t kind;
	uint8_t copy, from, to, flags;
	uint64_t bytes;
	uint64_t start, end;
	uint32_t device, context, stream;
	uint32_t correlation;
	uint64_t pad0[2];
} isc_cupti_memcpy;
_Static_assert(sizeof(isc_cupti_memcpy) == 64 && offsetof(isc_cupti_memcpy, correlation) == 44, "memcpy");

typedef struct isc_cupti_peer {
	uint32_t kind;
	uint8_t copy, from, to, flags;
	uint64_t bytes;
	uint64_t start, end;
	uint32_t device, context, stream;
	uint32_t from_device, from_context, to_device, to_context;
	uint32_t correlation;
	uint64_t pad0;
} isc_cupti_peer;
_Static_assert(sizeof(isc_cupti_peer) == 72 && offsetof(isc_cupti_peer, correlation) == 60, "copy between devices");

typedef struct isc_cupti_memset {
	uint32_t kind;
	uint32_t value;
	uint64_t bytes;
	uint64_t start, end;
	uint32_t device, context, stream;
	uint32_t correlation;
	uint64_t pad0[2];
} isc_cupti_memset;
_Static_assert(sizeof(isc_cupti_memset) == 64 && offsetof(isc_cupti_memset, correlation) == 44, "memset");

typedef struct isc_cupti_sync {
	uint32_t kind;
	uint32_t type;
	uint64_t start, end;
	uint32_t correlation;
	uint32_t context, stream, event;
} isc_cupti_sync;
_Static_assert(sizeof(isc_cupti_sync) == 40 && offsetof(isc_cupti_sync, correlation) == 24, "synchronization");

typedef struct isc_cupti_graph {
	uint32_t kind;
	uint32_t correlation;
	uint64_t start, end;
	uint32_t device, graph, context, stream;
	uint64_t pad0;
} isc_cupti_graph;
_Static_assert(sizeof(isc_cupti_graph) == 48 && offsetof(isc_cupti_graph, stream) == 36, "graph");

/* In front of the record of a call that was made while a number was pushed. */
typedef struct isc_cupti_external {
	uint32_t kind;
	uint32_t whose;
	uint64_t number;
	uint32_t correlation;
	uint32_t pad0;
} isc_cupti_external;
_Static_assert(sizeof(isc_cupti_external) == 24 && offsetof(isc_cupti_external, correlation) == 16, "external");

/* Since CUPTI 11; the one before it is not read. */
typedef struct isc_cupti_device {
	uint32_t kind;
	uint32_t pad0[27];
	uint32_t id;
	uint32_t pad1[5];
	const char *name;
} isc_cupti_device;
_Static_assert(sizeof(isc_cupti_device) == 144 && offsetof(isc_cupti_device, id) == 112 &&
		       offsetof(isc_cupti_device, name) == 136,
	       "device");

/* ---- calls of the program, told as they happen ---- */

enum isc_cupti_domain { ISC_CUPTI_DOMAIN_DRIVER = 1, ISC_CUPTI_DOMAIN_RUNTIME = 2, ISC_CUPTI_DOMAINS = 3 };
enum isc_cupti_site { ISC_CUPTI_ENTER = 0, ISC_CUPTI_EXIT = 1 };

typedef struct isc_cupti_call {
	uint32_t site; /* enum isc_cupti_site */
	const char *function;
	const void *parameters;
	const uint32_t *result; /* at the exit */
	const char *symbol;
	void *context;
	uint32_t context_id;
	uint64_t *own; /* a word from enter to exit of one call */
	uint32_t correlation;
} isc_cupti_call;
_Static_assert(sizeof(isc_cupti_call) == 72 && offsetof(isc_cupti_call, own) == 56 &&
		       offsetof(isc_cupti_call, correlation) == 64,
	       "call");

typedef struct isc_cupti_subscriber isc_cupti_subscriber;
typedef void isc_cupti_callback(void *self, uint32_t domain, uint32_t number, const void *data);
typedef void isc_cupti_request(uint8_t **buffer, size_t *size, size_t *records_max);
typedef void isc_cupti_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid);
typedef uint64_t isc_cupti_clock(void);

/* CUPTI(name without "cupti", whether it can be done without, its parameters) */
#define ISC_CUPTI_FUNCTIONS(CUPTI) \
	CUPTI(GetVersion, 1, (uint32_t *version)) \
	CUPTI(GetTimestamp, 0, (uint64_t *ns)) \
	CUPTI(GetCallbackName, 1, (uint32_t domain, uint32_t number, const char **name)) \
	CUPTI(Subscribe, 1, (isc_cupti_subscriber * *subscriber, isc_cupti_callback * callback, void *self)) \
	CUPTI(Unsubscribe, 1, (isc_cupti_subscriber * subscriber)) \
	CUPTI(EnableCallback, 1, (uint32_t on, isc_cupti_subscriber *subscriber, uint32_t domain, uint32_t number)) \
	CUPTI(ActivityRegisterTimestampCallback, 0, (isc_cupti_clock * clock)) \
	CUPTI(ActivityRegisterCallbacks, 1, (isc_cupti_request * request, isc_cupti_complete * complete)) \
	CUPTI(ActivitySetAttribute, 0, (uint32_t attribute, size_t *size, void *value)) \
	CUPTI(ActivityEnable, 1, (uint32_t kind)) \
	CUPTI(ActivityDisable, 1, (uint32_t kind)) \
	CUPTI(ActivityEnableRuntimeApi, 0, (uint32_t number, uint8_t on)) \
	CUPTI(ActivityEnableDriverApi, 0, (uint32_t number, uint8_t on)) \
	CUPTI(ActivityPushExternalCorrelationId, 0, (uint32_t whose, uint64_t number)) \
	CUPTI(ActivityPopExternalCorrelationId, 0, (uint32_t whose, uint64_t *number)) \
	CUPTI(ActivityFlushPeriod, 0, (uint32_t ms)) \
	CUPTI(ActivityFlushAll, 1, (uint32_t flags)) \
	CUPTI(ActivityGetNextRecord, 1, (uint8_t *buffer, size_t valid, isc_cupti_record **record)) \
	CUPTI(ActivityGetNumDroppedRecords, 0, (void *context, uint32_t stream, size_t *dropped))

#define ISC_CUPTI_POINTER_(name, needed, parameters) isc_cupti_result(*name) parameters;

/* An open library.  A function that can be done without may be NULL. */
typedef struct isc_cupti {
	void *handle;
	uint32_t version;
	ISC_CUPTI_FUNCTIONS(ISC_CUPTI_POINTER_)
} isc_cupti;

/*
 * Opens the CUPTI that goes with the CUDA of this process: the one that a variable names,
 * else the one that is loaded, else the one beside the loaded CUDA runtime, else by name.  NULL, or what is wrong.
 * Not signal-safe.
 */
const char *isc_cupti_open(isc_cupti *out);

#endif
