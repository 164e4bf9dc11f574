/*
 * inferscope.h - all of libinferscope.
 *
 * mark.h needs no library.  The others are linked with -linferscope.
 */
#ifndef INFERSCOPE_INFERSCOPE_H
#define INFERSCOPE_INFERSCOPE_H

#include "inferscope/analysis.h"
#include "inferscope/mark.h"
#include "inferscope/profiler.h"
#include "inferscope/report.h"
#include "inferscope/status.h"
#include "inferscope/trace.h"

#endif
