#include "session/machine/crowding.h"

#include <sched.h>

#define LOOK_NS 1000000000ull

int isc_crowding_cpus(void)
{
	cpu_set_t all;

	return sched_getaffinity(0, sizeof(all), &all) == 0 ? CPU_COUNT(&all) : 0;
}

double isc_crowding_of(double program_ns, double wall_ns)
{
	int cpus = isc_crowding_cpus();
	double used;

	if (wall_ns <= 0 || cpus == 0)
		return 0;
	used = program_ns / wall_ns - (cpus - 1);
	return used < 0 ? 0 : used < 1 ? used : 1;
}

void isc_crowding_look(isc_crowding *c, uint64_t now_ns, uint64_t own_ns, uint64_t program_ns)
{
	double ran = (double)(program_ns - c->program_ns), share = 0;

	if (c->looked_ns != 0 && now_ns < c->looked_ns + LOOK_NS)
		return;
	if (c->looked_ns != 0 && ran > 0)
		share = (double)(own_ns - c->own_ns) / ran * isc_crowding_of(ran, (double)(now_ns - c->looked_ns));
	c->share = (c->share + share) / 2;
	c->looked_ns = now_ns;
	c->own_ns = own_ns;
	c->program_ns = program_ns;
}
