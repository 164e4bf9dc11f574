#include "cuda/buffers.h"

#include <linux/futex.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* At most so many lie idle: 4 MiB.  More are in flight when there are many contexts. */
#define IDLE_MOST 4u

/* When there is no memory: CUPTI fills small ones, and in the end one that nobody reads. */
#define SPARE_BYTES 8192u
#define SPARES 8u

/* In front of the bytes that CUPTI gets. */
typedef struct head {
	struct head *next;
	size_t valid;
	uint8_t pad[48];
} head;
_Static_assert(sizeof(head) == 64, "CUPTI wants 8, a line is better");

static union {
	head head;
	uint8_t bytes[SPARE_BYTES];
} spare[SPARES] __attribute__((aligned(64)));
static uint8_t rubbish[SPARE_BYTES] __attribute__((aligned(64)));
static bool spare_used[SPARES];

static atomic_flag lock = ATOMIC_FLAG_INIT;
static head *idle, *full, **full_end = &full;
static unsigned idle_count;
static _Atomic uint64_t lost;
static _Atomic uint32_t news; /* a futex */

/* Held for a few instructions, never over a call. */
static void hold(void)
{
	while (atomic_flag_test_and_set_explicit(&lock, memory_order_acquire))
		syscall(SYS_sched_yield);
}

static void let_go(void)
{
	atomic_flag_clear_explicit(&lock, memory_order_release);
}

static int spare_of(const uint8_t *buffer)
{
	const uint8_t *first = (const uint8_t *)spare;

	return buffer >= first && buffer < first + sizeof(spare) ? (int)((size_t)(buffer - first) / SPARE_BYTES) : -1;
}

static uint8_t *give_spare(size_t *size)
{
	hold();
	for (unsigned i = 0; i < SPARES; i++)
		if (!spare_used[i]) {
			spare_used[i] = true;
			let_go();
			*size = SPARE_BYTES - sizeof(head);
			return spare[i].bytes + sizeof(head);
		}
	let_go();
	*size = sizeof(rubbish);
	return rubbish;
}

uint8_t *isc_buffers_give(size_t *size)
{
	head *h;

	hold();
	h = idle;
	if (h != NULL) {
		idle = h->next;
		idle_count--;
	}
	let_go();
	if (h == NULL) {
		h = mmap(NULL, sizeof(*h) + ISC_BUFFER_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			 0);
		if (h == MAP_FAILED)
			return give_spare(size);
	}
	*size = ISC_BUFFER_BYTES;
	return (uint8_t *)(h + 1);
}

void isc_buffers_wake(void)
{
	atomic_fetch_add(&news, 1);
	syscall(SYS_futex, &news, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

void isc_buffers_take(uint8_t *buffer, size_t valid)
{
	head *h;

	if (buffer == NULL)
		return;
	if (buffer == rubbish) {
		atomic_fetch_add(&lost, 1);
		return;
	}
	h = (head *)(void *)(buffer - sizeof(head));
	h->valid = valid;
	h->next = NULL;
	hold();
	*full_end = h;
	full_end = &h->next;
	let_go();
	isc_buffers_wake();
}

bool isc_buffers_next(isc_buffer_full *out)
{
	head *h;

	hold();
	h = full;
	if (h != NULL) {
		full = h->next;
		if (full == NULL)
			full_end = &full;
	}
	let_go();
	if (h == NULL)
		return false;
	out->at = (uint8_t *)(h + 1);
	out->valid = h->valid;
	return true;
}

void isc_buffers_reuse(const isc_buffer_full *done)
{
	head *h = (head *)(void *)(done->at - sizeof(head));
	int n = spare_of(done->at);
	size_t room = n >= 0 ? SPARE_BYTES - sizeof(head) : ISC_BUFFER_BYTES;

	/* Whatever CUPTI said: what it wrote to lies in here. */
	memset(done->at, 0, done->valid < room ? done->valid : room);
	hold();
	if (n >= 0) {
		spare_used[n] = false;
		h = NULL;
	} else if (idle_count < IDLE_MOST) {
		h->next = idle;
		idle = h;
		idle_count++;
		h = NULL;
	}
	let_go();
	if (h != NULL)
		munmap(h, sizeof(*h) + ISC_BUFFER_BYTES);
}

uint64_t isc_buffers_lost(void)
{
	return atomic_exchange(&lost, 0);
}

void isc_buffers_wait(uint64_t ns)
{
	const struct timespec t = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
	uint32_t seen = atomic_load(&news);
	bool any;

	hold();
	any = full != NULL;
	let_go();
	if (!any)
		syscall(SYS_futex, &news, FUTEX_WAIT_PRIVATE, seen, &t, NULL, 0);
}
