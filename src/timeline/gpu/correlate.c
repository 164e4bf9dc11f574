/*
 * correlate.c - which call asked for which work: both sorted by correlation and
 * gone through side by side.  Many pieces of work may share one call, as those of
 * a graph do.
 *
 * On the way the clocks are compared: no work begins before its call, and none
 * ends after a call that waited for it.
 */
#include "timeline/state.h"

static int compare(const isc_call_item *c, const isc_gpu_record *r)
{
	if (c->domain != r->domain)
		return c->domain < r->domain ? -1 : 1;
	return (c->correlation > r->correlation) - (c->correlation < r->correlation);
}

/* A copy to the host that returns when it is done: one that is not asynchronous by its name, and any into
 * memory that may be paged out. */
static bool holds_until_done(isc_timeline *t, const isc_call_item *call, const isc_gpu_record *r)
{
	isc_text name = isc_timeline_text(t, call->name);

	if (r->kind != ISC_GPU_D2H || isc_timeline_call_kind(t, call->name) != ISC_CALL_COPY)
		return false;
	if (r->memory == ISC_MEMORY_PAGEABLE)
		return true;
	for (size_t i = 0; i + 5 <= name.len; i++) {
		if (name.at[i] == 'A' && name.at[i + 1] == 's' && name.at[i + 2] == 'y' && name.at[i + 3] == 'n' &&
		    name.at[i + 4] == 'c')
			return false;
	}
	return true;
}

static void compare_clocks(isc_timeline *t, const isc_call_item *call, const isc_gpu_record *r)
{
	isc_device_entry *d = isc_device_at(t, r->device);
	int64_t late = r->start_ns - call->start_ns, done = call->waited_ns;

	if (d->synced)
		return;
	d->early += late < 0;
	/* A record that is off by more than any clock is a bad record, and says nothing of the clock. */
	if (late < -t->options.margin_ns)
		return;
	if (!d->late_known || late < d->late_ns)
		d->late_ns = late;
	d->late_known = true;
	if (holds_until_done(t, call, r))
		done = call->end_ns;
	if (done == ISC_NEVER)
		return;
	if (!d->soon_known || r->end_ns - done > d->soon_ns)
		d->soon_ns = r->end_ns - done;
	d->soon_known = true;
}

/* Work whose clock is known to be off by no more than this cannot have begun before its call. */
static void move_behind(isc_timeline *t, const isc_call_item *call, isc_work_item *work)
{
	isc_device_entry *d = isc_device_at(t, work->device);
	int64_t late = work->start_ns - call->start_ns;

	if (!d->synced || late >= 0)
		return;
	d->early++;
	/* By more than the clock can be off it is a bad record, or a bad bound: the report says so. */
	if (late < -d->error_ns)
		return;
	work->start_ns -= late;
	work->end_ns -= late;
	d->fixed++;
}

/* From the first to the last work in the window. */
static void widen_span(isc_timeline *t, const isc_work_item *w)
{
	isc_device_entry *d = isc_device_at(t, w->device);
	int64_t start = w->start_ns, end = w->end_ns;

	if (!isc_timeline_clip(t, d->source, &start, &end))
		return;
	d->first_ns = !d->seen || start < d->first_ns ? start : d->first_ns;
	d->last_ns = !d->seen || end > d->last_ns ? end : d->last_ns;
	d->seen = true;
}

static isc_work_item work_of(const isc_gpu_record *r)
{
	return (isc_work_item){.start_ns = r->start_ns,
			       .end_ns = r->end_ns,
			       .call_ns = ISC_NEVER,
			       .called_ns = ISC_NEVER,
			       .bytes = r->bytes,
			       .stream = r->stream,
			       .device = r->device,
			       .name = r->name,
			       .thread = r->thread,
			       .where = r->stack,
			       .scope = r->scope,
			       .kind = r->kind,
			       .class = r->class,
			       .memory = r->memory};
}

/* What the clock of a device may be off, and what mends it: the error lies between soon and late.
 * Without a word against them times stay as they are. */
static void mend_clocks(isc_timeline *t)
{
	for (size_t i = 0; i < t->devices.count; i++) {
		isc_device_entry *d = isc_device_at(t, i);

		d->shift_ns = 0;
		if (d->late_known && d->late_ns < 0 && (!d->soon_known || d->soon_ns <= d->late_ns))
			d->shift_ns = -d->late_ns;
		else if (d->soon_known && d->soon_ns > 0 && (!d->late_known || d->soon_ns <= d->late_ns))
			d->shift_ns = -d->soon_ns;
	}
}

isc_status isc_calls_match(isc_timeline *t, isc_error *err)
{
	const isc_gpu_record *r;
	const isc_call_item *next;
	isc_call_item call = {0};
	bool any = false;
	isc_status st = isc_spool_rewind(t->records, err);

	if (st == ISC_OK)
		st = isc_spool_rewind(t->calls, err);
	next = st == ISC_OK ? isc_spool_next(t->calls) : NULL;
	while (st == ISC_OK && (r = isc_spool_next(t->records)) != NULL) {
		isc_work_item work = work_of(r);

		/* Of several calls with one correlation the first, which is the outermost, counts. */
		while (next != NULL && compare(next, r) <= 0) {
			if (!any || compare(&call, r) != 0 || compare(next, r) != 0)
				call = *next;
			any = true;
			next = isc_spool_next(t->calls);
		}
		if (any && r->correlation != 0 && compare(&call, r) == 0) {
			work.call_ns = call.start_ns;
			work.called_ns = call.end_ns;
			work.thread = call.thread;
			work.where = call.where != 0 ? call.where : work.where;
			work.scope = call.scope;
			work.did = call.did;
			compare_clocks(t, &call, r);
			move_behind(t, &call, &work);
		}
		widen_span(t, &work);
		st = isc_spool_add(t->work, &work, err);
	}
	if (st == ISC_OK)
		st = isc_spool_failed(t->records, err);
	if (st == ISC_OK)
		st = isc_spool_failed(t->calls, err);
	isc_spool_free(t->records);
	isc_spool_free(t->calls);
	t->records = t->calls = NULL;
	mend_clocks(t);
	return st;
}
