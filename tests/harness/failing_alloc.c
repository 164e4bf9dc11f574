#include "failing_alloc.h"

#include <stddef.h>

static unsigned long left;
static bool every, hit;

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);

void failing_alloc_set(unsigned long n, bool all)
{
	left = n;
	every = all;
	hit = false;
}

bool failing_alloc_hit(void)
{
	return hit;
}

static bool fails(void)
{
	if (left == 0)
		return false;
	if (left > 1) {
		left--;
		return false;
	}
	left = every ? 1 : 0;
	hit = true;
	return true;
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t size)
{
	return fails() ? NULL : __real_realloc(p, size);
}
