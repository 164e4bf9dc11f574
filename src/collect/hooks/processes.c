/*
 * processes.c - hooks on new processes and threads, and on the end of a process that runs no destructors.
 *
 * vfork cannot have one: its child returns through the hook's frame, and the
 * parent would then return into what the child left there.  clone's child
 * starts on a stack of its own; the runtime notices both at their first event.
 */
#include "collect/hooks/hook.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "collect/memory/memory.h"
#include "collect/sample/sample.h"
#include "collect/hooks/syscall.h"
#include "runtime/profile.h"
#include "runtime/runtime.h"
#include "runtime/write.h"

/* Before glibc 2.34 another library has these; a program that makes threads has it. */
extern __typeof__(pthread_key_create) pthread_key_create __attribute__((weak, visibility("default")));
extern __typeof__(pthread_setspecific) pthread_setspecific __attribute__((weak, visibility("default")));

enum { KEY_NONE, KEY_MAKING, KEY_MADE, KEY_UNFIT };
static _Atomic uint32_t key_state;
static pthread_key_t key;

static _Atomic(isc_birth_namer *) namer;

void isc_rt_birth_namer(isc_birth_namer *ask)
{
	atomic_store(&namer, ask);
}

static void leave(void *place)
{
	isc_blocked_flush();
	isc_syscall_flush();
	isc_sample_leave(place);
}

/* However the thread ends, also cancelled or by pthread_exit(): a cleanup handler would do, but
 * needs the compiler's library for unwinding. */
static bool leave_with_thread(isc_sampled *t)
{
	uint32_t none = KEY_NONE;

	if (pthread_key_create == NULL || pthread_setspecific == NULL)
		return false;
	if (atomic_compare_exchange_strong(&key_state, &none, KEY_MAKING))
		atomic_store(&key_state, pthread_key_create(&key, leave) == 0 ? KEY_MADE : KEY_UNFIT);
	return atomic_load(&key_state) == KEY_MADE && pthread_setspecific(key, t) == 0;
}

/* In front of the program's own start routine. */
static void *begin(void *place)
{
	isc_sampled *t = place;
	void *(*start)(void *) = t->start;
	void *arg = t->arg, *result;
	uint32_t name = t->name;

	isc_sample_enter(t);
	if (name != 0 && isc_rt_active())
		isc_write1(isc_ticks(), ISC_RECORD_WORD(name, ISC_KIND_THREAD_NAME, 0));
	if (leave_with_thread(t))
		return start(arg);
	result = start(arg);
	leave(t);
	return result;
}

ISC_HOOK pid_t fork(void)
{
	uint64_t begin = isc_syscall_enter(ISC_SYSCALL_NO_WAIT);
	pid_t child = ISC_REAL(fork)();

	if (begin != 0 && child != 0)
		isc_syscall_ended(ISC_SYSCALL_clone, ISC_SYSCALL_NO_WAIT, begin, child < 0 ? errno : 0, 0, ISC_OF_NONE);
	return child;
}

/* Nothing of the program runs after these, and none of our destructors. */
ISC_HOOK void _exit(int code)
{
	isc_blocked_flush();
	isc_syscall_flush_all();
	isc_memory_tell(ISC_MEMORY_END);
	ISC_REAL(_exit)(code);
	__builtin_unreachable();
}

ISC_HOOK void _Exit(int code)
{
	isc_blocked_flush();
	isc_syscall_flush_all();
	isc_memory_tell(ISC_MEMORY_END);
	ISC_REAL(_Exit)(code);
	__builtin_unreachable();
}

ISC_HOOK int daemon(int keep_directory, int keep_files)
{
	return ISC_REAL(daemon)(keep_directory, keep_files);
}

int isc_rt_profile_thread(pthread_t *__restrict thread, const pthread_attr_t *__restrict attr, void *(*start)(void *),
			  void *__restrict arg)
{
	isc_sampled *t = isc_sample_reserve(start, arg);
	isc_birth_namer *ask = atomic_load(&namer);
	int error;

	if (t == NULL)
		return ISC_REAL(pthread_create)(thread, attr, start, arg);
	t->name = ask != NULL && isc_rt_active() ? ask() : 0;
	error = ISC_REAL(pthread_create)(thread, attr, begin, t);
	if (error != 0)
		isc_sample_cancel(t);
	return error;
}

ISC_HOOK int pthread_create(pthread_t *__restrict thread, const pthread_attr_t *__restrict attr, void *(*start)(void *),
			    void *__restrict arg)
{
	ISC_SYSCALL_CODE(clone, ISC_SYSCALL_NO_WAIT, isc_rt_profile_thread(thread, attr, start, arg));
}
