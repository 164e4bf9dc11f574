#include <inttypes.h>
#include <string.h>

#include "trace/dump/dump_text.h"
#include "trace/kinds.h"

static void add_memory(struct dump *d, const isc_event *ev)
{
	const char *name = isc_memory_name(ev->arg);
	isc_memory m;

	memcpy(&m, ev->extra, sizeof(m));
	if (name != NULL)
		isc_buffer_format(&d->line, " %s", name);
	else
		isc_buffer_format(&d->line, " call%u", ev->arg);
	isc_buffer_format(&d->line, " 0x%" PRIx64 " bytes %" PRIu64 " mean %u", m.address, m.bytes, m.mean);
	if (m.node != ISC_NODE_UNKNOWN)
		isc_buffer_format(&d->line, " node %u", m.node);
	if (m.flags & ISC_MEMORY_UNFOLLOWED)
		isc_buffer_text(&d->line, " unfollowed");
	if (m.flags & ISC_MEMORY_STALE)
		isc_buffer_text(&d->line, " stale");
	isc_dump_stack(d, ev->process, ev->id);
}

static void add_total(struct dump *d, const isc_event *ev)
{
	static const char *const when[] = {
		[ISC_MEMORY_NOW] = " now", [ISC_MEMORY_LEAVING] = " leaving", [ISC_MEMORY_END] = " end"};
	isc_memory_total t;

	memcpy(&t, ev->extra, sizeof(t));
	if (ev->arg < sizeof(when) / sizeof(when[0]))
		isc_buffer_text(&d->line, when[ev->arg]);
	isc_buffer_format(&d->line,
			  " calls %" PRIu64 " bytes %" PRIu64 " frees %" PRIu64 " maps %" PRIu64 " mapped %" PRIu64
			  " mean %" PRIu64 " unfollowed %" PRIu64,
			  t.calls, t.bytes, t.frees, t.maps, t.mapped_bytes, t.mean, t.unfollowed);
}

void isc_dump_memory(struct dump *d, const isc_event *ev)
{
	const void *name;
	uint32_t len = 0;

	if (ev->kind == ISC_KIND_MEMORY_SOURCE) {
		name = isc_trace_define(d->trace, ev->process, ev->id, ISC_DEF_MEMORY, &len);
		isc_buffer_text(&d->line, " ");
		isc_dump_quoted(d, name != NULL ? name : "?", name != NULL ? len : 1);
		if (ev->arg & ISC_MEMORY_BYPASSED)
			isc_buffer_text(&d->line, " bypassed");
		if (ev->arg & ISC_MEMORY_NEW_BYPASSED)
			isc_buffer_text(&d->line, " new_bypassed");
		if (ev->arg & ISC_MEMORY_PYTHON)
			isc_buffer_text(&d->line, " python");
	} else if (ev->kind == ISC_KIND_MEMORY_TOTAL) {
		if (ev->extra_len >= sizeof(isc_memory_total))
			add_total(d, ev);
	} else if (ev->extra_len >= sizeof(isc_memory)) {
		add_memory(d, ev);
	}
}
