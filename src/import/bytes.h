/*
 * bytes.h - the bytes of a file from its beginning to its end, unpacked when it
 * is gzip, in bounded memory.
 *
 * A packed file is not trusted: what it unpacks to is bounded, and where it is
 * damaged the reader goes on with the next member, if there is one.
 */
#ifndef ISC_IMPORT_BYTES_H
#define ISC_IMPORT_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Traces pack 10 to 40 times; what unpacks further, once past the free part, is made to harm. */
#define ISC_BYTES_RATIO_MOST 250u
#define ISC_BYTES_RATIO_FREE (256u << 20)

typedef struct isc_bytes isc_bytes;

typedef struct isc_bytes_stats {
	uint64_t file_bytes; /* 0: not known, as of a pipe */
	uint64_t read_bytes; /* of the file */
	uint64_t given_bytes;
	bool packed;
	bool cut;	     /* the packed data ends too early */
	bool bomb;	     /* it unpacks to more than is allowed */
	uint64_t damages;    /* places where the packed data is wrong */
	uint64_t lost_bytes; /* of the file, packed */
	uint64_t first_damage;
} isc_bytes_stats;

isc_status isc_bytes_open(const char *path, isc_bytes **out, isc_error *err);
/* The same of a descriptor, which stays the caller's. */
isc_status isc_bytes_open_fd(int fd, const char *path, isc_bytes **out, isc_error *err);
void isc_bytes_close(isc_bytes *b); /* NULL is fine */

/* The first bytes, 4 KiB or all there are; they are read again after that. */
isc_status isc_bytes_peek(isc_bytes *b, const char **at, size_t *len, isc_error *err);

/* At most room bytes; *got 0: the end. */
isc_status isc_bytes_read(isc_bytes *b, char *at, size_t room, size_t *got, isc_error *err);

const isc_bytes_stats *isc_bytes_stats_get(const isc_bytes *b);

#endif
