#include "trace/memory.h"

#include <math.h>

double isc_trace_memory_times(const isc_memory *m)
{
	double p = m->mean != 0 ? -expm1(-(double)m->bytes / m->mean) : 1;

	return p > 0 ? 1 / p : 1;
}
