/*
 * unwind_module.c - which module an address lies in.
 *
 * The dynamic loader of glibc answers that without a lock from 2.35 on.  Where it
 * does not, its list of modules is followed as a debugger would: under the fault
 * guard, bounded, and believed only where the headers in memory agree.
 */
#include "collect/unwind.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

#define LISTED_MAX 4096
#define SEGMENTS_MAX 32

/* As in glibc's dlfcn.h, which may be older. */
struct found {
	unsigned long long flags;
	void *start, *end;
	struct link_map *map;
	void *eh_frame;
	unsigned long long reserved[7];
};
typedef int find_object(void *address, struct found *result);

static find_object *find;
static const struct r_debug *listed;

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
	struct found f;

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

int isc_unwind_module(isc_unwind *u, uintptr_t ip)
{
	isc_module m = {0};
	int i = 0;

	while (i < u->modules && (ip < u->module[i].start || ip >= u->module[i].end))
		i++;
	if (i < u->modules && (u->checked >> i & 1) != 0)
		return i;
	if (!look_up(ip, &m) || i == ISC_UNWIND_MODULES)
		return -1;
	/* Another has been loaded in its place: frames that name it are not what they were. */
	if (i < u->modules && u->module[i].tag != m.tag)
		u->before = 0;
	u->module[i] = m;
	u->modules = i < u->modules ? u->modules : i + 1;
	u->checked |= 1u << i;
	return i;
}
