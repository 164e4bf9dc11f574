/*
 * cuda_driver.h - is there a CUDA driver for programs that are started here?
 */
#ifndef ISC_SESSION_LAUNCH_CUDA_DRIVER_H
#define ISC_SESSION_LAUNCH_CUDA_DRIVER_H

#include <stdbool.h>
#include <stddef.h>

/* Looked for where drivers are, on LD_LIBRARY_PATH and in what the loader knows; not loaded, for its initialiser may
 * run for seconds.  out: where. */
bool isc_cuda_driver_find(char *out, size_t room);

/* Has somebody named what the driver is to load? */
bool isc_cuda_is_taken(void);

/* Is there a CUPTI for it, as far as can be seen from outside?  python: that runs the program, whose packages may
 * bring one; "": none. */
bool isc_cuda_cupti_here(const char *python);

#endif
