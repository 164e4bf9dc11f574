/*
 * failing_alloc.h - let the n-th allocation fail.
 *
 * Link with -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc: calls from objects
 * and static libraries of the test then come through here.  Works beside the
 * sanitizers, which keep their own allocator.
 */
#ifndef ISC_TESTS_FAILING_ALLOC_H
#define ISC_TESTS_FAILING_ALLOC_H

#include <stdbool.h>

/* The n-th allocation from now on fails, counted from 1, and with `all` every one
 * behind it too.  0: none fails. */
void failing_alloc_set(unsigned long n, bool all);

/* Has it failed since? */
bool failing_alloc_hit(void);

#endif
