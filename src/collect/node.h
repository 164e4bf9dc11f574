/*
 * node.h - on which CPU the calling thread runs, and which memory node is near to it.
 *
 * The kernel keeps the first where the thread can read it; the second is told by the session, for machines
 * with two nodes or more.  Signal-safe.
 */
#ifndef ISC_COLLECT_NODE_H
#define ISC_COLLECT_NODE_H

#include <sched.h>

#include "base/record.h"
#include "runtime/runtime.h"

static inline uint32_t isc_node_of(uint32_t cpu)
{
	const isc_control *control = isc_rt_control();

	if (control == NULL || cpu >= ISC_CONTROL_CPUS || control->node_of_cpu[cpu] == 0)
		return ISC_NODE_UNKNOWN;
	return control->node_of_cpu[cpu] - 1u;
}

static inline uint32_t isc_node_here(void)
{
	return isc_node_of((uint32_t)sched_getcpu());
}

/* For the flags of a sample. */
static inline uint32_t isc_node_ran_on(void)
{
	uint32_t cpu = (uint32_t)sched_getcpu(), node = isc_node_of(cpu);

	return ISC_SAMPLE_RAN_ON(cpu, node);
}

#endif
