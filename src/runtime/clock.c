/* clock.c - the session's ticks, and the events of those who do not inline them. */
#include "runtime/runtime.h"
#include "runtime/write.h"

uint64_t isc_rt_ticks(void)
{
	return isc_ticks();
}

void isc_rt_write1(uint64_t ticks, uint64_t word)
{
	isc_write1(ticks, word);
}

void isc_rt_write(const isc_record *record, uint32_t n)
{
	if (n != 0 && n == record[0].slots)
		isc_write(record, n);
}
