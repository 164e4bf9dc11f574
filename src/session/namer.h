/*
 * namer.h - names for the native places that samples met.
 *
 * The files of the program may be gone when the trace is read, so the recorder
 * looks functions up while it runs and writes their names as definitions of its
 * own.  One library may have half a million of them, and programs want their
 * CPUs: a thread that gives way to everybody does it.
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

/* Writes the names that were found since the last time. */
isc_status isc_namer_write(isc_namer *n, isc_writer *writer, isc_error *err);

/* Nobody is in the way any more: finds all that waits, until this time (CLOCK_MONOTONIC), and writes it. */
isc_status isc_namer_finish(isc_namer *n, isc_writer *writer, uint64_t until_ns, isc_error *err);

#endif
