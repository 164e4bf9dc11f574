/*
 * named_function.h - a function of the test program, and where it lies in its file.
 */
#ifndef ISC_TEST_NAMED_FUNCTION_H
#define ISC_TEST_NAMED_FUNCTION_H

#include <link.h>
#include <stdint.h>

int isc_test_named_function(int n);

int __attribute__((noinline)) isc_test_named_function(int n)
{
	return n * 3 + 1;
}

static int take_bias(struct dl_phdr_info *info, size_t size, void *bias)
{
	(void)size;
	*(uint64_t *)bias = info->dlpi_addr;
	return 1;
}

static uint64_t named_function_offset(void)
{
	uint64_t bias = 0;

	dl_iterate_phdr(take_bias, &bias);
	return (uint64_t)(uintptr_t)isc_test_named_function - bias;
}

#endif
