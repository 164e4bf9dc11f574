/* unwind: a walk that takes over what the one before has found says the same as one that does not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <ucontext.h>

#include "collect/unwind.h"
#include "own_stack.h"

/* The address sanitizer forbids to read other frames. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)

int main(void)
{
	print_message("1..0 # SKIP sanitizers have their own stacks\n");
	return 0;
}

#else

static isc_unwind fresh, kept; /* kept: from walk to walk, as a thread has it */
static int taken_over;
static uint32_t dice = 1;

static uint32_t roll(uint32_t n)
{
	dice = dice * 1664525u + 1013904223u;
	return (dice >> 16) % n;
}

/* What is known from the walk before makes no difference. */
static void __attribute__((noinline)) compare_again(void)
{
	ucontext_t here;
	isc_unwind_start start;

	getcontext(&here);
	start = isc_unwind_registers(&here);
	own_stack(&fresh, start.sp);
	isc_unwind_walk(&fresh, &start, ISC_UNWIND_FRAMES);
	kept.low = fresh.low;
	kept.high = fresh.high;
	/* Now and then a module has been loaded in the place of another. */
	if (kept.modules > 0 && roll(8) == 0)
		kept.module[roll((uint32_t)kept.modules)].tag ^= 1;
	isc_unwind_walk(&kept, &start, ISC_UNWIND_FRAMES);
	assert_int_equal(kept.end, ISC_UNWIND_BOTTOM);
	assert_int_equal(kept.n, fresh.n);
	for (int i = 0; i < kept.n; i++) {
		const isc_native_frame *a = &kept.frame[i], *b = &fresh.frame[i];

		assert_ptr_equal((void *)a->ip, (void *)b->ip);
		assert_ptr_equal((void *)a->sp, (void *)b->sp);
		assert_ptr_equal((void *)a->cfa, (void *)b->cfa);
		assert_int_equal(a->flags, b->flags);
		assert_int_equal(kept.module[a->module].tag, fresh.module[b->module].tag);
	}
	taken_over += kept.met < kept.before;
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

static void __attribute__((noinline)) roomy_step(int left)
{
	volatile char *room = __builtin_alloca(16 + 16 * roll(8));

	room[0] = 1;
	wander(left);
	room[1] = room[0];
}

static void __attribute__((noinline)) wander(int left)
{
	static void (*const ways[])(int) = {small_step, other_step, roomy_step};
	uint32_t times = 1 + roll(2);

	if (left == 0) {
		compare_again();
		return;
	}
	for (uint32_t i = 0; i < times; i++)
		ways[roll(3)](left - 1);
}

static void what_did_not_change_is_taken_over(void **state)
{
	(void)state;
	assert_true(isc_unwind_begin());
	for (int i = 0; i < 200; i++)
		wander(4 + i % 7);
	assert_true(taken_over > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_did_not_change_is_taken_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
