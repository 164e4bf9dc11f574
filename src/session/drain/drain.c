/* drain.c - all pools of a session: found, turned by one cycle, and let go. */
#include "session/drain/drain.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "session/drain/pool.h"

/* A folder's time moves in ticks of the kernel's coarse clock: within this much
 * of a change, another change could have the same time. */
#define SETTLED_NS 20000000

/* Each turn costs tens of microseconds, of the program's own where it leaves no CPU free: while the
 * fullest pool has little in it there are fewer turns. */
#define SLEEP_LEAST_US 5000u
#define SLEEP_MOST_US 25000u
#define SLEEP_STEP_US 1000u
#define CALM (1.0 / 64)
#define STIRRED (1.0 / 24)
#define HURRIED (1.0 / 16)

typedef struct candidate {
	char name[48];
	uint32_t pid;
	uint64_t gen;
} candidate;

static int open_folder(const isc_drain_options *options)
{
	if (options->folder == NULL)
		return openat(options->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return open(options->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
}

isc_status isc_drain_new(const isc_drain_options *options, const isc_drain_sink *sink, isc_drain **out, isc_error *err)
{
	isc_drain *d = calloc(1, sizeof(*d));

	*out = NULL;
	if (d == NULL)
		return isc_fail(err, ISC_ERR_NOMEM, "no memory to read events");
	d->options = *options;
	d->seal = isc_seal_of(options->session_id);
	d->sink = *sink;
	d->dirty = true;
	d->copy = malloc((size_t)ISC_DRAIN_BATCH * ISC_BLOCK_SIZE);
	d->runs = malloc(ISC_DRAIN_BATCH * sizeof(*d->runs));
	d->def_copy = malloc(ISC_DEF_MAX);
	d->dir = open_folder(options);
	if (d->dir < 0) {
		isc_status st = isc_fail_errno(err, "cannot open the session folder %s",
					       options->folder != NULL ? options->folder : "again");

		isc_drain_free(d);
		return st;
	}
	if (d->copy == NULL || d->runs == NULL || d->def_copy == NULL) {
		isc_drain_free(d);
		return isc_fail(err, ISC_ERR_NOMEM, "no memory to read events");
	}
	d->options.folder = NULL; /* borrowed only until here */
	*out = d;
	return ISC_OK;
}

void isc_drain_free(isc_drain *d)
{
	if (d == NULL)
		return;
	for (size_t i = 0; i < d->n_pools; i++)
		isc_drain_pool_close(d, d->pools[i], false);
	isc_hashmap_fini(&d->known);
	isc_hashmap_fini(&d->by_gen);
	if (d->dir >= 0)
		close(d->dir);
	free(d->pools);
	free(d->items);
	free(d->copy);
	free(d->runs);
	free(d->def_copy);
	free(d);
}

/* ---- finding pools ---------------------------------------------------- */

static uint64_t key_of(uint32_t pid, uint64_t gen)
{
	return gen ^ pid * 0x9e3779b97f4a7c15ull;
}

static bool parse_name(const char *name, candidate *c)
{
	if (strlen(name) >= sizeof(c->name) || !isc_seal_pool_name(name, 'p', &c->pid, &c->gen))
		return false;
	strcpy(c->name, name);
	return true;
}

static int by_gen(const void *a, const void *b)
{
	const candidate *x = a, *y = b;

	return x->gen < y->gen ? -1 : x->gen > y->gen;
}

static bool keep_pool(isc_drain *d, isc_drain_pool *p)
{
	uint64_t *entry;

	if (d->n_pools == d->room_pools) {
		size_t room = d->room_pools != 0 ? d->room_pools * 2 : 16;
		isc_drain_pool **grown = realloc(d->pools, room * sizeof(*grown));

		if (grown == NULL)
			return false;
		d->pools = grown;
		d->room_pools = room;
	}
	entry = isc_hashmap_put(&d->by_gen, p->gen, NULL);
	if (entry == NULL)
		return false;
	*entry = (uint64_t)(uintptr_t)p;
	d->pools[d->n_pools++] = p;
	d->stats.pools++;
	d->fresh++;
	return true;
}

/* True when the pool names a parent that has not been met. */
static bool open_candidate(isc_drain *d, const candidate *c)
{
	isc_drain_pool *p;
	bool later;

	p = isc_drain_pool_open(d, c->name, c->pid, c->gen, &later);
	if (later) {
		d->dirty = true;
		return false;
	}
	if (isc_hashmap_put(&d->known, key_of(c->pid, c->gen), NULL) == NULL || p == NULL || !keep_pool(d, p)) {
		if (p != NULL)
			isc_drain_pool_close(d, p, false);
		d->stats.refused_pools++;
		return false;
	}
	return p->parent_gen != 0 && isc_hashmap_find(&d->by_gen, p->parent_gen) == NULL;
}

static isc_status look(isc_drain *d, bool *again, isc_error *err)
{
	int fd = openat(d->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	candidate *found = NULL;
	size_t n = 0, room = 0;
	struct dirent *e;

	*again = false;
	if (dir == NULL) {
		isc_status st = isc_fail_errno(err, "cannot read the session folder");

		if (fd >= 0)
			close(fd);
		return st;
	}
	while ((e = readdir(dir)) != NULL) {
		candidate c;

		if (!parse_name(e->d_name, &c) || isc_hashmap_find(&d->known, key_of(c.pid, c.gen)) != NULL)
			continue;
		if (n == room) {
			size_t wider = room != 0 ? room * 2 : 16;
			candidate *grown = realloc(found, wider * sizeof(*grown));

			if (grown == NULL)
				break;
			found = grown;
			room = wider;
		}
		found[n++] = c;
	}
	closedir(dir);
	/* Older ones first: a parent is met before its children. */
	if (n > 1)
		qsort(found, n, sizeof(*found), by_gen);
	for (size_t i = 0; i < n; i++)
		*again |= open_candidate(d, &found[i]);
	free(found);
	return ISC_OK;
}

static isc_status find_pools(isc_drain *d, bool surely, isc_error *err)
{
	isc_status st = ISC_OK;
	struct timespec now;
	struct stat sb;
	bool again = true;
	int64_t age;

	if (fstat(d->dir, &sb) != 0)
		return isc_fail_errno(err, "cannot read the session folder");
	if (!surely && !d->dirty && d->cycle % 64 != 0 && sb.st_mtim.tv_sec == d->seen_sec &&
	    sb.st_mtim.tv_nsec == d->seen_nsec)
		return ISC_OK;
	d->seen_sec = sb.st_mtim.tv_sec;
	d->seen_nsec = sb.st_mtim.tv_nsec;
	clock_gettime(CLOCK_REALTIME, &now);
	age = (now.tv_sec - sb.st_mtim.tv_sec) * 1000000000 + (now.tv_nsec - sb.st_mtim.tv_nsec);
	d->dirty = age < SETTLED_NS;
	/* A child's pool can show before its parent's in one pass over the
	 * folder, but not in two: the parent's file was there before. */
	for (int pass = 0; pass < 2 && again && st == ISC_OK; pass++)
		st = look(d, &again, err);
	return st;
}

/* ---- one cycle -------------------------------------------------------- */

static void forget(isc_drain *d, size_t i)
{
	isc_drain_pool *p = d->pools[i];
	uint64_t *entry = isc_hashmap_find(&d->by_gen, p->gen);

	if (entry != NULL)
		*entry = 1;
	isc_drain_pool_close(d, p, !d->options.keep_files);
	d->pools[i] = d->pools[--d->n_pools];
}

static void turn(isc_drain *d, isc_drain_cycle *cycle)
{
	for (size_t i = 0; i < d->n_pools;) {
		isc_drain_pool *p = d->pools[i];
		double fill;

		if (p->process == 0) {
			i++;
			continue;
		}
		isc_drain_deaths_learn(d, p);
		cycle->events += isc_drain_pool_read(d, p);
		isc_drain_deaths_close(d, p);
		fill = p->nblocks != 0 ? (double)p->slots_read / ((double)p->nblocks * ISC_BLOCK_SLOTS) : 0;
		if (fill > cycle->fill)
			cycle->fill = fill;
		if (p->gone) {
			forget(d, i);
			continue;
		}
		isc_drain_pool_grow(d, p);
		isc_drain_defs_grow(d, p);
		if (d->cycle % 64 == 63)
			isc_drain_account(d, p, false);
		i++;
	}
}

static isc_status run(isc_drain *d, bool surely, isc_drain_cycle *cycle, isc_error *err)
{
	isc_status st;

	*cycle = (isc_drain_cycle){0};
	d->fresh = 0;
	st = find_pools(d, surely, err);
	turn(d, cycle);
	cycle->pools = (unsigned)d->n_pools;
	d->cycle++;
	if (d->fresh != 0 || cycle->fill > STIRRED)
		d->calm = 0;
	else if (cycle->fill < CALM && d->calm < SLEEP_MOST_US / SLEEP_STEP_US)
		d->calm++;
	return st;
}

isc_status isc_drain_run(isc_drain *d, isc_drain_cycle *cycle, isc_error *err)
{
	return run(d, false, cycle, err);
}

unsigned isc_drain_sleep_us(const isc_drain *d, const isc_drain_cycle *cycle)
{
	unsigned us = SLEEP_LEAST_US + d->calm * SLEEP_STEP_US;

	if (cycle->fill > 1.0 / 4)
		return 0;
	if (cycle->fill > HURRIED || d->fresh != 0)
		return 1000;
	return us < SLEEP_MOST_US ? us : SLEEP_MOST_US;
}

isc_status isc_drain_finish(isc_drain *d, isc_error *err)
{
	isc_drain_cycle cycle;
	isc_status st = run(d, true, &cycle, err);

	for (size_t i = 0; i < d->n_pools; i++)
		if (d->pools[i]->process != 0)
			isc_drain_account(d, d->pools[i], true);
	return st;
}

void isc_drain_stats_get(const isc_drain *d, isc_drain_stats *out)
{
	*out = d->stats;
}

void isc_drain_tell_units(isc_drain *d, isc_drain_units *units, void *self)
{
	_Static_assert(ISC_DRAIN_UNIT_CODES == ISC_UNIT_CODES, "as many as a pool has room for");

	for (size_t i = 0; i < d->n_pools; i++) {
		const isc_drain_pool *p = d->pools[i];
		uint32_t codes[ISC_UNIT_CODES];
		size_t n = p->process != 0 ? units(self, p->process, codes) : 0;

		/* Without any now, those of before are still the best guess. */
		for (size_t k = 0; n > 0 && k < ISC_UNIT_CODES; k++)
			atomic_store_explicit(&p->map->unit_code[k], k < n ? codes[k] : 0, memory_order_release);
	}
}
