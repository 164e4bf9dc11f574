#include "symbol/demangle.h"

#include <stddef.h>
#include <string.h>

#define NAME_MAX_LENGTH 4096u /* longer ones are templates that nobody reads */

#if ISC_HAS_IBERTY

#include <libiberty/demangle.h>

#include "symbol/deep.h"

struct demangling {
	const char *name;
	char *plain;
};

static void demangle_function(void *self)
{
	struct demangling *d = self;

	/* Rust's old names look like those of C++, with a hash at their end. */
	if (strncmp(d->name, "_R", 2) == 0 || strncmp(d->name, "_ZN", 3) == 0)
		d->plain = rust_demangle(d->name, DMGL_NO_OPTS);
	if (d->plain == NULL && strncmp(d->name, "_Z", 2) == 0)
		d->plain = cplus_demangle_v3(d->name, DMGL_NO_OPTS);
}

static void demangle_kernel(void *self)
{
	struct demangling *d = self;

	d->plain = cplus_demangle_v3(d->name, DMGL_PARAMS | DMGL_ANSI);
}

char *isc_demangle(const char *name)
{
	struct demangling d = {name, NULL};

	if (strnlen(name, NAME_MAX_LENGTH) == NAME_MAX_LENGTH ||
	    (strncmp(name, "_R", 2) != 0 && strncmp(name, "_Z", 2) != 0))
		return NULL;
	isc_deep_call(demangle_function, &d);
	return d.plain;
}

char *isc_demangle_kernel(const char *name)
{
	struct demangling d = {name, NULL};

	if (strnlen(name, NAME_MAX_LENGTH) == NAME_MAX_LENGTH || strncmp(name, "_Z", 2) != 0)
		return NULL;
	isc_deep_call(demangle_kernel, &d);
	return d.plain;
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
