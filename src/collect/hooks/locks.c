/*
 * locks.c - hooks on waiting for another thread.
 *
 * Taking a free lock is hooked with the rest, because whether it is free shows
 * only in the call.  A look at the lock beforehand tells: one that is free is taken
 * as if we were not there, and only one that is not is a wait.  Unlocking and trying
 * wait for nothing and are left alone, but for semaphores: nothing else tells who has
 * them.  Posting and signalling wait for nothing either: they tell who wakes whoever waits.
 */
#include "collect/hooks/hook.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>

#include "collect/hooks/blocked.h"
#include "collect/hooks/post.h"

/* Before glibc 2.34 another library has it; a program without that library has no semaphore either. */
extern __typeof__(sem_getvalue) sem_getvalue __attribute__((weak, visibility("default")));

/* What glibc keeps in its locks is part of its interface to programs: they are compiled
 * with it.  Elsewhere every lock may be taken. */
#ifdef __GLIBC__
#define MUTEX_TAKEN(mutex) (__atomic_load_n(&(mutex)->__data.__lock, __ATOMIC_RELAXED) != 0)
#define MUTEX_HOLDER(mutex) ((uint32_t)__atomic_load_n(&(mutex)->__data.__owner, __ATOMIC_RELAXED))
#define RWLOCK_HOLDER(lock) ((uint32_t)__atomic_load_n(&(lock)->__data.__cur_writer, __ATOMIC_RELAXED))
#define RWLOCK_READ(lock) (__atomic_load_n(&(lock)->__data.__readers, __ATOMIC_RELAXED) >> 3 != 0)
#define COND_WAITED(cond) (__atomic_load_n(&(cond)->__data.__wrefs, __ATOMIC_RELAXED) >> 3 != 0)
#else
#define MUTEX_TAKEN(mutex) true
#define MUTEX_HOLDER(mutex) 0u
#define RWLOCK_HOLDER(lock) 0u
#define RWLOCK_READ(lock) true
#define COND_WAITED(cond) true
#endif

/* A call for a lock that another thread has. */
#define TAKE(taken, kind, holder_, call) \
	do { \
		isc_blocked_cause cause_ = {0}; \
		enum isc_wait_call kind_; \
		uint64_t begin_; \
		int result_; \
		if (__builtin_expect(!(taken), 1) || !isc_blocked_wanted()) \
			return (call); \
		kind_ = (kind); \
		cause_.holder = (holder_); \
		begin_ = isc_blocked_enter(kind_); \
		result_ = (call); \
		if (begin_ != 0) \
			isc_blocked_spent(kind_, begin_, &cause_); \
		return result_; \
	} while (0)

/* A call for a condition.  A wait for the global lock names its holder, so nobody asks who posted it.  Only the wait
 * with a time is one for that lock: it alone passes the condition on, by which samples know it. */
#define TAKE_COND(gil_, call) \
	do { \
		isc_blocked_cause cause_ = {0}; \
		bool is_gil_ = isc_blocked_is_gil(cond); \
		enum isc_wait_call kind_ = is_gil_ ? ISC_WAIT_GIL : ISC_WAIT_COND; \
		uint64_t begin_ = isc_blocked_enter(kind_); \
		int result_ = (call); \
		if (begin_ != 0) { \
			cause_.gil = is_gil_ ? (uintptr_t)(gil_) : 0; \
			cause_.posted = result_ == 0 && !is_gil_ ? cond : NULL; \
			isc_blocked_spent(kind_, begin_, &cause_); \
		} \
		return result_; \
	} while (0)

static enum isc_wait_call mutex_kind(const pthread_mutex_t *mutex)
{
	return isc_blocked_is_gil(mutex) ? ISC_WAIT_GIL : ISC_WAIT_MUTEX;
}

/* Locks are taken so often, and are free so often, that this way keeps nothing over the call: `waiting` has the rest. */
#define TAKE_FREE(taken, name, lock, waiting) \
	do { \
		__typeof__(&name) real_ = ISC_KNOWN(name); \
		if (__builtin_expect(real_ != NULL, 1) && __builtin_expect(!(taken), 1)) \
			return real_(lock); \
		return waiting(lock); \
	} while (0)

#define TAKE_MUTEX(call) TAKE(MUTEX_TAKEN(mutex), mutex_kind(mutex), MUTEX_HOLDER(mutex), call)
#define TAKE_READ(call) TAKE(RWLOCK_HOLDER(lock) != 0, ISC_WAIT_RWLOCK, RWLOCK_HOLDER(lock), call)
#define TAKE_WRITE(call) TAKE(RWLOCK_HOLDER(lock) != 0 || RWLOCK_READ(lock), ISC_WAIT_RWLOCK, RWLOCK_HOLDER(lock), call)

static __attribute__((noinline)) int wait_for_mutex(pthread_mutex_t *mutex)
{
	TAKE_MUTEX(ISC_REAL(pthread_mutex_lock)(mutex));
}

ISC_HOOK int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	TAKE_FREE(MUTEX_TAKEN(mutex), pthread_mutex_lock, mutex, wait_for_mutex);
}

ISC_HOOK int pthread_mutex_timedlock(pthread_mutex_t *__restrict mutex, const struct timespec *__restrict until)
{
	TAKE_MUTEX(ISC_REAL(pthread_mutex_timedlock)(mutex, until));
}

ISC_HOOK int pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *until)
{
	TAKE_MUTEX(ISC_REAL(pthread_mutex_clocklock)(mutex, clock, until));
}

static __attribute__((noinline)) int wait_to_read(pthread_rwlock_t *lock)
{
	TAKE_READ(ISC_REAL(pthread_rwlock_rdlock)(lock));
}

ISC_HOOK int pthread_rwlock_rdlock(pthread_rwlock_t *lock)
{
	TAKE_FREE(RWLOCK_HOLDER(lock) != 0, pthread_rwlock_rdlock, lock, wait_to_read);
}

ISC_HOOK int pthread_rwlock_timedrdlock(pthread_rwlock_t *__restrict lock, const struct timespec *__restrict until)
{
	TAKE_READ(ISC_REAL(pthread_rwlock_timedrdlock)(lock, until));
}

ISC_HOOK int pthread_rwlock_clockrdlock(pthread_rwlock_t *lock, clockid_t clock, const struct timespec *until)
{
	TAKE_READ(ISC_REAL(pthread_rwlock_clockrdlock)(lock, clock, until));
}

static __attribute__((noinline)) int wait_to_write(pthread_rwlock_t *lock)
{
	TAKE_WRITE(ISC_REAL(pthread_rwlock_wrlock)(lock));
}

ISC_HOOK int pthread_rwlock_wrlock(pthread_rwlock_t *lock)
{
	TAKE_FREE(RWLOCK_HOLDER(lock) != 0 || RWLOCK_READ(lock), pthread_rwlock_wrlock, lock, wait_to_write);
}

ISC_HOOK int pthread_rwlock_timedwrlock(pthread_rwlock_t *__restrict lock, const struct timespec *__restrict until)
{
	TAKE_WRITE(ISC_REAL(pthread_rwlock_timedwrlock)(lock, until));
}

ISC_HOOK int pthread_rwlock_clockwrlock(pthread_rwlock_t *lock, clockid_t clock, const struct timespec *until)
{
	TAKE_WRITE(ISC_REAL(pthread_rwlock_clockwrlock)(lock, clock, until));
}

ISC_HOOK int pthread_cond_wait(pthread_cond_t *__restrict cond, pthread_mutex_t *__restrict mutex)
{
	TAKE_COND(NULL, ISC_REAL(pthread_cond_wait)(cond, mutex));
}

ISC_HOOK int pthread_cond_timedwait(pthread_cond_t *__restrict cond, pthread_mutex_t *__restrict mutex,
				    const struct timespec *__restrict until)
{
	TAKE_COND(cond, ISC_REAL(pthread_cond_timedwait)(cond, mutex, until));
}

ISC_HOOK int pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock,
				    const struct timespec *until)
{
	TAKE_COND(cond, ISC_REAL(pthread_cond_clockwait)(cond, mutex, clock, until));
}

ISC_HOOK int pthread_cond_signal(pthread_cond_t *cond)
{
	if (COND_WAITED(cond))
		isc_post_note(cond);
	return ISC_REAL(pthread_cond_signal)(cond);
}

ISC_HOOK int pthread_cond_broadcast(pthread_cond_t *cond)
{
	if (COND_WAITED(cond))
		isc_post_note(cond);
	return ISC_REAL(pthread_cond_broadcast)(cond);
}

ISC_HOOK int pthread_barrier_wait(pthread_barrier_t *barrier)
{
	ISC_BLOCKED(ISC_WAIT_BARRIER, int, ISC_REAL(pthread_barrier_wait)(barrier));
}

ISC_HOOK int pthread_join(pthread_t thread, void **result)
{
	ISC_BLOCKED(ISC_WAIT_JOIN, int, ISC_REAL(pthread_join)(thread, result));
}

static bool sem_taken(sem_t *sem)
{
	int value = 0;

	return isc_blocked_wanted() && sem_getvalue != NULL && sem_getvalue(sem, &value) == 0 && value <= 0;
}

/* Semaphores have no owner: who took one last is noted. */
#define TAKE_SEM(call) \
	do { \
		bool taken_ = sem_taken(sem); \
		uint32_t holder_ = taken_ ? isc_blocked_taker(sem) : 0; \
		uint64_t begin_ = taken_ ? isc_blocked_enter(ISC_WAIT_SEM) : 0; \
		int result_ = (call); \
		if (begin_ != 0) \
			holder_ = isc_blocked_waker(sem, holder_); \
		if (result_ == 0 && isc_blocked_wanted()) \
			isc_blocked_took(sem); \
		if (begin_ != 0) \
			isc_blocked_spent( \
				ISC_WAIT_SEM, begin_, \
				&(isc_blocked_cause){.holder = holder_, .posted = result_ == 0 ? sem : NULL}); \
		return result_; \
	} while (0)

ISC_HOOK int sem_wait(sem_t *sem)
{
	TAKE_SEM(ISC_REAL(sem_wait)(sem));
}

/* Python's locks try first: who gets one that is free is its holder. */
ISC_HOOK int sem_trywait(sem_t *sem)
{
	int result = ISC_REAL(sem_trywait)(sem);

	if (result == 0 && isc_blocked_wanted())
		isc_blocked_took(sem);
	return result;
}

ISC_HOOK int sem_timedwait(sem_t *__restrict sem, const struct timespec *__restrict until)
{
	TAKE_SEM(ISC_REAL(sem_timedwait)(sem, until));
}

ISC_HOOK int sem_clockwait(sem_t *sem, clockid_t clock, const struct timespec *until)
{
	TAKE_SEM(ISC_REAL(sem_clockwait)(sem, clock, until));
}

/* The number of waiters stands behind the value, in glibc since 2.21 and in musl.  No header promises that, so it
 * decides nothing but whether a post is noted. */
static bool sem_waited(const sem_t *sem)
{
	typedef uint32_t __attribute__((may_alias)) word;

	return __atomic_load_n((const word *)(const void *)sem + 1, __ATOMIC_RELAXED) != 0;
}

ISC_HOOK int sem_post(sem_t *sem)
{
	if (sem_waited(sem))
		isc_post_note(sem);
	return ISC_REAL(sem_post)(sem);
}
