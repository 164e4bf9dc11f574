/*
 * cuda_app.cu - a program of nvcc as people write them: kernels with <<<>>>, events around
 * them, two streams, a captured graph, pinned memory and the properties of the device.
 *
 *	cuda_app STEPS
 *
 * Says what it computed of times and memory, so that it can tell that all of it was there.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <cuda_runtime.h>

#define CHECK(call) \
	do { \
		cudaError_t error = (call); \
		if (error != cudaSuccess) { \
			printf("%s: %s\n", #call, cudaGetErrorString(error)); \
			exit(3); \
		} \
	} while (0)

constexpr size_t BYTES = 1 << 20;

__global__ void scale(float *at, float by)
{
	at[blockIdx.x * blockDim.x + threadIdx.x] *= by;
}

template <typename T> __global__ void fill(T *at, T value)
{
	at[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

int main(int argc, char **argv)
{
	int steps = argc > 1 ? atoi(argv[1]) : 10, sum = 0;
	struct {
		cudaDeviceProp is;
		int behind;
	} device = {{}, 4711};
	cudaStream_t first, second;
	cudaEvent_t begin, end;
	cudaGraph_t captured;
	cudaGraphExec_t graph;
	unsigned char *host;
	float *at, ms = 0;

	CHECK(cudaGetDeviceProperties(&device.is, 0));
	printf("%s %d.%d, %d processors, %zu GiB, %d\n", device.is.name, device.is.major, device.is.minor,
	       device.is.multiProcessorCount, device.is.totalGlobalMem >> 30, device.behind);
	CHECK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
	CHECK(cudaStreamCreate(&second));
	CHECK(cudaEventCreate(&begin));
	CHECK(cudaEventCreate(&end));
	CHECK(cudaMalloc(&at, BYTES));
	CHECK(cudaHostAlloc(&host, BYTES, cudaHostAllocDefault));

	/* As many kernels of 50 us as there are steps, measured by the device. */
	CHECK(cudaEventRecord(begin, first));
	for (int i = 0; i < steps; i++)
		scale<<<64, 128, 0, first>>>(at, 2.0f);
	CHECK(cudaEventRecord(end, first));
	/* What the other stream does comes behind them. */
	CHECK(cudaStreamWaitEvent(second, end, 0));
	fill<<<dim3(8, 8), 64, 0, second>>>((int *)at, 7);
	CHECK(cudaEventSynchronize(end));
	CHECK(cudaEventElapsedTime(&ms, begin, end));
	printf("%s\n", ms >= 0.05f * (float)steps ? "as long as the kernels" : "too short");

	CHECK(cudaStreamBeginCapture(first, cudaStreamCaptureModeGlobal));
	CHECK(cudaMemsetAsync(at, 3, BYTES, first));
	scale<<<64, 128, 0, first>>>(at, 2.0f);
	CHECK(cudaMemcpyAsync(host, at, BYTES, cudaMemcpyDeviceToHost, first));
	CHECK(cudaStreamEndCapture(first, &captured));
	CHECK(cudaGraphInstantiate(&graph, captured, 0));
	CHECK(cudaGraphDestroy(captured));
	memset(host, 1, BYTES);
	sum += host[0];
	for (int i = 0; i < steps; i++)
		CHECK(cudaGraphLaunch(graph, first));
	CHECK(cudaDeviceSynchronize());
	sum += host[BYTES - 1];
	printf("before and after the graph: %d\n", sum);

	CHECK(cudaGraphExecDestroy(graph));
	CHECK(cudaEventDestroy(begin));
	CHECK(cudaEventDestroy(end));
	CHECK(cudaFreeHost(host));
	CHECK(cudaFree(at));
	CHECK(cudaStreamDestroy(first));
	CHECK(cudaStreamDestroy(second));
	CHECK(cudaGetLastError());
	printf("done %d\n", steps);
	return 0;
}
