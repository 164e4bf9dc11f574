#include "session/namer.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/grow.h"
#include "base/hashmap.h"
#include "symbol/deep.h"
#include "symbol/elf.h"
#include "symbol/module.h"

#define WAITING_MAX (1u << 18) /* places; what comes then stays without a name */
#define MODULES_MAX 65536u
#define LOADED_MAX (256u << 20) /* bytes of symbols at once */
#define FOUND_MAX (4u << 20)	/* bytes of names that nobody wrote yet */
#define LAST_WAIT_NS 1000000000u
#define NICE 19 /* one or two in a hundred of what a thread of the program gets on the same CPU */

struct named_place {
	uint32_t process, id;
	isc_def_native at;
};

/* A name that was found; the definition follows. */
struct found {
	uint32_t process, id, len;
};

enum worker { WORKER_NONE, WORKER_RUNS, WORKER_ENDED };

/* Under the lock, but for what a module read of its file: only who looks names up touches that. */
struct isc_namer {
	pthread_mutex_t lock;
	pthread_cond_t wake, ended;
	pthread_t thread;
	enum worker worker;
	bool stop;
	isc_hashmap by_id; /* process and id of a module -> its number + 1 */
	isc_hashmap by_hash;
	isc_symbols **module;
	size_t modules, modules_room;
	struct named_place *place;
	size_t first, places, places_room; /* from first on they wait */
	size_t loaded;			   /* bytes */
	isc_buffer found, writing;
};

isc_namer *isc_namer_new(void)
{
	isc_namer *n = calloc(1, sizeof(*n));
	pthread_condattr_t attr;

	if (n == NULL)
		return NULL;
	pthread_mutex_init(&n->lock, NULL);
	pthread_cond_init(&n->wake, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&n->ended, &attr);
	pthread_condattr_destroy(&attr);
	return n;
}

/* The worker ends with the name it is at; false: not in time. */
static bool end_worker(isc_namer *n, uint64_t until_ns)
{
	const struct timespec until = {(time_t)(until_ns / 1000000000u), (long)(until_ns % 1000000000u)};

	n->stop = true;
	pthread_cond_signal(&n->wake);
	while (n->worker == WORKER_RUNS && pthread_cond_timedwait(&n->ended, &n->lock, &until) == 0)
		continue;
	if (n->worker == WORKER_RUNS)
		return false;
	if (n->worker == WORKER_ENDED) {
		pthread_join(n->thread, NULL);
		n->worker = WORKER_NONE;
	}
	return true;
}

void isc_namer_free(isc_namer *n)
{
	bool alone;

	if (n == NULL)
		return;
	pthread_mutex_lock(&n->lock);
	alone = end_worker(n, isc_clock_mono_ns() + LAST_WAIT_NS);
	pthread_mutex_unlock(&n->lock);
	if (!alone)
		return; /* it reads a file that does not answer, and ends with the process */
	for (size_t i = 0; i < n->modules; i++)
		isc_symbols_free(n->module[i]);
	free(n->module);
	free(n->place);
	isc_hashmap_fini(&n->by_id);
	isc_hashmap_fini(&n->by_hash);
	isc_buffer_fini(&n->found);
	isc_buffer_fini(&n->writing);
	pthread_mutex_destroy(&n->lock);
	pthread_cond_destroy(&n->wake);
	pthread_cond_destroy(&n->ended);
	free(n);
}

/* ---- what there is ----------------------------------------------------------- */

static uint64_t hash_of(const char *text, size_t len)
{
	uint64_t h = 0xcbf29ce484222325ull;

	for (size_t i = 0; i < len; i++)
		h = (h ^ (unsigned char)text[i]) * 0x100000001b3ull;
	return h;
}

static void add_module(isc_namer *n, uint32_t process, uint32_t id, const void *data, uint32_t len)
{
	const char *text = (const char *)data + sizeof(isc_def_module);
	const uint8_t *build = (const uint8_t *)text;
	isc_def_module head;
	isc_symbols *m, **bigger;
	uint64_t *same, *mine;

	if (len < sizeof(head))
		return;
	memcpy(&head, data, sizeof(head));
	len -= (uint32_t)sizeof(head);
	if (head.build_len > ISC_ELF_BUILD_MAX || head.build_len > len || head.path_len != len - head.build_len ||
	    memchr(text + head.build_len, '\0', head.path_len) != NULL || n->modules >= MODULES_MAX)
		return;
	same = isc_hashmap_put(&n->by_hash, hash_of(text, len), NULL);
	if (same == NULL)
		return;
	if (*same == 0 ||
	    !isc_symbols_is(n->module[*same - 1], text + head.build_len, head.path_len, build, head.build_len)) {
		bigger = isc_grow(n->module, n->modules, &n->modules_room, sizeof(*bigger));
		if (bigger == NULL)
			return;
		n->module = bigger;
		m = isc_symbols_new(text + head.build_len, head.path_len, build, head.build_len);
		if (m == NULL)
			return;
		n->module[n->modules++] = m;
		*same = n->modules;
	}
	mine = isc_hashmap_put(&n->by_id, isc_hashmap_key(process, id), NULL);
	same = isc_hashmap_find(&n->by_hash, hash_of(text, len));
	if (mine != NULL)
		*mine = *same;
}

static void add_place(isc_namer *n, uint32_t process, uint32_t id, const void *data)
{
	struct named_place *bigger;

	if (n->places - n->first >= WAITING_MAX)
		return;
	if (n->first == n->places)
		n->first = n->places = 0;
	bigger = isc_grow(n->place, n->places, &n->places_room, sizeof(*bigger));
	if (bigger == NULL)
		return;
	n->place = bigger;
	n->place[n->places] = (struct named_place){.process = process, .id = id};
	memcpy(&n->place[n->places++].at, data, sizeof(isc_def_native));
}

/* ---- names ----------------------------------------------------------------------- */

/* Room for what this module will read. */
static void unload_others(isc_namer *n, const isc_symbols *m)
{
	for (size_t i = 0; i < n->modules && n->loaded > LOADED_MAX; i++) {
		if (n->module[i] == m || isc_symbols_bytes(n->module[i]) == 0)
			continue;
		n->loaded -= isc_symbols_bytes(n->module[i]);
		isc_symbols_unload(n->module[i]);
	}
}

/* Without memory it stays without a name. */
static void add_found(isc_namer *n, const struct named_place *p, const isc_symbol *name)
{
	size_t name_len = strlen(name->name), file_len = strnlen(name->file, 4096);
	isc_def_code code = {name->line, ISC_CODE_NATIVE, (uint32_t)name_len, (uint32_t)file_len};
	struct found head = {p->process, p->id | ISC_DEF_NAMED, (uint32_t)(sizeof(code) + name_len + file_len)};
	char *to = isc_buffer_room(&n->found, sizeof(head) + head.len);

	if (to == NULL)
		return;
	memcpy(to, &head, sizeof(head));
	memcpy(to + sizeof(head), &code, sizeof(code));
	memcpy(to + sizeof(head) + sizeof(code), name->name, name_len);
	memcpy(to + sizeof(head) + sizeof(code) + name_len, name->file, file_len);
}

/* The next that waits; the lock is held here and there, and not while files are read. */
static void name_next(isc_namer *n)
{
	const struct named_place p = n->place[n->first++];
	const uint64_t *at = isc_hashmap_find(&n->by_id, isc_hashmap_key(p.process, p.at.module));
	isc_symbols *m = NULL;
	isc_symbol name;
	size_t before = 0;

	/* The reader names it by its offset. */
	if (p.at.module != 0 && at == NULL)
		return;
	if (p.at.module != 0) {
		m = n->module[*at - 1];
		before = isc_symbols_bytes(m);
		if (before == 0)
			unload_others(n, m);
	}
	pthread_mutex_unlock(&n->lock);
	isc_symbols_find(m, p.at.offset, (p.at.flags & ISC_PLACE_CALLER) != 0, &name);
	pthread_mutex_lock(&n->lock);
	if (m != NULL)
		n->loaded += isc_symbols_bytes(m) - before;
	add_found(n, &p, &name);
}

static void *work(void *self)
{
	isc_namer *n = self;

	setpriority(PRIO_PROCESS, (id_t)gettid(), NICE);
	pthread_mutex_lock(&n->lock);
	while (!n->stop) {
		if (n->first == n->places || n->found.len > FOUND_MAX)
			pthread_cond_wait(&n->wake, &n->lock);
		else
			name_next(n);
	}
	n->worker = WORKER_ENDED;
	pthread_cond_signal(&n->ended);
	pthread_mutex_unlock(&n->lock);
	return NULL;
}

/* Without one, all is done at the end.  Signals are for the thread that waits for them. */
static void begin_worker(isc_namer *n)
{
	sigset_t all, before;
	pthread_attr_t attr;

	if (pthread_attr_init(&attr) != 0)
		return;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	/* However small the program wants its own to be. */
	if (pthread_attr_setstacksize(&attr, ISC_DEEP_STACK_BYTES) == 0 &&
	    pthread_create(&n->thread, &attr, work, n) == 0)
		n->worker = WORKER_RUNS;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
}

void isc_namer_define(isc_namer *n, uint32_t process, uint32_t id, uint16_t type, const void *data, uint32_t len)
{
	if (type != ISC_DEF_MODULE && (type != ISC_DEF_NATIVE || len != sizeof(isc_def_native)))
		return;
	pthread_mutex_lock(&n->lock);
	if (type == ISC_DEF_MODULE) {
		add_module(n, process, id, data, len);
	} else {
		add_place(n, process, id, data);
		if (n->worker == WORKER_NONE && !n->stop)
			begin_worker(n);
		pthread_cond_signal(&n->wake);
	}
	pthread_mutex_unlock(&n->lock);
}

isc_status isc_namer_write(isc_namer *n, isc_writer *writer, isc_error *err)
{
	isc_buffer taken;
	struct found head;
	isc_status st = ISC_OK;

	pthread_mutex_lock(&n->lock);
	taken = n->found;
	n->found = n->writing;
	isc_buffer_clear(&n->found);
	if (taken.len > FOUND_MAX)
		pthread_cond_signal(&n->wake);
	pthread_mutex_unlock(&n->lock);
	n->writing = taken;
	for (size_t at = 0; at < taken.len && st == ISC_OK; at += sizeof(head) + head.len) {
		memcpy(&head, taken.data + at, sizeof(head));
		st = isc_writer_define(writer, head.process, head.id, ISC_DEF_CODE, taken.data + at + sizeof(head),
				       head.len, err);
	}
	return st;
}

isc_status isc_namer_finish(isc_namer *n, isc_writer *writer, uint64_t until_ns, isc_error *err)
{
	pthread_mutex_lock(&n->lock);
	if (end_worker(n, until_ns)) {
		while (n->first < n->places && isc_clock_mono_ns() < until_ns)
			name_next(n);
	}
	pthread_mutex_unlock(&n->lock);
	return isc_namer_write(n, writer, err);
}
