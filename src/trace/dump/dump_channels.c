#include <inttypes.h>

#include "trace/channel.h"
#include "trace/dump/dump_text.h"

/* tcp "127.0.0.1:80" peer "127.0.0.1:40000" */
static void add_ends(struct dump *d, const isc_trace_channel *c)
{
	const char *kind = isc_channel_kind_name(c->def.kind);

	if (kind != NULL)
		isc_buffer_format(&d->line, " %s", kind);
	else
		isc_buffer_format(&d->line, " kind%u", c->def.kind);
	if (c->def.local_len != 0) {
		isc_buffer_text(&d->line, " ");
		isc_dump_quoted(d, c->local.at, c->local.len);
	}
	if (c->def.peer_len != 0) {
		isc_buffer_text(&d->line, " peer ");
		isc_dump_quoted(d, c->peer.at, c->peer.len);
	}
	if (c->def.folded != 0)
		isc_buffer_text(&d->line, " folded");
}

void isc_dump_channel(struct dump *d, uint32_t process, uint32_t id)
{
	isc_trace_channel c;

	if (isc_trace_channel_get(d->trace, process, id, &c))
		add_ends(d, &c);
	else
		isc_buffer_text(&d->line, " ?");
	isc_buffer_format(&d->line, " channel %u", id);
}

void isc_dump_channel_definition(struct dump *d, const void *data, uint32_t len)
{
	isc_trace_channel c;

	if (!isc_trace_channel_read(data, len, &c))
		return;
	add_ends(d, &c);
	if (c.def.inode != 0)
		isc_buffer_format(&d->line, " device %" PRIu64 " inode %" PRIu64, c.def.device, c.def.inode);
	if (c.def.peer_inode != 0)
		isc_buffer_format(&d->line, " peer_inode %" PRIu64, c.def.peer_inode);
	if (c.def.peer_pid != 0)
		isc_buffer_format(&d->line, " peer_pid %u", c.def.peer_pid);
}

void isc_dump_moved(struct dump *d, const isc_event *ev)
{
	uint32_t length = ISC_MOVED_LENGTH(ev->arg);
	uint64_t left_out = isc_trace_left_out(ev);

	isc_dump_channel(d, ev->process, ev->id);
	if (length != 0)
		isc_buffer_format(&d->line, " bytes %" PRIu64 "..%" PRIu64 " ticks %" PRIu64,
				  (uint64_t)1 << (length - 1), ((uint64_t)1 << length) - 1, isc_moved_ticks(ev->arg));
	if (left_out != 0)
		isc_buffer_format(&d->line, " left_out %" PRIu64, left_out);
}
