/*
 * race.c - writers and recorder in one process and on one mapping, so that a
 * race detector sees both sides of every word.  (In separate mappings of one
 * file it would see none.)
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/runtime.h"
#include "runtime/write.h"
#include "session/drain/pool.h"
#include "transport_session.h"

#define THREADS 6
#define ROUNDS 8
#define EVENTS 12000

static _Atomic uint64_t produced, ended, stored, lost, defined;
static _Atomic int stop, failed;
static __thread volatile sig_atomic_t writing;
static _Atomic uint32_t main_process, gone_process;

/* Our own pool and definitions are where the runtime has them; a child's are mapped. */
void *ISC_DRAIN_MMAP(void *at, size_t len, int prot, int flags, int fd, off_t offset)
{
	char link[64], path[400], mine[32];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = '\0';
	snprintf(mine, sizeof(mine), "/p%d.", getpid());
	if (strstr(path, mine) != NULL)
		return isc_image_self.pool;
	mine[1] = 'd';
	if (strstr(path, mine) != NULL)
		return isc_image_self.defs;
	return mmap(at, len, prot, flags, fd, offset);
}

int ISC_DRAIN_MUNMAP(void *at, size_t len)
{
	return at == (void *)isc_image_self.pool || at == (void *)isc_image_self.defs ? 0 : munmap(at, len);
}

static void emit(unsigned n, uint32_t id)
{
	isc_record r[4] = {{0}};

	for (unsigned k = 0; k < n; k++)
		r[k] = (isc_record){1, id, 1, (uint8_t)(k ? 0 : n), (uint16_t)k};
	isc_write(r, n);
	atomic_fetch_add(&produced, 1);
}

static void on_signal(int sig)
{
	(void)sig;
	if (writing)
		emit(1, 0);
}

static void *write_events(void *arg)
{
	char name[32];

	writing = 1;
	for (unsigned i = 0; i < EVENTS; i++) {
		uint32_t id = 0;

		if (i % 16 == 0) {
			snprintf(name, sizeof(name), "name %u", i % 1024);
			id = isc_rt_name(name, strlen(name));
		}
		emit(1 + i % 3, id);
	}
	writing = 0;
	return arg;
}

static uint32_t on_pool(void *self, const void *header)
{
	static uint32_t n;
	const isc_pool *h = header;

	(void)self;
	n++;
	if (h->pid == (uint32_t)getpid())
		atomic_store(&main_process, n);
	return n;
}

static uint32_t on_thread(void *self, uint32_t process, uint32_t tid, uint64_t serial, uint64_t birth)
{
	(void)self;
	(void)process;
	(void)tid;
	(void)birth;
	return (uint32_t)serial;
}

static void on_define(void *self, uint32_t process, uint32_t id, uint16_t type, const void *data, uint32_t len)
{
	(void)self;
	(void)process;
	(void)id;
	(void)type;
	if (len < 5 || memcmp(data, "name ", 5) != 0)
		atomic_store(&failed, 1);
	atomic_fetch_add(&defined, 1);
}

static void on_events(void *self, uint32_t process, uint32_t thread, uint8_t stream, uint64_t first, uint32_t events,
		      const void *slots, uint32_t n)
{
	const isc_record *r = slots;
	uint32_t seen = 0;

	(void)self;
	(void)process;
	(void)thread;
	(void)stream;
	(void)first;
	for (uint32_t i = 0; i < n; i += r[i].slots, seen++)
		if (r[i].kind != 1 || r[i].slots == 0)
			abort();
	if (seen != events)
		atomic_store(&failed, 1);
}

static void on_account(void *self, uint32_t process, uint32_t thread, uint8_t stream, uint64_t all, uint64_t kept,
		       uint64_t gone, bool final)
{
	(void)self;
	(void)process;
	(void)thread;
	(void)stream;
	if (!final)
		return;
	if (all != kept + gone)
		atomic_store(&failed, 1);
	atomic_fetch_add(&ended, all);
	atomic_fetch_add(&stored, kept);
	atomic_fetch_add(&lost, gone);
}

static bool on_gone(void *self, uint32_t process)
{
	(void)self;
	return process == atomic_load(&main_process) ? atomic_load(&stop) == 2 : atomic_load(&gone_process) >= process;
}

static void *record(void *arg)
{
	isc_drain_cycle cycle;
	int seen;

	do {
		seen = atomic_load(&stop);
		isc_drain_run(arg, &cycle, NULL);
		usleep(100);
	} while (seen != 2 || cycle.pools != 0);
	return NULL;
}

int main(void)
{
	isc_control wish = {.flags = ISC_CONTROL_FOLLOW_ALL, .first_blocks = 24, .max_blocks = 64, .max_slots = 16};
	isc_drain_sink sink = {.pool = on_pool,
			       .thread = on_thread,
			       .define = on_define,
			       .events = on_events,
			       .account = on_account,
			       .gone = on_gone};
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	isc_drain_options options = {.limit_bytes = 64u << 20};
	pthread_t recorder, threads[THREADS];
	transport_session session;
	isc_drain *d;
	bool good;

	sigaction(SIGUSR1, &action, NULL);
	if (!transport_session_make(&session, &wish) || isc_rt_attach(session.folder) != 0 || !isc_image_open())
		return 2;
	options.folder = session.folder;
	if (isc_drain_new(&options, &sink, &d, NULL) != ISC_OK)
		return 2;
	pthread_create(&recorder, NULL, record, d);
	for (unsigned round = 0; round < ROUNDS; round++) {
		pid_t child;

		for (unsigned k = 0; k < THREADS; k++)
			pthread_create(&threads[k], NULL, write_events, NULL);
		for (unsigned j = 0; j < 30; j++) {
			for (unsigned k = 0; k < THREADS; k++)
				pthread_kill(threads[k], SIGUSR1);
			usleep(50);
		}
		child = fork();
		if (child == 0) {
			for (unsigned i = 0; i < 100; i++)
				emit(1 + i % 3, isc_rt_name("name of a child", 15));
			_exit(0);
		}
		waitpid(child, NULL, 0);
		atomic_fetch_add(&produced, 100);
		for (unsigned k = 0; k < THREADS; k++)
			pthread_join(threads[k], NULL);
	}
	atomic_store(&gone_process, UINT32_MAX);
	atomic_store(&stop, 2);
	pthread_join(recorder, NULL);
	isc_drain_finish(d, NULL);
	isc_drain_free(d);
	transport_session_remove(&session);
	good = atomic_load(&produced) == atomic_load(&ended) && atomic_load(&failed) == 0 && atomic_load(&defined) != 0;
	printf("%s 1 - D2 writers and recorder on one mapping # produced %llu ended %llu stored %llu lost %llu\n1..1\n",
	       good ? "ok" : "not ok", (unsigned long long)produced, (unsigned long long)ended,
	       (unsigned long long)stored, (unsigned long long)lost);
	return good ? 0 : 1;
}
