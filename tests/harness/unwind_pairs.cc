// unwind_pairs.cc COUNT - walks the same stacks with our unwinder and with libunwind, from a signal at any instruction.
//
// Prints how many stacks were compared, how many have the same return addresses all the way down, how many of ours have
// frames that were guessed, how many chains were taken, and the first few that differ.  Exits with 77 where there is no libunwind.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <regex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <ucontext.h>
#include <unistd.h>

extern "C" {
#include "own_stack.h"
#include "collect/unwind/chain.h"
}

namespace
{

constexpr int kFrames = ISC_UNWIND_FRAMES;
constexpr int kIp = 16;		 // UNW_X86_64_RIP
constexpr int kSignalFrame = 1; // UNW_INIT_SIGNAL_FRAME: the first ip is no return address

// Its public structures, as libunwind.h lays them out; the library is used without its headers.
struct Cursor {
	unsigned long opaque[127];
};
int (*init)(Cursor *, void *, int);
int (*step)(Cursor *);
int (*get)(Cursor *, int, unsigned long *);

std::atomic<long> compared, same, guessed, cut, chained;
std::atomic<int> shown;

thread_local uintptr_t stack_high;
thread_local isc_unwind ours;
thread_local uintptr_t mine[kFrames]; // its frames, one by one
thread_local int found;

void show(const unsigned long *theirs, int n)
{
	if (shown.fetch_add(1) >= 3)
		return;
	for (int i = 0; i < n || i < found; i++) {
		Dl_info a{}, b{};
		unsigned long one = i < found ? mine[i] : 0, other = i < n ? theirs[i] : 0;

		dladdr(reinterpret_cast<void *>(one), &a);
		dladdr(reinterpret_cast<void *>(other), &b);
		fprintf(stderr, "%2d %16lx %-40s %16lx %s\n", i, one, a.dli_sname ? a.dli_sname : "?", other,
			b.dli_sname ? b.dli_sname : "?");
	}
	fprintf(stderr, "\n");
}

// Every frame counts.
uint64_t key_of(const isc_unwind *, const isc_native_frame *f)
{
	return f->ip | 1ull << 63;
}

// The frames one by one: those of chains were not walked.
void expand()
{
	found = 0;
	for (int i = 0; i < ours.n; i++) {
		if (ours.frame[i].flags & ISC_NATIVE_CHAIN) {
			int more = isc_chain_frames(&ours, &ours.frame[i], mine + found, kFrames - found);

			chained += more > 0;
			found += more > 0 ? more : 0;
		} else if (found < kFrames) {
			mine[found++] = ours.frame[i].ip;
		}
	}
}

void on_tick(int, siginfo_t *, void *context)
{
	unsigned long theirs[kFrames];
	isc_unwind_start start = isc_unwind_registers(context);
	Cursor cursor;
	int n = 0, error = errno;
	bool equal;

	if (stack_high == 0)
		return;
	memset(&ours, 0, offsetof(isc_unwind, frame));
	ours.low = start.sp & ~static_cast<uintptr_t>(7);
	ours.high = stack_high;
	ours.key = key_of;
	isc_unwind_walk(&ours, &start, kFrames);
	expand();
	if (init(&cursor, context, kSignalFrame) == 0) {
		do {
			if (get(&cursor, kIp, &theirs[n]) != 0 || theirs[n] == 0)
				break;
			n++;
		} while (n < kFrames && step(&cursor) > 0);
	}
	compared++;
	// A thread's first frame has no caller, and one of the two may end before it.
	equal = n > 0 && abs(n - found) <= 1;
	for (int i = 0; equal && i < n && i < found; i++)
		equal = theirs[i] == mine[i];
	same += equal;
	cut += ours.end == ISC_UNWIND_CUT;
	for (int i = 0; i < ours.n; i++) {
		if (ours.frame[i].flags & ISC_NATIVE_GUESSED) {
			guessed++;
			break;
		}
	}
	if (!equal)
		show(theirs, n);
	errno = error;
}

// ---- what C++ programs do --------------------------------------------------------

struct Shape {
	virtual ~Shape() = default;
	virtual double area(int n) const = 0;
};

struct Square : Shape {
	double area(int n) const override
	{
		volatile double sum = 0;

		for (int i = 0; i < n; i++)
			sum = sum + i * 0.5;
		return sum;
	}
};

struct Nested : Shape {
	std::unique_ptr<Shape> inner;

	explicit Nested(std::unique_ptr<Shape> s) : inner(std::move(s)) {}
	double area(int n) const override
	{
		return inner->area(n) + 1;
	}
};

std::unique_ptr<Shape> nest(int depth)
{
	if (depth == 0)
		return std::make_unique<Square>();
	return std::make_unique<Nested>(nest(depth - 1));
}

__attribute__((noinline)) int thrower(int n)
{
	std::string held(static_cast<size_t>(n) + 40, 'x');

	if (n == 0)
		throw std::runtime_error(held);
	return thrower(n - 1) + static_cast<int>(held.size());
}

__attribute__((noinline)) int catcher(int n)
{
	try {
		return thrower(n);
	} catch (const std::exception &e) {
		return static_cast<int>(strlen(e.what()));
	}
}

template <int N> struct Deep {
	__attribute__((noinline)) static int run(int n)
	{
		return Deep<N - 1>::run(n + 1) + N;
	}
};

template <> struct Deep<0> {
	__attribute__((noinline)) static int run(int n)
	{
		volatile int x = 0;

		for (int i = 0; i < 2000; i++)
			x = x + n;
		return x;
	}
};

__attribute__((noinline)) double aligned(size_t n)
{
	alignas(64) volatile double line[8] = {};
	volatile char *room = static_cast<volatile char *>(__builtin_alloca(n));

	for (int i = 0; i < 500; i++) {
		line[i % 8] = line[(i + 1) % 8] + i;
		room[static_cast<size_t>(i) % n] = 1;
	}
	return line[3] + room[0];
}

int compare_ints(const void *a, const void *b)
{
	return *static_cast<const int *>(a) - *static_cast<const int *>(b);
}

volatile double sink;

void work(long count)
{
	std::vector<int> numbers(3000);
	std::map<std::string, int> words;
	std::unique_ptr<Shape> shape = nest(20);
	std::function<int(int)> fibonacci = [&](int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); };

	stack_high = own_stack_end();
	while (compared < count) {
		std::iota(numbers.begin(), numbers.end(), 0);
		std::sort(numbers.begin(), numbers.end(), [](int a, int b) { return a % 97 < b % 97; });
		qsort(numbers.data(), numbers.size(), sizeof(int), compare_ints);
		for (int i = 0; i < 200; i++)
			words["word " + std::to_string(i * 7919 % 500)] += i;
		sink = shape->area(3000) + catcher(12) + Deep<30>::run(1) + aligned(300) + fibonacci(14);
		sink = sink + std::regex_search("aaaaaaaaaaaaaaaab", std::regex("(a*)*c?b"));
	}
	stack_high = 0;
}

} // namespace

int main(int argc, char **argv)
{
	void *library = dlopen("libunwind.so.8", RTLD_NOW);
	long count = argc > 1 ? atol(argv[1]) : 1000;
	struct sigaction action = {};

	if (library == nullptr || !isc_unwind_begin())
		return 77;
	*reinterpret_cast<void **>(&init) = dlsym(library, "_ULx86_64_init_local2");
	*reinterpret_cast<void **>(&step) = dlsym(library, "_ULx86_64_step");
	*reinterpret_cast<void **>(&get) = dlsym(library, "_ULx86_64_get_reg");
	if (init == nullptr || step == nullptr || get == nullptr)
		return 77;
	action.sa_sigaction = on_tick;
	action.sa_flags = SA_SIGINFO | SA_RESTART;
	sigaction(SIGPROF, &action, nullptr);
	std::thread workers[] = {std::thread(work, count), std::thread(work, count)};
	// Most arrive while the thread waits for a CPU, wherever it was taken from.
	while (compared < count) {
		for (std::thread &worker : workers)
			pthread_kill(worker.native_handle(), SIGPROF);
		usleep(100);
	}
	for (std::thread &worker : workers)
		worker.join();
	printf("%ld %ld %ld %ld %ld\n", compared.load(), same.load(), guessed.load(), cut.load(), chained.load());
	return 0;
}
