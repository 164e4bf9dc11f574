/* A scope of C++ ends with its block, however that is left. */
#include <inferscope/mark.h>

#include <cstdio>
#include <stdexcept>
#include <type_traits>

static void fails()
{
	inferscope::scope outer("outer");
	inferscope::scope inner("inner");

	throw std::runtime_error("mine");
}

int main()
{
	static_assert(!std::is_copy_constructible<inferscope::scope>::value, "left once");
	try {
		fails();
	} catch (const std::runtime_error &error) {
		std::puts(error.what());
	}
	for (int i = 0; i < 3; i++)
		inferscope::scope turn("turn");
	ISC_SCOPE("macro");
	return 0;
}
