/*
 * crowding.h - what the recorder takes from a program that leaves it no CPU.
 *
 * The thread that collects needs a CPU.  Where the program uses all that there are, what it takes is the program's
 * loss like any other cost of recording, and comes out of the same budget.
 */
#ifndef ISC_SESSION_MACHINE_CROWDING_H
#define ISC_SESSION_MACHINE_CROWDING_H

#include <stdint.h>

typedef struct isc_crowding {
	uint64_t looked_ns; /* when it was last looked at; 0: never */
	uint64_t own_ns;    /* CPU time of the recorder then, and of the program */
	uint64_t program_ns;
	double share; /* of the program's CPU time; what is older counts half as much with each look */
} isc_crowding;

/* CPUs that we may use; 0: not known. */
int isc_crowding_cpus(void);

/* The share of so much time in which the program left no CPU, if its threads spread. */
double isc_crowding_of(double program_ns, double wall_ns);

/* CPU time of the thread that collects and of the program up to now, by its samples.  Looks once a second. */
void isc_crowding_look(isc_crowding *c, uint64_t now_ns, uint64_t own_ns, uint64_t program_ns);

#endif
