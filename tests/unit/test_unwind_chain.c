/* unwind: a walk that takes chains which were met before says the same as one that goes frame by frame. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <string.h>
#include <ucontext.h>

#include "collect/unwind/chain.h"
#include "own_stack.h"

/* The address sanitizer forbids to read other frames. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)

int main(void)
{
	print_message("1..0 # SKIP sanitizers have their own stacks\n");
	return 0;
}

#else

#define ANCHORS 64

static isc_unwind fresh, chained;
static uintptr_t anchors[ANCHORS]; /* of the steps that stand for the interpreter, oldest first */
static int anchor_count;
static int taken, stepped; /* frames from chains, and by CFI */
static uint32_t dice = 1;

static uint32_t roll(uint32_t n)
{
	dice = dice * 1664525u + 1013904223u;
	return (dice >> 16) % n;
}

/* All frames count. */
static uint64_t key_of(const isc_unwind *u, const isc_native_frame *f)
{
	(void)u;
	return f->ip | 1ull << 63;
}

/* The frames of a walk, one by one; how many, -1: a chain has gone. */
static int expand(const isc_unwind *u, uintptr_t *ips, uintptr_t *cfas, int max)
{
	int n = 0;

	for (int i = 0; i < u->n; i++) {
		int more = 1;

		if (u->frame[i].flags & ISC_NATIVE_CHAIN) {
			more = isc_chain_frames(u, &u->frame[i], ips + n, max - n);
			if (more < 0)
				return -1;
			taken += more;
		} else {
			ips[n] = u->frame[i].ip;
			stepped++;
		}
		n += more;
		cfas[n - 1] = u->frame[i].cfa;
	}
	return n;
}

static void __attribute__((noinline)) compare_again(void)
{
	static uintptr_t ips[2 * ISC_UNWIND_FRAMES], cfas[2 * ISC_UNWIND_FRAMES];
	uintptr_t rising[ANCHORS];
	isc_unwind_start start;
	ucontext_t here;
	int n;

	getcontext(&here);
	start = isc_unwind_registers(&here);
	for (int i = 0; i < anchor_count; i++)
		rising[i] = anchors[anchor_count - 1 - i];
	own_stack(&fresh, start.sp);
	own_stack(&chained, start.sp);
	fresh.anchors = chained.anchors = rising;
	fresh.anchor_count = chained.anchor_count = anchor_count;
	chained.key = key_of;
	isc_unwind_walk(&fresh, &start, ISC_UNWIND_FRAMES);
	isc_unwind_walk(&chained, &start, ISC_UNWIND_FRAMES);
	assert_int_equal(fresh.end, ISC_UNWIND_BOTTOM);
	assert_int_equal(chained.end, ISC_UNWIND_BOTTOM);
	memset(cfas, 0, sizeof(cfas));
	n = expand(&chained, ips, cfas, 2 * ISC_UNWIND_FRAMES);
	assert_int_equal(n, fresh.n);
	for (int i = 0; i < n; i++) {
		assert_ptr_equal((void *)ips[i], (void *)fresh.frame[i].ip);
		if (cfas[i] != 0)
			assert_ptr_equal((void *)cfas[i], (void *)fresh.frame[i].cfa);
	}
}

static void wander(int left);

static void __attribute__((noinline)) small_step(int left)
{
	volatile int keep = left;

	wander(left);
	keep++;
}

/* The same place on the stack as the one above, from elsewhere. */
static void __attribute__((noinline)) other_step(int left)
{
	volatile int keep = left;

	wander(left);
	keep--;
}

/* The address of a local is the anchor: it is as far from the end of the frame each time. */
static void __attribute__((noinline)) anchored_step(int left)
{
	volatile uintptr_t anchor = 0;

	if (anchor_count < ANCHORS)
		anchors[anchor_count] = (uintptr_t)&anchor;
	anchor_count++;
	wander(left);
	anchor_count--;
	anchor++;
}

static void __attribute__((noinline)) roomy_step(int left)
{
	volatile char *room = __builtin_alloca(16 + 16 * roll(8));

	room[0] = 1;
	wander(left);
	room[1] = room[0];
}

static void __attribute__((noinline)) wander(int left)
{
	static void (*const ways[])(int) = {small_step, other_step, roomy_step, anchored_step};
	uint32_t times = 1 + roll(2);

	if (left == 0) {
		compare_again();
		return;
	}
	for (uint32_t i = 0; i < times; i++)
		ways[roll(4)](left - 1);
}

static void chains_say_what_cfi_says(void **state)
{
	(void)state;
	assert_true(isc_unwind_begin());
	for (int i = 0; i < 300; i++)
		wander(4 + i % 7);
	assert_true(taken > 2 * stepped);
}

/* Deeper and deeper: more frames than the table holds. */
static void a_full_table_is_begun_again(void **state)
{
	(void)state;
	for (int i = 0; i < 300; i++)
		wander(12);
	taken = stepped = 0;
	for (int i = 0; i < 300; i++)
		wander(4 + i % 7);
	assert_true(taken > stepped);
}

static void a_module_that_went_voids_chains(void **state)
{
	void *library = dlopen("libm.so.6", RTLD_NOW);
	uint32_t before = isc_unwind_generation();
	double (*sine)(double) = library != NULL ? (double (*)(double))dlsym(library, "sin") : NULL;

	(void)state;
	if (sine == NULL || isc_unwind_module((uintptr_t)sine) < 0)
		skip();
	isc_unwind_check();
	assert_int_equal(isc_unwind_generation(), before);
	dlclose(library);
	if (dlopen("libm.so.6", RTLD_NOW | RTLD_NOLOAD) != NULL)
		skip(); /* the test itself needs it */
	isc_unwind_check();
	assert_int_not_equal(isc_unwind_generation(), before);
	compare_again();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chains_say_what_cfi_says),
		cmocka_unit_test(a_full_table_is_begun_again),
		cmocka_unit_test(a_module_that_went_voids_chains),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
