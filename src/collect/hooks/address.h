/*
 * address.h - addresses of sockets as text: "127.0.0.1:80", "[fe80:...]:80", a path, or "@name" of one
 * that is no file.
 *
 * An IPv4 address in an IPv6 socket reads as the IPv4 address, so that both ends give it the same text.
 * Signal-safe, all of it.
 */
#ifndef ISC_COLLECT_HOOKS_ADDRESS_H
#define ISC_COLLECT_HOOKS_ADDRESS_H

#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

typedef union isc_address {
	sa_family_t family;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	struct sockaddr_un un;
} isc_address;

#define ISC_ADDRESS_TEXT 128u /* room that every one of them fits into */

/* Of one of len bytes; how long the text is, 0: it says nothing. */
size_t isc_address_text(char to[ISC_ADDRESS_TEXT], const isc_address *at, size_t len);

/* One of many: the end with the higher port, which is the one that the kernel chose, loses it ("127.0.0.1:*"). */
void isc_address_fold(char local[ISC_ADDRESS_TEXT], size_t *local_len, char peer[ISC_ADDRESS_TEXT], size_t *peer_len);

/* Decimal, with a NUL behind it; where that stands. */
char *isc_address_number(char *to, unsigned n);

#endif
