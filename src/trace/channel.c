#include "trace/channel.h"

#include <string.h>

bool isc_trace_channel_read(const void *data, uint32_t len, isc_trace_channel *out)
{
	const char *text = (const char *)data + sizeof(out->def);

	if (data == NULL || len < sizeof(out->def))
		return false;
	memcpy(&out->def, data, sizeof(out->def));
	len -= (uint32_t)sizeof(out->def);
	out->def.local_len = out->def.local_len < len ? out->def.local_len : (uint16_t)len;
	len -= out->def.local_len;
	out->def.peer_len = out->def.peer_len < len ? out->def.peer_len : (uint16_t)len;
	out->local = (isc_text){text, out->def.local_len};
	out->peer = (isc_text){text + out->def.local_len, out->def.peer_len};
	return true;
}

bool isc_trace_channel_get(const isc_trace *tr, uint32_t process, uint32_t id, isc_trace_channel *out)
{
	uint32_t len = 0;
	const void *data = isc_trace_define(tr, process, id, ISC_DEF_CHANNEL, &len);

	return isc_trace_channel_read(data, len, out);
}

bool isc_trace_waker(const isc_event *ev, isc_waker *out)
{
	if (ev->kind != ISC_KIND_WAIT_EXIT || ev->extra_len < sizeof(isc_wait) + sizeof(*out))
		return false;
	memcpy(out, (const char *)ev->extra + sizeof(isc_wait), sizeof(*out));
	return true;
}

uint64_t isc_trace_left_out(const isc_event *ev)
{
	isc_left_out out = {0, 0};

	if ((ev->kind == ISC_KIND_SENT || ev->kind == ISC_KIND_GOT) && ev->extra_len >= sizeof(out))
		memcpy(&out, ev->extra, sizeof(out));
	return out.calls;
}

const char *isc_channel_kind_name(unsigned kind)
{
	static const char *const names[] = {[ISC_CHANNEL_PIPE] = "pipe",       [ISC_CHANNEL_UNIX] = "unix",
					    [ISC_CHANNEL_TCP] = "tcp",	       [ISC_CHANNEL_UDP] = "udp",
					    [ISC_CHANNEL_EVENTFD] = "eventfd", [ISC_CHANNEL_SOCKET] = "socket"};

	return kind < sizeof(names) / sizeof(names[0]) ? names[kind] : NULL;
}
