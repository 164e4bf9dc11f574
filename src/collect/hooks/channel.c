#include "collect/hooks/channel.h"

#include <errno.h>
#include <sys/mman.h>

#include "collect/hooks/blocked.h"
#include "collect/hooks/endpoint.h"
#include "runtime/kernel.h"
#include "runtime/runtime.h"

/*
 * What is known of a descriptor is one word, so that nobody sees half of it: the definition or 0, by which image it was
 * looked at, how often it was forgotten, and whether it is known.  Who looks puts the result there only if the word is
 * still the one that was found before, so that a descriptor which is closed meanwhile stays unknown.
 */
#define KNOWN 1ull
#define FORGOTTEN_ONE 2ull
#define FORGOTTEN 0xfffeull
#define IMAGE_SHIFT 16u
#define IMAGE (0xffffull << IMAGE_SHIFT)
#define ID_SHIFT 32u

/* Two of these never share a line: threads serve descriptors of their own. */
typedef struct channel {
	_Alignas(64) _Atomic uint64_t word;
	_Atomic uint64_t file;			 /* isc_endpoint_file() */
	_Atomic uint64_t last[ISC_CHANNEL_WAYS]; /* ticks of the last use */
	_Atomic uint32_t unseen[ISC_CHANNEL_WAYS];
	_Atomic uint32_t uses;
} channel;

/* The first are there, others are mapped when a descriptor needs them. */
#define PART 256u
static channel first_part[PART];
static _Atomic(channel *) parts[ISC_CHANNEL_FDS / PART] = {first_part};
static _Atomic bool part_refused;

static _Atomic uint64_t apart; /* image, and how many channels of it have an own definition */
static _Atomic bool left_out;  /* ever? */

static channel *find_channel(unsigned fd)
{
	channel *part = fd < ISC_CHANNEL_FDS ? atomic_load_explicit(&parts[fd / PART], memory_order_acquire) : NULL;

	return part != NULL ? &part[fd % PART] : NULL;
}

static __attribute__((noinline)) channel *make_part(unsigned fd)
{
	channel *none = NULL, *part;
	int error = errno;

	if (fd >= ISC_CHANNEL_FDS || atomic_load_explicit(&part_refused, memory_order_relaxed))
		return NULL;
	part = isc_kernel_map(NULL, sizeof(first_part), PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
	if ((void *)part == MAP_FAILED)
		atomic_store_explicit(&part_refused, true, memory_order_relaxed);
	else if (!atomic_compare_exchange_strong(&parts[fd / PART], &none, part))
		isc_kernel_unmap(part, sizeof(first_part));
	errno = error;
	return find_channel(fd);
}

static inline channel *make_channel(unsigned fd)
{
	channel *c = find_channel(fd);

	return __builtin_expect(c != NULL, 1) ? c : make_part(fd);
}

/* ---- what a descriptor leads to ------------------------------------------ */

static inline uint64_t image(void)
{
	uint64_t gen = atomic_load_explicit(&isc_wiped_page->gen, memory_order_relaxed);

	return (gen ^ gen >> 16) << IMAGE_SHIFT & IMAGE;
}

static inline bool is_known(uint64_t word)
{
	return (word & (IMAGE | KNOWN)) == (image() | KNOWN);
}

/* A vfork child has the memory of its parent, and descriptors of its own. */
static bool is_ours(void)
{
	return isc_kernel_pid() == isc_image_self.pid;
}

/* May one more have a definition of its own? */
static bool take_place_apart(void)
{
	uint64_t was = atomic_load_explicit(&apart, memory_order_relaxed), next;

	do {
		next = (was & IMAGE) == image() ? was + 1 : image() + 1;
		if ((next & ~IMAGE) > ISC_CHANNELS_APART)
			return false;
	} while (
		!atomic_compare_exchange_weak_explicit(&apart, &was, next, memory_order_relaxed, memory_order_relaxed));
	return true;
}

static uint32_t define_endpoint(isc_endpoint *e)
{
	uint64_t hash;
	uint32_t id;

	if (!isc_image_open())
		return 0;
	id = isc_defs_find(ISC_DEF_CHANNEL, e, isc_endpoint_size(e), &hash);
	if (id != 0)
		return id;
	/* The rest of the room is for calls and marks.  Shared definitions are few: they still get in. */
	if (!isc_defs_roomy() || !take_place_apart())
		isc_endpoint_fold(e);
	return isc_rt_intern(ISC_DEF_CHANNEL, e, isc_endpoint_size(e));
}

/* The word from which a look begins.  0, where nobody ever looked, is left first: forgetting passes it over. */
static uint64_t begin_look(channel *c)
{
	uint64_t word = 0;

	if (atomic_compare_exchange_strong_explicit(&c->word, &word, FORGOTTEN_ONE, memory_order_acquire,
						    memory_order_acquire))
		return FORGOTTEN_ONE;
	return word;
}

static uint32_t end_look(channel *c, uint64_t word, uint64_t file, uint32_t id)
{
	uint64_t found = (uint64_t)id << ID_SHIFT | image() | (word & FORGOTTEN) | KNOWN;

	/* What a fork child finds here is its parent's. */
	for (int way = 0; way < ISC_CHANNEL_WAYS; way++) {
		atomic_store_explicit(&c->last[way], 0, memory_order_relaxed);
		atomic_store_explicit(&c->unseen[way], 0, memory_order_relaxed);
	}
	atomic_store_explicit(&c->file, file, memory_order_relaxed);
	atomic_compare_exchange_strong_explicit(&c->word, &word, found, memory_order_release, memory_order_relaxed);
	return id;
}

static const uint8_t kind_of[] = {[ISC_CHANNEL_SENT] = ISC_KIND_SENT, [ISC_CHANNEL_GOT] = ISC_KIND_GOT};

/* A record with what was left out before it. */
static void tell_unseen(channel *c, enum isc_channel_way way, uint32_t id, uint64_t now, uint16_t moved)
{
	struct {
		isc_record head;
		isc_left_out body;
	} record = {{.ticks = now, .id = id, .kind = kind_of[way], .slots = 2, .arg = moved}, {0, 0}};

	record.body.calls = atomic_exchange_explicit(&c->unseen[way], 0, memory_order_relaxed);
	isc_write((const isc_record *)&record, 2);
}

static void tell_all_unseen(channel *c, uint32_t id)
{
	for (int way = 0; way < ISC_CHANNEL_WAYS; way++) {
		if (atomic_load_explicit(&c->unseen[way], memory_order_relaxed) != 0 && isc_blocked_wanted())
			tell_unseen(c, (enum isc_channel_way)way, id, isc_ticks(), 0);
	}
}

static __attribute__((noinline)) uint32_t look(channel *c, int fd)
{
	uint64_t word = begin_look(c), now = isc_ticks();
	uint32_t id = is_known(word) ? (uint32_t)(word >> ID_SHIFT) : 0;
	int error = errno;
	isc_endpoint e;
	bool found;

	if (is_ours() &&
	    !(is_known(word) && isc_endpoint_file(fd) == atomic_load_explicit(&c->file, memory_order_relaxed))) {
		found = isc_endpoint_look(fd, &e);
		if (id != 0)
			tell_all_unseen(c, id);
		if (e.file != 0)
			id = end_look(c, word, e.file, found ? define_endpoint(&e) : 0);
	}
	isc_blocked_cost(now);
	errno = error;
	return id;
}

/* A use of it; is a look due? */
static inline bool is_due(channel *c, uint64_t word)
{
	uint32_t uses = atomic_load_explicit(&c->uses, memory_order_relaxed) + 1;
	uint32_t every = word >> ID_SHIFT != 0 ? ISC_CHANNEL_CHECK : ISC_CHANNEL_CHECK_FILE;

	atomic_store_explicit(&c->uses, uses, memory_order_relaxed);
	return uses % every == 0;
}

static inline uint32_t id_of(channel *c, int fd)
{
	uint64_t word = atomic_load_explicit(&c->word, memory_order_acquire);

	if (__builtin_expect(!is_known(word) || is_due(c, word), 0))
		return look(c, fd);
	return (uint32_t)(word >> ID_SHIFT);
}

uint32_t isc_channel_of(int fd)
{
	channel *c = make_channel((unsigned)fd);

	return c != NULL ? id_of(c, fd) : 0;
}

void isc_channel_pair(const int fds[2])
{
	bool found = isc_blocked_wanted() && is_ours();
	int error = errno;
	isc_endpoint e[2];

	found = found && isc_endpoint_look(fds[0], &e[0]) && isc_endpoint_look(fds[1], &e[1]);
	for (int i = 0; found && i < 2; i++) {
		channel *c = make_channel((unsigned)fds[i]);

		e[i].head.peer_inode = e[1 - i].head.inode;
		if (c != NULL)
			end_look(c, begin_look(c), e[i].file, define_endpoint(&e[i]));
	}
	errno = error;
}

/* ---- what goes over it ---------------------------------------------------- */

void isc_channel_moved(int fd, enum isc_channel_way way, uint64_t since, uint64_t now, uint64_t bytes)
{
	channel *c = make_channel((unsigned)fd);
	uint32_t id = c != NULL ? id_of(c, fd) : 0;
	uint16_t moved;
	uint64_t last;

	if (__builtin_expect(id == 0, 1))
		return;
	moved = isc_moved(bytes, now - since);
	last = atomic_load_explicit(&c->last[way], memory_order_relaxed);
	atomic_store_explicit(&c->last[way], now, memory_order_relaxed);
	if (now - last < (uint64_t)ISC_CHANNEL_SILENCE_US * isc_image_self.ticks_per_us && !isc_blocked_worth(0)) {
		atomic_fetch_add_explicit(&c->unseen[way], 1, memory_order_relaxed);
		atomic_store_explicit(&left_out, true, memory_order_relaxed);
		return;
	}
	if (__builtin_expect(atomic_load_explicit(&c->unseen[way], memory_order_relaxed) != 0, 0))
		tell_unseen(c, way, id, now, moved);
	else
		isc_write1(now, ISC_RECORD_WORD(id, kind_of[way], moved));
	if (isc_producer_self != NULL)
		isc_producer_self->moved++;
}

/* ---- when it leads elsewhere ---------------------------------------------- */

static void forget(channel *c)
{
	uint64_t word = atomic_load_explicit(&c->word, memory_order_acquire);

	if (is_known(word) && word >> ID_SHIFT != 0)
		tell_all_unseen(c, (uint32_t)(word >> ID_SHIFT));
	while (word != 0 && !atomic_compare_exchange_weak_explicit(&c->word, &word, (word + FORGOTTEN_ONE) & FORGOTTEN,
								   memory_order_acq_rel, memory_order_acquire))
		;
}

void isc_channel_forget(int fd)
{
	channel *c = find_channel((unsigned)fd);
	uint64_t word = c != NULL ? atomic_load_explicit(&c->word, memory_order_relaxed) : 0;

	/* Whose it is takes a system call: it is asked only where there is something to lose. */
	if (word != 0 && (word >> ID_SHIFT == 0 || is_ours()))
		forget(c);
}

void isc_channel_forget_range(unsigned first, unsigned last)
{
	if (!is_ours())
		return;
	last = last < ISC_CHANNEL_FDS ? last : ISC_CHANNEL_FDS - 1;
	for (unsigned fd = first; fd <= last; fd++) {
		channel *c = find_channel(fd);

		if (c != NULL)
			forget(c);
		else
			fd |= PART - 1; /* up to the next part */
	}
}

void isc_channel_flush(void)
{
	if (!atomic_load_explicit(&left_out, memory_order_relaxed))
		return;
	for (unsigned fd = 0; fd < ISC_CHANNEL_FDS; fd++) {
		channel *c = find_channel(fd);
		uint64_t word = c != NULL ? atomic_load_explicit(&c->word, memory_order_acquire) : 0;

		if (c == NULL)
			fd |= PART - 1;
		else if (is_known(word) && word >> ID_SHIFT != 0)
			tell_all_unseen(c, (uint32_t)(word >> ID_SHIFT));
	}
}
