#include "profiler/births.h"

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/profile.h"

#pragma weak isc_rt_profile_thread
#pragma weak isc_rt_profile_hooked

#define NAME "pthread_create"

#if defined(__x86_64__)
#define JUMP_SLOT R_X86_64_JUMP_SLOT
#define GLOB_DAT R_X86_64_GLOB_DAT
#elif defined(__aarch64__)
#define JUMP_SLOT R_AARCH64_JUMP_SLOT
#define GLOB_DAT R_AARCH64_GLOB_DAT
#endif

struct tables {
	const ElfW(Sym) * symbols;
	const char *names;
	const ElfW(Rela) * plt, *other;
	size_t plt_bytes, other_bytes;
};

#ifdef JUMP_SLOT

/* glibc relocates these addresses when it loads a module, except in what it may not write. */
static uintptr_t address(const struct dl_phdr_info *info, uintptr_t value)
{
	return value >= info->dlpi_addr ? value : value + info->dlpi_addr;
}

static bool read_tables(const struct dl_phdr_info *info, struct tables *t)
{
	const ElfW(Dyn) *d = NULL;

	memset(t, 0, sizeof(*t));
	for (int i = 0; i < info->dlpi_phnum; i++) {
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			d = (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
	}
	for (; d != NULL && d->d_tag != DT_NULL; d++) {
		uintptr_t at = address(info, d->d_un.d_ptr);

		if (d->d_tag == DT_SYMTAB)
			t->symbols = (const ElfW(Sym) *)at;
		else if (d->d_tag == DT_STRTAB)
			t->names = (const char *)at;
		else if (d->d_tag == DT_JMPREL)
			t->plt = (const ElfW(Rela) *)at;
		else if (d->d_tag == DT_PLTRELSZ)
			t->plt_bytes = d->d_un.d_val;
		else if (d->d_tag == DT_RELA)
			t->other = (const ElfW(Rela) *)at;
		else if (d->d_tag == DT_RELASZ)
			t->other_bytes = d->d_un.d_val;
	}
	return t->symbols != NULL && t->names != NULL;
}

/* Was the page made read-only when the module had been relocated?  The last one was not if other data
 * begin in it. */
static bool is_closed(const struct dl_phdr_info *info, uintptr_t at, uintptr_t page)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *h = &info->dlpi_phdr[i];

		uintptr_t from = info->dlpi_addr + h->p_vaddr;

		if (h->p_type == PT_GNU_RELRO && at >= from && at < ((from + h->p_memsz) & ~(page - 1)))
			return true;
	}
	return false;
}

/* Another thread may be about to call through it, and finds the one function or the other. */
static bool point(const struct dl_phdr_info *info, uintptr_t at)
{
	uintptr_t mine = (uintptr_t)isc_rt_profile_thread, size = (uintptr_t)sysconf(_SC_PAGESIZE);
	void *page = (void *)(at & ~(size - 1));
	bool closed = is_closed(info, at, size);

	if (__atomic_load_n((uintptr_t *)at, __ATOMIC_RELAXED) == mine)
		return false;
	if (closed && mprotect(page, size, PROT_READ | PROT_WRITE) != 0)
		return false;
	__atomic_store_n((uintptr_t *)at, mine, __ATOMIC_RELEASE);
	if (closed)
		mprotect(page, size, PROT_READ);
	return true;
}

static int point_all(const struct dl_phdr_info *info, const struct tables *t, const ElfW(Rela) * at, size_t bytes)
{
	int changed = 0;

	for (size_t i = 0; at != NULL && i < bytes / sizeof(*at); i++) {
		uint32_t type = (uint32_t)ELF64_R_TYPE(at[i].r_info);
		const ElfW(Sym) *symbol = &t->symbols[ELF64_R_SYM(at[i].r_info)];

		if ((type == JUMP_SLOT || type == GLOB_DAT) && symbol->st_shndx == SHN_UNDEF &&
		    strcmp(t->names + symbol->st_name, NAME) == 0)
			changed += point(info, info->dlpi_addr + at[i].r_offset);
	}
	return changed;
}

static bool holds(const struct dl_phdr_info *info, uintptr_t at)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *h = &info->dlpi_phdr[i];

		if (h->p_type == PT_LOAD && at - (info->dlpi_addr + h->p_vaddr) < h->p_memsz)
			return true;
	}
	return false;
}

/* The loader's lock is held: no module comes or goes meanwhile. */
static int visit(struct dl_phdr_info *info, size_t size, void *changed)
{
	struct tables t;

	(void)size;
	/* Ours has the real one. */
	if (holds(info, (uintptr_t)isc_rt_profile_thread) || !read_tables(info, &t))
		return 0;
	*(int *)changed += point_all(info, &t, t.plt, t.plt_bytes) + point_all(info, &t, t.other, t.other_bytes);
	return 0;
}

int isc_births_watch(void)
{
	int changed = 0;

	/* The agent is in front of libc: calls come to us anyway. */
	if (!isc_rt_profile_hooked())
		dl_iterate_phdr(visit, &changed);
	return changed;
}

#else
int isc_births_watch(void)
{
	return 0;
}
#endif
