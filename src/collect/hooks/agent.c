/*
 * agent.c - the table of hooks, and how the functions behind them are found.
 */
#include "collect/hooks/hook.h"

#include "collect/hooks/agent.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>

#include "collect/memory/hooks.h"
#include "collect/hooks/exec_env.h"
#include "collect/hooks/exec_target.h"
#include "runtime/runtime.h"

/* What a call to a function that this libc lacks gives back. */
enum fails { FAILS_ERRNO, FAILS_CODE, FAILS_POINTER };

/* Absent from musl, and then versions do not matter either. */
extern __typeof__(dlvsym) dlvsym __attribute__((weak));

void *isc_hook_real[ISC_HOOK_COUNT];

static const struct {
	const char *version;
	enum fails fails;
} lookup[ISC_HOOK_COUNT] = {
#define LOOKUP(group, fails, name, version) {version, FAILS_##fails},
	ISC_HOOKS(LOOKUP)};

static const isc_hook hooks[ISC_HOOK_COUNT] = {
#define DESCRIBE(group, fails, name, version) {#name, ISC_HOOK_GROUP_##group, &isc_hook_real[ISC_HOOK_##name]},
	ISC_HOOKS(DESCRIBE)};

static long absent_errno(void)
{
	errno = ENOSYS;
	return -1;
}

static long absent_code(void)
{
	return ENOSYS;
}

static void *absent_pointer(void)
{
	errno = ENOSYS;
	return NULL;
}

static void *absent(enum fails fails)
{
	switch (fails) {
	case FAILS_CODE:
		return (void *)absent_code;
	case FAILS_POINTER:
		return (void *)absent_pointer;
	default:
		return (void *)absent_errno;
	}
}

static void *look_in(void *where, enum isc_hook_id id)
{
	void *real = NULL;

	if (lookup[id].version != NULL && dlvsym != NULL)
		real = dlvsym(where, hooks[id].name, lookup[id].version);
	return real != NULL ? real : dlsym(where, hooks[id].name);
}

/* In a program that is linked with a library of ours we are loaded behind libc: nothing is next,
 * and what everybody finds is the real one. */
static void *look_before(enum isc_hook_id id)
{
	void *real = look_in(RTLD_DEFAULT, id);
	Dl_info theirs, ours;

	if (real == NULL || dladdr(real, &theirs) == 0 || dladdr((void *)look_before, &ours) == 0 ||
	    theirs.dli_fbase == ours.dli_fbase)
		return NULL;
	return real;
}

void *isc_hook_resolve(enum isc_hook_id id)
{
	int saved = errno;
	void *real;

	isc_alloc_lookup_begin();
	real = look_in(RTLD_NEXT, id);
	if (real == NULL)
		real = look_before(id);
	if (real == NULL) {
		dlerror(); /* the program never asked, so it is not to hear of it */
		real = absent(lookup[id].fails);
	}
	isc_alloc_lookup_end();
	__atomic_store_n(&isc_hook_real[id], real, __ATOMIC_RELAXED);
	errno = saved;
	return real;
}

void isc_agent_init(void)
{
	static bool done;

	if (done)
		return;
	done = true;
	for (int id = 0; id < ISC_HOOK_COUNT; id++)
		isc_hook_find((enum isc_hook_id)id);
	isc_exec_target_init();
	isc_exec_env_init();
}

static uint64_t begun_ns; /* CPU time of the first thread when it came to us */

/* Before the constructors of the runtime itself, which use what is hooked.  A
 * function of its own: GCC loses the priority of one that a header declares. */
__attribute__((constructor(101))) static void begin(void)
{
	begun_ns = isc_rt_cpu_ns();
	isc_agent_init();
}

/* Behind all that we do before the program begins. */
__attribute__((constructor(104))) static void began(void)
{
	isc_rt_started(begun_ns);
}

const isc_hook *isc_agent_hooks(size_t *n)
{
	*n = ISC_HOOK_COUNT;
	return hooks;
}
