/* crowding: the recorder costs the program something where no CPU is idle, and nothing where one is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "session/machine/crowding.h"

#define SECOND_NS 1000000000ull

/* After four seconds in each of which the recorder took 0.1 s and the program that many CPUs. */
static double share_beside(int cpus)
{
	isc_crowding c = {0};

	for (uint64_t s = 0; s <= 4; s++) {
		isc_crowding_look(&c, (1 + s) * SECOND_NS, s * SECOND_NS / 10, s * SECOND_NS * (uint64_t)cpus);
		/* In between nothing is looked at. */
		isc_crowding_look(&c, (1 + s) * SECOND_NS + 1, 9 * SECOND_NS, 9 * SECOND_NS);
	}
	return c.share;
}

static void a_program_that_uses_every_cpu_pays_for_the_recorder(void **state)
{
	int cpus = isc_crowding_cpus();

	(void)state;
	assert_true(cpus > 0);
	/* Up to 1/16 that is still that of the first second. */
	assert_float_equal(share_beside(cpus), 0.1 / cpus * 15 / 16, 1e-6);
	assert_float_equal(share_beside(cpus - 1), 0, 1e-6);
}

static void a_program_that_did_nothing_pays_nothing(void **state)
{
	(void)state;
	assert_float_equal(share_beside(0), 0, 1e-6);
}

static void half_a_cpu_is_half_in_the_way(void **state)
{
	int cpus = isc_crowding_cpus();

	(void)state;
	assert_float_equal(isc_crowding_of(cpus - 0.5, 1), 0.5, 1e-6);
	assert_float_equal(isc_crowding_of(cpus + 1, 1), 1, 1e-6);
	assert_float_equal(isc_crowding_of(1, 0), 0, 1e-6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_program_that_uses_every_cpu_pays_for_the_recorder),
		cmocka_unit_test(a_program_that_did_nothing_pays_nothing),
		cmocka_unit_test(half_a_cpu_is_half_in_the_way),
	};

	return cmocka_run_group_tests_name("crowding", tests, NULL, NULL);
}
