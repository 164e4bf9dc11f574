/*
 * label.c - names that the program makes up while it runs, in a bounded number.
 *
 * A name with an id in it (base/pattern.h) keeps to itself while its pattern has few;
 * from then on new ones are defined as the pattern.  Names without an id are
 * bounded together, and past that they are "(other names)".  A name that has a
 * definition keeps it.  How many were folded is told by definitions, each time
 * that there are a quarter more: counted in 128 rows (HyperLogLog), so about.
 *
 * The table is shared by all threads without a lock: entries are taken by an
 * exchange of their hash and never given back.  A fork child begins anew.
 */
#include <string.h>

#include "base/pattern.h"
#include "runtime/image.h"
#include "runtime/runtime.h"

#define PATTERNS 512u /* a power of two */
#define PROBES 16u
#define LIKE_MAX 256u	  /* names of a pattern that keep to themselves: a large model has no more layers */
#define THREADS_MAX 4096u /* of threads: each has a record of its own, which is larger than its name */
#define LABELS_MAX 16384u /* names in all, and their bytes: an eighth of the definitions that there may be */
#define LABEL_BYTES (8u << 20)
#define ROWS 128u
#define CODE_TEXT 1024u /* of name and file of code that is folded */

struct pattern {
	_Atomic uint64_t hash;	 /* 0: free */
	_Atomic uint32_t names;	 /* that keep to themselves */
	_Atomic uint32_t id;	 /* of the definition that stands for all others; 0: not yet */
	_Atomic uint32_t folded; /* how often a name was */
	_Atomic uint32_t told;	 /* how many there were said to be */
	_Atomic uint8_t row[ROWS];
};

static struct pattern patterns[PATTERNS], others;
static _Atomic uint64_t begun; /* generation that all this is of */
static _Atomic uint32_t labels, label_bytes;

static void forget(struct pattern *p)
{
	atomic_store_explicit(&p->names, 0, memory_order_relaxed);
	atomic_store_explicit(&p->id, 0, memory_order_relaxed);
	atomic_store_explicit(&p->folded, 0, memory_order_relaxed);
	atomic_store_explicit(&p->told, 0, memory_order_relaxed);
	for (unsigned i = 0; i < ROWS; i++)
		atomic_store_explicit(&p->row[i], 0, memory_order_relaxed);
}

/* Definitions of the parent are not this process's; it has one thread then. */
static void begin(void)
{
	uint64_t gen = atomic_load_explicit(&isc_wiped_page->gen, memory_order_acquire);

	if (atomic_load_explicit(&begun, memory_order_relaxed) == gen ||
	    atomic_exchange_explicit(&begun, gen, memory_order_acq_rel) == gen)
		return;
	for (unsigned i = 0; i < PATTERNS; i++)
		forget(&patterns[i]);
	forget(&others);
	atomic_store_explicit(&labels, 0, memory_order_relaxed);
	atomic_store_explicit(&label_bytes, 0, memory_order_relaxed);
}

/* The entry of a pattern, taken when it is new; NULL: the table is full there. */
static struct pattern *find(uint64_t hash)
{
	hash |= 1;
	for (uint32_t i = 0; i < PROBES; i++) {
		struct pattern *p = &patterns[((hash >> 32) + i) & (PATTERNS - 1)];
		uint64_t there = atomic_load_explicit(&p->hash, memory_order_acquire);

		if (there == 0)
			atomic_compare_exchange_strong_explicit(&p->hash, &there, hash, memory_order_acq_rel,
								memory_order_acquire);
		if (there == 0 || there == hash)
			return p;
	}
	return NULL;
}

/* How many different ones the rows saw, of so many in all: few are overestimated. */
static uint32_t estimate(struct pattern *p, uint32_t all)
{
	uint64_t sum = 0, n;

	/* 0.7213 / (1 + 1.079 / 128) x 128 x 128 / sum of 2^-row */
	for (unsigned i = 0; i < ROWS; i++)
		sum += 1ull << 40 >> atomic_load_explicit(&p->row[i], memory_order_relaxed);
	n = (11719ull << 40) / sum;
	return n < all ? (uint32_t)n : all;
}

static void count(struct pattern *p, uint32_t id, uint64_t hash)
{
	_Atomic uint8_t *row = &p->row[hash % ROWS];
	uint8_t run = (uint8_t)(__builtin_clzll(hash | ROWS) + 1);
	uint32_t n, told, all = atomic_fetch_add_explicit(&p->folded, 1, memory_order_relaxed) + 1;

	run = run < 40 ? run : 40;
	if (run <= atomic_load_explicit(row, memory_order_relaxed))
		return;
	atomic_store_explicit(row, run, memory_order_relaxed);
	n = estimate(p, all);
	told = atomic_load_explicit(&p->told, memory_order_relaxed);
	if (n < told + told / 4 + 1 ||
	    !atomic_compare_exchange_strong_explicit(&p->told, &told, n, memory_order_relaxed, memory_order_relaxed))
		return;
	(void)isc_rt_define(
		ISC_DEF_FOLDED,
		&(isc_def_folded){.name = id, .count = n + atomic_load_explicit(&p->names, memory_order_relaxed)},
		sizeof(isc_def_folded));
}

/* One more that is counted with its like. */
static uint32_t fold(struct pattern *p, uint16_t type, const void *data, size_t len, uint64_t hash)
{
	uint32_t id = atomic_load_explicit(&p->id, memory_order_relaxed);

	if (id == 0) {
		id = isc_rt_intern(type, data, len);
		if (id == 0)
			return isc_rt_rest(type);
		atomic_store_explicit(&p->id, id, memory_order_relaxed);
	}
	count(p, id, hash);
	return id;
}

/* Is there room for another name that keeps to itself? */
static bool has_room(struct pattern *p, size_t len, uint32_t like)
{
	if (p != NULL && atomic_load_explicit(&p->names, memory_order_relaxed) >= like)
		return false;
	if (atomic_load_explicit(&labels, memory_order_relaxed) >= LABELS_MAX ||
	    atomic_load_explicit(&label_bytes, memory_order_relaxed) + len > LABEL_BYTES)
		return false;
	atomic_fetch_add_explicit(&labels, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&label_bytes, (uint32_t)len, memory_order_relaxed);
	if (p != NULL)
		atomic_fetch_add_explicit(&p->names, 1, memory_order_relaxed);
	return true;
}

static uint32_t label(const char *text, size_t len, uint32_t like)
{
	char pattern[ISC_PATTERN_MAX];
	struct pattern *p;
	uint64_t hash;
	uint32_t id;
	size_t n;

	len = len < ISC_DEF_MAX ? len : ISC_DEF_MAX;
	if (!isc_image_open())
		return 0;
	id = isc_defs_find(ISC_DEF_STRING, text, len, &hash);
	if (id != 0)
		return id;
	begin();
	n = isc_pattern_of(text, len, pattern);
	p = n > 0 ? find(isc_defs_hash(ISC_DEF_STRING, pattern, n)) : NULL;
	if (has_room(p, len, like)) {
		id = isc_rt_name(text, len);
		return id != 0 ? id : isc_rt_rest(ISC_DEF_STRING);
	}
	if (p != NULL)
		return fold(p, ISC_DEF_STRING, pattern, n, hash);
	return fold(&others, ISC_DEF_STRING, ISC_REST_NAMES, sizeof(ISC_REST_NAMES) - 1, hash);
}

uint32_t isc_rt_label(const char *text, size_t len)
{
	return label(text, len, LIKE_MAX);
}

uint32_t isc_rt_thread_label(const char *text, size_t len)
{
	return label(text, len, THREADS_MAX);
}

/* The same code with patterns for its name and file, at no line; 0: it has no id in it, or is too long. */
static size_t pattern_of_code(const isc_def_code *head, const char *text, char to[sizeof(isc_def_code) + CODE_TEXT])
{
	isc_def_code like = {.flags = head->flags};
	size_t room = sizeof(like), name, file;

	if (head->name_len > ISC_PATTERN_MAX || head->file_len > ISC_PATTERN_MAX)
		return 0;
	name = isc_pattern_of(text, head->name_len, to + room);
	if (name == 0)
		memcpy(to + room, text, head->name_len);
	like.name_len = name != 0 ? (uint32_t)name : head->name_len;
	room += like.name_len;
	file = isc_pattern_of(text + head->name_len, head->file_len, to + room);
	if (file == 0)
		memcpy(to + room, text + head->name_len, head->file_len);
	like.file_len = file != 0 ? (uint32_t)file : head->file_len;
	memcpy(to, &like, sizeof(like));
	return name != 0 || file != 0 ? room + like.file_len : 0;
}

/* Code that is compiled while the program runs has no file, and often a number in place of it. */
uint32_t isc_rt_code(const void *data, size_t len)
{
	char like[sizeof(isc_def_code) + CODE_TEXT];
	const char *text = (const char *)data + sizeof(isc_def_code);
	isc_def_code head;
	struct pattern *p = NULL;
	uint64_t hash;
	uint32_t id;
	size_t n = 0;

	if (!isc_image_open() || len < sizeof(head))
		return 0;
	memcpy(&head, data, sizeof(head));
	id = isc_defs_find(ISC_DEF_CODE, data, len, &hash);
	if (id != 0)
		return id;
	if (head.file_len > 0 && len >= sizeof(head) + head.name_len + head.file_len && text[head.name_len] == '<')
		n = pattern_of_code(&head, text, like);
	if (n > 0) {
		begin();
		p = find(isc_defs_hash(ISC_DEF_CODE, like, n));
	}
	if (p != NULL && !has_room(p, len, LIKE_MAX))
		return fold(p, ISC_DEF_CODE, like, n, hash);
	return isc_rt_intern(ISC_DEF_CODE, data, len);
}
