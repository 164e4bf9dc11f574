#include "cuda/calls.h"

#include <string.h>

#include "base/gpu_names.h"
#include "collect/gpu.h"
#include "runtime/runtime.h"

#define NUMBERS 2048u /* of calls in a domain: 13.0 has 807 */

/* Written before callbacks are on. */
static struct {
	uint8_t role;	/* enum isc_gpu_role */
	uint8_t holds;	/* enum holds */
	uint8_t resets; /* the device is empty behind it */
	_Atomic uint32_t id;
	const char *name; /* CUPTI's own, for good */
} known[ISC_CUPTI_DOMAINS][NUMBERS];

/* Does it return only when the work that it asked for is done? */
enum holds { HOLDS_NOT, HOLDS_ALWAYS, HOLDS_TO_HOST /* if its direction says so */ };

/* A call of the runtime calls the driver: one call inside another. */
typedef struct call {
	uint32_t correlation; /* 0: none */
	uint32_t domain;
	isc_rt_gpu_spot spot;
} call;
static __thread call outer, inner;

static bool starts(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* Behind "cuda" or "cu". */
static const char *stem_of(const char *name)
{
	return starts(name, "cuda") ? name + 4 : starts(name, "cu") ? name + 2 : NULL;
}

bool isc_calls_role(const char *name, enum isc_gpu_role *role)
{
	static const struct {
		const char *start;
		enum isc_gpu_role role;
	} roles[] = {
		{"LaunchHostFunc", ISC_ROLE_OTHER},
		{"Launch", ISC_ROLE_LAUNCH},
		{"GraphLaunch", ISC_ROLE_LAUNCH},
		{"MemcpyToSymbol", ISC_ROLE_COPY},
		{"MemcpyFromSymbol", ISC_ROLE_COPY},
		{"Memcpy", ISC_ROLE_COPY},
		{"Memset", ISC_ROLE_COPY},
		{"MemPrefetch", ISC_ROLE_COPY},
		{"DeviceSynchronize", ISC_ROLE_SYNC},
		{"CtxSynchronize", ISC_ROLE_SYNC},
		{"StreamSynchronize", ISC_ROLE_SYNC},
		{"EventSynchronize", ISC_ROLE_SYNC},
		{"ThreadSynchronize", ISC_ROLE_SYNC},
		/* These stop the device, or the thread, more often than one thinks. */
		{"Malloc", ISC_ROLE_OTHER},
		{"Free", ISC_ROLE_OTHER},
		{"MemAlloc", ISC_ROLE_OTHER},
		{"MemFree", ISC_ROLE_OTHER},
		{"HostAlloc", ISC_ROLE_OTHER},
		{"HostRegister", ISC_ROLE_OTHER},
		{"GraphInstantiate", ISC_ROLE_OTHER},
		{"ModuleLoad", ISC_ROLE_OTHER},
		{"LibraryLoad", ISC_ROLE_OTHER},
		{"DeviceReset", ISC_ROLE_OTHER},
		{"DevicePrimaryCtxReset", ISC_ROLE_OTHER},
	};
	const char *stem = stem_of(name);

	for (size_t i = 0; stem != NULL && i < sizeof(roles) / sizeof(roles[0]); i++)
		if (starts(stem, roles[i].start)) {
			*role = roles[i].role;
			return true;
		}
	return false;
}

/* Into memory of the host, without "Async". */
static uint8_t holds_of(const char *name)
{
	size_t len = isc_call_name_bytes(name, strlen(name));

	if (memmem(name, len, "Async", 5) != NULL)
		return HOLDS_NOT;
	if (starts(name, "cuMemcpyDtoH") || starts(name, "cuMemcpyAtoH"))
		return HOLDS_ALWAYS;
	return len == strlen("cudaMemcpy") && starts(name, "cudaMemcpy") ? HOLDS_TO_HOST : HOLDS_NOT;
}

static unsigned enable_domain(const isc_cupti *cupti, isc_cupti_subscriber *subscriber, uint32_t domain)
{
	unsigned on = 0;

	for (uint32_t number = 1; number < NUMBERS; number++) {
		enum isc_gpu_role role;
		const char *name = NULL;

		if (cupti->GetCallbackName(domain, number, &name) != ISC_CUPTI_OK || name == NULL ||
		    !isc_calls_role(name, &role))
			continue;
		/* Once: when we begin again, calls that began before may be on their way out. */
		if (known[domain][number].name == NULL) {
			known[domain][number].role = (uint8_t)role;
			known[domain][number].holds = holds_of(name);
			known[domain][number].resets = strstr(name, "Reset") != NULL;
			known[domain][number].name = name;
		}
		on += cupti->EnableCallback(1, subscriber, domain, number) == ISC_CUPTI_OK;
	}
	return on;
}

unsigned isc_calls_enable(const isc_cupti *cupti, isc_cupti_subscriber *subscriber)
{
	return enable_domain(cupti, subscriber, ISC_CUPTI_DOMAIN_RUNTIME) +
	       enable_domain(cupti, subscriber, ISC_CUPTI_DOMAIN_DRIVER);
}

unsigned isc_calls_records(const isc_cupti *cupti, bool on)
{
	unsigned done = 0;

	for (uint32_t number = 1; number < NUMBERS; number++) {
		uint8_t runtime = known[ISC_CUPTI_DOMAIN_RUNTIME][number].role;
		uint8_t driver = known[ISC_CUPTI_DOMAIN_DRIVER][number].role;

		if (runtime == ISC_ROLE_LAUNCH || runtime == ISC_ROLE_COPY)
			done += cupti->ActivityEnableRuntimeApi(number, on) == ISC_CUPTI_OK;
		if (driver == ISC_ROLE_LAUNCH || driver == ISC_ROLE_COPY)
			done += cupti->ActivityEnableDriverApi(number, on) == ISC_CUPTI_OK;
	}
	return done;
}

static uint32_t id_of(uint32_t domain, uint32_t number)
{
	uint32_t id = atomic_load_explicit(&known[domain][number].id, memory_order_relaxed);

	if (id == 0) {
		const char *name = known[domain][number].name;

		id = isc_rt_name(name, isc_call_name_bytes(name, strlen(name)));
		atomic_store_explicit(&known[domain][number].id, id, memory_order_relaxed);
	}
	return id;
}

static void enter(uint32_t domain, uint32_t number, const isc_cupti_call *c)
{
	call *mine = &outer;

	if (domain == ISC_CUPTI_DOMAIN_DRIVER && outer.correlation != 0) {
		/* Inside a call of the runtime.  It is told of only when work may name it. */
		if (outer.correlation == c->correlation || known[domain][number].role == ISC_ROLE_OTHER ||
		    known[domain][number].role == ISC_ROLE_SYNC)
			return;
		mine = &inner;
	}
	mine->correlation = isc_rt_gpu_enter(&mine->spot) ? c->correlation : 0;
	mine->domain = domain;
}

/* The fourth parameter of cudaMemcpy() is its direction. */
static bool is_to_host(const isc_cupti_call *c)
{
	struct {
		void *to;
		const void *from;
		size_t bytes;
		uint32_t direction;
	} const *parameters = c->parameters;

	return parameters != NULL && parameters->direction == 2;
}

static void leave(uint32_t domain, uint32_t number, const isc_cupti_call *c)
{
	call *mine = inner.correlation == c->correlation && inner.domain == domain ? &inner : &outer;
	isc_gpu_called body = {.correlation = c->correlation};
	uint8_t holds = known[domain][number].holds;

	if (mine->correlation != c->correlation || mine->domain != domain)
		return;
	body.error = c->result != NULL ? *c->result : 0;
	isc_rt_gpu_leave(&mine->spot, id_of(domain, number), known[domain][number].role,
			 body.error == 0 && (holds == HOLDS_ALWAYS || (holds == HOLDS_TO_HOST && is_to_host(c))),
			 &body);
	mine->correlation = 0;
}

void isc_calls_told(void *self, uint32_t domain, uint32_t number, const void *data)
{
	const isc_cupti_call *c = data;

	if (domain == 0 || domain >= ISC_CUPTI_DOMAINS || number >= NUMBERS || c == NULL ||
	    known[domain][number].name == NULL || c->correlation == 0)
		return;
	if (c->site == ISC_CUPTI_ENTER) {
		if (known[domain][number].resets && self != NULL)
			(*(isc_calls_reset **)self)();
		enter(domain, number, c);
	} else if (c->site == ISC_CUPTI_EXIT) {
		leave(domain, number, c);
	}
}
