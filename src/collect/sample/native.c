/*
 * native.c - what native code of the program is: the interpreter's, ours, and modules with their names.
 */
#include <elf.h>
#include <fcntl.h>
#include <link.h>

#include "collect/sample/sample.h"
#include "collect/unwind/chain.h"
#include "runtime/kernel.h"
#include "runtime/runtime.h"

#define MODULES 1024u /* known ones; a power of two */
#define PROBES 16u
#define NOTE_MAX 4096u
#define BUILD_MAX 64u
#define PATH_ROOM 4096u
#define LOOKS_FREE 8u /* at the list of mappings, per thread; then now and then */
#define LOOKS_EVERY 64u

static struct {
	_Atomic uint64_t tag;
	_Atomic uint32_t id;
} modules[MODULES];

static uint32_t mode; /* ISC_CONTROL_NATIVE, _LEAF or 0 */
static _Atomic uintptr_t eval_first, eval_past;
static _Atomic uintptr_t eval_start, eval_end; /* the module that it is in */

/* Modules whose frames are left out: this library and the one that calls are traced from. */
static struct {
	_Atomic uintptr_t start, end;
} own[2];

static void set_own(int which, uintptr_t function)
{
	int index = isc_unwind_module(function);
	isc_module m;

	if (index < 0)
		return;
	m = isc_unwind_known(index);
	atomic_store(&own[which].start, m.start);
	atomic_store(&own[which].end, m.end);
}

void isc_sample_native_begin(uint32_t flags)
{
	mode = isc_unwind_begin() ? flags & (ISC_CONTROL_NATIVE | ISC_CONTROL_NATIVE_LEAF) : 0;
	if (mode != 0)
		set_own(0, (uintptr_t)isc_sample_native_begin);
}

void isc_sample_native_python(const isc_python_layout *l)
{
	static const isc_unwind none;
	uintptr_t first, past;

	if (mode == 0 || l->eval == NULL)
		return;
	if (l->own != NULL)
		set_own(1, (uintptr_t)l->own);
	if (isc_unwind_function(&none, (uintptr_t)l->eval, &first, &past)) {
		isc_module m = isc_unwind_known(isc_unwind_module((uintptr_t)l->eval));

		atomic_store(&eval_start, m.start);
		atomic_store(&eval_end, m.end);
		atomic_store(&eval_first, first);
		atomic_store(&eval_past, past);
	}
}

/* In a fork child the recorder looks for modules among the child's own definitions. */
void isc_sample_native_forked(void)
{
	for (uint32_t i = 0; i < MODULES; i++) {
		atomic_store(&modules[i].tag, 0);
		atomic_store(&modules[i].id, 0);
	}
	isc_chain_forked();
}

uint32_t isc_sample_native_mode(void)
{
	return mode;
}

bool isc_sample_native_all(void)
{
	return mode == ISC_CONTROL_NATIVE;
}

bool isc_sample_is_eval(uintptr_t ip)
{
	return ip - atomic_load_explicit(&eval_first, memory_order_relaxed) <
	       atomic_load_explicit(&eval_past, memory_order_relaxed) -
		       atomic_load_explicit(&eval_first, memory_order_relaxed);
}

bool isc_sample_in_eval_module(uintptr_t ip)
{
	uintptr_t start = atomic_load_explicit(&eval_start, memory_order_relaxed);

	return ip - start < atomic_load_explicit(&eval_end, memory_order_relaxed) - start;
}

bool isc_sample_in_own_module(uintptr_t ip)
{
	for (int i = 0; i < 2; i++) {
		uintptr_t start = atomic_load_explicit(&own[i].start, memory_order_relaxed);

		if (ip - start < atomic_load_explicit(&own[i].end, memory_order_relaxed) - start)
			return true;
	}
	return false;
}

/* ---- the stack's end ------------------------------------------------------ */

static int hex(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The mapping around sp, from the kernel. */
static bool read_mapping(isc_sampled *t, uintptr_t sp)
{
	uintptr_t part[2] = {0, 0};
	int fd = isc_kernel_open("/proc/self/maps", O_RDONLY, 0), which = 0;
	bool found = false;
	long n;

	if (fd < 0)
		return false;
	while (!found && (n = syscall(SYS_read, fd, t->scratch, (size_t)4096)) > 0) {
		for (long i = 0; i < n && !found; i++) {
			char c = t->scratch[i];

			if (c == '\n') {
				which = 0;
				part[0] = part[1] = 0;
			} else if (which < 2 && hex(c) >= 0) {
				part[which] = part[which] << 4 | (uintptr_t)hex(c);
			} else if (which < 2) {
				which++;
				found = which == 2 && sp >= part[0] && sp < part[1];
			}
		}
	}
	isc_kernel_close(fd);
	if (found) {
		t->stack_low = part[0];
		t->stack_high = part[1];
	}
	return found;
}

bool isc_sample_know_stack(isc_sampled *t, uintptr_t sp)
{
	if (sp >= t->stack_low && sp < t->stack_high)
		return true;
	t->looks++;
	if (t->looks > LOOKS_FREE && t->looks % LOOKS_EVERY != 0)
		return false;
	return read_mapping(t, sp);
}

/* ---- definitions ------------------------------------------------------------ */

/* The build id among the notes of a module in memory; its length. */
static uint32_t build_of(const isc_module *m, uint8_t *to)
{
	const ElfW(Ehdr) *e = (const ElfW(Ehdr) *)m->start;
	uintptr_t bias = m->map != NULL ? m->map->l_addr : 0;
	const ElfW(Phdr) * p;

	if (m->end - m->start < sizeof(*e) || memcmp(e->e_ident, ELFMAG, SELFMAG) != 0 ||
	    e->e_phentsize != sizeof(*p) || e->e_phoff > m->end - m->start ||
	    (m->end - m->start - e->e_phoff) / sizeof(*p) < e->e_phnum)
		return 0;
	p = (const ElfW(Phdr) *)(m->start + e->e_phoff);
	for (unsigned i = 0; i < e->e_phnum; i++) {
		uintptr_t at = bias + p[i].p_vaddr, end = at + p[i].p_filesz;

		if (p[i].p_type != PT_NOTE || at < m->start || end < at || end > m->end || end - at > NOTE_MAX)
			continue;
		while (end - at > sizeof(ElfW(Nhdr))) {
			const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)at;
			uint64_t name = ((uint64_t)note->n_namesz + 3) & ~3ull,
				 size = ((uint64_t)note->n_descsz + 3) & ~3ull;

			at += sizeof(*note);
			if (name + size > end - at)
				break;
			if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && note->n_descsz <= BUILD_MAX &&
			    memcmp((const void *)at, "GNU", 4) == 0) {
				memcpy(to, (const void *)(at + name), note->n_descsz);
				return note->n_descsz;
			}
			at += name + size;
		}
	}
	return 0;
}

/* The file that is mapped at an address, from the kernel; its length, 0: none. */
static size_t mapped_path(uintptr_t address, char *buffer, char *to)
{
	uintptr_t part[2] = {0, 0};
	int fd = isc_kernel_open("/proc/self/maps", O_RDONLY, 0), which = 0;
	size_t len = 0;
	bool found = false;
	long n;

	if (fd < 0)
		return 0;
	while (!found && (n = syscall(SYS_read, fd, buffer, (size_t)PATH_ROOM)) > 0) {
		for (long i = 0; i < n && !found; i++) {
			char c = buffer[i];

			if (c == '\n') {
				found = len > 0 && address >= part[0] && address < part[1];
				len = found ? len : 0;
				which = 0;
				part[0] = part[1] = 0;
			} else if (which < 2 && hex(c) >= 0) {
				part[which] = part[which] << 4 | (uintptr_t)hex(c);
			} else if (which < 2) {
				which++;
			} else if ((len > 0 || c == '/') && len < PATH_ROOM) {
				to[len++] = c;
			}
		}
	}
	isc_kernel_close(fd);
	return found ? len : 0;
}

/* A name that is relative to a folder may be any file by now, or none. */
static size_t path_of(const isc_module *m, char *buffer, char *to)
{
	const char *name = m->map != NULL ? m->map->l_name : "";
	size_t n = 0;
	long got;

	if (name != NULL && name[0] != '\0' && name[0] != '/')
		n = mapped_path(m->start, buffer, to);
	if (n != 0)
		return n;
	while (n < PATH_ROOM && name != NULL && name[n] != '\0') {
		to[n] = name[n];
		n++;
	}
	if (n != 0)
		return n;
	got = syscall(SYS_readlink, "/proc/self/exe", to, (size_t)PATH_ROOM);
	return got > 0 ? (size_t)got : 0;
}

/* Into the scratch; its length, 0 when it cannot be read. */
size_t isc_sample_describe(isc_sampled *t, const isc_module *m, bool careful)
{
	char *text = t->scratch + sizeof(isc_def_module);
	volatile size_t len = 0;

	if (careful)
		return 0;
	if (sigsetjmp(t->fault.escape, 0) == 0) {
		isc_def_module head = {.start = m->start, .end = m->end};

		isc_fault_arm(&t->fault);
		head.bias = m->map != NULL ? m->map->l_addr : 0;
		head.build_len = build_of(m, (uint8_t *)text);
		head.path_len = (uint32_t)path_of(m, text + BUILD_MAX + PATH_ROOM, text + head.build_len);
		memcpy(t->scratch, &head, sizeof(head));
		isc_fault_disarm(&t->fault);
		len = sizeof(head) + head.build_len + head.path_len;
	}
	return len;
}

static uint32_t module_id(isc_sampled *t, const isc_module *m, bool careful)
{
	uint32_t id;
	size_t len;

	for (uint32_t k = 0; k < PROBES; k++) {
		uint32_t at = (uint32_t)(m->tag + k) & (MODULES - 1);
		uint64_t was = atomic_load_explicit(&modules[at].tag, memory_order_acquire);

		if (was == m->tag) {
			id = atomic_load_explicit(&modules[at].id, memory_order_acquire);
			if (id != 0)
				return id;
		}
		if (was != 0 && was != m->tag)
			continue;
		len = isc_sample_describe(t, m, careful);
		id = len != 0 ? isc_rt_intern(ISC_DEF_MODULE, t->scratch, len) : 0;
		if (id != 0) {
			was = 0;
			if (atomic_compare_exchange_strong(&modules[at].tag, &was, m->tag) || was == m->tag)
				atomic_store_explicit(&modules[at].id, id, memory_order_release);
		}
		return id;
	}
	len = isc_sample_describe(t, m, careful);
	return len != 0 ? isc_rt_intern(ISC_DEF_MODULE, t->scratch, len) : 0;
}

/* The module may have been unloaded since it was found. */
static bool read_bias(isc_sampled *t, const isc_module *m, uintptr_t *bias)
{
	volatile bool read = m->map == NULL;

	if (!read && sigsetjmp(t->fault.escape, 0) == 0) {
		isc_fault_arm(&t->fault);
		*bias = m->map->l_addr;
		isc_fault_disarm(&t->fault);
		read = true;
	}
	return read;
}

uint32_t isc_sample_place(isc_sampled *t, const isc_merged *frame, bool careful)
{
	isc_def_native place = {.flags = frame->offset, .offset = frame->code};

	if (frame->module >= 0) {
		isc_module m = isc_unwind_known(frame->module);
		uintptr_t bias = 0;

		place.module = module_id(t, &m, careful);
		if (place.module == 0 || !read_bias(t, &m, &bias))
			return 0;
		place.offset -= bias;
	}
	return isc_rt_intern(ISC_DEF_NATIVE, &place, sizeof(place));
}
