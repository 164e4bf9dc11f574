/*
 * status.h - fill an isc_error and return its status in one expression.
 *
 *	return isc_fail(err, ISC_ERR_CORRUPT, "chunk %u has no payload", n);
 *
 * err may be NULL everywhere.  The hint is set apart with isc_hint().
 */
#ifndef ISC_BASE_STATUS_H
#define ISC_BASE_STATUS_H

#include "inferscope/status.h"

isc_status isc_fail(isc_error *err, isc_status status, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Appends ": " and the text of errno; EACCES and EPERM become ISC_ERR_DENIED,
 * ENOENT ISC_ERR_ABSENT, ENOMEM ISC_ERR_NOMEM, all others ISC_ERR_SYSTEM. */
isc_status isc_fail_errno(isc_error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Says what to do next; keeps what isc_fail() wrote. */
void isc_hint(isc_error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
