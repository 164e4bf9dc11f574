/*
 * module.c - which module an address lies in.
 *
 * The dynamic loader of glibc answers that without a lock from 2.35 on.  Where it
 * does not, its list of modules is followed as a debugger would: under the fault
 * guard, bounded, and believed only where the headers in memory agree.
 *
 * Asking takes longer than a whole frame, so answers are kept for the process.  A
 * module that is unloaded does not announce itself: every module that is known is
 * asked for again ten times a second, and one that is gone voids what was
 * derived from it (isc_unwind_generation).
 */
#include "collect/unwind/unwind.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/auxv.h>

#define LISTED_MAX 4096
#define SEGMENTS_MAX 32
#define PROBES 16u
#define NEAR 1024u   /* regions of 64 KiB that were asked for lately; 8 KiB, a power of two */
#define NOWHERE 128u /* pages that lie in no module; 1 KiB, a power of two */

/* As in glibc's dlfcn.h, which may be older. */
struct module_found {
	unsigned long long flags;
	void *start, *end;
	struct link_map *map;
	void *eh_frame;
	unsigned long long reserved[7];
};
typedef int find_object(void *address, struct module_found *result);

static find_object *find;
static const struct r_debug *listed;

/* By the hash of their start.  A tag of 0: free, or not loaded any more. */
static isc_module known[ISC_UNWIND_MODULES];
static _Atomic uint64_t near[NEAR];	  /* region:32 | index + 1:32 */
static _Atomic uint64_t nowhere[NOWHERE]; /* page:36 | check:28 */
static _Atomic uint32_t generation = 1, checks = 1;

bool isc_unwind_begin(void)
{
#if defined(__x86_64__)
	*(void **)&find = dlsym(RTLD_DEFAULT, "_dl_find_object");
	if (find == NULL)
		listed = dlsym(RTLD_DEFAULT, "_r_debug");
	dlerror();
	return find != NULL || listed != NULL;
#else
	return false;
#endif
}

uint32_t isc_unwind_generation(void)
{
	return atomic_load_explicit(&generation, memory_order_acquire);
}

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0xff51afd7ed558ccdull;
	return h ^ h >> 32;
}

static void set_tag(isc_module *m)
{
	uint64_t tag = mix(0x9e3779b97f4a7c15ull, m->start);

	tag = mix(mix(mix(tag, m->end), m->cfi), (uintptr_t)m->map);
	if (m->map != NULL)
		tag = mix(tag, (uintptr_t)m->map->l_ld);
	m->tag = tag != 0 ? tag : 1;
}

/* Its segments, from its program headers in memory. */
static bool read_segments(isc_module *m, uintptr_t bias, const ElfW(Phdr) * p, unsigned n, uintptr_t ip)
{
	bool inside = false;

	m->start = UINTPTR_MAX;
	m->end = m->cfi = 0;
	for (unsigned i = 0; i < n && i < SEGMENTS_MAX; i++) {
		uintptr_t at = bias + p[i].p_vaddr;

		if (p[i].p_type == PT_GNU_EH_FRAME)
			m->cfi = at;
		if (p[i].p_type != PT_LOAD)
			continue;
		inside |= ip >= at && ip - at < p[i].p_memsz;
		m->start = at < m->start ? at : m->start;
		m->end = at + p[i].p_memsz > m->end ? at + p[i].p_memsz : m->end;
	}
	return inside;
}

static bool find_listed(uintptr_t ip, isc_module *m)
{
	const struct link_map *map = listed->r_map;

	for (int i = 0; map != NULL && i < LISTED_MAX; i++, map = map->l_next) {
		const ElfW(Ehdr) *e = (const ElfW(Ehdr) *)map->l_addr;

		m->map = map;
		if (i == 0) {
			if (read_segments(m, map->l_addr, (const ElfW(Phdr) *)getauxval(AT_PHDR),
					  (unsigned)getauxval(AT_PHNUM), ip))
				return true;
		} else if (map->l_addr != 0 && map->l_addr <= ip && memcmp(e->e_ident, ELFMAG, SELFMAG) == 0 &&
			   e->e_phentsize == sizeof(ElfW(Phdr)) &&
			   read_segments(m, map->l_addr, (const ElfW(Phdr) *)((uintptr_t)e + e->e_phoff), e->e_phnum,
					 ip)) {
			return true;
		}
	}
	return false;
}

static bool look_up(uintptr_t ip, isc_module *m)
{
	struct module_found f;

	if (find != NULL) {
		if (find((void *)ip, &f) != 0)
			return false;
		*m = (isc_module){(uintptr_t)f.start, (uintptr_t)f.end, (uintptr_t)f.eh_frame, f.map, 0};
	} else if (listed == NULL || !find_listed(ip, m)) {
		return false;
	}
	if (ip < m->start || ip >= m->end)
		return false;
	set_tag(m);
	return true;
}

/* ---- what is known -------------------------------------------------------- */

/* Handlers of several threads may fill a place at once.  For one module they write the same; a reader that meets
 * two modules half each has wrong bounds, which the fault guard survives, until the next check. */
static void fill(isc_module *to, const isc_module *m)
{
	__atomic_store_n(&to->tag, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&to->start, m->start, __ATOMIC_RELAXED);
	__atomic_store_n(&to->end, m->end, __ATOMIC_RELAXED);
	__atomic_store_n(&to->cfi, m->cfi, __ATOMIC_RELAXED);
	__atomic_store_n(&to->map, m->map, __ATOMIC_RELAXED);
	__atomic_store_n(&to->tag, m->tag, __ATOMIC_RELEASE);
}

isc_module isc_unwind_known(int index)
{
	const isc_module *m = &known[index];
	isc_module copy = {.tag = __atomic_load_n(&m->tag, __ATOMIC_ACQUIRE)};

	copy.start = __atomic_load_n(&m->start, __ATOMIC_RELAXED);
	copy.end = __atomic_load_n(&m->end, __ATOMIC_RELAXED);
	copy.cfi = __atomic_load_n(&m->cfi, __ATOMIC_RELAXED);
	copy.map = __atomic_load_n(&m->map, __ATOMIC_RELAXED);
	return copy;
}

static void void_derived(void)
{
	atomic_fetch_add_explicit(&generation, 1, memory_order_acq_rel);
}

/* A place for it, where it may already be. */
static int place_of(const isc_module *m)
{
	uint32_t home = (uint32_t)mix(m->start, 3) & (ISC_UNWIND_MODULES - 1), empty = ISC_UNWIND_MODULES;

	for (uint32_t k = 0; k < PROBES; k++) {
		uint32_t at = (home + k) & (ISC_UNWIND_MODULES - 1);
		uint64_t tag = __atomic_load_n(&known[at].tag, __ATOMIC_ACQUIRE);

		if (tag == m->tag)
			return (int)at;
		if (tag == 0 && empty == ISC_UNWIND_MODULES)
			empty = at;
	}
	/* Crowded, or loaded in the place of another: what was derived from that one is void. */
	if (empty == ISC_UNWIND_MODULES) {
		void_derived();
		empty = home;
	}
	fill(&known[empty], m);
	return (int)empty;
}

void isc_unwind_check(void)
{
	atomic_fetch_add_explicit(&checks, 1, memory_order_relaxed);
	for (int i = 0; i < (int)ISC_UNWIND_MODULES; i++) {
		uint64_t tag = __atomic_load_n(&known[i].tag, __ATOMIC_RELAXED);
		isc_module now;

		if (tag == 0)
			continue;
		if (look_up(__atomic_load_n(&known[i].start, __ATOMIC_RELAXED), &now) && now.tag == tag)
			continue;
		__atomic_store_n(&known[i].tag, 0, __ATOMIC_RELEASE);
		void_derived();
	}
}

/* Words of a stack that point nowhere are met again and again by scans. */
static bool is_nowhere(uintptr_t ip, uint32_t check)
{
	return atomic_load_explicit(&nowhere[mix(ip >> 12, 7) & (NOWHERE - 1)], memory_order_relaxed) ==
	       (ip >> 12 << 28 | (check & 0xfffffffu));
}

int isc_unwind_module(uintptr_t ip)
{
	uint64_t region = ip >> 16 & UINT32_MAX, was;
	uint32_t check = atomic_load_explicit(&checks, memory_order_relaxed);
	_Atomic uint64_t *lately = &near[mix(region, 5) & (NEAR - 1)];
	isc_module m;
	int index;

	was = atomic_load_explicit(lately, memory_order_relaxed);
	index = was >> 32 == region ? (int)(uint32_t)was - 1 : -1;
	if (index >= 0 && __atomic_load_n(&known[index].tag, __ATOMIC_ACQUIRE) != 0 &&
	    ip >= __atomic_load_n(&known[index].start, __ATOMIC_RELAXED) &&
	    ip < __atomic_load_n(&known[index].end, __ATOMIC_RELAXED))
		return index;
	if (is_nowhere(ip, check))
		return -1;
	if (!look_up(ip, &m)) {
		atomic_store_explicit(&nowhere[mix(ip >> 12, 7) & (NOWHERE - 1)], ip >> 12 << 28 | (check & 0xfffffffu),
				      memory_order_relaxed);
		return -1;
	}
	index = place_of(&m);
	atomic_store_explicit(lately, region << 32 | (uint32_t)(index + 1), memory_order_relaxed);
	return index;
}
