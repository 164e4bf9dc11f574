/*
 * moment.h - a moment of a trace as people write it: seconds from its start, or
 * with a unit: 1.5, 200ms, 1500us, 3s.
 */
#ifndef ISC_CLI_MOMENT_H
#define ISC_CLI_MOMENT_H

#include "cli/options.h"

isc_status isc_moment_parse(const isc_option *option, const char *value, double *us, isc_error *err);

#endif
