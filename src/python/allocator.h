/*
 * allocator.h - memory by Python's own allocators, where the hooks on malloc() are not in front.
 */
#ifndef ISC_PYTHON_ALLOCATOR_H
#define ISC_PYTHON_ALLOCATOR_H

#include <stdbool.h>

/* One more wants to know, or one less.  With the GIL.  False: memory is not told of by Python here. */
bool isc_allocator_begin(void);
void isc_allocator_end(void);

/* In a fork child: only the session still wants it, if it did. */
void isc_allocator_forked(bool session);

#endif
