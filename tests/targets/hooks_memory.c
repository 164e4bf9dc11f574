/* hooks_memory.c - the hooked functions of allocation and of locks; see hooks.h.
 * flags: -fno-builtin -Wno-deprecated-declarations -Wno-use-after-free */
#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <time.h>
#include <unistd.h>

#include "hooks.h"

static volatile size_t huge = SIZE_MAX / 2;

/* Writes all of it, and shows whether it is aligned. */
static void use(void *p, size_t size, size_t align)
{
	memset(p, 0x5a, size);
	say(" %d", (uintptr_t)p % align == 0);
	free(p);
}

static void c_malloc(void)
{
	use(malloc(100), 100, 16);
	use(malloc(1 << 20), 1 << 20, 16);
	TRY(malloc(huge) == NULL);
}

static void c_calloc(void)
{
	char *p = calloc(10, 100);

	for (int i = 0; i < 1000; i++)
		if (p[i] != 0)
			say(" dirty");
	use(p, 1000, 16);
	TRY(calloc(huge, 4) == NULL);
}

static void c_realloc(void)
{
	char *p = realloc(NULL, 10);

	strcpy(p, "kept");
	p = realloc(p, 100000);
	say(" %s", p);
	TRY(realloc(p, huge) == NULL);
	use(p, 100000, 16);
}

static void c_reallocarray(void)
{
	char *p = reallocarray(NULL, 10, 10);

	TRY(reallocarray(p, huge, 8) == NULL);
	use(p, 100, 16);
}

static void c_free(void)
{
	void *p = malloc(10);

	errno = 77;
	free(p);
	free(NULL);
	say(" %d", errno);
}

static void c_posix_memalign(void)
{
	void *p = NULL;

	TRY(posix_memalign(&p, 4096, 100));
	use(p, 100, 4096);
	TRY(posix_memalign(&p, 3, 100));
}

static void c_aligned_alloc(void)
{
	use(aligned_alloc(1024, 2048), 2048, 1024);
}

static void c_memalign(void)
{
	use(memalign(256, 100), 100, 256);
}

static void c_valloc(void)
{
	use(valloc(100), 100, 4096);
}

static void c_pvalloc(void)
{
	use(pvalloc(100), 4096, 4096);
}

static void c_malloc_usable_size(void)
{
	void *p = malloc(100);

	TRY(malloc_usable_size(p) >= 100);
	TRY(malloc_usable_size(NULL));
	free(p);
}

static void c_mmap(void)
{
	char *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	p[8191] = 1;
	TRY(munmap(p, 8192));
	TRY(mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
}

static void c_mmap64(void)
{
	char *p = mmap64(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	p[0] = 1;
	TRY(munmap(p, 4096));
	TRY(mmap64(NULL, 4096, PROT_READ, MAP_PRIVATE, -1, 0) == MAP_FAILED);
}

static void c_mremap(void)
{
	char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *room = mmap(NULL, 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *q;

	strcpy(p, "moved");
	p = mremap(p, 4096, 16384, MREMAP_MAYMOVE);
	q = mremap(p, 16384, 16384, MREMAP_MAYMOVE | MREMAP_FIXED, room);
	say(" %d %s", q == room, q);
	TRY(mremap(room, 4096, 8192, 0x1000) == MAP_FAILED);
	munmap(room, 65536);
}

/* ---- locks -------------------------------------------------------------- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t sem;
static int told;

static struct timespec soon(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	t.tv_nsec += 2000000;
	if (t.tv_nsec >= 1000000000) {
		t.tv_nsec -= 1000000000;
		t.tv_sec++;
	}
	return t;
}

/* Runs body on another thread to its end. */
static void elsewhere(void *(*body)(void *))
{
	pthread_t thread;

	pthread_create(&thread, NULL, body, NULL);
	pthread_join(thread, NULL);
}

static void *mutex_times_out(void *unused)
{
	struct timespec until = soon(CLOCK_REALTIME);

	TRY(pthread_mutex_timedlock(&mutex, &until));
	return unused;
}

static void *mutex_times_out_monotonic(void *unused)
{
	struct timespec until = soon(CLOCK_MONOTONIC);

	TRY(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &until));
	return unused;
}

static void c_mutex_lock(void)
{
	pthread_mutex_t checked;
	pthread_mutexattr_t attr;

	TRY(pthread_mutex_lock(&mutex));
	TRY(pthread_mutex_unlock(&mutex));
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
	pthread_mutex_init(&checked, &attr);
	TRY(pthread_mutex_lock(&checked));
	TRY(pthread_mutex_lock(&checked));
	TRY(pthread_mutex_unlock(&checked));
}

static void c_mutex_timedlock(void)
{
	pthread_mutex_lock(&mutex);
	elsewhere(mutex_times_out);
	pthread_mutex_unlock(&mutex);
}

static void c_mutex_clocklock(void)
{
	pthread_mutex_lock(&mutex);
	elsewhere(mutex_times_out_monotonic);
	pthread_mutex_unlock(&mutex);
}

static void c_rdlock(void)
{
	TRY(pthread_rwlock_rdlock(&rwlock));
	TRY(pthread_rwlock_unlock(&rwlock));
}

static void c_wrlock(void)
{
	TRY(pthread_rwlock_wrlock(&rwlock));
	TRY(pthread_rwlock_wrlock(&rwlock));
	TRY(pthread_rwlock_unlock(&rwlock));
}

static void *timed_locks(void *which)
{
	struct timespec real = soon(CLOCK_REALTIME), mono = soon(CLOCK_MONOTONIC);

	(void)which;
	TRY(pthread_rwlock_timedrdlock(&rwlock, &real));
	TRY(pthread_rwlock_timedwrlock(&rwlock, &real));
	TRY(pthread_rwlock_clockrdlock(&rwlock, CLOCK_MONOTONIC, &mono));
	TRY(pthread_rwlock_clockwrlock(&rwlock, CLOCK_MONOTONIC, &mono));
	return NULL;
}

static void c_timed_rwlock(void)
{
	pthread_rwlock_wrlock(&rwlock);
	elsewhere(timed_locks);
	pthread_rwlock_unlock(&rwlock);
}

static void *tell(void *unused)
{
	pthread_mutex_lock(&mutex);
	told = 1;
	pthread_cond_broadcast(&cond);
	pthread_mutex_unlock(&mutex);
	return unused;
}

static void c_cond_wait(void)
{
	pthread_t thread;

	told = 0;
	pthread_mutex_lock(&mutex);
	pthread_create(&thread, NULL, tell, NULL);
	while (!told)
		TRY(pthread_cond_wait(&cond, &mutex));
	pthread_mutex_unlock(&mutex);
	pthread_join(thread, NULL);
	line[0] = '\0'; /* it may wake for nothing */
	say(" told");
}

/* A signal that came too soon is none: nobody is told, and nothing waits. */
static void c_cond_signal(void)
{
	TRY(pthread_cond_signal(&cond));
	TRY(pthread_cond_broadcast(&cond));
	c_cond_wait();
}

static void c_cond_timedwait(void)
{
	struct timespec until = soon(CLOCK_REALTIME);
	pthread_condattr_t attr;
	pthread_cond_t mono;

	pthread_mutex_lock(&mutex);
	TRY(pthread_cond_timedwait(&cond, &mutex, &until));
	/* The old version of the function does not know this clock. */
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&mono, &attr);
	until = soon(CLOCK_MONOTONIC);
	TRY(pthread_cond_timedwait(&mono, &mutex, &until));
	pthread_mutex_unlock(&mutex);
}

static void c_cond_clockwait(void)
{
	struct timespec until = soon(CLOCK_MONOTONIC);

	pthread_mutex_lock(&mutex);
	TRY(pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &until));
	pthread_mutex_unlock(&mutex);
}

static pthread_barrier_t barrier;

static void *arrive(void *unused)
{
	(void)unused;
	return (void *)(long)(pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD);
}

static void c_barrier(void)
{
	pthread_t thread;
	void *other;
	int mine;

	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&thread, NULL, arrive, NULL);
	mine = pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD;
	pthread_join(thread, &other);
	say(" %ld serial", mine + (long)other);
	pthread_barrier_destroy(&barrier);
}

static void *answer(void *arg)
{
	return (char *)arg + 1;
}

static void c_join(void)
{
	pthread_t thread;
	void *result = NULL;

	pthread_create(&thread, NULL, answer, (void *)41);
	TRY(pthread_join(thread, &result));
	say(" %ld", (long)result);
	TRY(pthread_join(pthread_self(), NULL));
}

static void c_sem_wait(void)
{
	sem_init(&sem, 0, 1);
	TRY(sem_wait(&sem));
}

static void c_sem_trywait(void)
{
	sem_init(&sem, 0, 1);
	TRY(sem_trywait(&sem));
	TRY(sem_trywait(&sem));
}

static void c_sem_post(void)
{
	int value;

	sem_init(&sem, 0, 0);
	TRY(sem_post(&sem));
	TRY(sem_getvalue(&sem, &value));
	say(" %d", value);
	sem_init(&sem, 0, SEM_VALUE_MAX);
	TRY(sem_post(&sem));
}

static void c_sem_timedwait(void)
{
	struct timespec until = soon(CLOCK_REALTIME);

	sem_init(&sem, 0, 1);
	TRY(sem_timedwait(&sem, &until));
	TRY(sem_timedwait(&sem, &until));
}

static void c_sem_clockwait(void)
{
	struct timespec until = soon(CLOCK_MONOTONIC);

	sem_init(&sem, 0, 1);
	TRY(sem_clockwait(&sem, CLOCK_MONOTONIC, &until));
	TRY(sem_clockwait(&sem, CLOCK_MONOTONIC, &until));
}

int main(int argc, char **argv)
{
	static const hook_case cases[] = {
		{"malloc", c_malloc, NULL},
		{"calloc", c_calloc, NULL},
		{"realloc", c_realloc, NULL},
		{"reallocarray", c_reallocarray, NULL},
		{"free", c_free, NULL},
		{"posix_memalign", c_posix_memalign, NULL},
		{"aligned_alloc", c_aligned_alloc, NULL},
		{"memalign", c_memalign, NULL},
		{"valloc", c_valloc, NULL},
		{"pvalloc", c_pvalloc, NULL},
		{"malloc_usable_size", c_malloc_usable_size, NULL},
		{"mmap", c_mmap, NULL},
		{"mmap64", c_mmap64, NULL},
		{"munmap", c_mmap, NULL},
		{"mremap", c_mremap, NULL},
		{"pthread_mutex_lock", c_mutex_lock, NULL},
		{"pthread_mutex_timedlock", c_mutex_timedlock, NULL},
		{"pthread_mutex_clocklock", c_mutex_clocklock, NULL},
		{"pthread_rwlock_rdlock", c_rdlock, NULL},
		{"pthread_rwlock_wrlock", c_wrlock, NULL},
		{"pthread_rwlock_timedrdlock", c_timed_rwlock, NULL},
		{"pthread_rwlock_timedwrlock", c_timed_rwlock, NULL},
		{"pthread_rwlock_clockrdlock", c_timed_rwlock, NULL},
		{"pthread_rwlock_clockwrlock", c_timed_rwlock, NULL},
		{"pthread_cond_wait", c_cond_wait, NULL},
		{"pthread_cond_timedwait", c_cond_timedwait, NULL},
		{"pthread_cond_signal", c_cond_signal, NULL},
		{"pthread_cond_broadcast", c_cond_signal, NULL},
		{"pthread_cond_clockwait", c_cond_clockwait, NULL},
		{"pthread_barrier_wait", c_barrier, NULL},
		{"pthread_join", c_join, NULL},
		{"sem_wait", c_sem_wait, NULL},
		{"sem_post", c_sem_post, NULL},
		{"sem_trywait", c_sem_trywait, NULL},
		{"sem_timedwait", c_sem_timedwait, NULL},
		{"sem_clockwait", c_sem_clockwait, NULL},
	};

	return hook_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
