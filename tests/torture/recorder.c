/*
 * recorder.c - the real drain with a sink that believes nothing.
 *
 * Everything stored goes to a log at once, so that a recorder that replaces a
 * killed one knows what was stored.
 */
#include "torture.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/hashmap.h"
#include "runtime/layout.h"
#include "session/drain/drain.h"

typedef struct process {
	uint32_t pid;
	uint64_t gen, parent_gen;
	uint64_t defs_base;
	bool replaced; /* a younger image has its pid */
} process;

typedef struct thread {
	uint32_t process;
	uint64_t serial;
} thread;

typedef struct numbers { /* of one stream */
	uint64_t expected, stored;
	uint64_t last[ORIGINS];
} numbers;

#define PROCESSES 8192u
#define THREADS 65536u

static process processes[PROCESSES];
static uint32_t n_processes = 1;
static thread threads[THREADS];
static uint32_t n_threads = 1;
static numbers *streams; /* [THREADS][2] */
static isc_hashmap thread_of, process_of, defined;
static int log_fd, end_fd;

static uint32_t find_process(uint64_t gen)
{
	bool fresh;
	uint64_t *at = isc_hashmap_put(&process_of, gen, &fresh);

	if (fresh) {
		*at = n_processes++;
		processes[*at].gen = gen;
	}
	return (uint32_t)*at;
}

static uint32_t find_thread(uint32_t proc, uint64_t serial)
{
	bool fresh;
	uint64_t *at = isc_hashmap_put(&thread_of, isc_hashmap_key(proc, (uint32_t)serial), &fresh);

	if (fresh) {
		*at = n_threads++;
		threads[*at] = (thread){proc, serial};
	}
	if (n_threads >= THREADS || n_processes >= PROCESSES)
		abort();
	return (uint32_t)*at;
}

static uint32_t on_pool(void *self, const void *header)
{
	const isc_pool *h = header;
	uint32_t p = find_process(h->gen);

	(void)self;
	for (uint32_t i = 1; i < n_processes; i++)
		if (processes[i].pid == h->pid && processes[i].gen < h->gen)
			processes[i].replaced = true;
	processes[p].pid = h->pid;
	processes[p].parent_gen = h->parent_gen;
	processes[p].defs_base = h->defs_base;
	if (h->parent_gen != 0 && isc_hashmap_find(&process_of, h->parent_gen) == NULL)
		FAIL("a child's pool was met before its parent's");
	return p;
}

static uint32_t on_thread(void *self, uint32_t proc, uint32_t tid, uint64_t serial, uint64_t birth)
{
	(void)self;
	(void)tid;
	(void)birth;
	return find_thread(proc, serial);
}

static void on_define(void *self, uint32_t proc, uint32_t id, uint16_t type, const void *data, uint32_t len)
{
	(void)self;
	(void)data;
	if (type != ISC_DEF_STRING || len > ISC_DEF_MAX)
		FAIL("definition %u has type %u and %u bytes", id, type, len);
	*isc_hashmap_put(&defined, isc_hashmap_key(proc, id), NULL) = 1;
	atomic_fetch_add(&the_stage->defined, 1);
}

static void check_id(uint32_t proc, uint32_t id)
{
	if (id == 0)
		return;
	while (id < processes[proc].defs_base)
		proc = find_process(processes[proc].parent_gen);
	if (isc_hashmap_find(&defined, isc_hashmap_key(proc, id)) == NULL)
		FAIL("id %u was not defined before its event", id);
	else
		atomic_fetch_add(&the_stage->resolved, 1);
}

static void put(int fd, const void *data, size_t len)
{
	if (write(fd, data, len) != (ssize_t)len)
		FAIL("cannot write the log");
}

static void on_events(void *self, uint32_t proc, uint32_t thr, uint8_t stream, uint64_t first, uint32_t events,
		      const void *slots, uint32_t n)
{
	const task *t = &the_stage->task;
	numbers *s = &streams[thr * 2 + stream];
	const isc_record *r = slots;
	log_entry entry = {processes[proc].gen, threads[thr].serial, stream, first, events, {0}};
	uint32_t seen = 0;

	(void)self;
	if (first < s->expected)
		FAIL("event %llu stored twice", (unsigned long long)first);
	for (uint32_t i = 0; i < n; i += r[i].slots, seen++) {
		uint32_t origin = r[i].kind;

		if (r[i].slots == 0 || i + r[i].slots > n || origin >= ORIGINS) {
			FAIL("torn record");
			break;
		}
		if (t->define) {
			check_id(proc, r[i].id);
			continue;
		}
		for (uint32_t k = 0; k < r[i].slots; k++)
			if (r[i + k].id != payload(r[i].ticks, k) || r[i + k].arg != k)
				FAIL("bad payload in event %llu", (unsigned long long)(first + seen));
		/* A child may begin with the event in which its parent's handler forked. */
		if (r[i].ticks + 1 <= s->last[origin] && !(t->forks && processes[proc].parent_gen != 0))
			FAIL("order: %llu after %llu", (unsigned long long)r[i].ticks,
			     (unsigned long long)s->last[origin] - 1);
		s->last[origin] = r[i].ticks + 1;
		if (!t->noise && t->rounds == 0 && r[i].ticks != first + seen)
			FAIL("number %llu at position %llu", (unsigned long long)r[i].ticks,
			     (unsigned long long)(first + seen));
	}
	if (seen != events)
		FAIL("%u events where %u were told", seen, events);
	s->expected = first + events;
	s->stored += events;
	memcpy(entry.last, s->last, sizeof(entry.last));
	put(log_fd, &entry, sizeof(entry));
}

static void on_account(void *self, uint32_t proc, uint32_t thr, uint8_t stream, uint64_t produced, uint64_t stored,
		       uint64_t lost, bool final)
{
	end_entry e = {
		processes[proc].gen, thr != 0 ? threads[thr].serial : 0, thr != 0 ? stream : 3, produced, stored, lost};

	(void)self;
	if (produced != stored + lost)
		FAIL("account: %llu != %llu + %llu", (unsigned long long)produced, (unsigned long long)stored,
		     (unsigned long long)lost);
	if (thr != 0 && stream < 2 && streams[thr * 2 + stream].stored != stored)
		FAIL("account says %llu stored, the sink got %llu", (unsigned long long)stored,
		     (unsigned long long)streams[thr * 2 + stream].stored);
	if (final)
		put(end_fd, &e, sizeof(e));
}

static bool on_gone(void *self, uint32_t proc)
{
	(void)self;
	return processes[proc].replaced || (kill((pid_t)processes[proc].pid, 0) != 0 && errno == ESRCH);
}

static uint64_t on_resume(void *self, uint32_t proc, uint32_t thr, uint8_t stream)
{
	(void)self;
	(void)proc;
	return streams[thr * 2 + stream].expected;
}

static uint64_t on_resume_stored(void *self, uint32_t proc, uint32_t thr, uint8_t stream)
{
	(void)self;
	(void)proc;
	return streams[thr * 2 + stream].stored;
}

static void read_log(void)
{
	log_entry e;

	for (off_t at = 0; pread(log_fd, &e, sizeof(e), at) == (ssize_t)sizeof(e); at += (off_t)sizeof(e)) {
		numbers *s = &streams[find_thread(find_process(e.gen), e.serial) * 2 + e.stream];

		s->expected = e.first + e.events;
		s->stored += e.events;
		memcpy(s->last, e.last, sizeof(s->last));
	}
}

int record(bool takeover)
{
	const task *t = &the_stage->task;
	isc_drain_options options = {
		.folder = t->folder, .takeover = takeover, .limit_bytes = t->grow ? 256u << 20 : 0};
	isc_drain_sink sink = {.pool = on_pool,
			       .thread = on_thread,
			       .define = on_define,
			       .events = on_events,
			       .account = on_account,
			       .gone = on_gone,
			       .resume = on_resume,
			       .resume_stored = on_resume_stored};
	isc_drain_cycle cycle;
	isc_drain_stats stats;
	isc_drain *d;
	char path[300];
	time_t begun_end = 0;
	bool last;

	failures = 0;
	streams = calloc(THREADS * 2, sizeof(*streams));
	snprintf(path, sizeof(path), "%s/log", t->folder);
	log_fd = open(path, O_RDWR | O_CREAT | O_APPEND, 0600);
	snprintf(path, sizeof(path), "%s/end", t->folder);
	end_fd = open(path, O_RDWR | O_CREAT | O_APPEND, 0600);
	read_log();
	if (isc_drain_new(&options, &sink, &d, NULL) != ISC_OK)
		return 1;
	do {
		last = atomic_load(&the_stage->stop_recorder);
		if (isc_drain_run(d, &cycle, NULL) != ISC_OK)
			FAIL("a cycle failed");
		if (t->period_us != 0 && !last)
			usleep(t->period_us);
		if (last && begun_end == 0)
			begun_end = time(NULL);
		if (last && time(NULL) > begun_end + RECORD_PATIENCE_S)
			return RECORD_LEFT;
	} while (!last || cycle.pools != 0 || cycle.events != 0);
	isc_drain_finish(d, NULL);
	isc_drain_stats_get(d, &stats);
	if (stats.damaged != 0 || stats.refused_pools != 0 || stats.grow_failed != 0)
		FAIL("drain: %llu damaged, %llu refused, %llu not grown", (unsigned long long)stats.damaged,
		     (unsigned long long)stats.refused_pools, (unsigned long long)stats.grow_failed);
	if (stats.bytes != 0)
		FAIL("%llu bytes still in use", (unsigned long long)stats.bytes);
	isc_drain_free(d);
	return failures != 0;
}
