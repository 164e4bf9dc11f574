/* hot_line.c - spends half a second of CPU time in one function. */
#include <stdio.h>
#include <time.h>

static volatile unsigned long sum;

static __attribute__((noinline)) void hot_function(void)
{
	for (int i = 0; i < 1000000; i++)
		sum += (unsigned long)i;
}

int main(void)
{
	while ((double)clock() / CLOCKS_PER_SEC < 0.5)
		hot_function();
	puts("done");
	return 0;
}
