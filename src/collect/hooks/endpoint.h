/*
 * endpoint.h - what a descriptor leads to, as the kernel says it: the bytes of an ISC_DEF_CHANNEL.
 *
 * One system call tells files from the rest, two or three more tell the ends of a socket.  None of them
 * changes anything, blocks, or takes an error that is the program's to see.  Signal-safe, all of it.
 */
#ifndef ISC_COLLECT_HOOKS_ENDPOINT_H
#define ISC_COLLECT_HOOKS_ENDPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/record.h"
#include "collect/hooks/address.h"

typedef struct isc_endpoint {
	isc_def_channel head;
	char text[2 * ISC_ADDRESS_TEXT]; /* local address, peer's */
	uint64_t file;			 /* isc_endpoint_file() */
} isc_endpoint;

/* A number that tells open files apart, as far as device and inode do; 0: the descriptor is not open. */
uint64_t isc_endpoint_file(int fd);

/* false: a file, a terminal, a timer ... nobody is at the other end, and only out->file is said. */
bool isc_endpoint_look(int fd, isc_endpoint *out);

/* One of many: leaves what they have in common. */
void isc_endpoint_fold(isc_endpoint *e);

/* Of its bytes. */
static inline size_t isc_endpoint_size(const isc_endpoint *e)
{
	return sizeof(e->head) + e->head.local_len + e->head.peer_len;
}

#endif
