/*
 * namer.h - names for the native places that samples met.
 *
 * The files of the program may be gone when the trace is read, so the recorder
 * looks functions up while it runs and writes their names as definitions of its
 * own.  It works in small turns, as one library may have half a million of them.
 */
#ifndef ISC_SESSION_NAMER_H
#define ISC_SESSION_NAMER_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/writer.h"

typedef struct isc_namer isc_namer;

isc_namer *isc_namer_new(void);	   /* NULL: no memory */
void isc_namer_free(isc_namer *n); /* NULL is fine */

/* Told of every definition that the program made. */
void isc_namer_define(isc_namer *n, uint32_t process, uint32_t id, uint16_t type, const void *data, uint32_t len);

/* Names what waits, until this time (CLOCK_MONOTONIC); *left says whether more does. */
isc_status isc_namer_work(isc_namer *n, isc_writer *writer, uint64_t until_ns, bool *left, isc_error *err);

#endif
