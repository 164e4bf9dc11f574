/*
 * glue.h - teaches the sampler what of the interpreter says nothing about a program.
 */
#ifndef ISC_PYTHON_GLUE_H
#define ISC_PYTHON_GLUE_H

#include <stdbool.h>

/* Calls Python in the ways that programs do and lets the runtime look at the C functions between.  Once before there are
 * hooks and, traced, once more with them, as they change the way: isc_glue_again().  Leaves no error behind. */
void isc_glue_learn(bool traced);
void isc_glue_again(void);

#endif
