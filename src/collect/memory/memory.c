/*
 * memory.c - threads that take memory, what they took in total, and what is done
 * with the few allocations that are looked at.
 *
 * All that a fork child must not inherit lies in memory that the kernel wipes in
 * it: counts begin at zero there, and the next allocation draws anew.
 */
#include "collect/hooks/hook.h"

#include "collect/memory/memory.h"

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "collect/node.h"
#include "collect/sample/sample.h"
#include "runtime/budget.h"
#include "runtime/image.h"
#include "runtime/kernel.h"
#include "runtime/profile.h"
#include "runtime/runtime.h"
#include "runtime/write.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

#define ASKED_MOST (1u << 30)
#define VISIT 4u /* times the mean that was asked for: after so many bytes a larger one may have become smaller again */
/* That a hook on the allocator takes in a loop of nothing else, and above that in a program that does other things in
 * between: caches are cold for those that are at least so far apart (bench/, a decoder). */
#define HOOK_TICKS 3u
#define HOOK_COLD_TICKS 8u
#define HOOK_GAP_TICKS 500u
#define COST_MOST 250000u	/* ticks of a sample; what took longer was interrupted */
#define TELL_TICKS 200000000ull /* between two totals: a tenth of a second or so */
#define CROWDED 1023u		/* calls of threads without a place before one looks for it again */

static struct region {
	isc_memory_thread thread[ISC_MEMORY_THREADS];
	isc_memory_set set;
	_Atomic uint64_t maps, mapped_bytes, unfollowed;
	_Atomic uint64_t calls, frees, bytes; /* of threads without a place */
	_Atomic uint64_t told;		      /* ticks */
	_Atomic uint64_t paid;		      /* isc_budget_worked() when hooks were last paid for */
	isc_memory_rate rate;
	_Atomic uint32_t source_told;
} *region;

__thread isc_memory_thread *isc_memory_self __attribute__((tls_model("initial-exec")));
_Atomic bool isc_memory_on;

static _Atomic uint32_t enrolled; /* places given, in this process and those that it was forked from */
static _Atomic uint32_t crowded;
static isc_memory_limits limits;
static uint16_t source_flags;
static char source[256];
static size_t source_len;

/* Code whose mappings are not the program's: this library's, and those of an allocator behind us. */
static struct {
	uintptr_t start, end;
} apart[2];

/* ---- threads ---------------------------------------------------------------- */

static bool is_gone(uint32_t tid)
{
	return tid == isc_kernel_tid() || (syscall(SYS_tgkill, isc_kernel_pid(), tid, 0) != 0 && errno == ESRCH);
}

static isc_memory_thread *take_over(uint32_t tid)
{
	if (atomic_load_explicit(&crowded, memory_order_relaxed) % (CROWDED + 1) != 0) {
		atomic_fetch_add_explicit(&crowded, 1, memory_order_relaxed);
		return NULL;
	}
	for (uint32_t i = 0; i < ISC_MEMORY_THREADS; i++) {
		isc_memory_thread *m = &region->thread[i];
		uint32_t was = atomic_load_explicit(&m->tid, memory_order_relaxed);

		if ((was == 0 || is_gone(was)) && atomic_compare_exchange_strong(&m->tid, &was, tid))
			return m;
	}
	atomic_fetch_add_explicit(&crowded, 1, memory_order_relaxed);
	return NULL;
}

/* In the middle of a fork child of which we do not know yet, too: it has no threads but this one. */
static isc_memory_thread *enroll(void)
{
	isc_memory_thread *m = NULL;
	uint32_t at, tid;

	if (!atomic_load_explicit(&isc_memory_on, memory_order_acquire) || isc_kernel_pid() != isc_image_self.pid)
		return NULL;
	tid = isc_kernel_tid();
	at = atomic_load_explicit(&enrolled, memory_order_relaxed);
	while (at < ISC_MEMORY_THREADS && !atomic_compare_exchange_weak(&enrolled, &at, at + 1))
		;
	if (at < ISC_MEMORY_THREADS) {
		m = &region->thread[at];
		atomic_store_explicit(&m->tid, tid, memory_order_relaxed);
	} else {
		m = take_over(tid);
	}
	isc_memory_self = m;
	return m;
}

/* ---- chance -------------------------------------------------------------------- */

static uint64_t random_next(isc_memory_thread *m)
{
	if (m->random == 0)
		m->random = (isc_ticks() ^ (uintptr_t)m << 20) * 0x9e3779b97f4a7c15ull | 1;
	m->random ^= m->random >> 12;
	m->random ^= m->random << 25;
	m->random ^= m->random >> 27;
	return m->random * 0x2545f4914f6cdd1dull;
}

static uint64_t draw(isc_memory_thread *m, uint32_t mean)
{
	return isc_memory_rate_draw(mean, random_next(m));
}

static uint32_t mean_now(void)
{
	return isc_memory_rate_mean(&region->rate, &limits);
}

static bool is_full(void)
{
	return atomic_load_explicit(&region->set.count, memory_order_relaxed) > ISC_MEMORY_SET / 4 * 3;
}

/* Behind so many bytes in all, and so many more up to the next that is marked. */
static void leave(isc_memory_thread *m, uint64_t bytes, uint64_t distance)
{
	uint64_t most = (uint64_t)VISIT * limits.asked;

	m->visits = m->mean > limits.asked && distance > most;
	m->left = m->visits ? most : distance;
	m->drawn = bytes + m->left;
}

static void draw_next(isc_memory_thread *m, uint64_t bytes)
{
	m->mean = mean_now();
	leave(m, bytes, draw(m, m->mean));
}

/* Is a byte of this allocation marked, of which what is left up to the visit is not?  That no byte was does not matter
 * to chance: it is drawn anew. */
static bool is_marked(isc_memory_thread *m, size_t size)
{
	uint64_t rest = size - m->left, next;

	isc_memory_rate_passed(&region->rate, &limits, isc_budget_worked(isc_ticks()), is_full());
	m->mean = mean_now();
	next = draw(m, m->mean);
	if (next <= rest)
		return true;
	leave(m, m->drawn - m->left + size, next - rest);
	return false;
}

/* ---- totals --------------------------------------------------------------------- */

/* Once, and again at the end: while the pool is being made events are lost, and without this one nothing else would be
 * believed. */
static void tell_source(uint64_t ticks, bool again)
{
	uint32_t id;

	if (!again && atomic_load_explicit(&region->source_told, memory_order_relaxed) != 0)
		return;
	id = isc_rt_intern(ISC_DEF_MEMORY, source, source_len);
	if (id == 0)
		return;
	atomic_store_explicit(&region->source_told, 1, memory_order_relaxed);
	isc_write1(ticks, ISC_RECORD_WORD(id, ISC_KIND_MEMORY_SOURCE, source_flags));
}

static bool ours(void)
{
	return atomic_load_explicit(&isc_memory_on, memory_order_acquire) && isc_rt_active() &&
	       isc_kernel_pid() == isc_image_self.pid;
}

void isc_memory_tell(uint16_t why)
{
	struct {
		isc_record head;
		isc_memory_total body;
	} record = {.head = {.kind = ISC_KIND_MEMORY_TOTAL, .slots = 5, .arg = why}};
	int error = errno;
	uint32_t n;

	if (!ours()) {
		errno = error;
		return;
	}
	record.head.ticks = isc_ticks();
	n = atomic_load_explicit(&enrolled, memory_order_relaxed);
	for (uint32_t i = 0; i < n && i < ISC_MEMORY_THREADS; i++) {
		const isc_memory_thread *m = &region->thread[i];

		/* Others go on counting meanwhile: of two that belong together one may be newer. */
		record.body.calls += __atomic_load_n(&m->calls, __ATOMIC_RELAXED);
		record.body.frees += __atomic_load_n(&m->frees, __ATOMIC_RELAXED);
		record.body.bytes +=
			__atomic_load_n(&m->drawn, __ATOMIC_RELAXED) - __atomic_load_n(&m->left, __ATOMIC_RELAXED);
	}
	record.body.calls += atomic_load_explicit(&region->calls, memory_order_relaxed);
	record.body.frees += atomic_load_explicit(&region->frees, memory_order_relaxed);
	record.body.bytes += atomic_load_explicit(&region->bytes, memory_order_relaxed);
	record.body.maps = atomic_load_explicit(&region->maps, memory_order_relaxed);
	record.body.mapped_bytes = atomic_load_explicit(&region->mapped_bytes, memory_order_relaxed);
	record.body.unfollowed = atomic_load_explicit(&region->unfollowed, memory_order_relaxed);
	record.body.mean = mean_now();
	tell_source(record.head.ticks, why != ISC_MEMORY_NOW);
	isc_write(&record.head, 5);
	errno = error;
}

/* A child that was forked to become another program opens no pool for it. */
void isc_memory_before_exec(void)
{
	if (atomic_load_explicit(&isc_memory_on, memory_order_relaxed) &&
	    atomic_load_explicit(&isc_wiped_page->gen, memory_order_relaxed) != 0)
		isc_memory_tell(ISC_MEMORY_NOW);
}

void isc_memory_give_way(void)
{
	isc_memory_tell(ISC_MEMORY_NOW);
	atomic_store(&isc_memory_on, false);
}

void isc_rt_memory_leaving(void)
{
	isc_memory_tell(ISC_MEMORY_LEAVING);
}

__attribute__((destructor)) static void end(void)
{
	isc_memory_tell(ISC_MEMORY_END);
}

/* ---- one that is looked at --------------------------------------------------------- */

/* What every allocation costs is for all; what it comes to is told by their number. */
static void pay_for_hooks(isc_memory_thread *m, uint64_t worked)
{
	uint64_t before = atomic_exchange_explicit(&region->paid, worked, memory_order_relaxed);
	uint64_t counted = m->calls + m->frees;
	uint64_t hooks = counted - m->paid, gaps = worked > before ? (worked - before) / HOOK_GAP_TICKS : 0;

	m->paid = counted;
	isc_budget_take((int64_t)(hooks * HOOK_TICKS + (hooks < gaps ? hooks : gaps) * HOOK_COLD_TICKS));
}

static void spend(isc_memory_thread *m, uint64_t begin)
{
	uint64_t now = isc_ticks(), worked = isc_budget_worked(now), ticks = now > begin ? now - begin : 0, told;

	ticks = ticks < COST_MOST ? ticks : COST_MOST;
	isc_budget_take((int64_t)ticks);
	isc_memory_rate_spent(&region->rate, &limits, worked, ticks, is_full());
	isc_sample_cost_add(ticks);
	pay_for_hooks(m, worked);
	told = atomic_load_explicit(&region->told, memory_order_relaxed);
	if (now - told > TELL_TICKS && atomic_compare_exchange_strong(&region->told, &told, now))
		isc_memory_tell(ISC_MEMORY_NOW);
}

static void record(uint8_t kind, uint64_t ticks, const void *p, const isc_memory_item *item, uint32_t flags)
{
	struct {
		isc_record head;
		isc_memory body;
	} r = {{.ticks = ticks, .id = item->stack, .kind = kind, .slots = 3, .arg = (uint16_t)item->call},
	       {(uintptr_t)p, item->bytes, item->mean, isc_node_here(), flags, 0}};

	isc_write(&r.head, 3);
}

static void look_at(isc_memory_thread *m, void *p, size_t size, uint32_t mean, enum isc_memory_call call,
		    const void *caller)
{
	isc_memory_item item = {.bytes = size, .mean = mean, .call = call}, old;
	uint64_t begin = isc_ticks();
	uint32_t flags = 0;

	m->inside = true;
	tell_source(begin, false);
	if (isc_memory_watched(p) && isc_memory_set_take(&region->set, p, &old))
		record(ISC_KIND_MEMORY_FREE, begin, p, &old, ISC_MEMORY_STALE);
	item.stack = isc_sample_now((uintptr_t)caller);
	if (!isc_memory_set_add(&region->set, p, &item)) {
		flags = ISC_MEMORY_UNFOLLOWED;
		atomic_fetch_add_explicit(&region->unfollowed, 1, memory_order_relaxed);
	}
	record(ISC_KIND_MEMORY_ALLOC, begin, p, &item, flags);
	spend(m, begin);
	m->inside = false;
}

/* Does the calling thread count, without a place of its own? */
static bool is_crowded(void)
{
	return atomic_load_explicit(&isc_memory_on, memory_order_acquire) && isc_kernel_pid() == isc_image_self.pid;
}

void isc_memory_freed(const void *p)
{
	isc_memory_thread *m;
	int error = errno;

	if (p == NULL || isc_memory_self != NULL)
		return;
	m = enroll();
	if (m != NULL)
		m->frees++;
	else if (is_crowded())
		atomic_fetch_add_explicit(&region->frees, 1, memory_order_relaxed);
	errno = error;
}

bool isc_memory_due(size_t size)
{
	isc_memory_thread *m = isc_memory_self;
	int error = errno;

	if (m == NULL)
		m = enroll();
	errno = error;
	if (m == NULL) {
		if (is_crowded()) {
			atomic_fetch_add_explicit(&region->calls, 1, memory_order_relaxed);
			atomic_fetch_add_explicit(&region->bytes, size, memory_order_relaxed);
		}
		return false;
	}
	m->calls++;
	if (!atomic_load_explicit(&isc_memory_on, memory_order_relaxed)) {
		/* Nobody counts any more: not to come here again. */
		m->left = UINT64_MAX;
		return false;
	}
	if (m->mean == 0)
		draw_next(m, m->drawn - m->left);
	if (size < m->left) {
		m->left -= size;
		return false;
	}
	if (m->visits && !is_marked(m, size))
		return false;
	m->due_mean = m->mean;
	draw_next(m, m->drawn - m->left + size);
	return !m->inside && isc_rt_active();
}

void isc_memory_took(void *p, size_t size, enum isc_memory_call call, const void *caller)
{
	isc_memory_thread *m = isc_memory_self;
	int error = errno;

	if (m == NULL)
		return;
	if (p == NULL) {
		m->calls--;
		m->drawn -= size;
		return;
	}
	look_at(m, p, size, m->due_mean, call, caller);
	errno = error;
}

bool isc_memory_take_out(const void *p, isc_memory_item *item)
{
	return p != NULL && region != NULL && isc_memory_set_take(&region->set, p, item);
}

void isc_memory_put_back(const void *p, const isc_memory_item *item)
{
	isc_memory_set_add(&region->set, p, item);
}

void isc_memory_gone(const void *p, const isc_memory_item *item)
{
	int error = errno;

	if (atomic_load_explicit(&isc_memory_on, memory_order_relaxed) && isc_rt_active())
		record(ISC_KIND_MEMORY_FREE, isc_ticks(), p, item, 0);
	errno = error;
}

void isc_memory_free(const void *p)
{
	isc_memory_item item;

	isc_memory_freed(p);
	if (isc_memory_take_out(p, &item))
		isc_memory_gone(p, &item);
}

/* ---- mappings -------------------------------------------------------------------------- */

static bool is_apart(uintptr_t caller)
{
	return caller - apart[0].start < apart[0].end - apart[0].start ||
	       caller - apart[1].start < apart[1].end - apart[1].start;
}

void isc_memory_mapped(void *at, size_t len, const void *caller)
{
	isc_memory_thread *m = isc_memory_self;
	int error = errno;
	uint32_t mean;

	if (!atomic_load_explicit(&isc_memory_on, memory_order_acquire) || is_apart((uintptr_t)caller))
		return;
	if (m == NULL)
		m = enroll();
	if (m != NULL && !m->inside) {
		atomic_fetch_add_explicit(&region->maps, 1, memory_order_relaxed);
		atomic_fetch_add_explicit(&region->mapped_bytes, len, memory_order_relaxed);
		mean = mean_now();
		if (draw(m, mean) <= len && isc_rt_active())
			look_at(m, at, len, mean, ISC_MEMORY_MMAP, caller);
	}
	errno = error;
}

/* Of a mapping that loses its first part, the rest goes on being looked at. */
void isc_memory_unmapped(void *at, size_t len)
{
	isc_memory_item item;

	if (!isc_memory_take_out(at, &item))
		return;
	isc_memory_gone(at, &item);
	if (len < item.bytes && item.call == ISC_MEMORY_MMAP)
		isc_memory_moved(&item, NULL, (char *)at + len, item.bytes - len);
}

void isc_memory_moved(const isc_memory_item *item, const void *from, void *to, size_t len)
{
	isc_memory_item now = *item;
	int error = errno;

	if (from != NULL)
		isc_memory_gone(from, item);
	now.bytes = len;
	if (atomic_load_explicit(&isc_memory_on, memory_order_relaxed) && isc_rt_active() &&
	    isc_memory_set_add(&region->set, to, &now))
		record(ISC_KIND_MEMORY_ALLOC, isc_ticks(), to, &now, 0);
	errno = error;
}

/* ---- beginning ------------------------------------------------------------------------- */

struct site_search {
	uintptr_t address, start, end;
};

extern __typeof__(dl_iterate_phdr) dl_iterate_phdr __attribute__((weak, visibility("default")));

static int find_module(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct site_search *s = arg;
	uintptr_t start = UINTPTR_MAX, end = 0;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t at = info->dlpi_addr + p->p_vaddr;

		if (p->p_type != PT_LOAD)
			continue;
		start = at < start ? at : start;
		end = at + p->p_memsz > end ? at + p->p_memsz : end;
	}
	if (s->address < start || s->address >= end)
		return 0;
	s->start = start;
	s->end = end;
	return 1;
}

static struct site_search module_of(uintptr_t address)
{
	struct site_search s = {.address = address};

	if (dl_iterate_phdr != NULL)
		dl_iterate_phdr(find_module, &s);
	return s;
}

/* Whose malloc() is behind ours, and what goes past us. */
static void look_behind(void)
{
	struct site_search here = module_of((uintptr_t)look_behind), libc = module_of((uintptr_t)ISC_REAL(getenv)),
			   behind = module_of((uintptr_t)ISC_REAL(malloc)), made;
	uintptr_t first = (uintptr_t)dlsym(RTLD_DEFAULT, "malloc"), made_by = (uintptr_t)dlsym(RTLD_DEFAULT, "_Znwm");
	Dl_info info;

	apart[0].start = here.start;
	apart[0].end = here.end;
	if (first - here.start >= here.end - here.start) {
		source_flags |= ISC_MEMORY_BYPASSED;
		behind = module_of(first);
	} else if (behind.start != libc.start) {
		apart[1].start = behind.start;
		apart[1].end = behind.end;
		made = made_by != 0 ? module_of(made_by) : (struct site_search){0};
		if (made_by != 0 && made.start == behind.start)
			source_flags |= ISC_MEMORY_NEW_BYPASSED;
	}
	if (behind.start != 0 && dladdr((void *)behind.address, &info) != 0 && info.dli_fname != NULL) {
		const char *name = strrchr(info.dli_fname, '/');

		name = name != NULL ? name + 1 : info.dli_fname;
		source_len = strnlen(name, sizeof(source));
		memcpy(source, name, source_len);
	}
}

static bool map_region(void)
{
	struct region *r = (struct region *)syscall(SYS_mmap, NULL, sizeof(*r), PROT_READ | PROT_WRITE,
						    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0L);

	if ((void *)r == MAP_FAILED)
		return false;
	if (syscall(SYS_madvise, r, sizeof(*r), MADV_WIPEONFORK) != 0) {
		syscall(SYS_munmap, r, sizeof(*r));
		return false;
	}
	region = r;
	return true;
}

void isc_memory_arrived(uint16_t birth)
{
	const isc_control *control = isc_rt_control();

	if (control == NULL || (control->flags & ISC_CONTROL_MEMORY) == 0)
		return;
	if (birth == ISC_BIRTH_FORK) {
		/* The one thread that there is keeps its place. */
		if (isc_memory_self != NULL)
			atomic_store_explicit(&isc_memory_self->tid, isc_kernel_tid(), memory_order_relaxed);
		return;
	}
	if (region != NULL || isc_image_following() != ISC_FOLLOWING_YES || !map_region())
		return;
	limits.asked =
		control->memory_mean != 0 && control->memory_mean <= ASKED_MOST ? control->memory_mean : 1u << 19;
	limits.ticks_per_us = isc_image_self.ticks_per_us;
	limits.budget_pct = control->budget_pct;
	if (!isc_rt_profile_hooked()) {
		/* Until somebody else tells nothing is known of memory. */
		memcpy(source, "Python", source_len = 6);
		source_flags = ISC_MEMORY_PYTHON;
		return;
	}
	look_behind();
	atomic_store_explicit(&isc_memory_on, true, memory_order_release);
	/* No hook will ever say so. */
	if ((source_flags & ISC_MEMORY_BYPASSED) && isc_rt_active())
		tell_source(isc_ticks(), false);
}

bool isc_memory_begin(void)
{
	if (region == NULL || (source_flags & ISC_MEMORY_PYTHON) == 0)
		return false;
	atomic_store_explicit(&isc_memory_on, true, memory_order_release);
	return true;
}

void isc_memory_end(void)
{
	isc_memory_tell(ISC_MEMORY_NOW);
	atomic_store(&isc_memory_on, false);
	isc_memory_set_clear(&region->set);
}
