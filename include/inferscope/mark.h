/*
 * mark.h - scopes, marks and counters from C and C++ programs.
 *
 *	#include <inferscope/mark.h>
 *
 *	void answer(request *r)
 *	{
 *		ISC_SCOPE("request");
 *		isc_mark("tokens", "{\"n\": 12}");
 *		...
 *	}
 *
 * Nothing to link: the functions look for the InferScope runtime in the running
 * program once and do nothing when it is not there.  Without a session a call
 * costs a few nanoseconds.  All are thread-safe; names are copied.
 */
#ifndef INFERSCOPE_MARK_H
#define INFERSCOPE_MARK_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ISC_MARK_API_VERSION 1u

/* What the runtime offers; members are only ever added at the end. */
typedef struct isc_mark_api {
	uint32_t version;
	uint32_t size;
	int (*active)(void);
	void (*instant)(const char *name, const char *json); /* json may be NULL */
	void (*counter)(const char *name, double value);
	uint32_t (*scope_enter)(const char *name); /* the name's id, for the exit */
	void (*scope_exit)(uint32_t name);
	void (*thread_name)(const char *name);
} isc_mark_api;

/* The table of the runtime in this program, or NULL.  Looked up once. */
static inline const isc_mark_api *isc_mark_runtime(void)
{
	static const isc_mark_api *found;
	static int looked;

	if (!__atomic_load_n(&looked, __ATOMIC_ACQUIRE)) {
		const isc_mark_api *(*get)(uint32_t) = NULL;
		void *at = dlsym(RTLD_DEFAULT, "isc_rt_mark_api");

		__builtin_memcpy(&get, &at, sizeof(get));
		__atomic_store_n(&found, at != NULL ? get(ISC_MARK_API_VERSION) : NULL, __ATOMIC_RELAXED);
		__atomic_store_n(&looked, 1, __ATOMIC_RELEASE);
	}
	return __atomic_load_n(&found, __ATOMIC_RELAXED);
}

/* Is a session recording this program now? */
static inline int isc_active(void)
{
	const isc_mark_api *api = isc_mark_runtime();

	return api != NULL && api->active();
}

/* An instant with optional metadata, a JSON object as text. */
static inline void isc_mark(const char *name, const char *json)
{
	const isc_mark_api *api = isc_mark_runtime();

	if (api != NULL)
		api->instant(name, json);
}

/* A sample of a value that changes over time. */
static inline void isc_counter(const char *name, double value)
{
	const isc_mark_api *api = isc_mark_runtime();

	if (api != NULL)
		api->counter(name, value);
}

/* Names the calling thread in the trace. */
static inline void isc_thread_name(const char *name)
{
	const isc_mark_api *api = isc_mark_runtime();

	if (api != NULL)
		api->thread_name(name);
}

/* Enter and leave a scope; they nest, per thread. */
static inline uint32_t isc_scope_enter(const char *name)
{
	const isc_mark_api *api = isc_mark_runtime();

	return api != NULL ? api->scope_enter(name) : 0;
}

static inline void isc_scope_exit(uint32_t scope)
{
	const isc_mark_api *api = isc_mark_runtime();

	if (api != NULL && scope != 0)
		api->scope_exit(scope);
}

static inline void isc_scope_cleanup_(uint32_t *scope)
{
	isc_scope_exit(*scope);
}

#define ISC_SCOPE_JOIN2_(a, b) a##b
#define ISC_SCOPE_JOIN_(a, b) ISC_SCOPE_JOIN2_(a, b)

/* A scope until the end of the block. */
#define ISC_SCOPE(name) \
	uint32_t ISC_SCOPE_JOIN_(isc_scope_, __LINE__) __attribute__((cleanup(isc_scope_cleanup_), unused)) = \
		isc_scope_enter(name)

#ifdef __cplusplus
}

namespace inferscope
{

/* The same for C++: from here to the end of the block, however that is left.
 *
 *	inferscope::scope request("request");
 */
class scope
{
      public:
	explicit scope(const char *name) noexcept : id_(isc_scope_enter(name))
	{
	}
	~scope()
	{
		isc_scope_exit(id_);
	}
	scope(const scope &) = delete;
	scope &operator=(const scope &) = delete;

      private:
	uint32_t id_;
};

} // namespace inferscope
#endif
#endif
