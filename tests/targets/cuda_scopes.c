/*
 * cuda_scopes.c - kernels in scopes: each kernel is launched in the scope of its name, "plain" in none.
 *
 *	cuda_scopes HOW STEPS
 *
 *	marks	scopes of inferscope/mark.h
 *	nvtx	pushed ranges of NVTX, inside another
 *	crossed	ranges of two domains: the outer one is left first
 *	threads	two threads, each with ranges of its own
 *	held	as nvtx, but it subscribes to CUPTI itself, inside a range
 *
 * Compiled without NVIDIA's headers.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <inferscope/mark.h>

#include "nvtx_loader.h"

typedef struct dim3 {
	unsigned x, y, z;
} dim3;

void **__cudaRegisterFatBinary(void *binary);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int threads, void *a,
			    void *b, void *c, void *d, int *w);
unsigned cudaLaunchKernel(const void *f, dim3 grid, dim3 block, void **args, size_t shared, void *stream);
unsigned cudaStreamSynchronize(void *stream);
unsigned cuptiSubscribe(void **subscriber, void *callback, void *self) __attribute__((weak));
unsigned cuptiActivityPopExternalCorrelationId(unsigned whose, uint64_t *number) __attribute__((weak));

static char prefill_50us, decode_50us, plain_50us, outer_50us;
static int steps;

static void launch(const char *kernel)
{
	dim3 one = {1, 1, 1};

	if (cudaLaunchKernel(kernel, one, one, NULL, 0, NULL) != 0)
		exit(3);
}

static void in_marks(void)
{
	{
		ISC_SCOPE("prefill");
		launch(&prefill_50us);
	}
	{
		ISC_SCOPE("outer");
		launch(&outer_50us);
		{
			ISC_SCOPE("decode");
			launch(&decode_50us);
		}
		launch(&outer_50us);
	}
}

static void in_ranges(const char *name, const char *kernel)
{
	nvtxRangePushA("outer");
	launch(&outer_50us);
	nvtxRangePushA(name);
	launch(kernel);
	nvtxRangePop();
	nvtxRangePop();
}

static void crossed(void)
{
	static nvtxDomainHandle_t a, b;
	nvtxEventAttributes_t event = {.version = NVTX_VERSION, .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE};

	if (a == NULL) {
		a = nvtxDomainCreateA("a");
		b = nvtxDomainCreateA("b");
	}
	event.messageType = NVTX_MESSAGE_TYPE_ASCII;
	event.message.ascii = "prefill";
	nvtxDomainRangePushEx(a, &event);
	launch(&prefill_50us);
	event.message.ascii = "decode";
	nvtxDomainRangePushEx(b, &event);
	nvtxDomainRangePop(a);
	launch(&decode_50us);
	nvtxDomainRangePop(b);
}

static void *thread(void *kernel)
{
	for (int i = 0; i < steps; i++) {
		in_ranges(kernel == &prefill_50us ? "prefill" : "decode", kernel);
		cudaStreamSynchronize(NULL);
	}
	return NULL;
}

static void own_profiler(void)
{
	void *subscriber = NULL;
	uint64_t number = 0;
	unsigned held, result;

	if (cuptiSubscribe == NULL || cuptiActivityPopExternalCorrelationId == NULL)
		return;
	held = cuptiSubscribe(&subscriber, (void *)own_profiler, NULL);
	result = cuptiActivityPopExternalCorrelationId(5, &number);
	printf("own profiler %u, left behind %s\n", held, result == 18 ? "nothing" : "a number");
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "marks";
	void **binary = __cudaRegisterFatBinary(NULL);
	pthread_t other;

	steps = argc > 2 ? atoi(argv[2]) : 100;
#define KERNEL(name) __cudaRegisterFunction(binary, &name, NULL, #name, -1, NULL, NULL, NULL, NULL, NULL)
	KERNEL(prefill_50us);
	KERNEL(decode_50us);
	KERNEL(plain_50us);
	KERNEL(outer_50us);
	launch(&plain_50us);
	if (strcmp(how, "threads") == 0) {
		pthread_create(&other, NULL, thread, &decode_50us);
		thread(&prefill_50us);
		pthread_join(other, NULL);
	}
	for (int i = 0; i < steps && strcmp(how, "threads") != 0; i++) {
		if (strcmp(how, "marks") == 0)
			in_marks();
		else if (strcmp(how, "crossed") == 0)
			crossed();
		else
			in_ranges(i % 2 != 0 ? "prefill" : "decode", i % 2 != 0 ? &prefill_50us : &decode_50us);
		launch(&plain_50us);
		cudaStreamSynchronize(NULL);
		if (strcmp(how, "held") == 0 && i == steps / 2) {
			nvtxRangePushA("around");
			own_profiler();
			nvtxRangePop();
		}
	}
	printf("done %s %d\n", how, steps);
	return 0;
}
