/*
 * class.c - what a kernel, a copy or a call is, from its name.
 *
 * Words are looked for in the order of the table and the first that is found
 * decides: "flash_fwd_kernel<...gemm...>" is attention, "cutlass...relu" a
 * matrix product.  Names of templates carry their arguments, so words that say
 * little stand last.
 */
#include <string.h>

#include "timeline/gpu/record.h"

/* Past this a name is arguments of templates of arguments. */
#define LOOKED_AT 2048u

static const struct {
	uint8_t class;
	const char *word; /* lower case */
} words[] = {
	{ISC_CLASS_COMM, "nccl"},
	{ISC_CLASS_COMM, "rccl"},
	{ISC_CLASS_COMM, "allreduce"},
	{ISC_CLASS_COMM, "all_reduce"},
	{ISC_CLASS_COMM, "cross_device_reduce"},
	{ISC_CLASS_COMM, "allgather"},
	{ISC_CLASS_COMM, "all_gather"},
	{ISC_CLASS_COMM, "reducescatter"},
	{ISC_CLASS_COMM, "reduce_scatter"},
	{ISC_CLASS_COMM, "alltoall"},
	{ISC_CLASS_COMM, "all_to_all"},
	{ISC_CLASS_COMM, "nvshmem"},
	{ISC_CLASS_MOE, "moe"},
	{ISC_CLASS_MOE, "expert"},
	{ISC_CLASS_MOE, "topk_gating"},
	{ISC_CLASS_KV, "reshape_and_cache"},
	{ISC_CLASS_KV, "kv_cache"},
	{ISC_CLASS_KV, "kvcache"},
	{ISC_CLASS_KV, "copy_blocks"},
	{ISC_CLASS_KV, "swap_blocks"},
	{ISC_CLASS_ATTENTION, "flash_fwd"},
	{ISC_CLASS_ATTENTION, "flash_bwd"},
	{ISC_CLASS_ATTENTION, "flashattn"},
	{ISC_CLASS_ATTENTION, "attention"},
	{ISC_CLASS_ATTENTION, "attn"},
	{ISC_CLASS_ATTENTION, "fmha"},
	{ISC_CLASS_ATTENTION, "_mha_"},
	{ISC_CLASS_ATTENTION, "flashinfer"},
	{ISC_CLASS_ATTENTION, "paged_"},
	{ISC_CLASS_ATTENTION, "mla_decode"},
	{ISC_CLASS_ROPE, "rotary"},
	{ISC_CLASS_ROPE, "rope"},
	{ISC_CLASS_NORM, "layer_norm"},
	{ISC_CLASS_NORM, "layernorm"},
	{ISC_CLASS_NORM, "rms_norm"},
	{ISC_CLASS_NORM, "rmsnorm"},
	{ISC_CLASS_NORM, "batch_norm"},
	{ISC_CLASS_NORM, "batchnorm"},
	{ISC_CLASS_NORM, "group_norm"},
	{ISC_CLASS_NORM, "groupnorm"},
	{ISC_CLASS_NORM, "rowwisemoments"},
	{ISC_CLASS_NORM, "bn_fw"},
	{ISC_CLASS_NORM, "bn_bw"},
	{ISC_CLASS_QUANT, "quant"},
	{ISC_CLASS_SAMPLING, "multinomial"},
	{ISC_CLASS_SAMPLING, "sampling"},
	{ISC_CLASS_SAMPLING, "argmax"},
	{ISC_CLASS_SAMPLING, "radixsort"},
	{ISC_CLASS_SAMPLING, "radix_sort"},
	{ISC_CLASS_SAMPLING, "sorttopk"},
	{ISC_CLASS_SAMPLING, "topk"},
	{ISC_CLASS_REDUCE, "softmax"}, /* that of attention is fused into it */
	{ISC_CLASS_CONV, "conv"},
	{ISC_CLASS_CONV, "wgrad"},
	{ISC_CLASS_CONV, "dgrad"},
	{ISC_CLASS_CONV, "winograd"},
	{ISC_CLASS_CONV, "implicit"},
	{ISC_CLASS_CONV, "im2col"},
	{ISC_CLASS_CONV, "cudnn"},
	{ISC_CLASS_CONV, "miopen"},
	{ISC_CLASS_GEMM, "gemm"},
	{ISC_CLASS_GEMM, "gemv"},
	{ISC_CLASS_GEMM, "nvjet"},
	{ISC_CLASS_GEMM, "matmul"},
	{ISC_CLASS_GEMM, "cutlass"},
	{ISC_CLASS_GEMM, "cublas"},
	{ISC_CLASS_GEMM, "splitk"},
	{ISC_CLASS_GEMM, "cijk_"},
	{ISC_CLASS_GEMM, "wvsplit"},
	{ISC_CLASS_GEMM, "dot_kernel"},
	{ISC_CLASS_COPY, "memcpy"},
	{ISC_CLASS_COPY, "direct_copy_kernel"},
	{ISC_CLASS_COPY, "copy_kernel"},
	{ISC_CLASS_COPY, "copybuffer"},
	{ISC_CLASS_COPY, "fillbuffer"},
	{ISC_CLASS_COPY, "catarray"},
	{ISC_CLASS_COPY, "indexselect"},
	{ISC_CLASS_COPY, "index_elementwise"},
	{ISC_CLASS_COPY, "gather"},
	{ISC_CLASS_COPY, "scatter"},
	{ISC_CLASS_COPY, "embedding"},
	{ISC_CLASS_COPY, "transpose"},
	{ISC_CLASS_COPY, "permute"},
	{ISC_CLASS_COPY, "nchwtonhwc"},
	{ISC_CLASS_COPY, "nhwctonchw"},
	{ISC_CLASS_ACTIVATION, "gelu"},
	{ISC_CLASS_ACTIVATION, "silu"},
	{ISC_CLASS_ACTIVATION, "relu"},
	{ISC_CLASS_ACTIVATION, "sigmoid"},
	{ISC_CLASS_ACTIVATION, "tanh"},
	{ISC_CLASS_ACTIVATION, "act_and_mul"},
	{ISC_CLASS_ACTIVATION, "clamp_scalar"},
	{ISC_CLASS_ACTIVATION, "threshold_kernel"},
	{ISC_CLASS_REDUCE, "reduce"},
	{ISC_CLASS_REDUCE, "reduction"},
	{ISC_CLASS_REDUCE, "devicescan"},
	{ISC_CLASS_REDUCE, "pool"},
	{ISC_CLASS_ELEMENTWISE, "elementwise"},
	{ISC_CLASS_ELEMENTWISE, "element_wise"},
	{ISC_CLASS_ELEMENTWISE, "pointwise"},
	{ISC_CLASS_ELEMENTWISE, "multi_tensor_apply"},
	{ISC_CLASS_ELEMENTWISE, "fillfunctor"},
	{ISC_CLASS_ELEMENTWISE, "triton_poi"},
	{ISC_CLASS_REDUCE, "triton_red"},
	{ISC_CLASS_REDUCE, "triton_per"},
};

static size_t lower(const char *name, size_t len, char *out)
{
	size_t n = len < LOOKED_AT ? len : LOOKED_AT;

	for (size_t i = 0; i < n; i++)
		out[i] = (char)(name[i] >= 'A' && name[i] <= 'Z' ? name[i] | 0x20 : name[i]);
	return n;
}

/* The library of that name has kernels of every class. */
static void blank_library(char *text, size_t len)
{
	static const char library[] = "fbgemm";
	char *at;

	while ((at = memmem(text, len, library, sizeof(library) - 1)) != NULL)
		memset(at, ' ', sizeof(library) - 1);
}

static bool holds(const char *text, size_t len, const char *word)
{
	return memmem(text, len, word, strlen(word)) != NULL;
}

enum isc_gpu_class isc_gpu_class_of(const char *name, size_t len)
{
	char text[LOOKED_AT];
	size_t n = lower(name, len, text);

	blank_library(text, n);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (holds(text, n, words[i].word))
			return (enum isc_gpu_class)words[i].class;
	}
	return ISC_CLASS_OTHER;
}

enum isc_gpu_call isc_gpu_call_of(const char *name, size_t len)
{
	char text[LOOKED_AT];
	size_t n = lower(name, len, text);

	if (holds(text, n, "synchronize") || holds(text, n, "clfinish") || holds(text, n, "clwaitforevents"))
		return ISC_CALL_SYNC;
	if (holds(text, n, "memcpy") || holds(text, n, "clenqueueread") || holds(text, n, "clenqueuewrite") ||
	    holds(text, n, "clenqueuemap") || holds(text, n, "clenqueuesvmmap"))
		return ISC_CALL_COPY;
	return holds(text, n, "launch") || holds(text, n, "ndrangekernel") ? ISC_CALL_LAUNCH : ISC_CALL_OTHER;
}

enum isc_gpu_kind isc_gpu_copy_of(const char *name, size_t len, enum isc_gpu_memory *memory)
{
	static const struct {
		uint8_t kind;
		const char *word;
	} ways[] = {
		{ISC_GPU_H2D, "htod"},
		{ISC_GPU_D2H, "dtoh"},
		{ISC_GPU_D2D, "dtod"},
		{ISC_GPU_P2P, "ptop"},
		{ISC_GPU_H2D, "hosttodevice"},
		{ISC_GPU_D2H, "devicetohost"},
		{ISC_GPU_D2D, "devicetodevice"},
		{ISC_GPU_P2P, "peertopeer"},
		{ISC_GPU_H2D, "host-to-device"},
		{ISC_GPU_D2H, "device-to-host"},
		{ISC_GPU_D2D, "device-to-device"},
		{ISC_GPU_P2P, "peer-to-peer"},
	};
	char text[LOOKED_AT];
	size_t n = lower(name, len, text);

	*memory = holds(text, n, "pageable") ? ISC_MEMORY_PAGEABLE
		  : holds(text, n, "pinned") ? ISC_MEMORY_PINNED
					     : ISC_MEMORY_UNKNOWN;
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (holds(text, n, ways[i].word))
			return (enum isc_gpu_kind)ways[i].kind;
	}
	return ISC_GPU_COPY;
}

const char *isc_gpu_kind_name(enum isc_gpu_kind kind)
{
	static const char *const names[ISC_GPU_KINDS] = {"kernel", "h2d",    "d2h",  "d2d", "p2p",
							 "copy",   "memset", "sync", "api"};

	return (unsigned)kind < ISC_GPU_KINDS ? names[kind] : "?";
}

const char *isc_gpu_class_name(enum isc_gpu_class class)
{
	static const char *const names[ISC_CLASSES] = {"attention", "gemm",	   "conv",   "moe",   "comm",
						       "norm",	    "activation",  "rope",   "quant", "kv",
						       "sampling",  "elementwise", "reduce", "copy",  "other"};

	return (unsigned)class < ISC_CLASSES ? names[class] : "?";
}
