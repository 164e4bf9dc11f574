#include "collect/gpu/nvtx.h"

#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inferscope/mark.h"
#include "runtime/runtime.h"
#include "runtime/write.h"

static bool is_wanted(void)
{
	const isc_control *control = isc_rt_control();

	return control != NULL && isc_image_following() == ISC_FOLLOWING_YES &&
	       atomic_load_explicit(&control->phase, memory_order_relaxed) != ISC_PHASE_DONE;
}

/* A message alone, as the event that NVTX would make of it. */
static isc_nvtx_attributes bytes_of(const char *message)
{
	return (isc_nvtx_attributes){
		.size = sizeof(isc_nvtx_attributes), .message_type = ISC_NVTX_MESSAGE_BYTES, .message.bytes = message};
}

static isc_nvtx_attributes wide_of(const wchar_t *message)
{
	return (isc_nvtx_attributes){
		.size = sizeof(isc_nvtx_attributes), .message_type = ISC_NVTX_MESSAGE_WIDE, .message.wide = message};
}

/* ---- marks and names ---- */

static void domain_mark(const void *domain, const isc_nvtx_attributes *event)
{
	isc_nvtx_name name;
	uint64_t ticks;

	if (!isc_rt_active())
		return;
	isc_nvtx_name_event(&name, domain, event);
	ticks = isc_ticks();
	isc_write1(ticks, ISC_RECORD_WORD(isc_nvtx_name_id(&name), ISC_KIND_INSTANT, 0));
}

static void mark_event(const isc_nvtx_attributes *event)
{
	domain_mark(NULL, event);
}

static void mark_bytes(const char *message)
{
	isc_nvtx_attributes event = bytes_of(message);

	domain_mark(NULL, &event);
}

static void mark_wide(const wchar_t *message)
{
	isc_nvtx_attributes event = wide_of(message);

	domain_mark(NULL, &event);
}

/* A thread is named by itself in a trace, and that is how programs do it. */
static bool is_self(uint32_t thread)
{
	return isc_rt_active() && thread == (uint32_t)syscall(SYS_gettid);
}

static void name_thread(const isc_nvtx_name *name)
{
	isc_write1(isc_ticks(), ISC_RECORD_WORD(isc_nvtx_name_id(name), ISC_KIND_THREAD_NAME, 0));
}

static void thread_bytes(uint32_t thread, const char *text)
{
	isc_nvtx_name name;

	if (text == NULL || !is_self(thread))
		return;
	isc_nvtx_name_bytes(&name, NULL, text);
	name_thread(&name);
}

static void thread_wide(uint32_t thread, const wchar_t *text)
{
	isc_nvtx_name name;

	if (text == NULL || !is_self(thread))
		return;
	isc_nvtx_name_wide(&name, NULL, text);
	name_thread(&name);
}

/* ---- pushed ranges ---- */

static int domain_push(const void *domain, const isc_nvtx_attributes *event)
{
	isc_nvtx_name name;
	bool active = isc_rt_active();

	if (active)
		isc_nvtx_name_event(&name, domain, event);
	isc_nvtx_range_push(domain, active, active ? isc_nvtx_name_id(&name) : 0);
	return ISC_NVTX_UNTRACKED;
}

static int push_event(const isc_nvtx_attributes *event)
{
	return domain_push(NULL, event);
}

static int push_bytes(const char *message)
{
	isc_nvtx_attributes event = bytes_of(message);

	return domain_push(NULL, &event);
}

static int push_wide(const wchar_t *message)
{
	isc_nvtx_attributes event = wide_of(message);

	return domain_push(NULL, &event);
}

static int domain_pop(const void *domain)
{
	isc_nvtx_range_pop(domain);
	return ISC_NVTX_UNTRACKED;
}

static int pop(void)
{
	return domain_pop(NULL);
}

/* ---- ranges with an id ---- */

static uint64_t domain_start(const void *domain, const isc_nvtx_attributes *event)
{
	isc_nvtx_name name;

	if (!isc_rt_active())
		return 0;
	isc_nvtx_name_event(&name, domain, event);
	return isc_nvtx_range_start(isc_nvtx_name_id(&name));
}

static uint64_t start_event(const isc_nvtx_attributes *event)
{
	return domain_start(NULL, event);
}

static uint64_t start_bytes(const char *message)
{
	isc_nvtx_attributes event = bytes_of(message);

	return domain_start(NULL, &event);
}

static uint64_t start_wide(const wchar_t *message)
{
	isc_nvtx_attributes event = wide_of(message);

	return domain_start(NULL, &event);
}

static void end(uint64_t id)
{
	isc_nvtx_range_end(id);
}

static void domain_end(const void *domain, uint64_t id)
{
	(void)domain;
	isc_nvtx_range_end(id);
}

/* ---- domains and registered strings ---- */

static void *register_bytes(const void *domain, const char *text)
{
	isc_nvtx_name name;

	isc_nvtx_name_bytes(&name, domain, text);
	return isc_nvtx_string_keep(&name);
}

static void *register_wide(const void *domain, const wchar_t *text)
{
	isc_nvtx_name name;

	isc_nvtx_name_wide(&name, domain, text);
	return isc_nvtx_string_keep(&name);
}

static void *create_bytes(const char *text)
{
	isc_nvtx_name name;

	isc_nvtx_name_bytes(&name, NULL, text != NULL ? text : "");
	return isc_nvtx_domain_keep(&name);
}

static void *create_wide(const wchar_t *text)
{
	isc_nvtx_name name;

	isc_nvtx_name_wide(&name, NULL, text != NULL ? text : L"");
	return isc_nvtx_domain_keep(&name);
}

/* ---- the entry point ---- */

static const struct {
	int module;
	unsigned place;
	isc_nvtx_function function;
} functions[] = {
	{ISC_NVTX_MODULE_CORE, 1, (isc_nvtx_function)mark_event},
	{ISC_NVTX_MODULE_CORE, 2, (isc_nvtx_function)mark_bytes},
	{ISC_NVTX_MODULE_CORE, 3, (isc_nvtx_function)mark_wide},
	{ISC_NVTX_MODULE_CORE, 4, (isc_nvtx_function)start_event},
	{ISC_NVTX_MODULE_CORE, 5, (isc_nvtx_function)start_bytes},
	{ISC_NVTX_MODULE_CORE, 6, (isc_nvtx_function)start_wide},
	{ISC_NVTX_MODULE_CORE, 7, (isc_nvtx_function)end},
	{ISC_NVTX_MODULE_CORE, 8, (isc_nvtx_function)push_event},
	{ISC_NVTX_MODULE_CORE, 9, (isc_nvtx_function)push_bytes},
	{ISC_NVTX_MODULE_CORE, 10, (isc_nvtx_function)push_wide},
	{ISC_NVTX_MODULE_CORE, 11, (isc_nvtx_function)pop},
	{ISC_NVTX_MODULE_CORE, 14, (isc_nvtx_function)thread_bytes},
	{ISC_NVTX_MODULE_CORE, 15, (isc_nvtx_function)thread_wide},
	{ISC_NVTX_MODULE_CORE2, 1, (isc_nvtx_function)domain_mark},
	{ISC_NVTX_MODULE_CORE2, 2, (isc_nvtx_function)domain_start},
	{ISC_NVTX_MODULE_CORE2, 3, (isc_nvtx_function)domain_end},
	{ISC_NVTX_MODULE_CORE2, 4, (isc_nvtx_function)domain_push},
	{ISC_NVTX_MODULE_CORE2, 5, (isc_nvtx_function)domain_pop},
	{ISC_NVTX_MODULE_CORE2, 10, (isc_nvtx_function)register_bytes},
	{ISC_NVTX_MODULE_CORE2, 11, (isc_nvtx_function)register_wide},
	{ISC_NVTX_MODULE_CORE2, 12, (isc_nvtx_function)create_bytes},
	{ISC_NVTX_MODULE_CORE2, 13, (isc_nvtx_function)create_wide},
};

int InitializeInjectionNvtx2(const void *(*table)(uint32_t id))
{
	const isc_nvtx_callbacks *callbacks = table != NULL ? table(ISC_NVTX_TABLE_CALLBACKS) : NULL;
	const isc_nvtx_version *version;

	if (callbacks == NULL || callbacks->size < sizeof(*callbacks) || callbacks->module == NULL || !is_wanted())
		return 0;
	/* Makes the pool: threads that begin together would lose their first ranges to it. */
	(void)isc_rt_mark_api(ISC_MARK_API_VERSION);
	version = table(ISC_NVTX_TABLE_VERSION);
	if (version != NULL && version->size >= sizeof(*version) && version->tool_version != NULL)
		version->tool_version(3);
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		isc_nvtx_function **places = NULL;
		unsigned entries = 0;

		if (callbacks->module(functions[i].module, &places, &entries) == 1 && places != NULL &&
		    functions[i].place < entries && places[functions[i].place] != NULL)
			*places[functions[i].place] = functions[i].function;
	}
	return 1;
}

const char *isc_nvtx_path(void)
{
	Dl_info us;

	if (!is_wanted() || dladdr((void *)InitializeInjectionNvtx2, &us) == 0 || us.dli_fname == NULL ||
	    us.dli_fname[0] != '/')
		return NULL;
	return us.dli_fname;
}
