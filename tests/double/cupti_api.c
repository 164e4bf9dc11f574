/*
 * cupti_api.c - libcupti.so, in three generations of records.
 */
#include "double.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NUMBERS 1024
#define EARLY_NS 100000000000000ll /* what records are off by when the clock was registered twice */

/* Held while calling back, as CUPTI does. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static isc_cupti_request *request;
static isc_cupti_complete *complete;
static isc_cupti_clock *clock_of;
static int clocks_registered, spoiled;
static bool enabled[ISC_CUPTI_KINDS];
static isc_cupti_callback *subscribed;
static void *_Atomic subscriber_self;
static _Atomic uint8_t callback_on[ISC_CUPTI_DOMAINS][NUMBERS];
static uint8_t *buffer;
static size_t buffer_size, buffer_used, dropped;
static int told_works;

/* Work that has not ended, or is kept back. */
static struct pending {
	work w;
	bool dropped, zero, early;
} *pending;
static size_t pending_count, pending_room;

static void note(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void note(const char *format, ...)
{
	FILE *f = scripted.log[0] != '\0' ? fopen(scripted.log, "ae") : NULL;
	va_list args;

	if (f == NULL)
		return;
	va_start(args, format);
	vfprintf(f, format, args);
	va_end(args);
	fclose(f);
}

#define MAY_FAIL(name) \
	do { \
		if (script_fails(name)) \
			return scripted.fail_code; \
	} while (0)

bool cupti_has_clock(void)
{
	return clock_of != NULL;
}

bool cupti_is_on(uint32_t kind)
{
	return enabled[kind];
}

void cupti_forget(void)
{
	pthread_mutex_lock(&lock);
	pending_count = 0;
	pthread_mutex_unlock(&lock);
}

/* ---- records ---- */

static size_t kernel_bytes(void)
{
	return scripted.version >= ISC_CUPTI_13_0 ? 216 : scripted.version >= ISC_CUPTI_12_5 ? 208 : 160;
}

static size_t record_bytes(uint32_t kind)
{
	bool v13 = scripted.version >= ISC_CUPTI_13_0, v12 = scripted.version >= ISC_CUPTI_12_5;

	switch (kind) {
	case ISC_CUPTI_KERNEL:
		return kernel_bytes();
	case ISC_CUPTI_MEMCPY:
		return v13 ? 96 : v12 ? 88 : 80;
	case ISC_CUPTI_MEMCPY2:
		return v12 ? 96 : 80;
	case ISC_CUPTI_MEMSET:
		return v13 ? 88 : v12 ? 88 : 72;
	case ISC_CUPTI_SYNC:
		return v13 ? 56 : 40;
	case ISC_CUPTI_GRAPH:
		return v13 ? 56 : 48;
	case ISC_CUPTI_OVERHEAD:
		return 56;
	case ISC_CUPTI_EXTERNAL:
		return 24;
	case ISC_CUPTI_RUNTIME:
	case ISC_CUPTI_DRIVER:
		return 40;
	default:
		return 0;
	}
}

static void give_back(void)
{
	uint8_t *done = buffer;

	if (done == NULL)
		return;
	buffer = NULL;
	complete(NULL, 0, done, buffer_size, buffer_used);
}

static void put(const void *record, size_t bytes)
{
	if (buffer != NULL && buffer_used + bytes > buffer_size)
		give_back();
	if (buffer == NULL) {
		size_t most = 0;

		buffer_size = 0;
		request(&buffer, &buffer_size, &most);
		buffer_used = 0;
		if (buffer == NULL && scripted.version < ISC_CUPTI_12_9)
			abort(); /* as the real one does */
		if (buffer == NULL || buffer_size < bytes) {
			dropped++;
			buffer = NULL;
			return;
		}
		if ((uintptr_t)buffer % 8 != 0)
			abort();
		for (size_t i = 0; i < buffer_size; i += 4096)
			if (buffer[i] != 0)
				abort(); /* it was said to be zeroed */
	}
	memcpy(buffer + buffer_used, record, bytes);
	buffer_used += bytes;
}

void cupti_put(const void *record, size_t bytes)
{
	pthread_mutex_lock(&lock);
	if (request != NULL)
		put(record, bytes);
	pthread_mutex_unlock(&lock);
}

static void put_kernel(const work *w, uint64_t start, uint64_t end)
{
	union {
		isc_cupti_kernel k;
		uint8_t bytes[256];
	} r;
	isc_cupti_kernel_graph graph = {.node = w->graph != 0 ? 1 : 0, .graph = w->graph};

	/* What is behind the part that all have is anything. */
	memset(&r, 0xa5, sizeof(r));
	memset(&r.k, 0, sizeof(r.k));
	r.k.kind = ISC_CUPTI_KERNEL;
	r.k.start = start;
	r.k.end = end;
	r.k.device = (uint32_t)w->device;
	r.k.context = (uint32_t)w->device + 1;
	r.k.stream = (uint32_t)w->stream + 7;
	memcpy(r.k.grid, w->grid, sizeof(r.k.grid));
	memcpy(r.k.block, w->block, sizeof(r.k.block));
	r.k.correlation = w->correlation;
	r.k.name = w->name;
	if (scripted.version >= ISC_CUPTI_12_5)
		memcpy(r.bytes + sizeof(r.k), &graph, sizeof(graph));
	put(&r, kernel_bytes());
}

static void put_copy(const work *w, uint64_t start, uint64_t end)
{
	union {
		isc_cupti_memcpy m;
		uint8_t bytes[128];
	} r;

	memset(&r, 0xa5, sizeof(r));
	memset(&r.m, 0, sizeof(r.m));
	r.m.kind = ISC_CUPTI_MEMCPY;
	r.m.copy = (uint8_t)w->copy;
	r.m.from = (uint8_t)(w->copy == ISC_CUPTI_H2D ? w->page : ISC_CUPTI_ON_DEVICE);
	r.m.to = (uint8_t)(w->copy == ISC_CUPTI_D2H ? w->page : ISC_CUPTI_ON_DEVICE);
	r.m.bytes = w->bytes;
	r.m.start = start;
	r.m.end = end;
	r.m.device = (uint32_t)w->device;
	r.m.context = (uint32_t)w->device + 1;
	r.m.stream = (uint32_t)w->stream + 7;
	r.m.correlation = w->correlation;
	put(&r, record_bytes(ISC_CUPTI_MEMCPY));
}

static void put_peer(const work *w, uint64_t start, uint64_t end)
{
	union {
		isc_cupti_peer m;
		uint8_t bytes[128];
	} r;

	memset(&r, 0xa5, sizeof(r));
	memset(&r.m, 0, sizeof(r.m));
	r.m.kind = ISC_CUPTI_MEMCPY2;
	r.m.copy = ISC_CUPTI_P2P;
	r.m.bytes = w->bytes;
	r.m.start = start;
	r.m.end = end;
	r.m.device = r.m.from_device = (uint32_t)w->device;
	r.m.to_device = (uint32_t)w->peer;
	r.m.context = (uint32_t)w->device + 1;
	r.m.stream = (uint32_t)w->stream + 7;
	r.m.correlation = w->correlation;
	put(&r, record_bytes(ISC_CUPTI_MEMCPY2));
}

static void put_set(const work *w, uint64_t start, uint64_t end)
{
	union {
		isc_cupti_memset m;
		uint8_t bytes[128];
	} r;

	memset(&r, 0xa5, sizeof(r));
	memset(&r.m, 0, sizeof(r.m));
	r.m.kind = ISC_CUPTI_MEMSET;
	r.m.bytes = w->bytes;
	r.m.start = start;
	r.m.end = end;
	r.m.device = (uint32_t)w->device;
	r.m.context = (uint32_t)w->device + 1;
	r.m.stream = (uint32_t)w->stream + 7;
	r.m.correlation = w->correlation;
	put(&r, record_bytes(ISC_CUPTI_MEMSET));
}

/* Waits are of the host, and have its times. */
static void put_sync(const work *w)
{
	union {
		isc_cupti_sync s;
		uint8_t bytes[64];
	} r;
	uint64_t real = 0;

	if (clock_of == NULL)
		real = (uint64_t)real_ahead_ns();
	memset(&r, 0xa5, sizeof(r));
	memset(&r.s, 0, sizeof(r.s));
	r.s.kind = ISC_CUPTI_SYNC;
	r.s.type = w->sync_type;
	r.s.start = w->start + real;
	r.s.end = w->end + real;
	r.s.correlation = w->correlation;
	r.s.context = (uint32_t)w->device + 1;
	r.s.stream = w->stream < 0 ? UINT32_MAX : (uint32_t)w->stream + 7;
	put(&r, record_bytes(ISC_CUPTI_SYNC));
}

static void put_graph(const work *w, uint64_t start, uint64_t end)
{
	union {
		isc_cupti_graph g;
		uint8_t bytes[64];
	} r;

	memset(&r, 0xa5, sizeof(r));
	memset(&r.g, 0, sizeof(r.g));
	r.g.kind = ISC_CUPTI_GRAPH;
	r.g.correlation = w->correlation;
	r.g.start = start;
	r.g.end = end;
	r.g.device = (uint32_t)w->device;
	r.g.graph = w->graph;
	r.g.context = (uint32_t)w->device + 1;
	r.g.stream = (uint32_t)w->stream + 7;
	put(&r, record_bytes(ISC_CUPTI_GRAPH));
}

static void put_work(const struct pending *p)
{
	const work *w = &p->w;
	uint64_t start = p->zero ? 0 : stamp_ns(w->device, w->start), end = p->zero ? 0 : stamp_ns(w->device, w->end);

	if (p->dropped) {
		dropped++;
		return;
	}
	if (p->early) {
		start -= EARLY_NS;
		end -= EARLY_NS;
	}
	switch (w->kind) {
	case ISC_CUPTI_KERNEL:
		put_kernel(w, start, end);
		break;
	case ISC_CUPTI_MEMCPY:
		put_copy(w, start, end);
		break;
	case ISC_CUPTI_MEMCPY2:
		put_peer(w, start, end);
		break;
	case ISC_CUPTI_MEMSET:
		put_set(w, start, end);
		break;
	case ISC_CUPTI_GRAPH:
		put_graph(w, start, end);
		break;
	default:
		put_sync(w);
	}
}

/* Work that has ended, or all of it. */
static void release(bool all)
{
	uint64_t now = host_ns();
	size_t kept = 0;

	for (size_t i = 0; i < pending_count; i++) {
		if (all || (!scripted.late && pending[i].w.end <= now))
			put_work(&pending[i]);
		else
			pending[kept++] = pending[i];
	}
	pending_count = kept;
}

void cupti_work(const work *w)
{
	struct pending p = {.w = *w};

	pthread_mutex_lock(&lock);
	if (request == NULL || !enabled[w->kind == ISC_CUPTI_SERIAL_KERNEL ? ISC_CUPTI_KERNEL : w->kind])
		goto out;
	if (w->kind == ISC_CUPTI_KERNEL) {
		told_works++;
		p.dropped = scripted.drop_every > 0 && told_works % scripted.drop_every == 0;
		p.zero = scripted.zero_every > 0 && told_works % scripted.zero_every == 0;
		p.early = (scripted.early_every > 0 && told_works % scripted.early_every == 0) || spoiled > 0;
		spoiled -= spoiled > 0;
	}
	if (pending_count == pending_room) {
		pending_room = pending_room * 2 + 1024;
		pending = realloc(pending, pending_room * sizeof(*pending));
		if (pending == NULL)
			abort();
	}
	pending[pending_count++] = p;
	if (pending_count % 256 == 0)
		release(false);
out:
	pthread_mutex_unlock(&lock);
}

/* ---- callbacks ---- */

/* Functions of the double that CUPTI knows, by their numbers in NVIDIA's headers. */
static const struct {
	uint32_t domain, number;
	const char *name;
} functions[] = {
#define FUNCTION(domain, number, name) {domain, number, name},
#include "functions.h"
#undef FUNCTION
};

static __thread int inside; /* a callback: the lock is not taken again */

void cupti_call(uint32_t domain, uint32_t number, uint32_t site, call *c, const uint32_t *result)
{
	isc_cupti_callback *told = __atomic_load_n(&subscribed, __ATOMIC_ACQUIRE);
	isc_cupti_call data = {.site = site,
			       .function = c->name,
			       .parameters = c->parameters,
			       .result = result,
			       .context_id = (uint32_t)device_now + 1,
			       .own = &c->own,
			       .correlation = c->correlation};

	if (told == NULL || !callback_on[domain][number] || inside > 0)
		return;
	inside++;
	told(subscriber_self, domain, number, &data);
	inside--;
}

API isc_cupti_result cuptiGetCallbackName(uint32_t domain, uint32_t number, const char **name)
{
	MAY_FAIL("cuptiGetCallbackName");
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		if (functions[i].domain == domain && functions[i].number == number) {
			*name = functions[i].name;
			return ISC_CUPTI_OK;
		}
	return ISC_CUPTI_INVALID_PARAMETER;
}

API isc_cupti_result cuptiSubscribe(isc_cupti_subscriber **subscriber, isc_cupti_callback *callback, void *self)
{
	MAY_FAIL("cuptiSubscribe");
	note("subscribe\n");
	if (scripted.held || subscribed != NULL)
		return ISC_CUPTI_HELD;
	subscriber_self = self;
	*subscriber = (isc_cupti_subscriber *)(void *)&subscribed;
	__atomic_store_n(&subscribed, callback, __ATOMIC_RELEASE);
	return ISC_CUPTI_OK;
}

API isc_cupti_result cuptiUnsubscribe(isc_cupti_subscriber *subscriber)
{
	MAY_FAIL("cuptiUnsubscribe");
	note("unsubscribe\n");
	if ((void *)subscriber != (void *)&subscribed)
		return ISC_CUPTI_INVALID_PARAMETER;
	__atomic_store_n(&subscribed, NULL, __ATOMIC_RELEASE);
	for (size_t i = 0; i < ISC_CUPTI_DOMAINS * NUMBERS; i++)
		callback_on[i / NUMBERS][i % NUMBERS] = 0;
	return ISC_CUPTI_OK;
}

API isc_cupti_result cuptiEnableCallback(uint32_t on, isc_cupti_subscriber *subscriber, uint32_t domain,
					 uint32_t number)
{
	MAY_FAIL("cuptiEnableCallback");
	if ((void *)subscriber != (void *)&subscribed || domain >= ISC_CUPTI_DOMAINS || number >= NUMBERS)
		return ISC_CUPTI_INVALID_PARAMETER;
	callback_on[domain][number] = on != 0;
	return ISC_CUPTI_OK;
}

/* ---- activity ---- */

API isc_cupti_result cuptiGetVersion(uint32_t *version)
{
	MAY_FAIL("cuptiGetVersion");
	*version = scripted.version;
	return ISC_CUPTI_OK;
}

API isc_cupti_result cuptiGetTimestamp(uint64_t *ns)
{
	struct timespec t;

	MAY_FAIL("cuptiGetTimestamp");
	clock_gettime(CLOCK_REALTIME, &t);
	*ns = clock_of != NULL ? clock_of() : (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
	return ISC_CUPTI_OK;
}

API isc_cupti_result cuptiActivityRegisterTimestampCallback(isc_cupti_clock *clock)
{
	MAY_FAIL("cuptiActivityRegisterTimestampCallback");
	if (clock == NULL)
		return ISC_CUPTI_INVALID_PARAMETER;
	note("clock\n");
	pthread_mutex_lock(&lock);
	clock_of = clock;
	/* Every further registration spoils one more of the first records. */
	spoiled = clocks_registered++;
	for (int k = 0; k < ISC_CUPTI_KINDS; k++)
		if (enabled[k])
			spoiled++;
	pthread_mutex_unlock(&lock);
	return ISC_CUPTI_OK;
}

API isc_cupti_result cuptiActivityRegisterCallbacks(isc_cupti_request *asks, isc_cupti_complete *gives)
{
	MAY_FAIL("cuptiActivityRegisterCallbacks");
	if (asks == NULL || gives == NULL)
		return ISC_CUPTI_INVALID_PARAMETER;
	pthread_mutex_lock(&lock);
	request = asks;
	complete = gives;
	pthread_mutex_unlock(&lock);
	return ISC_CUPTI_OK;
}

API isc_cupti_result cuptiActivitySetAttribute(uint32_t attribute, size_t *size, void *value)
{
	MAY_FAIL("cuptiActivitySetAttribute");
	(void)value;
	return attribute == ISC_CUPTI_ATTRIBUTE_ZEROED && *size == 1 ? ISC_CUPTI_OK : ISC_CUPTI_INVALID_PARAMETER;
}

API isc_cupti_result cuptiActivityEnable(uint32_t kind)
{
	MAY_FAIL("cuptiActivityEnable");
	note("enable %u\n", kind);
	if (kind == 0 || kind >= ISC_CUPTI_KINDS)
		return ISC_CUPTI_INVALID_KIND;
	pthread_mutex_lock(&lock);
	enabled[kind] = true;
	pthread_mutex_unlock(&lock);
	return ISC_CUPTI_OK;
}

API isc_cupti_result cuptiActivityDisable(uint32_t kind)
{
	MAY_FAIL("cuptiActivityDisable");
	note("disable %u\n", kind);
	/* The deadlock of 13.0. */
	while (scripted.version == ISC_CUPTI_13_0 && kind == ISC_CUPTI_KERNEL)
		nanosleep(&(struct timespec){1, 0}, NULL);
	if (kind == 0 || kind >= ISC_CUPTI_KINDS)
		return ISC_CUPTI_INVALID_KIND;
	pthread_mutex_lock(&lock);
	enabled[kind] = false;
	pthread_mutex_unlock(&lock);
	return ISC_CUPTI_OK;
}

API isc_cupti_result cuptiActivityFlushPeriod(uint32_t ms)
{
	MAY_FAIL("cuptiActivityFlushPeriod");
	(void)ms;
	return ISC_CUPTI_OK;
}

API isc_cupti_result cuptiActivityFlushAll(uint32_t flags)
{
	MAY_FAIL("cuptiActivityFlushAll");
	pthread_mutex_lock(&lock);
	if (request != NULL) {
		release((flags & ISC_CUPTI_FLUSH_ALL) != 0);
		give_back();
	}
	pthread_mutex_unlock(&lock);
	return ISC_CUPTI_OK;
}

API isc_cupti_result cuptiActivityGetNextRecord(uint8_t *from, size_t valid, isc_cupti_record **record)
{
	uint8_t *at;

	MAY_FAIL("cuptiActivityGetNextRecord");
	at = *record != NULL ? (uint8_t *)*record + record_bytes((*record)->kind) : from;
	if (at >= from + valid)
		return ISC_CUPTI_AT_END;
	*record = (isc_cupti_record *)(void *)at;
	return record_bytes((*record)->kind) != 0 ? ISC_CUPTI_OK : ISC_CUPTI_INVALID_KIND;
}

API isc_cupti_result cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *count)
{
	(void)context;
	(void)stream;
	MAY_FAIL("cuptiActivityGetNumDroppedRecords");
	pthread_mutex_lock(&lock);
	*count = dropped;
	dropped = 0;
	pthread_mutex_unlock(&lock);
	return ISC_CUPTI_OK;
}

/* Allowed nowhere but at the exit of a call. */
API isc_cupti_result cuptiFinalize(void)
{
	note("finalize\n");
	if (inside == 0)
		abort();
	return ISC_CUPTI_OK;
}

/* Both only before CUDA starts, and never together: who asks here is too late. */
API isc_cupti_result cuptiActivityEnableLatencyTimestamps(uint8_t on)
{
	note("latency %u\n", on);
	return ISC_CUPTI_OK;
}

API isc_cupti_result cuptiActivityEnableHWTrace(uint8_t on)
{
	note("hardware %u\n", on);
	return ISC_CUPTI_OK;
}
