/*
 * layout.h - tells the sampler how this interpreter keeps its frames.
 */
#ifndef ISC_PYTHON_LAYOUT_H
#define ISC_PYTHON_LAYOUT_H

#include <stdbool.h>

/* From Python code, with the GIL: reads the stack that leads here as samples would,
 * and only if that is right hands the layout over. */
bool isc_layout_tell(void);

/* The same, where the session wants it. */
void isc_layout_begin(void);

#endif
