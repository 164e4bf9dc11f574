#include "base/clock.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define PAIR_TRIES 16
#define RATE_NS 1000000u /* off by 1 in 1,000 at most, if a pair is off by a microsecond */
#define SOURCE_MONOTONIC 0u
#define SOURCE_TSC 1u

static uint64_t read_clock(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t isc_clock_mono_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

uint64_t isc_clock_unix_ns(void)
{
	return read_clock(CLOCK_REALTIME);
}

uint64_t isc_clock_thread_ns(void)
{
	return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

uint32_t isc_clock_source(void)
{
#if defined(__x86_64__)
	char name[16] = "";
	FILE *f = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");

	if (f == NULL)
		return SOURCE_MONOTONIC;
	if (fgets(name, sizeof(name), f) == NULL)
		name[0] = 0;
	fclose(f);
	return strcmp(name, "tsc\n") == 0 ? SOURCE_TSC : SOURCE_MONOTONIC;
#else
	return SOURCE_MONOTONIC;
#endif
}

uint64_t isc_clock_ticks(uint32_t source)
{
#if defined(__x86_64__)
	if (source == SOURCE_TSC)
		return __builtin_ia32_rdtsc();
#endif
	(void)source;
	return isc_clock_mono_ns();
}

isc_clock_pair isc_clock_read_pair(uint32_t source)
{
	isc_clock_pair best = {0, 0};
	uint64_t narrowest = UINT64_MAX;

	if (source == SOURCE_MONOTONIC) {
		best.ticks = best.mono_ns = isc_clock_mono_ns();
		return best;
	}
	/* The pair whose two tick reads lie closest together was not interrupted. */
	for (int i = 0; i < PAIR_TRIES; i++) {
		uint64_t before = isc_clock_ticks(source);
		uint64_t ns = isc_clock_mono_ns();
		uint64_t after = isc_clock_ticks(source);

		if (after - before < narrowest) {
			narrowest = after - before;
			best = (isc_clock_pair){before + (after - before) / 2, ns};
		}
	}
	return best;
}

uint32_t isc_clock_per_us(uint32_t source, isc_clock_pair since)
{
	isc_clock_pair now;

	if (source == SOURCE_MONOTONIC)
		return 1000;
	do
		now = isc_clock_read_pair(source);
	while (now.mono_ns - since.mono_ns < RATE_NS);
	return (uint32_t)((now.ticks - since.ticks) * 1000 / (now.mono_ns - since.mono_ns));
}

static uint64_t along(const isc_clock_pair *a, const isc_clock_pair *b, const isc_clock_pair *from, uint64_t ticks)
{
	/* 128-bit products: ticks of years times ns of years. */
	unsigned __int128 rise = b->mono_ns - a->mono_ns;
	uint64_t run = b->ticks - a->ticks;

	if (ticks >= from->ticks)
		return from->mono_ns + (uint64_t)((ticks - from->ticks) * rise / run);
	uint64_t back = (uint64_t)((from->ticks - ticks) * rise / run);
	return back < from->mono_ns ? from->mono_ns - back : 0;
}

uint64_t isc_clock_to_ns(const isc_clock_pair *pairs, size_t n, uint32_t source, uint64_t ticks)
{
	size_t low = 0, high = n;

	if (source == SOURCE_MONOTONIC || n == 0)
		return ticks;
	if (n == 1 || pairs[n - 1].ticks <= pairs[0].ticks || pairs[n - 1].mono_ns < pairs[0].mono_ns)
		return pairs[0].mono_ns;
	if (ticks <= pairs[0].ticks)
		return along(&pairs[0], &pairs[n - 1], &pairs[0], ticks);
	if (ticks >= pairs[n - 1].ticks)
		return along(&pairs[0], &pairs[n - 1], &pairs[n - 1], ticks);
	while (high - low > 1) {
		size_t mid = low + (high - low) / 2;

		if (pairs[mid].ticks <= ticks)
			low = mid;
		else
			high = mid;
	}
	/* Sorted by ticks, so high.ticks > low.ticks; times may be equal but never fall. */
	if (pairs[high].mono_ns < pairs[low].mono_ns)
		return pairs[low].mono_ns;
	return along(&pairs[low], &pairs[high], &pairs[low], ticks);
}
