/*
 * cuda.h - the part that watches CUDA, in a process that had CUDA before anybody wanted
 * to know.  It lies beside the runtime, and is loaded when it is asked for and the CUDA
 * driver is in the process; if the driver comes later, it loads the part itself.
 */
#ifndef ISC_PYTHON_CUDA_H
#define ISC_PYTHON_CUDA_H

/* The state of the collector (enum isc_cuda_state); 0: CUDA is not in this process, or is not recorded.
 * Not signal-safe, as the others here; they may call into the driver and wait for it. */
int isc_cuda_part_start(void);

/* What the devices have done so far, into the trace. */
void isc_cuda_part_flush(void);

/* The same, and in a session that this process began nothing is watched from now on. */
void isc_cuda_part_stop(void);

#endif
