/* cupti.h beside NVIDIA's headers, where these are installed: every offset and number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef ISC_HAS_CUPTI

#include <cupti.h>

#include <cmocka.h>

#include "cuda/cupti.h"

/* ours, its field; theirs, its field */
#define SAME(ours, field, theirs, theirs_field) \
	do { \
		if (offsetof(ours, field) != offsetof(theirs, theirs_field)) \
			fail_msg(#ours "." #field " is at %zu, " #theirs "." #theirs_field " at %zu", \
				 offsetof(ours, field), offsetof(theirs, theirs_field)); \
		assert_int_equal(sizeof(((ours *)0)->field), sizeof(((theirs *)0)->theirs_field)); \
	} while (0)

/* A record of a later version begins with the earlier one. */
#define KERNEL(version) \
	do { \
		typedef CUpti_ActivityKernel##version K; \
		assert_true(sizeof(K) >= sizeof(isc_cupti_kernel)); \
		SAME(isc_cupti_kernel, kind, K, kind); \
		SAME(isc_cupti_kernel, start, K, start); \
		SAME(isc_cupti_kernel, end, K, end); \
		SAME(isc_cupti_kernel, device, K, deviceId); \
		SAME(isc_cupti_kernel, context, K, contextId); \
		SAME(isc_cupti_kernel, stream, K, streamId); \
		assert_int_equal(offsetof(isc_cupti_kernel, grid), offsetof(K, gridX)); \
		assert_int_equal(offsetof(K, gridZ), offsetof(K, gridX) + 8); \
		assert_int_equal(offsetof(isc_cupti_kernel, block), offsetof(K, blockX)); \
		assert_int_equal(offsetof(K, blockZ), offsetof(K, blockX) + 8); \
		SAME(isc_cupti_kernel, correlation, K, correlationId); \
		SAME(isc_cupti_kernel, name, K, name); \
	} while (0)

static void kernels(void **state)
{
	(void)state;
	KERNEL(4);
	KERNEL(5);
	KERNEL(6);
	KERNEL(7);
	KERNEL(8);
	KERNEL(9);
#if CUPTI_API_VERSION >= 130000
	KERNEL(10);
#endif
	assert_int_equal(sizeof(CUpti_ActivityKernel4), sizeof(isc_cupti_kernel));
	assert_int_equal(offsetof(CUpti_ActivityKernel9, graphId),
			 sizeof(isc_cupti_kernel) + offsetof(isc_cupti_kernel_graph, graph));
	assert_int_equal(offsetof(CUpti_ActivityKernel7, graphId), offsetof(CUpti_ActivityKernel9, graphId));
}

#define COPY(theirs) \
	do { \
		assert_true(sizeof(theirs) >= sizeof(isc_cupti_memcpy)); \
		SAME(isc_cupti_memcpy, copy, theirs, copyKind); \
		SAME(isc_cupti_memcpy, from, theirs, srcKind); \
		SAME(isc_cupti_memcpy, to, theirs, dstKind); \
		SAME(isc_cupti_memcpy, bytes, theirs, bytes); \
		SAME(isc_cupti_memcpy, start, theirs, start); \
		SAME(isc_cupti_memcpy, end, theirs, end); \
		SAME(isc_cupti_memcpy, device, theirs, deviceId); \
		SAME(isc_cupti_memcpy, context, theirs, contextId); \
		SAME(isc_cupti_memcpy, stream, theirs, streamId); \
		SAME(isc_cupti_memcpy, correlation, theirs, correlationId); \
	} while (0)

#define PEER(theirs) \
	do { \
		assert_true(sizeof(theirs) >= sizeof(isc_cupti_peer)); \
		SAME(isc_cupti_peer, bytes, theirs, bytes); \
		SAME(isc_cupti_peer, start, theirs, start); \
		SAME(isc_cupti_peer, end, theirs, end); \
		SAME(isc_cupti_peer, device, theirs, deviceId); \
		SAME(isc_cupti_peer, context, theirs, contextId); \
		SAME(isc_cupti_peer, stream, theirs, streamId); \
		SAME(isc_cupti_peer, from_device, theirs, srcDeviceId); \
		SAME(isc_cupti_peer, to_device, theirs, dstDeviceId); \
		SAME(isc_cupti_peer, correlation, theirs, correlationId); \
	} while (0)

static void copies(void **state)
{
	(void)state;
	COPY(CUpti_ActivityMemcpy);
	COPY(CUpti_ActivityMemcpy3);
	COPY(CUpti_ActivityMemcpy4);
	COPY(CUpti_ActivityMemcpy5);
	PEER(CUpti_ActivityMemcpyPtoP);
	PEER(CUpti_ActivityMemcpyPtoP4);
#if CUPTI_API_VERSION >= 130000
	COPY(CUpti_ActivityMemcpy6);
#endif
}

#define SET(theirs) \
	do { \
		assert_true(sizeof(theirs) >= sizeof(isc_cupti_memset)); \
		SAME(isc_cupti_memset, bytes, theirs, bytes); \
		SAME(isc_cupti_memset, start, theirs, start); \
		SAME(isc_cupti_memset, end, theirs, end); \
		SAME(isc_cupti_memset, device, theirs, deviceId); \
		SAME(isc_cupti_memset, context, theirs, contextId); \
		SAME(isc_cupti_memset, stream, theirs, streamId); \
		SAME(isc_cupti_memset, correlation, theirs, correlationId); \
	} while (0)

static void the_rest_of_the_records(void **state)
{
	(void)state;
	SET(CUpti_ActivityMemset);
	SET(CUpti_ActivityMemset2);
	SET(CUpti_ActivityMemset3);
	SET(CUpti_ActivityMemset4);
	SAME(isc_cupti_sync, type, CUpti_ActivitySynchronization, type);
	SAME(isc_cupti_sync, start, CUpti_ActivitySynchronization, start);
	SAME(isc_cupti_sync, end, CUpti_ActivitySynchronization, end);
	SAME(isc_cupti_sync, correlation, CUpti_ActivitySynchronization, correlationId);
	SAME(isc_cupti_sync, context, CUpti_ActivitySynchronization, contextId);
	SAME(isc_cupti_sync, stream, CUpti_ActivitySynchronization, streamId);
	assert_true(sizeof(CUpti_ActivitySynchronization) >= sizeof(isc_cupti_sync));
	SAME(isc_cupti_graph, correlation, CUpti_ActivityGraphTrace, correlationId);
	SAME(isc_cupti_graph, start, CUpti_ActivityGraphTrace, start);
	SAME(isc_cupti_graph, end, CUpti_ActivityGraphTrace, end);
	SAME(isc_cupti_graph, device, CUpti_ActivityGraphTrace, deviceId);
	SAME(isc_cupti_graph, graph, CUpti_ActivityGraphTrace, graphId);
	SAME(isc_cupti_graph, context, CUpti_ActivityGraphTrace, contextId);
	SAME(isc_cupti_graph, stream, CUpti_ActivityGraphTrace, streamId);
	assert_int_equal(sizeof(isc_cupti_external), sizeof(CUpti_ActivityExternalCorrelation));
	SAME(isc_cupti_external, whose, CUpti_ActivityExternalCorrelation, externalKind);
	SAME(isc_cupti_external, number, CUpti_ActivityExternalCorrelation, externalId);
	SAME(isc_cupti_external, correlation, CUpti_ActivityExternalCorrelation, correlationId);
	SAME(isc_cupti_device, id, CUpti_ActivityDevice4, id);
	SAME(isc_cupti_device, name, CUpti_ActivityDevice4, name);
}

static void calls(void **state)
{
	(void)state;
	assert_int_equal(sizeof(isc_cupti_call), sizeof(CUpti_CallbackData));
	SAME(isc_cupti_call, site, CUpti_CallbackData, callbackSite);
	SAME(isc_cupti_call, function, CUpti_CallbackData, functionName);
	SAME(isc_cupti_call, parameters, CUpti_CallbackData, functionParams);
	SAME(isc_cupti_call, result, CUpti_CallbackData, functionReturnValue);
	SAME(isc_cupti_call, symbol, CUpti_CallbackData, symbolName);
	SAME(isc_cupti_call, context, CUpti_CallbackData, context);
	SAME(isc_cupti_call, context_id, CUpti_CallbackData, contextUid);
	SAME(isc_cupti_call, own, CUpti_CallbackData, correlationData);
	SAME(isc_cupti_call, correlation, CUpti_CallbackData, correlationId);
}

static void numbers(void **state)
{
	(void)state;
	assert_int_equal(ISC_CUPTI_AT_END, CUPTI_ERROR_MAX_LIMIT_REACHED);
	assert_int_equal(ISC_CUPTI_HELD, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
	assert_int_equal(ISC_CUPTI_UNKNOWN, CUPTI_ERROR_UNKNOWN);
	assert_int_equal(ISC_CUPTI_NO_RIGHTS, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
	assert_int_equal(ISC_CUPTI_INVALID_KIND, CUPTI_ERROR_INVALID_KIND);
	assert_int_equal(ISC_CUPTI_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY);
	assert_int_equal(ISC_CUPTI_MEMSET, CUPTI_ACTIVITY_KIND_MEMSET);
	assert_int_equal(ISC_CUPTI_SERIAL_KERNEL, CUPTI_ACTIVITY_KIND_KERNEL);
	assert_int_equal(ISC_CUPTI_KERNEL, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	assert_int_equal(ISC_CUPTI_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMCPY2);
	assert_int_equal(ISC_CUPTI_SYNC, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
	assert_int_equal(ISC_CUPTI_GRAPH, CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
	assert_int_equal(ISC_CUPTI_DEVICE, CUPTI_ACTIVITY_KIND_DEVICE);
	assert_int_equal(ISC_CUPTI_EXTERNAL, CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION);
	assert_int_equal(ISC_CUPTI_RUNTIME, CUPTI_ACTIVITY_KIND_RUNTIME);
	assert_int_equal(ISC_CUPTI_DRIVER, CUPTI_ACTIVITY_KIND_DRIVER);
	assert_int_equal(ISC_CUPTI_EXTERNAL_CUSTOM2, CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2);
	assert_int_equal(ISC_CUPTI_QUEUE_EMPTY, CUPTI_ERROR_QUEUE_EMPTY);
	assert_int_equal(ISC_CUPTI_FLUSH_ALL, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	assert_int_equal(ISC_CUPTI_ATTRIBUTE_ZEROED, CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER);
	assert_int_equal(ISC_CUPTI_H2D, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD);
	assert_int_equal(ISC_CUPTI_D2H, CUPTI_ACTIVITY_MEMCPY_KIND_DTOH);
	assert_int_equal(ISC_CUPTI_D2D, CUPTI_ACTIVITY_MEMCPY_KIND_DTOD);
	assert_int_equal(ISC_CUPTI_H2H, CUPTI_ACTIVITY_MEMCPY_KIND_HTOH);
	assert_int_equal(ISC_CUPTI_P2P, CUPTI_ACTIVITY_MEMCPY_KIND_PTOP);
	assert_int_equal(ISC_CUPTI_PAGEABLE, CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE);
	assert_int_equal(ISC_CUPTI_PINNED, CUPTI_ACTIVITY_MEMORY_KIND_PINNED);
	assert_int_equal(ISC_CUPTI_ON_DEVICE, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
	assert_int_equal(ISC_CUPTI_SYNC_STREAM, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE);
	assert_int_equal(ISC_CUPTI_SYNC_CONTEXT, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE);
	assert_int_equal(ISC_CUPTI_DOMAIN_RUNTIME, CUPTI_CB_DOMAIN_RUNTIME_API);
	assert_int_equal(ISC_CUPTI_DOMAIN_DRIVER, CUPTI_CB_DOMAIN_DRIVER_API);
	assert_int_equal(ISC_CUPTI_ENTER, CUPTI_API_ENTER);
	assert_int_equal(ISC_CUPTI_EXIT, CUPTI_API_EXIT);
}

/* The numbers that the double gives to calls. */
static void calls_of_the_double(void **state)
{
	(void)state;
	assert_int_equal(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, 211);
	assert_int_equal(CUPTI_RUNTIME_TRACE_CBID_cudaMemcpy_v3020, 31);
	assert_int_equal(CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020, 41);
	assert_int_equal(CUPTI_RUNTIME_TRACE_CBID_cudaDeviceSynchronize_v3020, 165);
	assert_int_equal(CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_v3020, 131);
	assert_int_equal(CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000, 311);
	assert_int_equal(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, 307);
	assert_int_equal(CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoH_v2, 278);
	assert_int_equal(CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize, 17);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernels), cmocka_unit_test(copies),  cmocka_unit_test(the_rest_of_the_records),
		cmocka_unit_test(calls),   cmocka_unit_test(numbers), cmocka_unit_test(calls_of_the_double),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
	puts("1..0 # SKIP NVIDIA's headers (cupti.h) are not installed: layouts are not compared with them");
	return 0;
}

#endif
