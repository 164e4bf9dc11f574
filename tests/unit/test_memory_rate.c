/* memory_rate: how many bytes there are between two allocations that are looked at, at times that are made up. */
#include "check.h"
#include "collect/memory/memory.h"

#define PER_US 2600u
#define ASKED (512u << 10)

static const isc_memory_limits limits = {.asked = ASKED, .ticks_per_us = PER_US, .budget_pct = 4};

/* A program that takes so many bytes a second for so long, and what looking at them takes of its time. */
struct program {
	isc_memory_rate rate;
	double now; /* us */
	double spent;
};

static void run(struct program *p, double bytes_per_s, double us, double cost_us)
{
	double until = p->now + us;

	while (p->now < until) {
		p->now += (double)isc_memory_rate_mean(&p->rate, &limits) / bytes_per_s * 1e6;
		p->spent += cost_us;
		isc_memory_rate_spent(&p->rate, &limits, (uint64_t)(p->now * PER_US), (uint64_t)(cost_us * PER_US),
				      false);
	}
}

TEST(the_first_samples_of_a_short_program_are_as_many_as_asked)
{
	struct program p = {.now = 1e6};

	/* 52 MB in 80 ms, of which the first third meets code that is not known yet. */
	run(&p, 650e6, 27e3, 90);
	CHECK_EQ(isc_memory_rate_mean(&p.rate, &limits), ASKED);
	run(&p, 650e6, 53e3, 6);
	CHECK_EQ(isc_memory_rate_mean(&p.rate, &limits), ASKED);
}

TEST(a_program_that_takes_much_stays_inside_its_share)
{
	static const double bytes_per_s[] = {1e9, 10e9, 2e9}, cost_us[] = {4, 4, 40};

	for (size_t i = 0; i < 3; i++) {
		struct program p = {.now = 1e6};

		run(&p, bytes_per_s[i], 20e6, cost_us[i]);
		/* 4 % / 32 of 20 s, what may be taken at once, and what is known too late where all are dear. */
		CHECK(p.spent < 20e6 * 0.00125 + 1900 * 2 + 50 * cost_us[i]);
		CHECK(p.spent > 20e6 * 0.00125 / 2);
	}
}

TEST(a_burst_is_forgotten_when_time_has_passed)
{
	struct program p = {.now = 1e6};

	run(&p, 100e9, 100e3, 10);
	CHECK(isc_memory_rate_mean(&p.rate, &limits) >= 16 * ASKED);
	for (int i = 0; i < 220; i++) {
		p.now += 10.1e3;
		isc_memory_rate_passed(&p.rate, &limits, (uint64_t)(p.now * PER_US), false);
	}
	CHECK_EQ(isc_memory_rate_mean(&p.rate, &limits), ASKED);
}

TEST(without_a_budget_it_stays_as_asked)
{
	isc_memory_limits any = limits;
	isc_memory_rate rate = {0};

	any.budget_pct = -1;
	for (uint64_t i = 0; i < 100000; i++)
		isc_memory_rate_spent(&rate, &any, i * 11 * PER_US, 10 * PER_US, false);
	CHECK_EQ(isc_memory_rate_mean(&rate, &any), ASKED);
}

TEST(little_room_for_addresses_makes_them_fewer)
{
	isc_memory_rate rate = {0};

	for (uint64_t i = 1; i <= 64; i++)
		isc_memory_rate_spent(&rate, &limits, i * 1000000 * PER_US, PER_US, true);
	CHECK_EQ(isc_memory_rate_mean(&rate, &limits), 16 * ASKED);
	isc_memory_rate_passed(&rate, &limits, 100000000ull * PER_US, true);
	CHECK_EQ(isc_memory_rate_mean(&rate, &limits), 16 * ASKED);
}

/* As far as they go and as they are spread: the mean, and one in e that is longer. */
TEST(distances_are_drawn_without_memory)
{
	uint64_t bits = 88172645463325252ull, sum = 0;
	unsigned longer = 0;

	for (unsigned i = 0; i < 200000; i++) {
		uint64_t bytes;

		bits ^= bits << 13;
		bits ^= bits >> 7;
		bits ^= bits << 17;
		bytes = isc_memory_rate_draw(1000000, bits);
		CHECK(bytes > 0);
		sum += bytes;
		longer += bytes > 1000000;
	}
	CHECK_IN(sum / 200000, 985000, 1015000);
	CHECK_IN(longer, 72500, 74700); /* 73,576 */
	CHECK_EQ(isc_memory_rate_draw(1000000, UINT64_MAX), 1);
	CHECK_IN(isc_memory_rate_draw(1000000, 0), 36000000, 37000000);
}
