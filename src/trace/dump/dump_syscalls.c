#include <inttypes.h>
#include <string.h>

#include "base/syscall.h"
#include "trace/dump/dump_text.h"
#include "trace/kinds.h"

static void add_call(struct dump *d, unsigned call)
{
	const char *name = isc_syscall_name(call);

	if (name != NULL)
		isc_buffer_format(&d->line, " %s", name);
	else
		isc_buffer_format(&d->line, " call%u", call);
}

static void add_sum(struct dump *d, const isc_event *ev)
{
	isc_syscall_sum sum;

	if (ev->extra_len < sizeof(sum))
		return;
	memcpy(&sum, ev->extra, sizeof(sum));
	isc_buffer_format(&d->line,
			  " count %" PRIu64 " ticks %" PRIu64 " bytes %" PRIu64 " errors %" PRIu32 " slow %" PRIu32,
			  sum.count, sum.ticks, sum.bytes, sum.errors, sum.slow);
}

static void add_slow(struct dump *d, const isc_event *ev)
{
	isc_syscall_slow slow;

	if (ev->extra_len < sizeof(slow))
		return;
	memcpy(&slow, ev->extra, sizeof(slow));
	isc_buffer_format(&d->line, " ticks %" PRIu64 " bytes %" PRIu64 " error %" PRIu32, slow.ticks, slow.bytes,
			  slow.error);
	if (slow.detail != 0) {
		isc_buffer_text(&d->line, " about");
		isc_dump_name(d, ev->process, slow.detail);
	}
	isc_dump_stack(d, ev->process, ev->id);
}

static void add_sample(struct dump *d, const isc_event *ev)
{
	isc_syscall_sample sample;

	if (ev->extra_len < sizeof(sample))
		return;
	memcpy(&sample, ev->extra, sizeof(sample));
	isc_buffer_format(&d->line, " ticks %" PRIu64 " bytes %" PRIu64 " for %" PRIu64, sample.ticks, sample.bytes,
			  sample.count);
	isc_dump_stack(d, ev->process, ev->id);
}

void isc_dump_syscall(struct dump *d, const isc_event *ev)
{
	isc_syscall_errors errors;

	add_call(d, ev->arg);
	if (ev->kind == ISC_KIND_SYSCALLS) {
		add_sum(d, ev);
	} else if (ev->kind == ISC_KIND_SYSCALL) {
		add_slow(d, ev);
	} else if (ev->kind == ISC_KIND_SYSCALL_SAMPLE) {
		add_sample(d, ev);
	} else if (ev->extra_len >= sizeof(errors)) {
		memcpy(&errors, ev->extra, sizeof(errors));
		isc_buffer_format(&d->line, " errno %" PRIu32 " count %" PRIu64, ev->id, errors.count);
	}
}

void isc_dump_syscalls(struct dump *d, const isc_totals *totals)
{
	const isc_total_syscall *s;

	for (size_t i = 0; (s = isc_totals_syscall_at(totals, i)) != NULL; i++) {
		isc_buffer_format(&d->line, "total syscall p%u t%u", s->process, s->thread);
		add_call(d, s->call);
		if (s->kind == ISC_SYSCALL_FAIL)
			isc_buffer_format(&d->line, " errno %u", s->key);
		isc_buffer_format(&d->line, "%s count %" PRIu64, s->kind == ISC_SYSCALL_LIKE ? " like" : "", s->count);
		if (s->kind != ISC_SYSCALL_FAIL)
			isc_buffer_format(&d->line,
					  " ticks %" PRIu64 " bytes %" PRIu64 " errors %" PRIu64 " slow %" PRIu64,
					  s->ticks, s->bytes, s->errors, s->slow);
		if (s->kind == ISC_SYSCALL_SITE) {
			isc_buffer_format(&d->line, " most %" PRIu64, s->max_ticks);
			if (s->detail != 0) {
				isc_buffer_text(&d->line, " about");
				isc_dump_name(d, s->process, s->detail);
			}
			isc_dump_stack(d, s->process, s->key);
		}
		if (s->kind == ISC_SYSCALL_LIKE)
			isc_dump_stack(d, s->process, s->key);
		isc_dump_finish(d);
	}
}
