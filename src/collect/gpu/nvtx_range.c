#include "collect/gpu/nvtx.h"
#include "runtime/kernel.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "runtime/runtime.h"
#include "runtime/write.h"

/* ---- pushed ---- */

/* A stack of a thread begins with a page and grows to this: 21,000 ranges in each
 * other.  A program that pushes more never pops. */
#define STACK_LEAST 4096u
#define STACK_MOST (1u << 20)
#define STACK_GROWS 4u

struct pushed_range {
	isc_rt_span span; /* instance 0: not recorded */
	const void *domain;
};

struct range_stack {
	uint32_t bytes;
	uint32_t depth;
	uint64_t above; /* pushed while there was no room */
	struct range_stack *smaller;
	struct pushed_range range[];
};

static __thread struct range_stack *mine;

/* Before glibc 2.34 another library has these, and a program without threads lacks it. */
extern __typeof__(pthread_key_create) pthread_key_create __attribute__((weak, visibility("default")));
extern __typeof__(pthread_setspecific) pthread_setspecific __attribute__((weak, visibility("default")));

enum { KEY_NONE, KEY_MAKING, KEY_MADE, KEY_UNFIT };
static _Atomic uint32_t key_state;
static pthread_key_t key;

static uint32_t room_of(const struct range_stack *s)
{
	return (uint32_t)((s->bytes - sizeof(*s)) / sizeof(s->range[0]));
}

static void release(void *arg)
{
	struct range_stack *s = arg, *smaller;

	mine = NULL;
	for (; s != NULL; s = smaller) {
		smaller = s->smaller;
		isc_kernel_unmap(s, s->bytes);
	}
}

/* The stack goes with its thread.  Not in one that comes while another makes the key: a page. */
static void release_with_thread(struct range_stack *s)
{
	uint32_t none = KEY_NONE;

	if (pthread_key_create == NULL || pthread_setspecific == NULL)
		return;
	if (atomic_compare_exchange_strong(&key_state, &none, KEY_MAKING))
		atomic_store(&key_state, pthread_key_create(&key, release) == 0 ? KEY_MADE : KEY_UNFIT);
	if (atomic_load(&key_state) == KEY_MADE)
		pthread_setspecific(key, s);
}

/* A smaller one stays as long as the thread: a signal handler may have come in between. */
static struct range_stack *grow(struct range_stack *old)
{
	uint32_t bytes = old != NULL ? old->bytes * STACK_GROWS : STACK_LEAST;
	struct range_stack *s;

	if (bytes > STACK_MOST)
		return NULL;
	s = isc_kernel_map(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	if (s == MAP_FAILED)
		return NULL;
	if (old != NULL) {
		memcpy(s->range, old->range, old->depth * sizeof(s->range[0]));
		s->depth = old->depth;
	}
	s->bytes = bytes;
	s->smaller = old;
	mine = s;
	release_with_thread(s);
	return s;
}

static uint64_t innermost(const struct range_stack *s, uint32_t depth)
{
	while (depth > 0 && s->range[depth - 1].span.instance == 0)
		depth--;
	return depth > 0 ? s->range[depth - 1].span.instance : 0;
}

void isc_nvtx_range_push(const void *domain, bool active, uint32_t name)
{
	struct range_stack *s = mine;
	struct pushed_range *range;
	uint64_t around;

	if (s == NULL || s->depth >= room_of(s)) {
		struct range_stack *larger = s != NULL && s->above > 0 ? NULL : grow(s);

		if (larger == NULL) {
			if (s != NULL)
				s->above++;
			if (active)
				isc_image_miss();
			return;
		}
		s = larger;
	}
	around = innermost(s, s->depth);
	range = &s->range[s->depth];
	range->span.instance = 0;
	range->domain = domain;
	/* Ours before it is whole: a handler that pushes and pops works above it. */
	atomic_signal_fence(memory_order_seq_cst);
	s->depth++;
	atomic_signal_fence(memory_order_seq_cst);
	if (active && !isc_rt_span_enter(&range->span, name, around))
		range->span.instance = 0;
}

void isc_nvtx_range_pop(const void *domain)
{
	struct range_stack *s = mine;
	uint32_t at;

	if (s == NULL)
		return;
	if (s->above > 0) {
		s->above--;
		return;
	}
	for (at = s->depth; at > 0 && s->range[at - 1].domain != domain; at--)
		;
	if (at == 0)
		return;
	if (s->range[at - 1].span.instance != 0)
		isc_rt_span_exit(&s->range[at - 1].span);
	/* Domains have stacks of their own, so it need not be the topmost of ours. */
	for (; at < s->depth; at++)
		s->range[at - 1] = s->range[at];
	s->depth--;
}

/* ---- started ---- */

#define OPEN_BITS 16
#define OPEN_MOST (1u << OPEN_BITS) /* as many may be open at once; reserved, not used */

struct open {
	_Atomic uint64_t id; /* 0: not in use */
	isc_rt_span span;
	_Atomic uint32_t next; /* index + 1 of the next free one */
};

static _Atomic(struct open *) open_ranges;
static _Atomic uint32_t opened_ever; /* entries that were used once */
static _Atomic uint64_t free_ones;   /* index + 1 of the first, and a count against mistaking it */
static _Atomic uint64_t last_number;

static struct open *find_table(void)
{
	struct open *at = atomic_load_explicit(&open_ranges, memory_order_acquire), *none = NULL;

	if (at != NULL)
		return at;
	at = isc_kernel_map(NULL, OPEN_MOST * sizeof(*at), PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
	if (at == MAP_FAILED)
		return NULL;
	if (atomic_compare_exchange_strong(&open_ranges, &none, at))
		return at;
	isc_kernel_unmap(at, OPEN_MOST * sizeof(*at));
	return none;
}

/* OPEN_MOST: there is none. */
static uint32_t take_free(struct open *table)
{
	uint64_t head = atomic_load(&free_ones), next;
	uint32_t fresh;

	while ((uint32_t)head != 0) {
		next = ((head >> 32) + 1) << 32 | atomic_load(&table[(uint32_t)head - 1].next);
		if (atomic_compare_exchange_weak(&free_ones, &head, next))
			return (uint32_t)head - 1;
	}
	fresh = atomic_load(&opened_ever);
	while (fresh < OPEN_MOST && !atomic_compare_exchange_weak(&opened_ever, &fresh, fresh + 1))
		;
	return fresh;
}

static void give_free(struct open *table, uint32_t index)
{
	uint64_t head = atomic_load(&free_ones);

	do
		atomic_store(&table[index].next, (uint32_t)head);
	while (!atomic_compare_exchange_weak(&free_ones, &head, ((head >> 32) + 1) << 32 | (index + 1)));
}

uint64_t isc_nvtx_range_start(uint32_t name)
{
	struct open *table = find_table();
	uint32_t index = table != NULL ? take_free(table) : OPEN_MOST;
	uint64_t id;

	if (index == OPEN_MOST) {
		isc_image_miss();
		return 0;
	}
	if (!isc_rt_span_start(&table[index].span, name, mine != NULL ? innermost(mine, mine->depth) : 0)) {
		give_free(table, index);
		return 0;
	}
	id = (atomic_fetch_add(&last_number, 1) + 1) << OPEN_BITS | index;
	atomic_store_explicit(&table[index].id, id, memory_order_release);
	return id;
}

void isc_nvtx_range_end(uint64_t id)
{
	struct open *table = atomic_load_explicit(&open_ranges, memory_order_acquire);
	uint32_t index = (uint32_t)id & (OPEN_MOST - 1);

	/* The program may end a range twice, or one that never was. */
	if (table == NULL || id == 0 || !atomic_compare_exchange_strong(&table[index].id, &id, 0))
		return;
	isc_rt_span_exit(&table[index].span);
	give_free(table, index);
}
