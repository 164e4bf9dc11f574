/*
 * deep.h - calls into libraries that need a deep stack.
 *
 * libdw puts tables of lines on the stack, and the demangler goes as deep as a name is nested:
 * both overrun the stack where `ulimit -s` is small, or of a thread that was given a small one.
 */
#ifndef ISC_SYMBOL_DEEP_H
#define ISC_SYMBOL_DEEP_H

#include <stdbool.h>
#include <stddef.h>

#define ISC_DEEP_STACK_BYTES ((size_t)8 << 20) /* for a thread that makes such calls all the time */

/* Makes the call here when the stack has room for it, else on a thread of its own, and waits for it.
 * False: there is neither, and nothing was called. */
bool isc_deep_call(void (*call)(void *self), void *self);

#endif
