/*
 * graph_api.c - graphs: of what was captured, or, launched by any other handle, of as
 * many kernels as the script says.
 */
#include "double.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define RUNTIME ISC_CUPTI_DOMAIN_RUNTIME
#define GRAPHS_MAX 64

enum { OK = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, ILLEGAL_STATE = 401 };

typedef struct graph {
	uint32_t id;
	size_t count, room;
	node *nodes;
} graph;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static graph *captured[STREAMS_MAX]; /* into which; NULL: the stream is not captured */
static graph *ready[GRAPHS_MAX];     /* those that can be launched */
static uint32_t ids = 1000;

/* ---- capture ---- */

static graph *new_graph(void)
{
	graph *g = calloc(1, sizeof(*g));

	if (g != NULL)
		g->id = __atomic_add_fetch(&ids, 1, __ATOMIC_RELAXED);
	return g;
}

static bool add(graph *g, const node *n)
{
	if (g->count == g->room) {
		size_t room = g->room > 0 ? g->room * 2 : 16;
		node *nodes = realloc(g->nodes, room * sizeof(*nodes));

		if (nodes == NULL)
			return false;
		g->nodes = nodes;
		g->room = room;
	}
	g->nodes[g->count++] = *n;
	return true;
}

bool graph_holds(int s)
{
	bool holds;

	pthread_mutex_lock(&lock);
	holds = captured[s] != NULL;
	pthread_mutex_unlock(&lock);
	return holds;
}

bool graph_takes(const node *n)
{
	bool takes;

	pthread_mutex_lock(&lock);
	takes = captured[n->w.stream] != NULL;
	if (takes && !add(captured[n->w.stream], n))
		abort();
	pthread_mutex_unlock(&lock);
	return takes;
}

API uint32_t cudaStreamBeginCapture(cuda_stream s, int mode)
{
	graph *g = new_graph();
	bool free_now;

	(void)mode;
	machine_start();
	if (g == NULL)
		return OUT_OF_MEMORY;
	pthread_mutex_lock(&lock);
	free_now = captured[number_of(s)] == NULL;
	if (free_now)
		captured[number_of(s)] = g;
	pthread_mutex_unlock(&lock);
	if (!free_now)
		free(g);
	return free_now ? OK : ILLEGAL_STATE;
}

API uint32_t cudaStreamEndCapture(cuda_stream s, void **out)
{
	pthread_mutex_lock(&lock);
	*out = captured[number_of(s)];
	captured[number_of(s)] = NULL;
	pthread_mutex_unlock(&lock);
	return *out != NULL ? OK : ILLEGAL_STATE;
}

API uint32_t cudaStreamIsCapturing(cuda_stream s, int *status)
{
	*status = graph_holds(number_of(s));
	return OK;
}

API uint32_t cudaGraphDestroy(void *g)
{
	free(((graph *)g)->nodes);
	free(g);
	return OK;
}

/* ---- graphs that can be launched: copies, so the one that was captured may go ---- */

static uint32_t make_ready(void **out, const graph *from)
{
	graph *g = new_graph();

	for (size_t i = 0; g != NULL && i < from->count; i++)
		if (!add(g, &from->nodes[i]))
			return OUT_OF_MEMORY;
	*out = NULL;
	pthread_mutex_lock(&lock);
	for (int i = 0; g != NULL && *out == NULL && i < GRAPHS_MAX; i++)
		if (ready[i] == NULL)
			*out = ready[i] = g;
	pthread_mutex_unlock(&lock);
	return *out != NULL ? OK : OUT_OF_MEMORY;
}

/* As in CUDA 12 and later; the flags are in another place before. */
API uint32_t cudaGraphInstantiate(void **out, void *g, unsigned long long flags)
{
	call c;

	(void)flags;
	call_begin(&c, RUNTIME, 443, "cudaGraphInstantiate", NULL);
	return call_end(&c, make_ready(out, g));
}

API uint32_t cudaGraphInstantiateWithFlags(void **out, void *g, unsigned long long flags)
{
	call c;

	(void)flags;
	call_begin(&c, RUNTIME, 418, "cudaGraphInstantiateWithFlags", NULL);
	return call_end(&c, make_ready(out, g));
}

API uint32_t cudaGraphExecDestroy(void *g)
{
	pthread_mutex_lock(&lock);
	for (int i = 0; i < GRAPHS_MAX; i++)
		if (ready[i] == g)
			ready[i] = NULL;
	pthread_mutex_unlock(&lock);
	return cudaGraphDestroy(g);
}

static const graph *find(const void *handle)
{
	const graph *found = NULL;

	pthread_mutex_lock(&lock);
	for (int i = 0; i < GRAPHS_MAX; i++)
		if (ready[i] != NULL && ready[i] == handle)
			found = ready[i];
	pthread_mutex_unlock(&lock);
	return found;
}

/* ---- and the launch ---- */

static const char *const names[] = {"graph_gemm_20us", "graph_softmax_10us", "graph_norm_5us"};

static node scripted_node(int i)
{
	node n = {.w = {.kind = ISC_CUPTI_KERNEL, .device = device_now, .name = names[i % 3]}};

	n.w.grid[0] = n.w.block[0] = 32;
	n.w.grid[1] = n.w.grid[2] = n.w.block[1] = n.w.block[2] = 1;
	return n;
}

static void run(node *n, bool whole)
{
	double ns = n->w.kind == ISC_CUPTI_KERNEL ? kernel_ns_of(n->w.name) : (double)n->w.bytes / scripted.gbps + 2000;

	if (n->from != NULL)
		memmove(n->to, n->from, n->w.bytes);
	else if (n->to != NULL)
		memset(n->to, n->value, n->w.bytes);
	device_queue(n->w.device, n->w.stream, (uint64_t)ns, &n->w.start, &n->w.end);
	if (!whole) {
		truth_tell(&n->w);
		cupti_work(&n->w);
	}
}

API uint32_t cudaGraphLaunch(void *handle, cuda_stream s)
{
	bool whole = cupti_is_on(ISC_CUPTI_GRAPH);
	work all = {.kind = ISC_CUPTI_GRAPH, .device = device_now, .stream = number_of(s)};
	const graph *g = find(handle);
	size_t count = g != NULL ? g->count : (size_t)scripted.graph_kernels;
	call c;

	call_begin(&c, RUNTIME, 311, "cudaGraphLaunch", NULL);
	all.graph = g != NULL ? g->id : (uint32_t)(uintptr_t)handle;
	all.correlation = c.correlation;
	all.called = c.began;
	for (size_t i = 0; i < count; i++) {
		node n = g != NULL ? g->nodes[i] : scripted_node((int)i);

		n.w.stream = all.stream;
		n.w.graph = all.graph;
		n.w.correlation = all.correlation;
		n.w.called = all.called;
		run(&n, whole);
		all.start = i == 0 ? n.w.start : all.start;
		all.end = n.w.end;
	}
	if (whole && count > 0) {
		truth_tell(&all);
		cupti_work(&all);
	}
	return call_end(&c, OK);
}
