/*
 * environment.c - the hook on getenv, by which NVTX finds us.
 *
 * A variable would be seen by every program that prints its environment.
 */
#include "collect/hook.h"

#include <stdlib.h>
#include <string.h>

#include "collect/nvtx.h"

ISC_HOOK char *getenv(const char *name)
{
	char *value = ISC_REAL(getenv)(name);

	if (value != NULL || name[0] != ISC_NVTX_VARIABLE[0] || strcmp(name, ISC_NVTX_VARIABLE) != 0)
		return value;
	/* The result of getenv is not the caller's to change. */
	return (char *)(uintptr_t)isc_nvtx_path();
}
