/* profiled.cc - a C++ program that profiles itself: names as they were written, and exceptions. */
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <thread>
#include <ctime>

#include "inferscope/profiler.h"

static volatile uint64_t sink;

static uint64_t cpu_ns()
{
	timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

namespace model
{
template <typename T> struct layer {
	__attribute__((noinline)) void forward(T ns)
	{
		uint64_t end = cpu_ns() + ns;

		while (cpu_ns() < end) {
			for (int i = 0; i < 2000; i++)
				sink = sink + (uint64_t)i;
		}
		throw std::runtime_error("through a sampled frame");
	}
};
} // namespace model

static void work()
{
	model::layer<uint64_t> l;

	for (int i = 0; i < 20; i++) {
		try {
			l.forward(10000000);
		} catch (const std::runtime_error &) {
			sink = sink + 1;
		}
	}
}

int main(int argc, char **argv)
{
	if (profiler_start() != 0)
		return 1;
	std::thread other(work);
	other.join();
	work();
	if (profiler_stop() != 0 || argc < 2 || profiler_write_json(argv[1]) != 0)
		return 2;
	std::printf("%lu\n", (unsigned long)profiler_get_state()->samples);
	return 0;
}
