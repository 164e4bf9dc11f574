/*
 * lock.c - hooks on waiting for another thread.
 *
 * Taking a free lock is hooked with the rest, because whether it is free shows
 * only in the call.  Unlocking, signalling and trying wait for nothing and are
 * left alone.
 */
#include "collect/hook.h"

#include <pthread.h>
#include <semaphore.h>

ISC_HOOK int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	return ISC_REAL(pthread_mutex_lock)(mutex);
}

ISC_HOOK int pthread_mutex_timedlock(pthread_mutex_t *__restrict mutex, const struct timespec *__restrict until)
{
	return ISC_REAL(pthread_mutex_timedlock)(mutex, until);
}

ISC_HOOK int pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *until)
{
	return ISC_REAL(pthread_mutex_clocklock)(mutex, clock, until);
}

ISC_HOOK int pthread_rwlock_rdlock(pthread_rwlock_t *lock)
{
	return ISC_REAL(pthread_rwlock_rdlock)(lock);
}

ISC_HOOK int pthread_rwlock_timedrdlock(pthread_rwlock_t *__restrict lock, const struct timespec *__restrict until)
{
	return ISC_REAL(pthread_rwlock_timedrdlock)(lock, until);
}

ISC_HOOK int pthread_rwlock_clockrdlock(pthread_rwlock_t *lock, clockid_t clock, const struct timespec *until)
{
	return ISC_REAL(pthread_rwlock_clockrdlock)(lock, clock, until);
}

ISC_HOOK int pthread_rwlock_wrlock(pthread_rwlock_t *lock)
{
	return ISC_REAL(pthread_rwlock_wrlock)(lock);
}

ISC_HOOK int pthread_rwlock_timedwrlock(pthread_rwlock_t *__restrict lock, const struct timespec *__restrict until)
{
	return ISC_REAL(pthread_rwlock_timedwrlock)(lock, until);
}

ISC_HOOK int pthread_rwlock_clockwrlock(pthread_rwlock_t *lock, clockid_t clock, const struct timespec *until)
{
	return ISC_REAL(pthread_rwlock_clockwrlock)(lock, clock, until);
}

ISC_HOOK int pthread_cond_wait(pthread_cond_t *__restrict cond, pthread_mutex_t *__restrict mutex)
{
	return ISC_REAL(pthread_cond_wait)(cond, mutex);
}

ISC_HOOK int pthread_cond_timedwait(pthread_cond_t *__restrict cond, pthread_mutex_t *__restrict mutex,
				    const struct timespec *__restrict until)
{
	return ISC_REAL(pthread_cond_timedwait)(cond, mutex, until);
}

ISC_HOOK int pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock,
				    const struct timespec *until)
{
	return ISC_REAL(pthread_cond_clockwait)(cond, mutex, clock, until);
}

ISC_HOOK int pthread_barrier_wait(pthread_barrier_t *barrier)
{
	return ISC_REAL(pthread_barrier_wait)(barrier);
}

ISC_HOOK int pthread_join(pthread_t thread, void **result)
{
	return ISC_REAL(pthread_join)(thread, result);
}

ISC_HOOK int sem_wait(sem_t *sem)
{
	return ISC_REAL(sem_wait)(sem);
}

ISC_HOOK int sem_timedwait(sem_t *__restrict sem, const struct timespec *__restrict until)
{
	return ISC_REAL(sem_timedwait)(sem, until);
}

ISC_HOOK int sem_clockwait(sem_t *sem, clockid_t clock, const struct timespec *until)
{
	return ISC_REAL(sem_clockwait)(sem, clock, until);
}
