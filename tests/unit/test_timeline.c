/* timeline: unions, gaps and their causes, calls and their work, functions and scopes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/ns.h"
#include "timeline_text.h"

static isc_timeline *timeline;

static const isc_timeline_facts *facts_of(const char *text, const isc_timeline_window *window)
{
	const isc_timeline_options small = {.memory_bytes = 64u << 10};
	const isc_timeline_facts *facts;

	assert_int_equal(isc_timeline_new(&small, &timeline, NULL), ISC_OK);
	add_text(timeline, isc_timeline_source(timeline, "text"), text);
	assert_int_equal(isc_timeline_finish(timeline, window, &facts, NULL), ISC_OK);
	return facts;
}

static int end(void **state)
{
	(void)state;
	isc_timeline_free(timeline);
	timeline = NULL;
	return 0;
}

static void busy_time_is_a_union_and_never_a_sum(void **state)
{
	const isc_facts_gpu *g = facts_of("gpu 0 s1 100..200 kernel gemm_a c1\n"
					  "gpu 0 s2 150..260 kernel ncclAllReduce c2\n"
					  "gpu 0 s3 300..340 h2d copy c3\n"
					  "gpu 0 s3 340..350 memset set c4\n"
					  "gpu 0 s1 180..190 kernel inner c5\n",
					  NULL)
					 ->gpus;

	(void)state;
	assert_int_equal(g->last_ns - g->first_ns, 250);
	assert_int_equal(g->busy_ns, 160 + 50);
	assert_int_equal(g->kernel_ns, 160);
	assert_int_equal(g->compute_ns, 100);
	assert_int_equal(g->comm_ns, 110);
	assert_int_equal(g->copy_ns, 40);
	assert_int_equal(g->set_ns, 10);
	assert_int_equal(g->most_at_once, 3);
	assert_int_equal(g->kernels, 3);
	assert_int_equal(g->h2d_bytes, 1000);
	assert_int_equal(g->stream_count, 3);
}

static void a_gap_is_split_by_what_the_launching_thread_did(void **state)
{
	/* The GPU ends at 200.  The thread is held by a wait to 230, works to 300, calls to 310; the
	 * kernel begins at 325. */
	const isc_facts_gpu *g = facts_of("gpu 0 s1 100..200 kernel a c1\n"
					  "gpu 0 s1 325..400 kernel b c2\n"
					  "call t1 90..95 cudaLaunchKernel c1\n"
					  "call t1 110..230 cudaStreamSynchronize c9\n"
					  "call t1 300..310 cudaLaunchKernel c2\n"
					  "op t1 240..320 aten::mm\n"
					  "py t1 80..330 model.py(12): forward\n"
					  "call t2 200..300 cudaDeviceSynchronize c8\n",
					  NULL)
					 ->gpus;

	(void)state;
	assert_int_equal(g->idle[ISC_IDLE_SYNC].ns, 30);
	assert_int_equal(g->idle[ISC_IDLE_HOST_WAIT].ns, 70 + 10);
	assert_int_equal(g->idle[ISC_IDLE_KERNEL_WAIT].ns, 15);
	assert_int_equal(g->idle[ISC_IDLE_UNKNOWN].ns, 0);
	assert_string_equal(g->idle[ISC_IDLE_HOST_WAIT].where.at, "aten::mm, forward (model.py:12)");
	assert_string_equal(g->idle[ISC_IDLE_SYNC].where.at, "cudaStreamSynchronize");
	assert_int_equal(g->delays, 2);
	assert_int_equal(g->delay_max_ns, 15);
}

static void what_the_host_did_meanwhile_is_named(void **state)
{
	/* Up to 300 the thread loads, and is done with it before it asks; aten::copy_ is only where it asks. */
	const isc_facts_gpu *g = facts_of("gpu 0 s1 100..200 kernel a c1\n"
					  "gpu 0 s1 325..400 kernel b c2\n"
					  "call t1 90..95 cudaLaunchKernel c1\n"
					  "op t1 96..110 aten::relu\n"
					  "scope t1 0..290 ProfilerStep#1\n"
					  "py t1 115..290 data.py(7): next_batch\n"
					  "py t1 120..280 gzip.py(3): read\n"
					  "op t1 292..320 aten::copy_\n"
					  "call t1 300..310 cudaMemcpyAsync c2\n",
					  NULL)
					 ->gpus;

	(void)state;
	assert_int_equal(g->idle[ISC_IDLE_HOST_WAIT].ns, 100 + 10);
	assert_string_equal(g->idle[ISC_IDLE_HOST_WAIT].where.at, "next_batch (data.py:7)");
	assert_true(g->idle[ISC_IDLE_HOST_WAIT].during);
}

static void many_small_things_are_no_single_one(void **state)
{
	const isc_facts_gpu *g = facts_of("gpu 0 s1 100..200 kernel a c1\n"
					  "gpu 0 s1 325..400 kernel b c2\n"
					  "call t1 90..95 cudaLaunchKernel c1\n"
					  "op t1 100..160 aten::view\n"
					  "op t1 170..230 aten::size\n"
					  "op t1 295..320 aten::mm\n"
					  "call t1 300..310 cudaLaunchKernel c2\n",
					  NULL)
					 ->gpus;

	(void)state;
	assert_string_equal(g->idle[ISC_IDLE_HOST_WAIT].where.at, "aten::mm");
	assert_false(g->idle[ISC_IDLE_HOST_WAIT].during);
}

static void work_that_was_asked_for_waits_for_itself(void **state)
{
	const isc_facts_gpu *g = facts_of("gpu 0 s1 100..200 kernel a c1\n"
					  "gpu 0 s1 250..300 kernel b c2\n"
					  "gpu 0 s1 310..320 kernel c\n"
					  "call t1 90..95 cudaLaunchKernel c1\n"
					  "call t1 150..160 cudaLaunchKernel c2\n",
					  NULL)
					 ->gpus;

	(void)state;
	assert_int_equal(g->idle[ISC_IDLE_KERNEL_WAIT].ns, 50);
	assert_int_equal(g->idle[ISC_IDLE_UNKNOWN].ns, 10);
	assert_int_equal(g->unlinked, 1);
}

static void time_in_a_copy_is_the_copys(void **state)
{
	const isc_facts_gpu *g = facts_of("gpu 0 s1 100..200 kernel a c1\n"
					  "gpu 0 s1 280..300 d2h m c2\n"
					  "call t1 90..95 cudaLaunchKernel c1\n"
					  "call t1 220..310 cudaMemcpyAsync c2\n",
					  NULL)
					 ->gpus;

	(void)state;
	assert_int_equal(g->idle[ISC_IDLE_HOST_WAIT].ns, 20);
	assert_int_equal(g->idle[ISC_IDLE_COPY].ns, 60);
}

static void kernels_of_a_graph_share_one_call(void **state)
{
	const isc_timeline_facts *f = facts_of("gpu 0 s1 100..110 kernel a c5\n"
					       "gpu 0 s1 112..120 kernel a c5\n"
					       "gpu 0 s1 121..130 kernel b c5\n"
					       "call t1 80..90 cudaGraphLaunch c5\n"
					       "py t1 70..95 serve.py(3): step\n",
					       NULL);

	(void)state;
	assert_int_equal(f->gpus->unlinked, 0);
	assert_int_equal(f->gpus->idle[ISC_IDLE_KERNEL_WAIT].ns, 3);
	assert_int_equal(f->kernel_count, 2);
	assert_string_equal(f->kernels[0].name.at, "a");
	assert_int_equal(f->kernels[0].count, 2);
	assert_string_equal(f->kernels[0].launched_from.at, "step (serve.py:3)");
}

static void a_clock_that_is_off_is_mended_for_causes(void **state)
{
	/* The device's clock is 20 ns behind: its work seems to begin before it was asked for. */
	const isc_facts_gpu *g = facts_of("gpu 0 s1 95..200 kernel a c1\n"
					  "gpu 0 s1 285..400 kernel b c2\n"
					  "call t1 110..115 cudaLaunchKernel c1\n"
					  "call t1 305..310 cudaLaunchKernel c2\n",
					  NULL)
					 ->gpus;

	(void)state;
	assert_int_equal(g->early, 2);
	assert_int_equal(g->shift_ns, 20);
	assert_int_equal(g->idle[ISC_IDLE_HOST_WAIT].ns, 85);
	assert_int_equal(g->idle[ISC_IDLE_KERNEL_WAIT].ns, 0);
	assert_false(g->bounded);
}

static void a_blocking_copy_bounds_the_clock(void **state)
{
	const isc_facts_gpu *g = facts_of("gpu 0 s1 130..200 kernel a c1\n"
					  "gpu 0 s1 240..280 d2h m c2\n"
					  "call t1 110..115 cudaLaunchKernel c1\n"
					  "call t1 205..290 cudaMemcpy c2\n",
					  NULL)
					 ->gpus;

	(void)state;
	assert_true(g->bounded);
	assert_int_equal(g->error_ns, 20); /* late by 20 at most, and 10 soon */
}

static void a_wait_for_the_device_bounds_the_clock_too(void **state)
{
	const isc_facts_gpu *g = facts_of("gpu 0 s1 130..200 kernel a c1\n"
					  "gpu 0 s1 210..280 kernel b c2\n"
					  "call t1 100..105 cudaLaunchKernel c1\n"
					  "call t1 110..115 cudaLaunchKernel c2\n"
					  "call t1 120..295 cudaDeviceSynchronize c3\n"
					  "call t2 120..130 cudaDeviceSynchronize c4\n",
					  NULL)
					 ->gpus;

	(void)state;
	assert_true(g->bounded);
	assert_int_equal(g->error_ns, 30); /* late by 30 at most, and 15 soon */
}

static void times_of_functions_nest(void **state)
{
	const isc_timeline_facts *f = facts_of("py t1 0..1000 a.py(1): outer\n"
					       "py t1 100..600 a.py(9): rec\n"
					       "py t1 200..500 a.py(9): rec\n"
					       "op t1 250..350 aten::add\n"
					       "call t1 300..320 cudaLaunchKernel c1\n"
					       "scope t1 50..950 step\n",
					       NULL);

	(void)state;
	assert_int_equal(f->function_count, 4);
	assert_string_equal(f->functions[0].name.at, "a.py(1): outer");
	assert_int_equal(f->functions[0].self_ns, 500);
	assert_string_equal(f->functions[1].name.at, "a.py(9): rec");
	assert_int_equal(f->functions[1].calls, 2);
	assert_int_equal(f->functions[1].self_ns, 400);
	assert_int_equal(f->functions[1].total_ns, 500);
	assert_int_equal(f->functions[2].self_ns, 80);
	assert_int_equal(f->functions[3].self_ns, 20);
	assert_int_equal(f->scope_count, 1);
	assert_int_equal(f->scopes[0].total_ns, 900);
}

static void a_window_cuts_everything(void **state)
{
	static const char text[] = "gpu 0 s1 100..200 kernel a c1\n"
				   "gpu 0 s1 300..400 kernel b c2\n"
				   "scope t1 150..350 part\n"
				   "scope t1 0..500 whole\n"
				   "op t1 100..320 x\n";
	const isc_timeline_window window = {.from_ns = 150, .to_ns = 350}, scope = {.scope = "part"},
				  none = {.scope = "absent"}, after = {.from_ns = 600};
	const isc_timeline_facts *f = facts_of(text, &window);

	assert_int_equal(f->gpus->busy_ns, 100);
	assert_int_equal(f->gpus->last_ns - f->gpus->first_ns, 200);
	assert_int_equal(f->functions[0].total_ns, 170);
	end(state);
	f = facts_of(text, &scope);
	assert_int_equal(f->to_ns - f->from_ns, 200);
	assert_int_equal(f->gpus->busy_ns, 100);
	end(state);
	assert_int_equal(isc_timeline_new(NULL, &timeline, NULL), ISC_OK);
	add_text(timeline, isc_timeline_source(timeline, "text"), text);
	assert_int_equal(isc_timeline_finish(timeline, &none, &f, NULL), ISC_ERR_INVALID);
	end(state);
	assert_int_equal(isc_timeline_new(NULL, &timeline, NULL), ISC_OK);
	add_text(timeline, isc_timeline_source(timeline, "text"), text);
	assert_int_equal(isc_timeline_finish(timeline, &after, &f, NULL), ISC_ERR_INVALID);
}

static void records_without_a_time_are_counted_and_left_out(void **state)
{
	const isc_facts_gpu *g = facts_of("gpu 0 s1 100..200 kernel a c1\n"
					  "gpu 0 s1 0..0 kernel b c2\n"
					  "gpu 0 s1 300..250 kernel c c3\n",
					  NULL)
					 ->gpus;

	(void)state;
	assert_int_equal(g->unstamped, 2);
	assert_int_equal(g->kernels, 1);
	assert_int_equal(g->busy_ns, 100);
}

static void devices_of_sources_stay_apart(void **state)
{
	const isc_timeline_facts *f;

	(void)state;
	assert_int_equal(isc_timeline_new(NULL, &timeline, NULL), ISC_OK);
	for (int i = 0; i < 2; i++)
		add_text(timeline, isc_timeline_source(timeline, i == 0 ? "first" : "second"),
			 i == 0 ? "gpu 1 s1 100..200 kernel a c1\ngpu 0 s1 150..160 kernel a c1\n"
				: "gpu 0 s1 1000000..1000300 kernel a c1\n");
	assert_int_equal(isc_timeline_finish(timeline, NULL, &f, NULL), ISC_OK);
	assert_int_equal(f->gpu_count, 3);
	assert_true(f->apart);
	assert_int_equal(f->gpus[0].busy_ns, 10);
	assert_int_equal(f->gpus[1].busy_ns, 100);
	assert_int_equal(f->gpus[2].busy_ns, 300);
	assert_int_equal(f->gpus[2].first_ns, 0);
}

/* 64 KiB for 120,000 records: nearly all of them go through files. */
static void what_is_sorted_through_files_is_what_is_sorted_in_memory(void **state)
{
	enum { N = 40000 };
	const isc_timeline_options small = {.memory_bytes = 64u << 10};
	const isc_timeline_facts *f;
	char line[128];
	uint32_t source;

	(void)state;
	assert_int_equal(isc_timeline_new(&small, &timeline, NULL), ISC_OK);
	source = isc_timeline_source(timeline, "large");
	for (int k = 0; k < N; k++) {
		int i = (k * 7919) % N; /* every number once, out of order */

		snprintf(line, sizeof(line), "gpu 0 s1 %d..%d kernel k%d c%d", i * 100 + 50, i * 100 + 80, i % 7,
			 i + 1);
		add_line(timeline, source, line);
		snprintf(line, sizeof(line), "call t1 %d..%d cudaLaunchKernel c%d", i * 100 + 40, i * 100 + 45, i + 1);
		add_line(timeline, source, line);
		snprintf(line, sizeof(line), "op t1 %d..%d aten::op%d", i * 100 + 30, i * 100 + 48, i % 3);
		add_line(timeline, source, line);
	}
	assert_int_equal(isc_timeline_finish(timeline, NULL, &f, NULL), ISC_OK);
	assert_int_equal(f->gpus->kernels, N);
	assert_int_equal(f->gpus->busy_ns, 30 * N);
	assert_int_equal(f->gpus->unlinked, 0);
	assert_int_equal(f->gpus->idle[ISC_IDLE_HOST_WAIT].ns, 65 * (N - 1));
	assert_int_equal(f->gpus->idle[ISC_IDLE_KERNEL_WAIT].ns, 5 * (N - 1));
	assert_int_equal(f->kernel_count, 7);
	assert_int_equal(f->function_count, 4);
}

static void classes_come_from_names(void **state)
{
	static const struct {
		const char *name;
		enum isc_gpu_class class;
	} names[] = {
		{"void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu>", ISC_CLASS_GEMM},
		{"ampere_sgemm_128x64_tn", ISC_CLASS_GEMM},
		{"nvjet_tst_192x192_64x4", ISC_CLASS_GEMM},
		{"Cijk_Ailk_Bljk_HHS_BH_MT128x128", ISC_CLASS_GEMM},
		{"fbgemm_gpu::permute_indices_weights_kernel", ISC_CLASS_COPY},
		{"void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits>", ISC_CLASS_ATTENTION},
		{"fmha_cutlassF_f16_aligned_64x64", ISC_CLASS_ATTENTION},
		{"paged_attention_v2_kernel", ISC_CLASS_ATTENTION},
		{"ncclDevKernel_AllReduce_Sum_bf16_RING_LL", ISC_CLASS_COMM},
		{"void vllm::cross_device_reduce_1stage", ISC_CLASS_COMM},
		{"vectorized_layer_norm_kernel", ISC_CLASS_NORM},
		{"vllm::rms_norm_kernel", ISC_CLASS_NORM},
		{"vllm::rotary_embedding_kernel", ISC_CLASS_ROPE},
		{"reshape_and_cache_flash_kernel", ISC_CLASS_KV},
		{"fused_moe_kernel", ISC_CLASS_MOE},
		{"dynamic_per_token_scaled_quant_kernel", ISC_CLASS_QUANT},
		{"void at::native::vectorized_elementwise_kernel<4, GeluCUDAKernelImpl>", ISC_CLASS_ACTIVATION},
		{"void at::native::reduce_kernel<512, 1>", ISC_CLASS_REDUCE},
		{"void at::native::vectorized_elementwise_kernel<4, CUDAFunctor_add>", ISC_CLASS_ELEMENTWISE},
		{"implicit_convolve_sgemm", ISC_CLASS_CONV},
		{"CatArrayBatchedCopy_vectorized", ISC_CLASS_COPY},
		{"my_own_thing", ISC_CLASS_OTHER},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		enum isc_gpu_class class = isc_gpu_class_of(names[i].name, strlen(names[i].name));

		if (class != names[i].class)
			fail_msg("%s is %s", names[i].name, isc_gpu_class_name(class));
	}
}

static void calls_of_hip_are_what_those_of_cuda_are(void **state)
{
	static const struct {
		const char *name;
		enum isc_gpu_call call;
	} names[] = {
		{"hipLaunchKernel", ISC_CALL_LAUNCH},	    {"hipExtModuleLaunchKernel", ISC_CALL_LAUNCH},
		{"hipModuleLaunchKernel", ISC_CALL_LAUNCH}, {"hipGraphLaunch", ISC_CALL_LAUNCH},
		{"hipMemcpyWithStream", ISC_CALL_COPY},	    {"hipMemcpyAsync", ISC_CALL_COPY},
		{"hipDeviceSynchronize", ISC_CALL_SYNC},    {"hipStreamSynchronize", ISC_CALL_SYNC},
		{"hipEventSynchronize", ISC_CALL_SYNC},	    {"hipStreamWaitEvent", ISC_CALL_OTHER},
		{"hipPointerGetAttribute", ISC_CALL_OTHER}, {"hipGetDevice", ISC_CALL_OTHER},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		enum isc_gpu_call call = isc_gpu_call_of(names[i].name, strlen(names[i].name));

		if (call != names[i].call)
			fail_msg("%s is %d", names[i].name, (int)call);
	}
}

static void a_kernel_is_of_the_scope_that_it_was_asked_for_in(void **state)
{
	const isc_timeline_facts *f = facts_of("scope t1 0..1000 ProfilerStep#3\n"
					       "scope t1 100..300 decode\n"
					       "call t1 110..120 cudaLaunchKernel c1\n"
					       "call t1 400..410 cudaLaunchKernel c2\n"
					       "gpu 0 s1 500..600 kernel inside c1\n"
					       "gpu 0 s1 600..700 kernel outside c2\n",
					       NULL);

	(void)state;
	for (size_t i = 0; i < f->kernel_count; i++) {
		const isc_facts_kernel *k = &f->kernels[i];

		if (k->name.len == 6)
			assert_string_equal(k->scope.at, "decode");
		else
			assert_int_equal(k->scope.len, 0);
	}
	assert_int_equal(f->kernel_count, 2);
}

/* Eight at once, each as long as any time can be: what overlaps has a bound, and what is told apart is exact. */
static void sums_of_endless_times_have_a_bound(void **state)
{
	isc_timeline_facts const *f;
	uint32_t source, device, domain, name;

	(void)state;
	assert_int_equal(isc_timeline_new(NULL, &timeline, NULL), ISC_OK);
	source = isc_timeline_source(timeline, "text");
	device = isc_timeline_device(timeline, source, 0);
	domain = isc_timeline_domain(timeline, source, 1);
	name = isc_timeline_name(timeline, "k", 1);
	for (uint64_t i = 0; i < 8; i++) {
		uint32_t thread = isc_timeline_thread(timeline, source, 1, i + 1);
		const isc_gpu_record kernel = {.start_ns = INT64_MIN,
					       .end_ns = INT64_MAX,
					       .device = device,
					       .domain = domain,
					       .name = name,
					       .thread = ISC_GPU_UNKNOWN,
					       .stream = i,
					       .kind = ISC_GPU_KERNEL};
		const isc_gpu_record copy = {.start_ns = INT64_MIN,
					     .end_ns = INT64_MAX,
					     .device = device,
					     .domain = domain,
					     .name = name,
					     .thread = ISC_GPU_UNKNOWN,
					     .bytes = UINT64_MAX,
					     .stream = i,
					     .kind = ISC_GPU_H2D};
		const isc_host_span scope = {INT64_MIN / 4, INT64_MIN / 8, thread, name, 0, ISC_HOST_SCOPE};
		const isc_host_span op = {INT64_MIN, INT64_MAX, thread, name, 0, ISC_HOST_OP};

		assert_int_equal(isc_timeline_add(timeline, &kernel, NULL), ISC_OK);
		assert_int_equal(isc_timeline_add(timeline, &copy, NULL), ISC_OK);
		assert_int_equal(isc_timeline_span(timeline, &scope, NULL), ISC_OK);
		assert_int_equal(isc_timeline_span(timeline, &op, NULL), ISC_OK);
	}
	assert_int_equal(isc_timeline_finish(timeline, NULL, &f, NULL), ISC_OK);
	assert_int_equal(f->gpus[0].busy_ns, f->gpus[0].last_ns - f->gpus[0].first_ns);
	assert_int_equal(f->kernels[0].total_ns, ISC_NS_SUM_MOST);
	assert_int_equal(f->copies[0].total_ns, ISC_NS_SUM_MOST);
	assert_true(f->copies[0].bytes == UINT64_MAX);
	assert_int_equal(f->gpus[0].class_ns[f->kernels[0].class], ISC_NS_SUM_MOST);
	assert_int_equal(f->scopes[0].total_ns, ISC_NS_SUM_MOST);
	assert_int_equal(f->functions[0].total_ns, ISC_NS_SUM_MOST);
	assert_int_equal(f->functions[0].self_ns, ISC_NS_SUM_MOST);
}

/* A hundred thousand names of each kind, each used once but for three: what is listed has an end, and sums are exact. */
static void too_long_lists_end_in_a_row_for_the_rest(void **state)
{
	const int many = 100000, long_ns = 50;
	const isc_timeline_facts *f;
	uint64_t calls = 0, kernels = 0;
	uint32_t source, device, domain, thread;
	int64_t self = 0, total = 0, scopes = 0;

	(void)state;
	assert_int_equal(isc_timeline_new(NULL, &timeline, NULL), ISC_OK);
	source = isc_timeline_source(timeline, "text");
	device = isc_timeline_device(timeline, source, 0);
	domain = isc_timeline_domain(timeline, source, 1);
	thread = isc_timeline_thread(timeline, source, 1, 1);
	for (int i = 0; i < many; i++) {
		char text[32];
		int len = snprintf(text, sizeof(text), "name%d", i);
		uint32_t name = isc_timeline_name(timeline, text, (size_t)len);
		int64_t from = (int64_t)i * 100, to = from + (i == many - 1 ? long_ns : 1);
		const isc_gpu_record kernel = {.start_ns = from,
					       .end_ns = to,
					       .device = device,
					       .domain = domain,
					       .name = name,
					       .thread = ISC_GPU_UNKNOWN,
					       .kind = ISC_GPU_KERNEL};
		const isc_host_span op = {from, to, thread, name, 0, ISC_HOST_OP};
		const isc_host_span scope = {from, to, thread, name, 0, ISC_HOST_SCOPE};

		assert_int_equal(isc_timeline_add(timeline, &kernel, NULL), ISC_OK);
		assert_int_equal(isc_timeline_span(timeline, &op, NULL), ISC_OK);
		assert_int_equal(isc_timeline_span(timeline, &scope, NULL), ISC_OK);
	}
	assert_int_equal(isc_timeline_finish(timeline, NULL, &f, NULL), ISC_OK);
	assert_int_equal(f->function_count, 32769);
	assert_int_equal(f->kernel_count, 32769);
	assert_int_equal(f->scope_count, 32769);
	for (size_t i = 0; i < 32769; i++) {
		calls += f->functions[i].calls;
		self += f->functions[i].self_ns;
		kernels += f->kernels[i].count;
		total += f->kernels[i].total_ns;
		scopes += f->scopes[i].total_ns;
	}
	assert_int_equal(calls, many);
	assert_int_equal(kernels, many);
	assert_int_equal(self, many - 1 + long_ns);
	assert_int_equal(total, many - 1 + long_ns);
	assert_int_equal(scopes, many - 1 + long_ns);
	assert_int_equal(f->functions[0].self_ns, long_ns);
	assert_int_equal(f->kernels[0].total_ns, long_ns);
	assert_string_equal(f->functions[32768].name.at, "(other functions)");
	assert_string_equal(f->kernels[32768].name.at, "(other kernels)");
	assert_string_equal(f->scopes[32768].name.at, "(other scopes)");
	assert_int_equal(f->folded, 3 * (many - 32768));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(busy_time_is_a_union_and_never_a_sum, end),
		cmocka_unit_test_teardown(a_gap_is_split_by_what_the_launching_thread_did, end),
		cmocka_unit_test_teardown(what_the_host_did_meanwhile_is_named, end),
		cmocka_unit_test_teardown(many_small_things_are_no_single_one, end),
		cmocka_unit_test_teardown(work_that_was_asked_for_waits_for_itself, end),
		cmocka_unit_test_teardown(time_in_a_copy_is_the_copys, end),
		cmocka_unit_test_teardown(kernels_of_a_graph_share_one_call, end),
		cmocka_unit_test_teardown(a_clock_that_is_off_is_mended_for_causes, end),
		cmocka_unit_test_teardown(a_blocking_copy_bounds_the_clock, end),
		cmocka_unit_test_teardown(a_wait_for_the_device_bounds_the_clock_too, end),
		cmocka_unit_test_teardown(times_of_functions_nest, end),
		cmocka_unit_test_teardown(a_window_cuts_everything, end),
		cmocka_unit_test_teardown(records_without_a_time_are_counted_and_left_out, end),
		cmocka_unit_test_teardown(devices_of_sources_stay_apart, end),
		cmocka_unit_test_teardown(what_is_sorted_through_files_is_what_is_sorted_in_memory, end),
		cmocka_unit_test(classes_come_from_names),
		cmocka_unit_test(calls_of_hip_are_what_those_of_cuda_are),
		cmocka_unit_test_teardown(a_kernel_is_of_the_scope_that_it_was_asked_for_in, end),
		cmocka_unit_test_teardown(sums_of_endless_times_have_a_bound, end),
		cmocka_unit_test_teardown(too_long_lists_end_in_a_row_for_the_rest, end),
	};

	return cmocka_run_group_tests_name("timeline", tests, NULL, NULL);
}
