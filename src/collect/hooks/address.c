#include "collect/hooks/address.h"

#include <stdint.h>
#include <string.h>

_Static_assert(ISC_ADDRESS_TEXT > sizeof(((struct sockaddr_un *)0)->sun_path), "room for a path");

char *isc_address_number(char *to, unsigned n)
{
	char digits[12];
	size_t len = 0;

	do
		digits[len++] = (char)('0' + n % 10);
	while ((n /= 10) != 0);
	while (len > 0)
		*to++ = digits[--len];
	*to = 0;
	return to;
}

static char *put_inet(char *to, const uint8_t *address, in_port_t port)
{
	for (int i = 0; i < 4; i++) {
		to = isc_address_number(to, address[i]);
		*to++ = i < 3 ? '.' : ':';
	}
	return isc_address_number(to, ntohs(port));
}

static char *put_inet6(char *to, const uint8_t *address, in_port_t port)
{
	static const char hex[] = "0123456789abcdef";
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	if (memcmp(address, mapped, sizeof(mapped)) == 0)
		return put_inet(to, address + sizeof(mapped), port);
	*to++ = '[';
	for (int i = 0; i < 16; i++) {
		*to++ = hex[address[i] >> 4];
		*to++ = hex[address[i] & 15];
		if (i % 2 == 1 && i < 15)
			*to++ = ':';
	}
	*to++ = ']';
	*to++ = ':';
	return isc_address_number(to, ntohs(port));
}

/* A name that is no file begins with a NUL, and may hold more of them. */
static size_t put_unix(char *to, const struct sockaddr_un *at, size_t len)
{
	const char *path = at->sun_path;
	size_t n = len - offsetof(struct sockaddr_un, sun_path);

	if (n == 0)
		return 0;
	if (path[0] != 0)
		n = strnlen(path, n);
	memcpy(to, path, n);
	if (path[0] == 0)
		to[0] = '@';
	return n > 1 || to[0] != '@' ? n : 0;
}

size_t isc_address_text(char to[ISC_ADDRESS_TEXT], const isc_address *at, size_t len)
{
	len = len < sizeof(*at) ? len : sizeof(*at);
	if (len < sizeof(at->family))
		return 0;
	if (at->family == AF_UNIX)
		return put_unix(to, &at->un, len < sizeof(at->un) ? len : sizeof(at->un));
	if (at->family == AF_INET && len >= sizeof(at->in))
		return (size_t)(put_inet(to, (const uint8_t *)&at->in.sin_addr, at->in.sin_port) - to);
	if (at->family == AF_INET6 && len >= sizeof(at->in6))
		return (size_t)(put_inet6(to, (const uint8_t *)&at->in6.sin6_addr, at->in6.sin6_port) - to);
	return 0;
}

/* Where its port begins; *port is 0 where there is none. */
static size_t port_of(const char *text, size_t len, unsigned *port)
{
	size_t at = len;

	while (at > 0 && text[at - 1] >= '0' && text[at - 1] <= '9')
		at--;
	*port = 0;
	for (size_t i = at; i < len; i++)
		*port = *port * 10 + (unsigned)(text[i] - '0');
	return at;
}

void isc_address_fold(char local[ISC_ADDRESS_TEXT], size_t *local_len, char peer[ISC_ADDRESS_TEXT], size_t *peer_len)
{
	unsigned local_port, peer_port;
	size_t local_at = port_of(local, *local_len, &local_port), peer_at = port_of(peer, *peer_len, &peer_port);

	if (peer_port == 0)
		return;
	if (local_port > peer_port) {
		local[local_at] = '*';
		*local_len = local_at + 1;
	} else {
		peer[peer_at] = '*';
		*peer_len = peer_at + 1;
	}
}
