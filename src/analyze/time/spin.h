/*
 * spin.h - does native code wait for other threads without giving up its CPU?  By
 * the name of the function and its library: of OpenMP's and of loops that yield.
 */
#ifndef ISC_ANALYZE_TIME_SPIN_H
#define ISC_ANALYZE_TIME_SPIN_H

#include "trace/frame.h"

/* The newest frame of a sample. */
bool isc_spin_is(const isc_frame *frame);

#endif
