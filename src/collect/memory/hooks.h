/*
 * hooks.h - memory for whoever asks before the program's allocator is known.
 *
 * Looking the allocator up may itself allocate.  What is asked for meanwhile
 * comes from a small arena of ours and stays there.
 */
#ifndef ISC_COLLECT_MEMORY_HOOKS_H
#define ISC_COLLECT_MEMORY_HOOKS_H

/* Around a lookup of a real function, on any thread; they nest. */
void isc_alloc_lookup_begin(void);
void isc_alloc_lookup_end(void);

#endif
