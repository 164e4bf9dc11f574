#include "symbol/demangle.h"

#include <stddef.h>
#include <string.h>

#define NAME_MAX_LENGTH 4096u /* longer ones are templates that nobody reads */

#if ISC_HAS_IBERTY

#include <libiberty/demangle.h>

char *isc_demangle(const char *name)
{
	char *plain = NULL;

	if (strnlen(name, NAME_MAX_LENGTH) == NAME_MAX_LENGTH)
		return NULL;
	/* Rust's old names look like those of C++, with a hash at their end. */
	if (strncmp(name, "_R", 2) == 0 || strncmp(name, "_ZN", 3) == 0)
		plain = rust_demangle(name, DMGL_NO_OPTS);
	if (plain == NULL && strncmp(name, "_Z", 2) == 0)
		plain = cplus_demangle_v3(name, DMGL_NO_OPTS);
	return plain;
}

char *isc_demangle_kernel(const char *name)
{
	if (strnlen(name, NAME_MAX_LENGTH) == NAME_MAX_LENGTH || strncmp(name, "_Z", 2) != 0)
		return NULL;
	return cplus_demangle_v3(name, DMGL_PARAMS | DMGL_ANSI);
}

#else

char *isc_demangle(const char *name)
{
	(void)name;
	return NULL;
}

char *isc_demangle_kernel(const char *name)
{
	(void)name;
	return NULL;
}

#endif
