/* activity, buffers, calls: what comes of CUPTI's side, without a CUPTI. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "base/gpu_names.h"
#include "cuda/activity.h"
#include "cuda/buffers.h"
#include "cuda/calls.h"

/* ---- the decoder ---- */

typedef struct made {
	_Alignas(8) uint8_t data[4096];
	size_t used;
	size_t at[32], count; /* where records begin */
} made;

static made *stepped; /* what step() goes through */

/* As the library does: it knows how long records are. */
static isc_cupti_result step(uint8_t *buffer, size_t valid, isc_cupti_record **record)
{
	size_t next = 0;

	while (*record != NULL && next < stepped->count && buffer + stepped->at[next] <= (uint8_t *)*record)
		next++;
	if (next >= stepped->count || stepped->at[next] >= valid)
		return ISC_CUPTI_AT_END;
	*record = (isc_cupti_record *)(void *)(buffer + stepped->at[next]);
	return ISC_CUPTI_OK;
}

static void *put(made *m, uint32_t kind, size_t bytes)
{
	uint8_t *at = m->data + m->used;

	m->at[m->count++] = m->used;
	m->used += bytes;
	memset(at, 0xa5, bytes); /* what a later version has there */
	memcpy(at, &kind, sizeof(kind));
	return at;
}

static isc_activity_reader reader_of(made *m, uint32_t version)
{
	stepped = m;
	return (isc_activity_reader){.buffer = m->data, .valid = m->used, .version = version, .next = step};
}

static void put_kernel(made *m, size_t bytes, uint64_t start)
{
	isc_cupti_kernel *k = put(m, ISC_CUPTI_KERNEL, bytes);
	isc_cupti_kernel_graph graph = {.node = 1, .graph = 77};

	memset((char *)k + 4, 0, sizeof(*k) - 4);
	k->start = start;
	k->end = start + 50;
	k->device = 1;
	k->context = 2;
	k->stream = 13;
	k->grid[0] = 64;
	k->grid[2] = 3;
	k->block[0] = 128;
	k->correlation = 42;
	k->name = "gemm";
	if (bytes >= sizeof(*k) + sizeof(graph))
		memcpy(k + 1, &graph, sizeof(graph));
}

static void kernels_of_all_generations_read_the_same(void **state)
{
	static const struct {
		uint32_t version;
		size_t bytes;
	} generations[] = {{13, 160}, {18, 200}, {23, 208}, {130000, 216}, {130001, 216}};

	(void)state;
	for (size_t i = 0; i < sizeof(generations) / sizeof(generations[0]); i++) {
		made m = {.used = 0};
		isc_activity_reader r;
		isc_activity a;

		for (unsigned k = 0; k < 3; k++)
			put_kernel(&m, generations[i].bytes, 1000 + k);
		r = reader_of(&m, generations[i].version);
		for (unsigned k = 0; k < 3; k++) {
			assert_true(isc_activity_next(&r, &a));
			assert_int_equal(a.job, ISC_JOB_KERNEL);
			assert_int_equal(a.number, 1);
			assert_int_equal(a.work.start, 1000 + k);
			assert_int_equal(a.work.end, 1050 + k);
			assert_int_equal(a.work.stream, 13);
			assert_int_equal(a.work.context, 2);
			assert_int_equal(a.work.correlation, 42);
			assert_int_equal(a.work.grid[0], 64);
			assert_int_equal(a.work.grid[2], 3);
			assert_int_equal(a.work.block[0], 128);
			assert_string_equal(a.name, "gemm");
			/* Where 11.0 has something else, nothing is read. */
			assert_int_equal(a.work.graph, generations[i].version >= ISC_CUPTI_11_8 ? 77 : 0);
		}
		assert_false(isc_activity_next(&r, &a));
		assert_false(r.damaged);
	}
}

static void copies_say_where_from_and_of_which_memory(void **state)
{
	static const struct {
		uint8_t copy, from, to;
		uint16_t job, page;
	} copies[] = {
		{ISC_CUPTI_H2D, ISC_CUPTI_PAGEABLE, ISC_CUPTI_ON_DEVICE, ISC_JOB_H2D, ISC_PAGE_PAGEABLE},
		{ISC_CUPTI_H2D, ISC_CUPTI_PINNED, ISC_CUPTI_ON_DEVICE, ISC_JOB_H2D, ISC_PAGE_PINNED},
		{ISC_CUPTI_D2H, ISC_CUPTI_ON_DEVICE, ISC_CUPTI_PAGEABLE, ISC_JOB_D2H, ISC_PAGE_PAGEABLE},
		{ISC_CUPTI_D2H, ISC_CUPTI_ON_DEVICE, 0, ISC_JOB_D2H, ISC_PAGE_UNKNOWN},
		{ISC_CUPTI_D2D, ISC_CUPTI_ON_DEVICE, ISC_CUPTI_ON_DEVICE, ISC_JOB_D2D, ISC_PAGE_UNKNOWN},
		{ISC_CUPTI_H2H, ISC_CUPTI_PAGEABLE, ISC_CUPTI_PAGEABLE, ISC_JOB_COPY, ISC_PAGE_UNKNOWN},
		{200, 1, 1, ISC_JOB_COPY, ISC_PAGE_UNKNOWN},
	};
	made m = {.used = 0};
	isc_activity_reader r;
	isc_activity a;

	(void)state;
	for (size_t i = 0; i < sizeof(copies) / sizeof(copies[0]); i++) {
		isc_cupti_memcpy *c = put(&m, ISC_CUPTI_MEMCPY, 96);

		memset((char *)c + 4, 0, sizeof(*c) - 4);
		c->copy = copies[i].copy;
		c->from = copies[i].from;
		c->to = copies[i].to;
		c->bytes = 4096 + i;
		c->correlation = 7;
	}
	r = reader_of(&m, 130001);
	for (size_t i = 0; i < sizeof(copies) / sizeof(copies[0]); i++) {
		assert_true(isc_activity_next(&r, &a));
		assert_int_equal(a.job, copies[i].job);
		assert_int_equal(a.page, copies[i].page);
		assert_int_equal(a.work.bytes, 4096 + i);
		assert_int_equal(a.work.correlation, 7);
	}
	assert_false(isc_activity_next(&r, &a));
}

static void the_other_kinds_are_read_and_unknown_ones_passed_over(void **state)
{
	made m = {.used = 0};
	isc_activity_reader r;
	isc_cupti_sync *s;
	isc_cupti_memset *f;
	isc_cupti_graph *g;
	isc_cupti_peer *p;
	isc_activity a;

	(void)state;
	put(&m, ISC_CUPTI_OVERHEAD, 56);
	s = put(&m, ISC_CUPTI_SYNC, 56);
	s->start = 5, s->end = 9, s->correlation = 3, s->context = 2, s->stream = 7;
	put(&m, 4711, 24);
	f = put(&m, ISC_CUPTI_MEMSET, 88);
	f->bytes = 64, f->start = 1, f->end = 2, f->device = 5, f->correlation = 4;
	g = put(&m, ISC_CUPTI_GRAPH, 56);
	g->start = 10, g->end = 20, g->device = 1, g->graph = 9, g->correlation = 8;
	p = put(&m, ISC_CUPTI_MEMCPY2, 96);
	p->bytes = 128, p->start = 3, p->end = 4, p->device = 6, p->correlation = 11;
	r = reader_of(&m, 130001);
	assert_true(isc_activity_next(&r, &a));
	assert_int_equal(a.job, ISC_JOB_SYNC);
	assert_int_equal(a.number, ISC_ACTIVITY_NO_DEVICE);
	assert_int_equal(a.work.end, 9);
	assert_true(isc_activity_next(&r, &a));
	assert_int_equal(a.job, ISC_JOB_MEMSET);
	assert_int_equal(a.work.bytes, 64);
	assert_int_equal(a.number, 5);
	assert_true(isc_activity_next(&r, &a));
	assert_int_equal(a.kind, ISC_CUPTI_GRAPH);
	assert_int_equal(a.job, ISC_JOB_KERNEL);
	assert_int_equal(a.work.graph, 9);
	assert_true(isc_activity_next(&r, &a));
	assert_int_equal(a.job, ISC_JOB_P2P);
	assert_int_equal(a.work.correlation, 11);
	assert_false(isc_activity_next(&r, &a));
	assert_false(r.damaged);
}

static void a_record_that_is_cut_short_ends_the_reading(void **state)
{
	made m = {.used = 0};
	isc_activity_reader r;
	isc_activity a;

	(void)state;
	put_kernel(&m, 216, 1);
	put_kernel(&m, 216, 2);
	for (size_t valid = 216 + 8; valid < 216 + sizeof(isc_cupti_kernel); valid += 8) {
		r = reader_of(&m, 130001);
		r.valid = valid;
		assert_true(isc_activity_next(&r, &a));
		assert_false(isc_activity_next(&r, &a));
		assert_true(r.damaged);
	}
}

static isc_cupti_result step_back(uint8_t *buffer, size_t valid, isc_cupti_record **record)
{
	(void)valid;
	*record = (isc_cupti_record *)(void *)(*record == NULL ? buffer + 216 : buffer);
	return ISC_CUPTI_OK;
}

static void a_step_back_ends_the_reading(void **state)
{
	made m = {.used = 0};
	isc_activity_reader r;
	isc_activity a;

	(void)state;
	put_kernel(&m, 216, 1);
	put_kernel(&m, 216, 2);
	r = reader_of(&m, 130001);
	r.next = step_back;
	assert_true(isc_activity_next(&r, &a));
	assert_false(isc_activity_next(&r, &a));
	assert_true(r.damaged);
}

/* ---- buffers ---- */

static void a_buffer_comes_back_and_is_given_again_empty(void **state)
{
	isc_buffer_full full;
	size_t size = 0;
	uint8_t *first = isc_buffers_give(&size), *second;

	(void)state;
	assert_int_equal(size, ISC_BUFFER_BYTES);
	assert_int_equal((uintptr_t)first % 8, 0);
	assert_false(isc_buffers_next(&full));
	memset(first, 1, 5000);
	isc_buffers_take(first, 5000);
	isc_buffers_take(NULL, 0);
	assert_true(isc_buffers_next(&full));
	assert_ptr_equal(full.at, first);
	assert_int_equal(full.valid, 5000);
	isc_buffers_reuse(&full);
	second = isc_buffers_give(&size);
	assert_ptr_equal(second, first);
	for (size_t i = 0; i < 8192; i++)
		assert_int_equal(second[i], 0);
	assert_false(isc_buffers_next(&full));
	isc_buffers_take(second, 0);
	assert_true(isc_buffers_next(&full));
	isc_buffers_reuse(&full);
}

static void they_come_back_in_order(void **state)
{
	uint8_t *given[10];
	isc_buffer_full full;
	size_t size;

	(void)state;
	for (unsigned i = 0; i < 10; i++)
		given[i] = isc_buffers_give(&size);
	for (unsigned i = 0; i < 10; i++)
		isc_buffers_take(given[i], i + 1);
	for (unsigned i = 0; i < 10; i++) {
		assert_true(isc_buffers_next(&full));
		assert_int_equal(full.valid, i + 1);
		isc_buffers_reuse(&full);
	}
}

/* Before 12.9 a NULL ends the program. */
static void without_memory_there_is_a_buffer_all_the_same(void **state)
{
	struct rlimit before, none;
	uint8_t *given[40];
	size_t size, small = 0;
	isc_buffer_full full;

	(void)state;
	getrlimit(RLIMIT_AS, &before);
	none = (struct rlimit){1u << 20, before.rlim_max};
	setrlimit(RLIMIT_AS, &none);
	for (unsigned i = 0; i < 40; i++) {
		given[i] = isc_buffers_give(&size);
		if (given[i] == NULL)
			break;
		small += size < ISC_BUFFER_BYTES;
		memset(given[i], 1, 64);
	}
	setrlimit(RLIMIT_AS, &before);
	for (unsigned i = 0; i < 40; i++)
		assert_non_null(given[i]);
	assert_true(small >= 30);
	for (unsigned i = 0; i < 40; i++)
		isc_buffers_take(given[i], 64);
	/* What nobody can read is counted. */
	assert_true(isc_buffers_lost() > 0);
	assert_int_equal(isc_buffers_lost(), 0);
	while (isc_buffers_next(&full))
		isc_buffers_reuse(&full);
}

/* ---- names of calls ---- */

static void calls_are_told_by_their_names(void **state)
{
	static const struct {
		const char *name;
		int role; /* -1: not told of */
		const char *plain;
	} calls[] = {
		{"cudaLaunchKernel_v7000", ISC_ROLE_LAUNCH, "cudaLaunchKernel"},
		{"cudaLaunchKernel_ptsz_v7000", ISC_ROLE_LAUNCH, "cudaLaunchKernel"},
		{"cudaLaunchKernelExC_v11060", ISC_ROLE_LAUNCH, "cudaLaunchKernelExC"},
		{"cuLaunchKernel", ISC_ROLE_LAUNCH, "cuLaunchKernel"},
		{"cuLaunchKernelEx_ptsz", ISC_ROLE_LAUNCH, "cuLaunchKernelEx"},
		{"cudaLaunchHostFunc_v10000", ISC_ROLE_OTHER, "cudaLaunchHostFunc"},
		{"cudaGraphLaunch_v10000", ISC_ROLE_LAUNCH, "cudaGraphLaunch"},
		{"cudaMemcpyAsync_v3020", ISC_ROLE_COPY, "cudaMemcpyAsync"},
		{"cuMemcpyHtoDAsync_v2_ptsz", ISC_ROLE_COPY, "cuMemcpyHtoDAsync"},
		{"cuMemsetD8_v2", ISC_ROLE_COPY, "cuMemsetD8"},
		{"cudaDeviceSynchronize_v3020", ISC_ROLE_SYNC, "cudaDeviceSynchronize"},
		{"cuEventSynchronize", ISC_ROLE_SYNC, "cuEventSynchronize"},
		{"cudaMalloc_v3020", ISC_ROLE_OTHER, "cudaMalloc"},
		{"cudaGetDevice_v3020", -1, NULL},
		{"cuCtxGetCurrent", -1, NULL},
		{"cuKernelGetAttribute", -1, NULL},
		{"cudaEventQuery_v3020", -1, NULL},
		{"", -1, NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		enum isc_gpu_role role = ISC_ROLE_OTHER;
		bool told = isc_calls_role(calls[i].name, &role);

		assert_int_equal(told, calls[i].role >= 0);
		if (told) {
			assert_int_equal(role, calls[i].role);
			assert_int_equal(isc_call_name_bytes(calls[i].name, strlen(calls[i].name)),
					 strlen(calls[i].plain));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernels_of_all_generations_read_the_same),
		cmocka_unit_test(copies_say_where_from_and_of_which_memory),
		cmocka_unit_test(the_other_kinds_are_read_and_unknown_ones_passed_over),
		cmocka_unit_test(a_record_that_is_cut_short_ends_the_reading),
		cmocka_unit_test(a_step_back_ends_the_reading),
		cmocka_unit_test(a_buffer_comes_back_and_is_given_again_empty),
		cmocka_unit_test(they_come_back_in_order),
		cmocka_unit_test(without_memory_there_is_a_buffer_all_the_same),
		cmocka_unit_test(calls_are_told_by_their_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
