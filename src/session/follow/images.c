/* follow_image.c - process images, the chain of each pid, and their arguments. */
#include <stdlib.h>
#include <string.h>

#include "session/follow/tables.h"
#include "session/secret.h"

bool isc_follow_grow(void **array, uint32_t *room, uint32_t count, size_t size)
{
	if (count < *room)
		return true;
	uint32_t want = *room ? *room * 2 : 64;
	void *more = realloc(*array, want * size);

	if (more == NULL)
		return false;
	*array = more;
	*room = want;
	return true;
}

void isc_image_touch(isc_follow *f, uint32_t process)
{
	isc_program_image *x = isc_program_image_of(f, process);

	/* Without room in the list the entry is written with the next change. */
	if (x->seen & ISC_SEEN_DIRTY || !isc_follow_grow((void **)&f->dirty, &f->dirty_room, f->dirty_count, 4))
		return;
	x->seen |= ISC_SEEN_DIRTY;
	f->dirty[f->dirty_count++] = process;
}

static uint32_t image_make(isc_follow *f, uint32_t host_pid, uint32_t own_pid, uint32_t ppid, uint64_t start_ns)
{
	if (f->images >= ISC_FOLLOW_IMAGES_MAX ||
	    !isc_follow_grow((void **)&f->image, &f->images_room, f->images + 1, sizeof(isc_program_image)) ||
	    !isc_follow_grow((void **)&f->live, &f->live_room, f->live_count, 4)) {
		f->unlisted++;
		return 0;
	}
	uint32_t process = f->first_process + ++f->images;
	isc_program_image *x = &f->image[f->images];

	*x = (isc_program_image){.start_ns = start_ns, .pid = own_pid, .host_pid = host_pid, .ppid = ppid, .pidfd = -1};
	f->live[f->live_count++] = process;
	x->live_place = f->live_count;
	isc_image_touch(f, process);
	return process;
}

static isc_hashmap *chains_of(isc_follow *f, const isc_program_image *x, uint32_t *pid)
{
	*pid = x->host_pid ? x->host_pid : x->pid;
	return x->host_pid ? &f->by_pid : &f->by_own;
}

uint32_t isc_image_add(isc_follow *f, uint32_t host_pid, uint32_t own_pid, uint32_t ppid, uint64_t start_ns)
{
	uint32_t process = image_make(f, host_pid, own_pid, ppid, start_ns), pid;
	isc_program_image *x = isc_program_image_of(f, process);

	if (x == NULL)
		return 0;
	isc_hashmap *chains = chains_of(f, x, &pid);
	uint64_t *newest = isc_hashmap_put(chains, pid, NULL);
	if (newest != NULL) {
		x->older = (uint32_t)*newest;
		*newest = process;
	}
	/* A second key for those that see themselves under another number. */
	if (host_pid != 0 && own_pid != host_pid) {
		newest = isc_hashmap_put(&f->by_own, own_pid, NULL);
		if (newest != NULL)
			*newest = process;
	}
	isc_task_add(f, process, host_pid ? host_pid : own_pid, start_ns);
	return process;
}

uint32_t isc_image_add_before(isc_follow *f, uint32_t newer, uint64_t start_ns)
{
	isc_program_image *n = isc_program_image_of(f, newer);
	uint32_t process = image_make(f, n->host_pid, n->pid, n->ppid, start_ns);

	if (process == 0)
		return 0;
	n = isc_program_image_of(f, newer);
	isc_program_image_of(f, process)->older = n->older;
	n->older = process;
	isc_task_add(f, process, n->host_pid ? n->host_pid : n->pid, start_ns);
	return process;
}

uint32_t isc_image_newest(const isc_follow *f, uint32_t pid)
{
	uint64_t *newest = isc_hashmap_find(&f->by_pid, pid);

	return newest ? (uint32_t)*newest : 0;
}

uint32_t isc_image_at(const isc_follow *f, uint32_t pid, uint64_t time_ns)
{
	uint32_t process = isc_image_newest(f, pid);
	const isc_program_image *x;

	/* Where only a later proof is known, the image may have begun earlier. */
	while ((x = isc_program_image_of(f, process)) != NULL && x->start_ns > time_ns + ISC_FOLLOW_SLACK_NS &&
	       x->older != 0)
		process = x->older;
	return process;
}

uint32_t isc_image_life(const isc_follow *f, uint32_t process)
{
	const isc_program_image *x = isc_program_image_of(f, process);

	while (x != NULL && x->flags & ISC_PROCESS_EXEC && x->older != 0) {
		process = x->older;
		x = isc_program_image_of(f, process);
	}
	return process;
}

void isc_image_end(isc_follow *f, uint32_t process, uint64_t time_ns, bool exact)
{
	isc_program_image *x = isc_program_image_of(f, process);

	if (x == NULL || (x->seen & ISC_SEEN_END_EXACT && !exact))
		return;
	/* An end that was only noticed is replaced by one that was told. */
	if (x->flags & ISC_PROCESS_ENDED && !exact && x->end_ns <= time_ns)
		return;
	x->end_ns = time_ns < x->start_ns ? x->start_ns : time_ns;
	x->flags |= ISC_PROCESS_ENDED;
	if (exact)
		x->seen |= ISC_SEEN_END_EXACT;
	if (x->live_place != 0) {
		uint32_t moved = f->live[--f->live_count];

		f->live[x->live_place - 1] = moved;
		isc_program_image_of(f, moved)->live_place = x->live_place;
		x->live_place = 0;
	}
	isc_follow_unwatch(f, process);
	isc_image_touch(f, process);
	for (uint32_t t = x->threads; t != 0; t = isc_task_of(f, t)->sibling)
		isc_task_end(f, t, x->end_ns);
}

/* A list with a loop would hang whoever walks it.  The kernel never tells such a
 * thing; lost records and numbers used again can. */
static bool descends(const isc_follow *f, uint32_t process, uint32_t from)
{
	for (uint32_t steps = 0; process != 0 && steps <= f->images; steps++) {
		if (process == from)
			return true;
		const isc_program_image *x = isc_program_image_of(f, process);
		process = x != NULL ? x->parent : 0;
	}
	return process != 0;
}

bool isc_image_set_parent(isc_follow *f, uint32_t process, uint32_t parent)
{
	/* Parents are found before their children but for a few: only then look. */
	if ((parent > process || f->backward) && descends(f, parent, process))
		return false;
	if (parent > process)
		f->backward = true;
	isc_program_image_of(f, process)->parent = parent;
	isc_image_touch(f, process);
	return true;
}

/* The parent is whatever image had that pid when the child came. */
void isc_image_find_parent(isc_follow *f, uint32_t process)
{
	isc_program_image *x = isc_program_image_of(f, process);
	uint32_t parent;

	if (x->parent != 0 || x->ppid == 0)
		return;
	parent = isc_image_at(f, x->ppid, x->start_ns);
	if (parent == 0 || parent == process || !isc_image_set_parent(f, process, parent)) {
		if (isc_follow_grow((void **)&f->orphan, &f->orphan_room, f->orphan_count, 4))
			f->orphan[f->orphan_count++] = process;
		return;
	}
	isc_image_inherit(f, process);
}

/* A copy has its parent's arguments. */
void isc_image_inherit(isc_follow *f, uint32_t process)
{
	isc_program_image *x = isc_program_image_of(f, process);
	const isc_program_image *p = isc_program_image_of(f, x->parent);

	if (x->argv_rank > ISC_ARGV_INHERITED || p == NULL || p->argv_len == 0)
		return;
	x->argv = p->argv;
	x->argv_len = p->argv_len;
	x->argv_cut = p->argv_cut;
	x->argv_rank = ISC_ARGV_INHERITED;
	x->flags = (x->flags & ~(uint32_t)ISC_PROCESS_PYTHON) | (p->flags & ISC_PROCESS_PYTHON);
}

/* The host pid of an image became known: it joins the chain of that pid. */
void isc_image_place(isc_follow *f, uint32_t process, uint32_t host_pid)
{
	isc_program_image *x = isc_program_image_of(f, process);
	uint64_t *newest = isc_hashmap_put(&f->by_pid, host_pid, NULL);

	if (x->host_pid != 0 || newest == NULL)
		return;
	x->host_pid = host_pid;
	x->older = (uint32_t)*newest;
	*newest = process;
	isc_image_touch(f, process);
}

/* ---- arguments -------------------------------------------------------- */

static uint64_t hash_of(const char *data, size_t len)
{
	uint64_t h = 0xcbf29ce484222325ull;

	for (size_t i = 0; i < len; i++)
		h = (h ^ (unsigned char)data[i]) * 0x100000001b3ull;
	return h;
}

static bool is_python(const char *argv, size_t len)
{
	size_t end = strnlen(argv, len), base = end;

	while (base > 0 && argv[base - 1] != '/')
		base--;
	return end - base >= 6 && memcmp(argv + base, "python", 6) == 0;
}

/* Equal arguments are kept once: a thousand workers are one line. */
static bool argv_keep(isc_follow *f, const char *argv, size_t len, uint32_t *place)
{
	uint64_t *known = isc_hashmap_put(&f->argv_known, hash_of(argv, len) + len, NULL);

	if (known == NULL)
		return false;
	if (*known != 0 && *known - 1 + len <= f->argv.len && memcmp(f->argv.data + *known - 1, argv, len) == 0) {
		*place = (uint32_t)(*known - 1);
		return true;
	}
	size_t at = f->argv.len;
	f->argv.failed = false;
	isc_buffer_add(&f->argv, argv, len);
	if (f->argv.failed)
		return false;
	*place = (uint32_t)at;
	*known = at + 1;
	return true;
}

void isc_image_argv(isc_follow *f, uint32_t process, const char *argv, size_t len, int rank)
{
	isc_program_image *x = isc_program_image_of(f, process);
	char clean[ISC_FOLLOW_ARGV_MAX];
	uint32_t place;
	size_t room = f->argv.len > ISC_FOLLOW_ARGV_TOTAL ? ISC_ROSTER_ARGV : sizeof(clean);

	if (rank <= x->argv_rank || len == 0)
		return;
	size_t kept = isc_secret_redact(argv, len, clean, room);
	if (f->argv.len > 4 * (size_t)ISC_FOLLOW_ARGV_TOTAL || !argv_keep(f, clean, kept, &place))
		return;
	x->argv = place;
	x->argv_len = (uint16_t)kept;
	x->argv_cut = rank < ISC_ARGV_WHOLE || len > room;
	x->argv_rank = (uint8_t)rank;
	x->flags &= ~(uint32_t)ISC_PROCESS_PYTHON;
	if (is_python(clean, kept))
		x->flags |= ISC_PROCESS_PYTHON;
	isc_image_touch(f, process);
}
