// families.cc MS - the same leaf by many ways: virtual calls, std::sort, std::function, exceptions, qsort, recursion, a thread.
// Each way has the same CPU time.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static volatile long sink;

static long long cpu_ns()
{
	timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static long long share_ns;

__attribute__((noinline)) int leaf(int n)
{
	for (int i = 0; i < 3000; i++)
		sink = sink + n;
	return n;
}

struct Animal {
	virtual ~Animal() = default;
	virtual int speak(int n) = 0;
};

struct Dog : Animal {
	__attribute__((noinline)) int speak(int n) override
	{
		return leaf(n) + 1;
	}
};

__attribute__((noinline)) int virtual_way(int n)
{
	static Dog dog;
	Animal *volatile animal = &dog;

	return animal->speak(n) + 1;
}

__attribute__((noinline)) int sort_way(int n)
{
	std::vector<int> numbers{3, 1, 2};

	std::sort(numbers.begin(), numbers.end(), [](int a, int b) { return leaf(a) < b; });
	return numbers[0] + n;
}

__attribute__((noinline)) int function_way(int n)
{
	std::function<int(int)> call = [](int m) { return leaf(m) + 2; };

	return call(n) + 1;
}

__attribute__((noinline)) static void throws(int n)
{
	std::string held(100, 'x');

	sink = leaf(n);
	throw std::runtime_error(held);
}

__attribute__((noinline)) int exception_way(int n)
{
	try {
		throws(n);
	} catch (const std::exception &) {
		return n;
	}
	return 0;
}

static int compare(const void *a, const void *b)
{
	return leaf(*static_cast<const int *>(a)) - *static_cast<const int *>(b);
}

__attribute__((noinline)) int qsort_way(int n)
{
	int numbers[] = {4, 3, 2, 1};

	qsort(numbers, 4, sizeof(int), compare);
	return numbers[0] + n;
}

__attribute__((noinline)) int recursive_way(int n)
{
	volatile int below = n % 25 == 0 ? leaf(n) : recursive_way(n + 1); // not the last thing it does

	return below + 1;
}

template <typename Way> __attribute__((noinline)) static void spend(Way way)
{
	long long end = cpu_ns() + share_ns;

	for (int n = 1; cpu_ns() < end; n++)
		sink = way(n);
}

static void work()
{
	spend(virtual_way);
	spend(sort_way);
	spend(function_way);
	spend(exception_way);
	spend(qsort_way);
	spend(recursive_way);
}

int main(int argc, char **argv)
{
	share_ns = (argc > 1 ? atoll(argv[1]) : 100) * 1000000;
	std::thread beside(work);
	work();
	beside.join();
	puts("done");
	return 0;
}
