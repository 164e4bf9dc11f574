/* crowding: the recorder costs the program something where no CPU is idle, and nothing where one is. */
#include "check.h"
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

TEST(a_program_that_uses_every_cpu_pays_for_the_recorder)
{
	int cpus = isc_crowding_cpus();

	CHECK(cpus > 0);
	/* Up to 1/16 that is still that of the first second. */
	CHECK_NEAR(share_beside(cpus), 0.1 / cpus * 15 / 16, 1e-6);
	CHECK_NEAR(share_beside(cpus - 1), 0, 1e-6);
}

TEST(a_program_that_did_nothing_pays_nothing)
{
	CHECK_NEAR(share_beside(0), 0, 1e-6);
}

TEST(half_a_cpu_is_half_in_the_way)
{
	int cpus = isc_crowding_cpus();

	CHECK_NEAR(isc_crowding_of(cpus - 0.5, 1), 0.5, 1e-6);
	CHECK_NEAR(isc_crowding_of(cpus + 1, 1), 1, 1e-6);
	CHECK_NEAR(isc_crowding_of(1, 0), 0, 1e-6);
}
