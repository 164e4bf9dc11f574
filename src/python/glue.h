/*
 * glue.h - teaches the sampler what of the interpreter says nothing about a program.
 */
#ifndef ISC_PYTHON_GLUE_H
#define ISC_PYTHON_GLUE_H

#include <stdbool.h>

/* Calls Python in the ways that programs do and lets the runtime look at the C functions between.  With hooks (traced),
 * if there are any, as they change the way.  Not while a profiler or debugger of the program watches: it must not see
 * calls that the program did not make.  Leaves no error behind. */
void isc_glue_learn(bool traced);

#endif
