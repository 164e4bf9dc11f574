/*
 * interpreter.h - is a native function part of running Python code?
 */
#ifndef ISC_ANALYZE_CODE_INTERPRETER_H
#define ISC_ANALYZE_CODE_INTERPRETER_H

#include "trace/frame.h"

/* In the interpreter itself, also where no frame is above it; or in the C library, which a Python function that is above
 * it uses for its own objects: adding numbers, looking up names, allocating.  Other libraries do work of their own. */
bool isc_interpreter_is(const isc_frame *frame);

#endif
