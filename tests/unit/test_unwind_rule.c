/* unwind_rule: what is kept of CFI says what the tables say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collect/unwind/unwind.h"

#if !defined(__x86_64__)

int main(void)
{
	print_message("1..0 # SKIP no walks here\n");
	return 0;
}

#else

/* Code that nothing covers, between functions that something does, in the same lines as both. */
void bare(void);
void bare_past(void);
__asm__(".text\n.type bare, @function\nbare: .skip 333, 0x90\n\tret\n.size bare, . - bare\n"
	".type bare_past, @function\nbare_past:\n\t.cfi_startproc\n\tnop\n\tret\n\t.cfi_endproc\n"
	".size bare_past, . - bare_past");

static isc_module own_module(void)
{
	int index;

	assert_true(isc_unwind_begin());
	index = isc_unwind_module((uintptr_t)bare);
	assert_true(index >= 0);
	return isc_unwind_known(index);
}

static void what_is_kept_says_what_the_tables_say(void **state)
{
	uintptr_t low = (uintptr_t)bare - 512, ip = low;
	isc_module m = own_module();

	(void)state;
	for (int i = 0; i < 20000; i++) {
		isc_cfi_image image = {m.start, m.end, m.cfi};
		isc_cfi_entry kept, fresh = {0};
		isc_cfi_rule right = isc_cfi_at(&image, ip, &fresh), first = isc_unwind_rule(&m, ip, &kept),
			     second = isc_unwind_rule(&m, ip, NULL);

		assert_memory_equal(&first, &right, sizeof(right));
		assert_memory_equal(&second, &right, sizeof(right));
		assert_memory_equal(&kept, &fresh, sizeof(fresh));
		ip = low + (ip - low + 389) % 1536;
	}
	assert_int_equal(isc_unwind_rule(&m, (uintptr_t)bare, NULL).kind, ISC_CFI_NONE);
	assert_int_equal(isc_unwind_rule(&m, (uintptr_t)bare_past, NULL).kind, ISC_CFI_RULE);
}

/* A scan meets the same words at every sample, and most of them are no code. */
static void that_nothing_covers_an_address_is_kept(void **state)
{
	isc_module m = own_module(), blind = m;
	uintptr_t ip = (uintptr_t)bare_past;

	(void)state;
	blind.cfi = 0;
	blind.tag = m.tag = 11;
	assert_int_equal(isc_unwind_rule(&blind, ip, NULL).kind, ISC_CFI_NONE);
	/* The table is not asked again, except about other addresses and other modules. */
	assert_int_equal(isc_unwind_rule(&m, ip, NULL).kind, ISC_CFI_NONE);
	assert_int_equal(isc_unwind_rule(&m, ip + 1, NULL).kind, ISC_CFI_RULE);
	m.tag = 12;
	assert_int_equal(isc_unwind_rule(&m, ip, NULL).kind, ISC_CFI_RULE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_kept_says_what_the_tables_say),
		cmocka_unit_test(that_nothing_covers_an_address_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
