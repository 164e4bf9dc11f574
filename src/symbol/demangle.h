/*
 * demangle.h - names of C++ and Rust functions, as they were written.
 */
#ifndef ISC_SYMBOL_DEMANGLE_H
#define ISC_SYMBOL_DEMANGLE_H

/* To be freed; NULL: the name is not mangled, too long, or nothing here can read it. */
char *isc_demangle(const char *name);

/* The same with the types of parameters: kernels are told apart by them. */
char *isc_demangle_kernel(const char *name);

#endif
