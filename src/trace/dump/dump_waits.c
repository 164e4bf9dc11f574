#include <inttypes.h>
#include <string.h>

#include "trace/channel.h"
#include "trace/dump/dump_text.h"
#include "trace/kinds.h"

static void add_call(struct dump *d, unsigned call)
{
	const char *name = isc_wait_name(call);

	if (name != NULL)
		isc_buffer_format(&d->line, " %s", name);
	else
		isc_buffer_format(&d->line, " call%u", call);
}

static void add_holder(struct dump *d, uint32_t process, uint32_t holder, uint32_t stack)
{
	if (holder == 0)
		return;
	isc_buffer_format(&d->line, " holder %u", holder);
	if (stack != 0) {
		isc_buffer_text(&d->line, " at");
		isc_dump_stack(d, process, stack);
		isc_buffer_text(&d->line, " from");
	}
}

static void add_waker(struct dump *d, const isc_event *ev)
{
	isc_waker waker;

	if (!isc_trace_waker(ev, &waker))
		return;
	if (waker.channel != 0) {
		isc_buffer_text(&d->line, " on");
		isc_dump_channel(d, ev->process, waker.channel);
	}
	if (waker.poster != 0)
		isc_buffer_format(&d->line, " poster %u before %" PRIu64, waker.poster, waker.posted_ticks);
}

void isc_dump_wait(struct dump *d, const isc_event *ev)
{
	union {
		isc_wait wait;
		isc_wait_brief brief;
		isc_gc gc;
	} body = {0};
	bool told = ev->extra_len >= sizeof(body);

	if (told)
		memcpy(&body, ev->extra, sizeof(body));
	if (ev->kind != ISC_KIND_GC)
		add_call(d, ev->arg);
	if (told)
		isc_buffer_format(&d->line, " ticks %" PRIu64, body.wait.ticks);
	if (told && ev->kind == ISC_KIND_GC)
		isc_buffer_format(&d->line, " collected %u unseen %u", body.gc.collected, body.gc.unseen);
	if (told && ev->kind == ISC_KIND_WAIT_BRIEF)
		isc_buffer_format(&d->line, " count %" PRIu64, body.brief.count);
	if (told && ev->kind == ISC_KIND_WAIT_EXIT)
		add_holder(d, ev->process, body.wait.holder, body.wait.holder_stack);
	add_waker(d, ev);
	if (ev->kind == ISC_KIND_WAIT_ENTER || ev->kind == ISC_KIND_WAIT_EXIT)
		isc_dump_stack(d, ev->process, ev->id);
}

void isc_dump_waits(struct dump *d, const isc_totals *totals)
{
	const isc_total_wait *w;

	for (size_t i = 0; (w = isc_totals_wait_at(totals, i)) != NULL; i++) {
		isc_buffer_format(&d->line, "total wait p%u t%u", w->process, w->thread);
		add_call(d, w->call);
		isc_buffer_format(&d->line, " count %" PRIu64 " ticks %" PRIu64 " most %" PRIu64 " brief %" PRIu64,
				  w->count, w->ticks, w->max_ticks, w->brief_ticks);
		if (w->unseen != 0)
			isc_buffer_format(&d->line, " unseen %" PRIu64, w->unseen);
		add_holder(d, w->process, w->holder, w->holder_stack);
		isc_dump_stack(d, w->process, w->stack);
		isc_dump_finish(d);
	}
}
