#include "session/machine/fault_cost.h"

#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"

#define PAGES 32u
#define TRIES 3u

/* The least of a few: what else the machine does only adds to it. */
uint64_t isc_fault_cost_ns(void)
{
	size_t page = (size_t)getpagesize();
	uint64_t least = 0;

	for (unsigned i = 0; i < TRIES; i++) {
		char *at = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		uint64_t begin, ns;

		if (at == MAP_FAILED)
			break;
		madvise(at, PAGES * page, MADV_NOHUGEPAGE);
		begin = isc_clock_mono_ns();
		for (size_t n = 0; n < PAGES; n++)
			*(volatile char *)(at + n * page) = 1;
		ns = isc_clock_mono_ns() - begin;
		munmap(at, PAGES * page);
		least = least == 0 || ns < least ? ns : least;
	}
	return least / PAGES;
}
